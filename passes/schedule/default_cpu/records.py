"""Fields of records that a loop over these reads and writes once, around long loops: they are no obstacle for vectors.

before:                                            after:
    for i in range(1024):                              for i_0 in range(64):
        s: T.float32 = 0.0                                 for i_1 in T.vectorized(16):
        for j in range(1024):                                  x = P[i_0 * 16 + i_1, 0]
            s = s + T.abs(P[j, 0] - P[i, 0])                   s: T.float32 = 0.0
        C[i, 2] = s                                            for j in range(1024):
                                                                   s = s + T.abs(P[j, 0] - x)
                                                               C[i_0 * 16 + i_1, 2] = s
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.node import Node
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import children, defined_by, rewrite, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, For, ScalarDecl, Stmt

from ...access import constant_extent
from ...layout import flat_size
from ...lower.flatten_buffer import flat_index
from ...plain_loops.plain import is_there
from ...statements import reads_memory
from .nests import stride_of

# iterations of a loop for which vectors are put together of elements that do not lie beside each other
LONG = 16
# what evaluates some of its operands only now and then
_LAZY = frozenset(OPS[name] for name in ("if_then_else", "logical_and", "logical_or"))


def is_field(access: BufferLoad | BufferStore, loop: For, known: Analyzer) -> bool:
    """Whether each iteration of a loop, in which `known` holds, needs an access across memory once, for all of the long
    loops inside of it, and may do it before them."""
    inner = [node for node in walk(loop.body) if type(node) is For]
    if any(map(reads_memory, access.indices)) or any(uses(access.indices, one.var) for one in inner):
        return False
    if any((extent := constant_extent(one)) is not None and extent < LONG for one in inner):
        return False
    if not any(node is access for one in inner for node in walk(one.body)):
        return True
    stored = any(type(node) is BufferStore and node.buffer is access.buffer for node in walk(loop.body))
    if type(access) is not BufferLoad or access.predicate is not None or stored:
        return False
    free = not any(uses(access.indices, name) for node in walk(loop.body) for name in defined_by(node))
    return free and (
        any(node is access for node in _always(loop.body)) or is_there(known, access.indices, access.buffer.shape)
    )


def with_fields(loop: For, known: Analyzer) -> tuple[For, int]:
    """A loop, in which `known` holds, that reads each field that its inner loops use before them, and how many."""
    loads = [node for one in walk(loop.body) if type(one) is For for node in walk(one.body) if type(node) is BufferLoad]
    names: dict[str, Bind] = {}
    taken: dict[int, Var] = {}
    for load in loads:
        if id(load) not in taken and stride_of(load, loop.var) not in (0, 1) and is_field(load, loop, known):
            text = load.script()
            if text not in names:
                names[text] = Bind(Var(load.buffer.name.lower(), load.dtype), load)
            taken[id(load)] = names[text].var
    if not taken:
        return loop, 0
    body = rewrite(loop.body, {BufferLoad: lambda load: taken.get(id(load), load)})
    return loop.replace(body=(*names.values(), *body)), len(names)


def flattened(loop: For) -> For:
    """A loop with lines of memory for arrays that it goes across; itself where there are none.

    A vector of elements that do not lie beside each other can be told of memory that is flat alone.
    """
    lines: dict[Buffer, Buffer] = {}

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        buffer = node.buffer
        if not any(uses(index, loop.var) for index in node.indices[:-1]):
            return node
        if buffer not in lines:
            lines[buffer] = Buffer(buffer.name, (flat_size(buffer),), buffer.dtype)
        return node.replace(buffer=lines[buffer], indices=(flat_index(buffer, node.indices),))

    found: For = rewrite(loop, {BufferLoad: access, BufferStore: access})
    return found


def _always(body: tuple[Stmt, ...]) -> Iterator[BufferLoad]:
    """The loads that statements are sure to do."""
    for stmt in body:
        if type(stmt) is For:
            if (constant_extent(stmt) or 0) > 0:
                yield from _always(stmt.body)
        elif type(stmt) in (Bind, BufferStore, ScalarDecl):
            value: Any = stmt
            yield from _evaluated(value.value)


def _evaluated(expr: Expr | None) -> Iterator[BufferLoad]:
    """The loads of an expression, but for those that a condition may keep from being done."""
    todo: list[Node] = [] if expr is None else [expr]
    while todo:
        node = todo.pop()
        if type(node) is BufferLoad:
            yield node
        elif type(node) is Call and node.op in _LAZY:
            todo.append(node.args[0])
        else:
            todo += children(node)


__all__ = ["flattened", "is_field", "with_fields"]
