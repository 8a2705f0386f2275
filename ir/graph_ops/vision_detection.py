"""Detections as rows of numbers (class, score, box, ...): those that count, the best of those that overlap, and boxes
that are told by anchors."""

from __future__ import annotations

from typing import Any

from ..dtype import INT32
from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType, TupleType
from ..graph_op import OPAQUE, GraphOp, Parameter
from ..op import OPS
from . import dims
from .attrs import attr, boolean, integer, real, reals
from .kernel import T, kernel, part, size
from .rules import FLOATS, INTS, Types, common_dtype, equal_dims, of_rank, rank_of, refuse, tensor
from .sort import _np_order
from .table import register

# -- get_valid_counts


def _rows(call: OpCall, types: Types, *columns: str) -> TensorType:
    """Rows of numbers (batch, row, column), of which an attribute names a column, or none where it is below 0."""
    kind = tensor(call, types, 0, FLOATS)
    rank_of(call, kind, 0, 3)
    width = None if kind.shape is None else dims.number(kind.shape[2])
    for name in columns:
        at = call.attrs[name]
        if width is not None and at >= width:
            refuse(call, f"`{name}` is {at}, and a row has {width} numbers")
    return kind


def _not_below(call: OpCall, *names: str) -> None:
    for name in names:
        if call.attrs[name] < 0:
            refuse(call, f"`{name}` is {call.attrs[name]}, which is below 0")


def _infer_valid(call: OpCall, types: Types) -> GraphType:
    kind = _rows(call, types, "id_index", "score_index")
    _not_below(call, "score_index")
    if kind.shape is None:
        return TupleType((of_rank(1, INT32), of_rank(3, kind.dtype), of_rank(2, INT32)))
    return TupleType(
        (TensorType(kind.shape[:1], INT32), TensorType(kind.shape, kind.dtype), TensorType(kind.shape[:2], INT32))
    )


def _valid(
    data: Any, counts: Any, out: Any, places: Any, *, score_threshold: Any, id_index: Any, score_index: Any
) -> None:  # fmt: skip
    for n in range(size(data, 0)):
        with T.block("count"):
            vn = T.axis.spatial(size(data, 0), n)
            found = T.int32(0)
            for row in range(size(data, 1)):
                if counts_for(data, vn, row, score_threshold, id_index, score_index):
                    for k in range(size(data, 2)):
                        out[vn, found, k] = data[vn, row, k]
                    places[vn, found] = T.cast(row, "int32")
                    found = found + 1
            counts[vn] = found
            for row in range(size(data, 1)):
                if row >= found:
                    for k in range(size(data, 2)):
                        out[vn, row, k] = const(-1.0, data.dtype)
                    places[vn, row] = T.int32(-1)


def counts_for(data: Any, n: Any, row: Any, least: float, kind: int, score: int) -> Expr:
    """Whether a row has a score above a limit, and a class."""
    found = OPS["greater"](data[n, row, score], const(least, data.dtype))
    if kind < 0:
        return found
    return OPS["logical_and"](found, OPS["greater_equal"](data[n, row, kind], const(0.0, data.dtype)))


def _np_valid(data: Any, score_threshold: float, id_index: int, score_index: int) -> Any:
    import numpy as np

    out, places = np.full_like(data, -1), np.full(data.shape[:2], -1, np.int32)
    keep = data[:, :, score_index] > np.asarray(score_threshold, data.dtype)
    if id_index >= 0:
        keep &= data[:, :, id_index] >= 0
    for n, rows in enumerate(keep):
        chosen = np.nonzero(rows)[0]
        out[n, : len(chosen)], places[n, : len(chosen)] = data[n, chosen], chosen
    return keep.sum(1).astype(np.int32), out, places


register(
    GraphOp(
        "vision.get_valid_counts",
        (
            Parameter("data"),
            attr("score_threshold", real, 0.0),
            attr("id_index", integer, 0),
            attr("score_index", integer, 1),
        ),
        _infer_valid,
        "How many rows of numbers have a score above a limit and a class; these rows, behind which all is -1; and where"
        " they were.",
        "G.vision.get_valid_counts(data: (1, 3, 6), score_threshold=0.5)",
        reference=_np_valid,
        legalize=kernel(_valid),
        fusion=OPAQUE,
    )
)

