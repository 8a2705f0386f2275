"""Products of matrices of bytes or bfloat16, added up in 32 bits, by instructions for tiles of them.

Both operands are copied into tiles as the instruction takes them: 16 rows of 64 bytes, and 16 lines in which four lines
of the operand lie in turn, two of bfloat16. Four tiles of results stay in registers while the reduction runs.

pack B[k, j] at (j // 16, k // 64, k % 64 // 4, j % 16, k % 4)
for i_0 in T.parallel(m // 32):
    pack A[i, k] at (i // 16, k // 64, i % 16, k % 64)
    for j_0 in range(n // 32):
        for k_0 in range(K // 64): 2 x 2 tiles += A[i, k] * B[k, j]
        store the tiles

Where the rows are few, or the columns' operand is large and larger than the other, the columns come first, and all of A
is packed before.

Processors without such tiles but with AVX512-BF16 add up two products of bfloat16 in each lane of a vector: sixteen of
these are one tile, which one after the other are computed as those of AMX four by four.

The instructions for bfloat16 take denormal numbers for zero. So the least magnitude in each panel of rows or columns is
found behind the copies, and tiles in which something denormal could come up are computed in vectors of float32.
"""

from __future__ import annotations

import math

from tirscript.ir.dtype import FLOAT32, INT32
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS, const
from tirscript.ir.stmt import BufferStore

from ..primitive import BlockHandle, LoopHandle
from .contraction import Roles, nest_loop, result_of, roles_of
from .nests import Dim, Nest, indices_of
from .sharing import SECOND_CACHE
from .work import Work, only_reader

# rows and columns of a tile, and the bytes of its lines
SIDE, LINE = 16, 64
# rows of a tile that are computed in vectors at once
ROWS = 8
# products that are worth the copies, and the rows that are, of a small operand of the columns and of a large one:
# bfloat16 is fast in vectors too
LEAST = 1 << 15
FEW_ROWS = (12, 32)
# twice as many products at once are worth so many idle ones
IDLE = 1.5


def tile_product(work: Work, nest: Nest) -> bool:
    """Schedule a product of bytes or of bfloat16 where the processor has tiles of them; False for other blocks."""
    bytes_ = work.facts.tiles and multiplies_bytes(nest)
    floats = bool(work.facts.float_tiles) and _multiplies_floats(nest)
    if not bytes_ and not (floats and work.facts.reassociate):
        return False
    roles = roles_of(work, nest) if nest.instances >= LEAST else None
    if roles is None or len(roles.reduced) != 1 or not all(dim.known for dim in nest.dims):
        return False
    if min(roles.rows.extent, roles.columns.extent) < SIDE // 2:
        return False
    if roles.reduced[0].extent < _depth(roles) // 2:
        return False
    if floats and roles.rows.extent < FEW_ROWS[_size(roles) > SECOND_CACHE]:
        return False
    if floats and work.facts.float_tiles != "amx" and _rounded(roles) > IDLE * nest.instances:
        return False
    reader = only_reader(work, nest)
    if reader is not None and work.attempt(_scheduled, nest, reader):
        return True
    return work.attempt(_scheduled, nest, None)


def multiplies_bytes(nest: Nest) -> bool:
    """Whether what is added up is the product of two bytes, each as a number of 32 bits."""
    if nest.update is None or nest.update.op is not OPS["add"]:
        return False
    value = nest.value
    return type(value) is Call and value.op is OPS["mul"] and all(map(_is_byte, value.args))


def _is_byte(value: Expr) -> bool:
    element = _converted(value)
    return element is not None and value.dtype is INT32 and element.dtype.is_int and element.dtype.bits == 8


def _multiplies_floats(nest: Nest) -> bool:
    """Whether what is added up, from 0 on, is the product of two bfloat16, each as a float32."""
    value, begin = nest.value, nest.block.init[0] if nest.block.init else None
    if type(value) is not Call or value.op is not OPS["mul"] or not all(map(_is_half, value.args)):
        return False
    return type(begin) is BufferStore and begin.value == const(0.0, FLOAT32)


