"""Constant bounds of integer expressions, sound under wrap-around: one that may overflow has its dtype's bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..dtype import DType
from ..expr import Broadcast, BufferLoad, Call, Const, Expr, Let, Ramp, Var
from ..op import get_op
from .linear import Linear, linear, wrap

Interval = tuple[int, int]
Ranges = Mapping[Var, Interval]


def bounds(expr: Expr, ranges: Ranges) -> Interval:
    """The least and greatest value that an integer or bool expression (each lane of it) can have."""
    return _RULES.get(type(expr), _anything)(expr, ranges)


def whole(dtype: DType) -> Interval:
    """All values of an integer type."""
    return dtype.element.int_range()


def linear_bounds(form: Linear, ranges: Ranges) -> Interval:
    """The bounds of a linear form as a number, without wrapping: they may exceed the dtype."""
    low = high = form.constant
    for atom, c in form.terms.items():
        a, b = bounds(atom, ranges)
        low += min(a * c, b * c)
        high += max(a * c, b * c)
    return low, high


def exact(form: Linear, ranges: Ranges) -> bool:
    """Whether the form is the expression's value as a number: its bounds fit the dtype, so nothing wraps."""
    low, high = linear_bounds(form, ranges)
    least, greatest = whole(form.dtype)
    return least <= low and high <= greatest


def _fit(interval: Interval, dtype: DType) -> Interval:
    least, greatest = whole(dtype)
    return interval if least <= interval[0] and interval[1] <= greatest else (least, greatest)


def _anything(expr: Expr, ranges: Ranges) -> Interval:
    return whole(expr.dtype)


def _const(expr: Const, ranges: Ranges) -> Interval:
    return int(expr.value), int(expr.value)


def _var(expr: Var, ranges: Ranges) -> Interval:
    known = ranges.get(expr)
    return known if known is not None else whole(expr.dtype)


def _broadcast(expr: Broadcast, ranges: Ranges) -> Interval:
    return bounds(expr.value, ranges)


def _ramp(expr: Ramp, ranges: Ranges) -> Interval:
    if expr.scalable:
        return whole(expr.dtype)
    base, stride = bounds(expr.base, ranges), bounds(expr.stride, ranges)
    ends = [stride[0] * (expr.lanes - 1), stride[1] * (expr.lanes - 1), 0]
    return _fit((base[0] + min(ends), base[1] + max(ends)), expr.dtype)


def _let(expr: Let, ranges: Ranges) -> Interval:
    return whole(expr.dtype)


def _call(expr: Call, ranges: Ranges) -> Interval:
    rule = _OPS.get(expr.op.name)
    if rule is None or not (expr.dtype.element.is_int or expr.dtype.element.is_bool):
        return whole(expr.dtype)
    return rule(expr, ranges)


def _sum(expr: Call, ranges: Ranges) -> Interval:
    if expr.dtype.is_vector or not expr.dtype.is_int:
        a, b = (bounds(arg, ranges) for arg in (*expr.args, expr.args[-1])[:2])
        if expr.op.name == "add":
            return _fit((a[0] + b[0], a[1] + b[1]), expr.dtype)
        if expr.op.name == "sub":
            return _fit((a[0] - b[1], a[1] - b[0]), expr.dtype)
        return whole(expr.dtype)
    return _fit(linear_bounds(linear(expr), ranges), expr.dtype)


def _mul(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    corners = (a * c, a * d, b * c, b * d)
    return _fit((min(corners), max(corners)), expr.dtype)


def _floordiv(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    if c <= 0 <= d:
        return whole(expr.dtype)
    corners = (a // c, a // d, b // c, b // d)
    return _fit((min(corners), max(corners)), expr.dtype)


def _floormod(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    if c <= 0:
        return (c + 1, 0) if d < 0 else whole(expr.dtype)
    return (a, b) if a >= 0 and b < c else (0, min(d - 1, b) if a >= 0 else d - 1)


def _truncdiv(expr: Call, ranges: Ranges) -> Interval:
    (a, _), (c, _) = (bounds(arg, ranges) for arg in expr.args)
    return _floordiv(expr, ranges) if a >= 0 and c > 0 else whole(expr.dtype)


def _truncmod(expr: Call, ranges: Ranges) -> Interval:
    (a, _), (c, _) = (bounds(arg, ranges) for arg in expr.args)
    return _floormod(expr, ranges) if a >= 0 and c > 0 else whole(expr.dtype)


def _ceildiv(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    if c <= 0:
        return whole(expr.dtype)
    corners = (-(-a // c), -(-a // d), -(-b // c), -(-b // d))
    return min(corners), max(corners)


def _min(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    return min(a, c), min(b, d)


def _max(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    return max(a, c), max(b, d)


def _cast(expr: Call, ranges: Ranges) -> Interval:
    source = expr.args[0].dtype.element
    return _fit(bounds(expr.args[0], ranges), expr.dtype) if source.is_int or source.is_bool else whole(expr.dtype)


def _choice(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args[1:])
    return min(a, c), max(b, d)


def _and(expr: Call, ranges: Ranges) -> Interval:
    tops = [high for low, high in (bounds(arg, ranges) for arg in expr.args) if low >= 0]
    return (0, min(tops)) if tops else whole(expr.dtype)


def _shift_right(expr: Call, ranges: Ranges) -> Interval:
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    width = expr.dtype.bits
    if c < 0 or d >= width:
        return whole(expr.dtype)
    corners = (a >> c, a >> d, b >> c, b >> d)
    return min(corners), max(corners)


def _width(expr: Call, ranges: Ranges) -> Interval:
    return 0, expr.args[0].dtype.bits


_RULES: dict[type, Callable[..., Interval]] = {
    Const: _const,
    Var: _var,
    Broadcast: _broadcast,
    Ramp: _ramp,
    Let: _let,
    Call: _call,
    BufferLoad: _anything,
}
_OPS: dict[str, Callable[[Call, Ranges], Interval]] = {
    get_op(name).name: rule
    for name, rule in {
        "add": _sum,
        "sub": _sum,
        "negative": _sum,
        "mul": lambda e, r: _sum(e, r) if Const in map(type, e.args) and not e.dtype.is_vector else _mul(e, r),
        "floordiv": _floordiv,
        "floormod": _floormod,
        "truncdiv": _truncdiv,
        "truncmod": _truncmod,
        "ceildiv": _ceildiv,
        "min": _min,
        "max": _max,
        "cast": _cast,
        "if_then_else": _choice,
        "Select": _choice,
        "bitwise_and": _and,
        "shift_right": _shift_right,
        "popcount": _width,
        "clz": _width,
    }.items()
}

__all__ = ["Interval", "Ranges", "bounds", "exact", "linear_bounds", "whole", "wrap"]