# -- non_max_suppression


def _infer_best(call: OpCall, types: Types) -> GraphType:
    kind = _rows(call, types, "id_index", "score_index")
    _not_below(call, "score_index", "coord_start")
    width = None if kind.shape is None else dims.number(kind.shape[2])
    if width is not None and call.attrs["coord_start"] + 4 > width:
        refuse(call, f"a box begins at number {call.attrs['coord_start']}, and a row has {width}")
    counts, places = tensor(call, types, 1, INTS), tensor(call, types, 2, INTS)
    rank_of(call, counts, 1, 1)
    rank_of(call, places, 2, 2)
    for at, one in ((1, counts), (2, places)):
        if one.dtype not in (None, INT32):
            refuse(call, f"`{call.op.values[at].name}` is of {one.dtype}, not of int32", code="T107")
    if kind.shape is not None:
        for one, sizes in ((counts, kind.shape[:1]), (places, kind.shape[:2])):
            for have, want in zip(one.shape or (), sizes, strict=False):
                equal_dims(call, have, want, "`valid_count` and `indices` do not fit `data`")
    rows = of_rank(3, kind.dtype) if kind.shape is None else TensorType(kind.shape, kind.dtype)
    if not call.attrs["return_indices"]:
        return rows
    chosen = of_rank(2, INT32) if kind.shape is None else TensorType(kind.shape[:2], INT32)
    count = of_rank(2, INT32) if kind.shape is None else TensorType((kind.shape[0], dims.ONE), INT32)
    return TupleType((rows, chosen, count) if call.attrs["soft_nms_sigma"] > 0 else (chosen, count))


def _best(
    data: Any, valid_count: Any, indices: Any, *outs: Any, max_output_size: Any, iou_threshold: Any,
    force_suppress: Any, top_k: Any, coord_start: Any, score_index: Any, id_index: Any, return_indices: Any,
    invalid_to_bottom: Any, soft_nms_sigma: Any, score_threshold: Any,
) -> None:  # fmt: skip
    rows = T.alloc_buffer(data.shape, data.dtype)  # by their scores
    places = T.alloc_buffer(indices.shape, "int32")  # which of `data` each of them is; -1 where it is out
    most = T.meta_var(max_output_size)
    overlapping = T.meta_var(const(iou_threshold, data.dtype))
    column = T.meta_var(-1 if force_suppress else id_index)
    for n in range(size(data, 0)):
        with T.block("choose"):
            vn = T.axis.spatial(size(data, 0), n)
            given = T.min(T.max(valid_count[vn], 0), T.cast(size(data, 1), "int32"))
            looked = T.min(given, top_k) if top_k > 0 else given
            put_in_order(data, rows, places, n=vn, given=given, looked=looked, score=score_index)
            if soft_nms_sigma > 0:
                decay(
                    rows, places, n=vn, count=T.min(looked, most) if most > 0 else looked, looked=looked,
                    score=score_index, start=coord_start, column=column, overlapping=overlapping,
                    least=const(score_threshold, data.dtype), by=const(-0.5 / soft_nms_sigma, data.dtype),
                )  # fmt: skip
            else:
                suppress(
                    rows, places, n=vn, count=most if most > 0 else looked, looked=looked, score=score_index,
                    start=coord_start, column=column, overlapping=overlapping,
                )  # fmt: skip
            if return_indices:
                give_places(places, indices, outs[-2], outs[-1], n=vn)
            if not return_indices or soft_nms_sigma > 0:
                up = T.meta_var(invalid_to_bottom and not return_indices)
                give_rows(rows, outs[0], n=vn, score=score_index, up=up)


