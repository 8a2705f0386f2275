"""Assumptions go away, when no pass needs them any more.

before:                                            after:
    for i in range(8):                                 for i in range(8):
        T.assume(A[i] >= 0)                                B[i] = A[i]
        B[i] = A[i]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import Assume, Block, For, If, Stmt

from .pipeline import prim_func_pass
from .statements import keep_comments, reads_memory


@prim_func_pass()
def remove_assume(func: PrimFunc) -> PrimFunc:
    """`T.assume(A[i] >= 0)` becomes nothing, and so do loops, branches and blocks that held nothing else."""
    empty: dict[Any, Any] = {For: _loop, If: _branch, Block: _block}
    before = {id(node) for node in _empty(func)}

    def unless_empty_before(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda stmt: stmt if id(stmt) in before else rule(stmt)

    rules = {cls: unless_empty_before(rule) for cls, rule in empty.items()}
    return rewrite(func, {Assume: lambda stmt: keep_comments(stmt, ()), **rules})


def _empty(func: PrimFunc) -> list[Node]:
    """The statements that hold nothing before the pass: they are not its business."""
    return [node for node in walk(func.body) if type(node) in (For, Block) and not node.body]  # type: ignore[attr-defined]


def _loop(loop: For) -> For | tuple[Stmt, ...]:
    return loop if loop.body or reads_memory(loop.extent) else ()


def _branch(stmt: If) -> If | tuple[Stmt, ...]:
    return stmt if stmt.then or stmt.orelse or reads_memory(stmt.condition) else ()


def _block(stmt: Block) -> Block | tuple[Stmt, ...]:
    return stmt if stmt.body or stmt.init else ()
