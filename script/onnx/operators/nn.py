"""Layers: products, convolutions, pools, normalizations, softmax, quantization."""

from __future__ import annotations

from tirscript.ir.expr import Const
from tirscript.ir.graph import GraphExpr, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import OPERATORS, onnx_op

_LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}


@onnx_op("MatMul")
def matmul(node: Node) -> GraphExpr:
    return node.last("matmul", *node.tensors())


@onnx_op("Einsum")
def einsum(node: Node) -> GraphExpr:
    return node.last("einsum", TupleExpr(tuple(node.tensors())), str(node.attr("equation")))


@onnx_op("Gemm")
def gemm(node: Node) -> GraphExpr:
    a, b = node.tensor(0), node.tensor(1)
    kind = node.dtype(a)
    if node.attr("transA", 0):
        a = node.op("permute_dims", a, [1, 0])
    if node.attr("transB", 0):
        b = node.op("permute_dims", b, [1, 0])
    found = node.op("matmul", a, b)
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    if alpha != 1.0:
        found = node.op("multiply", found, node.constant(alpha, kind))
    if not node.has(2) or beta == 0.0:
        return found
    bias = node.tensor(2)
    if beta != 1.0:
        bias = node.op("multiply", bias, node.constant(beta, kind))
    return node.last("add", found, bias)


def _spatial(node: Node, x: GraphExpr) -> int:
    count = len(node.shape(x)) - 2
    if count not in _LAYOUTS:
        raise node.wrong(f"a tensor of {count + 2} dimensions is not supported here")
    return count


