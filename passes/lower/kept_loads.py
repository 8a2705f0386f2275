"""What the condition of an `if` loads is kept for its sides, which load it again under a mask where lanes decide.

before:                                            after:
    if A[j] > most:                                    value = A[j]
        most = A[j]                                    if value > most:
                                                           most = value
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import holds, rewrite, walk
from tirscript.ir.stmt import Bind, BufferStore, If, Stmt


def with_kept_loads(stmt: If) -> tuple[tuple[Bind, ...], If]:
    """Names of what the condition loads and a side loads again, and the `if` that takes them."""
    names: list[Bind] = []
    while True:
        for load in always_loaded(stmt.condition):
            if not load.indices or holds(load.indices, BufferLoad):
                continue  # an index that is loaded has a name first, and that of a variable may be another in a side
            name = Var("value", load.dtype)
            then, orelse = _taking(stmt.then, load, name), _taking(stmt.orelse, load, name)
            if (then, orelse) != (stmt.then, stmt.orelse):
                names.append(Bind(name, load, span=stmt.span))
                stmt = stmt.replace(condition=_replaced(stmt.condition, load, name), then=then, orelse=orelse)
                break
        else:
            return tuple(names), stmt


def always_loaded(node: Expr) -> list[BufferLoad]:
    """The elements that an expression loads, whatever its conditions are."""
    if type(node) is BufferLoad:
        return [node, *(load for index in node.indices for load in always_loaded(index))]
    if type(node) is not Call:
        return []
    first = node.op in LAZY
    return [load for arg in (node.args[:1] if first else node.args) for load in always_loaded(arg)]


def _taking(stmts: tuple[Stmt, ...], load: BufferLoad, name: Var) -> tuple[Stmt, ...]:
    """Statements that take a name for a load as far as nothing has been stored in memory."""
    made: list[Stmt] = []
    for stmt in stmts:
        if type(stmt) is BufferStore or not any(_stores(stmt)):
            made.append(_replaced(stmt, load, name))
        elif type(stmt) is If:
            condition = _replaced(stmt.condition, load, name)
            then, orelse = _taking(stmt.then, load, name), _taking(stmt.orelse, load, name)
            made.append(stmt.replace(condition=condition, then=then, orelse=orelse))
        else:
            break
        if any(_stores(stmt)):
            break
    return (*made, *stmts[len(made) :])


def _replaced(root: Any, load: BufferLoad, name: Var) -> Any:
    return rewrite(root, {BufferLoad: lambda node: name if node == load else node})


def _stores(stmt: Stmt) -> Iterator[bool]:
    """Whether each store in a statement is one in memory; variables are no memory."""
    return (not node.buffer.is_scalar for node in walk(stmt, BufferStore))
