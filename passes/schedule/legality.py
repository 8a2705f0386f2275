"""Whether a change of order means the same: what the primitives on loops and moves of blocks ask.

Dependences are asked of Presburger arithmetic. Where it cannot tell, as with indices read from memory, what a block
says of its axes is taken for true: instances that differ in a spatial axis do not depend on each other, instances that
differ in a reduction axis may come in any order, one after the other. Statements outside of blocks promise nothing, and
a block nothing of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.arith.presburger import (
    Dependence,
    Dependences,
    MappedDomain,
    Verdict,
    fills_first,
    may_parallel,
    may_permute,
)
from tirscript.ir.arith.presburger.steps import Step
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import cast, const, get_op
from tirscript.ir.rewrite import children, free_vars, rewrite, substitute, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, Evaluate, For, If, Stmt

from ..access import Accesses, Extent
from ..lower.plan_buffer_allocation import fills_first as fills_by_boxes
from ..statements import conjunction, has_effect, reads_memory, same_indices
from .dataflow import scope_of, stores_of, top
from .edit import Edit
from .extremes import extreme_of
from .loops import WHERE, WORDS
from .moving import axes_of_indices, needed, only_store
from .reducers import update_of
from .refusal import KINDS
from .tree import Place

EFFECTS = (BufferStore, Evaluate)
# by the bits of sizes: no memory has so great a dimension, and rounded up to tiles it still is a number of 32 bits
MOST = {64: 1 << 40, 32: (1 << 31) - (1 << 16)}


def dependences(edit: Edit, place: Place) -> Dependences:
    """The dependences in the statement at a place, with what is known around it."""
    known = edit.analyzer(place).known
    return Dependences((place.stmt,), dict(known), within=edit.func)


def check_parallel(edit: Edit, loop: Place, kind: str, *, together: bool = False) -> None:
    """Refuse where an iteration of a loop depends on another, be it as an update of one reduction that all of them do
    `together`."""
    var = loop.stmt.var
    word = KINDS[kind]
    verdict = may_parallel(dependences(edit, loop), loop.stmt)
    if verdict.legal or (together and verdict.violations and all(map(_is_combined, verdict.violations))):
        return
    for place in loop.below(Block, nested=False):
        for axis in place.stmt.axes:
            if axis.kind != "spatial" and uses(axis.value, var):
                what = "the reduction axis" if axis.kind == "reduce" else f"the {axis.kind} axis"
                edit.refuse(
                    f"the loop `{var.name}` runs over {what} `{axis.var.name}` of the block `{place.stmt.name}`: its "
                    f"iterations depend on each other and cannot be {word}",
                    (loop, ""),
                    (axis, "this axis"),
                    notes=_notes(verdict),
                    hint="rfactor gives each iteration a result of its own" if axis.kind == "reduce" else None,
                )
    if verdict.legal is False:
        edit.refuse(
            f"the iterations of the loop `{var.name}` depend on each other, so it cannot be {word}",
            loop,
            notes=_notes(verdict),
        )
    _check_bare(edit, loop, word, verdict)


def _is_combined(violation: Dependence) -> bool:
    """Whether a dependence is between instances of one reduction with a T.init: partial results are combined."""
    block = _block_of(violation.source)
    if block is None or block is not _block_of(violation.sink) or block.init is None:
        return False
    return update_of(block) is not None or extreme_of(block) is not None


def _notes(verdict: Verdict) -> list[str]:
    return [verdict.reason] if verdict.reason else [str(one) for one in verdict.violations[:3]]


def _check_bare(edit: Edit, loop: Place, what: str, verdict: Verdict) -> None:
    """Refuse where a loop holds statements of effect that stand in no block: they promise nothing."""
    for place in loop.below(nested=False):
        own = (node for node in children(place.stmt) if isinstance(node, Expr))
        if type(place.stmt) in EFFECTS or any(map(has_effect, own)):
            edit.refuse(
                f"the iterations of `{loop.stmt.var.name}` are not proved to be independent, so it cannot be {what}",
                (loop, ""),
                (place, "this statement stands outside of blocks, which would say so"),
                notes=_notes(verdict),
            )
    # a block promises of its own instances that they do not depend on each other, and of no others
    for violation in verdict.violations:
        first, second = (_block_of(step) for step in (violation.source, violation.sink))
        if first is not second:
            edit.refuse(
                f"the iterations of `{loop.stmt.var.name}` are not proved to be independent, so it cannot be {what}",
                (loop, ""),
                *[(block, "") for block in (first, second) if block is not None],
                notes=_notes(verdict),
            )


def _block_of(step: Step) -> Block | None:
    """The outermost block of a loop's body that a step stands in."""
    return next((stmt for stmt in step.path if type(stmt) is Block), None)


