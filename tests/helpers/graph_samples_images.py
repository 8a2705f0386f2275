"""Random calls of operators on images, of losses, medians and samples; with those of all other operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.graph_draw import Draw
from helpers.graph_samples import SAMPLES as OTHERS
from helpers.graph_samples import Call, _reduce
from tirscript.ir.graph import TensorType
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.axes import axes_of
from tirscript.ir.graph_ops.infer import type_of


def _resize(rank: int) -> Callable[[Draw], Call]:
    letters = "HW" if rank == 2 else "DHW"

    def draw(d: Draw) -> Call:
        layout = d.one(f"NC{letters}", f"N{letters}C", f"NC{letters}2c")
        shape = tuple(count or d.int(1, 2 if letter in "NC" else 5) for letter, count in axes_of(layout))
        method = d.one("nearest_neighbor", "linear", "cubic")
        mode = d.one(
            *("half_pixel", "align_corners", "asymmetric"),
            *("pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"),
        )
        kind = d.one("float32", "float16", "int32") if method == "nearest_neighbor" else d.one("float32", "float64")
        attrs = {
            "layout": layout,
            "method": method,
            "coordinate_transformation_mode": mode,
            "rounding_method": d.one("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            "cubic_exclude": d.int(0, 1) if mode != "tf_crop_and_resize" else 0,
            "extrapolation_value": d.one(0.0, 2.0),
            "roi": [d.one(0.0, 0.25) for _ in range(rank)] + [d.one(0.75, 1.0) for _ in range(rank)],
        }
        return (d.array(shape, kind), tuple(d.int(1, 6) for _ in range(rank))), attrs

    return draw


def _grid_sample(d: Draw) -> Call:
    rank = d.one(2, 2, 3)
    n, letters = d.int(1, 2), "HW" if rank == 2 else "DHW"
    data = d.array((n, d.int(1, 2), *(d.int(1, 4) for _ in range(rank))), d.one("float32", "float16"))
    grid = d.array((n, rank, *(d.int(1, 3) for _ in range(rank))), "float32", -1.6, 1.6)
    attrs = {
        "method": d.one("nearest", "bilinear", *(("bicubic",) if rank == 2 else ())),
        "padding_mode": d.one("zeros", "border", "reflection"),
        "align_corners": d.chance(),
        "layout": f"NC{letters}",
    }
    return (data, grid), attrs


def _affine_grid(d: Draw) -> Call:
    attrs = {"align_corners": d.chance()}
    return (d.array((d.int(1, 2), 2, 3), d.floats()), (d.int(2, 4), d.int(2, 4))), attrs


def _roi(more: Callable[[Draw], dict[str, Any]]) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        n, count = d.int(1, 3), d.int(1, 3)
        low, more_of_it = d.array((count, 2), "float32", -1, 3), d.array((count, 2), "float32", 0, 5)
        batch = d.indices((count, 1), n).astype("float32")
        rois = np.concatenate([batch, low, low + more_of_it], 1).astype("float32")
        layout = d.one("NCHW", "NHWC")
        sizes = {"N": n, "C": d.int(1, 2), "H": d.int(2, 6), "W": d.int(2, 6)}
        data = d.array(tuple(sizes[letter] for letter in layout))
        attrs = {"pooled_size": [d.int(1, 3), d.int(1, 3)], "spatial_scale": d.one(1.0, 0.5), "layout": layout}
        return (data, rois), {**attrs, **more(d)}

    return draw


def _pool_indices(rank: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        (data,), attrs = OTHERS[f"nn.max_pool{rank}d"](d)
        del attrs["count_include_pad"]
        return (np.round(data),), attrs

    return draw


def _chosen_boxes(d: Draw) -> Call:
    n, classes, count = d.int(1, 2), d.int(1, 3), d.int(1, 6)
    kind = d.one("float32", "float64")
    corners = d.array((n, count, 2), kind, 0, 4)
    boxes = np.concatenate([corners, corners + d.array((n, count, 2), kind, -1, 3)], 2).astype(kind)
    scores = np.round(d.array((n, classes, count), kind, 0, 1), 1).astype(kind)
    limits = (np.array(d.int(0, 4), d.one("int32", "int64")), *(np.array(d.one(0.0, 0.3), "float32") for _ in "ab"))
    return (boxes, scores, *limits), {"output_format": d.one("onnx", "tensorflow")}


def _nll_loss(d: Draw) -> Call:
    classes, kind = d.int(2, 4), d.one("float32", "float64")
    shape = d.one((), (d.int(1, 3),), (d.int(1, 2), d.int(1, 3)))
    rest = (*shape[:1], classes, *shape[1:]) if shape else (classes,)
    targets = np.asarray(d.indices(shape, classes))
    targets = np.where(d.rng.integers(0, 4, shape) == 0, -1, targets).astype(targets.dtype)
    targets.reshape(-1)[0] = 1  # at least one counts
    weights = (d.array((classes,), kind, 0.5, 2),) if d.chance() else ()
    attrs = {"reduction": d.one("none", "mean", "sum"), "ignore_index": -1}
    return (d.array(rest, kind), targets, *weights), attrs


def _multinomial(d: Draw) -> Call:
    rows, classes, count = d.int(1, 3), d.int(1, 5), d.int(1, 4)
    prob = d.array((rows, classes), "float32", 0.1, 1)
    prob = (prob / prob.sum(1, keepdims=True)).astype("float32")
    return (prob, d.array((count, 1), "float32", 0, 1), d.indices((count, 1), rows)), {"dtype": d.one("int64", "int32")}


def _same(d: Draw) -> Call:
    return (d.array((d.int(1, 3), d.int(1, 4)), d.one("float32", "int32", "float16")),), {}


def _take_backward(d: Draw) -> Call:
    kind, rank = d.one("float32", "float64"), d.int(1, 3)
    shape, axis = tuple(d.int(1, 4) for _ in range(rank)), d.int(-rank, rank - 1)
    at = axis % rank
    indices = d.indices(d.one((), (3,), (2, 3)), shape[at])
    grad = d.array((*shape[:at], *indices.shape, *shape[at + 1 :]), kind)
    return (grad, d.array(shape, kind), indices), {"axis": None if rank == 1 and d.chance() else axis}


def _pool_backward(kind: str) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        (data,), attrs = OTHERS[f"nn.{kind}_pool2d"](d)
        data = data.astype(d.one("float32", "float64"))
        forward = GRAPH_OPS[f"nn.{kind}_pool2d"](data, **attrs)
        result = type_of(forward)
        assert isinstance(result, TensorType) and result.shape is not None
        return (d.array(dims.numbers(result.shape) or (), data.dtype.name), data), attrs

    return draw


def _nll_loss_backward(d: Draw) -> Call:
    args, attrs = _nll_loss(d)
    shape = args[1].shape if attrs["reduction"] == "none" else ()
    return (d.array(shape, args[0].dtype.name), *args), attrs


def _detections(d: Draw) -> tuple[Any, int]:
    """Rows of a class, a score and a box, and how many numbers a row has."""
    shape = (d.int(1, 2), d.int(1, 6), d.int(6, 7))
    rows = d.array(shape, d.one("float32", "float64"), 0.1, 1)
    rows[..., 0] = d.rng.integers(-1, 3, shape[:2])
    rows[..., 1] -= 0.2
    return rows, shape[2]


def _valid_counts(d: Draw) -> Call:
    return (_detections(d)[0],), {"score_threshold": d.one(0.0, 0.4), "id_index": d.one(-1, 0), "score_index": 1}


def _best_boxes(d: Draw) -> Call:
    rows, width = _detections(d)
    counts = d.rng.integers(0, rows.shape[1] + 1, rows.shape[:1]).astype("int32")
    places = np.stack([d.rng.permutation(rows.shape[1]) for _ in rows]).astype("int32")
    attrs = {
        "max_output_size": d.one(-1, 2), "iou_threshold": d.one(0.1, 0.5), "force_suppress": d.chance(),
        "top_k": d.one(-1, 3), "coord_start": width - 4, "score_index": 1, "id_index": d.one(-1, 0),
        "return_indices": d.chance(), "invalid_to_bottom": d.chance(), "soft_nms_sigma": d.one(0.0, 0.5),
        "score_threshold": d.one(0.0, 0.3),
    }  # fmt: skip
    return (rows, counts, places), attrs


def _anchored(d: Draw) -> Call:
    batch, classes, count, kind = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.one("float32", "float64")
    scores, places = d.array((batch, classes, count), kind), d.array((batch, 4 * count), kind)
    attrs = {
        "clip": d.chance(), "threshold": d.one(0.0, 0.4), "variances": (0.1, 0.1, 0.2, 0.2),
        "keep_background": d.chance(), "apply_softmax": d.chance(),
    }  # fmt: skip
    return (scores, places, d.array((1, count, 4), kind, 0, 1)), attrs


SAMPLES: dict[str, Callable[[Draw], Call]] = {
    **OTHERS,
    "image.resize2d": _resize(2),
    "image.resize3d": _resize(3),
    "image.grid_sample": _grid_sample,
    "image.affine_grid": _affine_grid,
    "vision.roi_align": _roi(
        lambda d: {"sample_ratio": d.int(-1, 2), "aligned": d.chance(), "mode": d.one("avg", "max")}
    ),
    "vision.roi_pool": _roi(lambda d: {}),
    **{f"nn.max_pool{rank}d_indices": _pool_indices(rank) for rank in (1, 2, 3)},
    "vision.all_class_non_max_suppression": _chosen_boxes,
    "vision.get_valid_counts": _valid_counts,
    "vision.non_max_suppression": _best_boxes,
    "vision.multibox_transform_loc": _anchored,
    "nn.nll_loss": _nll_loss,
    **dict.fromkeys(("grad.no_grad", "grad.start_checkpoint", "grad.end_checkpoint"), _same),
    "builtin.stop_lift_params": _same,
    "grad.take_backward": _take_backward,
    "grad.max_pool2d_backward": _pool_backward("max"),
    "grad.avg_pool2d_backward": _pool_backward("avg"),
    "grad.nll_loss_backward": _nll_loss_backward,
    "median": _reduce,
    "multinomial_from_uniform": _multinomial,
}
