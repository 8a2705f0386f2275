"""Integer values and conditions as isl takes them: sums of columns, and comparisons of sums with zero.

A column is a variable, an unknown that stands for what is not affine, or a rounded quotient, an extreme or a choice of
sums. Every sum knows its bounds, so that what they decide never reaches isl.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ...expr import Expr

Column = Any  # Dim, Floor, Extreme or Choice


class Dim(Struct, eq=False):
    """A variable of the program, or the value of a subterm that is not affine (`expr` is no Var then).

    The bounds are inclusive. They may be narrowed by facts, never widened.
    """

    expr: Expr
    low: int
    high: int


class Sum(Struct, frozen=True, eq=False):
    """`constant` plus the columns times their coefficients, with its least and greatest value."""

    terms: dict[Column, int]
    constant: int
    low: int
    high: int

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __add__(self, other: Sum) -> Sum:
        return combine(self, other, 1)

    def __sub__(self, other: Sum) -> Sum:
        return combine(self, other, -1)

    def times(self, factor: int) -> Sum:
        """This sum times a number."""
        if factor == 1:
            return self
        if factor == 0:
            return number(0)
        ends = (self.low * factor, self.high * factor)
        terms = {column: c * factor for column, c in self.terms.items()}
        return Sum(terms, self.constant * factor, min(ends), max(ends))

    def plus(self, by: int) -> Sum:
        """This sum plus a number."""
        return Sum(self.terms, self.constant + by, self.low + by, self.high + by) if by else self


class Floor(Struct, frozen=True, eq=False):
    """The greatest integer not above `value / by`; `by` is positive."""

    value: Sum
    by: int
    low: int
    high: int


class Extreme(Struct, frozen=True, eq=False):
    """The least (`least`) or greatest of two sums."""

    least: bool
    a: Sum
    b: Sum
    low: int
    high: int


class Choice(Struct, frozen=True, eq=False):
    """`a` where the condition holds, else `b`."""

    condition: Condition
    a: Sum
    b: Sum
    low: int
    high: int


class Compare(Struct, frozen=True, eq=False):
    """`value >= 0`, or `value == 0` where `equal`."""

    value: Sum
    equal: bool = False


class Both(Struct, frozen=True, eq=False):
    """All of the parts hold; with no parts, true."""

    parts: tuple[Condition, ...]


class Either(Struct, frozen=True, eq=False):
    """One of the parts holds; with no parts, false."""

    parts: tuple[Condition, ...]


Condition = Compare | Both | Either
TRUE = Both(())
FALSE = Either(())


def number(value: int) -> Sum:
    """A constant."""
    return Sum({}, value, value, value)


def column(one: Column) -> Sum:
    """A sum of one column."""
    return number(one.low) if one.low == one.high else Sum({one: 1}, 0, one.low, one.high)


def combine(a: Sum, b: Sum, sign: int) -> Sum:
    """`a + sign * b`."""
    if not b.terms:
        return a.plus(sign * b.constant)
    terms = dict(a.terms)
    for item, c in b.terms.items():
        total = terms.get(item, 0) + sign * c
        if total:
            terms[item] = total
        else:
            terms.pop(item, None)
    made = weigh(terms, a.constant + sign * b.constant)
    # a sum may know closer bounds than its columns give, as a remainder does
    low, high = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
    if a.low + low <= made.low and a.high + high >= made.high:
        return made
    return Sum(terms, made.constant, max(made.low, a.low + low), min(made.high, a.high + high))


def weigh(terms: dict[Column, int], constant: int) -> Sum:
    """A sum with the bounds that its columns give."""
    low = high = constant
    for item, c in terms.items():
        if c > 0:
            low += c * item.low
            high += c * item.high
        else:
            low += c * item.high
            high += c * item.low
    return Sum(terms, constant, low, high)


def at_least_zero(value: Sum) -> Condition:
    """`value >= 0`, decided where the bounds decide it.

    `min(a, b) >= c` is two conditions on affine sums, where isl would split the space at `a <= b`.
    """
    if value.low >= 0:
        return TRUE
    if value.high < 0:
        return FALSE
    for item, c in value.terms.items():
        if type(item) is Extreme and item.least == (c > 0):
            rest = value + weigh({item: -c}, 0)
            return both(at_least_zero(rest + end.times(c)) for end in (item.a, item.b))
    return Compare(value)


def is_zero(value: Sum) -> Condition:
    """`value == 0`, decided where the bounds decide it."""
    if value.low > 0 or value.high < 0:
        return FALSE
    return TRUE if value.low == value.high else Compare(value, True)


def not_zero(value: Sum) -> Condition:
    """`value != 0`: above or below."""
    return either((at_least_zero(value.plus(-1)), at_least_zero(value.times(-1).plus(-1))))


def negated(condition: Condition) -> Condition:
    """Where a condition does not hold."""
    if type(condition) is Compare:
        value = condition.value
        return not_zero(value) if condition.equal else at_least_zero(value.times(-1).plus(-1))
    parts = [negated(part) for part in condition.parts]  # type: ignore[union-attr]
    return either(parts) if type(condition) is Both else both(parts)


def both(parts: Iterable[Condition]) -> Condition:
    """All of the parts."""
    return _join(Both, parts, TRUE, FALSE)


def either(parts: Iterable[Condition]) -> Condition:
    """One of the parts."""
    return _join(Either, parts, FALSE, TRUE)


def _join(kind: Any, parts: Iterable[Condition], neutral: Condition, decisive: Condition) -> Condition:
    found: list[Condition] = []
    for part in parts:
        if part is decisive:
            return decisive
        if part is neutral:
            continue
        found += part.parts if type(part) is kind else (part,)  # type: ignore[union-attr]
    if not found:
        return neutral
    return found[0] if len(found) == 1 else kind(tuple(found))


def dims_of(roots: Iterable[Sum | Condition]) -> list[Dim]:
    """The variables and unknowns that sums and conditions are made of, each once, in the order they are met."""
    return [column for column in columns_of(roots) if type(column) is Dim]


def columns_of(roots: Iterable[Sum | Condition]) -> list[Column]:
    """The columns that sums and conditions are made of, those inside of others too, each once."""
    found: dict[int, Column] = {}
    seen: set[int] = set()
    stack: list[Any] = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) in _COLUMNS:
            found[id(node)] = node
        if type(node) is not Dim:
            stack += list(_inside(node))[::-1]
    return list(found.values())


def _inside(node: Any) -> Iterator[Any]:
    if type(node) is Sum:
        yield from node.terms
    elif type(node) is Both or type(node) is Either:
        yield from node.parts
    elif type(node) is Floor or type(node) is Compare:
        yield node.value
    else:
        if type(node) is Choice:
            yield node.condition
        yield node.a
        yield node.b


_COLUMNS = frozenset((Dim, Floor, Extreme, Choice))