@part
def put_in_order(data: Any, rows: Any, places: Any, *, n: Any, given: Any, looked: Any, score: Any) -> None:
    """The rows that count by their scores, and -1 behind those that are looked at."""
    for row in range(size(data, 1)):
        places[n, row] = T.int32(-1)
    for row in range(given):
        place = T.int32(0)
        for other in range(given):
            if ahead(data[n, other, score], data[n, row, score], other, row):
                place = place + 1
        if place < looked:
            places[n, place] = T.cast(row, "int32")
    for row, k in T.grid(size(data, 1), size(data, 2)):
        rows[n, row, k] = T.if_then_else(
            places[n, row] >= 0, data[n, T.max(places[n, row], 0), k], const(-1.0, data.dtype)
        )


@part
def put_out(rows: Any, places: Any, *, n: Any, row: Any) -> None:
    """Let a row be -1."""
    places[n, row] = T.int32(-1)
    for k in range(size(rows, 2)):
        rows[n, row, k] = const(-1.0, rows.dtype)


@part
def suppress(
    rows: Any, places: Any, *, n: Any, count: Any, looked: Any, score: Any, start: Any, column: Any, overlapping: Any
) -> None:
    """Put out the rows that overlap a better one."""
    zero = T.meta_var(const(0.0, rows.dtype))
    kept = T.int32(0)
    for row in range(size(rows, 1)):
        if T.And(T.And(row < looked, kept < count), rows[n, row, score] > zero):
            kept = kept + 1
            for other in range(looked):
                if T.And(other > row, rows[n, other, score] > zero):
                    if competes(rows, n, row, other, column):
                        if overlap(rows, n, row, other, start) >= overlapping:
                            rows[n, other, score] = const(-1.0, rows.dtype)
                            places[n, other] = T.int32(-1)
        else:
            put_out(rows, places, n=n, row=row)


@part
def decay(
    rows: Any, places: Any, *, n: Any, count: Any, looked: Any, score: Any, start: Any, column: Any, overlapping: Any,
    least: Any, by: Any,
) -> None:  # fmt: skip
    """Take the row of the highest score again and again, which lowers the scores of those that overlap it."""
    kept = T.int32(0)
    going = T.bool(True)
    while T.And(going, kept < count):
        best = T.int32(-1)
        highest = least
        for row in range(looked):
            if T.And(T.And(row >= kept, places[n, row] >= 0), rows[n, row, score] > highest):
                best = T.cast(row, "int32")
                highest = rows[n, row, score]
        if best < 0:
            going = T.bool(False)
        else:
            swap(rows, places, n=n, i=kept, k=best)
            for row in range(looked):
                if T.And(T.And(row > kept, places[n, row] >= 0), rows[n, row, score] > least):
                    if competes(rows, n, kept, row, column):
                        shared = overlap(rows, n, kept, row, start)
                        if shared >= overlapping:
                            places[n, row] = T.int32(-1)
                        elif shared < overlapping:
                            rows[n, row, score] = rows[n, row, score] * T.exp(by * shared * shared)
                            if rows[n, row, score] <= least:
                                places[n, row] = T.int32(-1)
            kept = kept + 1
    for row in range(size(rows, 1)):
        if row >= kept:
            put_out(rows, places, n=n, row=row)


@part
def give_places(places: Any, indices: Any, out: Any, count: Any, *, n: Any) -> None:
    """What the rows that stay are called, and how many they are."""
    found = T.int32(0)
    for row in range(size(places, 1)):
        if places[n, row] >= 0:
            out[n, found] = indices[n, places[n, row]]
            found = found + 1
    count[n, 0] = found
    for row in range(size(places, 1)):
        if row >= found:
            out[n, row] = T.int32(-1)


@part
def give_rows(rows: Any, out: Any, *, n: Any, score: Any, up: Any) -> None:
    """The rows; those that stay `up` ahead of all others."""
    total = T.int32(0)
    for row in range(size(rows, 1)):
        if rows[n, row, score] >= const(0.0, rows.dtype) if up else True:
            for k in range(size(rows, 2)):
                out[n, total, k] = rows[n, row, k]
            total = total + 1
    for row in range(size(rows, 1)):
        if row >= total:
            for k in range(size(rows, 2)):
                out[n, row, k] = const(-1.0, rows.dtype)


