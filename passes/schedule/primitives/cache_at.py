"""read_at, write_at: a copy of what one iteration of a loop reads or writes."""

from __future__ import annotations

from ..edit import Edit
from ..primitive import BlockAt, LoopAt, StorageScope, primitive
from ..tree import Place
from .cache import cache_read, cache_write
from .compute_at import compute_at
from .reverse_compute_at import reverse_compute_at


@primitive
def read_at(
    edit: Edit, loop: LoopAt, block: BlockAt, read_buffer_index: int | str, storage_scope: StorageScope
) -> Place:
    """Copy what a block reads of a buffer in one iteration of a loop, at its begin; the block that copies.

    before:                                    after `read_at("i", "B", 0, "local")`:
        for i, j in T.grid(8, 8):                  for i in range(8):
            with T.block("B"):                         for ax0 in range(8):
                B[vi, vj] = A[vi, vj] + 1                  with T.block("A_local"):
                                                               A_local[v0, v1] = A[v0, v1]
                                                       for j in range(8):
                                                           with T.block("B"):
                                                               B[vi, vj] = A_local[vi, vj] + 1

    It is cache_read, of this one reader, and compute_at.
    """
    copy = cache_read(edit, block, read_buffer_index, storage_scope, [block])
    name = copy.stmt.name
    compute_at(edit, copy, edit.loop(loop.stmt.var))
    return edit.block(name)


@primitive
def write_at(
    edit: Edit, loop: LoopAt, block: BlockAt, write_buffer_index: int | str, storage_scope: StorageScope
) -> Place:
    """Let a block write to a copy, of which each iteration of a loop stores its part at its end; the block that copies.

    before:                                    after `write_at("i", "B", 0, "local")`:
        for i, j in T.grid(8, 8):                  for i in range(8):
            with T.block("B"):                         for j in range(8):
                B[vi, vj] = A[vi, vj] + 1                  with T.block("B"):
                                                               B_local[vi, vj] = A[vi, vj] + 1
                                                       for ax0 in range(8):
                                                           with T.block("B_local"):
                                                               B[v0, v1] = B_local[v0, v1]

    It is cache_write and reverse_compute_at.
    """
    copy = cache_write(edit, block, write_buffer_index, storage_scope)
    name = copy.stmt.name
    reverse_compute_at(edit, copy, edit.loop(loop.stmt.var))
    return edit.block(name)
