"""cache_inplace: a block that updates a buffer updates a copy of it."""

from __future__ import annotations

from tirscript.ir.op import const
from tirscript.ir.rewrite import substitute
from tirscript.ir.words import counted

from ..blocks import inferred, reads_of, writes_of
from ..dataflow import accesses_outside_blocks, allocation, before, readers, scope_of, top, writers
from ..edit import Edit
from ..legality import check_writes_all
from ..primitive import BlockAt, StorageScope, primitive
from ..tree import Place
from .cache import cache_of, check_reachable, chosen, copied


@primitive
def cache_inplace(edit: Edit, block: BlockAt, read_buffer_index: int | str, storage_scope: StorageScope) -> list[Place]:
    """Copy a buffer that a block reads and writes, let it work on the copy, and copy it back; both copying blocks.

    before:                                    after `cache_inplace("A", 0, "local")`:
        with T.block("A"):                         with T.block("A_local"):
            A[vi] = A[vi] * 2.0                        A_local[v0] = A[v0]
                                                   with T.block("A"):
                                                       A_local[vi] = A_local[vi] * 2.0
                                                   with T.block("A_back"):
                                                       A[v0] = A_local[v0]

    The whole buffer is copied, before and behind the loops of the block.
    """
    stmt = block.stmt
    buffer = chosen(edit, block, reads_of(stmt), read_buffer_index, "reads")
    if buffer not in writes_of(stmt):
        edit.refuse(
            f"the block `{stmt.name}` reads `{buffer.name}` and does not write it",
            block,
            hint="cache_read copies what is only read",
        )
    check_reachable(edit, block, buffer)
    scope = scope_of(edit, block)
    home = top(scope, block)
    for other in (*readers(scope, buffer), *writers(scope, buffer)):
        if other is not block and home.contains(other):
            edit.refuse(f"`{buffer.name}` is used in the same loops", (block, ""), (other, "here"))
    bare = accesses_outside_blocks(scope, buffer)
    if bare is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (bare, "here"))
    if allocation(edit, buffer) is not None:
        # what was never written cannot be copied
        earlier = [other for other in writers(scope, buffer) if other is not block and before(other, home)]
        if not earlier:
            edit.refuse(f"nothing is written to `{buffer.name}` before, so there is nothing to copy", block)
        if len(earlier) != 1:
            edit.refuse(f"`{buffer.name}` is written by {counted(len(earlier), 'block')} before", block, *earlier)
        check_writes_all(edit, earlier[0], buffer)
    cache = cache_of(buffer, storage_scope)
    box = [(const(0, dim.dtype), dim) for dim in buffer.shape]
    there = edit.fresh_block_name(cache.name)
    back = edit.fresh_block_name(f"{buffer.name}_back")
    edit.replace(block, inferred(substitute(stmt, {buffer: cache})))
    edit.tree.insert(home, before=(copied(there, buffer, cache, box),), after=(copied(back, cache, buffer, box),))
    edit.allocate(cache, edit.block(there))
    return [edit.block(there), edit.block(back)]
