"""Products of quantized tensors: of integers, exactly, and back to integers by their scales."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .nn import convolved
from .table import onnx_op


def centred(node: Node, value: GraphExpr, point: GraphExpr | None, axis: int | None) -> GraphExpr:
    """A tensor as int32, less its zero point; `axis` is that of a zero point for each row or column."""
    value = node.op("astype", value, "int32")
    return value if point is None else node.op("subtract", value, _spread(node, point, value, axis))


def zero_point(node: Node, at: int) -> GraphExpr | None:
    """An input that is a zero point; None where it is known to be 0."""
    data = node.data(at)
    return node.tensor(at) if node.has(at) and (data is None or bool(data.array.any())) else None


def along(node: Node, one: GraphExpr, value: GraphExpr, axis: int | None) -> GraphExpr:
    """A scale or zero point in a shape that goes with the tensor: a number, or one for each of an axis."""
    shape, rank = node.shape(one), len(node.shape(value))
    if len(shape) != 1:
        return one
    if axis is None or rank < 2 or dims.number(shape[0]) == 1:
        return node.op("squeeze", one, [0]) if dims.number(shape[0]) == 1 else one
    spread: list[Expr | int] = [1] * rank
    spread[axis] = shape[0]
    return node.op("reshape", one, ShapeExpr(dims.shape(tuple(spread))))


def integer_product(
    node: Node,
    a: GraphExpr,
    a_point: GraphExpr | None,
    b: GraphExpr,
    b_point: GraphExpr | None,
    give: Callable[..., GraphExpr],
) -> GraphExpr:
    """The product of two tensors less their zero points, as int32; `give` binds it.

    Bytes are multiplied as they are, which processors have instructions for, and the zero points taken off behind it:
    (A - a) (B - b) = A B - (sums of A's rows) b - a (sums of the columns of B - b).
    """
    if min(len(node.shape(a)), len(node.shape(b))) < 2:
        return give("matmul", centred(node, a, a_point, -2), centred(node, b, b_point, -1))
    off = []
    if b_point is not None:
        rows = node.op("sum", node.op("astype", a, "int32"), axis=[-1], keepdims=True)
        off.append(node.op("multiply", rows, _spread(node, b_point, b, -1)))
    if a_point is not None:
        columns = node.op("sum", centred(node, b, b_point, -1), axis=[-2], keepdims=True)
        off.append(node.op("multiply", _spread(node, a_point, a, -2), columns))
    total = (node.op if off else give)("matmul", a, b, out_dtype="int32")
    for one in off:
        total = (give if one is off[-1] else node.op)("subtract", total, one)
    return total


def _spread(node: Node, point: GraphExpr, value: GraphExpr, axis: int | None) -> GraphExpr:
    """A zero point as int32, in a shape that goes with the tensor."""
    return along(node, node.op("astype", point, "int32"), value, axis)


@onnx_op("MatMulInteger")
def matmul_integer(node: Node) -> GraphExpr:
    return integer_product(node, node.tensor(0), zero_point(node, 2), node.tensor(1), zero_point(node, 3), node.last)


@onnx_op("ConvInteger")
def conv_integer(node: Node) -> GraphExpr:
    x, weights = (centred(node, node.tensor(at), zero_point(node, at + 2), axis) for at, axis in ((0, None), (1, 0)))
    return convolved(node, x, weights)


@onnx_op("QLinearMatMul")
def quantized_matmul(node: Node) -> GraphExpr:
    total = integer_product(node, node.tensor(0), zero_point(node, 2), node.tensor(3), zero_point(node, 5), node.op)
    scales = [along(node, node.tensor(at), total, axis) for at, axis in ((1, -2), (4, -1))]
    return requantized(node, total, scales, 6)


@onnx_op("QLinearConv")
def quantized_conv(node: Node) -> GraphExpr:
    return requantized(node, *quantized_convolution(node, node.tensor(0)), 6)


def quantized_convolution(node: Node, x: GraphExpr) -> tuple[GraphExpr, list[GraphExpr]]:
    """The convolution of integers that the inputs of a `QLinearConv` are, as int32, and its scales."""
    weights = centred(node, node.tensor(3), zero_point(node, 5), 0)
    total = convolved(node, centred(node, x, zero_point(node, 2), None), weights)
    if node.has(8):
        total = node.op("add", total, along(node, node.tensor(8), total, 1))
    return total, [along(node, node.tensor(at), total, axis) for at, axis in ((1, None), (4, 1))]


def requantized(
    node: Node, total: GraphExpr, scales: list[GraphExpr], own: int, give: Callable[..., GraphExpr] | None = None
) -> GraphExpr:
    """`total` times its scales, divided by the result's, in its integers: rounded half to even, and saturated.

    The input `own` is the scale of the result, the one behind it the zero point.
    """
    product = node.op("multiply", *scales)
    kind = str(node.dtype(product))
    real = node.op("multiply", node.op("astype", total, kind), product)
    scale, point = (along(node, node.tensor(at), total, None) for at in (own, own + 1))
    if node.shape(scale):
        raise node.wrong("a scale of the result for each of its rows is not supported")
    return (give or node.last)("quantize", real, scale, point, axis=0, out_dtype=str(node.dtype(point)))


__all__ = ["along", "centred", "integer_product", "quantized_convolution", "requantized", "zero_point"]