def check_permutation(edit: Edit, old: Sequence[Place], new: Sequence[Place]) -> None:
    """Refuse where loops in another order would run an instance before one that it depends on."""
    deps = dependences(edit, old[0])
    verdict = may_permute(deps, [p.stmt for p in old], [p.stmt for p in new], reductions=True)
    if verdict.legal:
        return
    if verdict.legal is False:
        edit.refuse("the loops depend on each other in this order", *old, notes=_notes(verdict))
    for place in old[-1].below(Block, nested=False):
        for axis in place.stmt.axes:
            if axis.kind in ("scan", "opaque") and any(uses(axis.value, loop.stmt.var) for loop in old):
                edit.refuse(
                    f"the axis `{axis.var.name}` of the block `{place.stmt.name}` is {axis.kind}: its order matters",
                    (old[0], ""),
                    (axis, "this axis"),
                )
    _check_bare(edit, old[0], "reordered", verdict)


def check_covers(edit: Edit, block: Place, *, once: bool = False) -> None:
    """Refuse where the loops around a block are not proved to run it for every point of its axes.

    A block that reads what it writes must be run for each point `once`.
    """
    stmt: Block = block.stmt
    once = once or any(axis.kind == "reduce" for axis in stmt.axes)
    if _runs_for_all(edit, block, stmt.axes, stmt.predicate, once):
        return
    edit.refuse(
        f"it is not proved that the loops run the block `{stmt.name}` for every point of its axes" + " once" * once,
        block,
        hint="a predicate that leaves points out makes the block a part of its axes; give the axes their true domains",
    )


def check_still_covers(edit: Edit, block: Place, axes: Sequence[Axis], *, proved: bool = False) -> None:
    """Refuse where a block that was moved is known not to run for every point of its `axes`, as they were before; or
    not `proved` to."""
    stmt: Block = block.stmt
    # what reads memory asks at each point what it asked there before
    parts = [] if stmt.predicate is None else conjuncts(stmt.predicate)
    kept = conjunction(part for part in parts if not reads_memory(part))
    once = any(axis.kind == "reduce" for axis in axes)
    found = _runs_for_all(edit, block, axes, kept, once)
    if found is False or (proved and not found):
        edit.refuse(
            f"the block `{stmt.name}` would not run for every point of its axes{' once' * once} any more", block
        )


def _runs_for_all(edit: Edit, block: Place, axes: Sequence[Axis], predicate: Expr | None, once: bool) -> bool | None:
    """Whether the loops around a block run it for every point of `axes` where `predicate` is true; None if unknown."""
    check_runs(edit, block)
    places = block.loops()
    loops = [place.stmt for place in places]
    if any(loop.step is not None for loop in loops):
        edit.refuse("a loop around the block counts by a step", block)
    shifted = _from_zero(loops)
    values = [substitute(now.value - axis.start, shifted) for now, axis in zip(block.stmt.axes, axes, strict=True)]
    known = edit.analyzer(places[0] if places else block).known
    sizes = _Sizes(edit.func)
    held = None if predicate is None else substitute(predicate, shifted)
    domain = sizes.domain([(loop.var, loop.extent) for loop in loops], values, known, held)
    return _fills(domain, [sizes.named(axis.extent) for axis in axes], once)


def _from_zero(loops: Sequence[For]) -> dict[Var, Expr]:
    """The variables of loops in terms of ones that run from 0."""
    return {loop.var: loop.start + loop.var for loop in loops if not is_const(loop.start, 0)}


