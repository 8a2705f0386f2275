"""What a reduction over nothing gives: its init, as a sum without terms is 0.

before:                                            after:
    for i, k in T.grid(m, n):                          for i in range(m):
        with T.block("B"):                                 if n <= 0:
            vi, vk = T.axis.remap("SR", [i, k])                with T.block("B_init"):
            with T.init():                                         vi = T.axis.spatial(m, i)
                B[vi] = 0.0                                        B[vi] = 0.0
            B[vi] += A[vi, vk]                             for k in range(n):
                                                               with T.block("B"):
                                                                   ...

An init runs where its reduce axes start, so it would not run where they are empty. The loops that may have no
iteration are those whose length is not a number; the nest for this case stands before the outermost of them.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import (
    definitions,
    free_buffers,
    free_vars,
    map_except_buffers,
    refresh,
    substitute,
    walk,
)
from tirscript.ir.stmt import Block, For, If, Stmt

from ..statements import conjunction


def init_empty_reductions(func: PrimFunc) -> PrimFunc:
    """`func` in which the inits of blocks run also where their reductions have no element.

    A block stays as it is whose spatial axes share loops with its reduction, whose reduction has lengths of its own for
    each of its elements, that runs on threads, or whose init reads by other indices than the block's.
    """
    if not any(type(node) is Block and node.init is not None and _open(node) for node in walk(func.body)):
        return func
    with recursion_room():
        return _Visitor().visit(func, ())  # type: ignore[no-any-return]


def _open(block: Block) -> bool:
    """Whether a reduce axis may have no element."""
    return any(axis.kind == "reduce" and not _some(axis.start, axis.stop) for axis in block.axes)


def _some(start: Expr, stop: Expr) -> bool:
    return type(start) is Const and type(stop) is Const and start.value < stop.value


class _Visitor:
    """Collects, for every loop, the nests that are to stand before it."""

    def __init__(self) -> None:
        self.before: dict[int, list[Stmt]] = {}

    def visit(self, node: Any, path: tuple[Stmt, ...]) -> Any:
        if type(node) is Block:
            if node.init is not None and _open(node):
                self._block(node, path)
            path = ()
        elif type(node) is For or (type(node) is If and not node.orelse):
            path = (*path, node)
        elif isinstance(node, (Stmt, PrimFunc)):
            path = ()
        else:
            return node
        new = map_except_buffers(node, lambda child: self.visit(child, path))
        for name in ("body", "then", "orelse"):
            stmts = getattr(new, name, None)
            old = getattr(node, name, None)
            if isinstance(stmts, tuple) and old and any(id(one) in self.before for one in old):
                placed = [(*self.before.get(id(was), ()), one) for was, one in zip(old, stmts, strict=True)]
                new = new.replace(**{name: tuple(one for group in placed for one in group)})
        return new

    def _block(self, block: Block, path: tuple[Stmt, ...]) -> None:
        reduced = {var for axis in block.axes if axis.kind == "reduce" for var in free_vars(axis.value)}
        loops = [at for at, node in enumerate(path) if type(node) is For and node.var in reduced]
        if loops:
            nest = _nest(block, path[loops[0] :], reduced)
            if nest is not None:
                self.before.setdefault(id(path[loops[0]]), []).append(nest)


def _nest(block: Block, path: tuple[Stmt, ...], reduced: set[Var]) -> Stmt | None:
    """The init in the loops that are no part of the reduction; None where it is not theirs alone, or never needed."""
    assert block.init is not None
    axes = tuple(axis for axis in block.axes if axis.kind != "reduce")
    starts = {axis.var: axis.start for axis in block.axes if axis.kind == "reduce"}
    init: tuple[Stmt, ...] = substitute(block.init, starts)
    own = {*definitions(block.body)}
    places = {axis.var for axis in axes}
    around = [node for node in path if type(node) is For and node.var not in reduced]
    lengths = [node for node in path if type(node) is For and node.var in reduced]
    asked = [one for node in path if type(node) is If for one in conjuncts(node.condition)]
    asked += [] if block.predicate is None else conjuncts(block.predicate)
    conditions = [one for one in asked if not reduced & {*free_vars(one)}]
    gone = [one for one in asked if reduced & {*free_vars(one)}]  # of elements that are not there
    inside = {node.var for node in around}
    if (
        any(reduced & {*free_vars(axis.value)} for axis in axes)
        or any(reduced & {*free_vars(part)} for node in (*around, *lengths) for part in (node.start, node.stop))
        or any(inside & {*free_vars(one)} for one in gone)
        or any(node.thread is not None for node in (*around, *lengths))
        or own & {*free_vars(init), *free_buffers(init)}
        # what is read by other indices may be an element that an empty tensor does not have
        or any(type(one) is BufferLoad and not {*one.indices} <= places for one in walk(init))
    ):
        return None
    empty = [get_op("less_equal")(node.stop, node.start) for node in lengths if not _some(node.start, node.stop)]
    if not empty:
        return None
    if not any(type(one) is Const and one.value for one in empty):
        nothing = empty[0]
        for one in empty[1:]:
            nothing = get_op("logical_or")(nothing, one)
        conditions.append(nothing)
    made: Stmt = block.replace(name=f"{block.name}_init", axes=axes, body=init, init=None, predicate=None, reads=None)
    made = made.replace(writes=None, trivia=None)
    inner = conjunction(one for one in conditions if inside & {*free_vars(one)})
    outer = conjunction(one for one in conditions if not inside & {*free_vars(one)})
    if inner is not None:
        made = If(inner, (made,), span=block.span)
    for node in reversed(around):
        made = For(node.var, node.start, node.stop, (made,), step=node.step, span=node.span)
    if outer is not None:
        made = If(outer, (made,), span=block.span)
    return refresh(made)  # type: ignore[no-any-return]


__all__ = ["init_empty_reductions"]
