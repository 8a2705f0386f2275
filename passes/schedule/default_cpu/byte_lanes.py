"""Products of matrices of bytes, added up in 32 bits, by instructions that add up neighbours in the lanes of a vector.

They are for processors without instructions for whole tiles: VNNI adds up four products in each lane, others two. The
operand of the columns is copied so that four elements of a column lie beside each other; a tile of results stays in
registers while the reduction runs.

pack B[k, j] at (j // columns, k // 4, j % columns, k % 4)
for j_0 in T.parallel(n // columns):
    for i_0 in range(m // 4):
        for k_0 in range(K // 16): four rows of vectors += A[i, k] * B[k, j], four k at a time
        store the tile
"""

from __future__ import annotations

from tirscript.ir.expr import BufferLoad, Var
from tirscript.ir.index_map import IndexMap

from ..primitive import BlockHandle
from .contraction import Roles, maker_of, nest_loop, result_of, roles_of, rounded_up
from .nests import Nest, indices_of
from .panels import vector_copy
from .reductions import lanes_apart
from .tile_products import LEAST, in_turn, multiplies_bytes
from .work import Work, only_reader

# neighbours that an instruction adds up, and how often the body of the innermost reduction loop is repeated
GROUP, REPEATED = 4, (4, 2, 1)
# rows of a tile, each of them a vector register for each vector of columns
ROWS = 4


def byte_lanes(work: Work, nest: Nest) -> bool:
    """Schedule a product of bytes by the instructions that the facts name; False for other blocks."""
    if not work.facts.dots or not multiplies_bytes(nest) or nest.instances < LEAST:
        return False
    roles = roles_of(work, nest)
    if roles is None or len(roles.reduced) != 1:
        return False
    if roles.rows.extent < ROWS or roles.columns.extent < work.facts.lanes(32):
        return False  # the copy would take longer than what it saves
    if roles.reduced[0].extent < GROUP * GROUP:
        return False
    if not roles.rows.known and not roles.outer:  # the copy is not for one row alone
        if not work.facts.long_lines:
            return False
        work.long_from(work.sch.get(roles.rows.loop).stop, ROWS)
    reader = only_reader(work, nest)
    if reader is not None and work.attempt(in_lanes, nest, reader):
        return True
    return work.attempt(in_lanes, nest, None)


