"""reverse_compute_inline: a consumer is computed where its input is made."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import cast, get_op
from tirscript.ir.rewrite import distinct, free_vars, rewrite, substitute, walk
from tirscript.ir.stmt import Block, BufferStore, If, Stmt

from ...statements import conjunction, has_effect
from ..blocks import inferred, reads_of, writes_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    common,
    is_viewed,
    left_behind,
    loads_of,
    readers,
    scope_of,
    writers,
)
from ..edit import Edit
from ..legality import check_covers, check_makes_all, check_stores_always
from ..moving import allocate_before, axes_of_indices
from ..primitive import BlockAt, primitive
from ..removal import remove
from ..tree import Place


@primitive
def reverse_compute_inline(edit: Edit, block: BlockAt) -> None:
    """Let the block that makes what this one reads store its result instead, and take this block and the buffer away.

    before:                                    after `reverse_compute_inline("C")`:
        with T.block("B"):                         with T.block("B"):
            B[vi] = A[vi] * 2.0                        C[vi] = T.max(A[vi] * 2.0, 0.0)
        with T.block("C"):
            C[vi] = T.max(B[vi], 0.0)

    The block must read one element of one buffer that only another block writes, all that is read of it, at indices
    that are axes or a one-to-one map of all axes to the buffer, and store one element for each.
    """
    stmt: Block = block.stmt
    store = _single_store(edit, block)
    buffer, producer, load = _input(edit, block)
    scope = scope_of(edit, block)
    maker: Block = producer.stmt
    made = _only_store(edit, block, producer, buffer)
    check_covers(edit, block)
    check_covers(edit, producer)
    check_stores_always(edit, producer, buffer)
    _inputs_ready(edit, block, producer, scope, buffer)
    values, conditions = _axes_at(edit, block, producer, load, made.indices)
    check_makes_all(edit, block, producer, values)

    def put(node: BufferLoad) -> Expr:
        return distinct(made.value) if node.buffer is buffer else node

    result = rewrite(substitute(store.value, values), {BufferLoad: put})
    new: Stmt = BufferStore(
        store.buffer, tuple(substitute(index, values) for index in store.indices), result, span=store.span
    )
    guard = conjunction(conditions)
    if guard is not None:
        new = If(guard, (new,), span=store.span)
    body = rewrite(maker.body, {BufferStore: lambda node: new if node.buffer is buffer else node})
    edit.replace(producer, inferred(maker.replace(body=body)))
    remove(edit, edit.block(stmt.name))
    home = allocation(edit, buffer)
    assert home is not None
    edit.replace(home)
    allocate_before(edit, store.buffer, edit.block(maker.name))


def _only_store(edit: Edit, block: Place, producer: Place, buffer: Buffer) -> BufferStore:
    """The store that makes an element of the buffer once and for all; refused where there is none."""
    maker: Block = producer.stmt
    made = [node for node in walk(maker.body, BufferStore) if node.buffer is buffer]
    if len(made) != 1 or maker.init is not None or any(axis.kind == "reduce" for axis in maker.axes):
        edit.refuse(
            f"the block `{maker.name}`, which makes `{buffer.name}`, is a reduction or stores several times",
            (block, ""),
            (producer, "this block"),
            hint="a value is known only when its reduction is done: fuse_reduction_epilogue, or reverse_compute_at",
        )
    if made[0].predicate is not None or any(node is buffer for node in walk(made[0].value)):
        edit.refuse(f"the block `{maker.name}` stores under a mask or reads what it writes", (producer, ""))
    return made[0]


def _axes_at(
    edit: Edit, block: Place, producer: Place, load: BufferLoad, places: Sequence[Expr]
) -> tuple[dict[Var, Expr], list[Expr]]:
    """What the axes of a block are where it reads the element at `places`, in terms of the block that makes it, and the
    conditions under which there is such an iteration; those that are proved are left out."""
    stmt: Block = block.stmt
    values = by_places(edit, block, load, places)
    axes: list[Var | None] = [None] * len(places)
    if values is None:
        axes = axes_of_indices(edit, block, load.indices, f"read of `{load.buffer.name}`")
        values = {}
        for var, index in zip(axes, places, strict=True):
            if var is not None:
                values[var] = index if index.dtype is var.dtype else index.astype(var.dtype)
    known = edit.analyzer(producer, inside=True)
    conditions: list[Expr] = []
    for axis in stmt.axes:
        if axis.var in values:
            for condition in (values[axis.var] >= axis.start, values[axis.var] < axis.stop):
                if not known.can_prove(condition):
                    conditions.append(condition)
        elif known.can_prove(get_op("equal")(axis.extent, 1)):
            values[axis.var] = axis.start
        else:
            edit.refuse(
                f"the axis `{axis.var.name}` of `{stmt.name}` is no index of what it reads: it makes more elements",
                (block, ""),
                (axis, "this axis"),
            )
    for var, index, other in zip(axes, places, load.indices, strict=True):
        if var is None and type(other) is Const and not known.prove_equal(index, other):
            conditions.append(get_op("equal")(index, other))
    return values, conditions


def by_places(edit: Edit, block: Place, load: BufferLoad, places: Sequence[Expr]) -> dict[Var, Expr] | None:
    """What the axes of a block are where it reads the element at `places`; None where its indices are plain axes, or no
    one-to-one map of the axes to all elements."""
    stmt: Block = block.stmt
    named = {axis.var for axis in stmt.axes}
    if all(type(index) is Const or index in named for index in load.indices):
        return None
    params = [axis.var for axis in stmt.axes]
    if not all(is_const(axis.start, 0) for axis in stmt.axes) or not named.issuperset(free_vars(load.indices)):
        return None
    mapping = IndexMap(tuple(params), load.indices)
    extents = [axis.extent for axis in stmt.axes]
    shape, back = mapping.map_shape(extents), mapping.inverse_of(extents)
    if shape is None or back is None or not mapping.is_bijective(extents):
        return None
    known = edit.analyzer(block)
    if not all(
        known.prove_equal(cast(size, dim.dtype), dim) for size, dim in zip(shape, load.buffer.shape, strict=True)
    ):
        return None
    given = {param: cast(place, param.dtype) for param, place in zip(back.params, places, strict=True)}
    found = [cast(substitute(index, given), var.dtype) for index, var in zip(back.indices, params, strict=True)]
    return dict(zip(params, found, strict=True))


def _single_store(edit: Edit, block: Place) -> BufferStore:
    stmt: Block = block.stmt
    if stmt.init is not None or len(stmt.body) != 1 or type(stmt.body[0]) is not BufferStore:
        edit.refuse(f"the body of the block `{stmt.name}` is not one store", block)
    store: BufferStore = stmt.body[0]
    if store.predicate is not None or has_effect(store.value):
        edit.refuse(f"the block `{stmt.name}` stores under a mask, or its value has an effect", (block, ""), store)
    if store.buffer in reads_of(stmt):
        edit.refuse(f"the block `{stmt.name}` reads `{store.buffer.name}`, which it writes", (block, ""), store)
    return store


def _input(edit: Edit, block: Place) -> tuple[Buffer, Place, BufferLoad]:
    """What the block reads that one other block makes for it alone, that block, and the load."""
    stmt: Block = block.stmt
    scope = scope_of(edit, block)
    found = []
    for buffer in reads_of(stmt):
        makers = [other for other in writers(scope, buffer) if other is not block]
        if len(makers) != 1 or allocation(edit, buffer) is None or is_viewed(edit.func, buffer):
            continue
        if [other for other in readers(scope, buffer) if other is not block and other is not makers[0]]:
            continue
        bare = accesses_outside_blocks(scope, buffer)
        if bare is not None or not before(makers[0], block):
            continue
        loads = loads_of(stmt.body, buffer)
        if not all(
            structural_equal(a, b, map_free_vars=False)
            for load in loads[1:]
            for a, b in zip(loads[0].indices, load.indices, strict=True)
        ):
            continue
        if any(type(index) is not Const and index.dtype.is_vector for index in loads[0].indices):
            continue
        found.append((buffer, makers[0], loads[0]))
    if not found:
        edit.refuse(
            f"nothing that `{stmt.name}` reads is made by one block for it alone, at one element",
            block,
            hint="a parameter, a buffer with other readers or writers, or reads of several elements cannot be inlined",
        )
    # the last made: what the others make is there by then
    best = found[0]
    for other in found[1:]:
        if before(best[1], other[1]):
            best = other
    return best


def _inputs_ready(edit: Edit, block: Place, producer: Place, scope: Place, buffer: Buffer) -> None:
    """Refuse where other inputs come behind the producer, or the result is touched between."""
    stmt: Block = block.stmt
    for other in reads_of(stmt):
        if other is buffer:
            continue
        for writer in writers(scope, other):
            if not before(writer, producer):
                edit.refuse(
                    f"`{other.name}`, which the block `{stmt.name}` reads too, is written behind the block "
                    f"`{producer.stmt.name}`",
                    (producer, ""),
                    (writer, "written here"),
                )
            if common(writer, producer).in_loop(scope):
                edit.refuse(f"`{other.name}` is written in a loop around `{producer.stmt.name}`", (writer, ""))
    for target in writes_of(stmt):
        for other_place in {id(p): p for p in (*writers(scope, target), *readers(scope, target))}.values():
            again = target in writes_of(other_place.stmt) and left_behind(block, other_place, producer)
            if other_place is block or (before(block, other_place) and not again) or before(other_place, producer):
                continue
            edit.refuse(
                f"`{target.name}`, which the block `{stmt.name}` writes, is used before it",
                (block, ""),
                (other_place, "here"),
            )
