"""Reductions whose result lies along vectors: convolutions, pooling, sums over the first dimension of a matrix.

A tile of results stays in registers while the reduction runs. Each element is still reduced in the order of the loops,
so the results are the same bits unless products are fused into their sums.

for f_0 in T.parallel(F // 4):
    for y in range(H):
        for x_0 in range(W // 32):
            for c, dy, dx in ...: 4 x 2 vectors of the tile += P[c, y + dy, x + dx] * weight[f, c, dy, dx]
            store the tile
"""

from __future__ import annotations

import math

from msgspec import Struct

from tirscript.ir.expr import BufferLoad
from tirscript.ir.rewrite import uses

from ..primitive import BlockHandle, LoopHandle
from .nests import UNKNOWN, Dim, Nest, stride_of
from .panels import vector_copy
from .work import Work, move, only_reader

# reduction loops of so few iterations altogether are written out
WRITTEN_OUT = 32
# of so few terms for each element of lines of so many, LLVM makes vectors along the lines: what a tile shares is less
# than it costs to go to the lines of all of its rows, and LLVM knows better how many terms to write out
TERMS, LINE = 9, 64


class Tile(Struct, frozen=True, eq=False):
    """The dimension along vectors of so many `lanes`, and the one that shares what is read along them; the sizes of the
    tile in iterations."""

    columns: Dim
    width: int
    rows: Dim | None
    height: int
    lanes: int


def register_tile(work: Work, nest: Nest) -> bool:
    """Schedule a reduction whose reads go along its result; False where they do not."""
    tile = tile_of(work, nest)
    if tile is None:
        return False
    reader = only_reader(work, nest)
    if reader is not None and goes_along(work, reader, tile.columns) and work.attempt(_scheduled, nest, tile, reader):
        return True
    return work.attempt(_scheduled, nest, tile, None)


def is_short(work: Work, name: str) -> bool:
    """Whether a block reduces so few terms that LLVM writes them out, and makes vectors of the loops around."""
    axes = tuple([axis.value for axis in work.block(name).axes if axis.kind != "spatial"])
    loops = [loop for loop in work.sch.get_loops(name) if uses(axes, work.sch.get(loop).var)]
    return bool(loops) and math.prod(work.extent(loop) or UNKNOWN for loop in loops) <= WRITTEN_OUT


def written_out(work: Work, name: str) -> None:
    """Write out the loops over which a block reduces."""
    axes = tuple([axis.value for axis in work.block(name).axes if axis.kind != "spatial"])
    for loop in work.sch.get_loops(name):
        if uses(axes, work.sch.get(loop).var):
            work.sch.unroll(loop)


def in_scalars(work: Work, nest: Nest) -> bool:
    """Reduce few terms into a variable, at whose reader LLVM makes vectors of any lines; False for other reductions.

    for y, x in T.grid(H, W):
        m: variable = least
        m = max(m, I[y + 0, x + 0] if K[0, 0] ...), and so for each step of the window
        O[y, x] = m
    """
    columns, reader = line_of_few(work, nest), only_reader(work, nest)
    if columns is not None and nest.known and _goes_to_many_lines(nest, columns, _along(nest, columns)):
        return False
    return columns is not None and reader is not None and work.attempt(in_lines_of, nest, reader, columns)


def line_of_few(work: Work, nest: Nest) -> Dim | None:
    """The dimension along which few terms are read and their result lies; None of other reductions."""
    if nest.update is None or not nest.store.indices or not is_short(work, nest.name):
        return None
    columns = nest.dim(nest.store.indices[-1])
    if columns is None or columns.reduces or nest.store.buffer.strides is not None:
        return None
    strides = [stride_of(load, columns.var) for load in nest.loads()]
    return columns if 1 in strides and all(stride in (0, 1) for stride in strides) else None


def in_lines_of(work: Work, nest: Nest, reader: BlockHandle, columns: Dim) -> None:
    """Reduce into a variable in the loop in which the reader goes along a line."""
    sch = work.sch
    outer = [dim.loop for dim in nest.spatial if dim is not columns]
    sch.reorder(*outer, columns.loop, *[dim.loop for dim in nest.reduced])
    sch.reverse_compute_at(reader, columns.loop)
    sch.set_scope(nest.name, 0, "local")
    sch.decompose_reduction(nest.name, nest.reduced[0].loop)
    written_out(work, f"{nest.name}_update")
    work.parallel(outer or [columns.loop], float(nest.instances))
    work.done |= {nest.name, f"{nest.name}_init", f"{nest.name}_update", reader.name}


def goes_along(work: Work, reader: BlockHandle, columns: Dim) -> bool:
    """Whether the reader of results that lie along some dimension writes them in the lines in which it reads them."""
    nest = work.nest(reader)
    last = nest.dims[-1] if nest is not None else None
    if nest is None or last is None or stride_of(nest.store, last.var) != 1:
        return False
    return last.extent == columns.extent and all(stride_of(load, last.var) in (0, 1) for load in nest.loads())


