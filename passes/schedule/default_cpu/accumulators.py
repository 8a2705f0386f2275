"""Fields of records that inner loops change are kept in variables meanwhile, so that lanes can take the loop over the
records: `records.py` has what loops only read.

before:                                            after:
    for i in range(1024):                              for i in range(1024):
        for c in range(3):                                 F[i, 0] = 0.0
            F[i, c] = 0.0                                  F[i, 1] = 0.0
        for j in range(1024):                              F[i, 2] = 0.0
            F[i, 0] = F[i, 0] + P[j, 0]                    total: T.float32 = F[i, 0]
                                                           for j in range(1024):
                                                               total = total + P[j, 0]
                                                           F[i, 0] = total

A place is no other iteration's where all that the loop does with the memory is at the same index of a dimension that
steps along with it. If it is also proved to be in the buffer, it may be read and stored where a condition would not.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Call, Const
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import BufferStore, For, ScalarDecl, Stmt

from ...access import constant_extent
from ...plain_loops.plain import are_apart, is_there, iterations
from ...statements import same_indices
from .nests import TAKEN, stride_of
from .records import LONG

# fields of a record that a loop of its own goes through, and nodes of it when it is written out
FIELDS, LONGEST = 8, 1000

Access = BufferLoad | BufferStore


def with_accumulators(loop: For, known: Analyzer) -> For:
    """A loop, in which `known` holds, with variables for the fields that its inner loops change; itself where there are
    none."""
    if any(type(node) is Call and node.op is OPS["address_of"] for node in walk(loop)):
        return loop
    written = loop.replace(body=_fields_written_out(loop))
    body: list[Stmt] = []
    for stmt in written.body:
        body += _kept(stmt, written, known) if type(stmt) is For else (stmt,)
    return loop if are_same(body, loop.body) else loop.replace(body=tuple(body))


def _fields_written_out(loop: For) -> tuple[Stmt, ...]:
    """The statements of a loop, whose loops through the fields of its records are written out."""

    def visit(inner: For) -> Any:
        nodes = list(walk(inner.body))
        if any(type(node) is For or type(node) is ScalarDecl for node in nodes):
            return inner
        if not any(_is_across(node, loop) and uses(node, inner.var) for node in nodes):
            return inner
        return iterations(inner, FIELDS, LONGEST) or inner

    found: tuple[Stmt, ...] = rewrite(loop.body, {For: visit})
    return found


def _kept(inner: For, loop: For, known: Analyzer) -> tuple[Stmt, ...]:
    """An inner loop with variables for the fields of `loop` that it changes."""
    extent, nodes = constant_extent(inner), list(walk(inner.body))
    if (extent is not None and extent < LONG) or inner.step is not None or leaves_loop(inner.body):
        return (inner,)
    if any(isinstance(node, Stmt) and type(node) not in TAKEN for node in nodes):
        return (inner,)
    accesses = [node for node in walk(loop.body) if type(node) in (BufferLoad, BufferStore)]
    inside = {id(node) for node in nodes}
    places: list[tuple[BufferLoad, Buffer]] = []
    for node in nodes:
        if (
            type(node) is not BufferStore
            or not _is_across(node, loop)
            or any(_same(node, place) for place, _ in places)
        ):
            continue
        if is_there(known, node.indices, node.buffer.shape) and _stays(node, loop, inside, accesses):
            buffer = Buffer(f"{node.buffer.name.lower()}_{len(places)}", (), node.buffer.dtype, scope="scalar")
            places.append((BufferLoad(node.buffer, node.indices), buffer))
    if not places:
        return (inner,)

    def moved(node: Any) -> Any:
        found = next((variable for place, variable in places if _same(node, place)), None)
        return node if found is None else node.replace(buffer=found, indices=())

    changed = rewrite(inner, {BufferLoad: moved, BufferStore: moved})
    before = [ScalarDecl(variable, place, span=inner.span) for place, variable in places]
    behind = [
        BufferStore(place.buffer, place.indices, BufferLoad(variable, ()), span=inner.span)
        for place, variable in places
    ]
    return (*before, changed, *behind)


def _is_across(node: Any, loop: For) -> bool:
    """Whether a node reads or writes an element that is not beside that of the iteration of a loop before."""
    return type(node) in (BufferLoad, BufferStore) and bool(node.indices) and stride_of(node, loop.var) not in (0, 1)


def _stays(store: BufferStore, loop: For, inside: set[int], accesses: list[Any]) -> bool:
    """Whether a store in an inner loop is to one element in each iteration of the loop, of no other iteration, and
    whatever else the inner loop, whose nodes are `inside`, does with the buffer is to this one or to others."""
    buffer = store.buffer
    if store.predicate is not None or buffer.dtype.is_vector or buffer.strides is not None:
        return False
    if not _is_fixed(store, loop):
        return False
    own = [at for at, index in enumerate(store.indices) if linear(index).terms.keys() == {loop.var}]
    mine: list[Access] = [node for node in accesses if node.buffer is store.buffer]
    if not own or not all(any(same_indices((node.indices[at],), (store.indices[at],)) for at in own) for node in mine):
        return False
    return all(
        node.predicate is None and (_same(node, store) or are_apart(node, store)) for node in mine if id(node) in inside
    )


def _is_fixed(access: Access, loop: For) -> bool:
    """Whether the indices of an access are numbers, but for those along the loop."""
    return all(type(index) is Const or linear(index).terms.keys() == {loop.var} for index in access.indices)


def _same(node: Any, place: Access) -> bool:
    accesses = type(node) in (BufferLoad, BufferStore)
    return accesses and node.buffer is place.buffer and same_indices(node.indices, place.indices)


__all__ = ["with_accumulators"]
