"""fuse_reduction_epilogue: what is combined with a finished reduction is what it begins with."""

from __future__ import annotations

from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.op import cast, get_op
from tirscript.ir.rewrite import rewrite, substitute, uses
from tirscript.ir.stmt import Block, BufferStore

from ...statements import has_effect, same_indices
from ..blocks import inferred, reads_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    common,
    is_viewed,
    loads_of,
    readers,
    scope_of,
    stores_outside_blocks,
    writers,
)
from ..edit import Edit
from ..legality import check_covers
from ..moving import axes_of_indices
from ..primitive import BlockAt, primitive
from ..reducers import IDENTITIES, Update, neutral, only_update
from ..removal import remove
from ..tree import Place


@primitive
def fuse_reduction_epilogue(edit: Edit, reduction_block: BlockAt, epilogue_block: BlockAt) -> None:
    """Let a reduction begin with what its only reader combines its result with, and take the reader away.

    before:                                    after `fuse_reduction_epilogue("C", "D")`:
        with T.block("C"):                         with T.block("C"):
            with T.init():                             with T.init():
                C[vi] = 0.0                                D[vi] = bias[vi]
            C[vi] = C[vi] + A[vi, vk]                  D[vi] = D[vi] + A[vi, vk]
        with T.block("D"):
            D[vi] = C[vi] + bias[vi]

    The epilogue must combine as the reduction does: add to a sum, take the maximum with a maximum. Sums of floats are
    rounded in another order, and with T.min and T.max of floats it depends on the order what of a nan and a number
    comes through.
    """
    stmt: Block = reduction_block.stmt
    after: Block = epilogue_block.stmt
    update = _reduction(edit, reduction_block)
    buffer = update.store.buffer
    scope = scope_of(edit, reduction_block)
    _check_only_reader(edit, reduction_block, epilogue_block, update)
    if len(after.body) != 1 or type(after.body[0]) is not BufferStore or after.init is not None:
        edit.refuse(f"the body of the block `{after.name}` is not one store", epilogue_block)
    store: BufferStore = after.body[0]
    value = store.value
    loads = loads_of(value, buffer)
    if store.predicate is not None or has_effect(value) or after.predicate is not None:
        edit.refuse(f"the block `{after.name}` stores under a condition, or its value has an effect", epilogue_block)
    other: Expr | None = None
    if type(value) is Call and value.op is update.op and len(loads) == 1:
        for one, rest in (value.args, value.args[::-1]):
            if one is loads[0]:
                other = rest
    if other is None:
        edit.refuse(
            f"the block `{after.name}` does not combine the result as `{stmt.name}` does, by `{update.op.name}`",
            (epilogue_block, ""),
            (store, "here"),
            hint="reverse_compute_at computes anything where the reduction is done",
        )
    if store.buffer in reads_of(after):
        edit.refuse(f"the block `{after.name}` reads the buffer `{store.buffer.name}`, which it writes", epilogue_block)
    if store.buffer.dtype is not buffer.dtype:
        edit.refuse(
            f"`{store.buffer.name}` is {store.buffer.dtype}, and the reduction is done in {buffer.dtype}",
            (epilogue_block, ""),
            (store, "here"),
        )
    check_covers(edit, epilogue_block)
    check_covers(edit, reduction_block)
    values = _axes(edit, reduction_block, epilogue_block, update, loads[0], store)
    _check_moves(edit, reduction_block, epilogue_block, scope, store)
    indices = tuple(substitute(index, values) for index in store.indices)
    begin = BufferStore(store.buffer, indices, substitute(other, values), span=store.span)

    def load(node: BufferLoad) -> Expr:
        return node.replace(buffer=store.buffer, indices=indices) if node.buffer is buffer else node

    updated = update.store.replace(
        buffer=store.buffer, indices=indices, value=rewrite(update.store.value, {BufferLoad: load})
    )
    edit.replace(reduction_block, inferred(stmt.replace(body=(updated,), init=(begin,))))
    remove(edit, edit.block(after.name))
    home = allocation(edit, buffer)
    assert home is not None
    edit.replace(home)


def _reduction(edit: Edit, block: Place) -> Update:
    """The update of a reduction block that begins with the identity."""
    stmt: Block = block.stmt
    update = only_update(edit, block)
    init = stmt.init
    if init is None or len(init) != 1 or type(init[0]) is not BufferStore:
        edit.refuse(f"the block `{stmt.name}` has no T.init of one store", block)
    same = init[0].buffer is update.store.buffer and same_indices(init[0].indices, update.store.indices)
    dtype = update.store.buffer.dtype
    if dtype.is_vector:
        edit.refuse(f"the block `{stmt.name}` reduces vectors, {dtype}: this step takes one number an element", block)
    identity = IDENTITIES[update.op](dtype)
    begins = edit.analyzer(block).simplify(init[0].value)  # as -inf is written: `-T.infinity("float32")`
    unchanging = (identity, neutral(update.op, dtype))
    if not same or not any(structural_equal(begins, one, map_free_vars=False) for one in unchanging):
        edit.refuse(f"the block `{stmt.name}` does not begin with {identity.value}", (block, ""), (init[0], "here"))
    return update


