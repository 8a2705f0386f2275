"""Conditions as sets of isl in which every rounded quotient, extreme and choice is a dimension of its own.

Such sets have plain linear constraints, which isl decides far quicker than quotients within sets. They are for asking
whether they are empty and for points; their other dimensions are not to be projected out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .form import Both, Choice, Column, Compare, Condition, Dim, Either, Extreme, Floor, Sum, columns_of, negated
from .limits import PIECES, Unknown, value_of

if TYPE_CHECKING:
    import islpy


class Flat:
    """The set of points at which all `parts` hold. The first coordinates are those of `dims`."""

    def __init__(self, ctx: islpy.Context, parts: Sequence[Condition]) -> None:
        import islpy

        self._isl = islpy
        self.ctx = ctx
        columns = columns_of(parts)
        self.dims: list[Dim] = [column for column in columns if type(column) is Dim]
        self.columns: list[Column] = [*self.dims, *(column for column in columns if type(column) is not Dim)]
        self._at = {id(column): at for at, column in enumerate(self.columns)}
        self.space = islpy.Space.set_alloc(ctx, 0, len(self.columns))
        self._local = islpy.LocalSpace.from_space(self.space)
        self._zero = islpy.Aff.zero_on_domain(self._local)
        self.parts = tuple(parts)

    def set(self) -> islpy.Set:
        """The set; pieces of it that are empty are left out as it grows."""
        isl = self._isl
        plain = isl.BasicSet.universe(self.space)
        several: list[Condition | Column] = []
        for column in self.columns:
            plain = self._bounds(plain, column)
            if type(column) is Floor:
                rest = self._aff(column.value).sub(self._column(column, column.by))
                plain = self._within(plain, rest, 0, column.by - 1)
            elif type(column) is Extreme:
                for side in (column.a, column.b):
                    gap = self._aff(side).sub(self._column(column, 1))
                    plain = plain.intersect(self._not_negative(gap if column.least else gap.neg()))
                several.append(column)
            elif type(column) is Choice:
                several.append(column)
        for part in _conjuncts(self.parts):
            if type(part) is Compare:
                plain = plain.intersect(self._compare(part))
            else:
                several.append(part)
        found = isl.Set.from_basic_set(plain)
        for one in sorted(several, key=_weight):
            if found.is_empty():
                return found
            found = self._few(found.intersect(_SEVERAL[type(one)](self, one)))
        return found

    def _few(self, found: islpy.Set) -> islpy.Set:
        if found.n_basic_set() <= PIECES:
            return found
        kept = [piece for piece in found.get_basic_sets() if not piece.is_empty()]
        if len(kept) > PIECES:
            raise Unknown("a set falls into too many pieces")
        found = self._isl.Set.empty(self.space)
        for piece in kept:
            found = found.union(self._isl.Set.from_basic_set(piece))
        return found

    def _aff(self, value: Sum) -> islpy.Aff:
        kind = self._isl.dim_type.in_
        aff = self._isl.Aff.zero_on_domain(self._local)
        for column, c in value.terms.items():
            aff = aff.set_coefficient_val(kind, self._at[id(column)], value_of(self.ctx, c))
        return aff.set_constant_val(value_of(self.ctx, value.constant)) if value.constant else aff

    def _column(self, column: Column, factor: int) -> islpy.Aff:
        aff = self._isl.Aff.zero_on_domain(self._local)
        return aff.set_coefficient_val(self._isl.dim_type.in_, self._at[id(column)], value_of(self.ctx, factor))

    def _bounds(self, found: islpy.BasicSet, column: Column) -> islpy.BasicSet:
        return self._within(found, self._column(column, 1), column.low, column.high)

    def _within(self, found: islpy.BasicSet, aff: islpy.Aff, low: int, high: int) -> islpy.BasicSet:
        above = self._not_negative(aff.add_constant_val(value_of(self.ctx, -low)))
        below = self._not_negative(aff.neg().add_constant_val(value_of(self.ctx, high)))
        return found.intersect(above).intersect(below)

    def _not_negative(self, aff: islpy.Aff) -> islpy.BasicSet:
        return aff.ge_basic_set(self._zero)

    def _compare(self, condition: Compare) -> islpy.BasicSet:
        aff = self._aff(condition.value)
        return aff.zero_basic_set() if condition.equal else self._not_negative(aff)

    def _of(self, condition: Condition) -> islpy.Set:
        """Where a condition holds."""
        if type(condition) is Compare:
            return self._isl.Set.from_basic_set(self._compare(condition))
        return _SEVERAL[type(condition)](self, condition)

    def _both(self, condition: Both) -> islpy.Set:
        found = self._isl.Set.universe(self.space)
        for part in sorted(condition.parts, key=_weight):
            found = self._few(found.intersect(self._of(part)))
        return found

    def _either(self, condition: Either) -> islpy.Set:
        found = self._isl.Set.empty(self.space)
        for part in condition.parts:
            found = self._few(found.union(self._of(part)))
        return found

    def _extreme(self, column: Extreme) -> islpy.Set:
        """It is one of both; that it is beyond neither is said already."""
        own = self._column(column, 1)
        sides = [own.sub(self._aff(side)).zero_basic_set() for side in (column.a, column.b)]
        return self._isl.Set.from_basic_set(sides[0]).union(self._isl.Set.from_basic_set(sides[1]))

    def _choice(self, column: Choice) -> islpy.Set:
        own = self._column(column, 1)
        found = self._isl.Set.empty(self.space)
        for condition, side in ((column.condition, column.a), (negated(column.condition), column.b)):
            equal = self._isl.Set.from_basic_set(own.sub(self._aff(side)).zero_basic_set())
            found = found.union(equal.intersect(self._of(condition)))
        return self._few(found)


def _conjuncts(parts: Sequence[Condition]) -> list[Condition]:
    found: list[Condition] = []
    for part in parts:
        found += part.parts if type(part) is Both else (part,)  # type: ignore[union-attr]
    return found


def _weight(item: Any) -> int:
    """What falls into few pieces comes first: it keeps the pieces of the rest few."""
    if type(item) is Compare:
        return 0
    return 2 if type(item) in (Extreme, Choice) else len(item.parts)


_SEVERAL: dict[type, Callable[[Flat, Any], Any]] = {
    Both: Flat._both,
    Either: Flat._either,
    Extreme: Flat._extreme,
    Choice: Flat._choice,
}

__all__ = ["Flat"]
