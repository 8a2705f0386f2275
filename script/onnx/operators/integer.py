"""Products of quantized tensors: of integers, exactly, and back to integers by their scales."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .nn import convolved
from .table import onnx_op


def _centred(node: Node, at: int, zero: int, axis: int | None) -> GraphExpr:
    """An input as int32, less its zero point; `axis` is that of a zero point for each row or column."""
    value = node.op("astype", node.tensor(at), "int32")
    if not node.has(zero):
        return value
    return node.op("subtract", value, _point(node, zero, value, axis))


def _along(node: Node, one: GraphExpr, value: GraphExpr, axis: int | None) -> GraphExpr:
    """A scale or zero point in a shape that goes with the tensor: a number, or one for each of an axis."""
    shape, rank = node.shape(one), len(node.shape(value))
    if len(shape) != 1:
        return one
    if axis is None or rank < 2 or dims.number(shape[0]) == 1:
        return node.op("squeeze", one, [0]) if dims.number(shape[0]) == 1 else one
    spread: list[Expr | int] = [1] * rank
    spread[axis] = shape[0]
    return node.op("reshape", one, ShapeExpr(dims.shape(tuple(spread))))


def _product(
    node: Node, left: int, left_zero: int, right: int, right_zero: int, give: Callable[..., GraphExpr]
) -> GraphExpr:
    """The product of two inputs less their zero points, as int32; `give` binds it.

    Bytes are multiplied as they are, which processors have instructions for, and the zero points taken off behind it:
    (A - a) (B - b) = A B - (sums of A's rows) b - a (sums of the columns of B - b).
    """
    a, b = node.tensor(left), node.tensor(right)
    if min(len(node.shape(a)), len(node.shape(b))) < 2:
        return give("matmul", _centred(node, left, left_zero, -2), _centred(node, right, right_zero, -1))
    off = []
    if _has_zero_point(node, right_zero):
        rows = node.op("sum", node.op("astype", a, "int32"), axis=[-1], keepdims=True)
        off.append(node.op("multiply", rows, _point(node, right_zero, b, -1)))
    if _has_zero_point(node, left_zero):
        columns = node.op("sum", _centred(node, right, right_zero, -1), axis=[-2], keepdims=True)
        off.append(node.op("multiply", _point(node, left_zero, a, -2), columns))
    total = (node.op if off else give)("matmul", a, b, out_dtype="int32")
    for one in off:
        total = (give if one is off[-1] else node.op)("subtract", total, one)
    return total


def _point(node: Node, at: int, value: GraphExpr, axis: int | None) -> GraphExpr:
    """A zero point as int32, in a shape that goes with the tensor."""
    return _along(node, node.op("astype", node.tensor(at), "int32"), value, axis)


def _has_zero_point(node: Node, at: int) -> bool:
    """Whether an input is a zero point that is not known to be 0."""
    data = node.data(at)
    return node.has(at) and (data is None or bool(data.array.any()))


@onnx_op("MatMulInteger")
def matmul_integer(node: Node) -> GraphExpr:
    return _product(node, 0, 2, 1, 3, node.last)


@onnx_op("ConvInteger")
def conv_integer(node: Node) -> GraphExpr:
    return convolved(node, _centred(node, 0, 2, None), _centred(node, 1, 3, 0))


@onnx_op("QLinearMatMul")
def quantized_matmul(node: Node) -> GraphExpr:
    total = _product(node, 0, 2, 3, 5, node.op)
    scales = [_along(node, node.tensor(at), total, axis) for at, axis in ((1, -2), (4, -1))]
    return _requantized(node, total, scales)


@onnx_op("QLinearConv")
def quantized_conv(node: Node) -> GraphExpr:
    total = convolved(node, _centred(node, 0, 2, None), _centred(node, 3, 5, 0))
    if node.has(8):
        total = node.op("add", total, _along(node, node.tensor(8), total, 1))
    scales = [_along(node, node.tensor(at), total, axis) for at, axis in ((1, None), (4, 1))]
    return _requantized(node, total, scales)


def _requantized(node: Node, total: GraphExpr, scales: list[GraphExpr]) -> GraphExpr:
    """`total` times its scales, divided by the result's, in its integers: rounded half to even, and saturated."""
    product = node.op("multiply", *scales)
    kind = str(node.dtype(product))
    real = node.op("multiply", node.op("astype", total, kind), product)
    own, point = (_along(node, node.tensor(at), total, None) for at in (6, 7))
    if node.shape(own):
        raise node.wrong("a scale of the result for each of its rows is not supported")
    return node.last("quantize", real, own, point, axis=0, out_dtype=str(node.dtype(point)))


__all__: list[str] = []
