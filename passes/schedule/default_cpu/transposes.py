"""Transpositions, and what reads across the lines that it writes: squares are transposed in registers.

An element at a time, or a vector that is gathered, would take a line of memory for each element of a column.

for i_0 in T.parallel(m // 64):
    for j_0 in range(n // 16):
        for i_1 in range(4): B[i_0 * 64 + i_1 * 16 :, j_0 * 16 :] is the square A[j_0 * 16 :, ...], transposed
what is left of columns and rows: element by element

Where more is computed, the square goes to a buffer of its own, of which the block takes whole vectors. Of large
matrices, squares are put together to tiles in the near cache, which are written past the caches in whole lines.
"""

from __future__ import annotations

from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import cast, const, get_op
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import BufferStore

from ..intrinsics import TILE_LINES, TRANSPOSED, square_side, transposed_rows
from ..primitive import BlockHandle, LoopHandle
from .nests import Dim, Nest, indices_of, is_plain, stride_of
from .streams import leaves
from .work import Work

# results of this part of the caches are better transposed through tiles: what they read is as large
PART = 2
# bytes that are read of a line before the next line: with them the processor sees where the reading goes
LINE = 256
# of the lines that caches hold
BYTES = 64
# the side of the smallest squares
LEAST = 4


def tiled_transpose(work: Work, nest: Nest) -> bool:
    """Transpose a large matrix, or many, by tiles; False where the block does something else."""
    found = _sides(work, nest)
    if found is None:
        return False
    row, column = found
    sch, outer = work.sch, [dim.loop for dim in nest.dims if dim is not row and dim is not column]
    heights = transposed_rows(str(nest.dtype))
    # the most rows that leave no more than the fewest would at most
    height = next(one for one in heights if one <= row.extent and row.extent % one < heights[-1])
    first, width, lengths = _columns(nest, column)
    rows, columns = row.loop, column.loop
    _in_order(work, nest.name, [row.var, column.var])
    # the loop that is cut is outermost, so that the parts are apart
    sch.reorder(columns, *outer, rows)
    if len(lengths) > 1:
        parts = sch.loop_partition(columns, lengths)
        columns = parts.pop(first)
        for part in parts:
            _rest(work, part)
    outer, rows = _inside(work, columns)
    name = work.sch.get_child_blocks(columns)[0].name
    sch.reorder(rows, *outer, columns)
    if row.extent % height:
        rows, rest = sch.loop_partition(rows, [row.extent - row.extent % height, None])
        _rest(work, rest)
        loops = sch.get_loops(name)
        outer, columns = loops[1:-1], loops[-1]
    r_0, r_1 = sch.split(rows, [None, height])
    c_0, c_1 = sch.split(columns, [None, width])
    sch.reorder(*outer, c_0, r_0, r_1, c_1)
    sch.tensorize(r_1, f"transpose_{nest.dtype}_{height}x{width}")
    work.done |= {name, f"{name}_o"}
    work.parallel([*outer, c_0, r_0], nest.work)
    return True


def _columns(nest: Nest, column: Dim) -> tuple[int, int, list[int | Expr | None]]:
    """Which part of the columns goes by tiles, the columns of a tile, and the lengths of all parts.

    A line of memory that two tiles store parts of is read and written twice: tiles begin where lines do, if all rows do
    so at the same columns.
    """
    line = BYTES // nest.dtype.itemsize
    if not _rows_alike(nest, line):
        width = TILE_LINES[0] * line
        whole = column.extent - column.extent % width
        return 0, width, [whole, None] if whole < column.extent else [whole]
    # what is left when the line is full in which a row begins, one element of it at least
    left = column.extent - line + 1
    width = min((lines * line for lines in TILE_LINES), key=lambda width: left % width)
    return 1, width, [_to_line(nest.store, line, column.var.dtype), left - left % width, None]


def _rows_alike(nest: Nest, line: int) -> bool:
    """Whether all rows that are written begin at the same place of a line of memory."""
    buffer = nest.store.buffer
    between = buffer.shape[-1:] if buffer.strides is None else buffer.strides[:-1]
    return all(type(stride) is Const and stride.value % line == 0 for stride in between)


def _to_line(store: BufferStore, line: int, dtype: DType) -> Expr:
    """How many elements come before the first line of memory that begins in a row."""
    first = BufferLoad(store.buffer, tuple(const(0, index.dtype) for index in store.indices))
    address = get_op("reinterpret")("int64", get_op("address_of")(first))
    passed = get_op("floordiv")(address, const(store.buffer.dtype.itemsize, INT64))
    return cast(get_op("floormod")(get_op("subtract")(const(0, INT64), passed), const(line, INT64)), dtype)


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
    widest = TILE_LINES[0] * BYTES // nest.dtype.itemsize
    if row.extent < transposed_rows(str(nest.dtype))[-1] or column.extent < widest:
        return None
    for indices in (load.indices, nest.store.indices):
        for dim in (row, column):
            if sum(uses(index, dim.var) for index in indices) != 1 or not any(index is dim.var for index in indices):
                return None
    return row, column


