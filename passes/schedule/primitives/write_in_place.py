"""write_in_place: a block writes over what it reads, so that a temporary needs no memory of its own."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Var
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, For

from ...statements import may_overlap, same_indices
from ..blocks import inferred, reads_of, writes_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    check_not_viewed,
    common,
    loads_of,
    scope_of,
    stores_of,
)
from ..edit import Edit
from ..legality import check_covers, check_writes_all
from ..moving import only_store
from ..primitive import BlockAt, primitive
from ..refusal import KINDS
from ..tree import Place
from .cache import chosen


@primitive
def write_in_place(edit: Edit, block: BlockAt, read_buffer_index: int | str) -> None:
    """Let a temporary that a block reads lie in the buffer that the block writes: it writes over what it reads.

    before:                                         after `write_in_place("B", "power")`:
        power = T.alloc_buffer((4, 8))
        with T.block("power"):                          with T.block("power"):
            power[vi, vj] = T.exp(A[vi, vj])                B[vi, vj] = T.exp(A[vi, vj])
        with T.block("B"):                              with T.block("B"):
            B[vi, vj] = power[vi, vj] / total[vi]           B[vi, vj] = B[vi, vj] / total[vi]

    Both have the same shape and dtype. The block writes each element once and reads it of the temporary, which nobody
    reads after that; nothing touches what it writes before. The loops that it shares with others run over a dimension
    of the temporary each, in order or in parallel.
    """
    stmt: Block = block.stmt
    scope = scope_of(edit, block)
    temporary = chosen(edit, block, reads_of(stmt), read_buffer_index, "reads")
    place = allocation(edit, temporary)
    if place is None or type(place.stmt) is not AllocBuffer or place.parent is not scope:
        edit.refuse(f"`{temporary.name}` is not allocated beside the block `{stmt.name}`", block)
    written = writes_of(stmt)
    if len(written) != 1 or written[0] is temporary:
        edit.refuse(f"the block `{stmt.name}` does not write one other buffer", block)
    result = written[0]
    users = [other for other in _users(scope, temporary) if other is not block]
    _check_alike(edit, block, temporary, result)
    _check_unused(edit, block, result, users)
    _check_once(edit, block, temporary, result)
    for other in users:
        _check_order(edit, block, other, temporary)
    for other in (*users, block):
        edit.replace(other, inferred(substitute(other.stmt, {temporary: result})))
    edit.replace(place)


def _users(scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks of a scope that read or write a buffer."""
    return [
        place
        for place in scope.below(Block, nested=False)
        if buffer in reads_of(place.stmt) or buffer in writes_of(place.stmt)
    ]


def _check_alike(edit: Edit, block: Place, temporary: Buffer, result: Buffer) -> None:
    """Refuse buffers of which one cannot hold the other's elements at the same indices."""
    alike = temporary.dtype is result.dtype and temporary.scope == result.scope
    if not alike or not structural_equal(temporary.shape, result.shape, map_free_vars=False):
        edit.refuse(f"`{temporary.name}` and `{result.name}` differ in shape, dtype or scope", block)
    for buffer in (temporary, result):
        check_not_viewed(edit, block, buffer)
        for place in (edit.tree.root, *block.above()):
            bare = accesses_outside_blocks(place, buffer)
            if bare is not None:
                edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (bare, "here"))


def _around(one: Place, other: Place) -> list[Place]:
    """What holds both of two places."""
    shared = common(one, other)
    return [shared, *shared.above()]


def _check_unused(edit: Edit, block: Place, result: Buffer, users: list[Place]) -> None:
    """Refuse a result that anything touches before it is made, that may overlap others, or is not there in time."""
    if may_overlap(edit.func):
        edit.refuse(f"`{result.name}` may overlap other parameters", block)
    if result in reads_of(block.stmt):
        edit.refuse(f"the block `{block.stmt.name}` reads `{result.name}` itself", block)
    for other in (*_users(scope_of(edit, block), result), *_users(edit.tree.root, result)):
        behind = before(block, other) and not any(type(at.stmt) is For for at in _around(block, other))
        if not behind and not other.contains(block):
            edit.refuse(f"`{result.name}` is used besides", (block, ""), (other, "here"))
    place = allocation(edit, result)
    late = next((other for other in users if place is not None and not before(place, other)), None)
    if late is not None:
        edit.refuse(f"`{result.name}` is allocated behind what needs it", (block, ""), (late, "here"))


def _check_once(edit: Edit, block: Place, temporary: Buffer, result: Buffer) -> None:
    """Refuse a block that does not write each element of the result once, from that of the temporary."""
    stmt: Block = block.stmt
    store = only_store(edit, block, result)
    for load in loads_of(stmt, temporary):
        if not same_indices(load.indices, store.indices):
            edit.refuse("it reads another element than it writes", (block, ""), (load, "this one"))
    check_writes_all(edit, block, result)
    for axis in stmt.axes:
        if axis.kind != "spatial" or not any(index is axis.var for index in store.indices):
            edit.refuse("it may write an element more than once", (block, ""), (axis, "this axis is no index of it"))
    check_covers(edit, block, once=True)


def _check_order(edit: Edit, block: Place, other: Place, temporary: Buffer) -> None:
    """Refuse a block that is not done with an element of the temporary when it is overwritten."""
    if not before(other, block):
        edit.refuse(f"`{temporary.name}` is used behind the block `{block.stmt.name}`", (block, ""), (other, "here"))
    for place in _around(block, other):
        if type(place.stmt) is not For:
            continue
        loop: For = place.stmt
        if loop.kind not in ("serial", "unroll", "parallel"):
            edit.refuse(
                f"the loop `{loop.var.name}`, which both are in, is {KINDS[loop.kind]}",
                (block, ""),
                (other, "here"),
                (place, "this loop"),
            )
        if not _own(block, loop.var, temporary) & _own(other, loop.var, temporary):
            edit.refuse(
                f"iterations of `{loop.var.name}` are not known to use elements of `{temporary.name}` of their own",
                (block, ""),
                (other, "here"),
                (place, "this loop"),
            )


def _own(block: Place, var: Var, buffer: Buffer) -> set[int]:
    """The dimensions of a buffer in which every access of a block has an axis for index that is a loop's variable."""
    axes = {axis.var for axis in block.stmt.axes if axis.value is var}
    found: list[BufferLoad | BufferStore] = [*loads_of(block.stmt, buffer), *stores_of(block.stmt, buffer)]
    return {at for at in range(buffer.ndim) if all(node.indices[at] in axes for node in found)}
