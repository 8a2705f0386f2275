"""Images in other sizes and at other places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..node import Node
from .resizing import places, scaled_size, taps
from .table import onnx_op

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
)
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_POLICIES = ("stretch", "not_larger", "not_smaller")
_SAMPLING = {
    "bilinear": "bilinear",
    "linear": "bilinear",
    "nearest": "nearest",
    "bicubic": "bicubic",
    "cubic": "bicubic",
}


_LONGEST = 1 << 22  # elements of an axis whose places are kept as constants


@onnx_op("Resize", "Upsample")
def resize(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape = node.shape(x)
    old = node.proto.op_type == "Upsample" or len(node.proto.input) < 3  # with scales behind the data
    where = _text(node, "coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    mode, rounding = (
        _text(node, "mode", "nearest"),
        "floor" if old else _text(node, "nearest_mode", "round_prefer_floor"),
    )
    policy = _text(node, "keep_aspect_ratio_policy", "stretch")
    for one, known in ((mode, _METHODS), (where, _MODES), (rounding, _ROUNDINGS), (policy, _POLICIES)):
        if one not in known:
            raise node.wrong(f"{one} is not supported", f"one of {', '.join(known)} is")
    method, smooth = _METHODS[mode], bool(node.attr("antialias", 0))
    if smooth and (method == "nearest_neighbor" or not node.dtype(x).is_float):
        raise node.wrong("`antialias` of integers, or of the nearest elements, is not supported")
    wanted, scales, parts = _wanted(node, shape, old, policy, method, where, smooth)
    if where != "align_corners":  # which sizes alone decide
        for axis, part in parts.items():
            # what is behind the last whole part is not looked at: without it, sizes have the ratio of the scale
            end = TupleExpr((PrimValue(dims.mul(wanted[axis], part)),))
            x = node.op("strided_slice", x, [axis], [0], end, [1], assume_inbound=True)
    if where == "half_pixel_symmetric" and not scales:
        where = "half_pixel"  # the same for whole sizes
    # a line of a size that is not known is an image of one row
    line = len(shape) == 3 and any(dims.number(one) is None for one in (shape[2], wanted[2]))
    if smooth or scales or not (line or len(shape) in (4, 5)) or not all(map(dims.same, shape[:2], wanted[:2])):
        return _by_axes(node, x, wanted, scales, method, where, rounding)
    attrs: dict[str, Any] = {
        "method": method,
        "coordinate_transformation_mode": where,
        "rounding_method": rounding,
        "cubic_alpha": float(node.attr("cubic_coeff_a", -0.75)),
        "cubic_exclude": int(node.attr("exclude_outside", 0)),
    }
    size = ShapeExpr(tuple(wanted[2:]))
    if line:
        rows = node.op("expand_dims", x, [2])
        made = node.op("image.resize2d", rows, ShapeExpr((dims.ONE, wanted[2])), layout="NCHW", **attrs)
        return node.last("squeeze", made, [2])
    return node.last(f"image.resize{len(shape) - 2}d", x, size, layout="NCHW" if len(shape) == 4 else "NCDHW", **attrs)


def _wanted(
    node: Node, shape: Sequence[Expr], old: bool, policy: str, method: str, where: str, smooth: bool
) -> tuple[list[Expr], dict[int, float], dict[int, int]]:
    """The shape of the result, the scales of axes whose size times its scale is not whole, or not known to be, and of
    symbolic axes whose scale is that of a whole part (a half, a third) which one it is.
    """
    import numpy as np

    axes = [node.axis(axis, len(shape)) for axis in node.attr("axes", range(len(shape)))]
    sizes = node.sizes(3, "the sizes") if not old and node.has(3) else None
    wanted, scales, parts = list(shape), dict[int, float](), dict[int, int]()
    if sizes is not None:
        if len(sizes) != len(axes):
            raise node.wrong(f"{counted(len(sizes), 'size')} for {counted(len(axes), 'axis')}")
        if policy != "stretch":
            known = [_known(node, shape[axis]) for axis in axes]
            ratios = [_known(node, size) / own for size, own in zip(sizes, known, strict=True)]
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            kept = [int(ratio * own + 0.5) for own in known]
            sizes = tuple(map(dims.dim, kept))
            pairs = zip(axes, kept, known, strict=True)
            scales = {axis: ratio for axis, size, own in pairs if size != ratio * own}  # the one of all axes stays
        for axis, made in zip(axes, sizes, strict=True):
            wanted[axis] = made
        return wanted, scales, parts
    found = node.data(1 if old else 2)
    if found is None and "scales" not in node.attrs:
        raise node.wrong("the scales are not known")
    # the first version of `Upsample` has them as an attribute
    given = [float(one) for one in (node.attr("scales") if found is None else found.array.reshape(-1).tolist())]
    if len(given) != len(axes):
        raise node.wrong(f"{counted(len(given), 'scale')} for {counted(len(axes), 'axis')}")
    for axis, scale in zip(axes, given, strict=True):
        if not 0 < scale < 1 << 30:
            raise node.wrong(f"the scale of axis {axis} is {scale}")
        if scale.is_integer():
            wanted[axis] = dims.mul(shape[axis], int(scale))
            if smooth and scale != 1:
                scales[axis] = scale
            continue
        own, part = dims.number(shape[axis]), round(1 / scale)
        # some look behind the last whole part
        behind = (
            smooth or where == "half_pixel_symmetric" or (method == "cubic" and part == 2 and where != "asymmetric")
        )
        whole = part > 0 and not behind
        if own is None and whole and np.float32(1) / np.float32(part) == np.float32(scale):
            wanted[axis], parts[axis] = dims.floordiv(shape[axis], part), part
            continue
        # 10 elements by 0.7 are 7, though that float is a little less
        wanted[axis] = scaled_size(node, shape[axis], scale)
        if own is None or not (own * scale).is_integer():
            scales[axis] = scale
    return wanted, scales, parts


def _known(node: Node, size: Expr) -> int:
    known = dims.number(size)
    if known is None:
        raise node.wrong("the scales or the shape of the data are not known")
    return known


def _by_axes(
    node: Node,
    x: GraphExpr,
    wanted: Sequence[Expr],
    scales: Mapping[int, float],
    method: str,
    where: str,
    rounding: str,
) -> GraphExpr:
    """The data resized along one axis after the other, each as a sum of elements with their places and weights."""
    shape, kind = node.shape(x), node.dtype(x)
    mixed = method != "nearest_neighbor" and str(kind) != "float32"
    found = node.op("astype", x, "float32") if mixed else x
    for axis, made in enumerate(wanted):
        scale = scales.get(axis)
        if scale is None and dims.same(shape[axis], made):
            continue
        target = dims.number(made)
        if target is not None and target > _LONGEST:
            raise node.wrong(f"an axis of {target:,} elements is too long: there is a table of where each of them lies")
        total: GraphExpr | None = None
        at = places(node, shape[axis], made, scale, where)
        for index, weight in taps(node, at, shape[axis], method, rounding, _support(node, shape[axis], made, scale)):
            line = index.indices(shape[axis])
            mode = "fast" if dims.number(shape[axis]) is not None and dims.number(made) is not None else "clip"
            part = node.op("take", found, line, axis=axis, mode=mode)
            if weight is not None:
                part = node.op("multiply", part, weight.weights(axis, len(shape)))
            total = part if total is None else node.op("add", total, part)
        assert total is not None
        found = total
    return node.last("astype", found, str(kind)) if mixed else found


def _support(node: Node, size: Expr, made: Expr, scale: float | None) -> float:
    """How many elements one of the result stands for, where what is made smaller is smoothed; else 1."""
    if not node.attr("antialias", 0):
        return 1
    if scale is None:
        scale = _known(node, made) / _known(node, size)
    return max(1.0, 1 / scale)


@onnx_op("GridSample")
def grid_sample(node: Node) -> GraphExpr:
    x, grid = node.tensor(0), node.tensor(1)
    rank, mode = len(node.shape(x)), _text(node, "mode", "linear")
    if mode not in _SAMPLING:
        raise node.wrong(f"sampling by `{mode}` is not supported", f"one of {', '.join(_SAMPLING)} is")
    if rank not in (4, 5):
        raise node.wrong(f"the data has {counted(rank, 'dimension')}; images have 4 or 5")
    turned = node.op("permute_dims", grid, [0, rank - 1, *range(1, rank - 1)])
    return node.last(
        "image.grid_sample", x, turned, method=_SAMPLING[mode],
        padding_mode=_text(node, "padding_mode", "zeros"), align_corners=bool(node.attr("align_corners", 0)),
        layout="NCHW" if rank == 4 else "NCDHW",
    )  # fmt: skip


def _text(node: Node, name: str, default: str) -> str:
    return str(node.attr(name, default))


__all__ = ["grid_sample", "resize"]