def _fills(domain: MappedDomain, shape: Sequence[Expr], once: bool) -> bool | None:
    """Whether a map takes every point of a box, `once` where that is asked; None where it is not known."""
    sizes = [int(extent.value) for extent in shape if type(extent) is Const]
    if not once and len(sizes) == len(shape) and domain.is_filled(sizes):
        return True
    bijective = domain.is_bijective(shape)
    if bijective or once:
        return bijective
    places = [Var(f"p{at}", extent.dtype) for at, extent in enumerate(shape)]
    missing = domain.padding(shape, places)
    return None if missing is None else is_const(missing, False)


class _Sizes:
    """The sizes of what the caller passes, in whose ranges nothing that is worked out of them wraps.

    A dimension that is computed, as `batch * length`, is a size itself, and gets a variable of its own.
    """

    def __init__(self, func: PrimFunc) -> None:
        shapes = tuple(buffer.shape for buffer in func.param_buffers)
        found = {var for shape in shapes for var in free_vars(shape)}
        computed = [dim for shape in shapes for dim in shape if type(dim) is Call]
        self.computed = [(dim, Var("size", dim.dtype)) for dim in computed]
        found.update(var for _, var in self.computed)
        self.ranges = {v: (0, MOST[v.dtype.bits]) for v in found if v.dtype.kind == "int" and v.dtype.bits in MOST}

    def named(self, value: Expr) -> Expr:
        """An expression with the variables of computed dimensions."""
        if not self.computed:
            return value
        named: Expr = rewrite(value, {Call: self._named})
        return named

    def _named(self, call: Call) -> Expr:
        return next((var for dim, var in self.computed if dim is call or structural_equal(dim, call)), call)

    def domain(
        self,
        loops: Sequence[tuple[Var, Expr]],
        values: Sequence[Expr],
        known: Mapping[Var, tuple[int, int]],
        predicate: Expr | None = None,
    ) -> MappedDomain:
        """What loops of these extents make of these values."""
        mapping = IndexMap(tuple(var for var, _ in loops), tuple(map(self.named, values)))
        condition = None if predicate is None else self.named(predicate)
        extents = [self.named(extent) for _, extent in loops]
        return MappedDomain(mapping, extents, {**self.ranges, **known}, predicate=condition)


def check_makes_all(edit: Edit, block: Place, producer: Place, values: Mapping[Var, Expr]) -> None:
    """Refuse where the axes of a block, as `values` of those of its producer, are known not to take every point."""
    maker: Block = producer.stmt
    stmt: Block = block.stmt
    shifted = {axis.var: axis.start + axis.var for axis in maker.axes if not is_const(axis.start, 0)}
    places = [substitute(values[axis.var], shifted) - axis.start for axis in stmt.axes]
    sizes = _Sizes(edit.func)
    domain = sizes.domain([(axis.var, axis.extent) for axis in maker.axes], places, edit.analyzer(producer).known)
    if _fills(domain, [sizes.named(axis.extent) for axis in stmt.axes], False) is False:
        edit.refuse(
            f"the block `{maker.name}` does not make an element for every point of `{stmt.name}`",
            (producer, ""),
            (block, "this makes more"),
        )


def check_without_gaps(edit: Edit, loop: Place, maker: Place, store: BufferStore, area: Sequence[Extent]) -> None:
    """Refuse where an iteration of a loop is known to make a box but for gaps, which other iterations fill."""
    values = {axis.var: axis.value for axis in maker.stmt.axes}
    loops = [place.stmt for place in maker.loops() if place is not loop and loop.contains(place)]
    places: list[Expr] = []
    sizes: list[Expr] = []
    for index, extent in zip(store.indices, area, strict=True):
        if extent is None or index.dtype.is_vector:
            return
        places.append(expression(linear(substitute(index, values)) - extent[0]))
        sizes.append(expression((extent[1] - extent[0]).shifted(1)))
    inner = {one.var for one in loops}
    loops = [one for one in loops if uses(tuple(places), one.var)]  # how often others run is no matter
    if not loops or any(one.step is not None for one in loops) or not inner.issuperset(free_vars((*places, *sizes))):
        return
    shifted = _from_zero(loops)
    domain = _Sizes(edit.func).domain(
        [(one.var, one.extent) for one in loops],
        [substitute(place, shifted) for place in places],
        edit.analyzer(maker).known,
    )
    if _fills(domain, sizes, False) is False:
        edit.refuse(
            f"an iteration of the loop `{loop.stmt.var.name}` makes `{store.buffer.name}` with gaps that others fill",
            (loop, ""),
            (maker, "this makes it"),
        )


