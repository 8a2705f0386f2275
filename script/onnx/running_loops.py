"""Rounds whose number is known when the model runs: a function that does half of them, then the other half, by calling
itself. So calls are as deep as the logarithm of the number, and what rounds gather is of a size known before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.constant import constant
from tirscript.ir.dtype import BOOL, INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Expr, Var
from tirscript.ir.graph import (
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
    plain_dimensions,
)
from tirscript.ir.graph_ops import dims
from tirscript.ir.rewrite import definitions, substitute, walk
from tirscript.ir.stmt import Stmt

from .branches import flows, isolated
from .growing import growing
from .sequences import Stacked

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node

_SCALAR = TensorType((), INT64)
_FLAG = TensorType((), BOOL)
_ALWAYS = 2**63 - 1
TRUE = GraphConst(constant(True, BOOL))


class Round(Struct, frozen=True, eq=False):
    """What one round gives: whether there is another one, what is carried to it, and what is gathered."""

    going: GraphExpr
    carried: list[GraphExpr]
    gathered: list[GraphExpr]


class RunningRounds:
    """The rounds of a graph inside a node. `read` sets its inputs and reads it, once."""

    def __init__(
        self,
        importer: Importer,
        node: Node,
        names: Sequence[str],
        read: Callable[[GraphVar, list[GraphVar]], Round],
    ) -> None:
        self.importer, self.node = importer, node
        self.graph = node.attrs["body"].g
        self.starts = [importer.tensor(name) for name in names]
        self.kinds = [node.type(one) for one in self.starts]
        words = (("number", _SCALAR), ("left", _SCALAR), ("going", _FLAG))
        self.number, self.left, self.going = (GraphVar(importer.name(word), kind) for word, kind in words)
        self.carried = [GraphVar(importer.name(name), kind) for name, kind in zip(names, self.kinds, strict=True)]

        def one_round() -> list[GraphExpr]:
            importer.rounds.append(self.number)
            found = read(self.number, self.carried)
            importer.rounds.pop()
            self.check(names, found)
            following = importer.op("add", self.number, _whole(1), name="number")
            return [following, self.flag(found.going), *found.carried, *found.gathered]

        self.body, self.results = isolated(importer, self.graph, one_round)
        self.pieces = [node.type(one) for one in self.results[2 + len(names) :]]
        self.check_pieces()

    def check(self, names: Sequence[str], found: Round) -> None:
        """Refuse a condition of another type, and what is carried that is not of one type in all rounds."""
        if self.node.dtype(found.going) is not BOOL:
            raise self.node.wrong(f"its condition is {self.node.dtype(found.going)}, not bool")
        for name, kind, var, one in zip(names, self.kinds, self.carried, found.carried, strict=True):
            if not structural_equal(self.node.type(one), kind):
                shapes = [dims.text(self.node.shape(value)) for value in (var, one)]
                message = f"`{name}` is {kind.dtype} {shapes[0]} at first, and {shapes[1]} behind a round"
                raise self.node.wrong(f"{message}, and the number of rounds is not known")

    def check_pieces(self) -> None:
        """Refuse what is gathered where each round may give another shape."""
        inside = {one for stmt in self.body for one in definitions(stmt) if type(one) is Var}
        for kind in self.pieces:
            if kind.shape is None or any(one in inside for dim in kind.shape for one in walk(dim)):
                raise self.node.wrong("it gathers tensors whose shape each round computes")

    def flag(self, going: GraphExpr) -> GraphExpr:
        return self.node.op("reshape", going, ()) if self.node.shape(going) else going

    def endless(self) -> bool:
        """Whether no round ends the others."""
        return is_true(self.results[1])

    def run(self, left: GraphExpr, going: GraphExpr, size: Sequence[Expr] = ()) -> list[GraphExpr]:
        """At most so many rounds: how many were done, whether there would be another one, what is carried, and what is
        gathered where their number, which is `left` then, is told as a dimension.
        """
        return _Function(self, bool(size)).call((_whole(0), left, going, *self.starts), size)


class _Function:
    """The function of some rounds, which gives what they carry, and with `gathers` what they gather."""

    def __init__(self, rounds: RunningRounds, gathers: bool) -> None:
        self.rounds, self.importer = rounds, rounds.importer
        self.word = self.importer.name("loop")
        self.pieces = rounds.pieces if gathers else []
        self.results = rounds.results if gathers else rounds.results[: 2 + len(rounds.carried)]
        self.own = [rounds.number, rounds.left, rounds.going, *rounds.carried]
        self.size: tuple[Expr, ...] = (Var(self.importer.name("size"), INT64),) if gathers else ()
        captured = self._captured()
        params = [*self.own, *map(_parameter, self.size), *captured]
        lost = self._lost(params)
        params += map(_parameter, lost)
        self.captured: list[GraphExpr] = [*params[len(params) - len(captured) - len(lost) :]]
        body, value = self._block(self._rounds)
        self.captured = [*captured, *map(_told, lost)]  # for calls from outside
        result = self._type(self.size)
        made = GraphFunc(self.word, tuple(params), body, value, result, private=True, check_well_formed=False)
        self.importer.functions.append(_apart(made))

    def _captured(self) -> list[GraphVar]:
        """The variables from around a loop that its rounds use."""
        body = self.rounds.body
        own = {*self.own, *(one for stmt in body for one in definitions(stmt) if type(one) is GraphVar)}
        used = (one for part in (*body, *self.results) for one in walk(part, GraphVar))
        return [one for one in dict.fromkeys(used) if one not in own]

    def _lost(self, params: Sequence[GraphVar]) -> list[Var]:
        """The dimensions from around a loop that no parameter has by itself."""
        told = {*plain_dimensions(tuple(param.type for param in params))}
        told |= {one for stmt in self.rounds.body for one in definitions(stmt) if type(one) is Var}
        parts = (*self.rounds.body, *self.results, *params, *(kind for kind in self.pieces))
        inner = [one for part in parts for one in walk(part)]
        inner += [one for var in inner if type(var) is GraphVar for one in walk(var.type)]
        return [one for one in dict.fromkeys(one for one in inner if type(one) is Var) if one not in told]

    def _type(self, size: tuple[Expr, ...]) -> TupleType:
        gathered = (TensorType((*size, *(kind.shape or ())), kind.dtype) for kind in self.pieces)
        return TupleType((_SCALAR, _FLAG, *self.rounds.kinds, *gathered))

    def call(self, given: Sequence[GraphExpr], size: Sequence[Expr]) -> list[GraphExpr]:
        """A call for so many rounds, and what it gives."""
        value = GraphVar(self.importer.name("found"), kind := self._type(tuple(size)))
        args = (*given, *map(_told, size), *self.captured)
        self.importer.body.append(GraphBind(value, FunctionCall(FunctionRef(self.word), args)))
        names = ("number", "going", *(one.name for one in self.rounds.carried), *("gathered" for one in self.pieces))
        return [self.importer.emit(TupleItem(value, at), name) for at, name in zip(range(len(kind.fields)), names)]

    def _block(self, make: Callable[[], GraphExpr]) -> tuple[tuple[Stmt, ...], GraphExpr]:
        """Statements of their own, and a value."""
        outside, self.importer.body = self.importer.body, []
        value = make()
        body, self.importer.body = self.importer.body, outside
        return flows(body, value.fields if type(value) is TupleExpr else [value]), value

    def _choice(self, condition: GraphExpr, *sides: Callable[[], GraphExpr]) -> GraphExpr:
        """What one of two sides gives, as long as the loop goes on."""
        condition = self.importer.op("logical_and", condition, self.rounds.going)
        (then, first), (other, second) = map(self._block, sides)
        var = GraphVar(self.importer.name("found"), self._type(self.size))
        self.importer.body.append(GraphIf(var, condition, then, first, other, second))
        return var

    def _rounds(self) -> GraphExpr:
        several = self.importer.op("less", _whole(1), self.rounds.left)
        return self._choice(several, self._halves, self._at_most_one)

    def _at_most_one(self) -> GraphExpr:
        return self._choice(self.importer.op("equal", self.rounds.left, _whole(1)), self._one, self._none)

    def _halves(self) -> GraphExpr:
        op = self.importer.op
        number, left, going, *carried = self.own
        half = op("floor_divide", left, _whole(2), name="half")
        sizes = [dims.floordiv(one, dims.dim(2)) for one in self.size]
        first = self.call((number, half, going, *carried), sizes)
        count = 2 + len(carried)
        rest = op("subtract", left, half, name="rest")
        sizes = [dims.sub(one, part) for one, part in zip(self.size, sizes, strict=True)]
        second = self.call((first[0], rest, *first[1:count]), sizes)
        joined = (op("concat", pair, 0) for pair in zip(first[count:], second[count:], strict=True))
        return TupleExpr((*second[:count], *joined))

    def _one(self) -> GraphExpr:
        self.importer.body += self.rounds.body
        count = 2 + len(self.rounds.carried)
        pieces = (self._line(one, kind) for one, kind in zip(self.results[count:], self.pieces, strict=True))
        return TupleExpr((*self.results[:count], *pieces))

    def _line(self, piece: GraphExpr, kind: TensorType) -> GraphExpr:
        """What one round gathers, as a part of one line."""
        shape = kind.shape or ()
        line = self.importer.op("reshape", piece, ShapeExpr((dims.ONE, *shape)))
        return self.importer.op("broadcast_to", line, ShapeExpr((*self.size, *shape)))  # the number of lines is one

    def _none(self) -> GraphExpr:
        number, _, going, *carried = self.own
        op, size = self.importer.op, self.size
        nothing = (op("zeros", ShapeExpr((*size, *(kind.shape or ()))), str(kind.dtype)) for kind in self.pieces)
        return TupleExpr((number, going, *carried, *nothing))


def _whole(number: int) -> GraphExpr:
    return GraphConst(constant(number, INT64))


def _told(size: Expr) -> GraphExpr:
    """An argument that tells a dimension."""
    return ShapeExpr((size,))


def _parameter(var: Expr) -> GraphVar:
    """The parameter that tells a dimension."""
    assert type(var) is Var
    return GraphVar(var.name, ShapeType((var,)))


def _apart(func: GraphFunc) -> GraphFunc:
    """The function with parameters and dimensions of its own, which those around it share."""
    told = plain_dimensions(tuple(param.type for param in func.params))
    sizes: dict[Any, Any] = {var: Var(var.name, var.dtype) for var in told}
    fresh = dict(sizes)
    for one in dict.fromkeys(walk(func, GraphVar)):
        fresh[one] = one.replace(type=substitute(one.type, sizes))
    made: GraphFunc = substitute(func, fresh)
    return made


def running_loop(importer: Importer, node: Node) -> None:
    """`while i < limit and going: going, carried, piece = body(i, carried)`, where `limit` or `going` is not known.

    What is carried keeps its shape and dtype, or grows by a piece in each round. Where the rounds decide how many there
    are, and gather, they are done twice: counted, then gathered.
    """
    names = list(node.proto.input)[2:]
    graph = node.attrs["body"].g
    last = 1 + max(len(node.proto.output), len(names))
    if len(graph.input) < 2 + len(names) or len(graph.output) < last:
        raise node.wrong(f"the graph in it does not take and give the {len(names)} tensors that are carried")
    grows = growing(graph, graph.input[2 : 2 + len(names)], graph.output[1 : 1 + len(names)])
    steady = [at for at, one in enumerate(grows) if one is None]
    longer = [one for one in grows if one is not None]
    pieces = [*(one.name for one in graph.output[1 + len(names) : last]), *(one.piece for one in longer)]
    limit = _scalar(node, 0, INT64) if node.has(0) else _whole(_ALWAYS)
    going = _scalar(node, 1, BOOL) if node.has(1) else TRUE

    def read(number: GraphVar, carried: list[GraphVar]) -> Round:
        import numpy as np

        importer.values[graph.input[0].name] = number
        importer.keep(graph.input[1].name, np.asarray(True))
        for at, var in zip(steady, carried, strict=True):
            importer.values[graph.input[2 + at].name] = var
        apart = [part for one in longer for part in (one.proto, one.before)]
        importer.nodes(one for one in graph.node if all(one is not other for other in apart))
        found = [importer.tensor(graph.output[1 + at].name) for at in steady]
        return Round(importer.tensor(graph.output[0].name), found, [importer.tensor(one) for one in pieces])

    rounds = RunningRounds(importer, node, [names[at] for at in steady], read)
    if not pieces:
        give(node, rounds.run(limit, going)[2:])
        return
    if not (node.has(0) and is_true(going) and rounds.endless()):
        limit = rounds.run(limit, going)[0]
        size = node.computed(limit, "the number of its rounds")
    elif (known := node.single(0)) is not None:
        size = (dims.maximum(known, dims.dim(0)),)
    else:
        limit = importer.op("maximum", limit, _whole(0))
        size = node.computed(limit, "the number of its rounds")
    found = iter(rounds.run(limit, TRUE, size)[2:])
    carried: list[Any] = [next(found) if one is None else one for one in grows]
    gathered = [next(found) for _ in range(last - 1 - len(names))]
    for at, one in enumerate(grows):
        if one is not None:
            carried[at] = one.joined(node, names[at], next(found))
    give(node, [*carried, *gathered])


def give(node: Node, found: Sequence[GraphExpr | Stacked]) -> None:
    """Tensors, and sequences of them, as the outputs of a node, in their order."""
    for name, value in zip(node.proto.output, found, strict=False):
        if name:
            node.importer.take(name, ())
            table: dict[str, Any] = node.importer.sequences if type(value) is Stacked else node.importer.values
            table[name] = value


def is_true(flag: GraphExpr) -> bool:
    return type(flag) is GraphConst and bool(flag.data.array.all())


def _scalar(node: Node, at: int, kind: Any) -> GraphExpr:
    found = node.tensor(at)
    if node.dtype(found) is not kind:
        raise node.wrong(f"input {at} is {node.dtype(found)}, not {kind}")
    return node.op("reshape", found, ()) if node.shape(found) else found


__all__ = ["TRUE", "Round", "RunningRounds", "give", "is_true", "running_loop"]
