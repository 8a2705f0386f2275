"""Products of matrices of bytes, added up in 32 bits, by instructions that multiply whole tiles.

Both operands are copied into tiles as the instruction takes them: 16 rows of 64 bytes, and 16 lines in which four lines
of the operand lie in turn. Four tiles of results stay in registers while the reduction runs.

pack B[k, j] at (j // 16, k // 64, k % 64 // 4, j % 16, k % 4)
for i_0 in T.parallel(m // 32):
    pack A[i, k] at (i // 16, k // 64, i % 16, k % 64)
    for j_0 in range(n // 32):
        for k_0 in range(K // 64): 2 x 2 tiles += A[i, k] * B[k, j]
        store the tiles

Where the rows are few, or the columns' operand is large and larger than the other, the columns come first, and all of A
is packed before.
"""

from __future__ import annotations

from tirscript.ir.dtype import INT32
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS

from ..primitive import BlockHandle
from .contraction import SECOND_CACHE, Roles, nest_loop, result_of, roles_of
from .nests import Nest, indices_of
from .work import Work, only_reader

# rows and columns of a tile, and the terms of a sum that it takes at once
SIDE, DEPTH = 16, 64
# products that are worth the copies
LEAST = 1 << 15


def byte_product(work: Work, nest: Nest) -> bool:
    """Schedule a product of bytes where the processor has tiles; False for other blocks."""
    roles = roles_of(work, nest) if work.facts.tiles and nest.dtype is INT32 and nest.instances >= LEAST else None
    if roles is None or len(roles.reduced) != 1 or not all(dim.known for dim in nest.dims):
        return False
    if not multiplies_bytes(nest) or min(roles.rows.extent, roles.columns.extent) < SIDE // 2:
        return False
    if roles.reduced[0].extent < DEPTH // 2:
        return False
    reader = only_reader(work, nest)
    if reader is not None and work.attempt(_scheduled, nest, reader):
        return True
    return work.attempt(_scheduled, nest, None)


def multiplies_bytes(nest: Nest) -> bool:
    """Whether what is added up is the product of two bytes, each as a number of 32 bits."""
    value = nest.value
    return type(value) is Call and value.op is OPS["mul"] and all(map(_is_byte, value.args))


def _is_byte(value: Expr) -> bool:
    if type(value) is not Call or value.op is not OPS["cast"] or value.dtype is not INT32:
        return False
    element = value.args[0]
    return type(element) is BufferLoad and element.dtype.is_int and element.dtype.bits == 8


def _scheduled(work: Work, nest: Nest, reader: BlockHandle | None) -> bool:
    """The schedule; the only `reader` of the result takes it where it is."""
    sch, name = work.sch, nest.name
    roles = roles_of(work, nest)
    assert roles is not None
    rows, columns = (SIDE if dim.extent <= SIDE else 2 * SIDE for dim in (roles.rows, roles.columns))
    pads = {id(roles.rows): rows, id(roles.columns): columns, id(roles.reduced[0]): DEPTH}
    by_axis = {dim.axis.var: pads.get(id(dim), 1) for dim in nest.dims}
    sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    sch.pad_einsum(name, [by_axis[axis.var] for axis in nest.block.axes])
    padded = not (roles.rows.divides(rows) and roles.columns.divides(columns))
    plain = work.nest(name)
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
    k_0, k_1 = sch.split(loops[id(tiled.reduced[0])], [None, DEPTH])
    outer = [loops[id(dim)] for dim in tiled.outer]
    # rows first where these are enough for all threads, and what they read again and again is the smaller operand or in
    # the second cache: a thread copies its rows as it comes to them
    small = tiled.columns.extent <= tiled.rows.extent or tiled.columns.extent * tiled.reduced[0].extent <= SECOND_CACHE
    by_rows = small and not outer and (work.extent(i_0) or 1) >= 4 * work.facts.threads
    first, second = (i_0, j_0) if by_rows else (j_0, i_0)
    sch.reorder(*outer, first, second, k_0, i_1, j_1, i_2, j_2, k_1)
    for copy in (stored, result):
        sch.reverse_compute_at(copy, second)
    for maker in (name, stored):
        sch.set_scope(maker, 0, "local")
    if by_rows:
        sch.compute_at(left, i_0)
    sch.transform_layout(name, ("write", 0), _results(plain, tiled))
    sch.transform_layout(left, ("write", 0), _rows(tiled))
    sch.transform_layout(right, ("write", 0), _lines(tiled))
    sch.decompose_reduction(name, k_0)
    signs = "_".join(str(load.dtype) for load in (tiled.left, tiled.right))
    sch.tensorize(i_2, f"dot_{SIDE}x{SIDE}x{DEPTH}_{signs}_amx")
    for loop in (i_1, j_1):
        sch.unroll(loop)
    _tile_by_tile(work, f"{name}_init", tiled)
    _tile_by_tile(work, stored.name, tiled)
    work.attempt(_vectors, left, DEPTH)
    work.attempt(in_turn, right, tiled)
    work.attempt(_vectors, result, SIDE)
    work.parallel([i_0] if by_rows else [*outer, j_0, i_0], float(nest.instances) / 16)
    made = {name, left.name, right.name, stored.name}
    made |= {f"{one}_o" for one in made} | {f"{name}_init", f"{name}_update_o", result.name}
    work.done |= made
    for copy in work.blocks():
        if copy.name.removesuffix("_o") in ((right.name,) if by_rows else (left.name, right.name)):
            work.parallel(sch.get_loops(copy)[:1], float(nest.instances / 16))
    return True


