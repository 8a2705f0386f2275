"""Sums and conditions as functions and sets of isl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .form import Both, Choice, Column, Compare, Condition, Dim, Either, Extreme, Floor, Sum, negated
from .limits import PIECES, Unknown, value_of

if TYPE_CHECKING:
    import islpy


class Build:
    """Makes functions and sets over `dims`, in that order.

    The first `parameters` of them are parameters of isl, of these names.
    """

    def __init__(
        self, ctx: islpy.Context, dims: Sequence[Dim], parameters: int = 0, names: Sequence[str] | None = None
    ) -> None:
        import islpy

        self.ctx = ctx
        self.dims = tuple(dims)
        self.parameters = parameters
        space = islpy.Space.set_alloc(ctx, parameters, len(dims) - parameters)
        for at in range(parameters):
            # parameters of different sets are matched by name
            space = space.set_dim_name(islpy.dim_type.param, at, names[at] if names else f"p{at}")
        self.space = space
        self._local = islpy.LocalSpace.from_space(space)
        self._isl = islpy
        self._functions: dict[int, islpy.PwAff] = {}
        self._at: dict[Dim, tuple[Any, int]] = {}
        for at, dim in enumerate(self.dims):
            kind = islpy.dim_type.param if at < parameters else islpy.dim_type.in_
            self._at[dim] = (kind, at if at < parameters else at - parameters)

    def sum(self, value: Sum) -> islpy.PwAff:
        """The function that is a sum."""
        isl = self._isl
        aff = isl.Aff.zero_on_domain(self._local)
        others: list[tuple[Column, int]] = []
        for item, c in value.terms.items():
            if type(item) is Dim:
                kind, at = self._at[item]
                aff = aff.set_coefficient_val(kind, at, value_of(self.ctx, c))
            else:
                others.append((item, c))
        if value.constant:
            aff = aff.set_constant_val(value_of(self.ctx, value.constant))
        result = isl.PwAff.from_aff(aff)
        for item, c in others:
            function = self._column(item)
            result = self._checked(result.add(function if c == 1 else function.scale_val(value_of(self.ctx, c))))
        return result

    def _column(self, item: Column) -> islpy.PwAff:
        found = self._functions.get(id(item))
        if found is None:
            found = self._functions[id(item)] = self._checked(_COLUMNS[type(item)](self, item))
        return found

    def _checked(self, function: islpy.PwAff) -> islpy.PwAff:
        if function.n_piece() > PIECES:
            raise Unknown("a function falls into too many pieces")
        return function

    def _floor(self, item: Floor) -> islpy.PwAff:
        return self.sum(item.value).scale_down_val(value_of(self.ctx, item.by)).floor()

    def _extreme(self, item: Extreme) -> islpy.PwAff:
        a, b = self.sum(item.a), self.sum(item.b)
        return a.min(b) if item.least else a.max(b)

    def _choice(self, item: Choice) -> islpy.PwAff:
        condition = self.set(item.condition)
        otherwise = self.set(negated(item.condition))
        taken = self.sum(item.a).intersect_domain(condition)
        return taken.union_add(self.sum(item.b).intersect_domain(otherwise))

    def set(self, condition: Condition) -> islpy.Set:
        """Where a condition holds."""
        return self._few(_CONDITIONS[type(condition)](self, condition))

    def _few(self, found: islpy.Set) -> islpy.Set:
        if found.n_basic_set() > PIECES:
            found = found.coalesce()
            if found.n_basic_set() > PIECES:
                raise Unknown("a set falls into too many pieces")
        return found

    def _compare(self, condition: Compare) -> islpy.Set:
        function = self.sum(condition.value)
        return function.zero_set() if condition.equal else function.nonneg_set()

    def _both(self, condition: Both) -> islpy.Set:
        found = self._isl.Set.universe(self.space)
        for part in sorted(condition.parts, key=_weight):
            found = self.meet(found, part)
        return found

    def _either(self, condition: Either) -> islpy.Set:
        found = self._isl.Set.empty(self.space)
        for part in condition.parts:
            found = self._few(found.union(self.set(part)))
        return found

    def meet(self, found: islpy.Set, condition: Condition) -> islpy.Set:
        """The part of a set where a condition holds."""
        return self._few(found.intersect(self.set(condition)))

    def bounds(self, dims: Iterable[Dim]) -> islpy.Set:
        """Where the dims are within their bounds."""
        found = self._isl.Set.universe(self.space)
        for dim in dims:
            kind, at = self._at[dim]
            kind = self._isl.dim_type.set if kind == self._isl.dim_type.in_ else kind
            found = found.lower_bound_val(kind, at, value_of(self.ctx, dim.low))
            found = found.upper_bound_val(kind, at, value_of(self.ctx, dim.high))
        return found


def _weight(condition: Condition) -> int:
    """Simple parts first: they keep the pieces of the others few."""
    return 0 if type(condition) is Compare else len(condition.parts)  # type: ignore[union-attr]


_COLUMNS: dict[type, Callable[[Build, Any], Any]] = {
    Floor: Build._floor,
    Extreme: Build._extreme,
    Choice: Build._choice,
}
_CONDITIONS: dict[type, Callable[[Build, Any], Any]] = {
    Compare: Build._compare,
    Both: Build._both,
    Either: Build._either,
}

__all__ = ["Build"]
