"""Operators of onnxruntime's own domain on quantized tensors."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .integer import along, integer_product, quantized_convolution, requantized, zero_point
from .microsoft import channels_first, channels_last
from .nn import pooled
from .recurrent import recurrent
from .table import microsoft_op


def _real(node: Node, at: int) -> GraphExpr:
    """A quantized input, whose scale and zero point stand behind it, as floats."""
    return _dequantized(node, node.tensor(at), at + 1)


def _dequantized(node: Node, x: GraphExpr, scale: int) -> GraphExpr:
    return node.op("dequantize", x, *_by(node, scale, str(node.dtype(x))), axis=0, out_dtype="float32")


def _by(node: Node, scale: int, kind: str) -> tuple[GraphExpr, GraphExpr]:
    """A scale and the zero point behind it, 0 where that is left out, as numbers."""
    one = node.tensor(scale)
    point = node.tensor(scale + 1) if node.has(scale + 1) else node.op("zeros", ShapeExpr(()), kind)
    if any(dims.number(dims.product(node.shape(part))) != 1 for part in (one, point)):
        raise node.wrong("a scale for each row is not supported")
    return along(node, one, one, None), along(node, point, point, None)


def _back(node: Node, found: GraphExpr, scale: int, like: int = 0) -> GraphExpr:
    """Floats quantized by the scale and zero point of the result, as the input `like` is."""
    kind = str(node.dtype(node.tensor(like)))
    return node.last("quantize", found, *_by(node, scale, kind), axis=0, out_dtype=kind)


@microsoft_op("DynamicQuantizeLSTM")
def dynamic_lstm(node: Node) -> tuple[GraphExpr, ...]:
    """An `LSTM` of what its bytes stand for: of each direction one matrix from the input to gates, one from the state.

    onnxruntime makes bytes of the input and of the state of each step, too, in a way that depends on its threads.
    """
    from onnx import helper

    names = list(node.proto.input[:8])
    for at, scale in ((1, 8), (2, 10)):
        x = node.tensor(at)
        directions, _, gates = node.shape(x, 3)
        real = node.op("astype", x, "float32")
        if node.has(scale + 1):
            point = node.op("astype", node.tensor(scale + 1), "float32")
            real = node.op("subtract", real, _by_column(node, point, directions, gates))
        real = node.op("multiply", real, _by_column(node, node.tensor(scale), directions, gates))
        names[at] = f"{node.output}_{node.proto.input[at]}"
        node.importer.take(names[at], (node.op("permute_dims", real, [0, 2, 1]),))
    plain = helper.make_node("LSTM", names, node.proto.output, node.proto.name)
    plain.attribute.extend(node.proto.attribute)
    return recurrent(Node(node.importer, plain, node.what))


def _by_column(node: Node, x: GraphExpr, directions: Expr, gates: Expr) -> GraphExpr:
    """Numbers for the directions, or for each column of their matrices."""
    shape = node.shape(x)
    each = dims.same_shapes(shape, (directions, gates))
    if not each and not dims.same_shapes(shape, (directions,)):
        raise node.wrong(f"its scales or zero points are of the shape {dims.text(shape)}")
    return node.op("reshape", x, ShapeExpr((directions, dims.ONE, gates if each else dims.ONE)))


@microsoft_op("QLinearAdd", "QLinearMul")
def elementwise(node: Node) -> GraphExpr:
    op = "add" if node.proto.op_type == "QLinearAdd" else "multiply"
    return _back(node, node.op(op, *node.agreeing(_real(node, 0), _real(node, 3))), 6)


@microsoft_op("QLinearSigmoid", "QLinearLeakyRelu")
def activation(node: Node) -> GraphExpr:
    x = _real(node, 0)
    if node.proto.op_type == "QLinearSigmoid":
        return _back(node, node.op("sigmoid", x), 3)
    return _back(node, node.op("nn.leakyrelu", x, alpha=float(node.attr("alpha", 0.01))), 3)


@microsoft_op("QLinearSoftmax")
def softmax(node: Node) -> GraphExpr:
    x = _real(node, 0)
    shape = node.shape(x)
    axis = node.axis(int(node.attr("axis", -1)), len(shape))
    if int(node.attr("opset", 13)) >= 13:
        return _back(node, node.op("nn.softmax", x, axis=axis), 3)
    # of all the axes from there on at once
    flat = node.op("reshape", x, ShapeExpr((dims.product(shape[:axis]), dims.product(shape[axis:]))))
    return _back(node, node.op("reshape", node.op("nn.softmax", flat, axis=1), ShapeExpr(shape)), 3)


@microsoft_op("QLinearGlobalAveragePool")
def global_pool(node: Node) -> GraphExpr:
    x = _real(node, 0)
    rank = len(node.shape(x))
    axes = list(range(1, rank - 1)) if node.attr("channels_last", 0) else list(range(2, rank))
    return _back(node, node.op("mean", x, axis=axes, keepdims=True), 3)


@microsoft_op("QLinearAveragePool")
def average_pool(node: Node) -> GraphExpr:
    x = _real(node, 0)
    if not node.attr("channels_last", 0):
        return _back(node, pooled(node, "avg", x), 3)
    return _back(node, channels_last(node, pooled(node, "avg", channels_first(node, x))), 3)


@microsoft_op("QLinearReduceMean")
def mean(node: Node) -> GraphExpr:
    x = _real(node, 0)
    axes = node.attr("axes") or range(len(node.shape(x)))
    found = node.op("mean", x, axis=[int(one) for one in axes], keepdims=bool(node.attr("keepdims", 1)))
    return _back(node, found, 3)


@microsoft_op("QLinearConcat")
def concat(node: Node) -> GraphExpr:
    parts = tuple(_real(node, at) for at in range(2, node.count(), 3))
    return _back(node, node.op("concat", TupleExpr(parts), int(node.needed("axis"))), 0, like=2)


@microsoft_op("QLinearWhere")
def where(node: Node) -> GraphExpr:
    return _back(node, node.op("where", *node.agreeing(node.tensor(0), _real(node, 1), _real(node, 4))), 7, like=1)


@microsoft_op("QLinearConv")
def convolution(node: Node) -> GraphExpr:
    if not node.attr("channels_last", 0):
        return requantized(node, *quantized_convolution(node, node.tensor(0)), 6)
    total, scales = quantized_convolution(node, channels_first(node, node.tensor(0)))
    return channels_last(node, requantized(node, total, scales, 6, node.op))


@microsoft_op("QGemm")
def gemm(node: Node) -> GraphExpr:
    """alpha * (A - a) (B - b) + C, whose C has the scale of the product; floats where the result has no zero point."""
    a, b = (
        node.op("permute_dims", node.tensor(at), [1, 0]) if node.attr(name, 0) else node.tensor(at)
        for at, name in ((0, "transA"), (3, "transB"))
    )
    total = integer_product(node, a, zero_point(node, 2), b, zero_point(node, 5), node.op)
    if node.has(6):
        total = node.op("add", total, node.tensor(6))
    scales = [along(node, node.tensor(at), total, axis) for at, axis in ((1, None), (4, -1))]
    alpha = float(node.attr("alpha", 1.0))
    if alpha != 1.0:
        scales[0] = node.op("multiply", scales[0], node.constant(alpha, node.dtype(scales[0])))
    if node.has(8):
        return requantized(node, total, scales, 7)
    if node.has(7):  # floats in units of it
        scales[0] = node.op("divide", scales[0], along(node, node.tensor(7), total, None))
    return _scaled(node, total, scales, node.last)


def _scaled(node: Node, total: GraphExpr, scales: list[GraphExpr], give: Callable[..., GraphExpr]) -> GraphExpr:
    """A product of integers as floats, by the scales of its operands."""
    product = node.op("multiply", *scales)
    return give("multiply", node.op("astype", total, str(node.dtype(product))), product)


@microsoft_op("MatMulIntegerToFloat")
def product_to_float(node: Node) -> GraphExpr:
    total = integer_product(node, node.tensor(0), zero_point(node, 4), node.tensor(1), zero_point(node, 5), node.op)
    scales = [along(node, node.tensor(at), total, axis) for at, axis in ((2, None), (3, -1))]
    found = _scaled(node, total, scales, node.op)
    return node.last("add", found, node.tensor(6)) if node.has(6) else found


@microsoft_op("DynamicQuantizeMatMul")
def dynamic_product(node: Node) -> GraphExpr:
    """A product with integers, for which the left side is quantized by what it holds."""
    x = node.tensor(0)
    bytes_of, scale, point = quantized_by_range(node, x)
    total = integer_product(node, bytes_of, point, node.tensor(1), zero_point(node, 3), node.op)
    found = _scaled(node, total, [scale, along(node, node.tensor(2), total, -1)], node.op)
    return node.last("add", found, node.tensor(4)) if node.has(4) else found


def quantized_by_range(node: Node, x: GraphExpr) -> tuple[GraphExpr, GraphExpr, GraphExpr]:
    """A tensor as bytes, their scale and their zero point, so that 0 and all of its elements are among them."""
    kind = node.dtype(x)
    zero, most = node.constant(0, kind), node.constant(255, kind)
    low, high = (
        node.op(limit, node.op(op, x, axis=None, keepdims=False), zero)
        for limit, op in (("minimum", "min"), ("maximum", "max"))
    )
    width = node.op("divide", node.op("subtract", high, low), most)
    scale = node.op("where", node.op("equal", width, zero), node.constant(1, kind), width)
    place = node.op("round", node.op("divide", node.op("subtract", zero, low), scale))
    point = node.op("astype", node.op("clip", place, 0.0, 255.0), "uint8")
    return node.op("quantize", x, scale, point, axis=0, out_dtype="uint8"), scale, point


@microsoft_op("MatMulNBits")
def packed_product(node: Node) -> GraphExpr:
    """A product with weights of a few bits: (N, blocks, bytes), with scale and zero point for each block of a line."""
    x, bits, size = node.tensor(0), int(node.attr("bits", 4)), int(node.needed("block_size"))
    inner, columns = int(node.needed("K")), int(node.needed("N"))
    blocks = -(-inner // size)
    kind = node.dtype(x)
    if bits not in (2, 4, 8) or node.attr("weight_prepacked", 0) or node.has(4):
        raise node.wrong(
            "only weights of 2, 4 and 8 bits are supported, in their own order and not packed for a device"
        )
    weights = node.tensor(1)
    if dims.numbers(node.shape(weights)) != (columns, blocks, size * bits // 8):
        raise node.wrong(f"its weights are not {columns} lines of {blocks} blocks of {size * bits // 8} bytes")
    each = ShapeExpr(dims.shape((columns, blocks, 1)))
    point = node.constant(1 << (bits - 1), kind)
    if node.has(3):
        point = node.tensor(3)
        if node.dtype(point).is_int:
            point = _unpacked(node, point, bits, (columns, -(-blocks * bits // 8)), blocks)
        point = node.op("reshape", node.op("astype", point, str(kind)), each)
    numbers = node.op("astype", _unpacked(node, weights, bits, (columns, blocks, size * bits // 8), size), str(kind))
    scaled = node.op("multiply", node.op("subtract", numbers, point), node.op("reshape", node.tensor(2), each))
    whole = node.op("reshape", scaled, ShapeExpr(dims.shape((columns, blocks * size))))
    found = node.op("matmul", x, node.op("permute_dims", _first(node, whole, inner), [1, 0]))
    return node.last("add", found, node.tensor(5)) if node.has(5) else found


def _unpacked(node: Node, x: GraphExpr, bits: int, shape: tuple[int, ...], count: int) -> GraphExpr:
    """The first numbers of each line of bytes, of which each holds some, the lowest bits first."""
    x = node.op("reshape", x, ShapeExpr(dims.shape(shape)))
    if bits < 8:
        kind = node.dtype(x)
        mask = node.constant((1 << bits) - 1, kind)
        parts = [node.op("right_shift", x, node.constant(at, kind)) for at in range(0, 8, bits)]
        parts = [node.op("bitwise_and", one, mask) for one in parts]
        apart = node.op("stack", TupleExpr(tuple(parts)), len(shape))
        x = node.op("reshape", apart, ShapeExpr(dims.shape((*shape[:-1], shape[-1] * len(parts)))))
    return _first(node, x, count)


def _first(node: Node, x: GraphExpr, count: int) -> GraphExpr:
    """So many elements of each line."""
    axis = len(node.shape(x)) - 1
    if dims.number(node.shape(x)[axis]) == count:
        return x
    return node.op("strided_slice", x, [axis], [0], [count], [1], assume_inbound=True)


__all__ = ["quantized_by_range"]
