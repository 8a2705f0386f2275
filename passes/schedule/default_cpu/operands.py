"""Sums of products, or of anything else, whose operands are computed: what is computed of one side is made once.

Each part of a value that needs no column is the same for all of them, and each that needs no row for all of these. Such
parts become tensors of their own, those of the columns in the panels that a tile reads, and the block is a contraction
of plain tensors then: a product, or what else combines the two.

    pack T.exp(B[:, j_0 * 32 : j_0 * 32 + 32])
    left[:, :] = A[:, :] / S[:]
    12 x 2 vectors of the tile += left[i, k] * packed[k, j]
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tirscript.ir.expr import BufferLoad, Call, Expr, Var, is_const
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import free_vars, holds, walk

from ...statements import same_indices
from ..primitive import BlockHandle
from . import tiles
from .contraction import Made, Roles, tiled
from .elementwise import parallel
from .nests import Dim, Nest, factors, heavy, is_plain
from .reductions import line_of
from .work import Work

# operators of what a tile computes for each term: more are no matter of where operands lie
MOST = 12
# so few rows use what is computed for the columns at once, in registers
ONCE = 8
# rows for each of which it is made again rather than copied into panels, where the columns lie along the sums
AGAIN = 4
_SAME = frozenset((OPS["cast"], OPS["negative"]))


class Sides(Struct, frozen=True, eq=False):
    """What may be along vectors, what may be beside it, and the parts of the value that have to be made before."""

    columns: Dim
    rows: tuple[Dim, ...]
    parts: tuple[frozenset[Var], ...]


def operands_apart(work: Work, nest: Nest) -> bool:
    """Schedule a reduction whose terms combine what is computed of rows with what is computed of columns."""
    sides = sides_of(nest)
    if sides is None:
        return False
    row_vars = {dim.var for dim in sides.rows}
    own = any(sides.columns.var in part and not part & row_vars for part in sides.parts)
    rows = max(sides.rows, key=lambda dim: dim.extent)
    if rows.known and rows.extent <= (ONCE if own else 1) and (rows.extent < 2 or tiles.tile_of(work, nest)):
        return False
    if own and rows.known and rows.extent <= AGAIN and not heavy(nest.value) and line_of(work, nest) is not None:
        return False  # in lanes along the sums, what the columns need is quicker made for each row
    makers: list[BlockHandle] = []
    places = {axis.var: at for at, axis in enumerate(nest.block.axes)}
    for part in sides.parts:
        makers += work.sch.precompute(nest.name, sorted(places[var] for var in part))
    plain = work.nest(nest.name, symbolic=True)
    roles = roles_of(work, plain) if plain is not None else None
    if plain is None or roles is None or (rows.known and roles.rows.extent < 2):
        return False
    if len({load.buffer for load in _loads(plain.value)}) != len(_loads(plain.value)):
        return False
    by_buffer = {work.block(maker.name).body[0].buffer: maker for maker in makers}  # type: ignore[attr-defined]
    made = Made(by_buffer.get(roles.left.buffer), by_buffer.get(roles.right.buffer))
    if not tiled(work, plain, roles, made):
        return False
    for maker in makers:
        left = work.nest(maker, symbolic=True) if work.fresh(maker.name) else None
        if left is not None:
            work.attempt(parallel, left)
            work.done.add(maker.name)
    return True


def sides_of(nest: Nest) -> Sides | None:
    """The sides of a reduction, None where there are no two."""
    if nest.update is None or not nest.reduced or not nest.store.indices or nest.dtype.bits < 8:
        return None
    columns = nest.dim(nest.store.indices[-1])
    value = nest.update.value
    if columns is None or columns.reduces or any(nest.dim(index) is None for index in nest.store.indices):
        return None
    if any(type(node) is Call and node.op.effect != "pure" for node in walk(value)):
        return None
    loads = list(_outermost_loads(value))
    along = [load for load in loads if columns.var in free_vars(load)]
    beside = {var for load in along for var in free_vars(load)}
    rows = tuple(dim for dim in nest.spatial if dim.var not in beside)
    reduced = {dim.var for dim in nest.reduced}
    across = {var for load in loads if load not in along for var in free_vars(load)}
    if not rows or not reduced <= beside or not reduced <= across or not any(dim.var in across for dim in rows):
        return None
    axes = {dim.var for dim in nest.dims}
    # what several axes reach the same elements by, as windows do, would be written out many times
    indices = [index for node in walk(value) if type(node) is BufferLoad for index in node.indices]
    if any(len(axes.intersection(free_vars(index))) > 1 for index in indices):
        return None
    side = {dim.var for dim in rows}
    parts: dict[frozenset[Var], None] = {}
    combined = _parts(value, nest, axes, columns.var, side, parts)
    if combined is None or combined > MOST:
        return None
    for load in loads:  # a tensor on both sides is two operands
        used = frozenset(axes.intersection(free_vars(load)))
        if columns.var not in used and any(load.buffer is one.buffer for one in along):
            parts[used] = None
    if not parts and factors(value) is not None and len(loads) == 2:
        return None  # a contraction as it stands, refused
    return Sides(columns, rows, tuple(parts))


def _parts(
    node: Expr, nest: Nest, axes: set[Var], columns: Var, rows: set[Var], parts: dict[frozenset[Var], None]
) -> int | None:
    """How many operators combine both sides, None where it is not done by cheap ones; the parts that are no elements
    are added to `parts`."""
    used = frozenset(axes.intersection(free_vars(node)))
    if columns not in used or not rows & used:
        if not _is_simple(node, nest):
            if node.dtype.is_bool:
                return _below(node, nest, axes, columns, rows, parts)
            parts[used] = None
        return 0
    return _below(node, nest, axes, columns, rows, parts)


def _below(
    node: Expr, nest: Nest, axes: set[Var], columns: Var, rows: set[Var], parts: dict[frozenset[Var], None]
) -> int | None:
    if type(node) is not Call or node.dtype.is_vector:
        return None
    found = 1
    for arg in node.args:
        below = _parts(arg, nest, axes, columns, rows, parts)
        if below is None:
            return None
        found += below
    # a square is no dear power
    square = node.op is OPS["pow"] and is_const(node.args[1], 2)
    return None if heavy(node.replace(args=())) and not square else found


def _is_simple(node: Expr, nest: Nest) -> bool:
    """Whether a part is an element at plain axes, cast or not, or no matter of memory."""
    while type(node) is Call and node.op in _SAME:
        node = node.args[0]
    if type(node) is BufferLoad:
        return node.predicate is None and (not node.indices or (is_plain(node, nest) and _is_whole(node, nest)))
    return not holds(node, BufferLoad)


def _is_whole(load: BufferLoad, nest: Nest) -> bool:
    """Whether the axes that a tensor is read at go through all of it: else a copy is made of what they go through."""
    dims = [nest.dim(index) for index in load.indices]
    return all(dim is None or dim.axis.stop == size for dim, size in zip(dims, load.buffer.shape, strict=True))


def _outermost_loads(node: Expr) -> Iterator[BufferLoad]:
    if type(node) is BufferLoad:
        yield node
    elif type(node) is Call:
        for arg in node.args:
            yield from _outermost_loads(arg)


def _loads(value: Expr) -> list[BufferLoad]:
    """The elements that a value reads, each once."""
    found: list[BufferLoad] = []
    for load in _outermost_loads(value):
        if not any(load.buffer is one.buffer and same_indices(load.indices, one.indices) for one in found):
            found.append(load)
    return found


def roles_of(work: Work, nest: Nest) -> Roles | None:
    """What the axes of a reduction of plain tensors are; None where none of them has all that a side needs."""
    columns = nest.dim(nest.store.indices[-1])
    loads = [load for load in _loads(nest.value) if load.indices]
    if columns is None or not all(is_plain(load, nest) for load in loads):
        return None
    reduced = {dim.var for dim in nest.reduced}
    whole = [load for load in loads if reduced <= set(load.indices)]
    right = next((load for load in whole if columns.var in load.indices), None)
    beside = {dim.var for dim in nest.spatial if right is None or dim.var not in right.indices}
    left = next((load for load in whole if columns.var not in load.indices and beside & set(load.indices)), None)
    if left is None or right is None:
        return None
    rows = max((dim for dim in nest.spatial if dim.var in beside & set(left.indices)), key=lambda dim: dim.extent)
    if any(columns.var in load.indices and rows.var in load.indices for load in loads):
        return None
    outer = tuple(dim for dim in nest.spatial if dim is not rows and dim is not columns)
    order = nest.reduced
    if work.facts.reassociate or not nest.dtype.is_float:
        places = {index: at for at, index in enumerate(left.indices)}
        order = tuple(sorted(order, key=lambda dim: places[dim.var]))
    elif [dim.axis for dim in order] != [axis for axis in nest.block.axes if axis.kind == "reduce"]:
        return None
    product = nest.update is not None and nest.update.op is OPS["add"] and factors(nest.value) is not None
    return Roles(columns, rows, outer, order, left, right, mixed=not (product and len(loads) == 2))


__all__ = ["operands_apart", "sides_of"]
