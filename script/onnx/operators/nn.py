"""Layers: products, convolutions, pools, normalizations, softmax, quantization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..node import Node, together
from .table import OPERATORS, microsoft_op, onnx_op

LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}


@onnx_op("MatMul")
def matmul(node: Node) -> GraphExpr:
    a, b = node.tensors()
    batches = together(node.shape(one)[:-2] for one in (a, b))
    a, b = (node.checked(one, [*batches, *node.shape(one)[-2:]]) if len(node.shape(one)) > 2 else one for one in (a, b))
    return node.last("matmul", a, b)


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


def spatial(node: Node, x: GraphExpr) -> int:
    """The number of axes behind those of the batch and the channels."""
    count = len(node.shape(x)) - 2
    if count not in LAYOUTS:
        raise node.wrong(f"a tensor of {count + 2} dimensions is not supported here")
    return count


def _padding(node: Node, x: GraphExpr, kernel: list[int], strides: list[int], dilation: list[int]) -> list[int]:
    """Pads before and behind each axis, first all before."""
    how = str(node.attr("auto_pad", "NOTSET"))
    count = len(kernel)
    if how in ("NOTSET", "", "VALID"):
        found = node.listed("pads", 2 * count) if how != "VALID" else [0] * (2 * count)
        for axis, extent in enumerate(() if node.attr("ceil_mode", 0) else node.shape(x)[2:]):
            reach = (kernel[axis] - 1) * dilation[axis] + 1
            node.importer.fits(extent, reach - found[axis] - found[axis + count])
        return found
    before, behind = [], []
    for axis in range(count):
        size = dims.number(node.shape(x)[axis + 2])
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        if size is None and strides[axis] != 1:
            raise node.wrong(f"`auto_pad` of {how} in a symbolic dimension is not supported, but for strides of 1")
        # by steps of one the pads are the same whatever the size
        total = reach - 1 if size is None else max(0, (-(-size // strides[axis]) - 1) * strides[axis] + reach - size)
        half = total // 2
        before.append(half if how == "SAME_UPPER" else total - half)
        behind.append(total - before[-1])
    return before + behind


@onnx_op("Conv")
def convolution(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return with_bias(node, convolved(node, x, node.tensor(1), last=not node.has(2)), spatial(node, x))


def convolved(node: Node, x: GraphExpr, w: GraphExpr, last: bool = False) -> GraphExpr:
    """The convolution of a tensor by the attributes of the node, without its bias."""
    count = spatial(node, x)
    kernel = [dims.number(one) for one in node.shape(w, count + 2)[2:]]
    if None in kernel:
        raise node.wrong("the size of its kernel is symbolic")
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    data, weights, _ = LAYOUTS[count]
    padding = _padding(node, x, [one for one in kernel if one is not None], strides, dilation)
    return (node.last if last else node.op)(
        f"nn.conv{count}d", x, w, strides=strides, padding=padding, dilation=dilation,
        groups=int(node.attr("group", 1)), data_layout=data, kernel_layout=weights,
    )  # fmt: skip


def with_bias(node: Node, found: GraphExpr, count: int, at: int = 2) -> GraphExpr:
    """A convolution with an input of the node, the third, added to each channel, if it has one."""
    if not node.has(at):
        return found
    bias = node.tensor(at)
    shape = (dims.ONE, node.shape(bias, 1)[0], *[dims.ONE] * count)
    return node.last("add", found, node.op("reshape", bias, ShapeExpr(shape)))


@onnx_op("ConvTranspose")
def transposed_convolution(node: Node) -> GraphExpr:
    x, w = node.tensor(0), node.tensor(1)
    count = spatial(node, x)
    data, _, weights = LAYOUTS[count]
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    extra = node.listed("output_padding", count)
    found = (node.last if not node.has(2) else node.op)(
        f"nn.conv{count}d_transpose", x, w, strides=strides,
        padding=_transposed_padding(node, x, w, strides, dilation, extra), output_padding=extra, dilation=dilation,
        groups=int(node.attr("group", 1)), data_layout=data, kernel_layout=weights,
    )  # fmt: skip
    return with_bias(node, found, count)


def _transposed_padding(
    node: Node, x: GraphExpr, w: GraphExpr, strides: list[int], dilation: list[int], extra: list[int]
) -> list[int]:
    """Pads before and behind each axis; `output_shape`, or "SAME" for the input's times the strides, decides them."""
    how, count = str(node.attr("auto_pad", "NOTSET")), len(strides)
    wanted = node.attr("output_shape")
    if wanted is None and how not in ("SAME_UPPER", "SAME_LOWER"):
        return node.listed("pads", 2 * count) if how != "VALID" else [0] * (2 * count)
    before, behind = [], []
    for axis in range(count):
        size, kernel = dims.number(node.shape(x)[axis + 2]), dims.number(node.shape(w, count + 2)[axis + 2])
        if size is None or kernel is None:
            raise node.wrong("`output_shape` and `auto_pad` in a symbolic dimension are not supported")
        goal = size * strides[axis] if wanted is None else int(wanted[len(wanted) - count + axis])
        total = strides[axis] * (size - 1) + extra[axis] + (kernel - 1) * dilation[axis] + 1 - goal
        if total < 0:  # more at the end than the pads that there are not
            extra[axis], total = extra[axis] - total, 0
        if extra[axis] >= max(strides[axis], dilation[axis]):
            raise node.wrong(f"`output_shape` of {goal} is larger than what dimension {axis} can give")
        half = total // 2
        before.append(half if how == "SAME_UPPER" else total - half)
        behind.append(total - before[-1])
    return before + behind


