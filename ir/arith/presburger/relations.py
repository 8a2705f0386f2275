"""Where steps run and what they touch, as sets and relations of isl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...effects import reads_memory
from ...expr import Expr, Var
from ...func import PrimFunc
from ...op import get_op
from ...rewrite import free_vars
from ...stmt import Stmt
from ..bounds import Interval, bounds, whole, within_types
from .build import Build
from .form import Condition, Dim, Floor, Sum, at_least_zero, both, column, dims_of, is_zero, negated
from .limits import LARGEST, OPERATIONS, Unknown, bounded, context
from .steps import Access, Guard, Loop, Step, Steps
from .translate import Translation

if TYPE_CHECKING:
    import islpy


class Relations:
    """The sets and relations of the steps of one program, made when they are asked for.

    Dimensions of a step are its loops, outermost first; what the program does not define are parameters of isl. All
    sets here are supersets; those that are exact say so.
    """

    def __init__(
        self,
        program: PrimFunc | tuple[Stmt, ...],
        ranges: Mapping[Var, Interval] | None = None,
        noalias: bool | None = None,
        operations: int = OPERATIONS,
        within: PrimFunc | None = None,
    ) -> None:
        self.steps = Steps(program, noalias, within)
        self.ranges: dict[Var, Interval] = {}
        for var in self.steps.sizes:
            self.ranges[var] = (0, min(LARGEST, whole(var.dtype)[1]))
        self.ranges.update(within_types(ranges or {}))
        self.operations = operations
        self.facts = tuple(_facts(program if isinstance(program, PrimFunc) else within))
        # the names of the parameters, by what they stand for, and their bounds
        self.names: dict[Any, str] = {}
        self.limits: dict[str, Interval] = {}
        # of accesses, how their indices depend on a loop (see separation.py)
        self.splits: dict[tuple[int, int, int], Any] = {}
        self._ctx: Any = None
        self._cache: dict[tuple[int, int, str], tuple[Any, bool]] = {}
        self._domains: dict[int, tuple[Any, bool]] = {}
        self._translations: dict[int, tuple[Translation, list[Dim], list[Condition], bool]] = {}

    @property
    def ctx(self) -> islpy.Context:
        if self._ctx is None:
            self._ctx = context()
        return self._ctx

    def bounded(self) -> Any:
        """The bound on the work of one question."""
        return bounded(self.ctx, self.operations)

    # sets and relations

    def domain(self, step: Step) -> tuple[islpy.Set, bool]:
        """The iterations in which a step runs, and whether this is exact."""
        found = self._domains.get(step.number)
        if found is None:
            translation, loops, conditions, exact = self._translated(step)
            made, unknown = self._set(translation, loops, conditions)
            found = self._domains[step.number] = (made, exact and not unknown and step.certain)
        return found

    def touch(self, step: Step, at: int, form: str) -> tuple[islpy.Map, bool]:
        """What the access number `at` of a step touches in each iteration, and whether this is exact.

        `form` says how it is told: "place" the element, "instance" which of the memories of that name, "any" nothing.
        """
        key = (step.number, at, form)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._touch(step, step.accesses[at], form)
        return found

    def _touch(self, step: Step, access: Access, form: str) -> tuple[islpy.Map, bool]:
        translation, loops, conditions, exact = self._translated(step)
        parts = list(conditions)
        for guard in access.guards:
            exact = self._guard(translation, guard, parts) and exact
        bare, sure = len(parts), exact and access.certain and step.certain
        outputs: list[Sum] = []
        depth = access.root.depth if form != "any" else 0
        outputs += [column(dim) for dim in loops[:depth]]
        place = access.place if form == "place" else None
        if place is not None:
            outputs += [translation.number(index) for index in place]
            parts += _inside(translation, access, place)
        made, unknown = self._map(translation, loops, parts, outputs, access.inner)
        if sure and not unknown and any(map(_wraps, outputs)):
            made = self._sized(made, translation, loops, parts[:bare], both(parts[bare:]))
        return made, exact and not unknown and access.certain and step.certain and place is not None

    def _sized(
        self, made: islpy.Map, translation: Translation, loops: list[Dim], runs: list[Condition], inside: Condition
    ) -> islpy.Map:
        """`made` for the symbols for which no index wraps out of its buffer: for others the program is in error."""
        outside, unknown = self._set(translation, loops, [*runs, negated(inside)])
        if unknown:
            return made
        return made.intersect_params(outside.params().complement())

    def columns(self, step: Step) -> tuple[Translation, list[Dim]]:
        """The translation of a step's expressions, and the columns in it that are the step's loops."""
        translation, loops, _, _ = self._translated(step)
        return translation, loops

    def _translated(self, step: Step) -> tuple[Translation, list[Dim], list[Condition], bool]:
        known = self._translations.get(step.number)
        if known is not None:
            return known
        ranges = dict(self.ranges)
        for loop in step.loops:
            ranges[loop.var] = _interval(loop, ranges)
        for access in step.accesses:
            ranges.update({lane: (0, self.steps.lanes[lane] - 1) for lane in access.inner})
        translation = Translation(ranges, self.steps.values)
        loops = [translation.dim(loop.var) for loop in step.loops]
        conditions: list[Condition] = []
        exact = True
        for loop in step.loops:
            exact = self._loop(translation, loop, conditions) and exact
        for fact in self.facts:
            self._guard(translation, (fact, True), conditions)
        for guard in step.guards:
            exact = self._guard(translation, guard, conditions) and exact
        known = self._translations[step.number] = (translation, loops, conditions, exact)
        return known

    def _loop(self, translation: Translation, loop: Loop, conditions: list[Condition]) -> bool:
        """Add where a loop's variable runs; False where that is not known exactly."""
        value = column(translation.dim(loop.var))
        ends: list[Sum | None] = []
        for end in (loop.start, loop.stop):
            try:
                ends.append(None if end is None else translation.number(end))
            except Unknown:
                ends.append(None)
        start, stop = ends
        sign = -1 if loop.backward else 1
        plain = loop.step is None or (isinstance(loop.step, Expr) and not free_vars(loop.step))
        if not plain:
            return False
        if start is not None:
            conditions.append(at_least_zero((value - start).times(sign)))
        if stop is not None:
            conditions.append(at_least_zero((stop - value).times(sign).plus(-1)))
        if loop.step is not None:
            by = abs(translation.number(loop.step).constant)
            if by > 1 and start is not None:
                # of the distance from the start nothing is left over
                conditions.append(is_zero(translation.remainder(value - start, by)))
        return start is not None and stop is not None

    def _guard(self, translation: Translation, guard: Guard, conditions: list[Condition]) -> bool:
        """Add a guard; False where it is too large and left out."""
        try:
            conditions.append(translation.condition(*guard))
        except Unknown:
            return False
        return True

    def _set(self, translation: Translation, loops: list[Dim], conditions: list[Condition]) -> tuple[islpy.Set, bool]:
        build, parts, unknown = self._space(translation, loops, conditions, [])
        found = self._conditions(build, parts)
        hidden = len(build.dims) - build.parameters - len(loops)
        if hidden:
            import islpy

            found = found.project_out(islpy.dim_type.set, len(loops), hidden)
        return found, bool(unknown)

    def _map(
        self,
        translation: Translation,
        loops: list[Dim],
        conditions: list[Condition],
        outputs: list[Sum],
        inner: tuple[Var, ...],
    ) -> tuple[islpy.Map, bool]:
        import islpy

        build, parts, unknown = self._space(translation, loops, conditions, outputs)
        domain = self._conditions(build, parts)
        if outputs:
            made = islpy.Map.from_pw_aff(build.sum(outputs[0]))
            for output in outputs[1:]:
                made = made.flat_range_product(islpy.Map.from_pw_aff(build.sum(output)))
            made = made.intersect_domain(domain)
        else:
            nothing = islpy.Set.universe(islpy.Space.set_alloc(self.ctx, 0, 0))
            made = islpy.Map.from_domain_and_range(domain, nothing)
        hidden = len(build.dims) - build.parameters - len(loops)
        if hidden:
            made = made.project_out(islpy.dim_type.in_, len(loops), hidden)
        return made, any(dim.expr not in inner for dim in unknown)

    def _conditions(self, build: Build, parts: list[Condition]) -> islpy.Set:
        found = build.bounds(build.dims)
        for part in parts:
            found = build.meet(found, part)
        return found

    def _space(
        self, translation: Translation, loops: list[Dim], conditions: list[Condition], outputs: list[Sum]
    ) -> tuple[Build, list[Condition], list[Dim]]:
        """The space of parameters, loops and unknowns in which conditions and outputs are functions."""
        used = dims_of((*conditions, *outputs))
        unknown = {id(dim) for dim in used if dim not in loops}
        side = [part for part in translation.side if any(id(dim) in unknown for dim in dims_of((part,)))]
        parts = [*conditions, *side]
        parameters: dict[str, Dim] = {}
        others: list[Dim] = []
        own = set(map(id, loops))
        for dim in dims_of((*parts, *outputs)):
            if id(dim) in own:
                continue
            name = self.name(dim)
            if name is None or name in parameters:
                others.append(dim)
            else:
                parameters[name] = dim
        dims = [*parameters.values(), *loops, *others]
        return Build(self.ctx, dims, len(parameters), list(parameters)), parts, others

    def name(self, dim: Dim) -> str | None:
        """The name of what keeps its value through the program; None for what does not."""
        expr = dim.expr
        found = self.names.get(expr)
        if found is None:
            if any(var in self.steps.defined for var in free_vars(expr)) or reads_memory(expr):
                return None
            found = self.names[expr] = f"p{len(self.names)}"
            self.limits[found] = (dim.low, dim.high)
        return found

    def within(self, found: Any) -> Any:
        """A set or relation for the values that its parameters can have."""
        import islpy

        kind = islpy.dim_type.param
        space = found.get_space().params()
        allowed = islpy.Set.universe(space)
        for at in range(space.dim(kind)):
            ends = self.limits[space.get_dim_name(kind, at)]  # of uint64, more than C's long
            low, high = (islpy.Val.read_from_str(self.ctx, str(end)) for end in ends)
            allowed = allowed.lower_bound_val(kind, at, low).upper_bound_val(kind, at, high)
        return found.intersect_params(allowed)

    # orders

    def common(self, a: Step, b: Step) -> int:
        """How many loops are around both steps."""
        count = 0
        for one, other in zip(a.loops, b.loops):
            if one.node is not other.node:
                break
            count += 1
        return count

    def equal(self, pairs: islpy.Map, level: int) -> islpy.Map:
        """The pairs of iterations that are the same in one of the common loops."""
        import islpy

        return pairs.equate(islpy.dim_type.in_, level, islpy.dim_type.out, level)

    def later(self, pairs: islpy.Map, loops: tuple[Loop, ...], level: int) -> islpy.Map:
        """The pairs of which the second is in a later iteration of one of the common loops."""
        import islpy

        order = pairs.order_gt if loops[level].backward else pairs.order_lt
        return order(islpy.dim_type.in_, level, islpy.dim_type.out, level)

    def before(self, a: Step, b: Step) -> islpy.Map:
        """The pairs of iterations of `a` and `b` of which the first comes before the second."""
        shared = self.common(a, b)
        import islpy

        space = islpy.Space.alloc(self.ctx, 0, len(a.loops), len(b.loops))
        same = islpy.Map.universe(space)
        found = islpy.Map.empty(space)
        for level in range(shared):
            found = found.union(self.later(same, a.loops, level))
            same = self.equal(same, level)
        return found.union(same) if a.number < b.number else found


