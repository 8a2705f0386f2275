"""Conditions around loops move into them, and variables that a condition changes become its choice: plainer loops.

before:                                            after:
    y: T.let[T.int32] = i + k - 1                      y: T.let[T.int32] = i + k - 1
    if y >= 0:                                         for j in range(3):
        for j in range(3):                                 v: T.float32 = T.if_then_else(y >= 0, A[y, j], 0.0)
            v: T.float32 = 0.0                             s = T.if_then_else(y >= 0, s + v, s)
            if y >= 0:
                v = A[y, j]
            s = s + v

Only where blocks can be made of it: a loop that stays one keeps its conditions where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import BOOL
from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import holds, rewrite, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, For, If, ScalarDecl, Stmt

from .choices_from_loops import chosen
from .names_written_out import is_small

# statements without names, or with those of values that read memory
Inline = Callable[[tuple[Stmt, ...], bool], tuple[Stmt, ...]]


def conditions_inward(loop: For, inlined: Inline) -> For:
    """A loop with its conditions as far inside as they go; itself where they are. `inlined` writes names out."""
    return loop if not holds(loop, If) else _loop(loop, inlined)


def _loop(loop: For, inlined: Inline) -> For:
    given = _settled(loop.body)
    if holds(given, For):
        given = inlined(given, True)
    body = tuple([_inward(stmt, inlined) for stmt in given])
    return loop if are_same(body, loop.body) else loop.replace(body=body)


def _inward(stmt: Stmt, inlined: Inline) -> Stmt:
    """A statement with conditions inside of its loops."""
    if type(stmt) is For:
        return _loop(stmt, inlined)
    if type(stmt) is not If or stmt.orelse:
        return stmt
    then = stmt.then if len(stmt.then) == 1 else inlined(_settled(stmt.then), False)
    if len(then) != 1:  # none where all that stands there are variables that nobody reads
        return stmt
    inner = then[0]
    if type(inner) is If and not inner.orelse:
        both = Call(OPS["logical_and"], (stmt.condition, inner.condition), BOOL)
        return _inward(stmt.replace(condition=both, then=inner.then), inlined)
    if type(inner) is not For or type(inner.start) is not Const or type(inner.stop) is not Const:
        return stmt if then is stmt.then else stmt.replace(then=then)
    if not _lasts(stmt.condition, inner):
        return stmt
    return _loop(inner.replace(body=(stmt.replace(then=inner.body, trivia=None),), trivia=stmt.trivia), inlined)


def _lasts(condition: Expr, loop: For) -> bool:
    """Whether a condition is the same in each iteration of a loop, and nothing but a value."""
    if any(type(node) is Call and node.op.effect != "pure" for node in walk(condition)):
        return False
    stored = {node.buffer for node in walk(loop, BufferStore)}
    return not any(type(node) is BufferLoad and node.buffer in stored for node in walk(condition))


def _settled(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements in which variables have the value that conditions behind them give them."""
    out = list(stmts)
    at = 0
    while at < len(out):
        stmt = out[at]
        if type(stmt) is ScalarDecl and stmt.value is not None and not stmt.buffer.dtype.is_vector:
            place = at + 1
            while place < len(out) and type(out[place]) in (Bind, ScalarDecl) and not uses(out[place], stmt.buffer):
                place += 1
            changed = chosen(out[place], {stmt.buffer}) if place < len(out) else None
            if (
                type(changed) is BufferStore
                and changed.buffer is stmt.buffer
                and changed.predicate is None
                and is_small(stmt.value)  # what is chosen again and again would double each time
            ):
                value = _with(changed.value, stmt.buffer, stmt.value)
                out[place] = stmt.replace(value=value)
                del out[at]
                continue
        at += 1
    return stmts if len(out) == len(stmts) else tuple(out)


def _with(value: Expr, variable: Buffer, known: Expr) -> Expr:
    """A value with that of a variable written out."""

    def load(node: BufferLoad) -> Any:
        return known if node.buffer is variable else node

    found: Expr = rewrite(value, {BufferLoad: load})
    return found


__all__ = ["conditions_inward"]