@onnx_op("MaxPool", "AveragePool")
def pool(node: Node) -> GraphExpr | tuple[GraphExpr, ...]:
    x = node.tensor(0)
    found = pooled(node, "max" if node.proto.op_type == "MaxPool" else "avg", x)
    if not any(node.proto.output[1:]):
        return found
    from .windows import pool_indices

    return found, pool_indices(node, x, **_windows(node, x))


def pooled(node: Node, how: str, x: GraphExpr) -> GraphExpr:
    """The windows of a tensor by the attributes of the node; `how` is `max` or `avg`."""
    count, attrs = spatial(node, x), _windows(node, x)
    counted = bool(node.attr("count_include_pad", 0)) and any(attrs["padding"])
    if how == "avg" and attrs["ceil_mode"] and counted:
        return _mean_with_pads(node, x, *(attrs[name] for name in ("pool_size", "strides", "dilation", "padding")))
    return node.last(f"nn.{how}_pool{count}d", x, count_include_pad=counted, layout=LAYOUTS[count][0], **attrs)


def _windows(node: Node, x: GraphExpr) -> dict[str, Any]:
    """What the node says of its windows, as pools take it."""
    count = spatial(node, x)
    kernel = node.listed("kernel_shape", count)
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    padding = _padding(node, x, kernel, strides, dilation)
    ceil = bool(node.attr("ceil_mode", 0))
    return {"pool_size": kernel, "strides": strides, "padding": padding, "dilation": dilation, "ceil_mode": ceil}


def _mean_with_pads(
    node: Node, x: GraphExpr, kernel: list[int], strides: list[int], dilation: list[int], padding: list[int]
) -> GraphExpr:
    """Means of windows in which pads count, and what the last one has beyond them does not."""
    count = len(kernel)
    width = [0] * 4 + [padding[side * count + axis] for axis in range(count) for side in (0, 1)]
    found = node.op(
        f"nn.avg_pool{count}d", node.op("nn.pad", x, width, "constant", 0.0), pool_size=kernel, strides=strides,
        padding=[0] * (2 * count), dilation=dilation, ceil_mode=True, count_include_pad=False,
        layout=LAYOUTS[count][0],
    )  # fmt: skip
    for axis, size in enumerate(node.shape(x)[2:]):
        # a window that starts behind the data and the pads before it is none
        reach, made = (kernel[axis] - 1) * dilation[axis] + 1, node.shape(found)[axis + 2]
        last = dims.minimum(made, dims.ceildiv(dims.add(size, padding[axis]), strides[axis]))
        if padding[axis + count] + strides[axis] > reach and not dims.same(made, last):
            end = TupleExpr((PrimValue(last),))
            found = node.op("strided_slice", found, [axis + 2], [0], end, [1], assume_inbound=True)
    return found


