"""Expressions of the program as sums and conditions that isl takes.

Values are integers as numbers: where an operation may wrap around, its value is the sum less a multiple of two to the
width, which is exact. What is not affine becomes an unknown within its bounds, one for all equal subterms that do not
depend on when they are evaluated; so a translation holds for every value of the program, and perhaps for more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...dtype import DType
from ...expr import BufferLoad, Call, CallFunction, Const, Expr, Let, Reduce, Var
from ...node import recursion_room
from ...rewrite import walk
from ..bounds import Interval, bounds, whole
from .form import (
    FALSE,
    TRUE,
    Both,
    Choice,
    Column,
    Compare,
    Condition,
    Dim,
    Either,
    Extreme,
    Floor,
    Sum,
    at_least_zero,
    both,
    column,
    either,
    is_zero,
    not_zero,
    number,
    weigh,
)
from .limits import NODES, Unknown


class Translation:
    """The sums and conditions of one question, which share their variables and unknowns.

    `ranges` are the inclusive bounds of variables, `values` what bound names stand for.
    `side` collects what is known of the unknowns; it holds always.
    """

    def __init__(
        self,
        ranges: Mapping[Var, Interval] | None = None,
        values: Mapping[Var, Expr] | None = None,
        nodes: int = NODES,
    ) -> None:
        self.ranges = dict(ranges or {})
        self.values = dict(values or {})
        self.side: list[Condition] = []
        self.dims: dict[Any, Dim] = {}
        self._left = nodes
        self._raw: dict[int, Sum] = {}
        self._conditions: dict[tuple[int, bool], Condition] = {}
        self._columns: dict[Any, Column] = {}
        self._keep: list[Any] = []  # the ids in the tables stay taken

    def number(self, expr: Expr) -> Sum:
        """The value of an integer or bool scalar."""
        with recursion_room():
            return self._number(expr)

    def condition(self, expr: Expr, positive: bool = True) -> Condition:
        """Where a bool scalar is true, or where it is false."""
        with recursion_room():
            return self._condition(expr, positive)

    def dim(self, var: Var) -> Dim:
        """The column of a variable that has no value in `values`."""
        return self._dim(var, var)

    @property
    def unknowns(self) -> list[Dim]:
        """The columns that stand for subterms that are not affine."""
        return [dim for dim in self.dims.values() if type(dim.expr) is not Var]

    # values

    def _number(self, expr: Expr) -> Sum:
        dtype: DType = expr.dtype
        if dtype.is_bool:
            return self._choose(self._condition(expr, True), number(1), number(0))
        return self.fit(self._raw_of(expr), dtype)

    def _raw_of(self, expr: Expr) -> Sum:
        """A sum that is equal to the value modulo two to the width of its dtype."""
        found = self._raw.get(id(expr))
        if found is None:
            self._spend(expr)
            found = self._raw[id(expr)] = _VALUES.get(type(expr), Translation._unknown)(self, expr)
            self._keep.append(expr)
        return found

    def _spend(self, expr: Expr) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unknown("the expression is too large")
        dtype: DType = expr.dtype
        if dtype.is_vector or not (dtype.is_int or dtype.is_bool):
            raise Unknown(f"{dtype} is no integer scalar")

    def fit(self, value: Sum, dtype: DType) -> Sum:
        """What is left of a sum in an integer of `dtype`: it wraps around."""
        least, greatest = whole(dtype)
        if least <= value.low and value.high <= greatest:
            return value
        size = greatest - least + 1
        rounds = self._floor(value.plus(-least), size)
        if rounds.is_constant:
            return value.plus(-size * rounds.constant)
        terms = dict(value.terms)
        for item, c in rounds.terms.items():
            terms[item] = terms.get(item, 0) - size * c
        constant = value.constant - size * rounds.constant
        return Sum({item: c for item, c in terms.items() if c}, constant, least, greatest)

    def _const(self, expr: Const) -> Sum:
        return number(int(expr.value))

    def _var(self, var: Var) -> Sum:
        value = self.values.get(var)
        if value is None:
            return column(self._dim(var, var))
        if value.dtype is not var.dtype:
            return self.fit(self._number(value), var.dtype)
        return self._number(value)

    def _let(self, expr: Let) -> Sum:
        if expr.value.dtype is expr.var.dtype and not expr.value.dtype.is_float and not expr.value.dtype.is_handle:
            self.values[expr.var] = expr.value
        return self._raw_of(expr.body)

    def _dim(self, key: Any, expr: Expr) -> Dim:
        dim = self.dims.get(key)
        if dim is None:
            dtype: DType = expr.dtype
            if dtype.is_vector or not (dtype.is_int or dtype.is_bool):
                raise Unknown(f"{dtype} is no integer scalar")
            low, high = bounds(expr, self.ranges)
            dim = self.dims[key] = Dim(expr, low, max(low, high))
        return dim

    def _unknown(self, expr: Expr) -> Sum:
        return column(self._opaque(expr))

    def _opaque(self, expr: Expr) -> Dim:
        """An unknown in the place of `expr`; equal subterms share it where evaluating one again gives the same."""
        inner = _substituted(expr, self.values)
        return self._dim(inner if _repeatable(inner) else object(), inner)

    def _call(self, expr: Call) -> Sum:
        rule = _OPS.get(expr.op.name)
        return self._unknown(expr) if rule is None else rule(self, expr)

    def _add(self, expr: Call) -> Sum:
        return self._raw_of(expr.args[0]) + self._raw_of(expr.args[1])

    def _sub(self, expr: Call) -> Sum:
        return self._raw_of(expr.args[0]) - self._raw_of(expr.args[1])

    def _negative(self, expr: Call) -> Sum:
        return self._raw_of(expr.args[0]).times(-1)

    def _invert(self, expr: Call) -> Sum:
        return self._raw_of(expr.args[0]).times(-1).plus(-1)

    def _mul(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        if b.is_constant:
            return self._raw_of(expr.args[0]).times(b.constant)
        if a.is_constant:
            return self._raw_of(expr.args[1]).times(a.constant)
        corners = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
        key = ("mul", frozenset((_key(a), _key(b))))
        dim = self.dims.get(key)
        least, greatest = whole(expr.dtype)
        if min(corners) < least or max(corners) > greatest:
            return self._unknown(expr)
        if dim is None:
            dim = self.dims[key] = Dim(expr, min(corners), max(corners))
            self._keep += (a, b)
            if a.low >= 0 and b.low >= 0:
                # a * b >= a where b >= 1, and so on: what bounds alone lose
                value = column(dim)
                for one, other in ((a, b), (b, a)):
                    self.side.append(at_least_zero(value - one.times(other.low)))
                    self.side.append(at_least_zero(one.times(other.high) - value))
        return column(dim)

    def _floordiv(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        if b.is_constant and b.constant:
            return self._floor(a, b.constant) if b.constant > 0 else self._floor(a.times(-1), -b.constant)
        value = self._unknown(expr)
        if not b.is_constant and a.low >= 0 and b.low > 0:
            self.side.append(at_least_zero(a - value))
            self.side.append(either((at_least_zero(a - b), is_zero(value))))
        return value

    def _floormod(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        if b.is_constant and b.constant:
            return self.remainder(a, b.constant)
        value = self._unknown(expr)
        if not b.is_constant and b.low > 0:
            self.side += (at_least_zero(value), at_least_zero((b - value).plus(-1)))
            if a.low >= 0:
                self.side += (at_least_zero(a - value), either((at_least_zero(a - b), is_zero(a - value))))
        return value

    def remainder(self, a: Sum, by: int) -> Sum:
        """`a % by` for a number that is not 0."""
        quotient = self._floor(a, by) if by > 0 else self._floor(a.times(-1), -by)
        value = a - quotient.times(by)
        low, high = (0, by - 1) if by > 0 else (by + 1, 0)
        return Sum(value.terms, value.constant, max(low, value.low), min(high, value.high))

    def _truncdiv(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        return self._truncated(a, b.constant) if b.is_constant and b.constant else self._unknown(expr)

    def _truncated(self, a: Sum, by: int) -> Sum:
        if by < 0:
            return self._truncated(a, -by).times(-1)
        if a.low >= 0:
            return self._floor(a, by)
        toward = self._floor(a.times(-1), by).times(-1)
        return toward if a.high <= 0 else self._choose(at_least_zero(a), self._floor(a, by), toward)

    def _truncmod(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        if not b.is_constant or not b.constant:
            return self._unknown(expr)
        return a - self._truncated(a, b.constant).times(b.constant)

    def _ceildiv(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        if not b.is_constant or not b.constant:
            return self._unknown(expr)
        by = b.constant
        return (self._floor(a.times(-1), by) if by > 0 else self._floor(a, -by)).times(-1)

    def _shift_left(self, expr: Call) -> Sum:
        by = self._number(expr.args[1])
        if not by.is_constant or by.constant < 0:
            return self._unknown(expr)
        return number(0) if by.constant >= expr.dtype.bits else self._raw_of(expr.args[0]).times(1 << by.constant)

    def _shift_right(self, expr: Call) -> Sum:
        by = self._number(expr.args[1])
        if not by.is_constant or by.constant < 0:
            return self._unknown(expr)
        return self._floor(self._number(expr.args[0]), 1 << min(by.constant, expr.dtype.bits))

    def _bitwise_and(self, expr: Call) -> Sum:
        for mask, other in (expr.args, expr.args[::-1]):
            value = self._number(mask)
            if value.is_constant and value.constant >= 0 and value.constant & (value.constant + 1) == 0:
                return self.remainder(self._number(other), value.constant + 1)
        return self._unknown(expr)

    def _extreme(self, expr: Call) -> Sum:
        a, b = (self._number(arg) for arg in expr.args)
        least = expr.op.name == "min"
        gap = a - b
        if gap.high <= 0:
            return a if least else b
        if gap.low >= 0:
            return b if least else a
        pick = min if least else max
        made = Extreme(least, a, b, pick(a.low, b.low), pick(a.high, b.high))
        return self._shared(("extreme", least, frozenset((_key(a), _key(b)))), made)

    def _abs(self, expr: Call) -> Sum:
        value = self._number(expr.args[0])
        if value.low >= 0:
            return value
        return self._choose(at_least_zero(value), value, value.times(-1))

    def _choice(self, expr: Call) -> Sum:
        taken, other = (self._number(arg) for arg in expr.args[1:])
        return self._choose(self._condition(expr.args[0], True), taken, other)

    def _choose(self, condition: Condition, a: Sum, b: Sum) -> Sum:
        if condition is TRUE or _key(a) == _key(b):
            return a
        if condition is FALSE:
            return b
        made = Choice(condition, a, b, min(a.low, b.low), max(a.high, b.high))
        self._keep.append(made)
        return column(made)

    def _cast(self, expr: Call) -> Sum:
        source: DType = expr.args[0].dtype
        if not (source.is_int or source.is_bool) or source.is_vector:
            return self._unknown(expr)
        return self._number(expr.args[0])

    def _floor(self, value: Sum, by: int) -> Sum:
        """`value // by` for a positive number, what divides evenly taken out."""
        if by == 1:
            return value
        outside = {item: c // by for item, c in value.terms.items() if c % by == 0}
        inside = {item: c for item, c in value.terms.items() if c % by}
        shift, rest = divmod(value.constant, by)
        base = weigh(outside, shift)
        if not inside:
            return base
        part = weigh(inside, rest)
        if not outside:
            # a sum may know closer bounds than its parts give, as a remainder does
            low, high = max(part.low, value.low - shift * by), min(part.high, value.high - shift * by)
            part = Sum(inside, rest, low, high)
        low, high = part.low // by, part.high // by
        if low == high:
            return base.plus(low)
        return base + self._shared(("floor", _key(part), by), Floor(part, by, low, high))

    def _shared(self, key: Any, made: Column) -> Sum:
        self._keep.append(made)
        return column(self._columns.setdefault(key, made))

    # conditions

    def _condition(self, expr: Expr, positive: bool) -> Condition:
        key = (id(expr), positive)
        found = self._conditions.get(key)
        if found is None:
            self._spend(expr)
            found = self._conditions[key] = self._decide(expr, positive)
            self._keep.append(expr)
        return found

    def _decide(self, expr: Expr, positive: bool) -> Condition:
        kind = type(expr)
        if kind is Const:
            return TRUE if bool(expr.value) is positive else FALSE  # type: ignore[attr-defined]
        if kind is Var and expr in self.values:
            return self._condition(self.values[expr], positive)  # type: ignore[index]
        if kind is Let:
            if not expr.value.dtype.is_float and not expr.value.dtype.is_handle:  # type: ignore[attr-defined]
                self.values[expr.var] = expr.value  # type: ignore[attr-defined]
            return self._condition(expr.body, positive)  # type: ignore[attr-defined]
        rule = _CONDITIONS.get(expr.op.name) if kind is Call else None  # type: ignore[attr-defined]
        if rule is not None:
            return rule(self, expr, positive)  # type: ignore[arg-type]
        return self._flag(self._dim(expr, expr) if kind is Var else self._opaque(expr), positive)

    def _flag(self, dim: Dim, positive: bool) -> Condition:
        value = column(dim)
        return at_least_zero(value.plus(-1) if positive else value.times(-1))

    def _and(self, expr: Call, positive: bool) -> Condition:
        return (both if positive else either)([self._condition(arg, positive) for arg in expr.args])

    def _or(self, expr: Call, positive: bool) -> Condition:
        return (either if positive else both)([self._condition(arg, positive) for arg in expr.args])

    def _not(self, expr: Call, positive: bool) -> Condition:
        return self._condition(expr.args[0], not positive)

    def _same(self, expr: Call, positive: bool) -> Condition:
        return self._condition(expr.args[0], positive)

    def _selected(self, expr: Call, positive: bool) -> Condition:
        condition, taken, other = expr.args
        return either(
            (
                both((self._condition(condition, True), self._condition(taken, positive))),
                both((self._condition(condition, False), self._condition(other, positive))),
            )
        )

    def _differ(self, expr: Call, positive: bool) -> Condition:
        """Exclusive or of two bools."""
        a, b = expr.args
        return either(
            (
                both((self._condition(a, True), self._condition(b, not positive))),
                both((self._condition(a, False), self._condition(b, positive))),
            )
        )

    def _compare(self, expr: Call, positive: bool) -> Condition:
        name = expr.op.name
        source: DType = expr.args[0].dtype
        if source.is_bool and name in ("equal", "not_equal"):
            return self._differ(expr, positive is (name == "not_equal"))
        if not (source.is_int or source.is_bool) or source.is_vector:
            return self._flag(self._opaque(expr), positive)
        gap = self._number(expr.args[0]) - self._number(expr.args[1])
        return _COMPARE[name if positive else _OPPOSITE[name]](gap)

    def _to_bool(self, expr: Call, positive: bool) -> Condition:
        source: DType = expr.args[0].dtype
        if source.is_bool:
            return self._condition(expr.args[0], positive)
        if not source.is_int or source.is_vector:
            return self._flag(self._opaque(expr), positive)
        return (not_zero if positive else is_zero)(self._number(expr.args[0]))

    # facts

    def assume(self, facts: tuple[Expr, ...]) -> list[Condition]:
        """The conditions of `facts`, by which the bounds of variables are narrowed first.

        What is translated after it may hold only where the facts do. A fact that is too large is left out.
        """
        for _ in range(2):
            for fact in facts:
                try:
                    self._narrow(self.condition(fact))
                except Unknown:
                    continue
            self._raw.clear()
            self._conditions.clear()
        found: list[Condition] = []
        for fact in facts:
            before = self._left
            try:
                found.append(self.condition(fact))
            except Unknown:
                self._left = before
        return found

    def _narrow(self, condition: Condition) -> None:
        for part in condition.parts if type(condition) is Both else (condition,):
            if type(part) is not Compare:
                continue
            self._narrow_sum(part.value)
            if part.equal:
                self._narrow_sum(part.value.times(-1))

    def _narrow_sum(self, value: Sum) -> None:
        """From `value >= 0`: a column is at least what the others leave at most."""
        least = weigh(value.terms, value.constant)
        for item, c in value.terms.items():
            if type(item) is not Dim or abs(c) >= 1 << 31:
                continue
            # the greatest value of the rest
            rest = least.high - max(c * item.low, c * item.high)
            if c > 0:
                item.low = max(item.low, min(-(rest // c), item.high))
            else:
                item.high = min(item.high, max(rest // -c, item.low))


def _key(value: Sum) -> Any:
    return frozenset((id(item), c) for item, c in value.terms.items()), value.constant


def _substituted(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    if not values:
        return expr
    from ...rewrite import free_vars, substitute

    # a name that the expression binds itself stays: its value may be known from another place where it stands
    used = {var: values[var] for var in free_vars(expr) if var in values}
    result: Expr = substitute(expr, used) if used else expr
    return result


def _repeatable(expr: Expr) -> bool:
    """Whether evaluating `expr` again, with nothing in between, gives the same value."""
    for node in walk(expr):
        if type(node) is CallFunction or type(node) is Reduce:
            return False
        if type(node) is Call and (node.op.effect in ("write", "opaque") or node.op.name == "undef"):
            return False
    return True


_VALUES: dict[type, Callable[[Translation, Any], Sum]] = {
    Const: Translation._const,
    Var: Translation._var,
    Let: Translation._let,
    Call: Translation._call,
    BufferLoad: Translation._unknown,
}
_OPS: dict[str, Callable[[Translation, Call], Sum]] = {
    "add": Translation._add,
    "sub": Translation._sub,
    "mul": Translation._mul,
    "negative": Translation._negative,
    "bitwise_not": Translation._invert,
    "floordiv": Translation._floordiv,
    "floormod": Translation._floormod,
    "truncdiv": Translation._truncdiv,
    "truncmod": Translation._truncmod,
    "ceildiv": Translation._ceildiv,
    "shift_left": Translation._shift_left,
    "shift_right": Translation._shift_right,
    "bitwise_and": Translation._bitwise_and,
    "min": Translation._extreme,
    "max": Translation._extreme,
    "abs": Translation._abs,
    "Select": Translation._choice,
    "if_then_else": Translation._choice,
    "cast": Translation._cast,
}
_CONDITIONS: dict[str, Callable[[Translation, Call, bool], Condition]] = {
    "logical_and": Translation._and,
    "logical_or": Translation._or,
    "logical_not": Translation._not,
    "bitwise_and": Translation._and,
    "bitwise_or": Translation._or,
    "bitwise_xor": Translation._differ,
    "bitwise_not": Translation._not,
    "likely": Translation._same,
    "Select": Translation._selected,
    "if_then_else": Translation._selected,
    "cast": Translation._to_bool,
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), Translation._compare),
}
# of a - b
_COMPARE: dict[str, Callable[[Sum], Condition]] = {
    "equal": is_zero,
    "not_equal": not_zero,
    "less": lambda gap: at_least_zero(gap.times(-1).plus(-1)),
    "less_equal": lambda gap: at_least_zero(gap.times(-1)),
    "greater": lambda gap: at_least_zero(gap.plus(-1)),
    "greater_equal": at_least_zero,
}
_OPPOSITE = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
}

__all__ = ["Compare", "Either", "Translation"]
