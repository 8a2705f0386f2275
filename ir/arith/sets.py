"""Integer sets for ranges: the least and greatest value of an index while loops run, in terms of what is outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..expr import Call, Const, Expr, Var
from ..op import OPS, cast, get_op
from ..rewrite import walk
from .bounds import bounds, exact, whole
from .linear import Linear, expression, linear

if TYPE_CHECKING:
    from .analyzer import Analyzer

# the first and the last value, both included
Ends = tuple[Expr, Expr]
Domain = Mapping[Var, Ends]


def int_set(expr: Expr, domain: Domain, analyzer: Analyzer) -> Ends | None:
    """The ends of an integer expression while each variable of `domain` runs between its two ends (both included).

    The result does not mention these variables. Every value that the expression takes lies between the ends; they are
    its least and greatest value where each variable stands in it once. None where they are not known, or where
    computing them might wrap.
    """
    if not expr.dtype.is_int or expr.dtype.is_vector:
        return None
    found = _Ends(domain, analyzer).of(expr)
    if found is None:
        return None
    low, high = (analyzer.simplify(end) for end in found)
    return low, high


def region(indices: Sequence[Expr], domain: Domain, analyzer: Analyzer) -> tuple[Ends | None, ...]:
    """The box that indices touch: `int_set` of each of them."""
    return tuple([int_set(index, domain, analyzer) for index in indices])


class _Ends:
    def __init__(self, domain: Domain, analyzer: Analyzer) -> None:
        self.domain, self.analyzer = domain, analyzer
        self.known = analyzer.known

    def of(self, expr: Expr) -> Ends | None:
        if not any(type(node) is Var and node in self.domain for node in walk(expr)):
            return expr, expr
        if type(expr) is Var:
            return self.domain[expr]
        if type(expr) is not Call:
            return None
        if expr.op in _SUMS and expr.dtype.is_int:
            return self.sum(expr)
        rule = _RULES.get(expr.op.name)
        return None if rule is None else rule(self, expr)

    def sum(self, expr: Expr) -> Ends | None:
        form = linear(expr)
        if not exact(form, self.known):
            return None
        low = high = Linear({}, form.constant, form.dtype)
        for atom, c in form.terms.items():
            ends = None if atom is expr else self.of(atom)
            if ends is None:
                return None
            first, last = (linear(end).scaled(c) for end in (ends if c > 0 else ends[::-1]))
            low, high = low + first, high + last
        if not exact(low, self.known) or not exact(high, self.known):
            return None
        return expression(low), expression(high)

    def divided(self, expr: Call) -> Ends | None:
        by = expr.args[1]
        ends = self.of(expr.args[0])
        if ends is None or type(by) is not Const or by.value <= 0:
            return None
        return ends[0] // by, ends[1] // by

    def remaining(self, expr: Call) -> Ends | None:
        by = expr.args[1]
        if type(by) is not Const or by.value <= 0:
            return None
        ends = self.of(expr.args[0])
        if ends is not None and self.analyzer.prove_equal(ends[0] // by, ends[1] // by):
            return ends[0] % by, ends[1] % by
        return Const(0, expr.dtype), Const(int(by.value) - 1, expr.dtype)

    def extreme(self, expr: Call) -> Ends | None:
        a, b = map(self.of, expr.args)
        if a is None or b is None:
            return None
        op = get_op(expr.op.name)
        return op(a[0], b[0]), op(a[1], b[1])

    def converted(self, expr: Call) -> Ends | None:
        inner = expr.args[0]
        if not inner.dtype.is_int:
            return None
        low, high = bounds(inner, self.known)
        least, greatest = whole(expr.dtype)
        ends = self.of(inner)
        if ends is None or low < least or high > greatest:
            return None
        return cast(ends[0], expr.dtype), cast(ends[1], expr.dtype)

    def choice(self, expr: Call) -> Ends | None:
        a, b = map(self.of, expr.args[1:])
        if a is None or b is None:
            return None
        return get_op("min")(a[0], b[0]), get_op("max")(a[1], b[1])


_SUMS = frozenset(OPS[name] for name in ("add", "sub", "mul", "negative"))
_RULES: dict[str, Callable[[_Ends, Call], Ends | None]] = {
    "floordiv": _Ends.divided,
    "floormod": _Ends.remaining,
    "min": _Ends.extreme,
    "max": _Ends.extreme,
    "cast": _Ends.converted,
    "Select": _Ends.choice,
    "if_then_else": _Ends.choice,
}

__all__ = ["Domain", "Ends", "int_set", "region"]
