"""cache_read, cache_write: a copy of a buffer in another storage."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.arith.linear import expression
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Expr, Var
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt
from tirscript.ir.words import counted

from ...statements import same_indices
from ..blocks import inferred, reads_of, writes_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    check_not_viewed,
    loads_of,
    readers,
    scope_of,
    stores_outside_blocks,
    top,
    writers,
)
from ..edit import Edit
from ..legality import check_writes_all, reads_own_only, written_box
from ..moving import needed, nest
from ..primitive import BlockAt, StorageScope, primitive
from ..tree import Place


@primitive
def cache_read(
    edit: Edit,
    block: BlockAt,
    read_buffer_index: int | str,
    storage_scope: StorageScope,
    consumer_blocks: Sequence[BlockAt] | None = None,
) -> Place:
    """Copy a buffer that a block reads, and let the block and the other readers read the copy; the block that copies.

    before:                                    after `cache_read("B", 0, "local")`:
        with T.block("B"):                         A_local = T.alloc_buffer((8,), scope="local")
            B[vi] = A[vi] + 1.0                    with T.block("A_local"):
                                                       A_local[v0] = A[v0]
                                                   with T.block("B"):
                                                       B[vi] = A_local[vi] + 1.0

    The buffer is named or counted among those that the block reads. `consumer_blocks` says which readers change, the
    block itself only where it is one of them; all of them where it is not given. The whole buffer is copied; compute_at
    makes the copy as small as its reader needs. In a block of blocks, only what they read is copied of what is made
    outside of it; where a loop is around both who writes the buffer and who reads it, what an iteration reads.
    """
    buffer = chosen(edit, block, reads_of(block.stmt), read_buffer_index, "reads")
    scope = scope_of(edit, block)
    check_reachable(edit, block, buffer)
    made_by = writers(scope, buffer)
    consumers = readers(scope, buffer) if consumer_blocks is None else list(consumer_blocks)
    if not consumers:
        edit.wrong("`consumer_blocks` names no block that would read the copy")
    for place in consumers:
        if buffer not in reads_of(place.stmt):
            edit.refuse(f"the block `{place.stmt.name}` does not read `{buffer.name}`", place)
        if buffer in writes_of(place.stmt):
            edit.refuse(f"the block `{place.stmt.name}` writes `{buffer.name}` too", place)
        if scope_of(edit, place) is not scope:
            edit.refuse(f"the block `{place.stmt.name}` stands in another block", place)
    shared = _shared_loop(scope, [*made_by, *consumers]) if made_by else None
    if shared is not None:
        return _copied_in(edit, block, buffer, shared, consumers, storage_scope)
    first = min(top(scope, place).index for place in consumers)
    check_copied_before(edit, block, buffer, consumers)
    bare = list(stores_outside_blocks(scope, buffer))
    if bare and len(made_by) != 1:
        check_given(edit, block, buffer, bare[0])
    if len(made_by) == 1:
        # what was never written cannot be copied
        check_writes_all(edit, made_by[0], buffer)
        at = max(top(scope, place).index for place in (made_by[0], *bare)) + 1
    elif made_by:
        edit.refuse(f"`{buffer.name}` is written by {counted(len(made_by), 'block')}", block, *made_by)
    else:
        at = first
    cache = cache_of(buffer, storage_scope)
    name = edit.fresh_block_name(cache.name)
    whole: list[tuple[Expr, Expr]] = [(const(0, dim.dtype), dim) for dim in buffer.shape]
    if not made_by and scope is not edit.tree.root and allocation(edit, buffer) is not None:
        # a block around may come before all of the buffer is made
        whole = _read_in(edit, scope, buffer, consumers)
    copy = copied(name, buffer, cache, whole)
    for place in consumers:
        edit.replace(place, inferred(substitute(place.stmt, {buffer: cache})))
    edit.tree.splice(scope, "body", at, at, (copy,))
    edit.allocate(cache, edit.block(name))
    return edit.block(name)


@primitive
def cache_write(
    edit: Edit,
    block: BlockAt,
    write_buffer_index: int | str,
    storage_scope: StorageScope,
    consumer_blocks: Sequence[BlockAt] | None = None,
) -> Place:
    """Let a block write to a buffer of its own, which is copied to the old one behind it; the block that copies.

    before:                                    after `cache_write("B", 0, "local")`:
        with T.block("B"):                         B_local = T.alloc_buffer((8,), scope="local")
            B[vi] = A[vi] + 1.0                    with T.block("B"):
                                                       B_local[vi] = A[vi] + 1.0
                                                   with T.block("B_local"):
                                                       B[v0] = B_local[v0]

    The buffer is named or counted among those that the block writes. `consumer_blocks` are readers that read the new
    buffer instead.
    """
    stmt: Block = block.stmt
    buffer = chosen(edit, block, writes_of(stmt), write_buffer_index, "writes")
    scope = scope_of(edit, block)
    check_reachable(edit, block, buffer)
    check_copied_behind(edit, block, buffer, [] if consumer_blocks is None else list(consumer_blocks))
    box = written_box(edit, block, buffer)
    consumers = [] if consumer_blocks is None else list(consumer_blocks)
    for place in consumers:
        if buffer not in reads_of(place.stmt):
            edit.refuse(f"the block `{place.stmt.name}` does not read `{buffer.name}`", place)
    home = top(scope, block)
    cache = cache_of(buffer, storage_scope)
    name = edit.fresh_block_name(cache.name)
    copy = copied(name, cache, buffer, box)
    edit.replace(block, inferred(written_to(stmt, {buffer: cache})))
    for place in consumers:
        edit.replace(place, inferred(substitute(place.stmt, {buffer: cache})))
    edit.tree.insert(home, after=(copy,))
    edit.allocate(cache, edit.block(name))
    return edit.block(name)


def _shared_loop(scope: Place, blocks: Sequence[Place]) -> Place | None:
    """The innermost loop of a scope around all of these blocks."""
    for place in blocks[0].loops()[::-1]:
        if place is not scope and all(place.contains(block) for block in blocks):
            return place
    return None


def _copied_in(
    edit: Edit, block: Place, buffer: Buffer, loop: Place, consumers: Sequence[Place], storage_scope: str
) -> Place:
    """The block that copies what an iteration of a loop reads, between the blocks in it that write it and read it."""
    scope = scope_of(edit, block)
    _check_there(edit, block, buffer, scope)
    _check_written_before(edit, block, buffer, loop, consumers)
    cache = cache_of(buffer, storage_scope)
    name = edit.fresh_block_name(cache.name)
    stmt = copied(name, buffer, cache, [(const(0, dim.dtype), dim) for dim in buffer.shape])
    while type(stmt) is For:
        stmt = stmt.body[0]
    assert type(stmt) is Block
    area = needed(edit, loop, buffer, write=False, blocks=consumers)
    made, _ = nest(edit, stmt, {axis.var: part for axis, part in zip(stmt.axes, area, strict=True)}, loop, False)
    at = min(top(loop, place).index for place in consumers)
    for place in consumers:
        edit.replace(place, inferred(substitute(place.stmt, {buffer: cache})))
    edit.tree.splice(loop, "body", at, at, (made,))
    if allocation(edit, buffer) is not None and not reads_own_only(edit, edit.block(name), buffer):
        edit.refuse(
            f"an iteration of the loop `{loop.stmt.var.name}` is not proved to find made what would be copied of "
            f"`{buffer.name}`",
            (loop, ""),
            (block, "for this block"),
        )
    edit.allocate(cache, edit.block(name))
    return edit.block(name)


def _read_in(edit: Edit, scope: Place, buffer: Buffer, consumers: Sequence[Place]) -> list[tuple[Expr, Expr]]:
    """The box of a buffer that blocks in a block read in one instance of it; all of a dimension that may be left."""
    known = edit.analyzer(scope, inside=True)
    found: list[tuple[Expr, Expr]] = []
    for extent, dim in zip(needed(edit, scope, buffer, write=False, blocks=consumers), buffer.shape, strict=True):
        zero = const(0, dim.dtype)
        low, high = (zero, dim) if extent is None else (expression(extent[0]), expression(extent[1].shifted(1)))
        start, stop = cast(low, dim.dtype), cast(high, dim.dtype)
        inside = known.can_prove(zero <= start) and known.can_prove(stop <= dim)
        found.append((start, stop) if inside else (zero, dim))
    return found


def check_given(edit: Edit, block: Place, buffer: Buffer, store: Place) -> None:
    """Refuse to copy a buffer that a store outside of blocks writes, where that may be all that does."""
    if allocation(edit, buffer) is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", block, (store, "here"))


def check_copied_before(edit: Edit, block: Place, buffer: Buffer, consumers: Sequence[Place]) -> None:
    """Refuse where a buffer is still written where a copy of it would be made, before its first reader."""
    scope = scope_of(edit, block)
    _check_there(edit, block, buffer, scope)
    _check_written_before(edit, block, buffer, scope, consumers)


def _check_written_before(edit: Edit, block: Place, buffer: Buffer, around: Place, consumers: Sequence[Place]) -> None:
    """Refuse where a buffer is written behind the first reader in the body of a loop or scope."""
    scope = scope_of(edit, block)
    first = min(top(around, place).index for place in consumers)
    for writer in writers(scope, buffer):
        if top(around, writer).index >= first:
            edit.refuse(
                f"`{buffer.name}` is still written where the copy would be made",
                (block, ""),
                (writer, "written here"),
            )
    for bare in stores_outside_blocks(scope, buffer):
        if (around is scope or around.contains(bare)) and top(around, bare).index >= first:
            edit.refuse(
                f"`{buffer.name}` is still written, outside of blocks, where the copy would be made",
                (block, ""),
                (bare, "written here"),
            )


def check_copied_behind(edit: Edit, block: Place, buffer: Buffer, consumers: Sequence[Place] = ()) -> None:
    """Refuse where what a block writes cannot be written behind its loops instead: others use it before."""
    stmt: Block = block.stmt
    scope = scope_of(edit, block)
    home = top(scope, block)
    _check_there(edit, block, buffer, scope)
    others = [other for other in writers(scope, buffer) if other is not block]
    if others:
        edit.refuse(f"`{buffer.name}` is written by another block too", (block, ""), (others[0], "here"))
    bare = accesses_outside_blocks(scope, buffer)
    if bare is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks too", (block, ""), (bare, "here"))
    if buffer in reads_of(stmt) and stmt.init is None and not reads_own_only(edit, block, buffer):
        edit.refuse(
            f"the block `{stmt.name}` reads what the buffer `{buffer.name}` held before",
            block,
            hint="a block that updates a buffer is cached together with the block that begins it",
        )
    _check_begins_with_own(edit, block, buffer)
    for place in readers(scope, buffer):
        if place is block or any(place is other for other in consumers):
            continue
        if home.contains(place):
            edit.refuse(
                f"`{buffer.name}` is read in the same loops, before the copy would be made",
                (block, ""),
                (place, "read here"),
            )
        if before(place, home):
            edit.refuse(f"`{buffer.name}` is read before it is written", (block, ""), (place, "read here"))


def _check_there(edit: Edit, block: Place, buffer: Buffer, scope: Place) -> None:
    """Refuse a buffer that is another one in each iteration of a loop: outside of the loop it cannot be copied."""
    home = allocation(edit, buffer)
    if home is not None and home.in_loop(scope):
        edit.refuse(f"`{buffer.name}` is allocated in a loop around the block", (block, ""), (home, "here"))


def _check_begins_with_own(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse where a T.init reads other elements of its result than the one that it begins: those are made by then."""
    init: tuple[Stmt, ...] = block.stmt.init or ()
    begun = [node.indices for node in walk(init, BufferStore) if node.buffer is buffer]
    for load in loads_of(init, buffer):
        if not all(same_indices(load.indices, indices) for indices in begun):
            edit.refuse(
                f"the T.init of `{block.stmt.name}` reads elements of `{buffer.name}` that other iterations make",
                (block, ""),
                (load, "read here"),
            )


