"""Reductions of windows that lie along their result: convolutions of channels by themselves, pooling.

A tile of some lines by one vector of results, or by several of one line, stays in registers while the window runs over
it, down the lines last, which is written out: lines that several results share are read once so. Lines that are no
whole vectors are computed as such: what they read is copied with room behind each line, and the last results are left.

for c in T.parallel(C):
    copy P[c] with its border, and with room behind its lines
    for y_0 in range(H // 7):
        for x_0 in range(ceildiv(W, 16)):
            for dx, dy in ...: 7 vectors of the tile += P[c, y + dy, x + dx] * weight[c, dy, dx]
            store the tile
"""

from __future__ import annotations

import math

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import uses, walk

from ..blocks import writes_of
from ..primitive import BlockHandle, LoopHandle
from .contraction import FIRST_CACHE, maker_of, nest_loop
from .nests import Dim, Nest, is_plain, stride_of
from .reductions import begun_before
from .streams import in_vectors
from .tiles import goes_along, in_lines_of, written_out
from .work import Work, inline, move, only_reader

# vectors of results in a tile: as many sums as keep the processor busy, and leave registers for what they share
MOST = 8
# lanes so far apart are picked from whole registers
FARTHEST = 4
# windows of so few steps are written out, of others the steps down the lines, which share what they read
WRITTEN_OUT = 8
# windows of so few steps, beside each other in lines of unknown length, are quicker as LLVM makes vectors of them: it
# copies nothing
SHORT = 32
# so are those of so many steps whose elements are apart
APART = 100
# and those of so many steps down lines that would have to be copied
DOWN = 7
# lines of unknown length, and as many of them, are taken for so long where they are copied
LONG = 64
# fewer steps do not pay for the copy
LEAST = 4096


