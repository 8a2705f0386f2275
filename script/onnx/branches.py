"""`If`: the branch that is taken, in the place of the node, where its condition is known; else both as branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tirscript.ir.dtype import BOOL
from tirscript.ir.graph import Dataflow, GraphExpr, GraphIf, GraphVar, ShapeExpr, TensorType, TupleExpr, TupleItem
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import join
from tirscript.ir.rewrite import definitions, walk
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import counted

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node


def branch(importer: Importer, node: Node) -> None:
    """The nodes of the branch that a condition chooses, or a choice when the model runs."""
    chosen = node.data(0)
    sides = [node.attrs[name].g for name in ("then_branch", "else_branch")]
    if chosen is None:
        _choice(importer, node, sides)
        return
    if chosen.size != 1:
        raise node.wrong(f"its condition has {chosen.size} elements")
    taken = sides[0] if chosen.array.reshape(-1)[0] else sides[1]
    with importer.inside(taken):
        importer.nodes(taken.node)
        found = [importer.known(one.name) for one in taken.output]
    _check_count(node, len(found))
    for name, known in zip(node.proto.output, found, strict=True):
        importer.take(name, known)


def _check_count(node: Node, count: int) -> None:
    if count != len(node.proto.output):
        raise node.wrong(f"a branch gives {counted(count, 'value')} for {counted(len(node.proto.output), 'output')}")


def _choice(importer: Importer, node: Node, sides: Sequence[Any]) -> None:
    """Both branches, each with statements of its own, and what they give."""
    condition = node.tensor(0)
    if node.dtype(condition) is not BOOL:
        raise node.wrong(f"its condition is {node.dtype(condition)}, not bool")
    count = dims.number(dims.product(node.shape(condition)))
    if count not in (1, None):
        raise node.wrong(f"its condition has {counted(count, 'element')}")
    if node.shape(condition):
        condition = node.op("reshape", condition, ShapeExpr(()))
    (then, first), (other, second) = (_side(importer, node, graph) for graph in sides)
    kinds = [(node.type(a), node.type(b)) for a, b in zip(first, second, strict=True)]
    for name, (a, b) in zip(node.proto.output, kinds, strict=True):
        if a.dtype is not b.dtype:
            raise node.wrong(
                f"its branches give {a.dtype} and {b.dtype} for `{name}`",
                f"where its condition is an input, say its value: `values={{{node.proto.input[0]!r}: ...}}`",
            )
    values = [one[0] if len(one) == 1 else TupleExpr(tuple(one)) for one in (first, second)]
    kind = join(type_of(values[0]), type_of(values[1]))
    var = GraphVar(importer.name(node.output), kind)
    importer.body.append(GraphIf(var, condition, then, values[0], other, values[1]))
    for at, (name, sides_have) in enumerate(zip(node.proto.output, kinds, strict=True)):
        if name:
            importer.take(name, ())
            given = var if len(kinds) == 1 else importer.emit(TupleItem(var, at), name)
            importer.values[name] = _with_sizes(importer, name, given, *sides_have)


def _with_sizes(importer: Importer, name: str, value: GraphExpr, a: TensorType, b: TensorType) -> GraphExpr:
    """A tensor of either type, of whose dimensions those that differ get names, where both have as many."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape) or dims.same_shapes(a.shape, b.shape):
        return value
    shape = tuple(
        one if dims.same(one, other) else importer.size(f"{name}_{axis}")
        for axis, (one, other) in enumerate(zip(a.shape, b.shape, strict=True))
    )
    return importer.match_cast(value, TensorType(shape, a.dtype), name)


def _side(importer: Importer, node: Node, graph: Any) -> tuple[tuple[Stmt, ...], list[GraphExpr]]:
    """The statements of a branch and its results."""

    def all_of_it() -> list[GraphExpr]:
        importer.nodes(graph.node)
        return [importer.tensor(one.name) for one in graph.output]

    body, results = isolated(importer, graph, all_of_it)
    _check_count(node, len(results))
    return flows(body, results), results


def isolated(importer: Importer, graph: Any, read: Callable[[], list[GraphExpr]]) -> tuple[list[Stmt], list[GraphExpr]]:
    """The statements that `read` makes of the graph inside a node, and what it gives. What is known in the graph is
    not known behind it, but for parameters."""
    outside, importer.body = importer.body, []
    known, least, long = [dict(table) for table in importer.tables], dict(importer.least), len(importer.long)
    try:
        with importer.inside(graph):
            results = read()
        body = importer.body
    finally:
        importer.body, importer.least = outside, least
        del importer.long[long:]
        params = {name: one for name, one in importer.values.items() if one in importer.params}
        for table, before in zip(importer.tables, known, strict=True):
            table.clear()
            table.update(before)
        importer.values.update(params)
    return body, results


def flows(body: Sequence[Stmt], results: Sequence[GraphExpr]) -> tuple[Stmt, ...]:
    """Statements with those between branches in dataflows, which give what is used behind them, and the results."""
    out: list[Stmt] = []
    needed = dict.fromkeys(one for one in results if type(one) is GraphVar)
    end = len(body)
    while end:
        start = end
        while start and type(body[start - 1]) is not GraphIf:
            start -= 1
        if start < end:
            part = tuple(body[start:end])
            made = {var for stmt in part for var in definitions(stmt)}
            out.append(Dataflow(part, tuple(one for one in needed if one in made)))
        else:
            start -= 1
            out.append(body[start])
        if start:
            needed |= dict.fromkeys(one for stmt in body[start:end] for one in walk(stmt, GraphVar))
        end = start
    return tuple(reversed(out))


__all__ = ["branch", "flows", "isolated"]