def written_to(stmt: Block, copies: dict[Buffer, Buffer]) -> Block:
    """The block with copies in place of buffers, but in what its T.init reads: that was there before the block."""
    init = None if stmt.init is None else rewrite(stmt.init, {BufferStore: lambda node: _stored_to(node, copies)})
    return substitute(stmt.replace(init=None), copies).replace(init=init)


def _stored_to(store: BufferStore, copies: dict[Buffer, Buffer]) -> BufferStore:
    return store.replace(buffer=copies.get(store.buffer, store.buffer))


def chosen(edit: Edit, block: Place, buffers: tuple[Buffer, ...], which: int | str, does: str) -> Buffer:
    """The buffer that is named, or counted, among those that a block reads or writes."""
    names = ", ".join(f"`{buffer.name}`" for buffer in buffers) or "nothing"
    if isinstance(which, str):
        found = [buffer for buffer in buffers if buffer.name == which]
        if not found:
            edit.refuse(f"the block `{block.stmt.name}` {does} no `{which}`", block, hint=f"it {does} {names}")
        return found[0]
    if isinstance(which, bool) or not 0 <= which < len(buffers):
        message = f"the block `{block.stmt.name}` {does} {counted(len(buffers), 'buffer')}, none at {which}"
        edit.refuse(message, block, hint=f"it {does} {names}")
    return buffers[which]