def in_lanes(work: Work, nest: Nest, reader: BlockHandle | None) -> bool:
    """The schedule; the only `reader` of the result takes it where it is."""
    sch, name, lanes = work.sch, nest.name, work.facts.lanes(32)
    roles = roles_of(work, nest)
    assert roles is not None
    most = 4 if work.facts.registers >= 32 else 2
    vectors = next(
        count for count in (4, 2, 1) if count <= most and (count == 1 or roles.columns.extent > count * lanes // 2)
    )
    rows, columns = ROWS, vectors * lanes
    pads = {id(roles.rows): rows, id(roles.columns): columns, id(roles.reduced[0]): GROUP}
    by_axis = {dim.axis.var: pads.get(id(dim), 1) for dim in nest.dims}
    sch.reorder(*[nest_loop(nest, axis.var) for axis in nest.block.axes])
    sch.pad_einsum(name, [by_axis[axis.var] for axis in nest.block.axes])
    odd = rounded_up(work, nest)
    plain = work.nest(name, symbolic=True)
    tiled = roles_of(work, plain) if plain is not None else None
    if plain is None or tiled is None:
        return False
    right = _copy(work, name, roles.right, tiled.right)
    padded = None
    if tiled.right.buffer is not roles.right.buffer and tiled.right.indices[-1] is tiled.columns.var:
        if not work.copied_once(roles.right.buffer):  # lines are copied in turn by vectors, which ask no conditions
            padded, right = right, _apart(work, name, tiled.right)
    left = None if _lies_in_lines(roles, odd) else _copy(work, name, roles.left, tiled.left)
    kinds = [str(load.dtype) for load in (tiled.left, tiled.right)]
    flipped, rest = "", None
    if work.facts.dots == "vnni" and kinds[0] == kinds[1]:  # its instruction multiplies bytes of different signs
        rest = sch.flip_signedness(right)
        flipped = kinds[1] = "uint8" if kinds[0] == "int8" else "int8"
    result = result_of(work, plain, reader, bool(odd & {roles.rows.var, roles.columns.var}))
    loops = {id(dim): dim.loop for dim in plain.dims}
    depth = tiled.reduced[0].extent // GROUP if tiled.reduced[0].known else 1
    i_0, i_1 = sch.split(loops[id(tiled.rows)], [None, rows])
    j_0, j_1, j_2 = sch.split(loops[id(tiled.columns)], [None, vectors, lanes])
    k_0, k_1, k_2 = sch.split(loops[id(tiled.reduced[0])], [None, next(n for n in REPEATED if depth % n == 0), GROUP])
    outer = [loops[id(dim)] for dim in tiled.outer]
    sch.reorder(*outer, j_0, i_0, k_0, k_1, i_1, j_1, j_2, k_2)
    sch.reverse_compute_at(result, i_0)
    sch.set_scope(name, 0, "local")
    sch.transform_layout(right, ("write", 0), _panels(tiled, columns))
    if left is not None:
        sch.transform_layout(left, ("write", 0), _lines(tiled))
    sch.decompose_reduction(name, k_0)
    *_, row, vector, lane = sch.get_loops(f"{name}_init")
    sch.vectorize(lane)
    sch.tensorize(j_2, f"dot_{lanes}x{GROUP}_{'_'.join(kinds)}_{work.facts.dots}")
    for loop in (row, vector, k_1, i_1, j_1):
        sch.unroll(loop)
    work.attempt(in_turn, right, tiled, flipped)
    if padded is not None:
        work.attempt(vector_copy, padded, work.facts.lanes(8))
    copies = {copy.name for copy in (left, right, padded) if copy is not None}
    for block in work.blocks():
        if block.name.removesuffix("_o") in copies:
            work.parallel(work.sch.get_loops(block)[:1], float(nest.instances) / 16)
    work.attempt(vector_copy, result, lanes)
    work.parallel([*outer, j_0, i_0], nest.work)
    sums = work.nest(rest.name, symbolic=True) if rest is not None else None
    if sums is not None:
        work.attempt(lanes_apart, sums)
    made = {name, *copies}
    work.done |= {*made, *(f"{one}_o" for one in made), f"{name}_init", f"{name}_update_o", result.name}
    return True


def _copy(work: Work, name: str, given: BufferLoad, load: BufferLoad) -> BlockHandle:
    """The block that copies an operand: that of its padding, or a new one."""
    if load.buffer is not given.buffer:
        return maker_of(work, name, load.buffer.name)
    return _apart(work, name, load)


def _apart(work: Work, name: str, load: BufferLoad) -> BlockHandle:
    """A block that copies an operand by axes: what makes the operand may do that in another order."""
    axes = [axis.var for axis in work.block(name).axes]
    copied = IndexMap(tuple(axes), load.indices)
    copy: BlockHandle = work.sch.reindex_cache_read(name, load.buffer.name, "global", copied)
    used = [var for var in axes if any(index is var for index in load.indices)]
    order = tuple(index for index in load.indices if type(index) is Var)
    if list(order) != used:
        work.sch.transform_block_layout(copy, IndexMap(tuple(used), order))
    return copy


def _lies_in_lines(roles: Roles, odd: set[Var]) -> bool:
    """Whether the operand of the rows is read as it lies: neighbours in the reduction beside each other."""
    load = roles.left
    padded = odd & {roles.rows.var, roles.reduced[0].var}
    return not padded and load.indices[-1] is roles.reduced[0].var and load.buffer.strides is None


def _panels(roles: Roles, columns: int) -> IndexMap:
    """Panels of the operand of the columns, four lines in turn."""
    places = dict(zip(roles.right.indices, given := indices_of(len(roles.right.indices)), strict=True))
    j, k = places.pop(roles.columns.var), places.pop(roles.reduced[0].var)
    return IndexMap(given, (*places.values(), j // columns, k // GROUP, j % columns, k % GROUP))


def _lines(roles: Roles) -> IndexMap:
    """Lines along the reduction of the operand of the rows."""
    places = dict(zip(roles.left.indices, given := indices_of(len(roles.left.indices)), strict=True))
    k = places.pop(roles.reduced[0].var)
    return IndexMap(given, (*places.values(), k))


__all__ = ["GROUP", "ROWS", "byte_lanes", "in_lanes"]