def _is_half(value: Expr) -> bool:
    element = _converted(value)
    return element is not None and value.dtype is FLOAT32 and element.dtype.name == "bfloat16"


def _converted(value: Expr) -> BufferLoad | None:
    """The element that a value is, as another dtype."""
    element = value.args[0] if type(value) is Call and value.op is OPS["cast"] else None
    return element if type(element) is BufferLoad and element.predicate is None else None


def _depth(roles: Roles) -> int:
    """The terms of a sum that a tile takes at once."""
    return LINE * 8 // roles.left.dtype.bits


def _rounded(roles: Roles) -> int:
    """The products of tiles that are whole."""
    sizes = ((roles.rows, SIDE), (roles.columns, SIDE), (roles.reduced[0], _depth(roles)))
    return math.prod((*(-(-dim.extent // size) * size for dim, size in sizes), *(dim.extent for dim in roles.outer)))


def _size(roles: Roles) -> int:
    """The bytes of the operand of the columns that are read for each row."""
    return roles.columns.extent * roles.reduced[0].extent * roles.right.dtype.bits // 8


def _scheduled(work: Work, nest: Nest, reader: BlockHandle | None) -> bool:
    """The schedule; the only `reader` of the result takes it where it is."""
    sch, name = work.sch, nest.name
    roles = roles_of(work, nest)
    assert roles is not None
    depth, floats = _depth(roles), nest.dtype.is_float
    amx = not floats or work.facts.float_tiles == "amx"
    # without tiles as registers one tile of results takes half of the vector registers
    rows, columns = (2 * SIDE if amx and dim.extent > SIDE else SIDE for dim in (roles.rows, roles.columns))
    padded = not (roles.rows.divides(rows) and roles.columns.divides(columns))
    plain = _padded(work, nest, roles, rows, columns)
    tiled = roles_of(work, plain) if plain is not None else None
    if plain is None or tiled is None:
        return False
    left, right = (_packed(work, name, load) for load in (tiled.left, tiled.right))
    result = result_of(work, plain, reader, padded)
    # what is in registers goes to memory tile by tile, and from there line by line
    stored = sch.cache_write(name, 0, "local")
    loops = {id(dim): dim.loop for dim in plain.dims}
    i_0, i_1, i_2 = sch.split(loops[id(tiled.rows)], [None, rows // SIDE, SIDE])
    j_0, j_1, j_2 = sch.split(loops[id(tiled.columns)], [None, columns // SIDE, SIDE])
    k_0, k_1 = sch.split(loops[id(tiled.reduced[0])], [None, depth])
    outer = [loops[id(dim)] for dim in tiled.outer]
    # rows first where these are enough for all threads, and what they read again and again is the smaller operand or in
    # the second cache: a thread copies its rows as it comes to them
    small = tiled.columns.extent <= tiled.rows.extent or _size(tiled) <= SECOND_CACHE
    by_rows = small and not outer and (work.extent(i_0) or 1) >= 4 * work.facts.threads
    first, second = (i_0, j_0) if by_rows else (j_0, i_0)
    sch.reorder(*outer, first, second, k_0, i_1, j_1, i_2, j_2, k_1)
    for copy in (stored, result):
        sch.reverse_compute_at(copy, second)
    for maker in (name, stored):
        sch.set_scope(maker, 0, "local")
    if by_rows:
        sch.compute_at(left, i_0)
    least: list[BlockHandle] = []
    beside: list[str] = []
    if floats:
        least += [
            _looked_at(work, left, tiled.left, tiled, tiled.rows, rows),
            _looked_at(work, right, tiled.right, tiled, tiled.columns, columns),
        ]
        beside = [block.name for block in sch.denormals_apart(second, *least)]
    sch.transform_layout(name, ("write", 0), _results(plain, tiled))
    sch.transform_layout(left, ("write", 0), _rows(tiled))
    sch.transform_layout(right, ("write", 0), _lines(tiled))
    partial = [
        _along_memory(work, block, load, tiled) for block, load in zip(least, (tiled.left, tiled.right), strict=False)
    ]
    sch.decompose_reduction(name, k_0)
    kinds = "bfloat16" if floats else f"{tiled.left.dtype}_{tiled.right.dtype}"
    sch.tensorize(i_2, f"dot_{SIDE}x{SIDE}x{depth}_{kinds}_{'amx' if amx else work.facts.float_tiles}")
    for loop in (i_1, j_1):
        sch.unroll(loop)
    _tile_by_tile(work, f"{name}_init")
    _tile_by_tile(work, stored.name)
    if floats:
        product, *others = beside
        _in_vectors(work, product)
        _tile_by_tile(work, others[0])
    results = [result.name, *beside[2:]]
    work.attempt(_vectors, left, depth)
    work.attempt(in_turn, right, tiled)
    for one in results:
        work.attempt(_vectors, one, SIDE)
    cost = float(nest.instances) / 16
    work.parallel([i_0] if by_rows else [*outer, j_0, i_0], cost)
    copies = [left.name, right.name, *(block.name for block in partial)]
    made = [name, *(block.name for block in least), *beside, *results, stored.name, *copies]
    work.done |= {f"{one}{suffix}" for one in made for suffix in ("", "_o", "_init", "_update", "_update_o")}
    _copied_by_threads(work, copies, i_0, cost)
    return True


def _padded(work: Work, nest: Nest, roles: Roles, rows: int, columns: int) -> Nest | None:
    """The nest with its loops in the order of the axes, and whole tiles of so many rows and columns."""
    pads = {id(roles.rows): rows, id(roles.columns): columns, id(roles.reduced[0]): _depth(roles)}
    by_axis = {dim.axis.var: pads.get(id(dim), 1) for dim in nest.dims}
    work.sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    work.sch.pad_einsum(nest.name, [by_axis[axis.var] for axis in nest.block.axes])
    return work.nest(nest.name)


def _copied_by_threads(work: Work, copies: list[str], rows: LoopHandle, cost: float) -> None:
    """Let threads share the copies that are made before the loop over the rows, not within it."""
    for copy in work.blocks():
        around = work.sch.get_loops(copy)
        if copy.name.removesuffix("_o").removesuffix("_update") in copies and rows not in around:
            work.parallel(around[:1], cost)


def _looked_at(work: Work, copy: BlockHandle, load: BufferLoad, roles: Roles, side: Dim, size: int) -> BlockHandle:
    """The block that finds the least magnitude in each panel of `size` rows or columns of an operand."""
    panels = {id(side.var): size, id(roles.reduced[0].var): 0}
    found: BlockHandle = work.sch.least_magnitude(copy, [panels.get(id(index), 1) for index in load.indices])
    return found


def _along_memory(work: Work, block: BlockHandle, load: BufferLoad, roles: Roles) -> BlockHandle:
    """Look for the least magnitude of an operand in vectors, as its tiles lie; the block that does."""
    sch, left = work.sch, load is roles.left
    places = [id(index) for index in load.indices]
    first, last = sch.get_loops(block)[-2:]
    reduced, side = id(roles.reduced[0].var), id((roles.rows if left else roles.columns).var)
    k, i = (first, last) if places.index(reduced) < places.index(side) else (last, first)
    i_0, i_1 = sch.split(i, [None, SIDE])
    if left:
        k_0, lane = sch.split(k, [None, _depth(roles)])
        sch.reorder(i_0, k_0, i_1, lane)
    else:
        k_0, k_1, k_2 = sch.split(k, [None, SIDE, _depth(roles) // SIDE])
        sch.reorder(i_0, k_0, k_1, i_1, k_2)
        lane = sch.fuse(i_1, k_2)
    partial = sch.rfactor(lane, -1)
    sch.decompose_reduction(partial, sch.get_loops(partial)[-4])
    for part in (f"{partial.name}_init", f"{partial.name}_update"):
        sch.vectorize(sch.get_loops(part)[-1])
    return partial


def _in_vectors(work: Work, block: str) -> None:
    """Compute a tile of results in vectors, some rows at once."""
    sch = work.sch
    *_, k_0, i_1, j_1, i_2, j_2, k_1 = sch.get_loops(block)
    i_2, row = sch.split(i_2, [None, ROWS])
    k_1, pair = sch.split(k_1, [None, 2])
    sch.reorder(i_1, i_2, k_0, k_1, pair, row, j_1, j_2)
    sch.unroll(pair)
    sch.decompose_reduction(block, i_1)
    for part in (f"{block}_init", f"{block}_update"):
        *_, row, j_1, j_2 = sch.get_loops(part)
        for loop in (row, j_1):
            sch.unroll(loop)
        sch.vectorize(j_2)
    work.contract(f"{block}_update")


def _packed(work: Work, name: str, load: BufferLoad) -> BlockHandle:
    """The block that copies an operand; it pads where that is wanted."""
    copy: BlockHandle = work.sch.cache_read(name, load.buffer.name, "global", [name])
    return copy


def _rows(roles: Roles) -> IndexMap:
    """Tiles of the operand of the rows."""
    places = dict(zip(roles.left.indices, given := indices_of(len(roles.left.indices)), strict=True))
    i, k = places.pop(roles.rows.var), places.pop(roles.reduced[0].var)
    depth = _depth(roles)
    return IndexMap(given, (*places.values(), i // SIDE, k // depth, i % SIDE, k % depth))


def _lines(roles: Roles) -> IndexMap:
    """Tiles of the operand of the columns, four lines in turn, or two."""
    places = dict(zip(roles.right.indices, given := indices_of(len(roles.right.indices)), strict=True))
    j, k = places.pop(roles.columns.var), places.pop(roles.reduced[0].var)
    depth, group = _depth(roles), _depth(roles) // SIDE
    return IndexMap(given, (*places.values(), j // SIDE, k // depth, k % depth // group, j % SIDE, k % group))


def _results(nest: Nest, roles: Roles) -> IndexMap:
    """Tiles of the result, each in one line."""
    places = dict(zip(nest.store.indices, given := indices_of(len(nest.store.indices)), strict=True))
    i, j = places.pop(roles.rows.var), places.pop(roles.columns.var)
    return IndexMap(given, (*places.values(), i // SIDE, j // SIDE, i % SIDE * SIDE + j % SIDE))


def _tile_by_tile(work: Work, block: str) -> None:
    """Let a block go through the tiles one after the other, by vectors and written out, so that these are registers."""
    sch = work.sch
    loops = sch.get_loops(block)
    if len(loops) > 4 and (work.extent(loops[-1]), work.extent(loops[-2])) == (SIDE, SIDE):
        *_, i_1, j_1, i_2, j_2 = loops
    else:
        i_1, i_2 = sch.split(loops[-2], [None, SIDE])
        j_1, j_2 = sch.split(loops[-1], [None, SIDE])
        sch.reorder(i_1, j_1, i_2, j_2)
    for loop in (i_1, j_1, i_2):
        sch.unroll(loop)
    sch.vectorize(j_2)


def _vectors(work: Work, copy: BlockHandle | str, lanes: int) -> bool:
    """Copy along the last loop in vectors, which do not cross tiles."""
    _, inner = work.sch.split(work.sch.get_loops(copy)[-1], [None, lanes])
    work.sch.vectorize(inner)
    return True


def in_turn(work: Work, copy: BlockHandle | str, roles: Roles, kind: str = "") -> bool:
    """Copy the lines that lie in turn, sixteen of each at once, or what lies beside each other in a column. `kind` is
    the dtype of the copies where it is another one."""
    sch, loops = work.sch, work.sch.get_loops(copy)
    group = 32 // roles.right.dtype.bits
    if roles.right.indices[-1] is roles.reduced[0].var:
        return _vectors(work, copy, group)
    if roles.right.indices[-2] is not roles.reduced[0].var or work.copied_once(roles.right.buffer):
        return False
    k_0, k_1 = sch.split(loops[-2], [None, group])
    j_0, j_1 = sch.split(loops[-1], [None, SIDE])
    sch.reorder(j_0, k_0, k_1, j_1)
    sch.tensorize(k_1, f"interleave_{group}x{SIDE}_{roles.right.dtype}{kind and '_' + kind}")
    return True


__all__ = ["LEAST", "in_turn", "multiplies_bytes", "tile_product"]
