"""Images in other sizes and at other places."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
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
    if len(shape) not in (4, 5):
        raise node.wrong(f"the data has {len(shape)} dimensions; images have 4 or 5")
    if node.attr("antialias"):
        raise node.wrong("`antialias` is not supported")
    policy = _text(node, "keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise node.wrong(f"keep_aspect_ratio_policy {policy!r} is not supported")
    old = node.proto.op_type == "Upsample" or len(node.proto.input) < 3  # with scales behind the data
    axes = [node.axis(axis, len(shape)) for axis in node.attr("axes", range(len(shape)))]
    sizes = node.numbers(3, "sizes") if not old and node.has(3) else None
    mode = _text(node, "mode", "nearest")
    where = _text(node, "coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    wanted = list(shape)
    if sizes is not None:
        if len(sizes) != len(axes):
            raise node.wrong(f"{len(sizes)} sizes for {len(axes)} axes")
        for axis, made in zip(axes, sizes, strict=True):
            wanted[axis] = dims.dim(made)
    else:
        found = node.data(1 if old else 2)
        if found is None:
            raise node.wrong("the scales are not known")
        scales = [float(one) for one in found.array.reshape(-1).tolist()]
        if len(scales) != len(axes):
            raise node.wrong(f"{len(scales)} scales for {len(axes)} axes")
        for axis, scale in zip(axes, scales, strict=True):
            wanted[axis] = _scaled(node, shape[axis], scale)
    if not all(map(dims.same, shape[:2], wanted[:2])):
        raise node.wrong("it resizes the batch or the channels")
    if where == "half_pixel_symmetric":
        where = "half_pixel"  # the same for whole sizes
    attrs: dict[str, Any] = {
        "method": _METHODS[mode],
        "coordinate_transformation_mode": where,
        "rounding_method": "floor" if old else _text(node, "nearest_mode", "round_prefer_floor"),
        "cubic_alpha": float(node.attr("cubic_coeff_a", -0.75)),
        "cubic_exclude": int(node.attr("exclude_outside", 0)),
        "extrapolation_value": float(node.attr("extrapolation_value", 0.0)),
    }
    if where == "tf_crop_and_resize":
        raise node.wrong("tf_crop_and_resize is not supported")
    size = ShapeExpr(tuple(wanted[2:]))
    return node.last(f"image.resize{len(shape) - 2}d", x, size, layout="NCHW" if len(shape) == 4 else "NCDHW", **attrs)


def _scaled(node: Node, size: Expr, scale: float) -> Expr:
    """A size times a scale, which must be whole."""
    if scale.is_integer():
        return dims.mul(size, int(scale))
    known = dims.number(size)
    if known is None:
        raise node.wrong("the scales or the shape of the data are not known")
    if known * scale != int(known * scale):
        raise node.wrong("scales that do not give whole sizes are not supported", "give `sizes`")
    return dims.dim(int(known * scale))


@onnx_op("GridSample")
def grid_sample(node: Node) -> GraphExpr:
    x, grid = node.tensor(0), node.tensor(1)
    rank = len(node.shape(x))
    if rank not in (4, 5):
        raise node.wrong(f"the data has {rank} dimensions; images have 4 or 5")
    turned = node.op("permute_dims", grid, [0, rank - 1, *range(1, rank - 1)])
    return node.last(
        "image.grid_sample", x, turned, method=_SAMPLING[_text(node, "mode", "linear")],
        padding_mode=_text(node, "padding_mode", "zeros"), align_corners=bool(node.attr("align_corners", 0)),
        layout="NCHW" if rank == 4 else "NCDHW",
    )  # fmt: skip


def _text(node: Node, name: str, default: str) -> str:
    return str(node.attr(name, default))


__all__ = ["grid_sample", "resize"]