def _padding(node: Node, x: GraphExpr, kernel: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Pads before and behind each axis, first all before."""
    how = str(node.attr("auto_pad", "NOTSET"))
    count = len(kernel)
    if how in ("NOTSET", ""):
        return [int(one) for one in node.attr("pads", [0] * (2 * count))]
    if how == "VALID":
        return [0] * (2 * count)
    before, behind = [], []
    for axis in range(count):
        size = dims.number(node.shape(x)[axis + 2])
        if size is None:
            raise node.wrong(f"`auto_pad` of {how} in a symbolic dimension is not supported")
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        total = max(0, (-(-size // strides[axis]) - 1) * strides[axis] + reach - size)
        half = total // 2
        before.append(half if how == "SAME_UPPER" else total - half)
        behind.append(total - before[-1])
    return before + behind


@onnx_op("Conv")
def convolution(node: Node) -> GraphExpr:
    x, w = node.tensor(0), node.tensor(1)
    count = _spatial(node, x)
    kernel = [dims.number(one) for one in node.shape(w)[2:]]
    if None in kernel:
        raise node.wrong("the size of its kernel is symbolic")
    strides, dilation = (list(map(int, node.attr(name, [1] * count))) for name in ("strides", "dilations"))
    data, weights, _ = _LAYOUTS[count]
    padding = _padding(node, x, [one for one in kernel if one is not None], strides, dilation)
    found = (node.last if not node.has(2) else node.op)(
        f"nn.conv{count}d", x, w, strides=strides, padding=padding, dilation=dilation,
        groups=int(node.attr("group", 1)), data_layout=data, kernel_layout=weights,
    )  # fmt: skip
    return _with_bias(node, found, count)


def _with_bias(node: Node, found: GraphExpr, count: int) -> GraphExpr:
    if not node.has(2):
        return found
    bias = node.tensor(2)
    shape = (dims.ONE, node.shape(bias)[0], *[dims.ONE] * count)
    return node.last("add", found, node.op("reshape", bias, ShapeExpr(shape)))


@onnx_op("ConvTranspose")
def transposed_convolution(node: Node) -> GraphExpr:
    x, w = node.tensor(0), node.tensor(1)
    count = _spatial(node, x)
    if "output_shape" in node.attrs or str(node.attr("auto_pad", "NOTSET")) not in ("NOTSET", ""):
        raise node.wrong("`output_shape` and `auto_pad` are not supported", "give its pads")
    data, _, weights = _LAYOUTS[count]
    found = (node.last if not node.has(2) else node.op)(
        f"nn.conv{count}d_transpose", x, w, strides=list(map(int, node.attr("strides", [1] * count))),
        padding=list(map(int, node.attr("pads", [0] * (2 * count)))),
        output_padding=list(map(int, node.attr("output_padding", [0] * count))),
        dilation=list(map(int, node.attr("dilations", [1] * count))),
        groups=int(node.attr("group", 1)), data_layout=data, kernel_layout=weights,
    )  # fmt: skip
    return _with_bias(node, found, count)


@onnx_op("MaxPool", "AveragePool")
def pool(node: Node) -> GraphExpr:
    x = node.tensor(0)
    count = _spatial(node, x)
    kernel = [int(one) for one in node.attr("kernel_shape")]
    strides, dilation = (list(map(int, node.attr(name, [1] * count))) for name in ("strides", "dilations"))
    most = node.proto.op_type == "MaxPool"
    return node.last(
        f"nn.{'max' if most else 'avg'}_pool{count}d", x, pool_size=kernel, strides=strides,
        padding=_padding(node, x, kernel, strides, dilation), dilation=dilation,
        ceil_mode=bool(node.attr("ceil_mode", 0)), count_include_pad=bool(node.attr("count_include_pad", 0)),
        layout=_LAYOUTS[count][0],
    )  # fmt: skip


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> GraphExpr:
    x = node.tensor(0)
    axes = list(range(2, len(node.shape(x))))
    op = "max" if node.proto.op_type == "GlobalMaxPool" else "mean"
    return node.last(op, x, axis=axes, keepdims=True)


@onnx_op("BatchNormalization")
def batch_norm(node: Node) -> GraphExpr:
    if node.attr("training_mode", 0):
        raise node.wrong("training is not supported")
    found = node.op("nn.batch_norm", *node.tensors(), axis=1, epsilon=float(node.attr("epsilon", 1e-5)), training=False)
    return node.item(found, 0)


@onnx_op("LayerNormalization")
def layer_norm(node: Node) -> GraphExpr:
    x, scale = node.tensor(0), node.tensor(1)
    rank = len(node.shape(x))
    axes = list(range(node.axis(int(node.attr("axis", -1)), rank), rank))
    shape = ShapeExpr(node.shape(scale))
    bias = node.tensor(2) if node.has(2) else node.op("zeros", shape, str(node.dtype(scale)))
    return node.last("nn.layer_norm", x, scale, bias, axes=axes, epsilon=float(node.attr("epsilon", 1e-5)))


@onnx_op("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(node: Node) -> GraphExpr:
    x = node.tensor(0)
    rank = len(node.shape(x))
    axes = list(range(node.axis(int(node.attr("axis", -1)), rank), rank))
    return node.last("nn.rms_norm", x, node.tensor(1), axes=axes, epsilon=float(node.attr("epsilon", 1e-5)))


@onnx_op("InstanceNormalization")
def instance_norm(node: Node) -> GraphExpr:
    x, scale, bias = node.tensors()
    axes = list(range(2, len(node.shape(x))))
    epsilon = float(node.attr("epsilon", 1e-5))
    return node.last("nn.instance_norm", x, scale, bias, channel_axis=1, axes=axes, epsilon=epsilon)


@onnx_op("GroupNormalization")
def group_norm(node: Node) -> GraphExpr:
    x, scale, bias = node.tensors()
    groups = int(node.attr("num_groups"))
    if node.opset < 21:  # the scale is that of a group
        channels = dims.number(node.shape(x)[1])
        if channels is None:
            raise node.wrong("the number of channels is symbolic")
        scale, bias = (node.op("repeat", one, channels // groups, 0) for one in (scale, bias))
    axes = list(range(2, len(node.shape(x))))
    epsilon = float(node.attr("epsilon", 1e-5))
    return node.last("nn.group_norm", x, scale, bias, num_groups=groups, channel_axis=1, axes=axes, epsilon=epsilon)


@onnx_op("Softmax", "LogSoftmax")
def softmax(node: Node) -> GraphExpr:
    x = node.tensor(0)
    rank = len(node.shape(x))
    op = "nn.softmax" if node.proto.op_type == "Softmax" else "nn.log_softmax"
    axis = node.axis(int(node.attr("axis", -1 if node.opset >= 13 else 1)), rank)
    if node.opset >= 13 or axis == rank - 1:
        return node.last(op, x, axis=axis)
    # of all the axes from there on at once
    shape = node.shape(x)
    flat = node.op("reshape", x, ShapeExpr((dims.product(shape[:axis]), dims.product(shape[axis:]))))
    return node.last("reshape", node.op(op, flat, axis=1), ShapeExpr(shape))


@onnx_op("LpNormalization")
def lp_norm(node: Node) -> GraphExpr:
    x, axis = node.tensor(0), int(node.attr("axis", -1))
    if int(node.attr("p", 2)) == 1:
        return node.last("divide", x, node.op("sum", node.op("abs", x), axis=[axis], keepdims=True))
    length = node.op("sqrt", node.op("sum", node.op("multiply", x, x), axis=[axis], keepdims=True))
    return node.last("divide", x, length)


@onnx_op("QuantizeLinear")
def quantize(node: Node) -> GraphExpr:
    x, scale = node.tensor(0), node.tensor(1)
    zero = node.tensor(2) if node.has(2) else None
    kind = "uint8" if zero is None else str(node.dtype(zero))
    return node.last("quantize", x, *_quantized(node, scale, zero), axis=int(node.attr("axis", 1)), out_dtype=kind)


@onnx_op("DequantizeLinear")
def dequantize(node: Node) -> GraphExpr:
    x, scale = node.tensor(0), node.tensor(1)
    zero = node.tensor(2) if node.has(2) else None
    kind = str(node.dtype(scale))
    return node.last("dequantize", x, *_quantized(node, scale, zero), axis=int(node.attr("axis", 1)), out_dtype=kind)


def _quantized(node: Node, scale: GraphExpr, zero: GraphExpr | None) -> tuple[GraphExpr, GraphExpr]:
    if node.attr("block_size", 0):
        raise node.wrong("quantization in blocks is not supported")
    if zero is not None:
        return scale, zero
    shape = node.shape(scale)
    if not all(type(one) is Const for one in shape):
        raise node.wrong("the shape of its scale is symbolic")
    return scale, node.op("zeros", ShapeExpr(shape), "int8")


__all__ = ["OPERATORS"]
