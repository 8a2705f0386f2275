"""`Loop` and `Scan` whose number of rounds is known: their graphs are written out, a round after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tirscript.ir.graph import GraphExpr
from tirscript.ir.graph_ops import dims

from .running_loops import running_loop

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
            if not parts:
                raise self.node.wrong(f"it gathers `{name}` in no round")
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
    if not node.has(0) or limit is not None:
        try:
            _written_out(importer, node, limit)
        except _NotKnownError:
            importer.back_to(before)  # what was written out of the first rounds
        else:
            return
    running_loop(importer, node)


class _NotKnownError(Exception):
    """A condition is known only when the model runs."""


def _written_out(importer: Importer, node: Node, limit: Any) -> None:
    import numpy as np

    rounds = Rounds(importer, node)
    rounds.carry(list(node.proto.input)[2:])
    rounds.check(2 + len(rounds.carried), 1 + max(len(rounds.carried), len(node.proto.output)))
    number, flag = (one.name for one in rounds.graph.input[:2])
    done = 0
    going = limit == 0 or not node.has(1) or _truth(importer, node, node.proto.input[1])
    with importer.inside(rounds.graph):
        while going and (limit is None or done < limit):
            if done == MOST_ROUNDS:
                raise node.wrong(f"it has more than {MOST_ROUNDS} rounds")
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


def scan(importer: Importer, node: Node) -> None:
    """`Scan`: a round for each element of some inputs along an axis."""
    if node.opset < 9:
        raise node.wrong("its form of before version 9 is not supported")
    count = int(node.needed("num_scan_inputs"))
    names = list(node.proto.input)
    if not 1 <= count <= len(names):
        raise node.wrong(f"it goes over {count} of its {len(names)} inputs")
    over = [node.tensor(at) for at in range(len(names) - count, len(names))]
    axes = [
        node.axis(axis, len(node.shape(one)))
        for axis, one in zip(node.listed("scan_input_axes", count), over, strict=True)
    ]
    lengths = {dims.number(node.shape(one)[axis]) for axis, one in zip(axes, over, strict=True)}
    length = lengths.pop() if len(lengths) == 1 else None
    if length is None or length > MOST_ROUNDS:
        raise node.wrong(f"the number of its rounds is not known, or over {MOST_ROUNDS}")
    backward = node.listed("scan_input_directions", count)
    rounds = Rounds(importer, node)
    rounds.carry(names[:-count])
    rounds.check(len(names), max(len(rounds.carried), len(node.proto.output)))
    inputs = [one.name for one in rounds.graph.input][-count:]
    with importer.inside(rounds.graph):
        for at in range(length):
            for name, one, axis, turned in zip(inputs, over, axes, backward, strict=True):
                place = length - 1 - at if turned else at
                importer.take(name, ())
                importer.values[name] = importer.op("take", one, _index(place), axis, name=name)
            rounds.round(0, 0)
    outputs = len(node.proto.output) - len(rounds.carried)
    rounds.finish(
        node.listed("scan_output_axes", outputs),
        node.listed("scan_output_directions", outputs),
    )


def _index(place: int) -> GraphExpr:
    """A place as an index of `take`."""
    import numpy as np

    from tirscript.ir.constant import constant
    from tirscript.ir.graph import GraphConst

    return GraphConst(constant(np.asarray(place, "int64")))


__all__ = ["MOST_ROUNDS", "loop", "outputs_of", "scan"]
