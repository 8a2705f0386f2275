"""Recurrent layers: LSTM, GRU and RNN, written out step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.graph import GraphExpr, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

# steps that are written out; each takes about fifteen operators in each direction
MOST_STEPS = 512

_ACTIVATIONS = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "nn.relu"}
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class Direction:
    """One direction of a layer: its weights, the state before its first step, and its activations."""

    def __init__(self, node: Node, number: int, batch: Any) -> None:
        kind = node.proto.op_type
        self.node, self.number, self.gates = node, number, _GATES[kind]
        recurrent = node.shape(node.tensor(2))
        hidden = dims.number(recurrent[2])
        if hidden is None:
            raise node.wrong("the size of its state is symbolic")
        self.hidden, self.batch = hidden, batch
        self.dtype = str(node.dtype(node.tensor(0)))
        self.weights, self.recurrent = (node.op("permute_dims", self._of(at), [1, 0]) for at in (1, 2))
        size = self.gates * self.hidden
        self.bias: GraphExpr | None = None
        self.recurrent_bias: GraphExpr | None = None
        if node.has(3):
            both = self._of(3)
            self.bias, self.recurrent_bias = (self.part(both, at * size, size, 0) for at in range(2))
        # what every step takes of the weights: those of a GRU's candidate, an LSTM's looks at its cell
        self.candidate = self.part(self.recurrent, 2 * hidden, hidden, 1) if kind == "GRU" else None
        self.candidate_bias: GraphExpr | None = None
        if kind == "GRU" and self.recurrent_bias is not None:
            self.candidate_bias = self.part(self.recurrent_bias, 2 * hidden, hidden, 0)
        self.peepholes: list[GraphExpr] = []
        if node.has(7):
            looks = self._of(7)
            self.peepholes = [self.part(looks, at * hidden, hidden, 0) for at in range(3)]
        words = [str(one) for one in self._words(node.attr("activations")) or _DEFAULTS[kind]]
        count = len(_DEFAULTS[kind])
        own = words[number * count : number * count + count] if len(words) > count else words
        unknown = [one for one in own if one.lower() not in _ACTIVATIONS]
        if unknown or len(own) != count:
            raise node.wrong(f"the activations {own} are not supported", "known are Sigmoid, Tanh and Relu")
        self.activations = [_ACTIVATIONS[one.lower()] for one in own]

    @staticmethod
    def _words(values: Any) -> list[str] | None:
        return None if values is None else [one.decode() if isinstance(one, bytes) else str(one) for one in values]

    def _of(self, at: int) -> GraphExpr:
        """What an input has for this direction."""
        node = self.node
        return node.op("squeeze", self.part(node.tensor(at), self.number, 1, 0), [0])

    def part(self, value: GraphExpr, start: int, size: int, axis: int) -> GraphExpr:
        return self.node.op("strided_slice", value, [axis], [start], [start + size], [1], assume_inbound=True)

    def state(self, at: int) -> GraphExpr:
        """The state that an input gives, or zeros: batch by hidden."""
        if self.node.has(at):
            return self._of(at)
        return self.node.op("zeros", ShapeExpr(dims.shape((self.batch, self.hidden))), self.dtype)

    def gate(self, value: GraphExpr, at: int) -> GraphExpr:
        """The part of a product that belongs to one gate."""
        return self.part(value, at * self.hidden, self.hidden, 1)

    def product(self, value: GraphExpr, weights: GraphExpr, bias: GraphExpr | None) -> GraphExpr:
        found = self.node.op("matmul", value, weights)
        return found if bias is None else self.node.op("add", found, bias)

    def clipped(self, value: GraphExpr) -> GraphExpr:
        limit = self.node.attr("clip")
        if limit is None:
            return value
        return self.node.op("clip", value, -float(limit), float(limit))

    def active(self, at: int, value: GraphExpr) -> GraphExpr:
        return self.node.op(self.activations[at], self.clipped(value))

    def peephole(self, at: int, gate: GraphExpr, cell: GraphExpr) -> GraphExpr:
        """A gate that looks at the cell, where there are weights for that."""
        if not self.peepholes:
            return gate
        return self.node.op("add", gate, self.node.op("multiply", self.peepholes[at], cell))


# one step: of the input's products and the states, the new states; the first is the output
Step = Callable[[Direction, GraphExpr, list[GraphExpr]], list[GraphExpr]]


def _rnn(own: Direction, given: GraphExpr, states: list[GraphExpr]) -> list[GraphExpr]:
    again = own.product(states[0], own.recurrent, own.recurrent_bias)
    return [own.active(0, own.node.op("add", given, again))]


def _gru(own: Direction, given: GraphExpr, states: list[GraphExpr]) -> list[GraphExpr]:
    op, state = own.node.op, states[0]
    again = own.product(state, own.recurrent, own.recurrent_bias)
    update, reset = (own.active(0, op("add", own.gate(given, at), own.gate(again, at))) for at in (0, 1))
    if own.node.attr("linear_before_reset", 0):
        held = op("multiply", reset, own.gate(again, 2))
    else:
        assert own.candidate is not None
        held = own.product(op("multiply", reset, state), own.candidate, own.candidate_bias)
    fresh = own.active(1, op("add", own.gate(given, 2), held))
    one = own.node.constant(1, own.node.dtype(state))
    kept = op("multiply", update, state)
    return [op("add", op("multiply", op("subtract", one, update), fresh), kept)]


def _lstm(own: Direction, given: GraphExpr, states: list[GraphExpr]) -> list[GraphExpr]:
    op, (state, cell) = own.node.op, states
    sums = op("add", given, own.product(state, own.recurrent, own.recurrent_bias))
    # in the order of the weights: input, output, forget, cell; the peepholes are input, output, forget
    enter = own.active(0, own.peephole(0, own.gate(sums, 0), cell))
    forget = own.active(0, own.peephole(2, own.gate(sums, 2), cell))
    fresh = own.active(1, own.gate(sums, 3))
    cell = op("add", op("multiply", forget, cell), op("multiply", enter, fresh))
    leave = own.active(0, own.peephole(1, own.gate(sums, 1), cell))
    return [op("multiply", leave, op(own.activations[2], cell)), cell]


_STEPS: dict[str, tuple[Step, tuple[int, ...]]] = {"RNN": (_rnn, (5,)), "GRU": (_gru, (5,)), "LSTM": (_lstm, (5, 6))}


@onnx_op(*_STEPS)
def recurrent(node: Node) -> tuple[GraphExpr, ...]:
    """The outputs of all steps, and the states behind the last one."""
    step, inputs = _STEPS[node.proto.op_type]
    x = node.tensor(0)
    batch_first = bool(node.attr("layout", 0))
    if batch_first:
        x = node.op("permute_dims", x, [1, 0, 2])
    if node.has(4):
        raise node.wrong("sequences of lengths of their own are not supported", "leave `sequence_lens` out")
    if node.attr("input_forget", 0):
        raise node.wrong("`input_forget` is not supported")
    if any(node.attr(name) for name in ("activation_alpha", "activation_beta")):
        raise node.wrong("activations with parameters are not supported")
    length = dims.number(node.shape(x)[0])
    if length is None:
        raise node.wrong("the number of its steps is symbolic", "say it: `shapes={...}`")
    if length > MOST_STEPS:
        raise node.wrong(f"it has {length} steps, which are written out; {MOST_STEPS} is the most")
    way = str(node.attr("direction", "forward"))
    turns = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}.get(way)
    if turns is None:
        raise node.wrong(f"the direction `{way}` is not known")
    outputs, lasts = [], []
    for number, backward in enumerate(turns):
        own = Direction(node, number, node.shape(x)[1])
        states = [own.state(at) if not batch_first else _first_axis(node, own, at) for at in inputs]
        # the products with the input are those of all steps at once
        given = own.product(x, own.weights, own.bias)
        made: list[GraphExpr] = []
        for at in range(length)[:: -1 if backward else 1]:
            part = node.op("squeeze", own.part(given, at, 1, 0), [0])
            states = step(own, part, states)
            made.append(states[0])
        outputs.append(node.op("stack", TupleExpr(tuple(made[::-1] if backward else made)), 0))
        lasts.append(states)
    axis = 2 if batch_first else 1
    whole = node.op("stack", TupleExpr(tuple(outputs)), 1)  # steps, directions, batch, hidden
    if batch_first:
        whole = node.op("permute_dims", whole, [2, 0, 1, 3])
    ends = [node.op("stack", TupleExpr(tuple(one[at] for one in lasts)), axis - 1) for at in range(len(inputs))]
    return (whole, *ends)


def _first_axis(node: Node, own: Direction, at: int) -> GraphExpr:
    """A state of a layer whose batch is the first axis: batch, directions, hidden."""
    if not node.has(at):
        return own.state(at)
    return node.op("squeeze", own.part(node.tensor(at), own.number, 1, 1), [1])


__all__ = ["MOST_STEPS"]
