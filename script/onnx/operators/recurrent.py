"""Recurrent layers: LSTM, GRU and RNN, each direction a tensor function with a loop over the steps."""

from __future__ import annotations

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, ShapeExpr, TensorType, TupleExpr, TupleItem
from tirscript.ir.graph_ops import dims

from ..node import Node
from ..recurrent_kernel import Layer
from .table import onnx_op

# expressions, and the numbers in them: what they are unless they are given, None where they have to be
_ACTIVATIONS: dict[str, tuple[str, dict[str, float | None]]] = {
    "affine": ("{alpha} * {x} + {beta}", {"alpha": None, "beta": None}),
    "elu": ("T.Select({x} > 0.0, {x}, {alpha} * (T.exp({x}) - 1.0))", {"alpha": 1.0}),
    "hardsigmoid": ("T.max(T.min({alpha} * {x} + {beta}, 1.0), 0.0)", {"alpha": 0.2, "beta": 0.5}),
    "leakyrelu": ("T.Select({x} < 0.0, {alpha} * {x}, {x})", {"alpha": 0.01}),
    "relu": ("T.max({x}, 0.0)", {}),
    "scaledtanh": ("{alpha} * T.tanh({beta} * {x})", {"alpha": None, "beta": None}),
    "sigmoid": ("T.sigmoid({x})", {}),
    "softplus": ("T.max({x}, 0.0) + T.log1p(T.exp(-T.abs({x})))", {}),
    "softsign": ("{x} / (1.0 + T.abs({x}))", {}),
    "tanh": ("T.tanh({x})", {}),
    "thresholdedrelu": ("T.Select({x} > {alpha}, {x}, 0.0)", {"alpha": 1.0}),
}
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_LENGTHS = 4  # the input that has the number of steps of each row
_TURNS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@onnx_op(*_DEFAULTS)
def recurrent(node: Node) -> tuple[GraphExpr, ...]:
    """The outputs of all steps, and the states behind the last one."""
    x = node.tensor(0)
    batch_first = bool(node.attr("layout", 0))
    if batch_first:
        x = node.op("permute_dims", x, [1, 0, 2])
    way = str(node.attr("direction", "forward"))
    if way not in _TURNS:
        raise node.wrong(f"the direction `{way}` is not known")
    activations = _activations(node, len(_TURNS[way]))
    made = [
        _Direction(node, x, number, backward, activations[number]).results()
        for number, backward in enumerate(_TURNS[way])
    ]
    # steps, directions, batch, hidden; states have no steps
    whole, *ends = [_together(node, parts, at == 0) for at, parts in enumerate(zip(*made, strict=True))]
    if not batch_first:
        return (whole, *ends)
    return node.op("permute_dims", whole, [2, 0, 1, 3]), *(node.op("permute_dims", one, [1, 0, 2]) for one in ends)


def _together(node: Node, parts: tuple[GraphExpr, ...], steps: bool) -> GraphExpr:
    """What the directions give as one tensor."""
    axis = 1 if steps else 0
    return node.op("expand_dims", parts[0], axis) if len(parts) == 1 else node.op("stack", TupleExpr(parts), axis)


def _activations(node: Node, directions: int) -> list[tuple[str, ...]]:
    """The activations of each direction, as expressions with `{x}`; parameters go to those that have such, in turn."""
    own = _DEFAULTS[node.proto.op_type]
    given = node.attr("activations")
    words = (
        own * directions if given is None else [one.decode() if isinstance(one, bytes) else str(one) for one in given]
    )
    unknown = [one for one in words if one.lower() not in _ACTIVATIONS]
    if unknown or len(words) != len(own) * directions:
        raise node.wrong(f"the activations {words} are not {len(own)} for each direction, of those that are known")
    given_numbers = {name: iter(node.attr(f"activation_{name}", [])) for name in ("alpha", "beta")}
    found = []
    for word in words:
        text, numbers = _ACTIVATIONS[word.lower()]
        for name, default in numbers.items():
            number = next(given_numbers[name], default)
            if number is None:
                raise node.wrong(f"the activation {word} has no `activation_{name}`")
            text = text.replace(f"{{{name}}}", repr(float(number)))
        found.append(text)
    return [tuple(found[at : at + len(own)]) for at in range(0, len(found), len(own))]


