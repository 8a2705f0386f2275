"""reverse_compute_at: a consumer moves into a loop of its producer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.logic import comparison, conjuncts
from tirscript.ir.arith.presburger import Dependences, uncovered_reads
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.op import cast, const
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import free_vars, substitute, uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For

from ...access import Accesses, Extent, relax_index
from ...statements import same_indices
from ..blocks import reads_of, writes_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    check_not_viewed,
    left_behind,
    loads_of,
    readers,
    stores_of,
    top,
    writers,
)
from ..edit import Edit
from ..legality import check_covers, check_runs, check_still_covers, check_without_gaps, reads_own_only
from ..moving import Box, allocate_before, axes_of_indices, needed, nest, scope_to_move_in, shared_axes
from ..primitive import BlockAt, LoopAt, primitive
from ..removal import remove
from ..tree import Place
from .compute_at import is_inlined
from .reverse_compute_inline import by_places, reverse_compute_inline


@primitive
def reverse_compute_at(
    edit: Edit, block: BlockAt, loop: LoopAt | int, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Move a block into a loop around the block whose results it reads: each iteration uses what it has just made.

    before:                                    after `reverse_compute_at("C", "i")`:
        for i, j in T.grid(8, 8):                  for i in range(8):
            with T.block("B"): ...                     for j in range(8):
        for i, j in T.grid(8, 8):                          with T.block("B"): ...
            with T.block("C"): ...                     for ax0 in range(8):
                                                           with T.block("C"): ...

    `index` is where among the loop's statements the block comes: -1 right behind its last producer, else that position.
    `preserve_unit_loops` keeps loops of one iteration. What the block reads is indexed by axes, or by a one-to-one map
    of all axes to the buffer. Refused where the block would not run for all that it stores any more, and where it would
    leave a loop in which its result is changed behind it. A reduction moves where each iteration makes all that it
    combines for an element. In place of a loop -1 lets the block stay, and -2 inlines it.
    """
    if isinstance(loop, int):
        if is_inlined(edit, loop):
            reverse_compute_inline(edit, block)
        return
    stmt: Block = block.stmt
    scope = scope_to_move_in(edit, block, loop)
    own = set(writes_of(stmt))
    if own & set(reads_of(stmt)) and not _begins(stmt) and not _keeps(stmt):
        edit.refuse(f"the block `{stmt.name}` reads what it writes", block)
    ranges: dict[Var, Extent] = {}
    producers: list[Place] = []
    partly: list[Buffer] = []
    mapped: list[Buffer] = []
    for buffer in reads_of(stmt):
        inside = _producers(edit, block, loop, scope, buffer)
        if not inside:
            continue
        producers += inside
        area = _finished(edit, loop, buffer, inside)
        if not any(_makes_all(edit, loop, buffer, producer, area) for producer in inside):
            partly.append(buffer)
        if _add_ranges(edit, block, loop, buffer, area, ranges):
            mapped.append(buffer)
    if not producers:
        edit.refuse(
            f"nothing that `{stmt.name}` reads is written in the loop `{loop.stmt.var.name}`",
            (block, ""),
            (loop, "this loop"),
        )
    _output_free(edit, block, loop, scope)
    check_covers(edit, block)
    check_runs(edit, block, loop)
    ranges = {**shared_axes(edit, block, loop), **ranges}
    _check_own_iteration(edit, block, loop, ranges)
    made, _ = nest(edit, stmt, ranges, loop, preserve_unit_loops)
    at = _position(edit, loop, producers, index)
    remove(edit, block)
    edit.tree.splice(loop, "body", at, at, (made,))
    check_still_covers(edit, edit.block(stmt.name), stmt.axes, proved=bool(mapped))
    for buffer in mapped:
        _check_reads_own(edit, block, loop, buffer)
    if partly:
        _check_filled(edit, edit.block(stmt.name), partly)
    for buffer in own:
        allocate_before(edit, buffer, loop)


