"""Boxes in images: the best of those that overlap (non-maximum suppression)"""

from __future__ import annotations

from typing import Any

from ..dtype import FLOAT32, FLOAT64, INT64
from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType, TupleType
from ..graph_op import OPAQUE, GraphOp, Parameter
from ..op import OPS
from . import dims
from .attrs import attr, one_of
from .kernel import T, kernel, part, size
from .rules import FLOATS, INTS, Types, common_dtype, equal_dims, of_rank, rank_of, tensor
from .sort import _np_order
from .table import register


def _infer_chosen(call: OpCall, types: Types) -> GraphType:
    boxes, scores = tensor(call, types, 0, FLOATS), tensor(call, types, 1, FLOATS)
    rank_of(call, boxes, 0, 3)
    rank_of(call, scores, 1, 3)
    common_dtype(call, (boxes, scores), ("`boxes`", "`scores`"))
    for at, kinds in ((2, INTS), (3, FLOATS), (4, FLOATS)):
        one = tensor(call, types, at, kinds)
        if one.shape is not None:
            equal_dims(call, dims.product(one.shape), dims.ONE, f"`{call.op.values[at].name}` is not one number")
    if boxes.shape is not None:
        equal_dims(call, boxes.shape[2], dims.dim(4), "a box is not (y1, x1, y2, x2)")
    if boxes.shape is not None and scores.shape is not None:
        equal_dims(call, boxes.shape[0], scores.shape[0], "the batches of `boxes` and `scores` differ")
        equal_dims(call, boxes.shape[1], scores.shape[2], "there is not a score for each box")
    shape = scores.shape
    if call.attrs["output_format"] == "onnx":
        count = TensorType((dims.ONE,), INT64)
        return TupleType(
            (of_rank(2, INT64) if shape is None else TensorType((dims.product(shape), dims.dim(3)), INT64), count)
        )
    if shape is None:
        return TupleType((of_rank(3, INT64), of_rank(2, FLOAT32), of_rank(1, INT64)))
    rows = dims.mul(shape[1], shape[2])
    return TupleType(
        (
            TensorType((shape[0], rows, dims.dim(2)), INT64),
            TensorType((shape[0], rows), FLOAT32),
            TensorType((shape[0],), INT64),
        )
    )


def edges(boxes: Any, n: Any, i: Any) -> list[Expr]:
    """The least and greatest y of a box, then those of x; a box is two corners, whichever is first."""
    y1, x1, y2, x2 = (boxes[n, i, at] for at in range(4))
    return [OPS[name](a, b) for a, b in ((y1, y2), (x1, x2)) for name in ("min", "max")]


@part
def sink(scores: Any, order: Any, *, n: Any, c: Any, top: Any, end: Any) -> None:
    """Let the box at the top of a part of a heap sink until none below it is better."""
    at = T.int32(0)
    at = top
    child = T.int32(0)
    child = 2 * at + 1
    while child < end:
        if child + 1 < end:
            if better(scores, n, c, order[n, c, child + 1], order[n, c, child]):
                child = child + 1
        if better(scores, n, c, order[n, c, child], order[n, c, at]):
            box = order[n, c, at]
            order[n, c, at] = order[n, c, child]
            order[n, c, child] = box
            at = child
            child = 2 * at + 1
        else:
            child = end


def better(scores: Any, n: Any, c: Any, i: Any, k: Any) -> Expr:
    """Whether a box has a higher score than another, or the same and is before it."""
    same = OPS["logical_and"](OPS["equal"](scores[n, c, i], scores[n, c, k]), OPS["less"](i, k))
    return OPS["logical_or"](OPS["greater"](scores[n, c, i], scores[n, c, k]), same)


def _chosen(
    boxes: Any, scores: Any, most: Any, overlap: Any, least: Any, *outs: Any, output_format: Any
) -> None:  # fmt: skip
    order = T.alloc_buffer(scores.shape, "int32")
    found = T.alloc_buffer(scores.shape, "int32")
    counts = T.alloc_buffer(scores.shape[:2], "int32")
    for n, c in T.grid(size(scores, 0), size(scores, 1)):
        with T.block("choose"):
            vn, vc = T.axis.remap("SS", [n, c])
            limit = T.cast(most[*first(most)], "int64")
            # a heap of those that count: most are never looked at
            left = T.int32(0)
            for box in range(size(scores, 2)):
                if above(scores[vn, vc, box], least[*first(least)]):
                    order[vn, vc, left] = T.cast(box, "int32")
                    left = left + 1
            top = left // 2
            while top > 0:
                top = top - 1
                sink(scores, order, n=vn, c=vc, top=top, end=left)
            count = T.int32(0)
            while T.And(left > 0, T.cast(count, "int64") < limit):
                i = order[vn, vc, 0]
                left = left - 1
                order[vn, vc, 0] = order[vn, vc, left]
                sink(scores, order, n=vn, c=vc, top=0, end=left)
                keep = T.bool(True)
                k = T.int32(0)
                while T.And(keep, k < count):
                    if overlaps(boxes, vn, i, found[vn, vc, k], overlap[*first(overlap)]):
                        keep = T.bool(False)
                    k = k + 1
                if keep:
                    found[vn, vc, count] = i
                    count = count + 1
            counts[vn, vc] = count
    if output_format == "onnx":
        for row, column in T.grid(*outs[0].shape):
            with T.block("clear"):
                vr, vk = T.axis.remap("SS", [row, column])
                outs[0][vr, vk] = T.int64(0)
        with T.block("rows"):
            total = T.int64(0)
            for n, c in T.grid(size(scores, 0), size(scores, 1)):
                for k in range(counts[n, c]):
                    outs[0][total, 0] = T.cast(n, "int64")
                    outs[0][total, 1] = T.cast(c, "int64")
                    outs[0][total, 2] = T.cast(found[n, c, k], "int64")
                    total = total + T.int64(1)
            outs[1][0] = total
    else:
        for n, row in T.grid(*outs[1].shape):
            with T.block("clear"):
                vn, vr = T.axis.remap("SS", [n, row])
                outs[0][vn, vr, 0] = T.int64(0)
                outs[0][vn, vr, 1] = T.int64(0)
                outs[1][vn, vr] = T.float32(0)
        for n in range(size(scores, 0)):
            with T.block("rows"):
                vn = T.axis.spatial(size(scores, 0), n)
                total = T.int64(0)
                for c in range(size(scores, 1)):
                    for k in range(counts[vn, c]):
                        outs[0][vn, total, 0] = T.cast(c, "int64")
                        outs[0][vn, total, 1] = T.cast(found[vn, c, k], "int64")
                        outs[1][vn, total] = T.cast(scores[vn, c, found[vn, c, k]], "float32")
                        total = total + T.int64(1)
                outs[2][vn] = total


