"""Operators of onnxruntime's own domain that its optimizers make of the standard's: fused ones, and channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleItem
from tirscript.ir.graph_ops import dims

from ..node import Node
from .elementwise import hard_sigmoid_of
from .nn import convolved, gemm, pooled, spatial, with_bias
from .table import microsoft_op

# activations that products and convolutions end with, and their numbers
_ACTIVATIONS: dict[str, tuple[int, Callable[..., GraphExpr]]] = {
    "Clip": (2, lambda node, x, low, high: node.op("clip", x, low, high)),
    "HardSigmoid": (2, hard_sigmoid_of),
    "LeakyRelu": (1, lambda node, x, alpha: node.op("nn.leakyrelu", x, alpha=alpha)),
    "Relu": (0, lambda node, x: node.op("nn.relu", x)),
    "Sigmoid": (0, lambda node, x: node.op("sigmoid", x)),
    "Tanh": (0, lambda node, x: node.op("tanh", x)),
}


def _activated(node: Node, x: GraphExpr, numbers: Sequence[float]) -> GraphExpr:
    """The activation of the node, if it has one, with as many of the numbers as it takes."""
    name = str(node.attr("activation", ""))
    if not name:
        return x
    count, activation = _ACTIVATIONS.get(name, (0, None))
    if activation is None or len(numbers) < count:
        raise node.wrong(f"the activation {name} with {len(numbers)} numbers is not supported", ", ".join(_ACTIVATIONS))
    return activation(node, x, *numbers[:count])


@microsoft_op("Gelu", "BiasGelu")
def gelu(node: Node) -> GraphExpr:
    return node.last("nn.gelu", _with(node, node.tensor(0), 1))


@microsoft_op("FastGelu")
def fast_gelu(node: Node) -> GraphExpr:
    return node.last("nn.gelu_tanh", _with(node, node.tensor(0), 1))


def _with(node: Node, x: GraphExpr, *more: int) -> GraphExpr:
    """A tensor with these inputs added, those that are given."""
    for at in more:
        x = node.op("add", x, node.tensor(at)) if node.has(at) else x
    return x


@microsoft_op("QuickGelu")
def quick_gelu(node: Node) -> GraphExpr:
    x = node.tensor(0)
    bent = node.op("multiply", x, node.constant(float(node.attr("alpha", 1.702)), node.dtype(x)))
    return node.last("multiply", x, node.op("sigmoid", bent))


@microsoft_op("BiasSplitGelu")
def bias_split_gelu(node: Node) -> GraphExpr:
    """The first half of the last axis, times what is gelu of the second."""
    x = _with(node, node.tensor(0), 1)
    halves = node.op("split", x, 2, len(node.shape(x)) - 1)
    left, right = (node.importer.emit(TupleItem(halves, at), node.output) for at in range(2))
    return node.last("multiply", left, node.op("nn.gelu", right))


@microsoft_op("BiasAdd")
def bias_add(node: Node) -> GraphExpr:
    return _with(node, node.tensor(0), 1, 2)


@microsoft_op("FusedMatMul", "TransposeMatMul")
def fused_matmul(node: Node) -> GraphExpr:
    a, b = (_turned(node, node.tensor(at), side) for at, side in enumerate("AB"))
    found = node.op("matmul", a, b)
    alpha = float(node.attr("alpha", 1.0))
    return found if alpha == 1.0 else node.last("multiply", found, node.constant(alpha, node.dtype(found)))


def _turned(node: Node, x: GraphExpr, side: str) -> GraphExpr:
    """An operand with its rows as columns, and with its first axis behind those of the batch, as the node says."""
    axes = list(range(len(node.shape(x))))
    if len(axes) < 2:
        return x
    if node.attr(f"transBatch{side}", 0):
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if node.attr(f"trans{side}", 0):
        axes[-2:] = axes[:-3:-1]
    return x if axes == sorted(axes) else node.op("permute_dims", x, axes)


@microsoft_op("FusedGemm")
def fused_gemm(node: Node) -> GraphExpr:
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    numbers = [float(node.attr(name)) for name in names if name in node.attrs]
    return _activated(node, gemm(node), numbers)


@microsoft_op("FusedConv")
def fused_convolution(node: Node) -> GraphExpr:
    return _convolution(node, node.tensor(0))


@microsoft_op("NhwcConv", "NhwcFusedConv")
def channels_last_convolution(node: Node) -> GraphExpr:
    return channels_last(node, _convolution(node, channels_first(node, node.tensor(0)), last=True))


def _convolution(node: Node, x: GraphExpr, last: bool = False) -> GraphExpr:
    """The convolution of a tensor with channels first, plus a bias and a tensor like the result, activated."""
    found = with_bias(node, convolved(node, x, node.tensor(1)), spatial(node, x))
    if node.has(3):
        more = node.tensor(3)
        found = node.op("add", found, channels_first(node, more) if last else more)
    return _activated(node, found, [float(one) for one in node.attr("activation_params", [])])


@microsoft_op("NhwcMaxPool")
def channels_last_pool(node: Node) -> GraphExpr:
    return channels_last(node, pooled(node, "max", channels_first(node, node.tensor(0))))


def channels_first(node: Node, x: GraphExpr) -> GraphExpr:
    """A tensor whose channels are last, with these behind the batch."""
    rank = len(node.shape(x))
    return node.op("permute_dims", x, [0, rank - 1, *range(1, rank - 1)])


def channels_last(node: Node, x: GraphExpr) -> GraphExpr:
    """The other way."""
    return node.op("permute_dims", x, [0, *range(2, len(node.shape(x))), 1])


@microsoft_op("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_norm(node: Node) -> tuple[GraphExpr, ...]:
    """The norm of a sum, and with it, as the fourth output, the sum."""
    plain = node.proto.op_type == "SkipLayerNormalization"
    total = _with(node, node.tensor(0), 1, 4 if plain else 3)
    if any(node.proto.output[1:3]):
        raise node.wrong("the mean and the deviation as outputs are not supported")
    gamma, epsilon = node.tensor(2), float(node.attr("epsilon", 1e-12))
    axes = [len(node.shape(total)) - 1]
    if plain:
        found = node.last("nn.layer_norm", total, gamma, _beta(node, 3, gamma), axes=axes, epsilon=epsilon)
    else:
        found = node.last("nn.rms_norm", total, gamma, axes=axes, epsilon=epsilon)
    return found, total, total, total


def _beta(node: Node, at: int, gamma: GraphExpr) -> GraphExpr:
    """What is added behind a norm: an input, or zeros."""
    return node.tensor(at) if node.has(at) else node.op("zeros", ShapeExpr(node.shape(gamma)), str(node.dtype(gamma)))


@microsoft_op("EmbedLayerNormalization")
def embed_norm(node: Node) -> tuple[GraphExpr, ...]:
    """The norm of the sum of the rows that words, places and segments have in tables."""
    words, places = node.tensor(0), node.tensor(3)
    batch, length = node.shape(words, 2)
    total = node.op("take", node.tensor(2), words, 0)
    if node.has(8):
        total = node.op("add", total, node.op("take", places, node.tensor(8), 0))
    else:
        rows = node.op("take", places, node.op("arange", 0, PrimValue(length), 1, "int64"), 0)
        total = node.op("add", total, rows)
    if node.has(1):
        total = node.op("add", total, node.op("take", node.tensor(4), node.tensor(1), 0))
    gamma, axes = node.tensor(5), [2]
    epsilon = float(node.attr("epsilon", 1e-12))
    found = node.last("nn.layer_norm", total, gamma, _beta(node, 6, gamma), axes=axes, epsilon=epsilon)
    if node.has(7):  # how many words of each line are none of padding
        ones = node.op("equal", node.tensor(7), node.constant(1, node.dtype(node.tensor(7))))
        counts = node.op("sum", node.op("astype", ones, "int32"), axis=[1], keepdims=False)
    else:
        counts = node.op("zeros", ShapeExpr((batch,)), "int32")
    return found, counts, total


@microsoft_op("GroupNorm", "SkipGroupNorm")
def group_norm(node: Node) -> GraphExpr | tuple[GraphExpr, ...]:
    """Of groups of channels, which are last unless the node says otherwise; a sum before, x * sigmoid(x) behind."""
    x, last = node.tensor(0), bool(node.attr("channels_last", 1))
    skipped = node.proto.op_type == "SkipGroupNorm"
    if skipped:
        if not last:
            raise node.wrong("a sum with channels first is not supported")
        skip = node.tensor(3)
        if len(node.shape(skip)) == 2:
            batch, channels = node.shape(skip, 2)
            skip = node.op("reshape", skip, ShapeExpr((batch, dims.ONE, dims.ONE, channels)))
        x = _with(node, node.op("add", x, skip), 4)
    rank = len(node.shape(x))
    channel, axes = (rank - 1, list(range(1, rank - 1))) if last else (1, list(range(2, rank)))
    kind, wide = node.dtype(x), node.dtype(node.tensor(1))
    found = node.op(
        "nn.group_norm", x if wide is kind else node.op("astype", x, str(wide)), node.tensor(1), node.tensor(2),
        num_groups=int(node.needed("groups")), channel_axis=channel, axes=axes,
        epsilon=float(node.attr("epsilon", 1e-5)),
    )  # fmt: skip
    if node.attr("activation", 0):
        found = node.op("nn.silu", found)
    found = found if wide is kind else node.op("astype", found, str(kind))
    return (found, x) if skipped else found


__all__ = ["channels_first", "channels_last"]
