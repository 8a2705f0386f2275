"""Every operator of the table on every dtype, at the edges of the dtypes: C gives what the interpreter's rules give."""

from __future__ import annotations

import itertools
import shutil
from typing import Any

import numpy as np
import pytest
from helpers.operators import (
    DTYPES,
    ENTRIES,
    LOOSE,
    accepted,
    arguments,
    compare,
    edge_values,
    expected,
    inputs,
)

import tirscript
from tirscript.backend.c.ops import RULES, rule_of
from tirscript.backend.interpreter.ops import scalar_rule
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import (
    OPS,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    DiagnosticError,
    DType,
    Evaluate,
    Expr,
    For,
    Module,
    Op,
    PrimFunc,
    Ramp,
    Var,
    cast,
    const,
    dtype,
    get_op,
)
from tirscript.ir.dtype import INT64

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def built(module: Module) -> Any:
    return tirscript.build(module, target="c", pipeline=None, opt_level=0)


def alike(kind: DType) -> dict[tuple[DType, ...], list[Op]]:
    """The operators on a dtype by the dtypes of their arguments and of the result."""
    found: dict[tuple[DType, ...], list[Op]] = {}
    for op in ENTRIES:
        if accepted(op, kind):
            call = arguments(op, kind)
            assert type(call) is Call
            found.setdefault((*(arg.dtype for arg in call.args), call.dtype), []).append(op)
    return found


def together(name: str, kinds: tuple[DType, ...], ops: list[Op]) -> PrimFunc:
    """`out[k, i]` is the operator k // 2 on element i, with k odd in vectors of 4."""
    n = Var("n", INT64)
    buffers = [Buffer(f"a{at}", (n,), one) for at, one in enumerate(kinds[:-1])]
    out = Buffer("out", (const(2 * len(ops), "int64"), n), kinds[-1])
    loops = []
    for at, (op, lanes) in enumerate(itertools.product(ops, (1, 4))):
        i = Var("i", INT64)
        index: Expr = i if lanes == 1 else Ramp(i * lanes, const(1, "int64"), lanes)
        value = op(*[BufferLoad(buffer, (index,)) for buffer in buffers])
        stop = n if lanes == 1 else n // lanes
        loops.append(For(i, const(0, "int64"), stop, (BufferStore(out, (const(at, "int64"), index), value),)))
    return PrimFunc(name, (*buffers, out), tuple(loops))


