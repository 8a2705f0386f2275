"""Several terms that an iteration adds to one sum, one after the other, are added to it as one.

before:                                            after:
    for p in range(64):                                for p in range(64):
        acc = acc + X[2 * p] * U[p]                        acc = acc + (X[2 * p] * U[p] + X[2 * p + 1] * V[p])
        acc = acc + X[2 * p + 1] * V[p]

A loop that was written out by hand, halves of packed bytes, real and imaginary parts: what `with_blocks` and lanes take
is one update for each sum. Sums of floats are rounded in another order, so they are joined where they may be.
"""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import has_effect
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import Bind, BufferStore, For, Stmt

from ..statements import reads_memory
from .plain import in_plain_loops
from .sums_of_differences import as_sum

_ADD = OPS["add"]


def updates_joined(body: tuple[Stmt, ...], *, in_order: bool) -> tuple[Stmt, ...]:
    """The body of a function whose plain loops add to each sum once in an iteration where they can; itself where they
    do. Floats stay as they are where they are to be added `in_order`."""

    def loop(node: For) -> For:
        made = _joined(node.body, in_order)
        return node if made is node.body else node.replace(body=made)

    made = in_plain_loops(body, {For: loop})
    return body if are_same(body, made) else made


def _joined(stmts: tuple[Stmt, ...], in_order: bool) -> tuple[Stmt, ...]:
    from ..schedule.reducers import Update, update_by

    made: list[Stmt | None] = []
    waiting: dict[Buffer, tuple[int, Update]] = {}  # what may be added later, and the places of the stores that do
    for stmt in stmts:
        update = None
        if type(stmt) is BufferStore and not (in_order and stmt.buffer.dtype.is_float):
            update = update_by(as_sum(stmt))
        if update is not None and (update.op is not _ADD or any(map(reads_memory, update.store.indices))):
            update = None
        if update is not None:
            at, before = waiting.get(update.store.buffer, (0, None))
            if before is not None and all(map(structural_equal, before.store.indices, update.store.indices)):
                made[at] = None
                both = Call(_ADD, (before.value, update.value), update.value.dtype)
                mine = BufferLoad(update.store.buffer, update.store.indices)
                stmt = update.store.replace(value=update.combine(mine, both))
                update = update_by(stmt)
        waiting = {buffer: one for buffer, one in waiting.items() if _may_pass(stmt, buffer, one[1].value)}
        if update is not None:
            waiting[update.store.buffer] = len(made), update
        made.append(stmt)
    return stmts if None not in made else tuple([stmt for stmt in made if stmt is not None])


def _may_pass(stmt: Stmt, buffer: Buffer, value: Expr) -> bool:
    """Whether a value may be added to an element of a buffer behind a statement as well as before it."""
    if uses(stmt, buffer) or has_effect(stmt):
        return False
    return type(stmt) is Bind or (type(stmt) is BufferStore and stmt.buffer.is_scalar and not uses(value, stmt.buffer))


__all__ = ["updates_joined"]