def first(x: Any) -> list[int]:
    """The place of the one element of a tensor."""
    return [0] * x.ndim


def above(score: Expr, least: Expr) -> Expr:
    """Whether a score, or what boxes share, is more than a limit, which may be of another dtype."""
    return OPS["greater"](score.astype(FLOAT64), least.astype(FLOAT64))


def overlaps(boxes: Any, n: Any, i: Any, k: Any, most: Expr) -> Expr:
    """Whether the part that two boxes share is more than `most` of what they cover together; boxes without an area
    share nothing.
    """
    zero = const(0.0, boxes.dtype)
    one, other = edges(boxes, n, i), edges(boxes, n, k)
    height = OPS["min"](one[1], other[1]) - OPS["max"](one[0], other[0])
    width = OPS["min"](one[3], other[3]) - OPS["max"](one[2], other[2])
    areas = [(box[1] - box[0]) * (box[3] - box[2]) for box in (one, other)]
    shared = height * width
    real = [OPS["greater"](part, zero) for part in (height, width, shared, *areas)]
    ratio = shared / (areas[0] + areas[1] - shared)
    found = above(ratio, most)
    for one_is in real:
        found = OPS["logical_and"](one_is, found)
    return found


def _np_chosen(boxes: Any, scores: Any, most: Any, overlap: Any, least: Any, output_format: str) -> Any:
    import numpy as np

    most, overlap, least = (np.asarray(one).reshape(-1)[0] for one in (most, overlap, least))
    one, other = boxes[..., :2], boxes[..., 2:]
    low, high = np.where(one < other, one, other), np.where(one > other, one, other)
    batches, classes, count = scores.shape
    order = _np_order(scores, 2, True)
    rows: list[list[tuple[int, int]]] = [[] for _ in range(batches)]
    for n, c in np.ndindex(batches, classes):
        kept: list[int] = []
        for i in (one for one in order[n, c] if scores[n, c, one] > least):
            if len(kept) >= most:
                break
            if not any(_np_overlaps(low[n], high[n], i, k, overlap) for k in kept):
                kept.append(int(i))
        rows[n] += [(c, i) for i in kept]
    total = np.array([len(one) for one in rows], np.int64)
    if output_format == "onnx":
        found = np.zeros((batches * classes * count, 3), np.int64)
        made = [(n, *pair) for n, pairs in enumerate(rows) for pair in pairs]
        found[: len(made)] = np.array(made, np.int64).reshape(-1, 3)
        return found, np.array([len(made)], np.int64)
    places = np.zeros((batches, classes * count, 2), np.int64)
    values = np.zeros((batches, classes * count), np.float32)
    for n, pairs in enumerate(rows):
        for at, (c, i) in enumerate(pairs):
            places[n, at], values[n, at] = (c, i), scores[n, c, i]
    return places, values, total


def _np_overlaps(low: Any, high: Any, i: Any, k: Any, most: Any) -> bool:
    import numpy as np

    sides = np.where(high[i] < high[k], high[i], high[k]) - np.where(low[i] > low[k], low[i], low[k])
    shared = sides[0] * sides[1]
    one, other = ((high[at] - low[at]).prod() for at in (i, k))
    real = all(part > 0 for part in (*sides, shared, one, other))
    return real and bool(shared / (one + other - shared) > most)


register(
    GraphOp(
        "vision.all_class_non_max_suppression",
        (
            Parameter("boxes"),
            Parameter("scores"),
            Parameter("max_output_boxes_per_class", apart=True),
            Parameter("iou_threshold", apart=True),
            Parameter("score_threshold", apart=True),
            attr("output_format", one_of("onnx", "tensorflow"), "onnx"),
        ),
        _infer_chosen,
        "The boxes (y1, x1, y2, x2) of each class with the highest scores, without those that overlap a better one: "
        "rows of (batch, class, box) and how many there are, behind which rows are 0; or by batch, with their scores.",
        "G.vision.all_class_non_max_suppression(boxes: (1, 3, 4), scores: (1, 2, 3), "
        'G.const(2, "int64"), G.const(0.5, "float32"), G.const(0.1, "float32"))',
        reference=_np_chosen,
        legalize=kernel(_chosen),
        fusion=OPAQUE,
    )
)
