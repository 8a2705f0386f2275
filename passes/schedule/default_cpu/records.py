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
from functools import cached_property
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.node import Node
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import children, defined_by, free_vars, rewrite, uses, walk
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


class Records:
    """A loop over records, in which `known` holds: which accesses across memory each of its iterations needs once."""

    def __init__(self, loop: For, known: Analyzer) -> None:
        self.loop, self.known = loop, known
        nodes = list(walk(loop.body))
        self.inner = [node for node in nodes if type(node) is For]
        extents = [constant_extent(one) for one in self.inner]
        self.long = all(extent is None or extent >= LONG for extent in extents)
        self.steps = {one.var for one in self.inner}
        self.inside = {id(node) for one in self.inner for node in walk(one.body)}
        self.stored = {node.buffer for node in nodes if type(node) is BufferStore}
        self.defined = {name for node in nodes for name in defined_by(node)}

    @cached_property
    def always(self) -> set[int]:
        """The loads that each iteration is sure to do."""
        return {id(load) for load in _always(self.loop.body)}

    def has(self, access: BufferLoad | BufferStore) -> bool:
        """Whether an access is needed once, for all of the long loops inside, and may be done before them."""
        used = set(free_vars(access.indices))
        if any(map(reads_memory, access.indices)) or not self.steps.isdisjoint(used) or not self.long:
            return False
        if id(access) not in self.inside:
            return True
        if type(access) is not BufferLoad or access.predicate is not None or access.buffer in self.stored:
            return False
        there = id(access) in self.always or is_there(self.known, access.indices, access.buffer.shape)
        return self.defined.isdisjoint(used) and there


def with_fields(loop: For, known: Analyzer) -> tuple[For, int]:
    """A loop, in which `known` holds, that reads each field that its inner loops use before them, and how many."""
    records = Records(loop, known)
    names: list[tuple[BufferLoad, Bind]] = []
    taken: dict[int, Var] = {}
    for load in walk(loop.body):
        if type(load) is not BufferLoad or id(load) not in records.inside or id(load) in taken:
            continue
        if stride_of(load, loop.var) in (0, 1) or not records.has(load):
            continue
        found = next((name for one, name in names if structural_equal(one, load, map_free_vars=False)), None)
        if found is None:
            found = Bind(Var(load.buffer.name.lower(), load.dtype), load)
            names.append((load, found))
        taken[id(load)] = found.var
    if not taken:
        return loop, 0
    body = rewrite(loop.body, {BufferLoad: lambda load: taken.get(id(load), load)})
    return loop.replace(body=(*(name for _, name in names), *body)), len(names)


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
        elif type(node) is Call and node.op in LAZY:
            todo.append(node.args[0])
        else:
            todo += children(node)


__all__ = ["Records", "flattened", "with_fields"]
