"""Windows that overlap, put together again; and the greatest elements of windows, put back where they were."""

from __future__ import annotations

import math
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..node import Node
from .nn import LAYOUTS
from .table import onnx_op


@onnx_op("MaxUnpool")
def max_unpool(node: Node) -> GraphExpr:
    """Zeros, but for elements at places that are counted through the whole result."""
    x, places = node.tensor(0), node.tensor(1)
    shape = node.shape(x)
    count = len(shape) - 2
    if node.has(2):
        wanted = node.sizes(2, "the sizes of its result")
        if len(wanted) != len(shape):
            raise node.wrong(f"`output_shape` has {counted(len(wanted), 'size')}, not {len(shape)}")
    else:
        kernel, strides = node.listed("kernel_shape", count), node.listed("strides", count, 1)
        pads = node.listed("pads", 2 * count)
        sizes = [
            dims.add(
                dims.mul(dims.sub(shape[axis + 2], 1), strides[axis]), kernel[axis] - pads[axis] - pads[axis + count]
            )
            for axis in range(count)
        ]
        wanted = (*shape[:2], *sizes)
    kind, whole = str(node.dtype(x)), dims.product(wanted)
    flat, at = (node.op("reshape", one, ShapeExpr((dims.product(shape),))) for one in (x, places))
    found = node.op("scatter_elements", node.op("zeros", ShapeExpr((whole,)), kind), at, flat, axis=0)
    return node.last("reshape", found, ShapeExpr(tuple(wanted)))


@onnx_op("Col2Im")
def col2im(node: Node) -> GraphExpr:
    """Sums of the elements of windows where these overlap: a transposed convolution with one weight for each place."""
    import numpy as np

    from tirscript.ir.constant import numpy_dtype

    x = node.tensor(0)
    image, block = (node.numbers(at, name) for at, name in ((1, "image_shape"), (2, "block_shape")))
    batch, rows, columns = node.shape(x, 3)
    if image is None or block is None or len(image) != len(block) or len(image) not in LAYOUTS:
        raise node.wrong("its sizes are not those of images of 1, 2 or 3 dimensions")
    count, area = len(image), math.prod(block)
    channels = dims.number(rows)
    if channels is None or area <= 0 or channels % area:
        raise node.wrong(f"{dims.text(rows)} rows are not those of windows of {block}")
    strides, dilation = (node.listed(name, count, 1) for name in ("strides", "dilations"))
    pads, sizes, extra = node.listed("pads", 2 * count), [], []
    for axis in range(count):
        reach = dilation[axis] * (block[axis] - 1) + 1
        rest = image[axis] + pads[axis] + pads[axis + count] - reach
        if rest < 0:
            raise node.wrong(f"a window of {reach} does not fit dimension {axis}, which is {image[axis]}")
        sizes.append(rest // strides[axis] + 1)
        extra.append(rest % strides[axis])
    if dims.differ(columns, dims.dim(math.prod(sizes))):
        raise node.wrong(f"it has {dims.text(columns)} windows, not {math.prod(sizes)}")
    weights = np.tile(np.eye(area), (channels // area, 1)).reshape(channels, 1, *block)
    data, _, layout = LAYOUTS[count]
    taps = node.importer.emit(GraphConst(constant(weights.astype(numpy_dtype(node.dtype(x))))), f"{node.output}_places")
    given = node.op("reshape", x, ShapeExpr((batch, rows, *map(dims.dim, sizes))))
    return node.last(
        f"nn.conv{count}d_transpose", given, taps, strides=strides, padding=pads, output_padding=extra,
        dilation=dilation, groups=channels // area, data_layout=data, kernel_layout=layout,
    )  # fmt: skip


def pool_indices(node: Node, x: GraphExpr, **attrs: Any) -> GraphExpr:
    """Where the greatest elements of windows are, counted through the whole tensor."""
    shape = node.shape(x)
    count = len(shape) - 2
    found = node.op(f"nn.max_pool{count}d_indices", x, layout=LAYOUTS[count][0], **attrs)
    plane = dims.product(shape[2:])
    if node.attr("storage_order", 0):
        found = _by_columns(node, found, shape[2:])
    images = node.op(
        "arange", *(PrimValue(one) for one in (dims.dim(0), dims.mul(shape[0], shape[1]), dims.ONE)), "int64"
    )
    before = node.op(
        "reshape", node.op("multiply", images, PrimValue(plane)), ShapeExpr((*shape[:2], *[dims.ONE] * count))
    )
    return node.op("add", found, before)


def _by_columns(node: Node, places: GraphExpr, sizes: Any) -> GraphExpr:
    """Places that are counted row by row, counted with the first axis fastest."""
    total: GraphExpr | None = None
    step: Expr = dims.ONE
    rest, parts = places, []
    for size in reversed(sizes):
        parts.append(node.op("floor_mod", rest, PrimValue(size)))
        rest = node.op("floor_divide", rest, PrimValue(size))
    for part, size in zip(reversed(parts), sizes, strict=True):
        own = node.op("multiply", part, PrimValue(step))
        total = own if total is None else node.op("add", total, own)
        step = dims.mul(step, size)
    assert total is not None
    return total


__all__ = ["col2im", "max_unpool", "pool_indices"]
