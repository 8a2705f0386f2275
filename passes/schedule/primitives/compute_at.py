"""compute_at: a producer moves into a loop of its consumers."""

from __future__ import annotations

from tirscript.ir.arith.linear import Linear
from tirscript.ir.expr import Var
from tirscript.ir.stmt import Block

from ...access import union
from ..blocks import writes_of
from ..dataflow import accesses_outside_blocks, allocation, before, is_viewed, readers, top, writers
from ..edit import Edit
from ..legality import check_covers
from ..moving import axes_of_indices, check_stored_once, needed, nest, only_store, scope_to_move_in, shared_axes
from ..primitive import BlockAt, LoopAt, primitive
from ..removal import remove
from ..tree import Place
from .compute_inline import compute_inline, unchanged_since

# what sample_compute_location gives in place of a loop
STAYS, INLINED = -1, -2


@primitive
def compute_at(
    edit: Edit, block: BlockAt, loop: LoopAt | int, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Move a block into a loop around the blocks that read what it makes: each iteration makes what it needs.

    before:                                    after `compute_at("B", "i")`:
        for i, j in T.grid(8, 8):                  for i in range(8):
            with T.block("B"):                         for ax0 in range(8):
                vi, vj = T.axis.remap(...)                 with T.block("B"):
                B[vi, vj] = A[vi, vj] * 2.0                    vi = T.axis.spatial(8, i)
        for i, j in T.grid(8, 8):                              vj = T.axis.spatial(8, ax0)
            with T.block("C"):                                 B[vi, vj] = A[vi, vj] * 2.0
                vi, vj = T.axis.remap(...)             for j in range(8):
                C[vi, vj] = B[vi, vj] + 1.0                with T.block("C"): ...

    Elements that several iterations need are made again in each. `index` is where among the loop's statements the
    block comes: -1 right before its first reader, else that position. `preserve_unit_loops` keeps loops of one
    iteration. In place of a loop -1 lets the block stay where it is, and -2 inlines it: what sample_compute_location
    gives.
    """
    if isinstance(loop, int):
        if is_inlined(edit, loop):
            compute_inline(edit, block)
        return
    stmt: Block = block.stmt
    scope = scope_to_move_in(edit, block, loop)
    written = writes_of(stmt)
    consumers: list[Place] = []
    for buffer in written:
        if allocation(edit, buffer) is None or is_viewed(edit.func, buffer):
            edit.refuse(
                f"`{buffer.name}`, which the block `{stmt.name}` writes, is seen outside of the function",
                block,
                hint="reverse_compute_at moves it to its producers; cache_write gives it a buffer of its own",
            )
        others = [other for other in writers(scope, buffer) if other is not block]
        if others:
            edit.refuse(f"`{buffer.name}` is written by another block too", (block, ""), (others[0], "here"))
        outside = accesses_outside_blocks(scope, buffer)
        if outside is not None:
            edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (outside, "here"))
        consumers += [other for other in readers(scope, buffer) if other is not block]
    if not consumers:
        edit.refuse(f"nothing reads what the block `{stmt.name}` writes", block)
    for consumer in consumers:
        if not loop.contains(consumer):
            edit.refuse(
                f"the block `{consumer.stmt.name}` reads what `{stmt.name}` makes and is not in the loop "
                f"`{loop.stmt.var.name}`",
                (consumer, ""),
                (loop, "this loop"),
            )
        if not before(block, consumer):
            edit.refuse(f"`{consumer.stmt.name}` comes before `{stmt.name}`", (block, ""), consumer)
    unchanged_since(edit, block, scope)
    check_covers(edit, block)
    shared = shared_axes(edit, block, loop)
    ranges: dict[Var, tuple[Linear, Linear] | None] = {}
    for buffer in written:
        store = only_store(edit, block, buffer)
        axes = axes_of_indices(edit, block, store.indices, "store")
        check_stored_once(edit, block, (*axes, *shared))
        area = needed(edit, loop, buffer, write=False, blocks=consumers)
        for axis, extent in zip(axes, area, strict=True):
            if axis is None or (axis in ranges and ranges[axis] is None):
                continue
            both = union((ranges.get(axis, extent),), (extent,))
            ranges[axis] = None if both is None else both[0]
    made, _ = nest(edit, stmt, {**shared, **ranges}, loop, preserve_unit_loops)
    first = min(top(loop, consumer).index for consumer in consumers)
    at = _position(edit, index, first)
    remove(edit, block)
    edit.tree.splice(loop, "body", at, at, (made,))


def is_inlined(edit: Edit, sampled: int) -> bool:
    """What a number in place of a loop says: that the block is inlined, else that it stays."""
    if sampled not in (STAYS, INLINED):
        edit.wrong(f"`loop` is {sampled}: in place of a loop, it is -1 or -2")
    return sampled == INLINED


def _position(edit: Edit, index: int, first: int) -> int:
    if index == -1:
        return first
    if not 0 <= index <= first:
        edit.wrong(f"`index` is {index}: the block must come before its first reader, at most at {first}")
    return index
