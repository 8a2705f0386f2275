"""Every operator of the table on every dtype, at the edges of the dtypes: native code gives what the interpreter's rules give."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.native import call, compiled

from tirscript.backend.interpreter.ops import NOT_SCALAR, scalar_rule
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
    DType,
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

DTYPES = [
    *(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")),
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e5m2",
]
# libm of this machine, numpy and LLVM's constants may differ in the last places
LOOSE = dict.fromkeys(
    "pow exp exp2 exp10 expm1 log log2 log10 log1p sigmoid erf sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot".split(),
    4,
)
SPECIAL = set(NOT_SCALAR) | {"cast", "isnullptr"}


def edge_values(kind: DType) -> np.ndarray[Any, Any]:
    """Values at the limits of a dtype and between."""
    if kind.is_bool:
        return np.array([False, True])
    to = numpy_dtype(kind)
    if kind.is_int:
        low, high = kind.int_range()
        some = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, 8, kind.bits, kind.bits - 1, high // 2, high // 3, 100}
        some |= {-1, -2, -3, -7, -8, -100} if kind.kind == "int" else set()
        return np.array(sorted(value for value in some if low <= value <= high), to)
    info: Any = ml_dtypes.finfo(to)
    tiny, least, most, eps = (float(x) for x in (info.smallest_normal, info.smallest_subnormal, info.max, info.eps))
    some_floats = [
        0.0,
        1.0,
        1.5,
        2.0,
        2.5,
        0.5,
        0.25,
        3.0,
        7.0,
        0.1,
        1 + eps,
        1 - eps / 2,
        tiny,
        tiny / 2,
        least,
        most,
        most / 2,
        100.0,
        9.75,
        0.3,
    ]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        signed = [*some_floats, *(-x for x in some_floats), float("nan"), float("inf"), -float("inf")]
        return np.array(signed, np.float64).astype(to)


def accepted(op: Op, kind: DType) -> bool:
    """Whether the operator takes operands of the dtype."""
    try:
        arguments(op, kind)
    except DiagnosticError:
        return False
    return True


def arguments(op: Op, kind: DType) -> Expr:
    """A call of the operator on variables of the dtype."""
    return op(*[Var(f"x{k}", argument_dtype(op, k, kind)) for k in range(op.arity[0])])


def argument_dtype(op: Op, at: int, kind: DType) -> DType:
    if op.name in ("if_then_else", "Select") and at == 0:
        return dtype("bool")
    if op.name == "ldexp" and at == 1:
        return dtype("int32")
    return kind


def function_of(name: str, op: Op, kind: DType, lanes: int) -> PrimFunc:
    """`out[i] = op(a[i], b[i], ...)` with i64 loops, over vectors where `lanes` is more than 1."""
    n, i = Var("n", INT64), Var("i", INT64)
    kinds = [argument_dtype(op, k, kind) for k in range(op.arity[0])]
    buffers = [Buffer(f"a{k}", (n,), to) for k, to in enumerate(kinds)]
    index: Expr = i if lanes == 1 else Ramp(i * lanes, const(1, "int64"), lanes)
    value = op(*[BufferLoad(buffer, (index,)) for buffer in buffers])
    out = Buffer("out", (n,), value.dtype.element)
    stop = n if lanes == 1 else n // lanes
    return PrimFunc(name, (*buffers, out), (For(i, const(0, "int64"), stop, (BufferStore(out, (index,), value),)),))


def inputs(op: Op, kind: DType) -> list[np.ndarray[Any, Any]]:
    """Every combination of edge values, filled up to a multiple of 4."""
    columns = [edge_values(argument_dtype(op, k, kind)) for k in range(op.arity[0])]
    if len(columns) == 3:
        columns = [column[:: max(1, len(column) // 12)] for column in columns]
    rows = list(itertools.product(*(range(len(column)) for column in columns)))
    rows += rows[:1] * (-len(rows) % 4)
    return [column[[row[k] for row in rows]] for k, column in enumerate(columns)]


def expected(op: Op, kind: DType, result: DType, columns: list[np.ndarray[Any, Any]]) -> list[Any]:
    """What the interpreter's rule gives; None where it refuses (division by zero)."""
    kinds = tuple(argument_dtype(op, k, kind) for k in range(len(columns)))
    rule = scalar_rule(op, kinds, result)
    found = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in zip(*columns, strict=True):
            values = [
                value if to.is_float else bool(value) if to.is_bool else int(value)
                for value, to in zip(row, kinds, strict=True)
            ]
            try:
                found.append(rule(*values))
            except ZeroDivisionError:
                found.append(0)
    return found


def compare(
    what: str, columns: list[np.ndarray[Any, Any]], got: np.ndarray[Any, Any], want: list[Any], loose: int
) -> None:
    """Bit for bit, but any nan is any nan; within `loose` units in the last place where that is not 0."""
    for at, (mine, other) in enumerate(zip(got, want, strict=True)):
        same = bool(mine == other)
        if same and mine == 0 and got.dtype.kind not in "iub":
            same = bool(np.signbit(np.float64(mine)) == np.signbit(np.float64(other)))
        if not same and mine != mine and other != other:
            same = True
        if not same and loose and np.isfinite(np.float64(mine)) and np.isfinite(np.float64(other)):
            to = got.dtype
            info: Any = ml_dtypes.finfo(to)
            unit = max(abs(float(other)) * float(info.eps), float(info.smallest_subnormal))
            same = abs(float(mine) - float(other)) <= loose * unit
        assert same, f"{what} of {[column[at] for column in columns]}: native {mine!r}, the rule says {other!r}"


ENTRIES = [op for name, op in OPS.items() if name not in SPECIAL]


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
