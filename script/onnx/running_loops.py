"""`Loop` whose number of rounds is known when the model runs: a function that calls itself for the next round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirscript.ir.constant import constant
from tirscript.ir.dtype import BOOL, INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Var
from tirscript.ir.graph import (
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    TensorType,
    TupleExpr,
    TupleItem,
    plain_dimensions,
)
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.rewrite import definitions, substitute, walk
from tirscript.ir.stmt import Stmt

from .branches import flows, isolated

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node

_SCALAR = TensorType((), INT64)
_FLAG = TensorType((), BOOL)
_ALWAYS = 2**63 - 1


def running_loop(importer: Importer, node: Node) -> None:
    """`while i < limit and going: going, carried = body(i, carried)`, as a function that calls itself.

    What is carried keeps its shape and dtype, and nothing is gathered, as the number of gathered parts has no bound.
    """
    names = list(node.proto.input)[2:]
    if len(node.proto.output) > len(names):
        message = f"it gathers `{node.proto.output[len(names)]}`, and the number of its rounds is not known"
        raise node.wrong(f"{message} before the model runs")
    graph = node.attrs["body"].g
    if len(graph.input) < 2 + len(names) or len(graph.output) < 1 + len(names):
        raise node.wrong(f"the graph in it does not take and give the {len(names)} tensors that are carried")
    limit = _scalar(node, 0, INT64) if node.has(0) else GraphConst(constant(_ALWAYS, INT64))
    going = _scalar(node, 1, BOOL) if node.has(1) else GraphConst(constant(True, BOOL))
    starts = [importer.tensor(name) for name in names]
    kinds = [node.type(one) for one in starts]
    words = (("round", _SCALAR), ("going", _FLAG), ("limit", _SCALAR))
    own = [GraphVar(importer.name(word), kind) for word, kind in words]
    carried = [GraphVar(importer.name(name), kind) for name, kind in zip(names, kinds, strict=True)]

    def one_round() -> list[GraphExpr]:
        importer.values[graph.input[0].name] = own[0]
        importer.values[graph.input[1].name] = GraphConst(constant(True, BOOL))
        for info, var in zip(graph.input[2:], carried, strict=False):
            importer.values[info.name] = var
        importer.rounds.append(own[0])
        importer.nodes(graph.node)
        importer.rounds.pop()
        found = [importer.tensor(one.name) for one in graph.output[: 1 + len(names)]]
        if node.dtype(found[0]) is not BOOL:
            raise node.wrong(f"its condition is {node.dtype(found[0])}, not bool")
        for name, kind, var, one in zip(names, kinds, carried, found[1:], strict=True):
            if not structural_equal(node.type(one), kind):
                shapes = f"{dims.text(node.shape(var))} at first, and {dims.text(node.shape(one))} behind a round"
                raise node.wrong(f"`{name}` is {kind.dtype} {shapes}, and the number of rounds is not known", None)
        following = importer.op("add", own[0], GraphConst(constant(1, INT64)), name="round")
        flag = found[0] if not node.shape(found[0]) else importer.op("reshape", found[0], (), name="going")
        return [following, flag, *found[1:]]

    body, following = isolated(importer, graph, one_round)
    more = _captured(body, following, {*own, *carried})
    given = (*following[:2], own[2], *following[2:], *more)
    word = importer.name("loop")
    result: Any = kinds[0] if len(kinds) == 1 else type_of(TupleExpr(tuple(carried)))
    again = GraphVar(importer.name("again"), result)
    call = GraphBind(again, FunctionCall(FunctionRef(word), given))
    then = (*flows(body, [one for one in given if one not in (*own, *carried, *more)]), call)
    outside, importer.body = importer.body, []
    within = importer.op("less", own[0], own[2], name="within")
    condition = importer.op("logical_and", within, own[1], name="going")
    head, importer.body = importer.body, outside
    last: GraphExpr = carried[0] if len(kinds) == 1 else TupleExpr(tuple(carried))
    found = GraphVar(importer.name("found"), result)
    branch = GraphIf(found, condition, then, again, (), last)
    params = (*own, *carried, *more)
    made = GraphFunc(word, params, (*head, branch), found, result, private=True, check_well_formed=False)
    importer.functions.append(_apart(made, node))
    first = GraphConst(constant(0, INT64))
    value = GraphVar(importer.name(node.output), result)
    importer.body.append(GraphBind(value, FunctionCall(FunctionRef(word), (first, going, limit, *starts, *more))))
    for at, name in enumerate(node.proto.output):
        if name:
            importer.take(name, ())
            importer.values[name] = value if len(kinds) == 1 else importer.emit(TupleItem(value, at), name)


def _scalar(node: Node, at: int, kind: Any) -> GraphExpr:
    found = node.tensor(at)
    if node.dtype(found) is not kind:
        raise node.wrong(f"input {at} is {node.dtype(found)}, not {kind}")
    return node.op("reshape", found, ()) if node.shape(found) else found


def _captured(body: list[Stmt], values: list[GraphExpr], known: set[GraphVar]) -> list[GraphVar]:
    """The variables from around a loop that its rounds use."""
    own = known | {one for stmt in body for one in definitions(stmt) if type(one) is GraphVar}
    used = (one for part in (*body, *values) for one in walk(part) if type(one) is GraphVar)
    return [one for one in dict.fromkeys(used) if one not in own]


def _apart(func: GraphFunc, node: Node) -> GraphFunc:
    """The function with parameters and dimensions of its own, which those around it share."""
    told = plain_dimensions(tuple(param.type for param in func.params))
    inside = {one for one in definitions(func.body) if type(one) is Var}
    lost = next((one for one in walk(func) if type(one) is Var and one not in told and one not in inside), None)
    if lost is not None:
        raise node.wrong(f"no tensor that it takes has the dimension `{lost.name}` by itself")
    sizes: dict[Any, Any] = {var: Var(var.name, var.dtype) for var in told}
    fresh = dict(sizes)
    for one in dict.fromkeys(node for node in walk(func) if type(node) is GraphVar):
        fresh[one] = one.replace(type=substitute(one.type, sizes))
    made: GraphFunc = substitute(func, fresh)
    return made


__all__ = ["running_loop"]
