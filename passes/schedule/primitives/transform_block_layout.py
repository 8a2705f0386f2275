"""transform_block_layout: a block with other axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.presburger import MappedDomain
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Call, Expr, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS, const
from tirscript.ir.rewrite import free_vars, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Axis, Block, For, Stmt
from tirscript.ir.words import counted

from ...layout import with_dtype
from ..edit import Edit
from ..legality import check_covers
from ..loops import axis_loops
from ..maps import index_map_of
from ..primitive import BlockAt, primitive
from ..reducers import update_of
from ..tree import Place

# what a size of 32 bits may be rounded up by, as pad_einsum does: no memory has sizes that are as great as that
ROUNDED = 1 << 16


@primitive
def transform_block_layout(edit: Edit, block: BlockAt, index_map: IndexMap | Callable[..., Any]) -> None:
    """Give a block other axes, and loops over them: `index_map` takes the old axes to the new ones, one to one.

    before:                                    after `transform_block_layout("B", lambda i, j: (i * 8 + j,))`:
        for i, j in T.grid(4, 8):                  for ax0 in range(32):
            with T.block("B"):                         with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])        v0 = T.axis.spatial(32, ax0)
                B[vi, vj] = A[vi, vj]                      B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]

    A new axis is made of old ones that are all spatial, or all of a reduction.
    """
    stmt: Block = block.stmt
    loops = axis_loops(edit, block, "transformed")
    strange = next((axis for axis in stmt.axes if axis.kind not in ("spatial", "reduce")), None)
    if strange is not None or not stmt.axes:
        edit.refuse(f"the block `{stmt.name}` has an axis that is neither spatial nor of a reduction, or none", block)
    for place in loops:
        other = next((one for one in loops if uses(place.stmt.stop, one.stmt.var)), None)
        if other is not None:
            edit.refuse(f"the extent of `{place.stmt.var.name}` depends on `{other.stmt.var.name}`", place)
    check_covers(edit, block)
    widest = max((axis.var.dtype for axis in stmt.axes), key=lambda dtype: dtype.bits)
    mapping = index_map_of(edit, index_map, widest, len(stmt.axes), f"the block has {counted(len(stmt.axes), 'axis')}")
    kinds = [_kind(edit, block, mapping, index) for index in mapping.indices]
    if not all(is_const(axis.start, 0) for axis in stmt.axes):
        edit.refuse("an axis of the block does not begin at 0", block)
    extents = [axis.stop for axis in stmt.axes]
    shape, back = mapping.map_shape(extents), mapping.inverse_of(extents)
    if shape is None or back is None or not (mapping.is_bijective(extents) or _fills(edit, mapping, extents, shape)):
        collision = MappedDomain(mapping, extents).collision()
        edit.refuse(
            "the map is not known to take the axes to new ones one to one",
            block,
            notes=[] if collision is None else [str(collision)],
        )
    _check_order(edit, block, mapping, kinds, shape)
    dtypes = [place.dtype for place in mapping.with_dtypes([axis.var.dtype for axis in stmt.axes]).indices]
    fresh = [Var(f"v{at}", dtype) for at, dtype in enumerate(dtypes)]
    values = {
        axis.var: _from_places(back, value, fresh, axis.var.dtype)
        for axis, value in zip(stmt.axes, back.indices, strict=True)
    }
    loop_vars = [Var(f"ax{at}", dtype) for at, dtype in enumerate(dtypes)]
    sizes = [with_dtype(size, dtype) for size, dtype in zip(shape, dtypes, strict=True)]
    axes = tuple(
        Axis(var, kind, const(0, var.dtype), size, loop)
        for var, kind, size, loop in zip(fresh, kinds, sizes, loop_vars, strict=True)
    )
    bare = substitute(stmt.replace(axes=()), values)
    made: Stmt = _simplified(bare, axes).replace(axes=axes)
    for loop, size in reversed(list(zip(loop_vars, sizes, strict=True))):
        made = For(loop, const(0, loop.dtype), size, (made,))
    edit.replace(loops[0], made)


def _from_places(back: IndexMap, value: Expr, places: list[Var], dtype: DType) -> Expr:
    """An old axis by the new ones, in their dtype where they all have that of the axis."""
    given = dict(zip(back.params, places, strict=True))
    if {place.dtype for param, place in given.items() if uses(value, param)} == {dtype}:
        back = IndexMap(back.params, (value,)).with_dtype(dtype)
        return substitute(back.indices[0], dict(zip(back.params, places, strict=True)))
    return substitute(value, {param: place.astype(param.dtype) for param, place in given.items()}).astype(dtype)


def _check_order(edit: Edit, block: Place, mapping: IndexMap, kinds: list[str], shape: tuple[Expr, ...]) -> None:
    """Refuse where the points of a reduction would come in another order, and its result may depend on that."""
    stmt: Block = block.stmt
    if update_of(stmt) is not None:
        return
    known = Analyzer()
    zero: Expr = const(0, mapping.params[0].dtype)
    old, new = zero, zero
    for axis, param in zip(stmt.axes, mapping.params, strict=True):
        if axis.kind == "reduce":
            known.bind(param, (const(0, param.dtype), axis.extent))
            old = old * axis.extent.astype(old.dtype) + param.astype(old.dtype)
    for kind, index, size in zip(kinds, mapping.indices, shape, strict=True):
        if kind == "reduce":
            new = new * size.astype(new.dtype) + index.astype(new.dtype)
    if not known.prove_equal(old, new):
        edit.refuse(f"the result of `{stmt.name}` may depend on the order of its reduction, which would change", block)


def _simplified(stmt: Block, axes: tuple[Axis, ...]) -> Block:
    """The block with what is divided that was made of several axes: `(v0 * 16 + v1) // 16` is `v0`."""
    known = Analyzer()
    for axis in axes:
        known.enter_axis(axis)

    def divided(node: Call) -> Expr:
        return known.simplify(node) if type(node.args[0]) is Call else node

    found: Block = rewrite(stmt, {Call: lambda node: divided(node) if node.op in _DIVISIONS else node})
    return found


_DIVISIONS = (OPS["floordiv"], OPS["floormod"])


def _fills(edit: Edit, mapping: IndexMap, extents: list[Expr], shape: tuple[Expr, ...]) -> bool:
    """Whether the map is one to one and its image all of a shape, where sizes of memory can be rounded up."""
    sizes = {dim for node in walk(edit.func) if type(node) is Buffer for dim in node.shape if type(dim) is Var}
    known = {var for extent in extents for var in free_vars(extent) if var in sizes and var.dtype.bits == 32}
    ranges = {var: (0, var.dtype.int_range()[1] - ROUNDED) for var in known}
    return bool(ranges) and bool(MappedDomain(mapping, extents, ranges).is_bijective(shape))


def _kind(edit: Edit, block: Place, mapping: IndexMap, index: Expr) -> str:
    """The kind of the axis that an index of the map makes; refused where it is made of several kinds."""
    used = {axis.kind for axis, param in zip(block.stmt.axes, mapping.params, strict=True) if uses(index, param)}
    if len(used) > 1:
        edit.refuse(f"the new axis `{index.script().strip()}` would be of several kinds", block)
    return used.pop() if used else "spatial"
