"""Conditions over a variable become the choice of its value, which `with_blocks` takes.

before:                                            after:
    s = s + b[j]                                       s = s + b[j]
    if s < 0.0:                                        s = T.if_then_else(s < 0.0, 0.0, T.if_then_else(s > 6.0, 6.0, s))
        s = 0.0
    elif s > 6.0:
        s = 6.0
"""

from __future__ import annotations

from collections.abc import Set

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.op import OPS
from tirscript.ir.stmt import BufferStore, If, Stmt


def chosen(stmt: Stmt, begun: Set[Buffer]) -> Stmt:
    """A condition over stores to one of the variables `begun`, which have values before it, as one store; other
    statements as they are."""
    if type(stmt) is not If or len(stmt.then) != 1 or len(stmt.orelse) > 1:
        return stmt
    parts = [chosen(inner, begun) for inner in (*stmt.then, *stmt.orelse)]
    first = parts[0]
    if type(first) is not BufferStore or first.buffer not in begun or first.predicate is not None:
        return stmt
    values: list[Expr] = []
    for part in parts:
        if type(part) is not BufferStore or part.buffer is not first.buffer or part.predicate is not None:
            return stmt
        values.append(part.value)
    if len(values) == 1:
        values.append(BufferLoad(first.buffer, first.indices))
    value = Call(OPS["if_then_else"], (stmt.condition, *values), first.value.dtype)
    return first.replace(value=value, span=stmt.span, trivia=stmt.trivia)


__all__ = ["chosen"]
