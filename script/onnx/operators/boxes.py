"""Boxes in images: the best of those that overlap, and parts of images that boxes name."""

from __future__ import annotations

from tirscript.ir.dtype import dtype
from tirscript.ir.graph import GraphExpr, PrimValue, TupleExpr, TupleItem
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op


@onnx_op("NonMaxSuppression")
def non_max_suppression(node: Node) -> GraphExpr:
    """Rows of batch, class and box, as many as there are."""
    boxes, scores = node.tensor(0), node.tensor(1)
    if node.attr("center_point_box", 0):
        boxes = _corners(node, boxes)
    most = node.tensor(2) if node.has(2) else node.constant(0, dtype("int64"))
    overlap = node.tensor(3) if node.has(3) else node.constant(0.0, dtype("float32"))
    least = node.tensor(4) if node.has(4) else node.constant(float("-inf"), dtype("float32"))
    found = node.op("vision.all_class_non_max_suppression", boxes, scores, most, overlap, least)
    rows, count = (node.importer.emit(TupleItem(found, at), f"{node.output}_{at}") for at in range(2))
    (size,) = node.computed(count, "how many boxes there are")
    return node.last("strided_slice", rows, (0,), (0,), TupleExpr((PrimValue(size),)), (1,), assume_inbound=True)


def _corners(node: Node, boxes: GraphExpr) -> GraphExpr:
    """Boxes (y1, x1, y2, x2) of those that are (x, y, width, height) around their middle."""
    x, y, width, height = (
        node.op("strided_slice", boxes, (2,), (at,), (at + 1,), (1,), assume_inbound=True) for at in range(4)
    )
    half = node.constant(0.5, node.dtype(boxes))
    reach = [node.op("multiply", one, half) for one in (height, width)]
    ends = [node.op(op, one, by) for op in ("subtract", "add") for one, by in zip((y, x), reach, strict=True)]
    return node.op("concat", TupleExpr(tuple(ends)), 2)


@onnx_op("RoiAlign")
def roi_align(node: Node) -> GraphExpr:
    x, boxes, images = node.tensors()
    kind = node.dtype(boxes)
    where = str(node.attr("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel"))
    mode = str(node.attr("mode", "avg"))
    if where not in ("half_pixel", "output_half_pixel"):
        raise node.wrong(f"{where} is not supported", "one of half_pixel, output_half_pixel is")
    if mode != "avg":
        # the greatest of products of pixels and weights, where others have it of their sums
        raise node.wrong(f"the mode `{mode}` is not supported", "`avg` is")
    (count,) = node.shape(boxes, 2)[:1]
    scale = float(node.attr("spatial_scale", 1.0))
    if where == "half_pixel":
        # pixels are squares, the middles of which have whole numbers
        scaled = node.op("multiply", boxes, node.constant(scale, kind))
        boxes, scale = node.op("subtract", scaled, node.constant(0.5, kind)), 1.0
    column = node.op("reshape", node.op("astype", node.checked(images, [count]), str(kind)), (count, dims.ONE))
    return node.last(
        "vision.roi_align", x, node.op("concat", TupleExpr((column, boxes)), 1),
        pooled_size=[int(node.attr(name, 1)) for name in ("output_height", "output_width")],
        spatial_scale=scale, sample_ratio=int(node.attr("sampling_ratio", 0)),
        aligned=where == "half_pixel",
    )  # fmt: skip


__all__ = ["non_max_suppression", "roi_align"]