@onnx_op("LpPool")
def lp_pool(node: Node) -> GraphExpr:
    """The p-th root of the sum of the p-th powers in a window, which is its mean times its size."""
    if node.attr("ceil_mode", 0):
        raise node.wrong("`ceil_mode` is not supported")
    x, p = node.tensor(0), int(node.attr("p", 2))
    kind = node.dtype(x)
    count = spatial(node, x)
    kernel = node.listed("kernel_shape", count)
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    mean = node.op(
        f"nn.avg_pool{count}d", _powers(node, x, p), pool_size=kernel, strides=strides, dilation=dilation,
        padding=_padding(node, x, kernel, strides, dilation), count_include_pad=True, layout=LAYOUTS[count][0],
    )  # fmt: skip
    total = node.op("multiply", mean, node.constant(math.prod(kernel), kind))
    return node.last("power", total, node.constant(1 / p, kind))


@onnx_op("GlobalLpPool")
def global_lp_pool(node: Node) -> GraphExpr:
    x, p = node.tensor(0), int(node.attr("p", 2))
    total = node.op("sum", _powers(node, x, p), axis=list(range(2, len(node.shape(x)))), keepdims=True)
    return node.last("power", total, node.constant(1 / p, node.dtype(x)))


def _powers(node: Node, x: GraphExpr, p: int) -> GraphExpr:
    return node.op("power", node.op("abs", x), node.constant(p, node.dtype(x)))