@needs_compiler
@pytest.mark.parametrize("name", DTYPES)
def test_operators_give_what_the_interpreter_gives(name: str) -> None:
    kind = dtype(name)
    groups = alike(kind)
    assert groups
    functions = [together(f"f{at}", kinds, ops) for at, (kinds, ops) in enumerate(groups.items())]
    module = built(Module(tuple(functions)))
    for func, (kinds, ops) in zip(functions, groups.items(), strict=True):
        columns = [column[:: max(1, len(column) // 300)] for column in inputs(ops[0], kind)]
        columns = [column[: len(column) // 4 * 4].copy() for column in columns]
        out = np.zeros((2 * len(ops), len(columns[0])), numpy_dtype(kinds[-1]))
        module[func.name](*columns, out)
        for at, op in enumerate(ops):
            wanted = expected(op, kind, kinds[-1], columns)
            compare(f"{op.name} on {name}", columns, out[2 * at], wanted, LOOSE.get(op.name, 0))
            assert out[2 * at].tobytes() == out[2 * at + 1].tobytes(), f"{op.name} on {name}: lanes differ"


def every_cast(have: DType) -> Module:
    """A function for each dtype and number of lanes."""
    n, i = Var("n", INT64), Var("i", INT64)
    functions = []
    for target, lanes in itertools.product(DTYPES, (1, 4)):
        a, out = Buffer("a", (n,), have), Buffer("out", (n,), dtype(target))
        index: Expr = i if lanes == 1 else Ramp(i * lanes, const(1, "int64"), lanes)
        body = BufferStore(out, (index,), cast(BufferLoad(a, (index,)), target))
        loop = For(i, const(0, "int64"), n if lanes == 1 else n // lanes, (body,))
        functions.append(PrimFunc(f"to_{target}_{lanes}", (a, out), (loop,)))
    return Module(tuple(functions))


@needs_compiler
@pytest.mark.parametrize("source", DTYPES)
def test_casts_give_what_the_interpreter_gives(source: str) -> None:
    have = dtype(source)
    values = edge_values(have)
    if have.is_float:
        some = [0.9, 127.5, 128.0, 255.5, 256.0, 32768.0, 65520.0, 65519.0, 464.0, 465.0, 1 + 2**-8 + 2**-30]
        more = np.array([*some, 1 + 2**-11 + 2**-40, 2.0**63, 2.0**64, 2.0**31], np.float64)
        with np.errstate(all="ignore"):
            values = np.concatenate([values, more.astype(values.dtype), (-more).astype(values.dtype)])
    values = np.concatenate([values, values[:1].repeat(-len(values) % 4)])
    module = built(every_cast(have))
    for target, lanes in itertools.product(DTYPES, (1, 4)):
        want = dtype(target)
        out = np.zeros(len(values), numpy_dtype(want))
        module[f"to_{target}_{lanes}"](values, out)
        wanted = list(values)
        if target != source:
            rule = scalar_rule(OPS["cast"], (have,), want)
            with np.errstate(all="ignore"):
                plain = [value if have.is_float else bool(value) if have.is_bool else int(value) for value in values]
                wanted = [rule(value) for value in plain]
        compare(f"cast of {source} to {target}", [values], out, wanted, 0)


@needs_compiler
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("float32", "int32"),
        ("float64", "uint64"),
        ("int16", "float16"),
        ("uint8", "int8"),
        ("bfloat16", "uint16"),
        ("float32x2", "int64"),
        ("int64", "float32x2"),
        ("int32x4", "int8x16"),
        ("int32x4", "float32x4"),
    ],
)
def test_reinterpret_keeps_the_bits(a: str, b: str) -> None:
    have, want = dtype(a), dtype(b)
    x, out = Buffer("x", (const(4),), have), Buffer("out", (const(4),), want)
    value = get_op("reinterpret")(want, BufferLoad(x, (const(1),)))
    data = (np.arange(4 * have.lanes).astype(numpy_dtype(have)) + 1).astype(numpy_dtype(have))
    data = data.reshape((4, have.lanes) if have.lanes > 1 else (4,))
    into = np.zeros((4, want.lanes) if want.lanes > 1 else (4,), numpy_dtype(want))
    built(Module((PrimFunc("f", (x, out), (BufferStore(out, (const(1),), value),)),)))["f"](data, into)
    size = have.itemsize
    assert into.tobytes()[size : 2 * size] == data.tobytes()[size : 2 * size]


def test_every_operator_has_a_rule() -> None:
    assert [name for name, op in OPS.items() if rule_of(op) is None] == []
    assert set(RULES) <= set(OPS)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("T.print(A[0])", r"T402.*`T\.print`"),
        ('T.call_packed("some.python", A.data)', r"T402.*Python function `some\.python`"),
        ('T.call_llvm_intrin("int32", "llvm.x86.rdpid")', r"T402.*`llvm\.x86\.rdpid`"),
    ],
)
def test_what_c_cannot_do_is_refused_by_name(call: str, words: str) -> None:
    text = f'from tirscript.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    {call}\n'
    with pytest.raises(DiagnosticError, match=words):
        tirscript.build(tirscript.parse(text), target="c")


def test_a_breakpoint_is_refused() -> None:
    body = (Evaluate(Call(OPS["breakpoint"], (), dtype("void"))),)
    with pytest.raises(DiagnosticError, match=r"T402.*interpreter"):
        tirscript.build(PrimFunc("f", (), body), target="c")


@needs_compiler
def test_variables_may_have_the_names_of_helpers_and_of_c() -> None:
    text = (
        "@T.prim_func\ndef f(INT8_MAX: T.int32, int32_t: T.int32, abs: T.Buffer((2,), 'int32')):\n"
        "    min = abs[0] // INT8_MAX\n    add: T.int32 = T.max(min, 3)\n    TIRSCRIPT_OK: T.int32 = 0\n"
        "    add = add + int32_t + TIRSCRIPT_OK\n    abs[1] = add * min\n"
    )
    array = np.array([17, 0], "int32")
    tirscript.build(tirscript.parse(text), target="c", opt_level=0)(2, 5, array)
    assert array.tolist() == [17, (8 + 5) * 8]


@needs_compiler
def test_variables_may_have_the_names_of_every_function_of_libm() -> None:
    named = [op for op in OPS.values() if op.llvm is not None and op.operands == "floats"]
    assert len(named) > 25
    lines = [f"    {op.name}: T.float64 = T.{op.name}({', '.join(['A[0]'] * op.arity[0])})" for op in named]
    lines += [f"    A[{at}] = A[{at}] + {op.name}" for at, op in enumerate(named, 1)]
    text = f"@T.prim_func\ndef f(A: T.Buffer(({len(named) + 1},), 'float64')):\n" + "\n".join(lines) + "\n"
    func = tirscript.parse(text)
    made, wanted = (np.full(len(named) + 1, 0.5, "float64") for _ in range(2))
    tirscript.build(func, target="c", opt_level=0)(made)
    tirscript.interpret(func, wanted)
    np.testing.assert_allclose(made, wanted, rtol=1e-12)
