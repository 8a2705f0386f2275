"""Sums of products of two tensors at plain axes: matrix products of any rank.

The result is made in register tiles of some rows by some vectors, while the reduction runs. The operand of the vectors
is copied into panels as wide as a tile, which the inner loop reads line by line; the other's rows are copied where they
have to be padded, or where their distance maps them to the same cache lines.

for j_0 in T.parallel(n // 32):        # panels
    pack B[:, j_0 * 32 : j_0 * 32 + 32]
    for i_0 in range(m // 12):          # tiles
        for k in range(K): 12 x 2 vectors of the tile += A[i, k] * B[k, j]
        store the tile
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import free_vars, uses, walk

from ..primitive import BlockHandle, LoopHandle
from .nests import Dim, Nest, factors, indices_of, is_plain
from .panels import by_columns, by_lines, in_squares, into_panels, lines_last, panel_by_panel, vector_copy
from .sharing import (
    SECOND_CACHE,
    Order,
    count_of,
    depth_of,
    for_one,
    is_worth_threads,
    order_of,
)
from .tiles import LINE
from .work import Work, only_reader

# columns for which it is worth to convert the rows before: a tile would convert one element at a time
CONVERTED = 8
# the body of the innermost reduction loop is repeated up to so many products
WRITTEN_OUT = 96
# columns and terms that are so few that LLVM writes their products out, and puts the results into vectors
FEWEST = 4
# so few rows do not pay for a copy of the other operand
FEW = 24
# elements of an operand from which on versions are worth their code that do not copy it: for one row, and for some
COPIED, LARGE = 1 << 14, 1 << 18
# rows that keep the processor busy in a tile
FILLED = 8
# columns of fewer elements become one with the dimensions beside them
LONG = 192
# bytes after which lines of memory share a set of the nearest cache: rows so far apart push each other out of it
WAY = 4096
# vectors in the lines of a panel, at most
WIDEST = 4
# lines of a large matrix that are read at once, no more than the processor follows ahead of the reads
STREAMS = (8, 12, 16, 20, 24, 28, 32)
# bytes of a panel that stays in the first cache
FIRST_CACHE = 24 << 10


class Roles(Struct, frozen=True, eq=False):
    """What the axes of a contraction are: `columns` lies along vectors, `rows` is the other side of the tile.

    `mixed` where it sums up something else than products of the two operands.
    """

    columns: Dim
    rows: Dim
    outer: tuple[Dim, ...]
    reduced: tuple[Dim, ...]
    left: BufferLoad
    right: BufferLoad
    mixed: bool = False


class Made(Struct, frozen=True, eq=False):
    """The blocks that make the operands of the rows and the columns, where these can be made where they are copied."""

    left: BlockHandle | None = None
    right: BlockHandle | None = None


NOTHING = Made()


class Size(Struct, frozen=True):
    """How large a register tile is: rows by vectors of lanes."""

    rows: int
    vectors: int
    lanes: int


def contraction(work: Work, nest: Nest) -> bool:
    """Schedule a contraction; False where the block is none, or is too small to gain by it."""
    roles = roles_of(work, nest)
    if roles is None or not tiled(work, nest, roles):
        return False
    if not roles.rows.known and not work.copied_once(roles.right.buffer):
        _note_rows(work, nest, roles)
    return True


def _note_rows(work: Work, nest: Nest, roles: Roles) -> None:
    """Let there be versions for few rows, where to copy the other operand takes as long as the product."""
    copied, others = [roles.columns, *roles.reduced], [dim.axis.stop for dim in nest.dims if dim is not roles.rows]
    size, rows = count_of(copied), roles.rows.axis
    if size < COPIED or not set(free_vars(rows.stop)).isdisjoint(free_vars(tuple(others))):
        return
    work.rows[rows.stop] = None
    if size >= LARGE and all(dim.known for dim in copied):
        work.few[nest.name] = rows


def placed(work: Work, nest: Nest) -> bool:
    """Schedule a contraction whose results have other places than its axes say, as those of `C[i, j + 1] += ...` have:
    they are put there from the tile. False where the block is none."""
    if nest.update is None or nest.update.op is not OPS["add"] or factors(nest.update.value) is None:
        return False
    if is_plain(nest.store, nest):
        return False
    work.sch.reindex(nest.name, ("write", 0))
    made = work.nest(nest.name, symbolic=not nest.known)
    return made is not None and contraction(work, made)


def tiled(work: Work, nest: Nest, roles: Roles, made: Made = NOTHING) -> bool:
    """Schedule a block by the roles of its axes; False where it is too small to gain by it."""
    lines = line_of(nest, roles) if not roles.mixed else ()
    if len(lines) > 1 and work.attempt(joined, nest, roles, lines, made):
        return True
    if made.right is None and work.attempt(streamed, nest, roles):
        return True
    if roles.columns.extent < 4 or roles.rows.extent < 2:
        return False
    count = nest.instances // (roles.columns.extent * roles.rows.extent)
    if nest.instances < 512 or count < FEWEST:
        return False
    if count == FEWEST and nest.known and roles.columns.extent >= LINE:
        return False
    if is_written_out(nest):
        return False
    reader = only_reader(work, nest)
    if reader is not None and work.attempt(_scheduled, nest, roles, reader, made):
        return True
    return work.attempt(_scheduled, nest, roles, None, made)


def is_written_out(nest: Nest) -> bool:
    """Whether a product has so few columns and terms that its loops are best as they are."""
    columns = nest.dim(nest.store.indices[-1]) if nest.store.indices else None
    terms = math.prod(dim.extent for dim in nest.reduced)
    return columns is not None and nest.known and max(columns.extent, terms) <= FEWEST


def streamed(work: Work, nest: Nest, roles: Roles) -> bool:
    """Schedule a product of few rows with a large matrix, which memory bounds; False for others.

    The matrix is read once, some whole lines at a time, as it lies: strips of tiles would lie pages apart. The results
    so far come from the second cache for each strip, and go back there.
    """
    bits, columns, rows = nest.dtype.bits, roles.columns, roles.rows
    line = [dim.var for dim in (*roles.reduced, columns)]
    lanes, size = work.facts.lanes(bits), math.prod(dim.extent for dim in (*roles.reduced, columns)) * bits // 8
    if not nest.known or rows.extent > FEW or len(roles.reduced) != 1 or size <= SECOND_CACHE:
        return False
    if list(roles.right.indices[-2:]) != line or roles.right.buffer.strides is not None:
        return False
    depths = [lines for lines in STREAMS if roles.reduced[0].divides(lines)]
    vectors = next((count for count in (2, 1) if columns.divides(count * lanes)), 0)
    if not depths or not vectors or not roles.left.dtype is roles.right.dtype is nest.dtype:
        return False
    # the more results there are, the more terms are to be added to them at once
    depth = min(depths, key=lambda lines: abs(lines - max(16, 2 * rows.extent)))
    sch, name = work.sch, nest.name
    height = max(size for size in range(1, (work.facts.registers - 2) // vectors) if rows.divides(size))
    i_0, i_1 = sch.split(rows.loop, [None, height])
    k_0, k_1 = sch.split(roles.reduced[0].loop, [None, depth])
    parts = work.facts.threads if columns.divides(work.facts.threads * vectors * lanes) else 1
    part, j_0, j_1 = sch.split(columns.loop, [parts, None, vectors * lanes])
    outer = [dim.loop for dim in roles.outer]
    sch.reorder(*outer, part, k_0, j_0, i_0, k_1, i_1, j_1)
    k_1, written = sch.split(k_1, [None, 4])
    sch.unroll(written)
    sch.decompose_reduction(name, k_0)
    for block in (f"{name}_init", f"{name}_update"):
        inner = sch.get_loops(block)[-2]
        work.vectorize(block, lanes)
        sch.unroll(inner)
    work.contract(f"{name}_update")
    work.parallel([*outer, part], nest.work)
    work.done |= {name, f"{name}_init", f"{name}_update"}
    return True


def _scheduled(work: Work, nest: Nest, roles: Roles, reader: BlockHandle | None, made: Made) -> None:
    """The schedule of a contraction; its only `reader` takes the results where they are, in registers."""
    sch, size = work.sch, _tile(work, nest, roles)
    rows, width, lanes = size.rows, size.vectors * size.lanes, size.lanes
    padded = _padded(work, nest, {id(roles.rows): rows, id(roles.columns): width})
    straight = made.right is None and (reads_straight(roles, rows, width) or in_panels(roles, width, lanes))
    right = None if straight else _copy(work, nest.name, roles.right, roles.columns.var in padded)
    turned = right is not None and lines_last(work, right, roles)
    _taken_in(work, nest, roles.right, right, made.right)
    left = _rows(work, nest, roles, roles.rows.var in padded)
    _taken_in(work, nest, roles.left, left, None if left is None else made.left)
    left = left or made.left
    result = result_of(work, nest, reader, bool(padded))
    dims = {dim.var.name: loop for dim, loop in zip(_by_axis(nest), sch.get_loops(nest.name), strict=True)}
    i_0, i_1 = sch.split(dims[roles.rows.var.name], [None, rows])
    j_0, j_1 = sch.split(dims[roles.columns.var.name], [None, width])
    inner = [dims[dim.var.name] for dim in roles.reduced]
    loops = {**dims, roles.rows.var.name: i_0, roles.columns.var.name: j_0}
    panels, alone = -(-roles.columns.extent // width), is_worth_threads(nest, roles)
    order = order_of(work, nest, roles, loops, panels, copied=right is not None)
    sch.reorder(*order.outer, *order.tiles, *inner, i_1, j_1)
    shared = work.facts.threads > 1 and not order.by_panel  # all threads pack the panels that all of them read
    several = shared and panels > 1
    squares = right is not None and _laid_out(work, roles, right, order, size, turned, made.right is not None, several)
    _finish(work, nest, roles, result, order.tiles[-1], inner, size, [left, None if squares else right])
    work.parallel(for_one([*order.outer, *order.tiles], work, alone), nest.work)
    if left is not None:
        work.parallel(for_one(work.sch.get_loops(left)[:-1], work, alone)[:1], nest.work / 16)
    if right is not None and shared:
        copied = work.sch.get_loops(f"{right.name}_o" if squares else right)
        work.parallel(for_one(copied[:-1], work, alone)[:2], nest.work / 16)


def _padded(work: Work, nest: Nest, sizes: dict[int, int]) -> set[Var]:
    """Round the dimensions of a block up to whole tiles, of `sizes` by their ids; the axes that are longer by it."""
    by_axis = {dim.axis.var: sizes.get(id(dim), 1) for dim in nest.dims}
    work.sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    work.sch.pad_einsum(nest.name, [by_axis[axis.var] for axis in nest.block.axes])
    return rounded_up(work, nest)


def _laid_out(
    work: Work,
    roles: Roles,
    right: BlockHandle,
    order: Order,
    size: Size,
    turned: bool,
    inlined: bool,
    several: bool,
) -> bool:
    """Lay the copy that the columns read out in panels; whether it is made in squares.

    turned:  whether it reads lines across its own; inlined: whether it computes what another block made
    several: whether there are several panels, which all threads copy
    """
    width = size.vectors * size.lanes
    if turned and not inlined and work.attempt(in_squares, right, width, order.own if order.by_panel else None):
        return True
    as_it_lies = not turned and not inlined
    if order.by_panel:
        if as_it_lies:
            into_panels(work, right, width, block=True)  # a constant is laid out so once, and read in one piece
        work.sch.compute_at(right, order.own)
    else:
        into_panels(work, right, width, block=several and as_it_lies)
        if order.columns and inlined and not turned:
            panel_by_panel(work, right, width)
    if turned and not by_lines(work, right, roles, size.lanes):
        by_columns(work, right)
    return False


def _finish(
    work: Work,
    nest: Nest,
    roles: Roles,
    result: BlockHandle,
    tile: LoopHandle,
    inner: list[LoopHandle],
    size: Size,
    operands: list[BlockHandle | None],
) -> None:
    """Keep the results of a tile in registers, written out over its terms, and copy in vectors."""
    sch = work.sch
    sch.reverse_compute_at(result, tile)
    sch.set_scope(nest.name, 0, "local")
    most = WRITTEN_OUT // 4 if roles.mixed else WRITTEN_OUT
    unrolled = max(count for count in (1, 2, 4, 8) if count * size.rows * size.vectors <= most or count == 1)
    if unrolled > 1 and (work.extent(inner[-1]) or 1) % unrolled == 0:
        # by LLVM, as its passes and ours then see a part of the statements
        sch.annotate(inner[-1], "pragma_unroll", unrolled)
    copies = [copy for copy in (*operands, result) if copy is not None]
    names, depth = [nest.name], sch.get_loops(nest.name).index(inner[0])
    if not roles.rows.known and size.rows > 1 and work.attempt(_one_row, result, tile, size.rows):
        update, *others = work.sch.get_child_blocks(tile)[-2:]
        names.append(update.name)
        copies += others
    for name in names:
        _in_registers(work, name, work.sch.get_loops(name)[depth], size.lanes)
    for copy in copies:
        work.attempt(vector_copy, copy, size.lanes)
        work.done.add(copy.name)


def _taken_in(
    work: Work, nest: Nest, operand: BufferLoad, copy: BlockHandle | None, source: BlockHandle | None
) -> None:
    """Let the copy of an operand do the cast that the product does of it, and what the block does that makes it."""
    if copy is not None and is_converted(nest, operand):
        work.sch.early_cast(copy)
    if source is not None:
        work.sch.compute_inline(source)


def _in_registers(work: Work, name: str, first: LoopHandle, lanes: int) -> None:
    """Begin the sums of a tile before the first loop over terms, and write out its vectors, which stay in registers."""
    work.sch.decompose_reduction(name, first)
    for part in (f"{name}_init", f"{name}_update"):
        loops = work.sch.get_loops(part)
        work.vectorize(part, lanes)
        work.sch.unroll(loops[-2])
    work.contract(f"{name}_update")
    work.done |= {name, f"{name}_init", f"{name}_update"}


def _one_row(work: Work, result: BlockHandle, tile: LoopHandle, rows: int) -> None:
    """Let a tile of one row do no more than that: for a vector it would do `rows` times the work for nothing."""
    loops = work.sch.get_loops(result)
    loops = loops[loops.index(tile) + 1 :]
    work.sch.specialize(next(loop for loop in loops if work.extent(loop) == rows), 1)


def joined(work: Work, nest: Nest, roles: Roles, line: tuple[Dim, ...], made: Made = NOTHING) -> bool:
    """Schedule a contraction whose columns are several dimensions, made one dimension of the block and of copies."""
    sch, name = work.sch, nest.name
    reader = only_reader(work, nest)
    right = sch.cache_read(name, roles.right.buffer.name, "global", [name])
    if made.right is not None:
        sch.compute_inline(made.right)
    if reader is None or len(sch.get(reader).axes) != len(nest.store.indices):
        reader = None  # an axis of one number, which is no dimension of what it reads
    result = reader if reader is not None else sch.cache_write(name, 0, "global")
    sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    stored = join([nest.dim(index) for index in nest.store.indices], line)
    read = join([nest.dim(index) for index in roles.right.indices], line)
    sch.transform_block_layout(name, join(_by_axis(nest), line))
    sch.transform_block_layout(result, stored)
    sch.transform_block_layout(right, read)
    sch.transform_layout(name, ("write", 0), stored)
    sch.transform_layout(right, ("write", 0), read)
    plain = work.nest(name, symbolic=not nest.known)
    found = roles_of(work, plain) if plain is not None else None
    if plain is None or found is None or found.rows.extent < 2:
        return False
    _scheduled(work, plain, found, result, Made(made.left, right))
    return True


def line_of(nest: Nest, roles: Roles) -> tuple[Dim, ...]:
    """The dimensions that can be the columns as one: the last ones of the result, and in one row in its operand.

    Long lines stay, and outer dimensions that would be split by it are no part of it.
    """
    store, load = list(nest.store.indices), list(roles.right.indices)
    line: list[Dim] = []
    while store and (dim := nest.dim(store.pop())) is not None and not uses(roles.left.indices, dim.var):
        at = next((place for place, index in enumerate(load) if index is dim.var), None)
        if at is None or (line and load[at + 1 : at + 2] != [line[0].var]) or not dim.known or dim is roles.rows:
            break
        line.insert(0, dim)
    return tuple(line) if roles.columns.known and roles.columns.extent < LONG and len(line) > 1 else ()


def join(dims: Sequence[Dim | None], line: tuple[Dim, ...]) -> IndexMap:
    """The map that takes indices of these dimensions to those with the ones of a line made one."""
    given = indices_of(len(dims))
    places: list[Expr] = []
    for var, dim in zip(given, dims, strict=True):
        if dim is not None and any(dim is one for one in line[1:]):
            places[-1] = places[-1] * dim.extent + var
        else:
            places.append(var)
    return IndexMap(given, tuple(places))


def roles_of(work: Work, nest: Nest) -> Roles | None:
    """What the axes are, None where the block is no contraction of two tensors, or one whose sums keep an order that
    its axes are not in."""
    if nest.update is None or nest.update.op is not OPS["add"] or not nest.reduced:
        return None
    loads = factors(nest.update.value)
    if loads is None or len(loads) != 2 or not all(is_plain(load, nest) for load in loads):
        return None
    last = nest.store.indices[-1] if nest.store.indices else None
    columns = nest.dim(last) if last is not None else None
    if columns is None:
        return None
    has = [{id(index) for index in load.indices} for load in loads]
    if (id(columns.var) in has[0]) == (id(columns.var) in has[1]):
        return None
    at = 0 if id(columns.var) in has[1] else 1
    mine, others = has[at], has[1 - at]
    if not all(id(dim.var) in mine & others for dim in nest.reduced):
        return None
    sides = [dim for dim in nest.spatial if id(dim.var) in mine and id(dim.var) not in others]
    if not sides:
        return None
    # of dimensions that are as long the innermost, as both of a batch of rows are where neither is known; one that is
    # known to fill a tile before one that may be a batch of one
    rows = max(reversed(sides), key=lambda dim: (dim.known and dim.extent >= FILLED, dim.extent))
    outer = tuple(dim for dim in nest.spatial if dim is not rows and dim is not columns)
    reduced = nest.reduced
    if work.facts.reassociate or not nest.dtype.is_float:
        # the reduction goes along the lines of the rows' tensor
        order = {id(index): place for place, index in enumerate(loads[at].indices)}
        reduced = tuple(sorted(reduced, key=lambda dim: order[id(dim.var)]))
    elif [dim.axis for dim in reduced] != [axis for axis in nest.block.axes if axis.kind == "reduce"]:
        return None  # the loops are reordered as the axes are, for padding and joined columns
    return Roles(columns, rows, outer, reduced, loads[at], loads[1 - at])


def _lanes(work: Work, nest: Nest, roles: Roles) -> int:
    """The lanes of the vectors along the columns: those of shorter vectors, of 128 bits at least, where these hold all
    columns."""
    lanes, bits = work.facts.lanes(nest.dtype.bits), nest.dtype.bits
    while roles.columns.known and 2 * roles.columns.extent <= lanes and lanes * bits > 128:
        lanes //= 2
    return lanes


def _tile(work: Work, nest: Nest, roles: Roles) -> Size:
    """The register tile of a contraction.

    Extents that are not known are padded by little, and to powers of two: others might overflow when rounded up.
    """
    rows, columns, lanes = roles.rows, roles.columns, _lanes(work, nest, roles)
    depth = depth_of(nest, roles)
    sizes: tuple[Sequence[int], Sequence[int]] = (
        range(1, 32) if rows.known else (1, 2, 4, 8),
        range(1, 5) if columns.known else (1, 2),
    )
    whole = [vectors for vectors in sizes[1] if columns.divides(vectors * lanes)]
    if rows.known and rows.extent <= FEW and whole:
        sizes = (sizes[0], whole)  # so that the other operand can be read where it lies
    registers, bits = work.facts.registers - 2 * roles.mixed, nest.dtype.bits
    far = rows.known and columns.known and rows.extent * depth * bits // 8 > SECOND_CACHE
    if far and columns.extent > 8 * lanes and registers >= 32:
        sizes = (range(1, 7), (4,))  # each panel reads all rows again: few of them
    return Size(*tile_of(rows.extent, columns.extent, lanes, registers, depth=depth, bits=bits, sizes=sizes), lanes)


def tile_of(
    rows: int,
    columns: int,
    lanes: int,
    registers: int,
    *,
    depth: int = 512,
    bits: int = 32,
    sizes: tuple[Sequence[int], Sequence[int]] = (range(1, 32), range(1, 5)),
) -> tuple[int, int]:
    """The register tile, in rows and vectors, that takes the fewest cycles: two products and two loads each.

    `depth` terms a sum, elements of `bits`; rows and vectors are among `sizes`. A product takes four cycles, so at
    least eight are to be on their way; a vector of a panel that the first cache does not hold comes in three cycles.
    Rows that the tile does not divide are copied, to be padded.
    """
    best: tuple[float, int, int, tuple[int, int]] | None = None
    far = rows * depth * bits // 8 > SECOND_CACHE
    for vectors in sizes[1]:
        panel = depth * vectors * lanes * bits // 8
        for size in sizes[0]:
            if size * vectors + vectors + 1 > registers:
                break
            loads = (3.0 if panel > FIRST_CACHE else 1.0) * vectors
            cycles = max(size * vectors / 2, (vectors + size) / 2 * 1.15, loads, 4.0)
            tiles = -(-rows // size) * -(-columns // (vectors * lanes))
            # what a tile costs beside: the begin of its loops, its stores
            cost = tiles * (cycles + 0.25 + 2 * size * vectors / depth)
            if rows % size:
                cost += rows * (0.4 if far else 0.15)
            key = (round(cost, 3), -(-rows // size) * size, abs(size * vectors - 24), (size, vectors))
            if best is None or key < best:
                best = key
    assert best is not None
    return best[3]


def reads_straight(roles: Roles, rows: int, width: int) -> bool:
    """Whether the operand of the columns is read as it lies: for few rows a copy takes longer than what it saves."""
    few = roles.rows.known and roles.rows.extent <= min(2 * rows, FEW)
    order = [dim.var for dim in roles.reduced] + [roles.columns.var]
    lies = list(roles.right.indices[-len(order) :]) == order and roles.right.buffer.strides is None
    return few and lies and roles.columns.divides(width)


def in_panels(roles: Roles, width: int, lanes: int) -> bool:
    """Whether the operand of the columns lies in panels already, as tensors in tiles do: a copy would be the same."""
    buffer, lies = roles.right.buffer, list(roles.right.indices[-2:]) == [roles.reduced[-1].var, roles.columns.var]
    narrow = roles.columns.known and roles.columns.extent <= WIDEST * lanes
    return narrow and lies and buffer.strides is None and roles.columns.divides(width)


def nest_loop(nest: Nest, var: object) -> LoopHandle:
    """The loop of an axis."""
    return next(dim.loop for dim in nest.dims if dim.var is var)


def _by_axis(nest: Nest) -> list[Dim]:
    """The dimensions in the order of the block's axes, in which the loops are now."""
    return [next(dim for dim in nest.dims if dim.var is axis.var) for axis in nest.block.axes]


