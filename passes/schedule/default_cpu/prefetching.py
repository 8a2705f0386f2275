"""Rows that are read several times: who reads one last, and finds it in the cache, brings the next one there.

for i in T.parallel(rows):                    # softmax
    greatest of A[i, :]
    for j_0 in range(columns // 128):
        T.prefetch(A[i + 1, j_0 * 128]), ...   # memory would wait for the exponentials
        power[j_0 * 128 : j_0 * 128 + 128] = exp(A[i, j_0 * 128 : ...] - greatest)
    ...
"""

from __future__ import annotations

import math

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, is_const
from tirscript.ir.rewrite import walk

from ..primitive import LoopHandle
from ..primitives.prefetch import LINE
from .nests import extent_of
from .streams import parameters
from .work import Work

# bytes: rows that stay in the nearest cache, and in the next one, beside the row that is computed on
NEAREST, NEXT = 1 << 14, 1 << 19
# bytes of all rows from which on they are not in the cache anyway
LEAST = 1 << 20
# elements that are computed between the prefetches, at least and at most
SMALLEST, LARGEST = 64, 128


def next_row(work: Work, name: str) -> None:
    """Prefetch the next row of each parameter that an elementwise block reads again, in the loop over rows around the
    block `name`."""
    row = _shared(work, name)
    if row is None:
        return
    blocks = [block.name for block in work.sch.get_child_blocks(row)]
    for buffer in parameters(work):
        readers = [block for block in blocks if any(load.buffer is buffer for load in _loads(work, block))]
        if len(readers) >= 2 and all(axis.kind == "spatial" for axis in work.block(readers[-1]).axes):
            work.attempt(_prefetch, _longest(work, readers[-2:], row), buffer, row)


def _longest(work: Work, names: list[str], row: LoopHandle) -> str:
    """The last block, or the one before it where the last does what is left of that one's line."""
    first, last = ([work.sch.get(loop) for loop in work.sch.get_loops(name)] for name in names)
    depth = work.sch.get_loops(names[-1]).index(row) + 1
    rest = len(last) > depth and not is_const(last[depth].start, 0)
    return names[0] if rest and [loop.kind for loop in first[depth:]] == ["serial", "vectorized"] else names[1]


def _shared(work: Work, name: str) -> LoopHandle | None:
    """The innermost loop around a block that is around others too."""
    loops: list[LoopHandle] = work.sch.get_loops(name)
    return next((loop for loop in reversed(loops) if len(work.sch.get_child_blocks(loop)) > 1), None)


def _loads(work: Work, name: str) -> list[BufferLoad]:
    return list(walk(work.block(name).body, BufferLoad))


def _prefetch(work: Work, name: str, buffer: Buffer, row: LoopHandle) -> bool:
    """For one reader; False where all is in the cache anyway, or the next row would not stay there."""
    sch, loops = work.sch, work.sch.get_loops(name)
    at = loops.index(row) + 1
    extents = [extent_of(sch.get(loop).replace(kind="serial")) for loop in loops]
    if at == len(loops):
        return False
    count = math.prod(extent or 1 for extent in extents[at:])
    size = count * buffer.dtype.itemsize
    # what only the call knows may well be more than the cache holds
    if size > NEXT or (None not in extents and size * math.prod(extent or 1 for extent in extents[:at]) < LEAST):
        return False
    inner = loops[-1]
    if sch.get(inner).kind == "serial":
        if extents[-1] is None:
            return False
        _pieces(work, inner, extents[-1] or 1)
    work.prefetch(name, buffer, row, locality=3 if size <= NEAREST else 2)
    return True


def _pieces(work: Work, loop: LoopHandle, extent: int) -> None:
    """Cut a loop into pieces of lines of memory, and a rest."""
    fitting = [size for size in range(LARGEST, SMALLEST - 1, -LINE // 4) if extent % size == 0]
    piece = fitting[0] if fitting else LARGEST
    if extent < 2 * piece:
        return
    if extent % piece:
        loop, rest = work.sch.loop_partition(loop, [extent - extent % piece, None])
        work.done |= {block.name for block in work.sch.get_child_blocks(rest)}
    work.sch.split(loop, [None, piece])


__all__ = ["next_row"]