def _check_only_reader(edit: Edit, block: Place, epilogue: Place, update: Update) -> None:
    buffer = update.store.buffer
    scope = scope_of(edit, block)
    stmt: Block = block.stmt
    if scope is not scope_of(edit, epilogue):
        edit.refuse("the blocks do not stand in one block", block, epilogue)
    if allocation(edit, buffer) is None or is_viewed(edit.func, buffer):
        edit.refuse(f"`{buffer.name}`, which the block `{stmt.name}` writes, is seen outside of the function", block)
    if accesses_outside_blocks(scope, buffer) is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", block)
    for other in (*writers(scope, buffer), *readers(scope, buffer)):
        if other is not block and other is not epilogue:
            edit.refuse(f"`{buffer.name}` is used by the block `{other.stmt.name}` too", (block, ""), (other, "here"))
    if buffer not in reads_of(epilogue.stmt):
        edit.refuse(f"the block `{epilogue.stmt.name}` does not read `{buffer.name}`", epilogue)
    if not before(block, epilogue):
        edit.refuse(f"the block `{epilogue.stmt.name}` comes before `{stmt.name}`", block, epilogue)


def _axes(
    edit: Edit, block: Place, epilogue: Place, update: Update, load: BufferLoad, store: BufferStore
) -> dict[Var, Expr]:
    """The axes of the epilogue in terms of those of the reduction, which must make the same elements."""
    after: Block = epilogue.stmt
    made = axes_of_indices(edit, block, update.store.indices, "store")
    read = axes_of_indices(edit, epilogue, load.indices, f"read of `{update.store.buffer.name}`")
    ranges = {axis.var: axis for axis in (*block.stmt.axes, *after.axes)}
    known = edit.analyzer(block)
    values: dict[Var, Expr] = {}
    for one, other in zip(made, read, strict=True):
        if one is None and other is None:
            continue
        same = (
            one is not None
            and other is not None
            and known.prove_equal(ranges[one].start, cast(ranges[other].start, one.dtype))
            and known.prove_equal(ranges[one].stop, cast(ranges[other].stop, one.dtype))
        )
        if not same:
            edit.refuse(f"the blocks `{block.stmt.name}` and `{after.name}` do not make the same elements", epilogue)
        assert one is not None and other is not None
        values[other] = cast(one, other.dtype)
    for axis in block.stmt.axes:
        single = known.can_prove(get_op("equal")(axis.extent, 1))
        if axis.kind == "spatial" and axis.var not in made and not single:
            edit.refuse(f"the axis `{axis.var.name}` is no index of what is made", block)
    for axis in after.axes:
        if axis.var not in values:
            if not known.can_prove(get_op("equal")(axis.extent, 1)):
                edit.refuse(f"the axis `{axis.var.name}` of `{after.name}` is no index of what it reads", epilogue)
            values[axis.var] = axis.start
        if axis.kind != "spatial":
            edit.refuse(f"the axis `{axis.var.name}` of `{after.name}` is {axis.kind}", epilogue)
    for axis in after.axes:
        if uses(after.body, axis.var) and not any(uses(index, axis.var) for index in store.indices):
            if not known.can_prove(get_op("equal")(axis.extent, 1)):
                edit.refuse(f"`{after.name}` stores several values at one element", epilogue)
    axes_of_indices(edit, epilogue, store.indices, "store")
    return values


def _check_moves(edit: Edit, block: Place, epilogue: Place, scope: Place, store: BufferStore) -> None:
    """Refuse where what the epilogue reads comes late, or what it writes is used before it."""
    after: Block = epilogue.stmt
    for buffer in reads_of(after):
        for writer in writers(scope, buffer):
            if writer is block:
                continue
            if not before(writer, block) or common(block, writer).in_loop(scope):
                edit.refuse(
                    f"`{buffer.name}`, which the block `{after.name}` reads, is written behind the beginning of "
                    f"`{block.stmt.name}`",
                    (epilogue, ""),
                    (writer, "written here"),
                )
        bare = next(stores_outside_blocks(scope, buffer), None)
        if bare is not None:
            edit.refuse(f"`{buffer.name}` is written outside of blocks", (epilogue, ""), (bare, "here"))
    target = store.buffer
    if is_viewed(edit.func, target) or accesses_outside_blocks(scope, target) is not None:
        edit.refuse(f"`{target.name}` is accessed in other ways too", epilogue)
    if target in reads_of(block.stmt):
        edit.refuse(f"the block `{block.stmt.name}` reads `{target.name}`", block)
    head = next((place for place in (block, *block.above()) if place.parent is scope), block)
    for other in (*writers(scope, target), *readers(scope, target)):
        if other is epilogue or before(epilogue, other) or before(other, head):
            continue
        edit.refuse(f"`{target.name}` is used before `{after.name}` writes it", (epilogue, ""), (other, "here"))
