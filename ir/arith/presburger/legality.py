"""What may be done to loops and statements without changing what the program means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...buffer import Buffer
from ...effects import leaves_loop
from ...expr import Expr, Var
from ...node import Node
from ...op import get_op
from ...rewrite import free_vars
from ...stmt import For, LaunchThread, Stmt
from .dependences import Dependence, Dependences
from .limits import Unknown
from .memory import overlap
from .points import small_point
from .prove import prove
from .steps import Access, Step

if TYPE_CHECKING:
    import islpy


TOGETHER = 6  # steps from which their accesses are first looked at together


class Verdict(Struct, frozen=True, eq=False):
    """Whether a change keeps the meaning: True (proved), False (certainly not), None (not known).

    `violations` are the dependences that it would turn around, the certain ones first, each with two iterations as an
    example; `reason` says what else stands against it. As a bool it is True only where it is proved.
    """

    legal: bool | None
    violations: tuple[Dependence, ...] = ()
    reason: str = ""

    def __bool__(self) -> bool:
        return self.legal is True

    def __str__(self) -> str:
        if self.legal:
            return "legal"
        return self.reason or "; ".join(map(str, self.violations[:3]))


LEGAL = Verdict(True)


def _verdict(found: Iterable[Dependence]) -> Verdict:
    violations = list(found)
    if not violations:
        return LEGAL
    violations.sort(key=lambda one: not one.exact)
    return Verdict(False if violations[0].exact else None, tuple(violations))


def may_parallel(deps: Dependences, loop: For | LaunchThread, *, reductions: bool = False) -> Verdict:
    """Whether the iterations of a loop may run in any order and at once.

    With `reductions`, the updates of one reduction do not stand against it: the caller combines partial results.
    """
    return _verdict(carried(deps, loop, reductions=not reductions))


def is_parallel(deps: Dependences, loop: For | LaunchThread) -> bool:
    """Whether `may_parallel` proves it; asks no further than to the first dependence."""
    return not any(True for _ in carried(deps, loop))


def carried(
    deps: Dependences, loop: For | LaunchThread, *, reductions: bool = True, perhaps: bool = True
) -> Iterator[Dependence]:
    """The dependences between the iterations of a loop, found as they are asked for; without `reductions` or `perhaps`
    fewer, as `Dependences.among` says."""
    steps = _inside(deps, loop)
    if not steps:
        return
    level = _level(steps[0], loop)
    if len(steps) < TOGETHER or not deps.apart(steps, level):
        yield from deps.among(steps, level, reductions=reductions, perhaps=perhaps)


def may_permute(deps: Dependences, loops: Sequence[For], order: Sequence[For], *, reductions: bool = False) -> Verdict:
    """Whether nested `loops` (outermost first, one directly in the other) may be nested in the `order` instead."""
    if sorted(map(id, loops)) != sorted(map(id, order)):
        raise ValueError("the new order must hold the same loops")
    inside = set(map(id, deps.steps_in(loops[-1])))
    steps = deps.steps_in(loops[0])
    if any(id(step) not in inside for step in steps):
        return Verdict(False, reason="the loops are not perfectly nested: statements stand between them")
    if any(all(one.node is not loop for one in step.loops) for step in steps for loop in loops):
        return Verdict(False, reason="how far a loop runs is read from memory between the loops")
    place = {id(loop): at for at, loop in enumerate(order)}
    for at, loop in enumerate(loops):
        used = set(free_vars((loop.start, loop.stop, *(() if loop.step is None else (loop.step,)))))
        for outer in loops[:at]:
            if outer.var in used and place[id(outer)] > place[id(loop)]:
                why = f"the range of `{loop.var.name}` depends on `{outer.var.name}`, which would run inside of it"
                return Verdict(False, reason=why)
    if not steps:
        return LEGAL
    first = _level(steps[0], loops[0])
    levels = [_level(steps[0], loop) for loop in order]
    found: list[Dependence] = []
    for level in range(first, first + len(loops)):
        if all(outer < level for outer in levels[: levels.index(level)]):
            continue  # what this loop carries is of one iteration of the loops around it, and stays in order
        for one in deps.among(steps, level, reductions=not reductions):
            found += _turned(deps, one, levels)
    return _verdict(found)


def _turned(deps: Dependences, one: Dependence, levels: list[int]) -> list[Dependence]:
    """The dependence where an order of the loops at `levels` would put its sink before its source."""

    def narrow(relation: Any) -> Any:
        import islpy

        kind = islpy.dim_type
        for level in levels:
            later = relation.order_lt if one.source.loops[level].backward else relation.order_gt
            turned = later(kind.in_, level, kind.out, level)
            if not turned.is_empty():
                return turned
            relation = relation.equate(kind.in_, level, kind.out, level)
        return None

    return _narrowed(deps, one, narrow)


def _narrowed(deps: Dependences, one: Dependence, narrow: Callable[[Any], Any]) -> list[Dependence]:
    """A dependence left with a part of its relation, none where that is empty."""
    if one.relation is None:
        return [one]
    from msgspec import structs

    try:
        with deps.relations.bounded():
            relation = narrow(one.relation)
            if relation is None or relation.is_empty():
                return []
            return [structs.replace(one, relation=relation, example=deps.example(one.source, one.sink, relation))]
    except Unknown:
        return [structs.replace(one, relation=None, exact=False)]


def may_merge(deps: Dependences, first: For, second: For, *, together: bool = False) -> Verdict:
    """Whether two loops of one body, the second behind the first, may be one loop with the body of both.

    They must run over the same range. Iteration `x` of the second then runs before the later ones of the first, and,
    where the iterations run `together`, at any time beside all others of both.
    """
    if not _same_range(deps, first, second):
        return Verdict(False, reason=f"`{first.var.name}` and `{second.var.name}` do not run over the same range")
    for loop in (first, second):
        if leaves_loop(loop.body):
            return Verdict(False, reason=f"the loop over `{loop.var.name}` is left by a `break` or `continue`")
    before, after = _inside(deps, first), _inside(deps, second)
    if len(before) < len(deps.steps_in(first)) or len(after) < len(deps.steps_in(second)):
        return Verdict(None, reason=f"the range of `{first.var.name}` is read from memory")
    found: list[Dependence] = []
    for a in before:
        level = _level(a, first)
        for b in after:
            for one in deps.between(a, b, None):
                found += _narrowed(deps, one, _overtaken(level, a.loops[level].backward))
                if together:
                    found += _narrowed(deps, one, _overtaken(level, not a.loops[level].backward))
    return _verdict(found)


def _overtaken(level: int, backward: bool) -> Callable[[Any], Any]:
    def narrow(relation: Any) -> Any:
        import islpy

        kind = islpy.dim_type
        later = relation.order_lt if backward else relation.order_gt
        return later(kind.in_, level, kind.out, level)

    return narrow


def _same_range(deps: Dependences, first: For, second: For) -> bool:
    ends = [(first.start, second.start), (first.stop, second.stop)]
    if first.step is not None or second.step is not None:
        if first.step is None or second.step is None:
            return False
        ends.append((first.step, second.step))
    return all(_equal(deps, a, b) for a, b in ends)


def _equal(deps: Dependences, a: Expr, b: Expr) -> bool:
    if a == b:
        return True
    return prove(get_op("equal")(a, b), deps.relations.ranges, values=deps.relations.steps.values) is True


def may_swap(deps: Dependences, first: Node | Sequence[Node], second: Node | Sequence[Node]) -> Verdict:
    """Whether statements of one body may change places: `second` before `first`, which stands before it.

    To move a statement over several others, `first` holds them all.
    """
    before = deps.steps_in(*(first if isinstance(first, (list, tuple)) else (first,)))
    after = deps.steps_in(*(second if isinstance(second, (list, tuple)) else (second,)))
    return _verdict(one for a in before for b in after for one in _either_way(deps, a, b))


def _either_way(deps: Dependences, a: Step, b: Step) -> list[Dependence]:
    return list(deps.between(a, b, None) if a.number < b.number else deps.between(b, a, None))


class Uncovered(Struct, frozen=True, eq=False):
    """A read of an element that nothing has certainly written before: the loops around it, and the symbols."""

    step: Step
    access: Access
    values: dict[Var, int]
    symbols: dict[Expr, int]


def uncovered_reads(deps: Dependences, *within: Stmt, proved: bool = False) -> list[Uncovered]:
    """The reads of the program's own buffers that certain earlier writes do not cover, with an iteration for each.

    Only reads that certainly happen are looked at (those in `within` where statements are given). Writes that may or
    may not happen cover nothing: an answer is a suspicion, its absence a proof. Where it is to be `proved`, such writes
    cover all that they may write.
    """
    import islpy

    kind = islpy.dim_type.param
    relations = deps.relations
    found: list[Uncovered] = []
    for step in deps.steps_in(*within) if within else deps.steps:
        for at, access in enumerate(step.accesses):
            if access.write or access.root.buffer is None or access.root.escapes or access.place is None:
                continue
            try:
                with relations.bounded():
                    left, exact = relations.touch(step, at, "place")
                    if not exact:
                        continue
                    for cover in _covers(deps, step, access, proved):
                        left = left.subtract(cover)
                    left = relations.within(left)
                    names = [left.get_dim_name(kind, number) for number in range(left.dim(kind))]
                    point = None if left.is_empty() else small_point(left.domain())
            except Unknown:
                continue
            if point is not None:
                values = {loop.var: v for loop, v in zip(step.loops, point[len(names) :])}
                known = dict(zip(names, point))
                symbols = {var: known[name] for var, name in relations.names.items() if name in known}
                found.append(Uncovered(step, access, values, symbols))
    return found


def fills_first(deps: Dependences, buffer: Buffer) -> bool:
    """Whether the statements are proved to read of a buffer, which they touch by no other name, only what they have
    certainly written before."""
    relations = deps.relations
    for step in deps.steps:
        for at, access in enumerate(step.accesses):
            if access.write or access.root.buffer is not buffer:
                continue
            if access.place is None:
                return False
            try:
                with relations.bounded():
                    left, _ = relations.touch(step, at, "place")  # all that it may read
                    for cover in _covers(deps, step, access):
                        left = left.subtract(cover)
                    if not relations.within(left).is_empty():
                        return False
            except Unknown:
                return False
    return True


def _covers(deps: Dependences, step: Step, access: Access, perhaps: bool = False) -> Iterable[islpy.Map]:
    """For the iterations of a step, what each certain write has written before; or has `perhaps`."""
    relations = deps.relations
    for other, at in _writes(deps, access):
        writes, exact = relations.touch(other, at, "place")
        if exact or perhaps:
            yield relations.before(other, step).reverse().apply_range(writes)


def _writes(deps: Dependences, access: Access) -> list[tuple[Step, int]]:
    """The writes of the memory of an access."""
    return [
        (step, at)
        for step in deps.steps
        for at, other in enumerate(step.accesses)
        if other.write and other.root is access.root
    ]


def dead_stores(deps: Dependences) -> list[Step]:
    """The stores of which no iteration matters: each element is overwritten before it is read, or never read again."""
    return [step for step in deps.steps if step.reduction is None and _is_dead(deps, step)]


def last_writes(deps: Dependences, buffer: Buffer) -> list[Step]:
    """The steps that may have written what is in `buffer` at the end."""
    root = deps.relations.steps.memory.view(buffer).root
    found = []
    for step in deps.steps:
        for at, access in enumerate(step.accesses):
            if access.write and access.root is root and not _overwritten(deps, step, at):
                found.append(step)
                break
    return found


def _is_dead(deps: Dependences, step: Step) -> bool:
    writes = [at for at, access in enumerate(step.accesses) if access.write]
    if len(writes) != 1:
        return False
    at = writes[0]
    access = step.accesses[at]
    if access.root.buffer is None or access.root.shared or access.inner:
        return False
    try:
        with deps.relations.bounded():
            return _unread(deps, step, at) and (not access.root.escapes or _overwritten(deps, step, at))
    except Unknown:
        return False


def _unread(deps: Dependences, step: Step, at: int) -> bool:
    """Whether every later read of what a store wrote comes after another write of it."""
    relations = deps.relations
    access = step.accesses[at]
    kills = _kills(deps, step, at)
    anywhere = relations.steps.memory.anywhere
    for reader in deps.steps:
        for number, read in enumerate(reader.accesses):
            if read.write or not overlap(read.root, access.root, anywhere):
                continue
            if read.root is not access.root:
                return False
            pairs, _ = deps.pairs(step, at, reader, number)
            if pairs is None:
                return False
            seen = pairs.intersect(relations.before(step, reader))
            for other, kill in kills:
                if seen.is_empty():
                    break
                seen = seen.subtract(kill.apply_range(relations.before(other, reader)))
            if not relations.within(seen).is_empty():
                return False
    return True


def _kills(deps: Dependences, step: Step, at: int) -> list[tuple[Step, islpy.Map]]:
    """The certain later writes of the element that a store wrote, as pairs of iterations."""
    relations = deps.relations
    found = []
    for other, number in _writes(deps, step.accesses[at]):
        pairs, _ = deps.pairs(step, at, other, number)
        sure = pairs is not None and relations.touch(other, number, "place")[1]
        if sure and step.accesses[at].place is not None and not step.accesses[at].inner:
            found.append((other, pairs.intersect(relations.before(step, other))))  # type: ignore[union-attr]
    return found


def _overwritten(deps: Dependences, step: Step, at: int) -> bool:
    """Whether every element that a store writes is written again later."""
    relations = deps.relations
    try:
        with relations.bounded():
            left, _ = relations.domain(step)
            for _, kill in _kills(deps, step, at):
                left = left.subtract(kill.domain())
            return bool(relations.within(left).is_empty())
    except Unknown:
        return False


def _inside(deps: Dependences, loop: For | LaunchThread) -> list[Step]:
    """The steps of a loop's iterations. Its bounds, where they read memory, are a step before them."""
    return [step for step in deps.steps_in(loop) if any(one.node is loop for one in step.loops)]


def _level(step: Step, loop: For | LaunchThread) -> int:
    for at, one in enumerate(step.loops):
        if one.node is loop:
            return at
    raise ValueError(f"`{loop.var.name}` is no loop of this program")


__all__ = [
    "Uncovered",
    "Verdict",
    "dead_stores",
    "is_parallel",
    "last_writes",
    "may_merge",
    "may_parallel",
    "may_permute",
    "may_swap",
    "uncovered_reads",
]