def _packed(work: Work, name: str, load: BufferLoad) -> BlockHandle:
    """The block that copies an operand; it pads where that is wanted."""
    copy: BlockHandle = work.sch.cache_read(name, load.buffer.name, "global", [name])
    return copy


def _rows(roles: Roles) -> IndexMap:
    """Tiles of the operand of the rows."""
    places = dict(zip(roles.left.indices, given := indices_of(len(roles.left.indices)), strict=True))
    i, k = places.pop(roles.rows.var), places.pop(roles.reduced[0].var)
    return IndexMap(given, (*places.values(), i // SIDE, k // DEPTH, i % SIDE, k % DEPTH))


def _lines(roles: Roles) -> IndexMap:
    """Tiles of the operand of the columns, four lines in turn."""
    places = dict(zip(roles.right.indices, given := indices_of(len(roles.right.indices)), strict=True))
    j, k = places.pop(roles.columns.var), places.pop(roles.reduced[0].var)
    return IndexMap(given, (*places.values(), j // SIDE, k // DEPTH, k % DEPTH // 4, j % SIDE, k % 4))


def _results(nest: Nest, roles: Roles) -> IndexMap:
    """Tiles of the result, each in one line."""
    places = dict(zip(nest.store.indices, given := indices_of(len(nest.store.indices)), strict=True))
    i, j = places.pop(roles.rows.var), places.pop(roles.columns.var)
    return IndexMap(given, (*places.values(), i // SIDE, j // SIDE, i % SIDE * SIDE + j % SIDE))


def _tile_by_tile(work: Work, block: str, roles: Roles) -> None:
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


def _vectors(work: Work, copy: BlockHandle, lanes: int) -> bool:
    """Copy along the last loop in vectors, which do not cross tiles."""
    _, inner = work.sch.split(work.sch.get_loops(copy)[-1], [None, lanes])
    work.sch.vectorize(inner)
    return True


def in_turn(work: Work, copy: BlockHandle, roles: Roles) -> bool:
    """Copy four lines of sixteen at once, or four elements where these lie beside each other."""
    sch, loops = work.sch, work.sch.get_loops(copy)
    if roles.right.indices[-1] is roles.reduced[0].var:
        return _vectors(work, copy, 4)
    at = next(place for place, index in enumerate(roles.right.indices) if index is roles.reduced[0].var)
    if at != len(loops) - 2:
        return False
    k_0, k_1 = sch.split(loops[-2], [None, 4])
    j_0, j_1 = sch.split(loops[-1], [None, SIDE])
    sch.reorder(j_0, k_0, k_1, j_1)
    sch.tensorize(k_1, f"interleave_4x{SIDE}_{roles.right.dtype}")
    return True


__all__ = ["LEAST", "byte_product", "in_turn", "multiplies_bytes"]
