"""Convolutions whose kernels look at places that are computed: images are sampled there, and the samples multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..node import Node
from .nn import with_bias
from .resizing import Line, real
from .table import onnx_op

LAYOUTS = {2: "NCHW", 3: "NCDHW"}


@onnx_op("DeformConv")
def deformable_convolution(node: Node) -> GraphExpr:
    x, w = node.tensor(0), node.tensor(1)
    rank = len(node.shape(x)) - 2
    if rank not in LAYOUTS:
        raise node.wrong(f"its data has {counted(rank + 2, 'dimension')}; images have 4 or 5")
    batch, channels, *image = node.shape(x)
    filters, inner, *window = node.shape(w, rank + 2)
    parts, groups = int(node.attr("offset_group", 1)), int(node.attr("group", 1))
    sizes = dims.numbers(window)
    known = dims.numbers((channels, filters))
    if sizes is None or known is None:
        raise node.wrong("the size of its kernel or its channels are symbolic")
    if parts < 1 or groups < 1 or known[0] % parts or any(one % groups for one in known):
        raise node.wrong(f"{known[0]} channels and {known[1]} filters are not those of its groups")
    made = _result(node, image, sizes)
    taps = math.prod(sizes)
    offset = _input(node, 2, [batch, dims.dim(parts * taps * rank), *made])
    grid = _grid(node, offset, image, made, sizes, parts)
    seen = node.op("reshape", x, _shape(dims.mul(batch, parts), known[0] // parts, *image))
    samples = node.op("image.grid_sample", seen, grid, layout=LAYOUTS[rank])
    if node.has(4):
        mask = _input(node, 4, [batch, dims.dim(parts * taps), *made])
        samples = node.op("reshape", samples, _shape(batch, parts, known[0] // parts, taps, *made))
        samples = node.op("multiply", samples, node.op("reshape", mask, _shape(batch, parts, 1, taps, *made)))
    # one row for each weight of a filter, one column for each element of the result
    depth = dims.mul(inner, taps)
    rows = node.op("reshape", samples, _shape(batch, groups, depth, dims.product(made)))
    weights = node.op("reshape", w, _shape(groups, dims.floordiv(filters, groups), depth))
    found = node.op("reshape", node.op("matmul", weights, rows), _shape(batch, filters, *made))
    return with_bias(node, found, rank, 3)


def _result(node: Node, image: list[Expr], kernel: Sequence[int]) -> list[Expr]:
    """The sizes of the result."""
    count = len(kernel)
    pads = node.listed("pads", 2 * count)
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    if min(*strides, *dilation) < 1:
        raise node.wrong(f"strides {strides} and dilations {dilation} are not all 1 or more")
    return [
        dims.add(
            dims.floordiv(
                dims.add(image[axis], pads[axis] + pads[axis + count] - (kernel[axis] - 1) * dilation[axis] - 1),
                strides[axis],
            ),
            1,
        )
        for axis in range(count)
    ]


def _grid(
    node: Node, offset: GraphExpr, image: list[Expr], made: list[Expr], kernel: Sequence[int], parts: int
) -> GraphExpr:
    """The places in the images, from -1 to 1, that along the width first: the weights of the kernel are rows of the
    first axis."""
    import numpy as np

    rank, taps = len(kernel), math.prod(kernel)
    batch = dims.mul(node.shape(offset)[0], parts)
    moves = node.op("reshape", offset, _shape(batch, taps, rank, *made))
    if str(node.dtype(moves)) != "float32":
        moves = node.op("astype", moves, "float32")
    pads = node.listed("pads", 2 * rank)
    strides, dilation = (node.listed(name, rank, 1) for name in ("strides", "dilations"))
    inside = np.indices(kernel).reshape(rank, taps)
    found: list[GraphExpr] = []
    for axis in reversed(range(rank)):
        first = (inside[axis] * dilation[axis] - pads[axis]).astype(np.float32).reshape(taps, *[1] * rank)
        # the middle of an element is half an element behind its edge, and the image two long
        extent = real(node, image[axis])
        still = ((_steps(node, made[axis], strides[axis], axis, rank) + Line(node, first)) * 2.0 + 1.0) / extent - 1.0
        move = node.op("strided_slice", moves, [2], [axis], [axis + 1], [1], assume_inbound=True)
        away = Line(node, node.op("squeeze", move, [2])) * (Line(node, np.float32(2)) / extent)
        found.append((away + still).value)
    stacked = node.op("stack", TupleExpr(tuple(found)), 1)
    return node.op("reshape", stacked, _shape(batch, rank, dims.mul(made[0], taps), *made[1:]))


def _steps(node: Node, count: Expr, stride: int, axis: int, rank: int) -> Line:
    """Where the windows begin along an axis."""
    import numpy as np

    shape = [-1 if one == axis else 1 for one in range(rank)]
    known = dims.number(count)
    if known is not None:
        return Line(node, (np.arange(known) * stride).astype(np.float32).reshape(shape))
    numbers = node.op("arange", PrimValue(dims.dim(0)), PrimValue(count), PrimValue(dims.ONE), "int64")
    spread = _shape(*(count if one < 0 else 1 for one in shape))
    line = node.op("reshape", node.op("astype", numbers, "float32"), spread)
    return Line(node, line) * float(stride)


def _input(node: Node, at: int, shape: list[Expr]) -> GraphExpr:
    """An input of a shape, which is checked at run time where that is not known."""
    value = node.tensor(at)
    given = node.shape(value, len(shape))
    if any(map(dims.differ, given, shape)):
        have, want = (f"({', '.join(map(dims.text, one))})" for one in (given, shape))
        raise node.wrong(f"its input {at} has the shape {have}, not {want}")
    return node.checked(value, shape)


def _shape(*sizes: Expr | int) -> ShapeExpr:
    return ShapeExpr(dims.shape(sizes))


__all__: list[str] = []