def check_reachable(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse a buffer that is reached by more than loads and stores."""
    if buffer.is_scalar:
        edit.refuse(f"`{buffer.name}` is a scalar variable", block)
    check_not_viewed(edit, block, buffer)


def cache_of(buffer: Buffer, storage_scope: str) -> Buffer:
    """A buffer of the same elements in another memory."""
    suffix = storage_scope.replace(".", "_") or "cache"
    return Buffer(f"{buffer.name}_{suffix}", buffer.shape, buffer.dtype, scope=storage_scope or "global")


def copied(name: str, source: Buffer, target: Buffer, box: Sequence[tuple[Expr, Expr]]) -> Stmt:
    """Loops and a block that copy a box, given as start and stop of each dimension."""
    loops: list[tuple[Var, Expr, Expr]] = []
    axes: list[Axis] = []
    for at, (start, stop) in enumerate(box):
        loop = Var(f"ax{at}", start.dtype)
        loops.append((loop, start, stop))
        axes.append(Axis(Var(f"v{at}", start.dtype), "spatial", start, stop, loop))
    indices = tuple(axis.var for axis in axes)
    stmt: Stmt = Block(name, tuple(axes), (BufferStore(target, indices, BufferLoad(source, indices)),))
    for loop, start, stop in reversed(loops):
        stmt = For(loop, start, stop, (stmt,))
    return stmt
