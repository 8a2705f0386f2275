"""Which iterations of which steps must stay in order, because they touch the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...expr import Var
from ...func import PrimFunc
from ...node import Node
from ...stmt import For, LaunchThread, Stmt, While
from ..bounds import Interval
from .limits import OPERATIONS, Unknown, as_int
from .memory import Root, overlap
from .points import small_point
from .relations import Relations, form_between
from .separation import separate
from .steps import Access, Loop, Step

if TYPE_CHECKING:
    import islpy

FLOW, ANTI, OUTPUT = "flow", "anti", "output"


class Iterations(Struct, frozen=True, eq=False):
    """Two iterations that touch the same memory: the values of the loops around each, and of the symbols."""

    first: dict[Var, int]
    second: dict[Var, int]
    symbols: dict[Var, int]

    def __str__(self) -> str:
        text = f"{_values(self.first)} and {_values(self.second)}"
        return f"{text}, where {_values(self.symbols)}" if self.symbols else text


def _values(values: Mapping[Var, int]) -> str:
    return ", ".join(f"{var.name} = {value}" for var, value in values.items()) or "the only iteration"


class Dependence(Struct, frozen=True, eq=False):
    """`sink` must come after `source`, for the pairs of iterations in `relation`.

    kind:      "flow" (write, then read), "anti" (read, then write) or "output" (write, then write)
    level:     the number of the common loop that carries it, 0 the outermost; None where it is within one iteration
    exact:     whether it is certain; else the accesses may or may not meet
    reduction: whether it is only between the updates of one reduction, such as `A[i] = A[i] + x`
    relation:  the pairs as a relation of isl, None where they are not known (then all are)
    """

    source: Step
    sink: Step
    source_access: Access
    sink_access: Access
    kind: str
    level: int | None
    exact: bool
    reduction: bool
    relation: Any
    example: Callable[[], Iterations | None]

    @property
    def iterations(self) -> Iterations | None:
        """Two iterations of which the second must come after the first; None where they are not known."""
        return self.example()

    @property
    def loop(self) -> For | LaunchThread | While | None:
        """The loop that carries it."""
        return None if self.level is None else self.source.loops[self.level].node

    @property
    def name(self) -> str:
        """What both touch."""
        return self.source_access.root.name

    def __str__(self) -> str:
        words = {FLOW: "is read after it was written", ANTI: "is written after it was read"}
        what = words.get(self.kind, "is written twice")
        text = f"{'' if self.exact else 'perhaps '}`{self.name}` {what}"
        return text if self.iterations is None else f"{text}: {self.iterations}"


class Dependences:
    """The dependences of a function, or of statements that stand in one, found when they are asked for.

    `ranges` bounds symbols, `noalias` says whether parameters overlap none of the others (the function's attributes say
    it where it is None). Statements come with the function `within` which they stand, so that it is known which of its
    buffers are views of others. A program is looked at once; after a change it is another.
    """

    def __init__(
        self,
        program: PrimFunc | tuple[Stmt, ...],
        ranges: Mapping[Var, Interval] | None = None,
        *,
        noalias: bool | None = None,
        within: PrimFunc | None = None,
        operations: int = OPERATIONS,
    ) -> None:
        self.program = program
        self.relations = Relations(program, ranges, noalias, operations, within)
        self._by_statement: dict[int, list[Step]] = {}
        for step in self.steps:
            for stmt in step.path:
                self._by_statement.setdefault(id(stmt), []).append(step)

    @property
    def steps(self) -> list[Step]:
        """All steps in textual order."""
        return self.relations.steps.found

    def steps_in(self, *stmts: Node) -> list[Step]:
        """The steps of statements of the program (the very objects), in textual order."""
        found = {step.number: step for stmt in stmts for step in self._by_statement.get(id(stmt), ())}
        return [found[number] for number in sorted(found)]

    def all(self) -> list[Dependence]:
        """All dependences of the program."""
        return list(self.among(self.steps))

    def among(
        self, steps: Iterable[Step], level: int | None = -1, *, reductions: bool = True, perhaps: bool = True
    ) -> Iterator[Dependence]:
        """The dependences between steps; those at one level where it is given (None: within one iteration).

        Without `reductions` those are left out that are only between the updates of one reduction, without `perhaps`
        those of two statements that are seen at once not to be certain.
        """
        ordered = sorted(steps, key=lambda step: step.number)
        for step in ordered:
            yield from self.between(step, step, level, reductions=reductions)
        for a, b in self.meeting(ordered):
            yield from self.between(a, b, level, perhaps=perhaps)
            if level is not None:
                yield from self.between(b, a, level, perhaps=perhaps)

    def meeting(self, steps: list[Step]) -> Iterator[tuple[Step, Step]]:
        """The pairs of different steps that touch overlapping memory, at least one of them writing."""
        for a, b in combinations(steps, 2):
            if any(True for _ in self._conflicts(a, b)):
                yield a, b

    def apart(self, steps: Sequence[Step], level: int) -> bool:
        """Whether it is proved that no two iterations of the loop at `level`, which is around all the steps, touch the
        same memory where one of them writes.

        All accesses of a memory are looked at together: of n unrolled statements, once rather than n * n times.
        """
        accesses: dict[Root, list[tuple[Step, int]]] = {}
        written: set[Root] = set()
        for step in steps:
            for at, access in enumerate(step.accesses):
                accesses.setdefault(access.root, []).append((step, at))
                if access.write:
                    written.add(access.root)
        anywhere = self.relations.steps.memory.anywhere
        for one, other in combinations(accesses, 2):
            if (one in written or other in written) and overlap(one, other, anywhere):
                return False
        return all(self._each_its_own(root, level) or self._alone(accesses[root], level) for root in written)

    def _each_its_own(self, root: Root, level: int | None) -> bool:
        """Whether each iteration of the loop at `level` has a memory of its own, as it is allocated in there."""
        return level is not None and root.depth > level

    def _distinct(self, a: Step, i: int, b: Step, j: int, level: int) -> bool:
        """Whether it is seen at once that two accesses of a memory do not meet in two iterations of a loop."""
        if self._each_its_own(a.accesses[i].root, level):
            return True
        if form_between(a.accesses[i], b.accesses[j]) != "place":
            return False
        return separate(self.relations, ((a, i),) if a is b and i == j else ((a, i), (b, j)), level)

    def _alone(self, accesses: list[tuple[Step, int]], level: int) -> bool:
        """Whether it is proved that no accesses of a memory in two iterations meet, of which one writes."""
        ranks = {None if (place := step.accesses[at].place) is None else len(place) for step, at in accesses}
        if len(ranks) > 1 or None in ranks:
            return False
        if separate(self.relations, accesses, level):
            return True
        import islpy

        kind = islpy.dim_type
        parts: dict[bool, islpy.Map] = {}
        try:
            for step, at in accesses:
                with self.relations.bounded():
                    made, _ = self.relations.touch(step, at, "place")
                    made = made.project_out(kind.in_, level + 1, made.dim(kind.in_) - level - 1)
                    for part in {False, step.accesses[at].write}:
                        parts[part] = parts[part].union(made) if part in parts else made
            with self.relations.bounded():
                pairs = parts[True].coalesce().apply_range(parts[False].coalesce().reverse())
                for outer in range(level):
                    pairs = self.relations.equal(pairs, outer)
                orders = (pairs.order_lt, pairs.order_gt)
                return all(order(kind.in_, level, kind.out, level).is_empty() for order in orders)
        except Unknown:
            return False

    def _conflicts(self, a: Step, b: Step) -> Iterator[tuple[int, int]]:
        anywhere = self.relations.steps.memory.anywhere
        for i, one in enumerate(a.accesses):
            for j, other in enumerate(b.accesses):
                if (one.write or other.write) and overlap(one.root, other.root, anywhere):
                    yield i, j

    def between(
        self, a: Step, b: Step, level: int | None = -1, *, reductions: bool = True, perhaps: bool = True
    ) -> Iterator[Dependence]:
        """The dependences of `b` on `a`; those at one level where it is given (None: within one iteration).

        Without `reductions` those are left out that are only between the updates of one reduction, without `perhaps`
        those of two statements that are seen at once not to be certain.
        """
        relations = self.relations
        shared = relations.common(a, b)
        levels: list[int | None] = list(range(shared))
        if a.number < b.number:
            levels.append(None)
        if level != -1:
            levels = [level] if level in levels else []
        if not levels:
            return
        for i, j in self._conflicts(a, b):
            root = a.accesses[i].root
            if not reductions and _reduces(a, i, b, j):
                continue
            if not perhaps and a.node is not b.node and form_between(a.accesses[i], b.accesses[j]) != "place":
                continue
            asked = levels
            if root is b.accesses[j].root:
                asked = [at for at in levels if at is None or not self._distinct(a, i, b, j, at)]
                if not asked:
                    continue
            pairs, exact = self.pairs(a, i, b, j)
            for at, relation in self._ordered(pairs, a.loops[:shared], asked):
                yield self._dependence(a, i, b, j, relation, exact, at)

    def _ordered(
        self, pairs: islpy.Map | None, loops: tuple[Loop, ...], levels: list[int | None]
    ) -> list[tuple[int | None, islpy.Map | None]]:
        """The pairs at each level at which there are any; None where they are not known."""
        if pairs is None:
            return [(level, None) for level in levels]
        found: list[tuple[int | None, islpy.Map | None]] = []
        deepest = max((level for level in levels if level is not None), default=-1)
        at = 0
        try:
            with self.relations.bounded():
                for at in range(len(loops) if None in levels else deepest + 1):
                    if at in levels:
                        relation = self.relations.later(pairs, loops, at)
                        if not relation.is_empty():
                            found.append((at, relation))
                    pairs = self.relations.equal(pairs, at)
                    if pairs.is_empty():
                        return found
                if None in levels and not pairs.is_empty():
                    found.append((None, pairs))
        except Unknown:
            found += [(level, None) for level in levels if level is None or level >= at]
        return found

    def pairs(self, a: Step, i: int, b: Step, j: int) -> tuple[islpy.Map | None, bool]:
        """The pairs of iterations in which two accesses touch the same memory, in whatever order, and whether exactly.

        None where it is not known.
        """
        relations = self.relations
        one, other = a.accesses[i], b.accesses[j]
        form = form_between(one, other)
        try:
            with relations.bounded():
                first, sure = relations.touch(a, i, form)
                second, also = relations.touch(b, j, form)
                return first.apply_range(second.reverse()), sure and also and form == "place"
        except Unknown:
            return None, False

    def _dependence(
        self,
        a: Step,
        i: int,
        b: Step,
        j: int,
        relation: islpy.Map | None,
        exact: bool,
        level: int | None,
    ) -> Dependence:
        one, other = a.accesses[i], b.accesses[j]
        kind = OUTPUT if one.write and other.write else FLOW if one.write else ANTI
        reduction = _reduces(a, i, b, j)
        example = self.example(a, b, relation)
        return Dependence(a, b, one, other, kind, level, exact and relation is not None, reduction, relation, example)

    def example(self, a: Step, b: Step, relation: islpy.Map | None) -> Callable[[], Iterations | None]:
        """A function that looks for two iterations in a relation when it is first called."""
        return cache(lambda: None if relation is None else self.iterations(a, b, relation))

    def iterations(self, a: Step, b: Step, relation: islpy.Map) -> Iterations | None:
        """Two iterations that are in a relation, with small values where there are such."""
        import islpy

        kind = islpy.dim_type.param
        names = [relation.get_dim_name(kind, at) for at in range(relation.dim(kind))]
        try:
            with self.relations.bounded():
                point = small_point(relation.wrap())
        except Unknown:
            return None
        if point is None:
            return None
        symbols = dict(zip(names, point))
        values = {expr: symbols[name] for expr, name in self.relations.names.items() if name in symbols}
        first = point[len(names) : len(names) + len(a.loops)]
        second = point[len(names) + len(a.loops) :]
        return Iterations(
            {loop.var: value for loop, value in zip(a.loops, first)},
            {loop.var: value for loop, value in zip(b.loops, second)},
            {expr: value for expr, value in values.items() if type(expr) is Var},
        )

    def distance(self, dependence: Dependence) -> tuple[int | None, ...]:
        """How many iterations lie between source and sink in each common loop; None where it is not always the same."""
        return tuple(low if low == high else None for low, high in self._deltas(dependence))

    def direction(self, dependence: Dependence) -> tuple[str, ...]:
        """Of each loop: "<" where the sink is in a later iteration, "=", ">"; "<=", ">=", "*" where it varies."""
        found = []
        for low, high in self._deltas(dependence):
            if low is not None and low > 0:
                found.append("<")
            elif high is not None and high < 0:
                found.append(">")
            elif low == 0:
                found.append("=" if high == 0 else "<=")
            else:
                found.append(">=" if high == 0 else "*")
        return tuple(found)

    def _deltas(self, dependence: Dependence) -> list[tuple[int | None, int | None]]:
        """The least and greatest distance in each common loop, in values of its variable along its direction."""
        import islpy

        shared = self.relations.common(dependence.source, dependence.sink)
        relation = dependence.relation
        if relation is None:
            return [(None, None)] * shared
        kind = islpy.dim_type
        found: list[tuple[int | None, int | None]] = []
        try:
            with self.relations.bounded():
                for side in (kind.in_, kind.out):
                    relation = relation.project_out(side, shared, relation.dim(side) - shared)
                deltas = relation.deltas()
                for at in range(shared):
                    low, high = deltas.dim_min_val(at), deltas.dim_max_val(at)
                    ends = (
                        None if low.is_neginfty() else as_int(low),
                        None if high.is_infty() else as_int(high),
                    )
                    if dependence.source.loops[at].backward:
                        ends = (None if ends[1] is None else -ends[1], None if ends[0] is None else -ends[0])
                    found.append(ends)
        except Unknown:
            return [(None, None)] * shared
        return found


def _reduces(a: Step, i: int, b: Step, j: int) -> bool:
    """Whether two accesses are of the accumulator of one reduction."""
    one, other = a.accesses[i], b.accesses[j]
    return a is b and a.reduction is not None and one.root is other.root and _own(one, a) and _own(other, b)


def _own(access: Access, step: Step) -> bool:
    """Whether an access is that of the accumulator of a reduction."""
    return access.node is step.node or getattr(access.node, "buffer", None) is step.node.buffer  # type: ignore[attr-defined]


def dependences(
    program: PrimFunc | tuple[Stmt, ...], ranges: Mapping[Var, Interval] | None = None, *, noalias: bool | None = None
) -> list[Dependence]:
    """All dependences of a function, or of statements that stand in one; see `Dependences` for the arguments."""
    return Dependences(program, ranges, noalias=noalias).all()


__all__ = ["ANTI", "FLOW", "OUTPUT", "Dependence", "Dependences", "Iterations", "dependences"]