def form_between(a: Access, b: Access) -> str:
    """How precisely two accesses of overlapping roots can be compared."""
    if a.root is not b.root:
        return "any"
    p, q = a.place, b.place
    return "place" if p is not None and q is not None and len(p) == len(q) else "instance"


def _wraps(value: Sum) -> bool:
    """Whether the symbols may be so large that an index wraps."""
    return any(type(item) is Floor and item.by >= 1 << 31 for item in value.terms)


def _interval(loop: Loop, ranges: Mapping[Var, Interval]) -> Interval:
    least, greatest = whole(loop.var.dtype)
    if loop.start is None and loop.stop is None:
        return least, greatest
    if loop.backward:
        low = least if loop.stop is None else bounds(loop.stop, ranges)[0] + 1
        high = greatest if loop.start is None else bounds(loop.start, ranges)[1]
    else:
        low = least if loop.start is None else bounds(loop.start, ranges)[0]
        high = greatest if loop.stop is None else bounds(loop.stop, ranges)[1] - 1
    return max(least, low), max(least, low, min(greatest, high))


def _inside(translation: Translation, access: Access, place: tuple[Expr, ...]) -> list[Condition]:
    """That an element lies in its buffer: what does not is an error of the program, not an access."""
    buffer = access.view.base
    if buffer is None or len(access.root.forms) != 1 or len(buffer.shape) != len(place):
        return []
    found: list[Condition] = []
    for index, dim in zip(place, buffer.shape):
        try:
            value, size = translation.number(index), translation.number(dim)
        except Unknown:
            continue
        found += (at_least_zero(value), at_least_zero((size - value).plus(-1)))
    return found


def _facts(func: PrimFunc | None) -> list[Expr]:
    """What the shapes of the parameters say of the symbols: no dimension is negative."""
    if func is None:
        return []
    dims = [dim for buffer in func.param_buffers for dim in buffer.shape]
    return [get_op("greater_equal")(dim, 0) for dim in dims if type(dim) is not Var and free_vars(dim)]


__all__ = ["Relations", "form_between"]
