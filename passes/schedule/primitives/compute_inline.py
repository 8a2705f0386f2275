"""compute_inline: what a block computes stands where it is read."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import defines_names, distinct, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For

from ...statements import has_effect
from ..blocks import inferred, reads_of, writes_of
from ..dataflow import (
    accesses_outside_blocks,
    allocation,
    before,
    check_not_viewed,
    common,
    readers,
    scope_of,
    stores_outside_blocks,
    writers,
)
from ..edit import Edit
from ..legality import fills_in_iteration
from ..primitive import BlockAt, primitive
from ..removal import remove
from ..tree import Place


@primitive
def compute_inline(edit: Edit, block: BlockAt) -> None:
    """Put the value that a block stores into the blocks that read it, and take the block and its buffer away.

    before:                                    after `compute_inline("B")`:
        with T.block("B"):                         with T.block("C"):
            vi = T.axis.spatial(8, i)                  vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0                        C[vi] = A[vi] * 2.0 + 1.0
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + 1.0
    """
    stmt: Block = block.stmt
    store = single_store(edit, block)
    buffer = store.buffer
    scope = scope_of(edit, block)
    place = allocation(edit, buffer)
    if place is None:
        edit.refuse(
            f"the block `{stmt.name}` writes `{buffer.name}`, which is seen outside of the function",
            (block, ""),
            hint="inline only what is written to a buffer allocated in the function",
        )
    check_not_viewed(edit, block, buffer)
    others = [other for other in writers(scope, buffer) if other is not block]
    if others:
        edit.refuse(f"`{buffer.name}` is written by another block too", (block, ""), (others[0], "here"))
    outside = accesses_outside_blocks(scope, buffer)
    if outside is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (outside, "here"))
    consumers = readers(scope, buffer)
    if not consumers:
        edit.refuse(f"nothing reads `{buffer.name}`", block, hint="a block without use is removed by `remove_no_op`")
    for consumer in consumers:
        if not before(block, consumer):
            edit.refuse(
                f"the block `{consumer.stmt.name}` reads `{buffer.name}` before the block `{stmt.name}` writes it",
                (block, ""),
                (consumer, "this block"),
            )
    unchanged_since(edit, block, scope)
    rule = _inliner(edit, block, store)
    for consumer in consumers:
        made = rewrite(consumer.stmt, {BufferLoad: rule})
        edit.replace(consumer, inferred(made))
    remove(edit, edit.block(stmt.name))
    home = allocation(edit, buffer)
    assert home is not None
    edit.replace(home)


def single_store(edit: Edit, block: Place) -> BufferStore:
    """The only statement of the block, a store to an element for each of its axes."""
    stmt: Block = block.stmt
    if stmt.init is not None or any(axis.kind == "reduce" for axis in stmt.axes):
        edit.refuse(
            f"the block `{stmt.name}` is a reduction: its value is known only when all of it is done",
            block,
            hint="compute_at moves a reduction to its reader",
        )
    if len(stmt.body) != 1 or type(stmt.body[0]) is not BufferStore:
        edit.refuse(f"the body of the block `{stmt.name}` is not one store", block)
    store: BufferStore = stmt.body[0]
    if store.predicate is not None:
        edit.refuse(f"the block `{stmt.name}` stores under a mask", (block, ""), (store, "here"))
    if any(node is store.buffer for node in walk(store.value)):
        edit.refuse(
            f"the block `{stmt.name}` reads `{store.buffer.name}`, which it writes", (block, ""), (store, "here")
        )
    if has_effect(store.value):
        edit.refuse(f"the value that `{stmt.name}` stores has an effect", (block, ""), (store, "here"))
    seen: set[Var] = set()
    for index in store.indices:
        if type(index) is Const:
            continue
        if type(index) is not Var or index in seen:
            edit.refuse(
                f"the indices of the store are not distinct axes of the block `{stmt.name}`",
                (block, ""),
                (store, "here"),
                hint="reindex_cache_write or transform_layout make them so",
            )
        seen.add(index)
    return store


def _inliner(edit: Edit, block: Place, store: BufferStore) -> Callable[[BufferLoad], Expr]:
    """The rule that puts the stored value in the place of a load."""
    stmt: Block = block.stmt
    fixed = {axis.var: axis.start for axis in stmt.axes if all(index is not axis.var for index in store.indices)}
    known, named = edit.analyzer(block), defines_names(store.value)
    for axis in stmt.axes:
        if axis.var in fixed and uses(store.value, axis.var):
            if not known.can_prove(get_op("equal")(axis.extent, 1)):
                edit.refuse(f"the value depends on the axis `{axis.var.name}`, which is no index of the store", block)

    def rule(load: BufferLoad) -> Expr:
        if load.buffer is not store.buffer:
            return load
        if load.predicate is not None or any(index.dtype.is_vector for index in load.indices):
            edit.refuse(f"`{store.buffer.name}` is read as a vector", load)
        values: dict[Var, Expr] = dict(fixed)
        for index, given in zip(store.indices, load.indices):
            if type(index) is Var:
                values[index] = given if given.dtype is index.dtype else given.astype(index.dtype)
        result: Expr = substitute(store.value, values)
        return distinct(result) if named else result  # type: ignore[no-any-return]

    return rule


def unchanged_since(edit: Edit, block: Place, scope: Place) -> None:
    """Refuse where what a block reads is written again behind it, or in a loop around it: it would be read later.

    What is written behind all readers of the block's result is written behind the block wherever it moves.
    """
    stmt: Block = block.stmt
    results = [reader for made in writes_of(stmt) for reader in readers(scope, made) if reader.stmt is not stmt]
    for buffer in reads_of(stmt):
        if buffer in writes_of(stmt):
            continue
        bare = list(stores_outside_blocks(scope, buffer))
        for writer in (*writers(scope, buffer), *bare):
            if before(writer, block) and not common(block, writer).in_loop(scope):
                continue
            if results and all(before(one, writer) and not common(one, writer).in_loop(scope) for one in results):
                continue
            if _made_and_read_between(edit, block, writer, results):
                continue
            what = "is written outside of blocks" if writer in bare else "may be written again before its value is used"
            edit.refuse(
                f"`{buffer.name}`, which the block `{stmt.name}` reads, {what}", (block, ""), (writer, "written here")
            )


def _made_and_read_between(edit: Edit, block: Place, writer: Place, results: list[Place]) -> bool:
    """Whether what a block makes in an iteration of a loop is read in that iteration alone, before a writer of what it
    reads runs again."""
    loop = common(block, writer)
    if type(loop.stmt) is not For or not before(writer, block) or not all(map(loop.contains, results)):
        return False
    return all(fills_in_iteration(edit, loop, made) for made in writes_of(block.stmt))
