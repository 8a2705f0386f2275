"""Operators on constants, with the exact meaning of the dtype, or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtype import BOOL, DType
from ..expr import Const, Expr, round_float
from ..op import OPS, Op
from .linear import wrap

# float types in which + - * / on doubles, rounded once more, give the correctly rounded result
_ROUNDS_TWICE_WELL = frozenset(("float64", "float32", "float16", "bfloat16"))


def _shift_left(a: int, b: int, dtype: DType) -> int | None:
    return None if b < 0 else 0 if b >= dtype.bits else a << b


def _shift_right(a: int, b: int, dtype: DType) -> int | None:
    return None if b < 0 else (-1 if a < 0 else 0) if b >= dtype.bits else a >> b


def truncdiv(a: int, b: int) -> int:
    """The quotient rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


# of the numbers as they are, before they wrap around to a dtype; None where there is no result
INTS: dict[str, Callable[[int, int, DType], int | None]] = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul": lambda a, b, t: a * b,
    "floordiv": lambda a, b, t: a // b if b else None,
    "floormod": lambda a, b, t: a % b if b else None,
    "truncdiv": lambda a, b, t: truncdiv(a, b) if b else None,
    "truncmod": lambda a, b, t: a - b * truncdiv(a, b) if b else None,
    "ceildiv": lambda a, b, t: -(-a // b) if b else None,
    "min": lambda a, b, t: min(a, b),
    "max": lambda a, b, t: max(a, b),
    "bitwise_and": lambda a, b, t: a & b,
    "bitwise_or": lambda a, b, t: a | b,
    "bitwise_xor": lambda a, b, t: a ^ b,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
}
_FLOATS: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.nan,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}
_LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "bitwise_and": lambda a, b: a and b,
    "bitwise_or": lambda a, b: a or b,
    "bitwise_xor": lambda a, b: a is not b,
}


def fold(op: Op, args: tuple[Expr, ...], dtype: DType) -> Const | None:
    """The constant that `op` makes of constants, or None where it has none or is left to run time."""
    values = [arg.value for arg in args if type(arg) is Const]
    if len(values) != len(args) or not args or dtype.is_vector:
        return None
    source: DType = args[0].dtype
    if len(args) == 2:
        return _fold_two(op, values[0], values[1], source, dtype)
    if len(args) == 1:
        return _fold_one(op, values[0], source, dtype)
    return None


def _fold_two(op: Op, a: Any, b: Any, source: DType, dtype: DType) -> Const | None:
    compare = _COMPARE.get(op.name)
    if compare is not None:
        return Const(compare(a, b), BOOL)
    if source.is_bool:
        logic = _LOGIC.get(op.name)
        return Const(bool(logic(bool(a), bool(b))), BOOL) if logic is not None else None
    if source.is_int:
        rule = INTS.get(op.name)
        result = rule(a, b, dtype) if rule is not None else None
        return Const(wrap(result, dtype), dtype) if result is not None else None
    real = _FLOATS.get(op.name)
    if real is None or source.name not in _ROUNDS_TWICE_WELL:
        return None
    return _finite(real(a, b), dtype)


def _fold_one(op: Op, a: Any, source: DType, dtype: DType) -> Const | None:
    if op is OPS["cast"]:
        return _fold_cast(a, source, dtype)
    if op is OPS["logical_not"] or (op is OPS["bitwise_not"] and source.is_bool):
        return Const(not a, BOOL)
    if op is OPS["likely"]:
        return Const(bool(a), BOOL)
    if source.is_int:
        results = {"negative": -a, "abs": abs(a), "bitwise_not": ~a}
        return Const(wrap(results[op.name], dtype), dtype) if op.name in results else None
    if source.is_float and op.name == "negative":
        return Const(-a, dtype)
    return None


def _finite(value: float, dtype: DType) -> Const | None:
    """A float constant; infinities and nan are left to run time."""
    if not math.isfinite(value):
        return None
    rounded = round_float(value, dtype)
    return Const(rounded, dtype) if math.isfinite(rounded) else None


def _fold_cast(a: Any, source: DType, dtype: DType) -> Const | None:
    if dtype.is_handle or source.is_handle:
        return None
    if dtype.is_float:
        if source.is_float:
            return _finite(a, dtype)
        # beyond 53 bits the way through a double would round twice
        return _finite(float(a), dtype) if abs(int(a)) < 1 << 53 else None
    if source.is_float:
        if not math.isfinite(a):
            return None
        if dtype.is_bool:
            return Const(a != 0, BOOL)
        low, high = dtype.int_range()
        return Const(int(a), dtype) if low <= int(a) <= high else None
    return Const(a != 0, BOOL) if dtype.is_bool else Const(wrap(int(a), dtype), dtype)


def compare(name: str, a: Any, b: Any) -> bool:
    """The comparison called `name` of two Python numbers."""
    return _COMPARE[name](a, b)


COMPARISONS = frozenset(_COMPARE)