@onnx_op("LRN")
def local_response_norm(node: Node) -> GraphExpr:
    """x / (bias + alpha / size * the sum of squares of the channels around) ** beta."""
    x = node.tensor(0)
    shape, kind, size = node.shape(x), node.dtype(x), int(node.attr("size"))
    apart = ShapeExpr((shape[0], dims.ONE, shape[1], dims.product(shape[2:])))
    squares = node.op("reshape", node.op("multiply", x, x), apart)
    mean = node.op(
        "nn.avg_pool2d", squares, pool_size=[size, 1], strides=[1, 1],
        padding=[(size - 1) // 2, 0, size // 2, 0], count_include_pad=True,
    )  # fmt: skip
    grown = node.op(
        "multiply", node.op("reshape", mean, ShapeExpr(shape)), node.constant(node.attr("alpha", 1e-4), kind)
    )
    base = node.op("add", grown, node.constant(node.attr("bias", 1.0), kind))
    return node.last("divide", x, node.op("power", base, node.constant(node.attr("beta", 0.75), kind)))


@onnx_op("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> GraphExpr:
    x = node.tensor(0)
    axes = list(range(2, len(node.shape(x))))
    op = "max" if node.proto.op_type == "GlobalMaxPool" else "mean"
    return node.last(op, x, axis=axes, keepdims=True)


@onnx_op("BatchNormalization")
def batch_norm(node: Node) -> GraphExpr | tuple[GraphExpr, ...]:
    """By the moving mean and variance; in training by those of the batch, which move these."""
    training = bool(node.attr("training_mode", 0))
    x, *given = node.tensors()
    shape, channels = node.shape(x), node.shape(given[0])
    if len(channels) == 1 and len(shape) > 1:
        x = node.checked(x, [shape[0], *channels, *shape[2:]])
    attrs = {"axis": 1, "epsilon": float(node.attr("epsilon", 1e-5)), "training": training}
    if training:
        attrs["momentum"] = 1 - float(node.attr("momentum", 0.9))  # of what is new, where the standard's is of what was
    found = node.op("nn.batch_norm", x, *given, **attrs)
    return tuple(node.item(found, at) for at in range(3)) if training else node.item(found, 0)


@onnx_op("LayerNormalization")
def layer_norm(node: Node) -> GraphExpr | tuple[GraphExpr, ...]:
    x, scale = node.tensor(0), node.tensor(1)
    rank = len(node.shape(x))
    axes = list(range(node.axis(int(node.attr("axis", -1)), rank), rank))
    own, kinds = node.shape(x)[axes[0] :], str(node.dtype(scale))
    bias = node.tensor(2) if node.has(2) else None
    epsilon = float(node.attr("epsilon", 1e-5))
    if _of_shape(node, own, scale, bias):
        bias = node.op("zeros", ShapeExpr(own), kinds) if bias is None else bias
        found = node.last("nn.layer_norm", x, scale, bias, axes=axes, epsilon=epsilon)
    else:  # which go with the result as any tensors do
        plain = [node.op(name, ShapeExpr(own), kinds) for name in ("ones", "zeros")]
        found = node.op("nn.layer_norm", x, *plain, axes=axes, epsilon=epsilon)
        found = node.op("multiply", *node.agreeing(found, scale))
        found = found if bias is None else node.last("add", *node.agreeing(found, bias))
    if not any(node.proto.output[1:]):
        return found
    kind = node.importer.dtype(int(node.attr("stash_type", 1)), "what its mean is computed in")
    wide = x if node.dtype(x) is kind else node.op("astype", x, str(kind))
    mean = node.op("mean", wide, axis=axes, keepdims=True)
    spread = node.op("add", node.op("variance", wide, axis=axes, keepdims=True), node.constant(epsilon, kind))
    return found, mean, node.op("rsqrt", spread)


@onnx_op("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(node: Node) -> GraphExpr:
    x = node.tensor(0)
    rank = len(node.shape(x))
    axes = list(range(node.axis(int(node.attr("axis", -1)), rank), rank))
    scale, own, epsilon = node.tensor(1), node.shape(x)[axes[0] :], float(node.attr("epsilon", 1e-5))
    if _of_shape(node, own, scale):
        return node.last("nn.rms_norm", x, scale, axes=axes, epsilon=epsilon)
    found = node.op(
        "nn.rms_norm", x, node.op("ones", ShapeExpr(own), str(node.dtype(scale))), axes=axes, epsilon=epsilon
    )
    return node.last("multiply", *node.agreeing(found, scale))


def _of_shape(node: Node, shape: Sequence[Expr], *given: GraphExpr | None) -> bool:
    """Whether tensors have the shape; those whose dimensions may differ from it count where none is known to."""
    own = [node.shape(one) for one in given if one is not None]
    return all(len(one) == len(shape) and not any(map(dims.differ, one, shape)) for one in own)


@onnx_op("InstanceNormalization")
def instance_norm(node: Node) -> GraphExpr:
    x, scale, bias = node.tensors()
    axes = list(range(2, len(node.shape(x))))
    epsilon = float(node.attr("epsilon", 1e-5))
    return node.last("nn.instance_norm", x, scale, bias, channel_axis=1, axes=axes, epsilon=epsilon)


@onnx_op("GroupNormalization")
def group_norm(node: Node) -> GraphExpr:
    x, scale, bias = node.tensors()
    groups = int(node.needed("num_groups"))
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
        length = node.op("sum", node.op("abs", x), axis=[axis], keepdims=True)
    else:
        length = node.op("sqrt", node.op("sum", node.op("multiply", x, x), axis=[axis], keepdims=True))
    zero = node.constant(0, node.dtype(x))
    return node.last("where", node.op("equal", length, zero), zero, node.op("divide", x, length))


@onnx_op("Hardmax")
def hardmax(node: Node) -> GraphExpr:
    """One at the first of the largest along an axis, else zero."""
    x = node.tensor(0)
    shape, kind = node.shape(x), node.dtype(x)
    axis = node.axis(int(node.attr("axis", -1 if node.opset >= 13 else 1)), len(shape))
    whole = ShapeExpr((dims.product(shape[:axis]), dims.product(shape[axis:]))) if node.opset < 13 else None
    given, along = (x, axis) if whole is None else (node.op("reshape", x, whole), 1)
    depth = dims.number(node.shape(given)[along])
    if depth is None:
        raise node.wrong("the dimension it looks along is symbolic")
    largest = node.op("argmax", given, axis=along, keepdims=False)
    found = node.op("one_hot", largest, node.constant(1, kind), node.constant(0, kind), depth=depth, axis=along)
    return found if whole is None else node.last("reshape", found, ShapeExpr(shape))


@onnx_op("QuantizeLinear")
@microsoft_op("QuantizeLinear")
def quantize(node: Node) -> GraphExpr:
    x, scale = node.tensor(0), node.tensor(1)
    zero = node.tensor(2) if node.has(2) else None
    kind = _made(node, dtype("uint8") if zero is None else node.dtype(zero))
    if node.attr("block_size", 0):
        value = node.op("divide", _real(node, x), _real(node, _blocks(node, x, scale)))
        if zero is not None and kind.is_int:
            value = node.op("add", node.op("round", value), _real(node, _blocks(node, x, zero)))
        one, none = node.constant(1.0, dtype("float32")), node.constant(0, dtype("int8"))
        return node.last("quantize", value, one, none, axis=0, out_dtype=str(kind))
    given = _quantized(node, scale, zero)
    return node.last("quantize", x, *given, axis=_scale_axis(node, x, given[0]), out_dtype=str(kind))


@onnx_op("DequantizeLinear")
@microsoft_op("DequantizeLinear")
def dequantize(node: Node) -> GraphExpr:
    x, scale = node.tensor(0), node.tensor(1)
    zero = node.tensor(2) if node.has(2) else None
    kind = str(_made(node, node.dtype(scale)))
    if node.attr("block_size", 0):
        if zero is not None and node.dtype(x).is_int:
            x, zero = (node.op("astype", one, "int32") for one in (x, zero))
            x = node.op("subtract", x, _blocks(node, x, zero))
        found = node.op("multiply", _real(node, x), _real(node, _blocks(node, x, scale)))
        return found if kind == "float32" else node.last("astype", found, kind)
    given = _quantized(node, scale, zero)
    return node.last("dequantize", x, *given, axis=_scale_axis(node, x, given[0]), out_dtype=kind)


def _made(node: Node, kind: DType) -> DType:
    """The dtype of the result where the node says it, else that of an input."""
    code = int(node.attr("output_dtype", 0))
    return node.importer.dtype(code, "its result") if code else kind


def _real(node: Node, x: GraphExpr) -> GraphExpr:
    return x if node.dtype(x) is dtype("float32") else node.op("astype", x, "float32")


def _blocks(node: Node, x: GraphExpr, scale: GraphExpr) -> GraphExpr:
    """Scales or zero points, of which each is that of some elements along an axis, one for each element."""
    size, shape = int(node.attr("block_size", 0)), node.shape(x)
    axis = node.axis(int(node.attr("axis", 1)), len(shape))
    own, wanted = node.shape(scale), list(shape)
    wanted[axis] = dims.ceildiv(shape[axis], size)
    if len(own) != len(shape) or any(map(dims.differ, own, wanted)):
        raise node.wrong(
            f"{dims.text(own)} are not the scales of blocks of {size} along axis {axis} of {dims.text(shape)}"
        )
    spread = node.op("repeat", scale, size, axis)
    if dims.same(node.shape(spread)[axis], shape[axis]):
        return spread
    return node.op("strided_slice", spread, [axis], [0], [shape[axis]], [1], assume_inbound=True)


def _scale_axis(node: Node, x: GraphExpr, scale: GraphExpr) -> int:
    """The axis that scales go along; one scale goes along none."""
    return node.axis(int(node.attr("axis", 1)), len(node.shape(x))) if node.shape(scale) else 0


def _quantized(node: Node, scale: GraphExpr, zero: GraphExpr | None) -> tuple[GraphExpr, GraphExpr]:
    single = dims.number(dims.product(node.shape(scale))) == 1
    if single:
        scale = _single(node, 1, scale)
    if zero is not None:
        return scale, _single(node, 2, zero) if single else zero
    return scale, node.constant(0, dtype("int8"))


def _single(node: Node, at: int, value: GraphExpr) -> GraphExpr:
    """An input of one element as a tensor without dimensions."""
    number = node.scalar(at)
    if number is not None:
        return node.constant(number, node.dtype(value))
    return node.op("reshape", value, ShapeExpr(())) if node.shape(value) else value


__all__ = ["LAYOUTS", "OPERATORS", "convolved", "gemm", "pooled", "spatial", "with_bias"]