@part
def swap(rows: Any, places: Any, *, n: Any, i: Any, k: Any) -> None:
    """Let two rows change places."""
    place = places[n, i]
    places[n, i] = places[n, k]
    places[n, k] = place
    for column in range(size(rows, 2)):
        number = rows[n, i, column]
        rows[n, i, column] = rows[n, k, column]
        rows[n, k, column] = number


def ahead(one: Expr, other: Expr, i: Any, k: Any) -> Expr:
    """Whether a row is sorted before another: its score is higher, or the same and it was before it; nan is first."""
    nan, theirs = (OPS["not_equal"](score, score) for score in (one, other))
    same = OPS["logical_or"](OPS["equal"](one, other), OPS["logical_and"](nan, theirs))
    higher = OPS["logical_or"](OPS["greater"](one, other), OPS["logical_and"](nan, OPS["logical_not"](theirs)))
    return OPS["logical_or"](higher, OPS["logical_and"](same, OPS["less"](i, k)))


def competes(rows: Any, n: Any, i: Any, k: Any, column: int) -> Expr:
    """Whether two rows are of one class, or all are taken for that."""
    return const(True, "bool") if column < 0 else OPS["equal"](rows[n, i, column], rows[n, k, column])


def overlap(rows: Any, n: Any, i: Any, k: Any, start: int) -> Expr:
    """The part that two boxes share of what they cover together."""
    low = [[OPS["min"](rows[n, at, start + d], rows[n, at, start + d + 2]) for d in (0, 1)] for at in (i, k)]
    high = [[OPS["max"](rows[n, at, start + d], rows[n, at, start + d + 2]) for d in (0, 1)] for at in (i, k)]
    zero = const(0.0, rows.dtype)
    width, height = (
        OPS["max"](zero, OPS["min"](high[0][d], high[1][d]) - OPS["max"](low[0][d], low[1][d])) for d in (0, 1)
    )
    shared = height * width
    one, other = ((high[at][0] - low[at][0]) * (high[at][1] - low[at][1]) for at in (0, 1))
    whole = one + other - shared
    return OPS["Select"](OPS["less_equal"](whole, zero), zero, shared / whole)


def _np_best(
    data: Any, valid_count: Any, indices: Any, max_output_size: int, iou_threshold: float, force_suppress: bool,
    top_k: int, coord_start: int, score_index: int, id_index: int, return_indices: bool, invalid_to_bottom: bool,
    soft_nms_sigma: float, score_threshold: float,
) -> Any:  # fmt: skip
    import numpy as np

    kind = data.dtype.type
    batches, count, _ = data.shape
    out = np.full_like(data, -1)
    chosen, counts = np.full((batches, count), -1, np.int32), np.zeros((batches, 1), np.int32)
    soft = soft_nms_sigma > 0
    least, most = kind(score_threshold if soft else 0), max_output_size if max_output_size > 0 else count
    for n in range(batches):
        given = min(max(int(valid_count[n]), 0), count)
        order = _np_order(data[n, :given, score_index], 0, True)[: top_k if top_k > 0 else given]
        waiting = [(data[n, at].copy(), int(at)) for at in order]
        slots: list[tuple[Any, int] | None] = []
        while waiting and sum(one is not None for one in slots) < most:
            scores = [-np.inf if np.isnan(row[score_index]) else row[score_index] for row, _ in waiting]
            at = int(np.argmax(scores)) if soft else 0
            waiting[0], waiting[at] = waiting[at], waiting[0]
            best, name = waiting.pop(0)
            if not best[score_index] > least:
                slots.append(None)
                continue
            slots.append((best, name))
            for row, _ in waiting:
                if row[score_index] > least and (force_suppress or id_index < 0 or row[id_index] == best[id_index]):
                    shared = _np_overlap(best, row, coord_start)
                    if shared >= kind(iou_threshold):
                        row[score_index] = -np.inf if soft else -1
                    elif soft and shared < kind(iou_threshold):
                        row[score_index] *= np.exp(kind(-0.5 / soft_nms_sigma) * shared * shared)
        if soft or invalid_to_bottom:
            slots = [one for one in slots if one is not None]
        if invalid_to_bottom and not return_indices:
            slots = [one for one in slots if one is not None and one[0][score_index] >= 0]
        kept = [(at, *one) for at, one in enumerate(slots) if one is not None]
        for at, row, _ in kept:
            out[n, at] = row
        counts[n] = len(kept)
        chosen[n, : len(kept)] = [indices[n, name] for _, _, name in kept]
    if not return_indices:
        return out
    return (out, chosen, counts) if soft else (chosen, counts)


