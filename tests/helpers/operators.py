"""Operators of the table on edge values of every dtype, what the interpreter's rules give for them, and how to compare."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from tirscript.backend.interpreter.ops import NOT_SCALAR, scalar_rule
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import (
    OPS,
    Buffer,
    BufferLoad,
    BufferStore,
    DiagnosticError,
    DType,
    Expr,
    For,
    Op,
    PrimFunc,
    Ramp,
    Var,
    const,
    dtype,
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
