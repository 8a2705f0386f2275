"""Rows that are looked up, as embeddings are: the processor learns of the next one too late to have it in time.

for i:
    for each vector of the row:
        prefetch(A[at[i + 8], ...])       # a line of a later row for each that is copied
        B[i, ...] = A[at[i], ...]         # past the caches, in whole lines
"""

from __future__ import annotations

import math

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const
from tirscript.ir.rewrite import uses, walk

from .nests import Dim, Nest, heavy, stride_of
from .streams import LANES, in_lines, leaves, vectors
from .work import Work

# bytes of the rows on their way, and how many rows that may be
AHEAD, MOST, LEAST = 4096, 16, 2
# results of this part of the caches are better written past them, if they and the rows they are made of fill the caches
PART = 2


def gathered_rows(work: Work, nest: Nest) -> bool:
    """Copy rows that are looked up by vectors, and prefetch later ones; False where the block does something else."""
    column = nest.dims[-1]
    lanes = work.facts.lanes(nest.dtype.bits)
    loads = nest.loads()
    if nest.reduced or len(nest.dims) < 2 or column.extent < lanes or not leaves(work, nest, PART):
        return False
    if nest.store.indices[-1] is not column.var or any(stride_of(load, column.var) not in (0, 1) for load in loads):
        return False
    row = nest.dims[-2]
    looked_up = {load.buffer for load in loads if _is_looked_up(load, row, column)}
    moved = sum(min(nest.instances * nest.dtype.itemsize, _size(buffer)) for buffer in looked_up)
    if not looked_up or nest.instances * nest.dtype.itemsize + moved < work.facts.cache:
        return False
    in_lines(work, nest.name, column.loop, min(LANES, vectors(nest, column.extent // lanes) * lanes))
    for buffer in looked_up:
        ahead = AHEAD // (column.extent * buffer.dtype.itemsize)
        work.prefetch(nest.name, buffer, row.loop, max(LEAST, min(MOST, ahead)))
    work.parallel([dim.loop for dim in nest.dims[:-1]], nest.work * (8 if heavy(nest.value) else 1))
    return True


def _size(buffer: Buffer) -> float:
    """The bytes of a buffer, without end where they are not known."""
    extents = [float(size.value) if type(size) is Const else math.inf for size in buffer.shape]
    return math.prod(extents) * buffer.dtype.itemsize


def _is_looked_up(load: BufferLoad, row: Dim, column: Dim) -> bool:
    """Whether a row of a matrix is read whose place another buffer holds."""
    place = [node for index in load.indices[:-1] for node in walk(index) if type(node) is BufferLoad]
    return stride_of(load, column.var) == 1 and any(uses(node, row.var) for node in place)


__all__ = ["gathered_rows"]