def _np_overlap(one: Any, other: Any, start: int) -> Any:
    import numpy as np

    ends = np.stack([one[start : start + 4], other[start : start + 4]]).reshape(2, 2, 2)
    low, high = (
        np.where(flags, ends[:, 0], ends[:, 1]) for flags in (ends[:, 0] < ends[:, 1], ends[:, 0] > ends[:, 1])
    )
    sides = np.where(high[0] < high[1], high[0], high[1]) - np.where(low[0] > low[1], low[0], low[1])
    width, height = np.where(sides < 0, one.dtype.type(0), sides)
    areas = (high - low).prod(1)
    whole = areas[0] + areas[1] - height * width
    return one.dtype.type(0) if whole <= 0 else height * width / whole


register(
    GraphOp(
        "vision.non_max_suppression",
        (
            Parameter("data"),
            Parameter("valid_count", apart=True),
            Parameter("indices", apart=True),
            attr("max_output_size", integer, -1),
            attr("iou_threshold", real, 0.5),
            attr("force_suppress", boolean, False),
            attr("top_k", integer, -1),
            attr("coord_start", integer, 2),
            attr("score_index", integer, 1),
            attr("id_index", integer, 0),
            attr("return_indices", boolean, True),
            attr("invalid_to_bottom", boolean, False),
            attr("soft_nms_sigma", real, 0.0),
            attr("score_threshold", real, 0.0),
        ),
        _infer_best,
        "The rows of numbers with the highest scores, without boxes of one class that overlap a better one, or with"
        " lower scores for these (soft): what `indices` call them and how many they are, or the rows, -1 behind them.",
        "G.vision.non_max_suppression(data: (1, 3, 6), valid_count: (1,) int32, indices: (1, 3) int32)",
        reference=_np_best,
        legalize=kernel(_best),
        fusion=OPAQUE,
    )
)

# -- multibox_transform_loc


def _infer_boxes(call: OpCall, types: Types) -> GraphType:
    scores, places, anchors = (tensor(call, types, at, FLOATS) for at in range(3))
    for at, (one, rank) in enumerate(((scores, 3), (places, 2), (anchors, 3))):
        rank_of(call, one, at, rank)
    kind = common_dtype(call, (scores, places, anchors), ("`cls_pred`", "`loc_pred`", "`anchor`"))
    if len(call.attrs["variances"]) != 4:
        refuse(call, f"`variances` are 4 numbers, not {len(call.attrs['variances'])}")
    if scores.shape is None:
        return TupleType((of_rank(3, kind), of_rank(3, kind)))
    batch, _, count = scores.shape
    four = dims.dim(4)
    for one, wanted in ((places, (batch, dims.mul(count, 4))), (anchors, (dims.ONE, count, four))):
        for have, want in zip(one.shape or (), wanted, strict=False):
            equal_dims(call, have, want, "there are not 4 numbers for each of the boxes that `cls_pred` has")
    return TupleType((TensorType((batch, count, four), kind), TensorType(scores.shape, kind)))


