"""Buffers of one element that loops use as variables become variables, which `with_blocks` takes.

before:                                            after:
    acc = T.alloc_buffer((1,), "float32")              for i in range(4):
    for i in range(4):                                     acc: T.float32 = 0.0
        acc[0] = 0.0                                       for j in range(8):
        for j in range(8):                                     acc = acc + A[i, j]
            acc[0] = acc[0] + A[i, j]                      B[i] = acc
        B[i] = acc[0]

An iteration of the loops around all that uses the buffer begins with a store, so none sees what another left. Those
that are allocated in a loop are variables of it anyway.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, is_const
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, For, ScalarDecl, Stmt

from .plain import in_plain_loops


def variables_from_buffers(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function with its buffers of one element as variables, where loops use them so; itself without."""
    for stmt in body:
        if type(stmt) is AllocBuffer and _is_one_element(stmt):
            rest = tuple(other for other in body if other is not stmt)
            body = _within(rest, stmt.buffer, inside=False) or body
    made = in_plain_loops(body, {For: _of_loop})
    return body if are_same(body, made) else made


def _of_loop(loop: For) -> For:
    """A loop whose own buffers of one element are variables."""
    for stmt in loop.body:
        if type(stmt) is AllocBuffer and _is_one_element(stmt):
            at = next(place for place, other in enumerate(loop.body) if other is stmt)
            before, rest = loop.body[:at], loop.body[at + 1 :]
            made = _within(rest, stmt.buffer, inside=True)
            if made is not None:
                loop = loop.replace(body=(*before, *made))
    return loop


def _is_one_element(alloc: AllocBuffer) -> bool:
    buffer = alloc.buffer
    special = alloc.annotations or buffer.is_scalar or buffer.dtype.is_handle or buffer.dtype.is_vector
    return not special and all(is_const(dim, 1) for dim in buffer.shape)


def _within(stmts: tuple[Stmt, ...], buffer: Buffer, *, inside: bool) -> tuple[Stmt, ...] | None:
    """The statements with a variable in the innermost loop that holds all accesses, or one in each of several loops;
    None where it is none."""
    touching = [at for at, stmt in enumerate(stmts) if uses(stmt, buffer)]
    if not touching:
        return None
    first: Any = stmts[touching[0]]
    if type(first) is For:
        found = list(stmts)
        for at in touching:
            loop: Any = stmts[at]
            if type(loop) is not For or uses((loop.start, loop.stop), buffer):
                return None
            made = _within(loop.body, buffer, inside=True)
            if made is None:
                return None
            found[at] = loop.replace(body=made)
        return tuple(found)
    if not inside or type(first) is not BufferStore or first.buffer is not buffer or uses(first.value, buffer):
        return None
    accesses: list[Any] = [node for node in walk(stmts) if type(node) in _ACCESSES and node.buffer is buffer]  # type: ignore[attr-defined]
    if len(accesses) != sum(1 for node in walk(stmts) if node is buffer):
        return None
    if any(node.predicate is not None or not all(is_const(index, 0) for index in node.indices) for node in accesses):
        return None
    variable = Buffer(buffer.name, (), buffer.dtype, scope="scalar")

    def load(node: BufferLoad) -> BufferLoad:
        return node.replace(buffer=variable, indices=()) if node.buffer is buffer else node

    def store(node: BufferStore) -> BufferStore:
        return node.replace(buffer=variable, indices=()) if node.buffer is buffer else node

    begin = ScalarDecl(variable, first.value, span=first.span, trivia=first.trivia)
    rest = stmts[touching[0] + 1 :]
    return (*stmts[: touching[0]], begin, *rewrite(rest, {BufferLoad: load, BufferStore: store}))


_ACCESSES = frozenset((BufferLoad, BufferStore))

__all__ = ["variables_from_buffers"]