class Window(Struct, frozen=True, eq=False):
    """The dimension along vectors of so many `lanes`, the one whose lines share what they read, how many of it are in a
    tile, and the load that goes along the results."""

    columns: Dim
    lanes: int
    lines: Dim | None
    height: int
    image: BufferLoad

    @property
    def beside(self) -> int:
        """How many vectors of a line are in a tile: of lines of unknown length some, as a step waits for the one before
        it."""
        vectors = -(-self.columns.extent // self.lanes) if self.columns.known else MOST // 2
        return max(size for size in range(1, MOST // self.height + 1) if vectors % size == 0)

    @property
    def padding(self) -> dict[int, int]:
        """What the extents of the dimensions are rounded up to."""
        own = {id(self.columns): self.lanes * (1 if self.columns.known else self.beside)}
        return own if self.lines is None else {**own, id(self.lines): self.height}


def windows(work: Work, nest: Nest) -> bool:
    """Schedule a reduction of windows; False where the block is none."""
    window = roles_of(work, nest)
    if window is None:
        return False
    reader = only_reader(work, nest)
    taken = reader is not None and goes_along(work, reader, window.columns)
    if _by_itself(work, nest, window):
        if taken and work.attempt(in_lines_of, nest, reader, window.columns):
            return True
        if work.attempt(_in_lines, nest, window):
            return True
    if taken and work.attempt(_scheduled, nest, window, reader):
        return True
    return work.attempt(_scheduled, nest, window, None)


def _by_itself(work: Work, nest: Nest, window: Window) -> bool:
    """Whether LLVM's vectors take few steps along a line quicker than a tile: it picks lanes that are apart for several
    steps at once, and copies no lines that are no whole vectors."""
    if any(not dim.known for dim in nest.reduced):
        return False
    steps = math.prod(dim.extent for dim in nest.reduced)
    apart = stride_of(window.image, window.columns.var) != 1
    if window.lines is None and apart:
        return steps <= APART
    if window.columns.extent % window.lanes == 0:
        return False
    if window.lines is None or (apart and not work.sch.get_producers(nest.name)):  # a border that tiles would make
        return steps <= 2 * WRITTEN_OUT
    return steps <= DOWN and not any(uses(window.image.indices[-1], dim.var) for dim in nest.reduced)


def _in_lines(work: Work, nest: Nest, window: Window) -> bool:
    """Write the steps out in the loop over a line; False where the loops are in another order."""
    if not begun_before(work, nest.name):
        return False
    written_out(work, f"{nest.name}_update")
    outer = [dim.loop for dim in nest.spatial if dim is not window.columns]
    work.parallel(outer or [window.columns.loop], nest.work)
    return True


def roles_of(work: Work, nest: Nest) -> Window | None:
    """The tile of a reduction of windows; None where the block is none, or what it reads is shared by other results."""
    store = BufferLoad(nest.store.buffer, nest.store.indices)
    if nest.update is None or nest.instances < LEAST or nest.dtype.bits < 8:
        return None
    columns = nest.dim(nest.store.indices[-1]) if nest.store.indices else None
    if columns is None or not is_plain(store, nest) or store.buffer.strides is not None or columns.extent < 4:
        return None
    if any(type(node) is Call and node.op in LAZY for node in walk(nest.value)):
        return None
    along = [load for load in nest.loads() if uses(load.indices, columns.var)]
    if len(along) != 1 or not 1 <= (stride_of(along[0], columns.var) or 0) <= FARTHEST:
        return None
    (image,) = along
    steps = math.prod(dim.extent for dim in nest.reduced)
    if not nest.known and steps <= SHORT and stride_of(image, columns.var) == 1:
        return None
    if not any(_overlap(nest, index) for index in image.indices if _is_window(nest, index)):
        return None
    if any(dim.extent > 1 and not uses(image.indices, dim.var) for dim in nest.spatial):
        return None
    beside = [dim for dim in nest.spatial if dim is not columns and dim.extent > 1]
    lines = next(
        (
            dim
            for dim in reversed(beside)
            if any(uses(index, dim.var) and _is_window(nest, index) for index in image.indices[:-1])
        ),
        None,
    )
    unknown = [dim for dim in nest.reduced if not dim.known]
    if lines is not None and any(dim.var.dtype is not INT64 for dim in unknown):
        return None  # indices that may wrap around make no plain vectors of the lines of a copy
    height = 1 if lines is None else _height(lines.extent)
    return Window(columns, _lanes(columns.extent, work.facts.lanes(nest.dtype.bits)), lines, height, image)


def _is_window(nest: Nest, index: Expr) -> bool:
    """Whether an index goes with the results and with what is reduced."""
    return any(uses(index, dim.var) for dim in nest.spatial) and any(uses(index, dim.var) for dim in nest.reduced)


def _overlap(nest: Nest, index: Expr) -> bool:
    """Whether a window begins before the one before it ends: others read nothing again."""
    steps = linear(index).terms
    results = [abs(steps.get(dim.var, 1)) for dim in nest.spatial if uses(index, dim.var)]
    inside = [abs(steps.get(dim.var, 1)) * dim.extent for dim in nest.reduced if uses(index, dim.var)]
    return max(inside) > min(results)


def _lanes(columns: int, one: int) -> int:
    """The lanes of the vectors that take a line the fewest cycles; short ones take less, but not by their lanes."""
    sizes = [size for size in (one, one // 2, one // 4) if size >= 4]
    return min(sizes or [one], key=lambda size: -(-columns // size) * (one + 3 * size))


def _height(lines: int) -> int:
    """The lines of a tile: each of them costs a step, lines that are not there too, and each tile one more."""
    return min(range(1, MOST + 1), key=lambda size: (-(-lines // size) * (size + 1), -size))


def _scheduled(work: Work, nest: Nest, window: Window, reader: BlockHandle | None) -> None:
    """The schedule of a reduction of windows; its only `reader` takes the results where they are, in registers."""
    sch, name = work.sch, nest.name
    sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    by_axis = {dim.axis.var: window.padding.get(id(dim), 1) for dim in nest.dims}
    sch.pad_einsum(name, [by_axis.get(axis.var, 1) for axis in nest.block.axes])
    grown = work.block(name).axes != nest.block.axes
    copy = _copy(work, nest, window, grown)
    if grown:
        (cut,) = sch.get_consumers(name)
        if reader is not None:
            sch.compute_inline(cut)
        result = reader if reader is not None else cut
    else:
        result = reader if reader is not None else sch.cache_write(name, 0, "local")
    x_0, x_1 = sch.split(window.columns.loop, [None, window.lanes])
    outer = [dim.loop for dim in nest.spatial if dim is not window.columns and dim is not window.lines]
    reduced = _in_order(work, nest, window)
    inner = [dim.loop for dim in reduced]
    tile: list[LoopHandle] = []
    places = list(outer)
    if window.lines is not None:
        y_0, y_1 = sch.split(window.lines.loop, [None, window.height])
        places.append(y_0)
        tile.append(y_1)
    if window.beside > 1:
        x_0, more = sch.split(x_0, [None, window.beside])
        tile.append(more)
    sch.reorder(*places, x_0, *inner, *tile, x_1)
    sch.reverse_compute_at(result, x_0)
    sch.set_scope(name, 0, "local")
    if copy is not None:
        _near(work, copy, places)
    sch.decompose_reduction(name, inner[0])
    for part in (f"{name}_init", f"{name}_update"):
        loops = sch.get_loops(part)
        sch.vectorize(loops[-1])
        for loop in loops[len(loops) - 1 - len(tile) : -1]:
            sch.unroll(loop)
    steps = 1
    for dim in reversed(reduced):
        steps *= dim.extent
        if steps > WRITTEN_OUT:
            break
        sch.unroll(dim.loop)
    work.contract(f"{name}_update")
    _in_masked_vectors(work, result, window.lanes)
    work.done |= {name, f"{name}_init", f"{name}_update", result.name}
    work.parallel(places, nest.work)


def _in_order(work: Work, nest: Nest, window: Window) -> list[Dim]:
    """What is reduced, along the lines that results share last where not all of it is written out."""
    if window.lines is None or math.prod(dim.extent for dim in nest.reduced) <= WRITTEN_OUT:
        return list(nest.reduced)
    if nest.dtype.is_float and not work.facts.reassociate:
        return list(nest.reduced)
    lines = tuple(index for index in window.image.indices if uses(index, window.lines.var))
    return sorted(nest.reduced, key=lambda dim: uses(lines, dim.var))


def _copy(work: Work, nest: Nest, window: Window, grown: bool) -> BlockHandle | None:
    """The block that makes what the windows alone read: a copy with room, with the border where that was made."""
    sch, image = work.sch, window.image.buffer
    makers = {block.name for block in sch.get_producers(nest.name)}
    if not grown:
        own = [name for name in makers if image in writes_of(work.block(name))]
        alone = len(own) == 1 and work.fresh(own[0]) and len(sch.get_consumers(own[0])) == 1
        return sch.get_block(own[0]) if alone else None
    copy = maker_of(work, nest.name, f"{image.name}_pad")
    for maker in sch.get_producers(copy):
        if len(work.sch.get_consumers(maker)) == 1:
            work.attempt(inline, maker.name)
    return copy


def _near(work: Work, copy: BlockHandle, places: list[LoopHandle]) -> None:
    """Copy what the windows read in the loop over their own parts that leaves it in the nearest cache."""
    made = work.nest(copy, symbolic=True)
    if made is None or made.reduced:
        return
    for loop in places:
        if work.attempt(move, copy.name, loop):
            loops = work.sch.get_loops(copy)
            size = math.prod(work.extent(one) or LONG for one in loops[loops.index(loop) + 1 :])
            if size * made.dtype.itemsize <= FIRST_CACHE:
                break
    work.done.add(copy.name)
    work.attempt(_lines, copy.name, work.facts.lanes(made.dtype.bits))


def _lines(work: Work, name: str, lanes: int) -> bool:
    inner = work.sch.get_loops(name)[-1]
    if (work.extent(inner) or 0) < 2:
        return False
    in_vectors(work, name, inner, lanes)
    return True


def _in_masked_vectors(work: Work, block: BlockHandle, lanes: int) -> None:
    """Run the innermost loop of a block in vectors, the last one under a mask where they are no whole ones."""
    inner = work.sch.get_loops(block)[-1]
    if (work.extent(inner) or 0) != lanes:
        _, inner = work.sch.split(inner, [None, lanes])
    work.sch.vectorize(inner)


__all__ = ["roles_of", "windows"]
