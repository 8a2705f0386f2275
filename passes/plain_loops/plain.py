"""Rewriting loops that hold no blocks: what people wrote in blocks says already what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import holds, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, For, Stmt

from ..access import constant_extent
from ..simplify import simplified
from ..statements import keep_comments, reads_memory


def in_plain_loops(body: tuple[Stmt, ...], rules: Mapping[type, Callable[[Any], Any]]) -> tuple[Stmt, ...]:
    """The body of a function with rules, by classes of nodes, applied in its loops without blocks."""

    def is_plain(stmt: Stmt) -> bool:
        return type(stmt) is For and not holds(stmt, Block)

    return tuple([rewrite(stmt, rules) if is_plain(stmt) else stmt for stmt in body])


def allocated_before(func: PrimFunc, body: Sequence[Stmt]) -> PrimFunc:
    """The function with another body, whose allocations that are new stand before the first loop; itself where nothing
    was added to its own."""
    if len(body) == len(func.body):
        return func
    known = {stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer}
    new = [stmt for stmt in body if type(stmt) is AllocBuffer and stmt.buffer not in known]
    rest = [stmt for stmt in body if type(stmt) is not AllocBuffer or stmt.buffer in known]
    at = next(place for place, stmt in enumerate(rest) if type(stmt) is For)
    return func.replace(body=(*rest[:at], *new, *rest[at:]))


def accesses_of(root: Node | tuple[Node, ...], buffer: Buffer) -> Iterator[BufferLoad | BufferStore]:
    """The loads and stores of a buffer."""
    for node in walk(root):
        if type(node) in (BufferLoad, BufferStore) and node.buffer is buffer:  # type: ignore[attr-defined]
            yield node  # type: ignore[misc]


def are_apart(a: BufferLoad | BufferStore, b: BufferLoad | BufferStore) -> bool:
    """Whether two accesses of a buffer are to different elements, by numbers for one of the indices."""
    pairs = zip(a.indices, b.indices, strict=True)
    # by strides, other indices may be the same element
    return a.buffer.strides is None and any(
        type(one) is Const and type(other) is Const and one.value != other.value for one, other in pairs
    )


def iterations(loop: For, most: int, longest: int) -> tuple[Stmt, ...] | None:
    """The iterations of a loop one after the other; None where these are not `most` at most, with `longest` nodes in
    all, or a statement leaves the loop."""
    start, stop = simplified(loop.start), simplified(loop.stop)
    extent = constant_extent(loop.replace(start=start, stop=stop))
    if extent is None or extent > most or loop.step is not None or loop.annotations or leaves_loop(loop.body):
        return None
    if loop.kind not in ("serial", "unroll") or extent * sum(1 for _ in walk(loop.body)) > longest:
        return None
    out: list[Stmt] = []
    for at in range(extent):
        body = substitute(loop.body, {loop.var: simplified(start + at)})
        out += [stmt.replace(trivia=None) for stmt in refresh(body)] if at else body
    return keep_comments(loop, tuple(out))


def conjuncts(condition: Expr) -> list[Expr]:
    """What is asked one after the other, all of which must hold."""
    if type(condition) is Call and condition.op is OPS["logical_and"]:
        return [*conjuncts(condition.args[0]), *conjuncts(condition.args[1])]
    return [condition]


def is_there(analyzer: Analyzer, indices: tuple[Expr, ...], shape: tuple[Expr, ...]) -> bool:
    """Whether indices are proved to be in a buffer of a shape."""
    return not any(map(reads_memory, indices)) and all(
        _is_inside(analyzer, index, dim) for index, dim in zip(indices, shape, strict=True)
    )


def _is_inside(analyzer: Analyzer, index: Expr, dim: Expr) -> bool:
    low, high = analyzer.const_int_bound(index)
    if type(dim) is Const or low < 0:
        return low >= 0 and type(dim) is Const and bool(high < dim.value)
    return index.dtype is dim.dtype and analyzer.can_prove(get_op("less")(index, dim))


__all__ = ["allocated_before", "are_apart", "conjuncts", "in_plain_loops", "is_there", "iterations"]
