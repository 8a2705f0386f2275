"""reindex, transform_block_layout: a block whose accesses, or axes, are in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Expr, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import as_expr, const
from tirscript.ir.rewrite import definitions, free_vars, rewrite, substitute, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ..blocks import inferred, reads_of, writes_of
from ..dataflow import is_viewed, loads_of, scope_of, stores_of, top
from ..edit import Edit
from ..legality import check_covers
from ..loops import plain
from ..maps import index_map_of
from ..primitive import BlockAt, primitive
from ..tree import Place
from .cache import check_copied_before, check_copied_behind, chosen


@primitive
def reindex(edit: Edit, block: BlockAt, buffer: tuple[str, int | str]) -> Place:
    """Let a block access a copy of a buffer that is indexed by the block's axes alone; the block that copies.

    before:                                    after `reindex("C", ("read", "A"))`:
        with T.block("C"):                         with T.block("A_reindex"):
            vi, vk = ...                               A_reindex[v0, v1] = A[v0 + v1]
            C[vi] += A[vi + vk]                    with T.block("C"):
                                                       C[vi] += A_reindex[vi, vk]

    `buffer` is ("read", which) or ("write", which), counted or by name. The block must access one element in each
    instance.
    """
    stmt: Block = block.stmt
    kind, which = buffer
    if kind not in ("read", "write"):
        edit.wrong(f"`buffer` names {kind!r}", hint='it is ("read", 0) or ("write", 0)')
    read = kind == "read"
    target = chosen(edit, block, reads_of(stmt) if read else writes_of(stmt), which, "reads" if read else "writes")
    if is_viewed(edit.func, target):
        edit.refuse(f"the memory of `{target.name}` is reached by a view, an address or a call", block)
    if read and target in writes_of(stmt):
        edit.refuse(f"the block `{stmt.name}` writes `{target.name}` too", block)
    parts = (*(stmt.init or ()), *stmt.body)
    accesses: list[Any] = [*loads_of(parts, target), *stores_of(parts, target)]
    first = accesses[0]
    for other in accesses[1:]:
        if not all(
            structural_equal(a, b, map_free_vars=False) for a, b in zip(first.indices, other.indices, strict=True)
        ):
            edit.refuse(
                f"the block `{stmt.name}` accesses `{target.name}` at several elements", (block, ""), (other, "here")
            )
    own = set(definitions(parts))
    for index in first.indices:
        if any(var in own for var in free_vars(index)):
            edit.refuse(
                f"the block `{stmt.name}` accesses `{target.name}` at several elements", (block, ""), (first, "here")
            )
    axes = [axis for axis in stmt.axes if any(uses(index, axis.var) for index in first.indices)]
    if not axes:
        edit.refuse(f"the block `{stmt.name}` accesses one element of `{target.name}` whatever its axes are", block)
    if read:
        check_copied_before(edit, block, target, [block])
    else:
        check_covers(edit, block)
        check_copied_behind(edit, block, target)
    shape = tuple(axis.stop - axis.start if not _zero(axis.start) else axis.stop for axis in axes)
    copy = Buffer(f"{target.name}_reindex", shape, target.dtype, scope=target.scope)
    places = tuple(axis.var if _zero(axis.start) else axis.var - axis.start for axis in axes)

    def load(node: BufferLoad) -> Expr:
        return BufferLoad(copy, places, span=node.span) if node.buffer is target else node

    def store(node: BufferStore) -> BufferStore:
        return node.replace(buffer=copy, indices=places) if node.buffer is target else node

    moved = stmt.replace(
        body=rewrite(stmt.body, {BufferLoad: load, BufferStore: store}),
        init=None if stmt.init is None else rewrite(stmt.init, {BufferLoad: load, BufferStore: store}),
    )
    name = edit.fresh_block_name(copy.name)
    nest = _copy(name, axes, target, copy, first.indices, places, read)
    scope = scope_of(edit, block)
    home = top(scope, block)
    edit.replace(block, inferred(moved))
    edit.tree.insert(home, before=(nest,) if read else (), after=() if read else (nest,))
    edit.allocate(copy, edit.block(name))
    return edit.block(name)


def _zero(expr: Expr) -> bool:
    return is_const(expr, 0)


def _copy(
    name: str,
    axes: list[Axis],
    target: Buffer,
    copy: Buffer,
    indices: tuple[Expr, ...],
    places: tuple[Expr, ...],
    read: bool,
) -> Stmt:
    loops: list[tuple[Var, Axis]] = []
    made: list[Axis] = []
    values: dict[Var, Expr] = {}
    for at, axis in enumerate(axes):
        loop = Var(f"ax{at}", axis.var.dtype)
        var = Var(f"v{at}", axis.var.dtype)
        loops.append((loop, axis))
        values[axis.var] = var
        made.append(Axis(var, "spatial", axis.start, axis.stop, loop))
    there = tuple(substitute(index, values) for index in indices)
    here = tuple(substitute(place, values) for place in places)
    if read:
        body = BufferStore(copy, here, BufferLoad(target, there))
    else:
        body = BufferStore(target, there, BufferLoad(copy, here))
    stmt: Stmt = Block(name, tuple(made), (body,))
    for loop, axis in reversed(loops):
        stmt = For(loop, axis.start, axis.stop, (stmt,))
    return stmt


@primitive
def transform_block_layout(edit: Edit, block: BlockAt, index_map: IndexMap | Callable[..., Any]) -> None:
    """Give a block other axes, and loops over them: `index_map` takes the old axes to the new ones, one to one.

    before:                                    after `transform_block_layout("B", lambda i, j: (i * 8 + j,))`:
        for i, j in T.grid(4, 8):                  for ax0 in range(32):
            with T.block("B"):                         with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])        v0 = T.axis.spatial(32, ax0)
                B[vi, vj] = A[vi, vj]                      B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]
    """
    stmt: Block = block.stmt
    loops = block.loops()
    for place in loops:
        plain(edit, place, "transformed")
        if len(place.stmt.body) != 1:
            edit.refuse(f"the loop `{place.stmt.var.name}` holds more than the block `{stmt.name}`", place)
    if [axis.value for axis in stmt.axes] != [place.stmt.var for place in loops] or stmt.predicate is not None:
        edit.refuse(
            f"the axes of the block `{stmt.name}` are not its loops one by one",
            block,
            hint="transform the block before its loops are split, fused or reordered",
        )
    kinds = {axis.kind for axis in stmt.axes}
    if len(kinds) != 1 or not kinds <= {"spatial", "reduce"}:
        edit.refuse(f"the axes of the block `{stmt.name}` are of several kinds", block)
    check_covers(edit, block)
    mapping = index_map_of(edit, index_map, stmt.axes[0].var.dtype)
    if len(mapping.params) != len(stmt.axes):
        edit.wrong(f"the index map takes {len(mapping.params)} indices, and the block has {len(stmt.axes)} axes")
    if not all(_zero(axis.start) for axis in stmt.axes):
        edit.refuse("an axis of the block does not begin at 0", block)
    extents = [axis.stop for axis in stmt.axes]
    shape, back = mapping.map_shape(extents), mapping.inverse_of(extents)
    if shape is None or back is None or not mapping.is_bijective(extents):
        edit.refuse("the map is not known to take the axes to new ones one to one", block)
    dtype = stmt.axes[0].var.dtype
    fresh = [Var(f"v{at}", dtype) for at in range(len(shape))]
    at_place = {param: var.astype(param.dtype) for var, param in zip(fresh, back.params, strict=True)}
    values = {
        axis.var: substitute(value, at_place).astype(axis.var.dtype)
        for axis, value in zip(stmt.axes, back.indices, strict=True)
    }
    loop_vars = [Var(f"ax{at}", dtype) for at in range(len(shape))]
    sizes = [as_expr(size, dtype) if not isinstance(size, Expr) else size.astype(dtype) for size in shape]
    axes = tuple(
        Axis(var, stmt.axes[0].kind, const(0, dtype), size, loop)
        for var, size, loop in zip(fresh, sizes, loop_vars, strict=True)
    )
    bare = substitute(stmt.replace(axes=()), values)
    made: Stmt = bare.replace(axes=axes)
    for loop, size in reversed(list(zip(loop_vars, sizes, strict=True))):
        made = For(loop, const(0, dtype), size, (made,))
    edit.replace(loops[0], made)
