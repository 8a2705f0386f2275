"""Constant bounds of integer expressions, sound under wrap-around: one that may overflow has its dtype's bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..dtype import DType
from ..expr import Broadcast, BufferLoad, Call, Const, Expr, Let, Ramp, Var
from ..op import get_op
from ..rewrite import walk
from .linear import Linear, linear, wrap

Interval = tuple[int, int]
Ranges = Mapping[Var, Interval]
LONGEST_LET = 256  # nodes of a name's value with the names in it written out


class Known(dict[Var, Interval]):
    """Ranges of variables, and of expressions that are no variables, with what was derived from them.

    `exprs` holds what is known of whole expressions, such as `n % 4` or `A[i]`, by the conditions around, `steps` what
    variables leave when divided (coefficient, base), `lets` what bound names stand for. Derived bounds are kept until
    a range changes, so that asking for those of every part of an expression takes linear time; so is `simple`, what
    expressions are when they are simplified.
    """

    __slots__ = ("derived", "exprs", "lets", "simple", "steps", "trail", "weights")

    def __init__(self, ranges: Ranges = MappingProxyType({})) -> None:
        super().__init__(ranges)
        self.exprs: dict[Expr, Interval] = {}
        self.lets: dict[Var, Expr] = {}
        self.steps: dict[Var, tuple[int, int]] = {}
        self.weights: dict[Var, int] = {}  # the nodes of `lets`, each written out to the last
        self.derived: dict[int, tuple[Expr, Interval]] = {}
        self.simple: dict[int, tuple[Expr, Expr]] = {}  # of an expression: itself, and what it is simplified
        # what was there before each change, newest last: (table, key, value or None)
        self.trail: list[tuple[dict[Any, Any], Any, Any]] = []

    def __setitem__(self, var: Var, interval: Interval) -> None:
        self.trail.append((self, var, self.get(var)))
        super().__setitem__(var, interval)
        self.changed()

    def learn(self, expr: Expr, interval: Interval) -> None:
        """The bounds of an expression that is no variable."""
        self.trail.append((self.exprs, expr, self.exprs.get(expr)))
        self.exprs[expr] = interval
        self.changed()

    def forget(self, expr: Expr) -> None:
        """Nothing is known of an expression any more, beyond what its parts say."""
        if expr in self.exprs:
            self.trail.append((self.exprs, expr, self.exprs.pop(expr)))
            self.changed()

    def step(self, var: Var, coefficient: int, base: int) -> None:
        """`var` is `base` and a multiple of `coefficient`."""
        self.trail.append((self.steps, var, self.steps.get(var)))
        self.steps[var] = coefficient, base

    def bind(self, var: Var, value: Expr) -> bool:
        """`var` stands for a value that does not change; False, and nothing is kept, where that is too long.

        Names that stand for names double with each one (`y = x * x`, `z = y * y`, ...), and whoever looks through them
        meets every copy.
        """
        weight = 0
        for node in walk(value):
            weight += self.weights[node] if type(node) is Var and node in self.lets else 1
            if weight > LONGEST_LET:
                return False
        self.weights[var] = weight
        self.trail.append((self.lets, var, self.lets.get(var)))
        self.lets[var] = value
        self.changed()
        return True

    def changed(self) -> None:
        """Drop what was derived from what was known before."""
        if self.derived:
            self.derived.clear()
        if self.simple:
            self.simple.clear()

    def back_to(self, mark: int) -> None:
        """Undo every change since the trail was `mark` long."""
        if len(self.trail) == mark:
            return
        while len(self.trail) > mark:
            table, key, before = self.trail.pop()
            if before is None:
                dict.pop(table, key, None)
            else:
                dict.__setitem__(table, key, before)
        self.changed()


def bounds(expr: Expr, ranges: Ranges) -> Interval:
    """The least and greatest value that an integer or bool expression (each lane of it) can have."""
    kind = type(expr)
    if type(ranges) is not Known or kind is Const or kind is Var:
        return _RULES.get(kind, _anything)(expr, ranges)
    found = ranges.derived.get(id(expr))
    if found is not None:
        return found[1]
    interval = _RULES.get(kind, _anything)(expr, ranges)
    if ranges.exprs:
        known = ranges.exprs.get(expr)
        if known is not None:
            interval = meet(interval, known)
    ranges.derived[id(expr)] = expr, interval
    return interval


def meet(a: Interval, b: Interval) -> Interval:
    """What lies in both; where nothing does, the code is never reached and `a` will do."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


def whole(dtype: DType) -> Interval:
    """All values of an integer type."""
    return dtype.element.int_range()


def within_types(ranges: Mapping[Var, Interval]) -> dict[Var, Interval]:
    """Ranges of variables without the numbers that their types do not hold."""
    return {var: meet(one, whole(var.dtype)) if var.dtype.is_int else one for var, one in ranges.items()}


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
    return kept(form, form.dtype, ranges)


def kept(form: Linear, dtype: DType, ranges: Ranges) -> bool:
    """Whether the form is the expression's value as a number, and that in another dtype too."""
    low, high = linear_bounds(form, ranges)
    (least, greatest), (first, last) = whole(form.dtype), whole(dtype)
    return max(least, first) <= low and high <= min(greatest, last)


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
    if not (expr.value.dtype.is_int or expr.value.dtype.is_bool) or expr.value.dtype.is_vector:
        return bounds(expr.body, ranges)
    if type(ranges) is Known:
        if expr.var not in ranges:
            ranges[expr.var] = bounds(expr.value, ranges)
        return bounds(expr.body, ranges)
    return bounds(expr.body, {**ranges, expr.var: bounds(expr.value, ranges)})


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
    (a, b), (c, d) = (bounds(arg, ranges) for arg in expr.args)
    if a >= 0 and c > 0:
        return _floormod(expr, ranges)
    if c <= 0 <= d:
        return whole(expr.dtype)
    # the sign is the numerator's, the magnitude below the divisor's and not above the numerator's
    most = max(abs(c), abs(d)) - 1
    return max(min(0, a), -most), min(max(0, b), most)


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

__all__ = ["Interval", "Known", "Ranges", "bounds", "exact", "kept", "linear_bounds", "meet", "whole", "wrap"]