def check_begun_once(edit: Edit, block: Place, places: Sequence[Place]) -> None:
    """Refuse where loops around a reduction run it for a point of its axes again: its T.init would come again.

    Where it is the predicate that leaves one time of several, that time has to be the first one.
    """
    loops = [place.stmt for place in places]
    shifted = _from_zero(loops)
    inside = {loop.var for loop in loops}
    values = [substitute(_moving(axis.value, inside), shifted) for axis in block.stmt.axes]
    known = edit.analyzer(places[0]).known if places else {}
    extents = [(loop.var, loop.extent) for loop in loops]
    sizes = _Sizes(edit.func)
    if sizes.domain(extents, values, known).is_injective() is not False:
        return
    predicate = block.stmt.predicate
    if predicate is not None and _holds_first(edit, block, loops, predicate):
        if sizes.domain(extents, values, known, substitute(predicate, shifted)).is_injective():
            return
    edit.refuse(
        f"the loops run the block `{block.stmt.name}` for points of its axes again, where its T.init begins anew",
        (block, ""),
        *[(place, "") for place in places[:1]],
    )


def _holds_first(edit: Edit, block: Place, loops: Sequence[For], predicate: Expr) -> bool:
    """Whether what a predicate says of loops over no spatial axis is true in their first iterations."""
    spatial = tuple([axis.value for axis in block.stmt.axes if axis.kind != "reduce"])
    starts = {loop.var: loop.start for loop in loops if not uses(spatial, loop.var)}
    parts = [part for part in conjuncts(predicate) if any(uses(part, var) for var in starts)]
    known = edit.analyzer(block)
    return all(known.can_prove(substitute(part, starts)) for part in parts)


def _moving(value: Expr, loops: set[Var]) -> Expr:
    """The terms of an index that loops change: without the others it is as different from iteration to iteration."""
    form = linear(value)
    terms = {atom: factor for atom, factor in form.terms.items() if not loops.isdisjoint(free_vars(atom))}
    return expression(Linear(terms, 0, form.dtype))


def check_runs(edit: Edit, block: Place, at: Place | None = None) -> None:
    """Refuse where a condition decides whether a block runs; or would, if it were moved to the loop `at`."""
    place = block if at is None else at
    for around in place.above():
        if type(around.stmt) is Block:
            return
        if type(around.stmt) in WORDS:
            runs = "runs" if at is None else f"would run in the loop `{at.stmt.var.name}`"
            edit.refuse(
                f"{WORDS[type(around.stmt)]} decides whether the block `{block.stmt.name}` {runs}",
                (block, ""),
                (around, "here"),
                hint=WHERE if at is None and type(around.stmt) is If else None,
            )