def _producers(edit: Edit, block: Place, loop: Place, scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks in a loop that write what a block reads of a buffer; refused where others write that, too late."""
    name = block.stmt.name
    made_by = [other for other in writers(scope, buffer) if other is not block]
    inside = [other for other in made_by if loop.contains(other)]
    outside = [other for other in made_by if not loop.contains(other)]
    late = [other for other in outside if not before(other, loop)]
    if late:
        edit.refuse(
            f"`{buffer.name}`, which the block `{name}` reads, is written behind the loop",
            (loop, ""),
            (late[0], "here"),
        )
    bare = accesses_outside_blocks(scope, buffer)
    if bare is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks too", (block, ""), (bare, "here"))
    check_not_viewed(edit, block, buffer)
    after = [other for other in inside if not before(other, block)]
    if after:
        edit.refuse(
            f"`{buffer.name}`, which the block `{name}` reads, is written behind the block",
            (block, ""),
            (after[0], "here"),
            hint="compute_at moves a block to those that read what it makes",
        )
    if inside and outside:
        edit.refuse(f"`{buffer.name}` is written outside of the loop too", (loop, ""), (outside[0], "here"))
    return inside


def _add_ranges(edit: Edit, block: Place, loop: Place, buffer: Buffer, area: Box, ranges: dict[Var, Extent]) -> bool:
    """Add the ranges of the axes with which a block reads the area that an iteration makes; whether one is by a map."""
    stmt: Block = block.stmt
    reduced = {axis.var: axis for axis in stmt.axes if axis.kind == "reduce"}
    mapped = False
    for load in loads_of((*stmt.body, *(stmt.init or ())), buffer):
        found = _by_map(edit, block, loop, load, area)
        if found is not None:
            mapped = True
            ranges.update(found)
            continue
        axes = axes_of_indices(edit, block, load.indices, f"read of `{buffer.name}`", ("spatial", "reduce"))
        for axis, extent, place in zip(axes, area, load.indices, strict=True):
            if axis in reduced:
                _check_whole(edit, block, loop, reduced[axis], extent)
                continue
            if axis is None:
                _check_made(edit, loop, load, place, extent)
                continue
            if axis in ranges and not _same(ranges[axis], extent):
                edit.refuse(f"the producers make different parts along the axis `{axis.name}`", block)
            ranges[axis] = extent
    return mapped


def _position(edit: Edit, loop: Place, producers: list[Place], index: int) -> int:
    last = max(top(loop, producer).index for producer in producers) + 1
    end = len(loop.stmt.body)
    if index != -1 and not last <= index <= end:
        edit.wrong(
            f"`index` is {index}: the block must come behind its last producer in the loop, from {last} to {end}"
        )
    return last if index == -1 else index


def _check_reads_own(edit: Edit, block: Place, loop: Place, buffer: Buffer) -> None:
    """Refuse where a block that was moved may read of a buffer what another iteration of its loop makes."""
    name = block.stmt.name
    if not reads_own_only(edit, edit.block(name), buffer):
        edit.refuse(
            f"an iteration of the loop `{loop.stmt.var.name}` is not proved to make what `{name}` would read "
            f"of `{buffer.name}`",
            (block, ""),
            (loop, "this loop"),
        )


def _by_map(
    edit: Edit, block: Place, loop: Place, load: BufferLoad, area: Box
) -> dict[Var, tuple[Linear, Linear] | None] | None:
    """The ranges of a block's axes where it reads an area by a one-to-one map of its axes to a buffer; else None."""
    if any(axis.kind != "spatial" for axis in block.stmt.axes):
        return None
    places = [Var(f"p{at}", index.dtype) for at, index in enumerate(load.indices)]
    values = by_places(edit, block, load, places)
    if values is None:
        return None
    known = edit.analyzer(loop, inside=True)
    loops: list[For] = []
    given: dict[Var, Expr] = {}
    for place, part, dim in zip(places, area, load.buffer.shape, strict=True):
        low, stop = (const(0, dim.dtype), dim) if part is None else map(expression, (part[0], part[1].shifted(1)))
        inside = Var(place.name, place.dtype)
        size = known.simplify(cast(stop - low, place.dtype))
        loops.append(For(inside, const(0, place.dtype), size, ()))
        given[place] = cast(low, place.dtype) + inside
        known.bind(inside, (const(0, place.dtype), size))
    seen = Accesses((), known=known.known)
    inner = frozenset(one.var for one in loops)
    simple = {var: known.simplify(substitute(value, given)) for var, value in values.items()}
    return {var: relax_index(value, tuple(loops), seen, inner) for var, value in simple.items()}


def _begins(stmt: Block) -> bool:
    """Whether a block reads what it writes as a reduction does that has a T.init: only what it has begun itself."""
    init = stmt.init or ()
    for buffer in writes_of(stmt):
        begun = next((store for store in init if type(store) is BufferStore and store.buffer is buffer), None)
        nodes: list[BufferLoad | BufferStore] = [*stores_of((*init, *stmt.body), buffer), *loads_of(stmt.body, buffer)]
        if begun is None or loads_of(init, buffer) or not all(same_indices(n.indices, begun.indices) for n in nodes):
            return False
    return True


def _keeps(stmt: Block) -> bool:
    """Whether a block reads what it writes only to keep an element that it does not choose to change: as often as it
    runs, that is the same."""
    if len(stmt.body) != 1 or type(stmt.body[0]) is not BufferStore or stmt.init is not None:
        return False
    store = stmt.body[0]
    todo: list[Expr] = [store.value]
    kept = 0
    while todo:
        value = todo.pop()
        if type(value) is Call and value.op in CHOICES:
            todo += value.args[1:]
        elif type(value) is BufferLoad and value.buffer is store.buffer:
            kept += same_indices(value.indices, store.indices) and value.predicate is None
    return kept == len(loads_of(stmt.body, store.buffer))


def _check_own_iteration(edit: Edit, block: Place, loop: Place, ranges: Mapping[Var, Extent]) -> None:
    """Refuse where an iteration of a loop around both would run the block for more than it does now."""
    shared = {place.stmt.var for place in loop.above() if type(place.stmt) is For}
    inner = tuple(place.stmt for place in block.loops() if place.stmt.var not in shared)
    known = edit.analyzer(loop, inside=True)
    seen = Accesses((), known=edit.analyzer(block).known)
    for axis in block.stmt.axes:
        if shared.isdisjoint(free_vars(axis.value)):
            continue
        before, after = relax_index(axis.value, inner, seen, frozenset(one.var for one in inner)), ranges.get(axis.var)
        if (
            before is None
            or after is None
            or not (
                known.can_prove(expression(before[0]) <= expression(after[0]))
                and known.can_prove(expression(after[1]) <= expression(before[1]))
            )
        ):
            edit.refuse(
                f"the block `{block.stmt.name}` would run for values of the axis `{axis.var.name}` that another "
                "iteration of a loop around both has now",
                (block, ""),
                (axis, "this axis"),
            )


def _check_made(edit: Edit, loop: Place, load: BufferLoad, index: Expr, extent: Extent) -> None:
    """Refuse where an iteration of the loop may not have made what is read at a constant index yet."""
    known = edit.analyzer(loop, inside=True)
    ends = None if extent is None else [expression(end) for end in extent]
    if ends is None or not (known.can_prove(ends[0] <= index) and known.can_prove(index <= ends[1])):
        edit.refuse(
            f"an iteration of the loop `{loop.stmt.var.name}` may not have made `{load.buffer.name}` at {index} yet",
            (loop, ""),
            (load, "which is read here"),
        )


def _check_whole(edit: Edit, block: Place, loop: Place, axis: Axis, extent: Extent) -> None:
    """Refuse where an iteration of the loop may make only a part of what a reduction combines."""
    known = edit.analyzer(loop, inside=True)
    ends = None if extent is None else [cast(expression(end), axis.var.dtype) for end in extent]
    if ends is None or not (known.can_prove(ends[0] <= axis.start) and known.can_prove(axis.stop <= ends[1] + 1)):
        edit.refuse(
            f"the block `{block.stmt.name}` is a reduction over `{axis.var.name}`, of which an iteration of the loop "
            f"`{loop.stmt.var.name}` may make only a part",
            (block, ""),
            (axis, "this axis"),
            (loop, "this loop"),
            hint="move its producers to it with compute_at",
        )


def _makes_all(edit: Edit, loop: Place, buffer: Buffer, producer: Place, area: Box) -> bool:
    """Whether a producer alone makes, in an iteration of a loop, all elements of an area that there are."""
    own = needed(edit, loop, buffer, write=True, blocks=[producer])
    stores = stores_of(producer.stmt.body, buffer)
    if not stores or not all(map(_same, own, area)):
        return False
    values = {axis.var: axis.value for axis in producer.stmt.axes}
    indices = [linear(substitute(index, values)) for index in stores[0].indices]
    known = edit.analyzer(producer)
    for part in [] if producer.stmt.predicate is None else conjuncts(producer.stmt.predicate):
        compared = comparison(part)
        # it leaves out what is beyond the end of the buffer
        if (
            compared is None
            or compared[0] != "less"
            or not any(
                form.dtype is index.dtype
                and _same((form, form), (index, index))
                and known.can_prove(compared[2] >= dim)
                for form in [linear(compared[1])]
                for index, dim in zip(indices, buffer.shape, strict=True)
            )
        ):
            return False
    return True


def _check_filled(edit: Edit, block: Place, buffers: Sequence[Buffer]) -> None:
    """Refuse where a block that was moved is known to read elements that later iterations make."""
    outer = block.loops()[0]
    homes = [home for buffer in buffers if (home := allocation(edit, buffer)) is not None]
    stmts = (*(home.stmt for home in homes if not outer.contains(home)), outer.stmt)
    deps = Dependences(stmts, dict(edit.analyzer(outer).known), within=edit.func)
    for one in uncovered_reads(deps, block.stmt, proved=True):
        if one.access.root.buffer in buffers:
            values = ", ".join(f"{var.name} = {value}" for var, value in one.values.items())
            edit.refuse(
                f"the block `{block.stmt.name}` would read elements of `{one.access.root.name}` that a later iteration "
                "makes",
                (block, ""),
                notes=[f"such as where {values}"] if values else [],
            )


def _same(a: tuple[Linear, Linear] | None, b: tuple[Linear, Linear] | None) -> bool:
    if a is None or b is None:
        return a is b
    ends = (a[0] - b[0], a[1] - b[1])
    return all(end.is_constant and end.constant == 0 for end in ends)


def _finished(edit: Edit, loop: Place, buffer: Buffer, producers: list[Place]) -> Box:
    """What the producers have made for good when an iteration of the loop ends."""
    for producer in producers:
        stmt: Block = producer.stmt
        for place in (loop, *loop.above()):
            if place is producer.block():
                break
            var = getattr(place.stmt, "var", None)
            if var is None:
                continue
            for axis in stmt.axes:
                if axis.kind != "spatial" and uses(axis.value, var):
                    edit.refuse(
                        f"the loop `{var.name}` runs over the {axis.kind} axis `{axis.var.name}` of `{stmt.name}`, so "
                        "an iteration of it finishes no element",
                        (loop, ""),
                        (axis, "this axis"),
                    )
    area = needed(edit, loop, buffer, write=True, blocks=producers)
    stores = [(producer, store) for producer in producers for store in stores_of(producer.stmt.body, buffer)]
    if len(stores) == 1:
        check_without_gaps(edit, loop, *stores[0], area)
    return area


def _output_free(edit: Edit, block: Place, loop: Place, scope: Place) -> None:
    """Refuse where what the block writes is touched between the loop and the block's old place."""
    for buffer in writes_of(block.stmt):
        for other in {id(p): p for p in (*writers(scope, buffer), *readers(scope, buffer))}.values():
            again = other is not block and buffer in writes_of(other.stmt) and left_behind(block, other, loop)
            if other is block or (before(block, other) and not again):
                continue
            if before(other, loop) or (loop.contains(other) and _read_before(edit, block, other, buffer)):
                continue
            edit.refuse(
                f"`{buffer.name}`, which the block `{block.stmt.name}` writes, is used between the loop and the block",
                (block, ""),
                (other, "here"),
            )


def _read_before(edit: Edit, block: Place, producer: Place, buffer: Buffer) -> bool:
    """Whether a producer reads each element of a buffer only for that element of what the moved block stores there.

    Such as a sum that begins with what its result held: an iteration that finishes an element has read it by then.
    """
    stmt: Block = producer.stmt
    parts = (*(stmt.init or ()), *stmt.body)
    made = list(walk(parts, BufferStore))
    target = made[0].buffer if made else buffer
    copied = stores_of(block.stmt.body, buffer)
    loads = loads_of(block.stmt.body, target)
    if target is buffer or any(store.buffer is not target for store in made) or not loads or len(copied) != 1:
        return False
    spatial = [axis.var for axis in stmt.axes if axis.kind != "reduce"]
    own = [load.indices for load in loads_of(parts, buffer)]
    if not own or not all(same_indices(indices, store.indices) for indices in own for store in made):
        return False
    if not all(same_indices(load.indices, copied[0].indices) for load in loads):
        return False
    check_covers(edit, producer)  # in no iteration again, where the element would be the new one
    return all(any(index is var for index in made[0].indices) for var in spatial)
