"""`Loop` and `Scan`: where the number of rounds is known, their graphs are written out, a round after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tirscript.ir.constant import constant
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, GraphVar, ShapeExpr, TensorType
from tirscript.ir.graph_ops import dims

from .running_loops import TRUE, Round, RunningRounds, give, running_loop

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node

MOST_ROUNDS = 512


class Rounds:
    """The graph inside a node, written out once a round. What is carried goes from its outputs to its inputs."""

    def __init__(self, importer: Importer, node: Node) -> None:
        self.importer, self.node = importer, node
        self.graph = node.attrs["body"].g
        self.own = outputs_of(self.graph)
        self.gathered: list[list[GraphExpr]] = []

    def carry(self, names: Sequence[str]) -> None:
        """Begin with the tensors of these names as what is carried."""
        self.carried = [self.importer.known(name) for name in names]

    def check(self, inputs: int, outputs: int) -> None:
        """Refuse a graph that has fewer inputs and outputs than a round needs."""
        for what, have, least in (("inputs", self.graph.input, inputs), ("outputs", self.graph.output, outputs)):
            if len(have) < least:
                raise self.node.wrong(f"the graph in it has {len(have)} {what}, and a round needs {least}")

    def round(self, first: int, outputs: int) -> None:
        """One round: `first` inputs of the graph, which the caller has set, stand before those that are carried, and
        the same number of outputs before theirs; the outputs behind are gathered. Inputs set before stay.
        """
        inputs = [one.name for one in self.graph.input]
        for name, known in zip(inputs[first:], self.carried, strict=False):
            self.importer.take(name, known)
        for name in self.own:
            self.importer.take(name, ())
        self.importer.nodes(self.graph.node)
        names = [one.name for one in self.graph.output]
        behind = outputs + len(self.carried)
        self.carried = [self.importer.known(name) for name in names[outputs:behind]]
        self.gathered.append([self.importer.tensor(name) for name in names[behind:]])

    def finish(self, axes: Sequence[int] = (), backward: Sequence[int] = ()) -> None:
        """Give the node's outputs: what is carried at the end, and what was gathered, stacked along these axes."""
        names = list(self.node.proto.output)
        count = len(self.carried)
        for name, known in zip(names, self.carried, strict=False):
            if name:
                self.importer.take(name, known)
        for at, name in enumerate(names[count:]):
            if not name:
                continue
            parts = [row[at] for row in self.gathered]
            if at < len(backward) and backward[at]:
                parts.reverse()
            axis = axes[at] if at < len(axes) else 0
            self.importer.values[name] = self.importer.op("stack", parts, axis, name=name)


def outputs_of(graph: Any) -> set[str]:
    """The names that the nodes of a graph give."""
    return {name for node in graph.node for name in node.output if name}


def loop(importer: Importer, node: Node) -> None:
    """`Loop`: at most a number of rounds, while a condition holds that each round computes."""
    limit = node.scalar(0) if node.has(0) else None
    before = importer.state()
    if not node.has(0) or (limit is not None and limit <= MOST_ROUNDS):
        try:
            _written_out(importer, node, limit)
        except _NotKnownError:
            importer.back_to(before)  # what was written out of the first rounds
        else:
            return
    running_loop(importer, node)


class _NotKnownError(Exception):
    """A condition is known only when the model runs, or there are many rounds."""


def _written_out(importer: Importer, node: Node, limit: Any) -> None:
    import numpy as np

    rounds = Rounds(importer, node)
    rounds.carry(list(node.proto.input)[2:])
    rounds.check(2 + len(rounds.carried), 1 + max(len(rounds.carried), len(node.proto.output)))
    number, flag = (one.name for one in rounds.graph.input[:2])
    done = 0
    going = limit == 0 or not node.has(1) or _truth(importer, node, node.proto.input[1])
    none = not going or (limit is not None and limit <= 0)
    if none and len(node.proto.output) > len(rounds.carried):
        raise _NotKnownError  # of what is gathered, only a round would tell the shape
    with importer.inside(rounds.graph):
        while going and (limit is None or done < limit):
            if done == MOST_ROUNDS:
                raise _NotKnownError
            importer.keep(number, np.asarray(done, "int64"))
            importer.keep(flag, np.asarray(True))
            rounds.round(2, 1)
            done += 1
            # what the last round says of the condition is not looked at
            going = done == limit or _truth(importer, node, rounds.graph.output[0].name)
    rounds.finish()


def _truth(importer: Importer, node: Node, name: str) -> bool:
    data = importer.weights.get(name)
    if data is None:
        raise _NotKnownError
    if data.size != 1:
        raise node.wrong(f"its condition has {data.size} elements")
    return bool(data.array.reshape(-1)[0])


