"""Memory that each iteration of a loop fills anew before it reads it becomes memory of its own for each iteration.

before:                                            after:
    S = T.alloc_buffer((8,), "float32")                S = T.alloc_buffer((4, 8), "float32")
    for i in range(4):                                 for i in range(4):
        for j in range(8):                                 for j in range(8):
            S[j] = 0.0                                         S[i, j] = 0.0
            for k in range(16):                                for k in range(16):
                S[j] += A[i, k] * B[j, k]                          S[i, j] += A[i, k] * B[j, k]
        for j in range(8):                                 for j in range(8):
            C[i, j] = T.max(S[j], 0.0)                         C[i, j] = T.max(S[i, j], 0.0)

Then no iteration waits for another one, and the statements of the loop can have loops of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS, Node
from tirscript.ir.op import const
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, For, Stmt

from ..statements import reads_memory, same_size
from .plain import accesses_of

# bytes that all iterations together may have
MOST = 64 << 20
# bits of a row that is worth vectors
ROW = 2048
_SIMPLE = frozenset(("", "global"))


def scratch_apart(func: PrimFunc, pays: Callable[[PrimFunc, For], bool | None]) -> PrimFunc:
    """The function with scratch memory for each iteration of the nests that gain by it.

    `pays` says of such a function and its nest whether that is scheduled as products are, None where it becomes no
    blocks. Others gain where the memory is a row, which is kept in the loop over the rows again.
    """
    allocs = [stmt for stmt in func.body if type(stmt) is AllocBuffer]
    places: dict[Node, list[int]] = {alloc.buffer: [] for alloc in allocs}
    for at, stmt in enumerate(func.body if allocs else ()):
        for node in set(walk(stmt, Buffer)):
            places.get(node, []).append(at)
    for alloc in allocs:
        users = [func.body[at] for at in places[alloc.buffer] if func.body[at] is not alloc]
        nest = users[0] if len(users) == 1 else None
        if type(nest) is not For or alloc.annotations != NO_ATTRS or not _is_simple(alloc.buffer):
            continue
        loops = _loops_over(nest, alloc.buffer)
        if not loops or not _only_accessed(nest, alloc.buffer):
            continue
        wide = _widened(alloc.buffer, loops)
        if wide is None:
            continue
        own = tuple(loop.var - loop.start if not is_const(loop.start, 0) else loop.var for loop in loops)
        apart = _moved(nest, alloc.buffer, wide, own)
        new = {id(nest): apart, id(alloc): alloc.replace(buffer=wide)}
        made = func.replace(body=tuple([new.get(id(stmt), stmt) for stmt in func.body]))
        product = pays(made, apart)
        if product or (product is False and _bits(alloc.buffer) >= ROW):
            func = made
    return func


def _is_simple(buffer: Buffer) -> bool:
    plain = buffer.strides is None and buffer.scope in _SIMPLE and not buffer.dtype.is_vector
    return plain and bool(buffer.shape) and all(type(dim) is Const for dim in buffer.shape)


def _bits(buffer: Buffer) -> int:
    sizes: list[int] = [int(dim.value) for dim in buffer.shape]  # type: ignore[attr-defined]
    return math.prod(sizes) * buffer.dtype.bits


def _only_accessed(nest: For, buffer: Buffer) -> bool:
    """Whether a nest without blocks does nothing with a buffer but load and store its elements."""
    found = [node for node in walk(nest) if node is buffer or type(node) is Block]
    return len(found) == sum(1 for _ in accesses_of(nest, buffer))


def _loops_over(nest: For, buffer: Buffer) -> list[For]:
    """The loops around all that is done with a buffer, whose iterations fill it first; empty where there are none."""
    loops = [nest]
    while len(loops[-1].body) == 1 and type(loops[-1].body[0]) is For:
        loops.append(loops[-1].body[0])
    while loops and not _filled_first(loops[-1].body, buffer):
        loops.pop()
    known = all(type(loop.start) is Const and type(loop.stop) is Const and loop.step is None for loop in loops)
    return loops if known else []


class _Filled(Struct, frozen=True, eq=False):
    """A store that nothing reads the buffer before, with the loops whose variables are its indices."""

    store: BufferStore
    axes: tuple[For, ...]


def _filled_first(stmts: Sequence[Stmt], buffer: Buffer) -> bool:
    """Whether statements behind each other read no element of a buffer that they have not stored before."""
    at = next(place for place, stmt in enumerate(stmts) if uses(stmt, buffer))
    filled = _fill(stmts[at], buffer)
    if filled is None:
        return False
    for node in accesses_of(stmts[at], buffer):
        if type(node) is BufferLoad and not _same(node.indices, filled.store.indices):
            return False
    bounds = list(zip(filled.axes, buffer.shape, strict=True))
    whole = [is_const(loop.start, 0) and same_size(loop.stop, dim) for loop, dim in bounds]
    return all(_reads_within(stmt, buffer, filled.axes, whole, ()) for stmt in stmts[at + 1 :])


def _fill(stmt: Stmt, buffer: Buffer) -> _Filled | None:
    """The store of a statement that is before all else that it does with a buffer, one for each element of a box."""
    loops: list[For] = []
    while type(stmt) is For:
        if stmt.step is not None or any(map(reads_memory, (stmt.start, stmt.stop))):
            return None
        if any(uses((stmt.start, stmt.stop), loop.var) for loop in loops):
            return None
        loops.append(stmt)
        stmt = next(inner for inner in stmt.body if uses(inner, buffer))
    if type(stmt) is not BufferStore or stmt.buffer is not buffer or stmt.predicate is not None:
        return None
    if uses((stmt.value, *stmt.indices), buffer):
        return None
    axes = [next((loop for loop in loops if loop.var is index), None) for index in stmt.indices]
    found = tuple(loop for loop in axes if loop is not None)
    once = len(found) == len(stmt.indices) and len({id(loop) for loop in found}) == len(loops)
    return _Filled(stmt, found) if once else None


def _reads_within(
    root: Stmt, buffer: Buffer, axes: tuple[For, ...], whole: list[bool], around: tuple[For, ...]
) -> bool:
    """Whether all that a statement reads of a buffer is in the box that was filled."""
    if type(root) is For:
        bounds = list(accesses_of((root.start, root.stop), buffer))
        return not bounds and all(_reads_within(stmt, buffer, axes, whole, (*around, root)) for stmt in root.body)
    for node in accesses_of(root, buffer):
        if type(node) is not BufferLoad:
            continue
        for index, axis, all_of_it in zip(node.indices, axes, whole, strict=True):
            loop = next((loop for loop in around if loop.var is index), None)
            if all_of_it:
                continue
            if loop is None or not (same_size(loop.start, axis.start) and same_size(loop.stop, axis.stop)):
                return False
    return True


def _widened(buffer: Buffer, loops: list[For]) -> Buffer | None:
    """The buffer with a dimension for each of some loops; None where that is too much memory."""
    extents = [int(loop.stop.value) - int(loop.start.value) for loop in loops]  # type: ignore[attr-defined]
    if min(extents) < 1 or math.prod(extents) * _bits(buffer) > MOST * 8:
        return None
    outer = [const(extent, buffer.shape[0].dtype) for extent in extents]
    return Buffer(buffer.name, (*outer, *buffer.shape), buffer.dtype)


def _moved(nest: For, buffer: Buffer, wide: Buffer, places: tuple[Expr, ...]) -> For:
    """A nest that accesses the part of a wider buffer that is its iteration's."""

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        return node.replace(buffer=wide, indices=(*places, *node.indices)) if node.buffer is buffer else node

    moved: For = rewrite(nest, {BufferLoad: access, BufferStore: access})
    return moved


def _same(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    return all(type(one) is Var and one is other for one, other in zip(a, b, strict=True))


__all__ = ["scratch_apart"]