def _inside(work: Work, loop: LoopHandle) -> tuple[list[LoopHandle], LoopHandle]:
    """The loops inside the outermost one of a block: all but the last, and the last."""
    loops = work.sch.get_loops(work.sch.get_child_blocks(loop)[0])
    return loops[1:-1], loops[-1]


def _rest(work: Work, loop: LoopHandle) -> None:
    """What is left of a side, in the order that keeps the lines in the caches that it reads or writes in parts."""
    name = work.sch.get_child_blocks(loop)[0].name
    first, *others = work.sch.get_loops(name)
    *outer, last = others
    work.sch.reorder(*outer, last, first)
    work.done.add(name)


def by_squares(work: Work, nest: Nest) -> bool:
    """Go through a block that reads across the lines it writes by squares in registers; False where it does not."""
    found = _across(nest)
    if found is None:
        return False
    row, column, loads = found
    side = min(square_side(str(load.dtype), work.facts.vector_bits) for load in loads)
    if side < LEAST or min(row.extent, column.extent) < side:
        return False
    alone, outer = nest.value is loads[0], [dim.loop for dim in nest.dims if dim is not row and dim is not column]
    if alone:
        _in_order(work, nest.name, [axis.var for axis in (row.axis, column.axis)])
    # the loop that is cut is outermost, so that the parts are apart
    work.sch.reorder(row.loop, *outer, column.loop)
    copies = {} if alone else {load.buffer.name: load.indices.index(column.var) for load in loads}
    squares: list[LoopHandle] = []
    rest: LoopHandle | None = row.loop
    # where other lines are read beside, these go on as long as they can while the caches hold all
    beside = len(nest.loads()) > len(loads) and nest.instances * nest.dtype.itemsize * PART < work.facts.cache
    band = side if beside else max(side, LINE // max(load.dtype.itemsize for load in loads))
    for size in sorted({side, band}, reverse=True):
        part, rest = _cut(work, rest, size) if rest is not None else (None, None)
        if part is not None:
            share = (work.extent(part) or row.extent) / row.extent
            squares += _squares(work, part, copies, (side, size), nest.work * share, few=size < band)
    if rest is not None:
        _rest(work, rest)
    # last, as memory of which squares are taken can't be copied any more
    for loop in squares:
        _turn(work, loop, side)
    return True


def _turn(work: Work, loop: LoopHandle, side: int) -> None:
    """Transpose a square in registers, of which this is the outer loop."""
    block = work.sch.get_child_blocks(loop)[0].name
    dtype = work.block(block).body[0].buffer.dtype  # type: ignore[attr-defined]
    work.sch.tensorize(loop, f"transpose_{dtype}_{side}x{side}")
    work.done |= {block, f"{block}_o"}


def _squares(
    work: Work, rows: LoopHandle, copies: dict[str, int], sizes: tuple[int, int], amount: float, few: bool
) -> list[LoopHandle]:
    """Go through columns by squares, and through rows by so many elements; what is named is copied. Returns the loops
    of the squares, which are not transposed yet."""
    sch, (side, size), name = work.sch, sizes, work.sch.get_child_blocks(rows)[0].name
    _, *outer, columns = sch.get_loops(name)
    sch.reorder(columns, *outer, rows)
    part, rest = _cut(work, columns, side)
    if rest is not None:
        _rest(work, rest)
    if part is None:
        return []
    _, *outer, rows = sch.get_loops(name)
    c_0, c_1 = sch.split(part, [None, side])
    r_0, r_1, r_2 = sch.split(rows, [None, size // side, side])
    # where there are few rows, the loop that is worth threads is that of the columns
    around = [*outer, *((c_0, r_0) if few else (r_0, c_0))]
    sch.reorder(*around, r_1, r_2, c_1)
    squares = [_copied(work, name, buffer, at, r_1) for buffer, at in copies.items()]
    if copies:
        sch.vectorize(c_1)
        work.done.add(name)
    work.parallel(around, amount)
    return squares or [r_2]


def copied_by_squares(work: Work, copy: BlockHandle) -> bool:
    """Copy a matrix that lies the other way round by squares in registers; False for another copy."""
    sch, block = work.sch, work.block(copy.name)
    store = block.body[0]
    load = store.value if type(store) is BufferStore else None
    if type(store) is not BufferStore or type(load) is not BufferLoad or load.dtype is not store.buffer.dtype:
        return False
    row, column = load.indices[-1], store.indices[-1]
    side = square_side(str(load.dtype), work.facts.vector_bits)
    if type(row) is not Var or type(column) is not Var or side < LEAST or work.copied_once(load.buffer):
        return False
    rows, columns = _loop_of(work, copy, row), _loop_of(work, copy, column)
    if rows is None or columns is None or rows == columns:
        return False
    height, width = work.extent(rows), work.extent(columns)
    if height is None or width is None or height < side or width % side:
        return False
    _in_order(work, copy.name, [row, column])
    loops = sch.get_loops(copy)
    inner = loops[min(loops.index(rows), loops.index(columns)) :]
    sch.reorder(rows, *[loop for loop in inner if loop not in (rows, columns)], columns)
    part, rest = _cut(work, rows, side)
    columns = _loop_of(work, copy, column)
    if part is None or columns is None:
        return False
    if rest is not None:
        work.done |= {one.name for one in sch.get_child_blocks(rest)}
    r_0, r_1 = sch.split(part, [None, side])
    c_0, c_1 = sch.split(columns, [None, side])
    sch.reorder(r_0, c_0, r_1, c_1)
    sch.tensorize(r_1, f"transpose_{load.dtype}_{side}x{side}")
    work.done |= {copy.name, f"{copy.name}_o"}
    return True


def _loop_of(work: Work, block: BlockHandle, var: Var) -> LoopHandle | None:
    """The innermost loop of a block that goes along one of its axes; None where there is none, as for one element."""
    values = [axis.value for axis in work.block(block.name).axes if axis.var is var]
    loops = [loop for loop in work.sch.get_loops(block) if values and uses(values[0], work.sch.get(loop).var)]
    return loops[-1] if loops else None


def _copied(work: Work, name: str, buffer: str, at: int, loop: LoopHandle) -> LoopHandle:
    """Let a block read squares of a buffer from a copy that has dimension `at` as its last; the loop of the copy."""
    sch = work.sch
    copy = sch.cache_read(name, buffer, "local", consumer_blocks=[name])
    sch.compute_at(copy, loop)
    indices = indices_of(len(work.block(copy.name).axes))
    swapped = list(indices)
    swapped[at], swapped[-1] = indices[-1], indices[at]
    sch.transform_layout(copy, ("write", 0), IndexMap(indices, tuple(swapped)))
    axes = [axis.var for axis in work.block(copy.name).axes]
    _in_order(work, copy.name, [axes[-1], axes[at]])
    columns, rows = sch.get_loops(copy)[-2:]
    sch.reorder(rows, columns)
    return rows


def _in_order(work: Work, name: str, last: list[Var]) -> None:
    """Put axes behind the others, by which tiles are known."""
    axes = [axis.var for axis in work.block(name).axes]
    ordered = [*(var for var in axes if all(var is not one for one in last)), *last]
    if axes != ordered:
        work.sch.reorder_block_iter_var(name, [axes.index(var) for var in ordered])


def _across(nest: Nest) -> tuple[Dim, Dim, list[BufferLoad]] | None:
    """The dimensions along which a block reads and writes lines, which are not the same, and what it reads across those
    that it writes; None for a block that is not of this kind. All it reads so is there, whatever conditions say."""
    if nest.reduced or not nest.store.indices or nest.dtype.is_vector or nest.dtype.bits < 8:
        return None
    column = nest.dim(nest.store.indices[-1])
    if column is None or stride_of(nest.store, column.var) != 1 or not is_plain(nest.store, nest):
        return None
    along: list[BufferLoad] = []
    across: list[BufferLoad] = []
    for load in nest.loads():
        kind = along if stride_of(load, column.var) in (0, 1) else across
        if not any(load == other for other in kind):
            kind.append(load)
    row = nest.dim(across[0].indices[-1]) if across else None
    read = [load.buffer for load in (*along, *across)]
    if row is None or row is column or any(read.count(load.buffer) > 1 for load in across) or nest.store.buffer in read:
        return None
    for load in across:
        if load.indices[-1] is not row.var or str(load.dtype) not in TRANSPOSED or load.predicate is not None:
            return None
        if not is_plain(load, nest) or stride_of(load, row.var) != 1:
            return None
        ends = [one.axis.stop for index in load.indices if (one := nest.dim(index)) is not None]
        sizes = [size for index, size in zip(load.indices, load.buffer.shape, strict=True) if nest.dim(index)]
        if ends != sizes:
            return None
    return row, column, across


def _cut(work: Work, loop: LoopHandle, size: int) -> tuple[LoopHandle | None, LoopHandle | None]:
    """The iterations of a loop up to a multiple of a number, and those behind it; None where there are none."""
    extent = work.sch.get(loop).extent
    if type(extent) is Const:
        left = extent.value % size
        if left in (0, extent.value):
            return (loop, None) if left == 0 else (None, loop)
        parts = work.sch.loop_partition(loop, [int(extent.value - left), None])
    else:
        parts = work.sch.loop_partition(loop, [extent // size * size, None])
    return parts[0], parts[1]


__all__ = ["by_squares", "copied_by_squares", "tiled_transpose"]
