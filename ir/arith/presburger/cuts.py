"""Where a condition changes its truth along a loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ...expr import Expr, Var
from ...node import recursion_room
from ...op import get_op
from ..bounds import Interval, bounds
from .back import Back
from .build import Build
from .form import FALSE, Condition, at_least_zero, both, column, dims_of, negated
from .limits import Unknown, bounded, context
from .translate import Translation

if TYPE_CHECKING:
    import islpy

# what is spent on one condition: what takes more makes no bounds that are worth a loop
CUTTING = 20_000
Extent = tuple[Expr, Expr]


class Cut(Struct, frozen=True, eq=False):
    """The iterations from `low` up to and without `high`, for all of which a condition is `truth`.

    `whole` says that they are all iterations of the loop; otherwise the ends lie between those of the loop, whatever
    the variables around it are, or, where it does not run, are such that no part of it does. They are its own ends (the
    very objects) where they are equal to them.
    """

    low: Expr
    high: Expr
    truth: bool
    whole: bool


def cut_of(
    condition: Expr,
    var: Var,
    extent: Extent,
    inner: Mapping[Var, Extent],
    ranges: Mapping[Var, Interval],
    facts: Sequence[Expr] = (),
    *,
    values: Mapping[Var, Expr] | None = None,
    unknown: Collection[Var] = (),
) -> Cut | None:
    """Iterations of `for var in range(*extent)` for which `condition` is always true, or always false; None for none.

    `inner` are the loops between, each with its start and stop; for all their iterations the condition must be the
    same. `ranges` and `facts` speak of the variables around, `values` says what bound names stand for, and
    `unknown` are names that are bound inside of the loop to nobody knows what.
    """
    try:
        with recursion_room():
            return _Search(condition, var, extent, inner, ranges, facts, values, set(unknown)).run()
    except Unknown:
        return None


class _Search:
    def __init__(
        self,
        condition: Expr,
        var: Var,
        extent: Extent,
        inner: Mapping[Var, Extent],
        ranges: Mapping[Var, Interval],
        facts: Sequence[Expr],
        values: Mapping[Var, Expr] | None,
        unknown: set[Var],
    ) -> None:
        self.var, self.extent = var, extent
        known = dict(ranges)
        for name, (start, stop) in ((var, extent), *inner.items()):
            low, high = bounds(start, known)[0], bounds(stop, known)[1] - 1
            known[name] = (low, max(low, high))
        self.ranges = known
        self.translation = translation = Translation(known, values)
        self.facts = translation.assume(tuple(facts))
        self.own = self._within(var, extent)
        self.inner = [part for name, ends in inner.items() for part in self._within(name, ends)]
        self.truths = {truth: translation.condition(condition, truth) for truth in (True, False)}
        self.dim = translation.dim(var)
        self.hidden = {*inner, *unknown}
        self.ctx = context()

    def _within(self, var: Var, extent: Extent) -> list[Condition]:
        value = column(self.translation.dim(var))
        start, stop = (self.translation.number(end) for end in extent)
        return [at_least_zero(value - start), at_least_zero((stop - value).plus(-1))]

    def run(self) -> Cut | None:
        for truth in (True, False):
            if self.truths[not truth] is FALSE:
                return Cut(*self.extent, truth, True)
        if self.dim not in dims_of(self.truths.values()):
            return None
        parts = [*self.facts, *self.own, *self.inner, *self.truths.values(), *self.translation.side]
        dims = dims_of(parts)
        self.around = around = [
            dim for dim in dims if dim is not self.dim and type(dim.expr) is Var and dim.expr not in self.hidden
        ]
        hidden = [dim for dim in dims if dim is not self.dim and dim not in around]
        self.build = Build(self.ctx, [*around, self.dim, *hidden], len(around))
        with bounded(self.ctx, CUTTING):
            domain = self._shadow([*self.facts, *self.own])
            if domain.is_empty():
                return None
            for truth in (True, False):
                other = self._shadow([*self.facts, *self.own, *self.inner, self.truths[not truth]])
                found = self._cut(domain, domain.subtract(other), truth)
                if found is not None:
                    return found
        return None

    def _shadow(self, parts: list[Condition]) -> islpy.Set:
        """The iterations of the loop for which some values of what is inside fulfil the parts."""
        import islpy

        found = self.build.bounds(self.build.dims)
        for part in (*parts, *self.translation.side):
            found = self.build.meet(found, part)
        hidden = len(self.build.dims) - self.build.parameters - 1
        return found.project_out(islpy.dim_type.set, 1, hidden) if hidden else found

    def _cut(self, domain: islpy.Set, always: islpy.Set, truth: bool) -> Cut | None:
        always = always.coalesce()
        if always.is_empty():
            return None
        start, stop = self.extent
        if domain.is_subset(always):
            return Cut(start, stop, truth, True)
        writer = Back([dim.expr for dim in self.around], (), self.var.dtype, self.ranges)
        low, high = self._end(writer, always, True), self._end(writer, always, False)
        ends = [end if end is not None and end.dtype is self.var.dtype else None for end in (low, high)]
        # an end that may lie beyond those of the loop is kept within them, where it must be
        for low, high in (ends, [self._clipped(end) for end in ends]):
            for first, last in ((start, high), (low, stop), (low, high)):
                if first is not None and last is not None and self._is_cut(domain, always, first, last):
                    return Cut(first, last, truth, False)
        return None

    def _clipped(self, end: Expr | None) -> Expr | None:
        if end is None:
            return None
        start, stop = self.extent
        return get_op("max")(start, get_op("min")(end, stop))

    def _end(self, writer: Back, always: islpy.Set, least: bool) -> Expr | None:
        """The first iteration, or the one behind the last, where it is one affine function of what is around."""
        import islpy

        function = always.dim_min(0) if least else always.dim_max(0)
        if not least:
            function = function.add_constant_val(islpy.Val.one(self.ctx))
        function = function.gist_params(always.params()).coalesce()
        if function.n_piece() != 1:
            return None
        try:
            return writer.function(function)
        except Unknown:
            return None

    def _is_cut(self, domain: islpy.Set, always: islpy.Set, low: Expr, high: Expr) -> bool:
        """Whether the iterations from `low` to `high` are those, and both ends lie within the loop's."""
        start, stop = (self.translation.number(end) for end in self.extent)
        first, last = self.translation.number(low), self.translation.number(high)
        value = column(self.dim)
        inside = both((at_least_zero(value - first), at_least_zero((last - value).plus(-1))))
        ordered = both((at_least_zero(first - start), at_least_zero(last - first), at_least_zero(stop - last)))
        # a loop that does not run leaves loops that do not
        empty = both((at_least_zero(start - first), at_least_zero(first - last), at_least_zero(last - stop)))
        if any(dim not in self.build.dims for dim in dims_of((inside, ordered, empty))):
            return False
        if not self._part(domain, inside).is_equal(always):
            return False
        return bool(self._shadow([*self.facts, negated(ordered), negated(empty)]).is_empty())

    def _part(self, domain: islpy.Set, condition: Condition) -> islpy.Set:
        import islpy

        found = self.build.set(condition)
        hidden = len(self.build.dims) - self.build.parameters - 1
        if hidden:
            found = found.project_out(islpy.dim_type.set, 1, hidden)
        return domain.intersect(found)


__all__ = ["Cut", "cut_of"]