def check_writes_all(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse where a block is not proved to write every element of a buffer."""
    stmt: Block = block.stmt
    box = written_box(edit, block, buffer)
    known = edit.analyzer(block)
    for (start, stop), dim in zip(box, buffer.shape, strict=True):
        if not (known.can_prove(get_op("equal")(start, 0)) and known.prove_equal(stop, dim)):
            edit.refuse(f"the block `{stmt.name}` is not proved to write all of `{buffer.name}`", block)


def check_stores_always(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse where a block may leave its store to a buffer out: what it never wrote cannot be copied."""
    if not _stores_always(block.stmt, buffer):
        found = [access for access in Accesses(block.stmt.body).found if access.write and access.buffer is buffer]
        edit.refuse(
            f"the block `{block.stmt.name}` may leave elements of `{buffer.name}` out, since its store is conditional",
            (block, ""),
            *[(access.node, "here") for access in found[:1] if access.node is not None],
        )


def _stores_always(stmt: Block, buffer: Buffer) -> bool:
    """Whether a block certainly stores to a buffer in each instance."""
    return any(access.certain for access in Accesses(stmt.body).found if access.write and access.buffer is buffer)


def written_box(edit: Edit, block: Place, buffer: Buffer) -> list[tuple[Expr, Expr]]:
    """The box of a buffer that a block writes, every element of it, as start and stop of each dimension."""
    stmt: Block = block.stmt
    if not _stores_at_axes(stmt, buffer) or not _stores_always(stmt, buffer):
        filled = filled_box(edit, block, buffer)
        if filled is not None:
            return filled
    check_covers(edit, block)
    store = only_store(edit, block, buffer)
    check_stores_always(edit, block, buffer)
    axes = {axis.var: axis for axis in stmt.axes}
    found: list[tuple[Expr, Expr]] = []
    for index, var in zip(store.indices, axes_of_indices(edit, block, store.indices, "store"), strict=True):
        if var is None:
            found.append((index, index + 1))
        else:
            found.append((axes[var].start, axes[var].stop))
    ends = tuple([end for box in found for end in box])
    for place in block.loops():
        if uses(ends, place.stmt.var):
            what = f"what `{stmt.name}` writes of `{buffer.name}` is no box"
            edit.refuse(f"{what}: its size depends on `{place.stmt.var.name}`", (block, ""), (place, "this loop"))
    return found


def _stores_at_axes(stmt: Block, buffer: Buffer) -> bool:
    """Whether a block stores to one element of a buffer in each instance, at its own axes or numbers."""
    stores = stores_of(stmt.body, buffer)
    own = {axis.var for axis in stmt.axes}
    return all(
        same_indices(store.indices, stores[0].indices)
        and all(type(one) is Const or one in own for one in store.indices)
        for store in stores
    )


def filled_box(edit: Edit, block: Place, buffer: Buffer) -> list[tuple[Expr, Expr]] | None:
    """The box around all that a block writes of a buffer, where it is proved to write every element of it."""
    scope = scope_of(edit, block)
    known = edit.analyzer(scope, inside=True)
    found: list[tuple[Expr, Expr]] = []
    for extent, dim in zip(needed(edit, scope, buffer, write=True, blocks=[block]), buffer.shape, strict=True):
        start: Expr = const(0, dim.dtype)
        stop = dim
        if extent is not None:
            # what loops would reach beyond the ends, predicates leave out
            low, high = (cast(expression(end), dim.dtype) for end in (extent[0], extent[1].shifted(1)))
            start, stop = (
                low if known.can_prove(start <= low) else start,
                high if known.can_prove(high <= dim) else dim,
            )
        found.append((start, stop))
    places = [Var(f"p{at}", start.dtype) for at, (start, _) in enumerate(found)]
    probe: Stmt = Evaluate(BufferLoad(buffer, tuple(places)))
    for place, (low, high) in reversed(list(zip(places, found, strict=True))):
        probe = For(place, low, high, (probe,))
    return found if _fills_first(edit, block, buffer, probe) else None


def fills_in_iteration(edit: Edit, loop: Place, buffer: Buffer) -> bool:
    """Whether each iteration of a loop reads of a buffer only what it wrote before: as boxes tell, which is quick, or
    element by element, as tiles at an edge need."""
    if fills_by_boxes(loop.stmt.body, buffer):
        return True
    known = edit.analyzer(loop.children["body"][0]).known
    return fills_first(Dependences(loop.stmt.body, dict(known), within=edit.func), buffer)


def reads_own_only(edit: Edit, block: Place, buffer: Buffer) -> bool:
    """Whether the loops around a block are proved to read of a buffer only what they have written before."""
    return _fills_first(edit, block, buffer)


def _fills_first(edit: Edit, block: Place, buffer: Buffer, *behind: Stmt) -> bool:
    """Whether the loops around a block, and statements behind them, read of a buffer only what these loops wrote."""
    home = top(scope_of(edit, block), block)
    deps = Dependences((home.stmt, *behind), dict(edit.analyzer(home).known), within=edit.func)
    return fills_first(deps, buffer)


__all__ = [
    "check_begun_once",
    "check_covers",
    "check_makes_all",
    "check_parallel",
    "check_permutation",
    "check_runs",
    "check_still_covers",
    "check_stores_always",
    "check_without_gaps",
    "check_writes_all",
    "filled_box",
    "fills_in_iteration",
    "reads_own_only",
    "written_box",
]
