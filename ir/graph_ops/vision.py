"""Parts of images that boxes name (roi_align, roi_pool), losses of classes, samples of distributions"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import FLOAT32, INT64, DType
from ..expr import BufferLoad, Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from ..words import counted
from . import dims
from .attrs import attr, boolean, each, element_type, integer, one_of, real, text
from .axes import by_letter, check_layout
from .kernel import T, kernel, size
from .reduce import accumulator, extreme_reference
from .reference import converted, numpy_dtype, wide
from .rules import FLOATS, INTS, Types, common_dtype, equal_dims, like, of_rank, rank_of, refuse, tensor
from .table import register

# -- regions of interest: (batch, x of the left, y of the top, x of the right, y of the bottom)


def _infer_roi(call: OpCall, types: Types) -> GraphType:
    kind, rois = tensor(call, types, 0, FLOATS), tensor(call, types, 1, FLOATS)
    rank_of(call, kind, 0, 4)
    rank_of(call, rois, 1, 2)
    common_dtype(call, (kind, rois), ("`data`", "`rois`"))
    layout = check_layout(call, "layout", "NCHW")
    if any(one < 1 for one in call.attrs["pooled_size"]):
        refuse(call, "`pooled_size` is 1 or more", None, "T032")
    if rois.shape is not None:
        equal_dims(call, rois.shape[1], dims.dim(5), "a row of `rois` is not (batch, x1, y1, x2, y2)")
    if kind.shape is None or rois.shape is None:
        return of_rank(4, kind.dtype, kind.vdevice)
    height, width = map(dims.dim, call.attrs["pooled_size"])
    found = {**by_letter(layout, kind.shape), "N": rois.shape[0], "H": height, "W": width}
    return like(kind, shape=tuple(found[letter] for letter in layout))


def _place(n: Any, c: Any, y: Any, x: Any, layout: str) -> list[Any]:
    found = {"N": n, "C": c, "H": y, "W": x}
    return [found[letter] for letter in layout]


def bilinear(data: Any, n: Any, c: Any, y: Any, x: Any, layout: str) -> Expr:
    """The value at a place between four pixels, 0 where it is more than one pixel outside."""
    height, width = (cast_to(size(data, layout.index(letter)) + const(0, n.dtype), FLOAT32) for letter in "HW")
    one, zero = const(1.0, FLOAT32), const(0.0, FLOAT32)
    outside = OPS["logical_or"](OPS["logical_or"](y < -one, y > height), OPS["logical_or"](x < -one, x > width))
    parts = []
    for at, extent in ((y, height), (x, width)):
        near = OPS["max"](OPS["min"](at, extent - one), zero)
        low = OPS["floor"](near)
        parts.append((cast_to(low, n.dtype), cast_to(OPS["min"](low + one, extent - one), n.dtype), near - low))
    (y0, y1, ty), (x0, x1, tx) = parts

    def value(row: Expr, column: Expr) -> Expr:
        return cast_to(BufferLoad(data, tuple(_place(n, c, row, column, layout))), FLOAT32)

    upper = value(y0, x0) * (one - tx) + value(y0, x1) * tx
    lower = value(y1, x0) * (one - tx) + value(y1, x1) * tx
    return OPS["Select"](outside, zero, upper * (one - ty) + lower * ty)


def _roi_align(
    data: Any, rois: Any, out: Any, *, spatial_scale: Any, sample_ratio: Any, aligned: Any, layout: Any, mode: Any,
    pooled_size: Any,
) -> None:  # fmt: skip
    for r, c, ph, pw in T.grid(
        out.shape[layout.index("N")], out.shape[layout.index("C")], pooled_size[0], pooled_size[1]
    ):
        with T.block("roi_align"):
            vr, vc, vh, vw = T.axis.remap("SSSS", [r, c, ph, pw])
            n = T.cast(rois[vr, 0], "int32")
            x1 = T.cast(rois[vr, 1], "float32") * T.float32(spatial_scale)
            y1 = T.cast(rois[vr, 2], "float32") * T.float32(spatial_scale)
            width = T.cast(rois[vr, 3], "float32") * T.float32(spatial_scale) - x1
            height = T.cast(rois[vr, 4], "float32") * T.float32(spatial_scale) - y1
            if not aligned:
                width = T.max(width, T.float32(1))
                height = T.max(height, T.float32(1))
            step_x = width / T.float32(pooled_size[1])
            step_y = height / T.float32(pooled_size[0])
            rows = T.int32(sample_ratio)
            columns = T.int32(sample_ratio)
            if sample_ratio <= 0:
                rows = T.cast(T.ceil(step_y), "int32")
                columns = T.cast(T.ceil(step_x), "int32")
            found = T.float32(0.0 if mode == "avg" else "-inf")
            for i in range(rows):
                for j in range(columns):
                    y = (
                        y1
                        + (T.cast(vh, "float32") + (T.cast(i, "float32") + T.float32(0.5)) / T.cast(rows, "float32"))
                        * step_y
                    )
                    x = (
                        x1
                        + (T.cast(vw, "float32") + (T.cast(j, "float32") + T.float32(0.5)) / T.cast(columns, "float32"))
                        * step_x
                    )
                    if mode == "avg":
                        found = found + bilinear(data, n, vc, y, x, layout)
                    else:
                        found = T.max(bilinear(data, n, vc, y, x, layout), found)
            count = T.cast(T.max(rows * columns, 1), "float32")
            if mode == "avg":
                out[*_place(vr, vc, vh, vw, layout)] = T.cast(found / count, out.dtype)
            else:
                out[*_place(vr, vc, vh, vw, layout)] = T.cast(
                    T.Select(rows * columns > 0, found, T.float32(0)), out.dtype
                )


def _np_roi_align(
    data: Any,
    rois: Any,
    pooled_size: Any,
    spatial_scale: float,
    sample_ratio: int,
    aligned: bool,
    layout: str,
    mode: str,
) -> Any:
    import numpy as np

    images = np.transpose(data, [layout.index(letter) for letter in "NCHW"]).astype(np.float32)
    _, channels, height, width = images.shape
    ph, pw = pooled_size
    out = np.zeros((len(rois), channels, ph, pw), np.float32)
    f32 = np.float32

    def pixel(image: Any, y: Any, x: Any) -> Any:
        if y < -1 or y > height or x < -1 or x > width:
            return np.zeros(channels, f32)
        y, x = (min(max(one, f32(0)), f32(extent - 1)) for one, extent in ((y, height), (x, width)))
        y0, x0 = int(y), int(x)
        y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
        ty, tx = y - y0, x - x0
        upper = image[:, y0, x0] * (1 - tx) + image[:, y0, x1] * tx
        return upper * (1 - ty) + (image[:, y1, x0] * (1 - tx) + image[:, y1, x1] * tx) * ty

    for r, roi in enumerate(rois.astype(f32)):
        x1, y1, x2, y2 = (one * f32(spatial_scale) for one in roi[1:])
        w, h = (x2 - x1, y2 - y1) if aligned else (max(x2 - x1, f32(1)), max(y2 - y1, f32(1)))
        step_y, step_x = h / f32(ph), w / f32(pw)
        rows, columns = (
            (sample_ratio, sample_ratio) if sample_ratio > 0 else (int(np.ceil(step_y)), int(np.ceil(step_x)))
        )
        for i, j in np.ndindex(ph, pw):
            found = [
                pixel(
                    images[int(roi[0])],
                    y1 + (i + f32(a + 0.5) / rows) * step_y,
                    x1 + (j + f32(b + 0.5) / columns) * step_x,
                )
                for a in range(rows)
                for b in range(columns)
            ]
            if found:
                out[r, :, i, j] = np.mean(found, 0) if mode == "avg" else extreme_reference(np.array(found), 0, "fmax")
    return np.transpose(out, ["NCHW".index(letter) for letter in layout]).astype(data.dtype)


register(
    GraphOp(
        "vision.roi_align",
        (
            Parameter("data"),
            Parameter("rois"),
            attr("pooled_size", each(2)),
            attr("spatial_scale", real),
            attr("sample_ratio", integer, -1),
            attr("aligned", boolean, False),
            attr("layout", text, "NCHW"),
            attr("mode", one_of("avg", "max"), "avg"),
        ),
        _infer_roi,
        "Parts of images in one size: the mean or greatest of values between pixels (Mask R-CNN, He et al., 2017). A"
        " part is at least one pixel wide and high unless it is `aligned`.",
        "G.vision.roi_align(data: (1, 2, 4, 4), rois: (1, 5), pooled_size=[2, 2], spatial_scale=1.0)",
        reference=_np_roi_align,
        legalize=kernel(_roi_align),
        fusion=OPAQUE,
    )
)


def _roi_pool(data: Any, rois: Any, out: Any, *, spatial_scale: Any, layout: Any, pooled_size: Any) -> None:
    for r, c, ph, pw in T.grid(
        out.shape[layout.index("N")], out.shape[layout.index("C")], pooled_size[0], pooled_size[1]
    ):
        with T.block("roi_pool"):
            vr, vc, vh, vw = T.axis.remap("SSSS", [r, c, ph, pw])
            n = T.cast(rois[vr, 0], "int32")
            x1 = T.cast(T.floor(T.cast(rois[vr, 1], "float32") * T.float32(spatial_scale) + T.float32(0.5)), "int32")
            y1 = T.cast(T.floor(T.cast(rois[vr, 2], "float32") * T.float32(spatial_scale) + T.float32(0.5)), "int32")
            x2 = T.cast(T.floor(T.cast(rois[vr, 3], "float32") * T.float32(spatial_scale) + T.float32(0.5)), "int32")
            y2 = T.cast(T.floor(T.cast(rois[vr, 4], "float32") * T.float32(spatial_scale) + T.float32(0.5)), "int32")
            step_x = T.cast(T.max(x2 - x1 + 1, 1), "float32") / T.float32(pooled_size[1])
            step_y = T.cast(T.max(y2 - y1 + 1, 1), "float32") / T.float32(pooled_size[0])
            limit_y = T.cast(data.shape[layout.index("H")], "int32")
            limit_x = T.cast(data.shape[layout.index("W")], "int32")
            top = T.min(T.max(T.cast(T.floor(T.cast(vh, "float32") * step_y), "int32") + y1, 0), limit_y)
            bottom = T.min(T.max(T.cast(T.ceil(T.cast(vh + 1, "float32") * step_y), "int32") + y1, 0), limit_y)
            left = T.min(T.max(T.cast(T.floor(T.cast(vw, "float32") * step_x), "int32") + x1, 0), limit_x)
            right = T.min(T.max(T.cast(T.ceil(T.cast(vw + 1, "float32") * step_x), "int32") + x1, 0), limit_x)
            found = T.float32("-inf")
            for y in range(top, bottom):
                for x in range(left, right):
                    found = T.max(T.cast(data[*_place(n, vc, y, x, layout)], "float32"), found)
            out[*_place(vr, vc, vh, vw, layout)] = T.cast(
                T.Select(T.And(bottom > top, right > left), found, T.float32(0)), out.dtype
            )


def _np_roi_pool(data: Any, rois: Any, pooled_size: Any, spatial_scale: float, layout: str) -> Any:
    import numpy as np

    images = np.transpose(data, [layout.index(letter) for letter in "NCHW"]).astype(np.float32)
    _, channels, height, width = images.shape
    ph, pw = pooled_size
    out = np.zeros((len(rois), channels, ph, pw), np.float32)
    for r, roi in enumerate(rois.astype(np.float32)):
        x1, y1, x2, y2 = converted(np.floor(roi[1:] * np.float32(spatial_scale) + np.float32(0.5)), np.int32)
        step_y, step_x = (np.float32(max(b - a + 1, 1)) / np.float32(n) for a, b, n in ((y1, y2, ph), (x1, x2, pw)))
        for i, j in np.ndindex(ph, pw):
            top, bottom = (
                min(max(int(one) + y1, 0), height) for one in (np.floor(i * step_y), np.ceil((i + 1) * step_y))
            )
            left, right = (
                min(max(int(one) + x1, 0), width) for one in (np.floor(j * step_x), np.ceil((j + 1) * step_x))
            )
            if bottom > top and right > left:
                out[r, :, i, j] = extreme_reference(images[int(roi[0]), :, top:bottom, left:right], (1, 2), "fmax")
    return np.transpose(out, ["NCHW".index(letter) for letter in layout]).astype(data.dtype)


register(
    GraphOp(
        "vision.roi_pool",
        (
            Parameter("data"),
            Parameter("rois"),
            attr("pooled_size", each(2)),
            attr("spatial_scale", real),
            attr("layout", text, "NCHW"),
        ),
        _infer_roi,
        "Parts of images in one size: the greatest of the pixels of each part (Fast R-CNN, Girshick, 2015).",
        "G.vision.roi_pool(data: (1, 2, 4, 4), rois: (1, 5), pooled_size=[2, 2], spatial_scale=1.0)",
        reference=_np_roi_pool,
        legalize=kernel(_roi_pool),
        fusion=OPAQUE,
    )
)

# -- nll_loss


def _infer_nll_loss(call: OpCall, types: Types) -> GraphType:
    kind, targets = tensor(call, types, 0, FLOATS), tensor(call, types, 1, INTS)
    weights = tensor(call, types, 2, FLOATS) if len(types) > 2 else None
    given = [("`predictions`", kind)] + ([("`weights`", weights)] if weights is not None else [])
    common_dtype(call, [one for _, one in given], [name for name, _ in given])
    if kind.rank == 0:
        refuse(call, "`predictions` has no axis of classes")
    if weights is not None:
        rank_of(call, weights, 2, 1)
    if kind.rank is not None and targets.rank not in (None, kind.rank - 1):
        refuse(
            call,
            f"`predictions` has {counted(kind.rank, 'dimension')} and `targets` {targets.rank}",
            "targets have no classes",
        )
    if kind.shape is not None:
        rest = (*kind.shape[:1], *kind.shape[2:]) if len(kind.shape) > 1 else ()
        for at, (a, b) in enumerate(zip(rest, targets.shape or (), strict=False)):
            equal_dims(call, a, b, f"dimension {at} of `targets` is not that of `predictions`")
        if weights is not None and weights.shape is not None:
            classes = kind.shape[min(1, len(kind.shape) - 1)]
            equal_dims(call, classes, weights.shape[0], "the numbers of classes and of `weights` differ")
    if call.attrs["reduction"] != "none":
        return TensorType((), kind.dtype, None, kind.vdevice)
    return like(targets, dtype=kind.dtype) if targets.rank is not None else of_rank(None, kind.dtype)


def class_place(v: Sequence[Any], found: Any, rank: int) -> list[Any]:
    """The place of a class in the predictions."""
    return [found] if rank == 1 else [v[0], found, *v[1:]]


def _nll_loss(
    predictions: Any, targets: Any, weights: Any, out: Any, *, reduction: Any, ignore_index: Any, acc: Any
) -> None:
    if reduction == "none":
        for (*i,) in T.grid(*targets.shape):
            with T.block("loss"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(loss(predictions, targets, weights, v, ignore_index, acc), out.dtype)
    else:
        with T.block("loss"):
            total = T.cast(0, acc)
            whole = T.cast(0, acc)
            for (*i,) in T.grid(*targets.shape):
                total = total + loss(predictions, targets, weights, i, ignore_index, acc)
                whole = whole + weight(targets, weights, i, ignore_index, acc)
            if reduction == "mean":
                out[()] = T.cast(total / whole, out.dtype)
            else:
                out[()] = T.cast(total, out.dtype)


def weight(targets: Any, weights: Any, v: Sequence[Any], ignored: int, acc: DType) -> Expr:
    """The weight of a target, 0 where it is not counted."""
    found = BufferLoad(targets, tuple(v))
    own = const(1, acc) if weights is None else cast_to(BufferLoad(weights, (found,)), acc)
    return OPS["if_then_else"](OPS["not_equal"](found, const(ignored, found.dtype)), own, const(0, acc))


def loss(predictions: Any, targets: Any, weights: Any, v: Sequence[Any], ignored: int, acc: DType) -> Expr:
    """The negative of what is predicted for a target, times its weight."""
    found = BufferLoad(targets, tuple(v))
    value = -cast_to(BufferLoad(predictions, tuple(class_place(v, found, predictions.ndim))), acc)
    if weights is not None:
        value = value * cast_to(BufferLoad(weights, (found,)), acc)
    return OPS["if_then_else"](OPS["not_equal"](found, const(ignored, found.dtype)), value, const(0, acc))


def loss_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    """What a kernel of a loss takes; None where there is none for the shapes."""
    kind, targets = tensor(call, types, 0), tensor(call, types, 1)
    if kind.dtype is None or not kind.rank or (targets.rank == 0 and kind.rank != 1):
        return None
    signed = targets.dtype is not None and targets.dtype.is_signed
    ignored = call.attrs["ignore_index"]
    return (
        {"acc": accumulator(kind.dtype), "ignore_index": ignored if signed or ignored >= 0 else 0} if signed else None
    )


def _np_nll_loss(predictions: Any, targets: Any, *rest: Any, reduction: str, ignore_index: int) -> Any:
    import numpy as np

    flat = predictions[None] if predictions.ndim == 1 else predictions
    places = targets[None] if predictions.ndim == 1 else targets
    kept = places != ignore_index
    safe = np.where(kept, places, 0)
    weights = rest[0] if rest else np.ones(flat.shape[1], flat.dtype)
    own = np.where(kept, weights[safe], 0).astype(flat.dtype)
    found = -np.take_along_axis(flat, safe[:, None], 1)[:, 0] * own
    if reduction == "none":
        return found.reshape(targets.shape)
    return np.asarray(found.sum() / (own.sum() if reduction == "mean" else 1)).astype(flat.dtype)


register(
    GraphOp(
        "nn.nll_loss",
        (
            Parameter("predictions"),
            Parameter("targets"),
            Parameter("weights", "tensor", None),
            attr("reduction", one_of("none", "mean", "sum"), "mean"),
            attr("ignore_index", integer, -100),
        ),
        _infer_nll_loss,
        "The negative log likelihood of the targets, whose logarithms are predicted; `ignore_index` counts as 0.",
        "G.nn.nll_loss(predictions: (2, 3), targets: (2,) int64)",
        reference=wide(_np_nll_loss),
        legalize=kernel(_nll_loss, loss_parts, exact=True),
        fusion=OPAQUE,
    )
)

# -- multinomial_from_uniform


def _infer_multinomial(call: OpCall, types: Types) -> GraphType:
    prob, uniform = tensor(call, types, 0, FLOATS), tensor(call, types, 1, FLOATS)
    places = tensor(call, types, 2, INTS)
    for at, one in enumerate((prob, uniform, places)):
        rank_of(call, one, at, 2)
    if uniform.shape is not None and places.shape is not None:
        equal_dims(call, uniform.shape[0], places.shape[0], "`uniform_sample` and `sample_indices` differ in length")
    return like(uniform, dtype=call.attrs["dtype"])


def _multinomial(prob: Any, uniform_sample: Any, sample_indices: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        with T.block("sample"):
            v = T.axis.spatial(out.shape[0], i)
            total = T.float32(0)
            found = T.int32(0)
            for k in range(prob.shape[1]):
                total = total + T.cast(prob[sample_indices[v, 0], k], "float32")
                # the last one where rounding leaves the sum below the sample
                if total <= T.cast(uniform_sample[v, 0], "float32"):
                    found = T.min(T.cast(k, "int32") + 1, T.cast(prob.shape[1], "int32") - 1)
            out[v, 0] = T.cast(found, out.dtype)


def _np_multinomial(prob: Any, uniform_sample: Any, sample_indices: Any, dtype: DType) -> Any:
    import numpy as np

    rows = np.cumsum(prob.astype(np.float32), 1, dtype=np.float32)[sample_indices[:, 0]]
    below = rows <= uniform_sample.astype(np.float32)
    last = np.where(below, np.arange(1, prob.shape[1] + 1), 0).max(1)
    return np.minimum(last, prob.shape[1] - 1)[:, None].astype(numpy_dtype(dtype))


register(
    GraphOp(
        "multinomial_from_uniform",
        (
            Parameter("prob"),
            Parameter("uniform_sample"),
            Parameter("sample_indices"),
            attr("dtype", element_type, INT64),
        ),
        _infer_multinomial,
        "The class at which the sum of a row's probabilities, which `sample_indices` name, passes a uniform number.",
        "G.multinomial_from_uniform(prob: (2, 4), uniform_sample: (3, 1), sample_indices: (3, 1) int64)",
        reference=_np_multinomial,
        legalize=kernel(_multinomial),
        fusion=OPAQUE,
    )
)

__all__ = ["bilinear", "loss", "weight"]
