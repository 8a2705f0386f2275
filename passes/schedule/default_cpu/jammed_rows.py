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

Short rows stay: LLVM writes their steps out and makes vectors of the rows themselves (`written_out`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirscript.ir.arith.presburger import Dependences, is_parallel, may_parallel
from tirscript.ir.dtype import FLOAT32, FLOAT64
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.op_sets import EXTREMES
from tirscript.ir.rewrite import defined_by, holds, refresh, substitute, uses, walk
from tirscript.ir.stmt import BufferStore, For, If, Stmt

from ...access import constant_extent
from ...simplify import simplified
from ..reducers import update_by
from .nests import DEAR, TAKEN, step_of, stride_of

# rows beside each other: about as many steps as an operation takes
ROWS = 4
# LLVM writes out loops of so many instructions in all; what functions that are not measured and quotients count as
WRITTEN_OUT, FUNCTION, QUOTIENT = 300, 24, 7
FUNCTIONS = {("exp", FLOAT32): 18, ("tanh", FLOAT32): 28, ("tanh", FLOAT64): 36}
# rows that lie so near are read and stored several at once and shuffled; those farther apart are gathered
NEAR = 8


def waits(func: PrimFunc, loop: For) -> bool | None:
    """Whether a loop is one over rows along which each step waits for the one before; None where conditions decide
    whether it does."""
    inner = list(walk(loop.body, For))
    nodes = list(walk(loop.body))
    if not inner or any(isinstance(node, Stmt) and type(node) not in TAKEN for node in nodes):
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
    if not all(map(_along, inner)):
        return False
    deps = Dependences((loop,), within=func)
    # steps that wait for no other one, beside those that do, are as fast in several rows
    rest = [one for one in inner if not is_parallel(deps, one)]
    if not rest or any(map(_foretold, rest)):
        return False
    found = [may_parallel(deps, one, reductions=not _floats(one)).legal for one in rest]
    return False if True in found else None if None in found else True


def written_out(loop: For, vector_bits: int) -> bool:
    """Whether LLVM writes out the loops of a loop over rows, and gains more by the vectors that it then makes of rows.

    Vectors of 256 bits gain with float32 alone. Bytes are not gathered, and nothing is scattered.
    """
    inner = list(walk(loop.body, For))
    steps = [constant_extent(one) for one in inner]
    if holds(loop.body, If) or any(count is None for count in steps):
        return False
    if sum((count or 0) * _instructions(one) for count, one in zip(steps, inner, strict=True)) > WRITTEN_OUT:
        return False
    found = [
        node
        for one in inner
        for node in walk(one.body)
        if isinstance(node, (BufferLoad, BufferStore)) and not node.buffer.is_scalar
    ]
    if vector_bits < 512 and any(node.buffer.dtype is not FLOAT32 for node in found):
        return False
    return all(_near(node, loop) or (type(node) is BufferLoad and node.buffer.dtype.bits >= 32) for node in found)


def _instructions(loop: For) -> int:
    """How many instructions an iteration takes, about; an element takes two, where it is first met."""
    nodes = [node for node in walk(loop.body) if type(node) in (Call, BufferLoad, BufferStore)]
    elements = [node for node in nodes if isinstance(node, (BufferLoad, BufferStore)) and not node.buffer.is_scalar]
    indices = {id(node) for one in elements for index in one.indices for node in walk(index)}
    calls = [node for node in nodes if type(node) is Call and id(node) not in indices]
    # the same one again, or in all iterations, stays in a register
    once = {(type(node), node.buffer, node.indices) for node in elements if uses(node.indices, loop.var)}
    return 2 * len(once) + sum(
        FUNCTIONS.get((one.op.name, one.dtype), FUNCTION)
        if one.op.name in DEAR
        else QUOTIENT
        if one.op in _QUOTIENTS
        else int(one.op not in _FREE)
        for one in calls
    )


def _near(access: BufferLoad | BufferStore, loop: For) -> bool:
    """Whether the elements of neighbouring rows are at most `NEAR` apart."""
    apart = step_of(access, loop.var)
    return apart is not None and abs(apart) <= NEAR


_QUOTIENTS = tuple(OPS[name] for name in ("floordiv", "floormod", "truncdiv", "truncmod"))
_FREE = (OPS["cast"], OPS["reinterpret"])


def _floats(loop: For) -> bool:
    """Whether what a loop changes are floats, whose order LLVM keeps."""
    stores = list(walk(loop.body, BufferStore))
    return any(store.buffer.dtype.is_float for store in stores)


def _along(loop: For) -> bool:
    """Whether a loop goes along memory, to and fro, in all that it does there."""
    accesses: list[Any] = [node for node in walk(loop.body) if type(node) in (BufferLoad, BufferStore)]
    return all(stride_of(node, loop.var) in (-1, 0, 1) for node in accesses if node.indices)


def _foretold(loop: For) -> bool:
    """Whether all that steps change for the next ones are extremes: processors foretell which of the two is taken."""
    stores = [node for node in walk(loop.body, BufferStore) if uses(node.value, node.buffer)]
    updates = [update_by(store) for store in stores]
    return bool(stores) and all(one is not None and one.op in EXTREMES for one in updates)


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


__all__ = ["ROWS", "jammed", "waits", "written_out"]
