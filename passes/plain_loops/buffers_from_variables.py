"""Variables of a function that a loop adds to become buffers of one element, whose sums `with_blocks` takes.

before:                                            after:
    s: T.float32 = 0.0                                 s = T.alloc_buffer((1,), "float32")
    for i in range(8):                                 s[0] = 0.0
        s = s + A[i]                                   for i in range(8):
    B[0] = s                                               s[0] = s[0] + A[i]
                                                       B[0] = s[0]
"""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32
from tirscript.ir.expr import BufferLoad, Const
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, For, ScalarDecl, Stmt

_FIRST = (Const(0, INT32),)


def buffers_from_variables(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function with buffers for its own variables that its loops change; itself where there are none."""
    changed = {node.buffer for stmt in body if type(stmt) is For for node in walk(stmt, BufferStore)}
    found = {
        stmt.buffer: Buffer(stmt.buffer.name, (Const(1, INT32),), stmt.buffer.dtype)
        for stmt in body
        if type(stmt) is ScalarDecl and stmt.value is not None and stmt.buffer in changed
    }
    if not found:
        return body

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        return node.replace(buffer=found[node.buffer], indices=_FIRST) if node.buffer in found else node

    def declared(node: ScalarDecl) -> Stmt:
        if node.buffer not in found or node.value is None:
            return node
        return BufferStore(found[node.buffer], _FIRST, node.value, span=node.span, trivia=node.trivia)

    made: tuple[Stmt, ...] = rewrite(body, {BufferLoad: access, BufferStore: access, ScalarDecl: declared})
    return (*(AllocBuffer(buffer) for buffer in found.values()), *made)


__all__ = ["buffers_from_variables"]
