"""Large transpositions: tiles that are put together in the near cache, and leave it in whole lines.

An element at a time, or a vector that is gathered, would take a line of memory for each element of a column. So squares
are transposed in registers, and a tile of them is written past the caches in lines of 1 KiB.

for j_0 in T.parallel(n // 256):
    for i_0 in range(m // 64): B[i_0 * 64 :, j_0 * 256 :] is the tile A[j_0 * 256 :, i_0 * 64 :], transposed
what is left of columns and rows: element by element
"""

from __future__ import annotations

from tirscript.ir.expr import BufferLoad
from tirscript.ir.rewrite import uses

from ..intrinsics import TRANSPOSED, transposed_tiles
from ..primitive import LoopHandle
from .nests import Dim, Nest, stride_of
from .streams import leaves
from .work import Work

# results of this part of the caches are better transposed through tiles: what they read is as large
PART = 6


def tiled_transpose(work: Work, nest: Nest) -> bool:
    """Transpose a large matrix, or many, by tiles; False where the block does something else."""
    found = _sides(work, nest)
    if found is None:
        return False
    row, column = found
    sch, outer = work.sch, [dim.loop for dim in nest.dims if dim is not row and dim is not column]
    tiles = transposed_tiles(str(nest.dtype))
    least = tiles[-1][0]
    # the largest that leaves no more than the smallest would at most
    sizes = next(tile for tile in tiles if tile[0] <= row.extent and row.extent % tile[0] < least)
    rows, columns = row.loop, column.loop
    # a tile is known by the order of its axes, too
    axes = [next(dim for dim in nest.dims if dim.axis is axis) for axis in nest.block.axes]
    ordered = sorted(axes, key=lambda dim: (dim is row) + 2 * (dim is column))
    if axes != ordered:
        sch.reorder_block_iter_var(nest.name, [axes.index(dim) for dim in ordered])
    # the loop that is cut is outermost, so that the parts are apart
    sch.reorder(columns, *outer, rows)
    if column.extent % sizes[1]:
        columns, rest = sch.loop_partition(columns, [column.extent - column.extent % sizes[1], None])
        _rest(work, rest)
    outer, rows = _inside(work, nest.name)
    sch.reorder(rows, *outer, columns)
    if row.extent % sizes[0]:
        rows, rest = sch.loop_partition(rows, [row.extent - row.extent % sizes[0], None])
        _rest(work, rest)
        loops = sch.get_loops(nest.name)
        outer, columns = loops[1:-1], loops[-1]
    r_0, r_1 = sch.split(rows, [None, sizes[0]])
    c_0, c_1 = sch.split(columns, [None, sizes[1]])
    sch.reorder(*outer, c_0, r_0, r_1, c_1)
    sch.tensorize(r_1, f"transpose_{nest.dtype}_{sizes[0]}x{sizes[1]}")
    work.done |= {nest.name, f"{nest.name}_o"}
    work.parallel([*outer, c_0, r_0], nest.work)
    return True


def _sides(work: Work, nest: Nest) -> tuple[Dim, Dim] | None:
    """The dimensions along which the block reads and writes memory, where it transposes and the result is large."""
    load = nest.value
    if work.facts.vector_bits < 512:
        return None  # the squares would not stay in registers
    if nest.reduced or type(load) is not BufferLoad or load.predicate is not None or not load.indices:
        return None
    if str(nest.dtype) not in TRANSPOSED or load.dtype is not nest.dtype or not leaves(work, nest, PART):
        return None
    row, column = nest.dim(load.indices[-1]), nest.dim(nest.store.indices[-1])
    if row is None or column is None or row is column or stride_of(load, row.var) != 1:
        return None
    height, width = transposed_tiles(str(nest.dtype))[-1]
    if row.extent < height or column.extent < width:
        return None
    for indices in (load.indices, nest.store.indices):
        for dim in (row, column):
            if sum(uses(index, dim.var) for index in indices) != 1 or not any(index is dim.var for index in indices):
                return None
    return row, column


def _inside(work: Work, name: str) -> tuple[list[LoopHandle], LoopHandle]:
    """The loops inside the outermost one of a block: all but the last, and the last."""
    loops = work.sch.get_loops(name)
    return loops[1:-1], loops[-1]


def _rest(work: Work, loop: LoopHandle) -> None:
    """What is left of a side, in the order that keeps the lines in the caches that it reads or writes in parts."""
    name = work.sch.get_child_blocks(loop)[0].name
    first, *others = work.sch.get_loops(name)
    *outer, last = others
    work.sch.reorder(*outer, last, first)
    work.done.add(name)


__all__ = ["tiled_transpose"]
