"""Names of values in loops are written out where they are used, so that a loop holds nothing but what it stores.

before:                                            after:
    x: T.let[T.float32] = A[i]                         s = s + A[i] * A[i]
    s = s + x * x
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.rewrite import is_larger, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, If, ScalarDecl, Stmt

from ..statements import reads_memory

# a name used several times is written out where its value stays as small as this, in nodes
LARGEST = 200


class Refused(Exception):
    """What has no form of blocks."""


def written_out(stmts: tuple[Stmt, ...], only_plain: bool = False, elements: bool = False) -> tuple[Stmt, ...]:
    """The statements without names of values: each stands where it is used. Refused where that would grow too much.

    With `only_plain` names of values that read memory stay, but with `elements` not those of elements of what the
    statements do not store.
    """
    out: list[Stmt] = []
    values: dict[Any, Expr] = {}
    assigned = {node.buffer for node in walk(stmts, BufferStore)}

    def use(stmt: Any) -> Any:
        found = substitute(stmt, {var: value for var, value in values.items() if type(var) is Var})
        scalars = {var: value for var, value in values.items() if type(var) is Buffer}
        if scalars:
            found = rewrite(found, {BufferLoad: lambda node: scalars.get(node.buffer, node)})
        return found

    for at, stmt in enumerate(stmts):
        kind = type(stmt)
        named = stmt.var if kind is Bind else stmt.buffer if kind is ScalarDecl else None  # type: ignore[attr-defined]
        if named is not None and named not in assigned and stmt.value is not None:  # type: ignore[attr-defined]
            value = use(stmt.value)  # type: ignore[attr-defined]
            if only_plain and reads_memory(value) and not (elements and _is_element(value, assigned)):
                out.append(stmt.replace(value=value))
                continue
            if not is_small(value) or named.dtype.is_handle:
                raise Refused
            if any(type(node) is Call and node.op.effect != "pure" for node in walk(value)):
                raise Refused
            values[named] = value
            continue
        stored = {node.buffer for node in walk(stmt, BufferStore)}
        behind = stmts[at + (1 if _stores_last(stmt) else 0) :]
        for name, value in values.items():
            if any(type(node) is BufferLoad and node.buffer in stored for node in walk(value)) and uses(behind, name):
                raise Refused  # a value that was taken before would be read after
        out.append(use(stmt))
    return tuple(out)


def is_small(value: Expr) -> bool:
    """Whether a value may be written out where it is used."""
    return not is_larger(value, LARGEST)


def _stores_last(stmt: Stmt) -> bool:
    """Whether a statement reads all that it reads before it stores."""
    if type(stmt) is If:
        return all(len(side) < 2 and all(map(_stores_last, side)) for side in (stmt.then, stmt.orelse))
    return type(stmt) is BufferStore


def _is_element(value: Expr, assigned: Set[Buffer]) -> bool:
    """Whether a value is an element, at a place that no memory decides, of a buffer that is not assigned."""
    if type(value) is not BufferLoad or value.buffer in assigned or value.buffer.is_scalar:
        return False
    return value.predicate is None and not any(map(reads_memory, value.indices))


__all__ = ["Refused", "is_small", "written_out"]
