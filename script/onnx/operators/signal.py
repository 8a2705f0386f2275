"""Signals: the discrete Fourier transform of one, or of frames of it, as products with a matrix; and mel filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirscript.ir.constant import constant, numpy_dtype
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

_LARGEST = 1 << 22  # elements of a matrix
_WIDE = dtype("float64")


@onnx_op("DFT")
def dft(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape = node.shape(x)
    default, given = (1, node.attr("axis", 1)) if node.opset < 20 else (-2, node.scalar(2))
    if given is None and node.has(2):
        raise node.wrong("its axis is not known before the model runs")
    axis = node.axis(int(default if given is None else given), len(shape))
    parts = dims.number(shape[-1])
    if axis == len(shape) - 1 or parts not in (1, 2):
        raise node.wrong("the last axis is not that of the real and imaginary parts")
    inverse, half = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    one_side = inverse and half
    whole = dims.mul(dims.sub(shape[axis], 1), 2) if one_side else shape[axis]
    length = node.one(1, "the length of the transform") if node.has(1) else whole
    taken = dims.add(dims.floordiv(length, 2), 1) if one_side else length
    order = [*(at for at in range(len(shape)) if at not in (axis, len(shape) - 1)), axis, len(shape) - 1]
    turned = node.op("permute_dims", x, order)
    if not dims.same(taken, shape[axis]):
        turned = _of_length(node, turned, shape[axis], taken)
    front = node.shape(turned)[:-2]
    if one_side:
        count, width = length, 1
        matrix = _real_inverse(node, length, parts == 2, node.dtype(x))
    else:
        count, width = dims.add(dims.floordiv(length, 2), 1) if half else length, 2
        matrix = _matrix(node, length, count, parts == 2, inverse, node.dtype(x))
    rows = node.op("reshape", turned, ShapeExpr((*front, dims.mul(taken, parts or 1))))
    found = node.op("reshape", node.op("matmul", rows, matrix), ShapeExpr((*front, count, dims.dim(width))))
    return node.last("permute_dims", found, [order.index(at) for at in range(len(order))])


def _real_inverse(node: Node, length: Expr, paired: bool, kind: DType) -> GraphExpr:
    """What rows of frequencies are multiplied by for the real numbers that have them: those of the other side, which
    are not there, are the same, so all but the first and the middle one count twice.
    """
    import numpy as np

    known = dims.number(length)
    if known is None or known < 1:
        raise node.wrong("the length of the inverse of one side is not known before the model runs")
    bins = known // 2 + 1
    if known * bins > _LARGEST:
        raise node.wrong(f"a transform of {known} elements is longer than what is supported")
    angles = (2 * np.pi / known) * (np.outer(np.arange(bins), np.arange(known)) % known)
    alone = (np.arange(bins) * 2) % known == 0
    waves = [np.cos(angles), -np.sin(angles)] if paired else [np.cos(angles)]
    made = np.stack(waves, 1) * (np.where(alone, 1, 2) / known)[:, None, None]
    made = made.reshape(bins * len(waves), known)
    return node.importer.emit(GraphConst(constant(made.astype(numpy_dtype(kind)))), f"{node.output}_waves")


def _of_length(node: Node, x: GraphExpr, own: Expr, length: Expr) -> GraphExpr:
    """The first elements of the axis before the last, and zeros behind them."""
    rank, both = len(node.shape(x)), (dims.number(own), dims.number(length))
    if both[0] is None or both[1] is None:
        raise node.wrong("a length that is not that of a symbolic axis is not supported")
    if both[1] < both[0]:
        return node.op("strided_slice", x, [rank - 2], [0], [both[1]], [1], assume_inbound=True)
    width = [0] * (2 * rank - 3) + [both[1] - both[0], 0, 0]
    return node.op("nn.pad", x, width, "constant", 0.0)


def _matrix(node: Node, length: Expr, bins: Expr, paired: bool, inverse: bool, kind: DType) -> GraphExpr:
    """What rows of numbers are multiplied by: a column for the real and one for the imaginary part of each frequency.

    `paired`: the numbers are real and imaginary parts in turn.
    """
    import numpy as np

    known, count = dims.number(length), dims.number(bins)
    if known is not None and count is not None:
        if known * count > _LARGEST:
            raise node.wrong(f"a transform of {known} elements is longer than what is supported")
        angles = (2 * np.pi / known) * (np.outer(np.arange(known), np.arange(count)) % known)
        waves = np.cos(angles), np.sin(angles) if inverse else -np.sin(angles)
        lines = [np.stack(waves, -1)]
        if paired:
            lines.append(np.stack((-waves[1], waves[0]), -1))
        made = np.stack(lines, 1).reshape(known * len(lines), 2 * count) / (known if inverse else 1)
        return node.importer.emit(GraphConst(constant(made.astype(numpy_dtype(kind)))), f"{node.output}_waves")
    whole = node.op("floor_mod", _products(node, length, bins), PrimValue(length))
    size = node.op("reshape", node.op("shape_to_tensor", ShapeExpr((length,))), ShapeExpr(()))
    size = node.op("astype", size, "float64")
    turn = node.op("divide", node.constant(2 * np.pi, _WIDE), size)
    angle = node.op("multiply", node.op("astype", whole, "float64"), turn)
    cosine, sine = node.op("cos", angle), node.op("sin", angle)
    if not inverse:
        sine = node.op("negative", sine)
    waves_of = [[cosine, sine]] + ([[node.op("negative", sine), cosine]] if paired else [])
    lines_of = [node.op("stack", _tuple(one), -1) for one in waves_of]
    found = node.op("stack", _tuple(lines_of), 1)
    if inverse:
        found = node.op("divide", found, size)
    shape = ShapeExpr((dims.mul(length, len(lines_of)), dims.mul(bins, 2)))
    return node.op("astype", node.op("reshape", found, shape), str(kind))


def _products(node: Node, rows: Expr, columns: Expr) -> GraphExpr:
    """The products of the numbers up to two counts: (rows, columns)."""
    counts = [
        node.op("arange", PrimValue(dims.dim(0)), PrimValue(one), PrimValue(dims.ONE), "int64")
        for one in (rows, columns)
    ]
    return node.op("multiply", node.op("reshape", counts[0], ShapeExpr((rows, dims.ONE))), counts[1])


def _tuple(values: Sequence[GraphExpr]) -> Any:
    from tirscript.ir.graph import TupleExpr

    return TupleExpr(tuple(values))


@onnx_op("STFT")
def stft(node: Node) -> GraphExpr:
    """(batch, frames, frequencies, 2) of a signal (batch, length, 1 or 2)."""
    signal = node.tensor(0)
    shape = node.shape(signal)
    if len(shape) == 2:
        shape = (*shape, dims.ONE)
        signal = node.op("reshape", signal, ShapeExpr(shape))
    step, parts = node.single(1), dims.number(shape[-1])
    if step is None or len(shape) != 3 or parts not in (1, 2):
        raise node.wrong("its step is not known before the model runs, or its signal is not of numbers")
    window = node.tensor(2) if node.has(2) else None
    found = node.single(3) if node.has(3) else node.shape(window, 1)[0] if window is not None else None
    size = None if found is None else dims.number(found)
    if size is None:
        raise node.wrong("the length of its frames is not known before the model runs")
    if window is not None and dims.differ(node.shape(window, 1)[0], dims.dim(size)):
        raise node.wrong(f"its window is of {dims.text(node.shape(window)[0])} elements, and its frames of {size}")
    if (dims.number(dims.sub(shape[1], size)) or 0) < 0:
        raise node.wrong(f"a frame of {size} is longer than the signal of {dims.text(shape[1])}")
    frames = dims.add(dims.floordiv(dims.sub(shape[1], size), step), 1)
    half = bool(node.attr("onesided", 1)) and parts == 1
    bins = dims.dim(size // 2 + 1 if half else size)
    starts = node.op("arange", PrimValue(dims.dim(0)), PrimValue(frames), PrimValue(dims.ONE), "int64")
    starts = node.op("reshape", node.op("multiply", starts, PrimValue(step)), ShapeExpr((frames, dims.ONE)))
    within = node.op("arange", PrimValue(dims.dim(0)), PrimValue(dims.dim(size)), PrimValue(dims.ONE), "int64")
    taken = node.op("take", signal, node.op("add", starts, within), axis=1, mode="fast")
    if window is not None:
        taken = node.op("multiply", taken, node.op("reshape", window, ShapeExpr((dims.dim(size), dims.ONE))))
    rows = node.op("reshape", taken, ShapeExpr((shape[0], frames, dims.dim(size * (parts or 1)))))
    matrix = _matrix(node, dims.dim(size), bins, parts == 2, False, node.dtype(signal))
    return node.last("reshape", node.op("matmul", rows, matrix), ShapeExpr((shape[0], frames, bins, dims.dim(2))))


@onnx_op("MelWeightMatrix")
def mel_weights(node: Node) -> GraphExpr:
    """The filters of numbers that are known, by the reference of the standard."""
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    given = [node.scalar(at) for at in range(5)]
    if any(one is None for one in given):
        raise node.wrong("its numbers are not known before the model runs")
    if (int(given[1] or 0) // 2 + 1) * int(given[0] or 0) > _LARGEST:
        raise node.wrong("its filters are larger than what is supported")
    feeds = {name: np.asarray(one) for name, one in zip(node.proto.input, given, strict=True)}
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.proto.input)]
    graph = onnx.helper.make_graph([node.proto], "mel", inputs, [onnx.ValueInfoProto(name=node.output)])
    opset = onnx.helper.make_opsetid("", node.opset)
    (found,) = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=[opset])).run(None, feeds)  # type: ignore[misc]
    kind = node.importer.dtype(int(node.attr("output_datatype", 1)), "its result")
    return node.kept(np.asarray(found).astype(numpy_dtype(kind)))


__all__ = ["dft", "mel_weights", "stft"]