class _Elements(Struct, frozen=True, eq=False):
    """What a `Scan` goes over: a tensor, along an axis, from its end where it is `backward`."""

    tensor: GraphExpr
    axis: int
    backward: bool


def scan(importer: Importer, node: Node) -> None:
    """`Scan`: a round for each element of some inputs along an axis."""
    if node.opset < 9:
        raise node.wrong("its form of before version 9 is not supported")
    count = int(node.needed("num_scan_inputs"))
    names = list(node.proto.input)
    if not 1 <= count <= len(names):
        raise node.wrong(f"it goes over {count} of its {len(names)} inputs")
    tensors = [node.tensor(at) for at in range(len(names) - count, len(names))]
    axes, backward = (node.listed(f"scan_input_{name}", count) for name in ("axes", "directions"))
    over = [
        _Elements(one, node.axis(axis, len(node.shape(one))), bool(turned))
        for one, axis, turned in zip(tensors, axes, backward, strict=True)
    ]
    rounds = Rounds(importer, node)
    rounds.carry(names[:-count])
    rounds.check(len(names), max(len(rounds.carried), len(node.proto.output)))
    over, length = _of_one_length(node, over)
    known = dims.number(length)
    if known is None or not 0 < known <= MOST_ROUNDS:
        _running_scan(importer, node, over, length)
        return
    inputs = [one.name for one in rounds.graph.input][-count:]
    with importer.inside(rounds.graph):
        for at in range(known):
            for name, one in zip(inputs, over, strict=True):
                importer.take(name, ())
                place = GraphConst(constant(known - 1 - at if one.backward else at, INT64))
                importer.values[name] = importer.op("take", one.tensor, place, one.axis, name=name)
            rounds.round(0, 0)
    outputs = len(node.proto.output) - len(rounds.carried)
    rounds.finish(
        node.listed("scan_output_axes", outputs),
        node.listed("scan_output_directions", outputs),
    )


def _of_one_length(node: Node, over: Sequence[_Elements]) -> tuple[list[_Elements], Expr]:
    """The number of rounds; where it is not known that all have as many elements, that is checked when they run."""
    length = node.shape(over[0].tensor)[over[0].axis]
    found = []
    for one in over:
        shape = list(node.shape(one.tensor))
        if dims.differ(shape[one.axis], length):
            raise node.wrong(f"it goes over {dims.text((length,))} and {dims.text((shape[one.axis],))} elements")
        if not dims.same(shape[one.axis], length):
            shape[one.axis] = length
            kind = TensorType(tuple(shape), node.dtype(one.tensor))
            one = replace(one, tensor=node.importer.match_cast(one.tensor, kind, f"{node.output}_checked"))
        found.append(one)
    return found, length


def _running_scan(importer: Importer, node: Node, over: Sequence[_Elements], length: Expr) -> None:
    graph = node.attrs["body"].g
    names = list(node.proto.input)[: -len(over)]
    outputs = len(node.proto.output) - len(names)

    def read(number: GraphVar, carried: list[GraphVar]) -> Round:
        for info, value in zip(graph.input, carried, strict=False):
            importer.values[info.name] = value
        for info, one in zip(graph.input[len(names) :], over, strict=False):
            place: GraphExpr = number
            if one.backward:
                last = importer.op("reshape", importer.op("shape_to_tensor", ShapeExpr((dims.sub(length, 1),))), ())
                place = importer.op("subtract", last, number)
            importer.values[info.name] = importer.op("take", one.tensor, place, one.axis, name=info.name)
        importer.nodes(graph.node)
        found = [importer.tensor(one.name) for one in graph.output[: len(names) + outputs]]
        return Round(TRUE, found[: len(names)], found[len(names) :])

    size = importer.op("reshape", importer.op("shape_to_tensor", ShapeExpr((length,))), ())
    found = RunningRounds(importer, node, names, read).run(size, TRUE, (length,))[2:]
    axes, backward = (node.listed(f"scan_output_{name}", outputs) for name in ("axes", "directions"))
    for at, (axis, turned) in enumerate(zip(axes, backward, strict=True), len(names)):
        if turned:
            found[at] = importer.op("flip", found[at], 0)
        rank = len(node.shape(found[at]))
        order = list(range(1, rank))
        order.insert(node.axis(axis, rank), 0)
        if axis:
            found[at] = importer.op("permute_dims", found[at], order)
    give(node, found)


__all__ = ["MOST_ROUNDS", "loop", "outputs_of", "scan"]
