"""Small arrays that an iteration fills before it reads them become variables, and loops through them are written out.

before:                                            after:
    d = T.alloc_buffer((2,), "float32")                for i in range(64):
    for i in range(64):                                    d_0: T.float32 = P[i, 0] - Q[i, 0]
        for c in range(2):                                 d_1: T.float32 = P[i, 1] - Q[i, 1]
            d[c] = P[i, c] - Q[i, c]                       B[i] = d_0 * d_0 + d_1 * d_1
        B[i] = d[0] * d[0] + d[1] * d[1]

Windows of which a median is taken, vectors of three numbers, rows of small matrices. Then nothing is left of an
iteration when the next one begins, and lanes can take them.
"""

from __future__ import annotations

import math
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Const
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import holds, rewrite, uses, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, For, If, ScalarDecl, Stmt

from ..simplify import simplified
from .plain import accesses_of, iterations

# elements of such an array, and nodes of an iteration with its loops written out
ELEMENTS, LONGEST = 16, 1000


class _Refuse(Exception):
    """The array stays."""


def variables_from_arrays(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function with variables for the small arrays of its loops without blocks; itself where there are
    none."""
    for stmt in body:
        if type(stmt) is AllocBuffer and _is_small(stmt):
            try:
                body = tuple([_in_loops(one, stmt.buffer) for one in body if one is not stmt])
            except _Refuse:
                continue
    made = [_own(stmt) if type(stmt) is For else stmt for stmt in body]
    return body if are_same(body, made) else tuple(made)


def _own(loop: For) -> For:
    """A loop with variables for the small arrays that it allocates, or loops inside of it."""
    if holds(loop, Block):
        return loop

    def visit(one: For) -> For:
        for stmt in one.body:
            if type(stmt) is AllocBuffer and _is_small(stmt):
                rest = one.replace(body=tuple(other for other in one.body if other is not stmt))
                try:
                    one = _in_variables(rest, stmt.buffer)
                except _Refuse:
                    continue
        return one

    found: For = rewrite(loop, {For: visit})
    return found


def _is_small(alloc: AllocBuffer) -> bool:
    buffer = alloc.buffer
    plain = not buffer.is_scalar and not buffer.dtype.is_handle and not buffer.dtype.is_vector
    sizes = [dim.value if type(dim) is Const else None for dim in buffer.shape]
    if not plain or alloc.annotations or buffer.strides is not None or None in sizes:
        return False
    return 1 < math.prod(sizes) <= ELEMENTS  # type: ignore[arg-type]


def _in_loops(stmt: Stmt, buffer: Buffer) -> Stmt:
    """A statement with variables in the innermost loops around all that is done with an array."""
    if not uses(stmt, buffer):
        return stmt
    if type(stmt) is not For or uses((stmt.start, stmt.stop), buffer) or holds(stmt, Block):
        raise _Refuse
    touching = [inner for inner in stmt.body if uses(inner, buffer)]
    if len(touching) == 1 and type(touching[0]) is For:
        made = _in_loops(touching[0], buffer)
        return stmt.replace(body=tuple([made if inner is touching[0] else inner for inner in stmt.body]))
    return _in_variables(stmt, buffer)


def _in_variables(loop: For, buffer: Buffer) -> For:
    """A loop whose iterations fill an array before they read it, with variables for its elements."""
    body = tuple([part for stmt in loop.body for part in _written_out(stmt, buffer)])
    if sum(1 for _ in walk(body)) > LONGEST:
        raise _Refuse
    accesses = list(accesses_of(body, buffer))
    addressed = any(type(node) is Call and node.op is OPS["address_of"] and uses(node, buffer) for node in walk(body))
    if addressed or len(accesses) != sum(1 for node in walk(body) if node is buffer):
        raise _Refuse
    names: dict[tuple[int, ...], Buffer] = {}
    out: list[Stmt] = []

    def access(node: Any) -> Any:
        if node.buffer is not buffer:
            return node
        if _place(node) not in names:
            raise _Refuse  # what an iteration before left, or only a condition stores
        return node.replace(buffer=names[_place(node)], indices=())

    for stmt in body:
        if type(stmt) is BufferStore and stmt.buffer is buffer and _place(stmt) not in names:
            value = rewrite(stmt.value, {BufferLoad: access})
            place = _place(stmt)
            name = "_".join([buffer.name, *map(str, place)])
            names[place] = Buffer(name, (), buffer.dtype, scope="scalar")
            out.append(ScalarDecl(names[place], value, span=stmt.span, trivia=stmt.trivia))
        else:
            out.append(rewrite(stmt, {BufferLoad: access, BufferStore: access}) if uses(stmt, buffer) else stmt)
    return loop.replace(body=tuple(out))


def _written_out(stmt: Stmt, buffer: Buffer) -> tuple[Stmt, ...]:
    """A statement with the loops written out whose variables are indices of an array."""
    if type(stmt) is If and uses((*stmt.then, *stmt.orelse), buffer):
        then, orelse = (
            tuple([part for one in side for part in _written_out(one, buffer)]) for side in (stmt.then, stmt.orelse)
        )
        return (stmt.replace(then=then, orelse=orelse),)
    if type(stmt) is not For or not uses(stmt.body, buffer):
        return (stmt,)
    if not _chooses(stmt, buffer):
        return (stmt.replace(body=tuple([part for one in stmt.body for part in _written_out(one, buffer)])),)
    steps = iterations(stmt, ELEMENTS, LONGEST)
    if steps is None:
        raise _Refuse
    return tuple(part for one in steps for part in _written_out(one, buffer))


def _chooses(loop: For, buffer: Buffer) -> bool:
    """Whether which elements of an array a loop uses is a matter of its variable, or of loops that it bounds."""
    if any(uses(node.indices, loop.var) for node in accesses_of(loop.body, buffer)):
        return True
    return any(
        type(node) is For and uses((node.start, node.stop), loop.var) and uses(node.body, buffer)
        for node in walk(loop.body)
    )


def _place(node: BufferLoad | BufferStore) -> tuple[int, ...]:
    """The element that an access is to; refused where that is no number."""
    indices = [simplified(index) for index in node.indices]
    if node.predicate is not None or any(type(index) is not Const for index in indices):
        raise _Refuse
    return tuple(int(index.value) for index in indices)  # type: ignore[attr-defined]


__all__ = ["variables_from_arrays"]