def _scheduled(work: Work, nest: Nest, tile: Tile, reader: BlockHandle | None) -> None:
    """The schedule of a tile; its only `reader` takes the results where they are, in registers."""
    sch, lanes = work.sch, tile.lanes
    result = reader or sch.cache_write(nest.name, 0, "local")
    x_0, x_1 = _split(work, tile.columns, tile.width)
    outer = [dim.loop for dim in nest.spatial if dim is not tile.columns and dim is not tile.rows]
    inner = [dim.loop for dim in nest.reduced]
    rows: list[LoopHandle] = []
    if tile.rows is not None:
        r_0, r_1 = _split(work, tile.rows, tile.height)
        outer.append(r_0)
        rows = [r_1]
    outer.append(x_0)
    sch.reorder(*outer, *inner, *rows, x_1)
    sch.reverse_compute_at(result, x_0)
    if reader is not None:
        sch.set_scope(nest.name, 0, "local")
    _producers_near(work, nest, tile)
    sch.decompose_reduction(nest.name, inner[0])
    for part in (f"{nest.name}_init", f"{nest.name}_update"):
        loops = sch.get_loops(part)
        work.vectorize(part, lanes)
        if rows:
            sch.unroll(loops[-2])
    count = 1
    for dim in reversed(nest.reduced):
        count *= dim.extent
        if count > WRITTEN_OUT:
            break
        sch.unroll(dim.loop)
    work.attempt(vector_copy, result, lanes)
    work.contract(f"{nest.name}_update")
    work.parallel(outer, float(nest.instances))
    work.done |= {nest.name, f"{nest.name}_init", f"{nest.name}_update", result.name}


def _producers_near(work: Work, nest: Nest, tile: Tile) -> None:
    """Make what only the tiles read, such as an image with a border, in the loops over its own parts."""
    for producer in work.sch.get_producers(nest.name):
        made = work.nest(producer) if work.fresh(producer.name) else None
        if made is None or made.reduced or len(work.sch.get_consumers(producer)) > 1:
            continue
        loads = [load for load in nest.loads() if load.buffer is made.store.buffer]
        if not loads:
            continue  # what the reduction begins with
        apart = []
        for dim in nest.spatial:
            place = next((at for at, index in enumerate(loads[0].indices) if index is dim.var), None)
            if (
                dim in (tile.columns, tile.rows)
                or place is None
                or any(load.indices[place] is not dim.var for load in loads)
            ):
                break
            apart.append(dim)
        if apart and work.attempt(move, producer.name, apart[-1].loop):
            work.done.add(producer.name)


def tile_of(work: Work, nest: Nest) -> Tile | None:
    """The tile of a reduction; None where no vector can go along its result."""
    if nest.update is None or not nest.store.indices or nest.dtype.bits < 8:
        return None
    columns = nest.dim(nest.store.indices[-1])
    if columns is None or columns.reduces or nest.store.buffer.strides is not None:
        return None
    if any(nest.dim(index) is None for index in nest.store.indices):
        return None
    loads = nest.loads()
    strides = [stride_of(load, columns.var) for load in loads]
    if not loads or 1 not in strides or any(stride not in (0, 1) for stride in strides):
        return None
    one = work.facts.lanes(nest.dtype.bits)
    # a predicate would keep the tile out of registers
    lanes = next((one // part for part in (1, 2, 4) if columns.extent % max(4, one // part) == 0), 0)
    if lanes < 4:
        return None
    along = _along(nest, columns)
    if _goes_to_many_lines(nest, columns, along):
        return None
    rows = _rows(nest, columns, along)
    vectors = columns.extent // lanes
    most = 2 if rows is not None else 4 if lanes == one else 8
    count = max(size for size in range(1, most + 1) if vectors % size == 0)
    if rows is None:
        if nest.dims[-1] is columns:
            return None  # LLVM makes vectors of such loops, which go through memory as it lies
        return Tile(columns, count * lanes, None, 1, lanes)
    budget = (work.facts.registers - 2) // count - 1
    height = max(size for size in range(1, min(budget, rows.extent) + 1) if rows.extent % size == 0)
    return Tile(columns, count * lanes, rows if height > 1 else None, height, lanes)


def _along(nest: Nest, columns: Dim) -> list[BufferLoad]:
    """What is read along a dimension."""
    return [load for load in nest.loads() if stride_of(load, columns.var) == 1]


def _goes_to_many_lines(nest: Nest, columns: Dim, along: list[BufferLoad]) -> bool:
    """Whether rows would share few terms of long lines, so that a tile of them costs more than it gains."""
    terms = math.prod(dim.extent for dim in nest.reduced)
    return terms <= TERMS and columns.extent >= LINE and _rows(nest, columns, along) is not None


def _rows(nest: Nest, columns: Dim, along: list[BufferLoad]) -> Dim | None:
    """A dimension along which what the vectors read stays the same."""
    free = [
        dim
        for dim in nest.spatial
        if dim is not columns and dim.extent > 1 and not any(uses(load.indices, dim.var) for load in along)
    ]
    return max(free, key=lambda dim: dim.extent) if free else None


def _split(work: Work, dim: Dim, size: int) -> tuple[LoopHandle, LoopHandle]:
    outer, inner = work.sch.split(dim.loop, [None, size])
    return outer, inner


__all__ = [
    "goes_along",
    "in_lines_of",
    "in_scalars",
    "is_short",
    "line_of_few",
    "register_tile",
    "tile_of",
    "written_out",
]