def rounded_up(work: Work, nest: Nest) -> set[Var]:
    """The axes that `pad_einsum` found to be no multiples of the tile. Of extents that are no numbers it knows more
    than `Dim.divides`: `T.ceildiv(n, 8) * 8` is a multiple of 8."""
    now = work.block(nest.name).axes
    return {old.var for old, new in zip(nest.block.axes, now, strict=True) if old.stop != new.stop}


def _copy(work: Work, name: str, load: BufferLoad, padded: bool) -> BlockHandle:
    """The block that copies an operand: that of its padding, or a new one."""
    if padded:
        return maker_of(work, name, f"{load.buffer.name}_pad")
    copy: BlockHandle = work.sch.cache_read(name, load.buffer.name, "global", [name])
    return copy


def maker_of(work: Work, name: str, buffer: str) -> BlockHandle:
    """The block that makes the buffer of a name that starts so, which the block `name` reads."""
    makers: list[BlockHandle] = work.sch.get_producers(name)
    found = [maker for maker in makers if _made(work, maker).startswith(buffer)]
    return found[-1]


def _made(work: Work, block: BlockHandle) -> str:
    made: str = work.block(block.name).body[0].buffer.name  # type: ignore[attr-defined]
    return made


def _rows(work: Work, nest: Nest, roles: Roles, padded: bool) -> BlockHandle | None:
    """The block that copies the operand of the rows, None where it is read as it lies."""
    load, converted = roles.left, is_converted(nest, roles.left)
    bits = (nest if converted else load).dtype.bits
    dim = load.buffer.shape[-1]
    line = int(dim.value) * bits // 8 if type(dim) is Const else 1
    last = load.indices[-1] is roles.reduced[-1].var
    apart = last and len(load.indices) > 1 and line % WAY == 0
    again = roles.columns.extent >= 128 and apart
    if not padded and not again and not (converted and roles.columns.extent >= CONVERTED):
        return None
    copy = _copy(work, nest.name, load, padded)
    if line % 1024 == 0 and len(load.indices) > 1 and load.buffer.constant_shape() is not None:
        work.sch.storage_align(copy, 0, -2, 1024 * 8 // bits, 64 * 8 // bits)
    return copy


def is_converted(nest: Nest, load: BufferLoad) -> bool:
    """Whether an operand is converted wherever it is read, so that its copy can be converted at once."""
    if not (nest.dtype.is_float and load.dtype.is_float):
        return False  # of integers LLVM knows the instructions that widen as they multiply
    nodes = list(walk(nest.value))
    converted = [node for node in nodes if type(node) is Call and node.op is OPS["cast"] and node.args[0] == load]
    return len(converted) == 1 == sum(1 for node in nodes if node == load)


def result_of(work: Work, nest: Nest, reader: BlockHandle | None, padded: bool) -> BlockHandle:
    """The block that stores what a tile holds."""
    if padded:
        found: list[BlockHandle] = work.sch.get_consumers(nest.name)
        if reader is None:
            return found[0]
        work.sch.compute_inline(found[0])
    if reader is not None:
        return reader
    copy: BlockHandle = work.sch.cache_write(nest.name, 0, "local")
    return copy


__all__ = [
    "Made",
    "Roles",
    "contraction",
    "is_written_out",
    "joined",
    "line_of",
    "maker_of",
    "nest_loop",
    "placed",
    "result_of",
    "roles_of",
    "rounded_up",
    "tile_of",
    "tiled",
]