def _boxes(
    cls_pred: Any, loc_pred: Any, anchor: Any, boxes: Any, scores: Any, *, clip: Any, threshold: Any, variances: Any,
    keep_background: Any, apply_softmax: Any,
) -> None:  # fmt: skip
    for n, i in T.grid(size(cls_pred, 0), size(cls_pred, 2)):
        with T.block("boxes"):
            vn, vi = T.axis.remap("SS", [n, i])
            for axis in (0, 1):
                first = anchor[0, vi, axis]
                length = anchor[0, vi, axis + 2] - first
                middle = loc_pred[vn, vi * 4 + axis] * const(variances[axis], boxes.dtype) * length + (
                    (first + anchor[0, vi, axis + 2]) * const(0.5, boxes.dtype)
                )
                half = (
                    const(0.5, boxes.dtype)
                    * T.exp(loc_pred[vn, vi * 4 + 2 + axis] * const(variances[2 + axis], boxes.dtype))
                    * length
                )
                boxes[vn, vi, 1 - axis] = within(middle - half, clip)
                boxes[vn, vi, 3 - axis] = within(middle + half, clip)
    for n, i in T.grid(size(cls_pred, 0), size(cls_pred, 2)):
        with T.block("scores"):
            vn, vi = T.axis.remap("SS", [n, i])
            top = cls_pred[vn, 0, vi]
            total = const(0.0 if apply_softmax else 1.0, scores.dtype)
            if apply_softmax:
                for c in range(size(cls_pred, 1)):
                    top = T.max(top, cls_pred[vn, c, vi])
                for c in range(size(cls_pred, 1)):
                    total = total + T.exp(cls_pred[vn, c, vi] - top)
            for c in range(size(cls_pred, 1)):
                score = T.exp(cls_pred[vn, c, vi] - top) / total if apply_softmax else cls_pred[vn, c, vi]
                counted = (
                    score >= const(threshold, scores.dtype)
                    if keep_background
                    else T.And(c > 0, score >= const(threshold, scores.dtype))
                )
                scores[vn, c, vi] = T.Select(counted, score, const(0.0, scores.dtype))


def within(value: Expr, clip: bool) -> Expr:
    """A coordinate, cut off at the image's edges where that is asked for."""
    zero, one = const(0.0, value.dtype), const(1.0, value.dtype)
    return OPS["max"](zero, OPS["min"](one, value)) if clip else value


def _np_boxes(
    cls_pred: Any, loc_pred: Any, anchor: Any, clip: bool, threshold: float, variances: tuple[float, ...],
    keep_background: bool, apply_softmax: bool,
) -> Any:  # fmt: skip
    import numpy as np

    kind = cls_pred.dtype.type
    batch, _, count = cls_pred.shape
    given = loc_pred.reshape(batch, count, 4) * np.array(variances, cls_pred.dtype)
    first, last = anchor[..., :2], anchor[..., 2:]
    middle = given[..., :2] * (last - first) + (first + last) * kind(0.5)
    half = kind(0.5) * np.exp(given[..., 2:]) * (last - first)
    boxes = np.concatenate(((middle - half)[..., ::-1], (middle + half)[..., ::-1]), -1)
    scores = cls_pred
    if apply_softmax:
        powers = np.exp(cls_pred - cls_pred.max(1, keepdims=True))
        scores = powers / powers.sum(1, keepdims=True)
    scores = np.where(scores >= kind(threshold), scores, kind(0))
    if not keep_background:
        scores[:, 0] = 0
    return np.clip(boxes, kind(0), kind(1)) if clip else boxes, scores


register(
    GraphOp(
        "vision.multibox_transform_loc",
        (
            Parameter("cls_pred"),
            Parameter("loc_pred"),
            Parameter("anchor"),
            attr("clip", boolean, False),
            attr("threshold", real, 0.0),
            attr("variances", reals, (1.0, 1.0, 1.0, 1.0)),
            attr("keep_background", boolean, True),
            attr("apply_softmax", boolean, True),
        ),
        _infer_boxes,
        "Boxes (y1, x1, y2, x2) from places and sizes (x, y, w, h) relative to anchors (x1, y1, x2, y2), and the scores"
        " of their classes, those below `threshold` 0.",
        "G.vision.multibox_transform_loc(cls_pred: (1, 3, 5), loc_pred: (1, 20), anchor: (1, 5, 4))",
        reference=_np_boxes,
        legalize=kernel(_boxes),
        fusion=OPAQUE,
    )
)
