"""Every operator of the table on every dtype, at the edges of the dtypes: native code gives what the interpreter's rules give."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.native import call, compiled
from helpers.operators import (
    DTYPES,
    ENTRIES,
    LOOSE,
    accepted,
    arguments,
    compare,
    edge_values,
    expected,
    function_of,
    inputs,
)

from tirscript.backend.interpreter.ops import scalar_rule
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.ops import RULES, rule_of
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import (
    OPS,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    DiagnosticError,
    Expr,
    For,
    Module,
    PrimFunc,
    Ramp,
    Var,
    cast,
    const,
    dtype,
    get_op,
)
from tirscript.ir.dtype import INT64


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", DTYPES)
def test_operators_give_what_the_interpreter_gives(name: str, lanes: int) -> None:
    kind = dtype(name)
    ops = [op for op in ENTRIES if accepted(op, kind)]
    assert ops
    module = compiled(Module(tuple(function_of(f"f_{op.name}", op, kind, lanes) for op in ops)))
    for op in ops:
        columns = inputs(op, kind)
        result = arguments(op, kind).dtype
        out = np.zeros(len(columns[0]), numpy_dtype(result))
        call(module, f"f_{op.name}", *columns, out)
        compare(f"{op.name} on {name}", columns, out, expected(op, kind, result, columns), LOOSE.get(op.name, 0))


@pytest.mark.parametrize("source", DTYPES)
def test_casts_give_what_the_interpreter_gives(source: str) -> None:
    have = dtype(source)
    values = edge_values(have)
    if have.is_float:
        more = np.array(
            [
                0.9,
                127.5,
                128.0,
                255.5,
                256.0,
                32768.0,
                65520.0,
                65519.0,
                464.0,
                465.0,
                1 + 2**-8 + 2**-30,
                1 + 2**-11 + 2**-40,
            ],
            np.float64,
        )
        with np.errstate(all="ignore"):
            values = np.concatenate([values, more.astype(values.dtype), (-more).astype(values.dtype)])
    values = np.concatenate([values, values[:1].repeat(-len(values) % 4)])
    n, i = Var("n", INT64), Var("i", INT64)
    functions = []
    for target, lanes in itertools.product(DTYPES, (1, 4)):
        a, out = Buffer("a", (n,), have), Buffer("out", (n,), dtype(target))
        index: Expr = i if lanes == 1 else Ramp(i * lanes, const(1, "int64"), lanes)
        body = BufferStore(out, (index,), cast(BufferLoad(a, (index,)), target))
        functions.append(
            PrimFunc(
                f"to_{target}_{lanes}", (a, out), (For(i, const(0, "int64"), n if lanes == 1 else n // lanes, (body,)),)
            )
        )
    module = compiled(Module(tuple(functions)))
    for target, lanes in itertools.product(DTYPES, (1, 4)):
        want_dtype = dtype(target)
        out_array = np.zeros(len(values), numpy_dtype(want_dtype))
        call(module, f"to_{target}_{lanes}", values, out_array)
        if target == source:
            wanted = list(values)
        else:
            rule = scalar_rule(OPS["cast"], (have,), want_dtype)
            with np.errstate(all="ignore"):
                wanted = [
                    rule(value if have.is_float else bool(value) if have.is_bool else int(value)) for value in values
                ]
        compare(f"cast of {source} to {target}", [values], out_array, wanted, 0)


def test_every_operator_has_a_rule() -> None:
    assert [name for name, op in OPS.items() if rule_of(op) is None] == []
    assert set(RULES) <= set(OPS)


def test_constants_of_every_dtype_are_exact() -> None:
    functions, wanted = [], []
    for name in DTYPES:
        kind = dtype(name)
        for at, value in enumerate(edge_values(kind)):
            out = Buffer("out", (const(1),), kind)
            plain = value.item() if not kind.is_float else float(value)
            functions.append(PrimFunc(f"{name}_{at}", (out,), (BufferStore(out, (const(0),), Const(plain, kind)),)))
            wanted.append(value)
    module = compiled(Module(tuple(functions)))
    for func, value in zip(functions, wanted, strict=True):
        out_array = np.zeros(1, value.dtype)
        call(module, func.name, out_array)
        assert out_array[0] == value or (value != value and out_array[0] != out_array[0]), func.name
        assert value != value or out_array.tobytes() == value.tobytes(), func.name


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("float32", "int32"),
        ("float64", "uint64"),
        ("int16", "float16"),
        ("uint8", "int8"),
        ("float32x2", "int64"),
        ("int32x4", "int8x16"),
    ],
)
def test_reinterpret_keeps_the_bits(a: str, b: str) -> None:
    have, want = dtype(a), dtype(b)
    x, out = Buffer("x", (const(4),), have), Buffer("out", (const(4),), want)
    value = get_op("reinterpret")(want, BufferLoad(x, (const(1),)))
    data = np.arange(4 * have.lanes).astype(numpy_dtype(have)) + 1
    into = np.zeros(4 * want.lanes, numpy_dtype(want))
    call(compiled(PrimFunc("f", (x, out), (BufferStore(out, (const(1),), value),))), "f", data, into)
    size = have.itemsize
    assert into.tobytes()[size : 2 * size] == data.tobytes()[size : 2 * size]


def test_undef_is_some_value_and_storing_it_is_no_store() -> None:
    out = Buffer("out", (const(2),), dtype("float32"))
    undef = get_op("undef")("float32")
    body = (
        BufferStore(out, (const(0),), undef),
        BufferStore(out, (const(1),), get_op("Select")(const(True), const(1.0), undef)),
    )
    data = np.full(2, 7, np.float32)
    call(compiled(PrimFunc("f", (out,), body)), "f", data)
    assert list(data) == [7.0, 1.0]


def test_a_breakpoint_is_refused_with_the_way_out() -> None:
    from tirscript.ir import Evaluate

    with pytest.raises(DiagnosticError, match=r"T402.*interpreter"):
        compiled(PrimFunc("f", (), (Evaluate(Call(OPS["breakpoint"], (), dtype("void"))),)))


def test_operands_are_written_once() -> None:
    """Code grows with the depth of an expression, and does not double with every level."""
    kinds = ("float32", "float64", "float16", "int32", "int64", "bool")
    tried = 0
    for entry in OPS.values():
        for name in kinds:
            x = Var("x", dtype(name))
            try:
                made = entry(*[x] * entry.arity[0])
            except (DiagnosticError, TypeError):
                continue
            if type(made) is Call and made.dtype is x.dtype and made.op.effect == "pure" and x in made.args:
                tried += 1
                assert len(_nested(made, x, 12)) < 3 * len(_nested(made, x, 6)), (entry, name)
    assert tried > 100


def _nested(call: Call, x: Var, depth: int) -> str:
    """The code of a call in whose arguments `x` stands, with itself in the place of each of them in turn."""
    value: Expr = x
    for level in range(depth):
        places = [at for at, arg in enumerate(call.args) if arg is x]
        at = places[level % len(places)]
        value = call.replace(args=(*call.args[:at], value, *call.args[at + 1 :]))
    out = Buffer("out", (const(1),), x.dtype)
    return emit_ir(PrimFunc("f", (x, out), (BufferStore(out, (const(0),), value),)), optimized=False)
