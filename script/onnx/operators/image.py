"""Images in other sizes and at other places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
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


@onnx_op("Resize", "Upsample")
def resize(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape = node.shape(x)
    if node.attr("antialias"):
        raise node.wrong("`antialias` is not supported")
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
    method = _METHODS[mode]
    wanted, scales, parts = _wanted(node, shape, old, policy)
    if where != "align_corners":  # which sizes alone decide
        for axis, part in parts.items():
            if method == "cubic" and part == 2 and where != "asymmetric":
                raise node.wrong("the half of a symbolic dimension is not supported by `cubic`", "give `sizes`")
            # what is behind the last whole part is not looked at: without it, sizes have the ratio of the scale
            end = TupleExpr((PrimValue(dims.mul(wanted[axis], part)),))
            x = node.op("strided_slice", x, [axis], [0], end, [1], assume_inbound=True)
    if where == "half_pixel_symmetric":
        where = "half_pixel"  # the same for whole sizes
        if scales:
            raise node.wrong("half_pixel_symmetric of scales that give no whole sizes is not supported", "give `sizes`")
    # a line of a size that is not known is an image of one row
    line = len(shape) == 3 and any(dims.number(one) is None for one in (shape[2], wanted[2]))
    if scales or not (line or len(shape) in (4, 5)) or not all(map(dims.same, shape[:2], wanted[:2])):
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
    node: Node, shape: Sequence[Expr], old: bool, policy: str
) -> tuple[list[Expr], dict[int, float], dict[int, int]]:
    """The shape of the result, the scales of axes whose size times its scale is not whole, and of symbolic axes whose
    scale is that of a whole part (a half, a third) which one it is.
    """
    import numpy as np

    axes = [node.axis(axis, len(shape)) for axis in node.attr("axes", range(len(shape)))]
    sizes = node.sizes(3, "the sizes") if not old and node.has(3) else None
    wanted, scales, parts = list(shape), dict[int, float](), dict[int, int]()
    if sizes is not None:
        if len(sizes) != len(axes):
            raise node.wrong(f"{len(sizes)} sizes for {len(axes)} axes")
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
        raise node.wrong(f"{len(given)} scales for {len(axes)} axes")
    for axis, scale in zip(axes, given, strict=True):
        if scale.is_integer():
            wanted[axis] = dims.mul(shape[axis], int(scale))
            continue
        part = round(1 / scale) if scale > 0 else 0
        if dims.number(shape[axis]) is None and part and np.float32(1) / np.float32(part) == np.float32(scale):
            wanted[axis], parts[axis] = dims.floordiv(shape[axis], part), part
            continue
        own = _known(node, shape[axis])
        # a product of float32: 10 elements by 0.7 are 7, though that float is a little less
        wanted[axis] = dims.dim(int(np.float32(own) * np.float32(scale)))
        if not (own * scale).is_integer():
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
    """The data resized along one axis after the other, each as a sum of elements with known places and weights."""
    shape, kind = node.shape(x), node.dtype(x)
    mixed = method != "nearest_neighbor" and str(kind) != "float32"
    found = node.op("astype", x, "float32") if mixed else x
    for axis, made in enumerate(wanted):
        if axis not in scales and dims.same(shape[axis], made):
            continue
        size, target = _known(node, shape[axis]), _known(node, made)
        total: GraphExpr | None = None
        places = _places(size, target, scales.get(axis), where)
        for at, weight in _taps(node, places, size, method, rounding):
            index = node.importer.emit(GraphConst(constant(at)), f"{node.output}_places")
            part = node.op("take", found, index, axis=axis, mode="fast")
            if weight is not None:
                line = weight.reshape([-1 if one == axis else 1 for one in range(len(shape))])
                weights = node.importer.emit(GraphConst(constant(line)), f"{node.output}_weights")
                part = node.op("multiply", part, weights)
            total = part if total is None else node.op("add", total, part)
        assert total is not None
        found = total
    return node.last("astype", found, str(kind)) if mixed else found


def _places(size: int, target: int, scale: float | None, where: str) -> Any:
    """The coordinates in an axis of the elements of the resized one."""
    import numpy as np

    x = np.arange(target, dtype=np.float32)
    step, half = np.float32(scale or target / size), np.float32(0.5)
    if where == "align_corners":
        return x * np.float32((size - 1) / max(target - 1, 1))
    if where == "asymmetric":
        return x / step
    if where == "tf_half_pixel_for_nn":
        return (x + half) / step
    return np.zeros_like(x) if where == "pytorch_half_pixel" and target == 1 else (x + half) / step - half


def _taps(node: Node, places: Any, size: int, method: str, rounding: str) -> list[tuple[Any, Any]]:
    """The indices along an axis that make the values at coordinates, and their weights."""
    import numpy as np

    def kept(at: Any) -> Any:
        return np.clip(at, 0, size - 1).astype(np.int64)

    if method == "nearest_neighbor":
        half = {"round_prefer_floor": -0.5, "round_prefer_ceil": 0.5}.get(rounding, 0)
        up = rounding in ("ceil", "round_prefer_floor")
        return [(kept((np.ceil if up else np.floor)(places + np.float32(half))), None)]
    first = np.floor(places)
    t = places - first
    if method == "linear":
        return [(kept(first), 1 - t), (kept(first + 1), t)]
    alpha, found = np.float32(node.attr("cubic_coeff_a", -0.75)), []
    for at in range(-1, 3):
        away = np.abs(t - at)
        near = ((alpha + 2) * away - (alpha + 3)) * away * away + 1
        far = ((alpha * away - 5 * alpha) * away + 8 * alpha) * away - 4 * alpha
        weight = np.where(away <= 1, near, far)
        if node.attr("exclude_outside", 0):
            weight = np.where((first + at >= 0) & (first + at < size), weight, 0)
        found.append((kept(first + at), weight))
    whole = sum(weight for _, weight in found)
    return [(at, (weight / whole).astype(np.float32)) for at, weight in found]


@onnx_op("GridSample")
def grid_sample(node: Node) -> GraphExpr:
    x, grid = node.tensor(0), node.tensor(1)
    rank, mode = len(node.shape(x)), _text(node, "mode", "linear")
    if mode not in _SAMPLING:
        raise node.wrong(f"sampling by `{mode}` is not supported", f"one of {', '.join(_SAMPLING)} is")
    if rank not in (4, 5):
        raise node.wrong(f"the data has {rank} dimensions; images have 4 or 5")
    turned = node.op("permute_dims", grid, [0, rank - 1, *range(1, rank - 1)])
    return node.last(
        "image.grid_sample", x, turned, method=_SAMPLING[mode],
        padding_mode=_text(node, "padding_mode", "zeros"), align_corners=bool(node.attr("align_corners", 0)),
        layout="NCHW" if rank == 4 else "NCDHW",
    )  # fmt: skip


def _text(node: Node, name: str, default: str) -> str:
    return str(node.attr(name, default))


__all__ = ["grid_sample", "resize"]
