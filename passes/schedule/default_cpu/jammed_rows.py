"""Rows in which each element needs the one before go side by side: while one waits for its element, others go on.

before:                                            after:
    for n in range(1024):                              for n_0 in T.parallel(256):
        h: T.float32 = 0.0                                 h: T.float32 = 0.0
        for t in range(256):                               h_1: T.float32 = 0.0
            h = A[n, t] * h + X[n, t]                      ...
            H[n, t] = h                                    for t in range(256):
                                                               h = A[n_0 * 4, t] * h + X[n_0 * 4, t]
                                                               H[n_0 * 4, t] = h
                                                               h_1 = A[n_0 * 4 + 1, t] * h_1 + X[n_0 * 4 + 1, t]
                                                               ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirscript.ir.arith.presburger import Dependences, may_parallel
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import defined_by, refresh, substitute, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, For, If, ScalarDecl, Stmt

from ...simplify import simplified
from ..reducers import update_by
from .nests import stride_of

# rows beside each other: about as many steps as an operation takes
ROWS = 4
_TAKEN = frozenset((For, If, BufferStore, ScalarDecl, Bind))


def waits(func: PrimFunc, loop: For) -> bool:
    """Whether a loop is one over rows along which each step waits for the one before."""
    inner = [node for node in walk(loop.body) if type(node) is For]
    nodes = list(walk(loop.body))
    if not inner or any(isinstance(node, Stmt) and type(node) not in _TAKEN for node in nodes):
        return False
    if leaves_loop(loop.body) or any(type(node) is For for one in inner for node in walk(one.body)):
        return False
    if any(one.kind != "serial" or one.annotations for one in inner):
        return False
    # rows of lengths of their own would end at different steps
    own = {loop.var, *(name for node in nodes for name in defined_by(node))}
    if any(uses((one.start, one.stop), name) for one in inner for name in own):
        return False
    if any(type(node) is BufferLoad for one in inner for node in walk((one.start, one.stop))):
        return False
    if not all(_along(one) and not _foretold(one) for one in inner):
        return False
    deps = Dependences((loop,), within=func)
    return all(may_parallel(deps, one, reductions=not _floats(one)).legal is False for one in inner)


def _floats(loop: For) -> bool:
    """Whether what a loop changes are floats, whose order LLVM keeps."""
    stores = [node for node in walk(loop.body) if type(node) is BufferStore]
    return any(store.buffer.dtype.is_float for store in stores)


def _along(loop: For) -> bool:
    """Whether a loop goes along memory in all that it does there."""
    accesses: list[Any] = [node for node in walk(loop.body) if type(node) in (BufferLoad, BufferStore)]
    return all(stride_of(node, loop.var) in (0, 1) for node in accesses if node.indices)


def _foretold(loop: For) -> bool:
    """Whether all that steps change for the next ones are extremes: processors foretell which of the two is taken."""
    stores = [node for node in walk(loop.body) if type(node) is BufferStore and uses(node.value, node.buffer)]
    updates = [update_by(store) for store in stores]
    return bool(stores) and all(one is not None and one.op in _EXTREMES for one in updates)


_EXTREMES = (OPS["max"], OPS["min"])


def jammed(loop: For, first: Expr, count: int) -> tuple[Stmt, ...]:
    """The body of a loop for so many values of its variable at once, from `first` on."""
    bodies = [substitute(loop.body, {loop.var: simplified(first + at)}) for at in range(count)]
    return _side_by_side([bodies[0], *(refresh(body) for body in bodies[1:])])


def _side_by_side(bodies: Sequence[tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmts in zip(*bodies, strict=True):
        first = stmts[0]
        if type(first) is For:
            inner = [substitute(stmt.body, {stmt.var: first.var}) for stmt in stmts]
            out.append(first.replace(body=_side_by_side(inner)))
        else:
            out += [first, *(stmt.replace(trivia=None) for stmt in stmts[1:])]
    return tuple(out)


__all__ = ["ROWS", "jammed", "waits"]
