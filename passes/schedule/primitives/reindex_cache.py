"""reindex, reindex_cache_read, reindex_cache_write: a copy that is laid out by the block's axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Expr, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import definitions, free_vars, rewrite, substitute, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt
from tirscript.ir.words import counted

from ...statements import reads_memory
from ..blocks import inferred, reads_of, writes_of
from ..dataflow import allocation, check_not_viewed, loads_of, scope_of, stores_of, top
from ..edit import Edit
from ..legality import check_covers, check_stores_always
from ..maps import index_map_of
from ..primitive import BlockAt, StorageScope, primitive
from ..tree import Place
from .cache import check_copied_before, check_copied_behind, chosen


@primitive
def reindex(edit: Edit, block: BlockAt, buffer: tuple[str, int | str] | str) -> Place:
    """Let a block access a copy of a buffer that is indexed by the block's axes alone; the block that copies.

    before:                                    after `reindex("C", ("read", "A"))`:
        with T.block("C"):                         with T.block("A_reindex"):
            vi, vk = ...                               A_reindex[v0, v1] = A[v0 + v1]
            C[vi] += A[vi + vk]                    with T.block("C"):
                                                       C[vi] += A_reindex[vi, vk]

    `buffer` is a name, or ("read", which) or ("write", which), counted or by name. The block must access one element
    in each instance.
    """
    if isinstance(buffer, str):
        read = any(one.name == buffer for one in reads_of(block.stmt))
        buffer = ("read" if read else "write", buffer)
    kind, which = buffer
    if kind not in ("read", "write"):
        edit.wrong(f"`buffer` names {kind!r}", hint='it is ("read", 0) or ("write", 0)')
    target, indices = _accessed(edit, block, which, read=kind == "read")
    places = tuple(axis.var for axis in block.stmt.axes if any(uses(index, axis.var) for index in indices))
    name = f"{target.name}_reindex"
    return _reindexed(edit, block, target, indices, places, name, target.scope, read=kind == "read")


@primitive
def reindex_cache_read(
    edit: Edit,
    block: BlockAt,
    read_buffer_index: int | str,
    storage_scope: StorageScope,
    index_map: IndexMap | Callable[..., Any],
) -> Place:
    """Let a block read a copy of a buffer that is laid out by its axes, as a map of them says; the block that copies.

    before:                       after `reindex_cache_read("C", "A", "local", lambda i, k: (k // 4, i, k % 4))`:
        with T.block("C"):            with T.block("A_local"):
            vi, vk = ...                  A_local[v1 // 4, v0, v1 % 4] = A[v0, v1]
            C[vi] += A[vi, vk]        with T.block("C"):
                                          C[vi] += A_local[vk // 4, vi, vk % 4]

    `index_map` takes the axes of the block to the indices of the copy, and must keep the elements that the block reads
    apart. The block must read one element in each instance.
    """
    return _mapped(edit, block, read_buffer_index, storage_scope, index_map, read=True)


@primitive
def reindex_cache_write(
    edit: Edit,
    block: BlockAt,
    write_buffer_index: int | str,
    storage_scope: StorageScope,
    index_map: IndexMap | Callable[..., Any],
) -> Place:
    """Let a block write to a copy that is laid out by its axes, as a map of them says; the block that copies it back.

    before:                       after `reindex_cache_write("B", 0, "local", lambda i, j: (j, i))`:
        with T.block("B"):            with T.block("B"):
            vi, vj = ...                  B_local[vj, vi] = A[vi, vj]
            B[vi, vj] = A[vi, vj]     with T.block("B_local"):
                                          B[v0, v1] = B_local[v1, v0]

    `index_map` takes the axes of the block to the indices of the copy, and must keep the elements that the block writes
    apart. The block must write one element in each instance.
    """
    return _mapped(edit, block, write_buffer_index, storage_scope, index_map, read=False)


def _mapped(
    edit: Edit,
    block: Place,
    which: int | str,
    storage_scope: StorageScope,
    given: IndexMap | Callable[..., Any],
    *,
    read: bool,
) -> Place:
    """The copy that a map of all axes lays out."""
    stmt: Block = block.stmt
    target, indices = _accessed(edit, block, which, read=read)
    has = f"the block has {counted(len(stmt.axes), 'axis')}"
    mapping = index_map_of(edit, given, stmt.axes[0].var.dtype, len(stmt.axes), has)
    vars_of = [cast(axis.var, param.dtype) for axis, param in zip(stmt.axes, mapping.params, strict=True)]
    places = mapping.apply(tuple(vars_of))
    name = f"{target.name}_{storage_scope.replace('.', '_') or 'cache'}"
    return _reindexed(edit, block, target, indices, places, name, storage_scope or "global", read=read)


def _accessed(edit: Edit, block: Place, which: int | str, *, read: bool) -> tuple[Buffer, tuple[Expr, ...]]:
    """The buffer that is copied, and the indices of the one element of it that the block accesses."""
    stmt: Block = block.stmt
    target = chosen(edit, block, reads_of(stmt) if read else writes_of(stmt), which, "reads" if read else "writes")
    check_not_viewed(edit, block, target)
    if not stmt.axes:
        edit.refuse(f"the block `{stmt.name}` has no axes", block)
    return target, _element(edit, block, target)


def _reindexed(
    edit: Edit,
    block: Place,
    target: Buffer,
    indices: tuple[Expr, ...],
    places: tuple[Expr, ...],
    copy_name: str,
    storage_scope: StorageScope,
    *,
    read: bool,
) -> Place:
    stmt: Block = block.stmt
    used = [axis for axis in stmt.axes if any(uses(index, axis.var) for index in (*indices, *places))]
    _check_map(edit, block, target, None if read else indices, places, used)
    shape = _shape(edit, block, places, used)
    copy = Buffer(copy_name, shape, target.dtype, scope=storage_scope)
    if read:
        if allocation(edit, target) is not None:
            # what was never written cannot be copied
            check_covers(edit, block)
        check_copied_before(edit, block, target, [block])
        _check_inside(edit, block, target, indices, used)
    else:
        if any(axis.kind != "spatial" for axis in used):
            edit.refuse(f"`{target.name}` is written along an axis that is not spatial", block)
        check_covers(edit, block)
        check_stores_always(edit, block, target)
        check_copied_behind(edit, block, target)

    def load(node: BufferLoad) -> Expr:
        return BufferLoad(copy, places, span=node.span) if node.buffer is target else node

    def store(node: BufferStore) -> BufferStore:
        return node.replace(buffer=copy, indices=places) if node.buffer is target else node

    rules: dict[type, Any] = {BufferLoad: load, BufferStore: store}
    # what a T.init reads of its result was there before the block
    begin: dict[type, Any] = rules if read else {BufferStore: store}
    moved = stmt.replace(body=rewrite(stmt.body, rules), init=None if stmt.init is None else rewrite(stmt.init, begin))
    name = edit.fresh_block_name(copy.name)
    nest = _copy(name, used, (target, indices), (copy, places), read)
    home = top(scope_of(edit, block), block)
    edit.replace(block, inferred(moved))
    edit.tree.insert(home, before=(nest,) if read else (), after=() if read else (nest,))
    edit.allocate(copy, edit.block(name))
    return edit.block(name)


def _element(edit: Edit, block: Place, target: Buffer) -> tuple[Expr, ...]:
    """The indices of the one element that an instance of the block accesses."""
    stmt: Block = block.stmt
    parts = (*(stmt.init or ()), *stmt.body)
    accesses: list[Any] = [*loads_of(parts, target), *stores_of(parts, target)]
    if not accesses:
        edit.refuse(f"the block `{stmt.name}` accesses `{target.name}` by other means than loads and stores", block)
    known = edit.analyzer(block, inside=True)
    own = set(definitions(parts))
    first: tuple[Expr, ...] = accesses[0].indices
    for access in accesses:
        apart = not all(known.prove_equal(a, b) for a, b in zip(first, access.indices, strict=True))
        if apart or access.predicate is not None or any(var in own for index in first for var in free_vars(index)):
            edit.refuse(
                f"the block `{stmt.name}` accesses `{target.name}` at several elements", (block, ""), (access, "here")
            )
    for index in first:
        if index.dtype.is_vector or reads_memory(index):
            edit.refuse(f"an index of `{target.name}` is a vector or read from memory", (block, ""), accesses[0])
    return first


def _extents(edit: Edit, used: list[Axis], block: Place) -> list[Expr]:
    for axis in used:
        if not is_const(axis.start, 0):
            edit.refuse(f"the axis `{axis.var.name}` does not begin at 0", (block, ""), axis)
    return [axis.stop for axis in used]


def _check_map(
    edit: Edit,
    block: Place,
    target: Buffer,
    indices: tuple[Expr, ...] | None,
    places: tuple[Expr, ...],
    used: list[Axis],
) -> None:
    """Refuse where two elements of the buffer may be at one place of the copy, or, where it is written, one at two."""
    if not used:
        edit.refuse(
            f"the block `{block.stmt.name}` accesses one element of `{target.name}` whatever its axes are", block
        )
    extents = _extents(edit, used, block)
    params = tuple(axis.var for axis in used)
    for one, what in ((places, "the map puts"), (indices, f"`{block.stmt.name}` has")):
        if one is not None and not IndexMap(params, tuple(one)).is_injective(extents):
            edit.refuse(f"it is not proved that {what} different axes at different elements of `{target.name}`", block)


def _shape(edit: Edit, block: Place, places: tuple[Expr, ...], used: list[Axis]) -> tuple[Expr, ...]:
    extents = _extents(edit, used, block)
    if places == tuple(axis.var for axis in used):
        return tuple(extents)
    known = edit.analyzer(block, inside=True)
    for index in places:
        if not known.can_prove(index >= const(0, index.dtype)):
            edit.refuse(f"the index `{index.script().strip()}` of the copy is not proved to be 0 or more", block)
    shape = IndexMap(tuple(axis.var for axis in used), places).map_shape(extents)
    if shape is None:
        edit.refuse("the shape of the copy is not known", block)
    return shape


def _check_inside(edit: Edit, block: Place, target: Buffer, indices: tuple[Expr, ...], used: list[Axis]) -> None:
    """Refuse where elements outside of the buffer would be copied that the block never reads."""
    known = Analyzer()
    for axis in used:
        known.enter_axis(axis)
    for index, dim in zip(indices, target.shape, strict=True):
        if not (known.can_prove(index >= const(0, index.dtype)) and known.can_prove(index < cast(dim, index.dtype))):
            edit.refuse(
                f"the index {index.script().strip()} of `{target.name}` is not proved to lie in it for all values of "
                "the axes",
                block,
            )


def _copy(
    name: str,
    used: list[Axis],
    source: tuple[Buffer, tuple[Expr, ...]],
    copy: tuple[Buffer, tuple[Expr, ...]],
    read: bool,
) -> Stmt:
    loops = [Var(f"ax{at}", axis.var.dtype) for at, axis in enumerate(used)]
    axes = tuple(
        Axis(Var(f"v{at}", axis.var.dtype), "spatial", axis.start, axis.stop, loop)
        for at, (axis, loop) in enumerate(zip(used, loops, strict=True))
    )
    values: dict[Var, Expr] = {old.var: new.var for old, new in zip(used, axes, strict=True)}
    there, here = ((buffer, substitute(indices, values)) for buffer, indices in (source, copy))
    target, origin = (here, there) if read else (there, here)
    stmt: Stmt = Block(name, axes, (BufferStore(*target, BufferLoad(*origin)),))
    for loop, axis in reversed(list(zip(loops, used, strict=True))):
        stmt = For(loop, axis.start, axis.stop, (stmt,))
    return stmt