class _Direction:
    """One direction of a layer: its weights, and the states before its first step."""

    def __init__(self, node: Node, x: GraphExpr, number: int, backward: bool, activations: tuple[str, ...]) -> None:
        self.node, self.x, self.number = node, x, number
        hidden = dims.number(node.shape(node.tensor(2), 3)[2])
        if hidden is None:
            raise node.wrong("the size of its state is symbolic")
        kind, clip = node.proto.op_type, node.attr("clip")
        self.hidden, self.dtype = hidden, node.dtype(x)
        self.length, self.batch = node.shape(x, 3)[:2]
        self.layer = Layer(
            kind,
            _dimension(self.length, "length"),
            _dimension(self.batch, "batch"),
            hidden,
            str(self.dtype),
            activations,
            # 0 is the same as none
            clip=float(clip) if clip else None,
            backward=backward,
            masked=node.has(_LENGTHS),
            peepholes=kind == "LSTM" and node.has(7),
            coupled=bool(node.attr("input_forget", 0)),
            linear=bool(node.attr("linear_before_reset", 0)),
        )
        self.gates = sum(self.layer.weights)
        self.check()

    def check(self) -> None:
        """Refuse weights and states that are not of the sizes of the layer."""
        node, hidden = self.node, self.hidden
        turns = len(_TURNS[str(node.attr("direction", "forward"))])
        state = (self.batch, turns, hidden) if node.attr("layout", 0) else (turns, self.batch, hidden)
        rows = self.gates * hidden
        wanted: dict[int, tuple[int | Expr, ...]] = {
            1: (turns, rows, node.shape(self.x, 3)[2]),
            2: (turns, rows, hidden),
            3: (turns, 2 * rows),
            _LENGTHS: (self.batch,),
            5: state,
            6: state,
            7: (turns, 3 * hidden),
        }
        for at in filter(node.has, wanted):
            goal = tuple(map(dims.dim, wanted[at]))
            shape = node.shape(node.tensor(at), len(goal))
            if any(map(dims.differ, shape, goal)):
                found = f"of the shape {dims.text(shape)}, not {dims.text(goal)}"
                raise node.wrong(f"its input {at} (`{node.proto.input[at]}`) is {found}")
            kind = node.dtype(node.tensor(at))
            if at != _LENGTHS and kind is not self.dtype:
                raise node.wrong(f"its input {at} (`{node.proto.input[at]}`) is of {kind}, not of {self.dtype}")

    def results(self) -> list[GraphExpr]:
        """The outputs of all steps, and the states behind the last one."""
        node, layer = self.node, self.layer
        vectors = [] if not layer.masked else [node.op("astype", node.tensor(_LENGTHS), "int32")]
        given = node.op("matmul", self.x, node.op("permute_dims", self.of(1), [1, 0]))
        if node.has(3):
            given = node.op("add", given, self.bias())
        if layer.peepholes:
            vectors.append(self.of(7))
        elif layer.linear:
            vectors.append(self.candidate_bias())
        recurrent, matrices, start = self.of(2), [], 0
        for width in layer.weights:
            rows = recurrent if width == self.gates else self.part(recurrent, start, width, 0)
            matrices.append(self.matrix(rows, layer.matrix(width)))
            start += width
        states = [self.state(5 + at) for at in range(len(layer.states))]
        shapes = [
            (self.length, self.batch, dims.dim(self.hidden)),
            *[(self.batch, dims.dim(self.hidden))] * len(states),
        ]
        types = tuple(TensorType(shape, self.dtype) for shape in shapes)
        found = node.call(layer, (given, *matrices, *vectors, *states), types, "steps")
        return [node.importer.emit(TupleItem(found, at), node.output) for at in range(len(types))]

    def of(self, at: int) -> GraphExpr:
        """What an input has for this direction."""
        node, axis = self.node, 0
        value = node.tensor(at)
        if at in (5, 6) and node.attr("layout", 0):
            axis = 1
        own = node.op("strided_slice", value, [axis], [self.number], [self.number + 1], [1], assume_inbound=True)
        return node.op("squeeze", own, [axis])

    def part(self, value: GraphExpr, start: int, count: int, axis: int) -> GraphExpr:
        """So many gates of a tensor, from one on."""
        begin, end = start * self.hidden, (start + count) * self.hidden
        return self.node.op("strided_slice", value, [axis], [begin], [end], [1], assume_inbound=True)

    def matrix(self, rows: GraphExpr, shape: tuple[int, ...]) -> GraphExpr:
        """Rows of weights, one for each gate of each state, as the functions take them."""
        if len(shape) == 2:
            return self.node.op("permute_dims", rows, [1, 0])
        panels, hidden, width = map(dims.dim, shape)
        return self.node.op(
            "permute_dims", self.node.op("reshape", rows, ShapeExpr((panels, width, hidden))), [0, 2, 1]
        )

    def bias(self) -> GraphExpr:
        """What is added to the products with the input: both biases, but that of a candidate that is reset with it."""
        both, count = self.of(3), self.gates
        own, again = self.part(both, 0, count, 0), self.part(both, count, count, 0)
        if self.layer.linear:
            zeros = self.node.op("zeros", ShapeExpr((dims.dim(self.hidden),)), str(self.dtype))
            again = self.node.op("concat", TupleExpr((self.part(again, 0, 2, 0), zeros)), 0)
        return self.node.op("add", own, again)

    def candidate_bias(self) -> GraphExpr:
        """What is added to the product of a GRU's candidate with the state, before that is reset."""
        if self.node.has(3):
            return self.part(self.of(3), self.gates + 2, 1, 0)
        return self.node.op("zeros", ShapeExpr((dims.dim(self.hidden),)), str(self.dtype))

    def state(self, at: int) -> GraphExpr:
        """The state that an input gives, or zeros: batch by hidden."""
        if self.node.has(at):
            return self.of(at)
        return self.node.op("zeros", ShapeExpr((self.batch, dims.dim(self.hidden))), str(self.dtype))


def _dimension(size: Expr, name: str) -> int | str:
    """A number, or the name of a symbolic dimension."""
    found = dims.number(size)
    return name if found is None else found


__all__: list[str] = []
