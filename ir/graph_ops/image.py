"""Images in other sizes (resize), at other places (grid_sample), and the grids of affine maps

How the coordinates of a resized image map to those of the original are the modes of ONNX's Resize; `grid_sample` is
that of PyTorch, with the coordinates of a place along axis 1 of the grid. Coordinates are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from ..dtype import FLOAT32
from ..expr import BufferLoad, Const, Expr, const
from ..graph import GraphType, OpCall
from ..graph_op import FOLLOW, INJECTIVE, OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from ..words import counted
from . import dims
from .attrs import OUT_DTYPE, attr, boolean, integer, one_of, real, reals, text
from .axes import SPACE, axis_at, by_letter, check_layout, extents_of, rank_of_layout, shape_in, space_of
from .kernel import T, kernel, size
from .reference import numpy_dtype
from .rules import FLOATS, NUMBERS, Types, equal_dims, like, of_rank, rank_of, refuse, target_shape, tensor
from .table import register

MODES = (
    *("half_pixel", "align_corners", "asymmetric"),
    *("pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"),
)
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _computed(*args: Any, value: Any, attrs: Any) -> None:
    """Every element of the result by itself."""
    out = T.meta_var(args[-1])
    for (*i,) in T.grid(*out.shape):
        with T.block("compute"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(value(v, args, attrs), out.dtype)


def computed(value: Callable[..., Expr]) -> Any:
    """The legalization by what an element is: (place, (*arguments, result), attributes) -> expression."""
    return kernel(_computed, lambda call, types: {"attrs": call.attrs}, value=value)


# -- numbers that are expressions in kernels and arrays in references


def _real(value: Any) -> Any:
    """An integer as float32."""
    return const(float(value), FLOAT32) if isinstance(value, (int, float)) else cast_to(value, FLOAT32)


def _number(value: float) -> Expr:
    return const(value, FLOAT32)


def _clamped(at: Expr, extent: Any) -> Expr:
    """An index within an axis."""
    last = extent - 1
    return OPS["max"](OPS["min"](at, last if isinstance(last, Expr) else const(last, at.dtype)), const(0, at.dtype))


def _inside(at: Expr, extent: Any) -> Expr:
    limit = extent if isinstance(extent, Expr) else const(extent, at.dtype)
    return OPS["logical_and"](OPS["greater_equal"](at, const(0, at.dtype)), OPS["less"](at, limit))


# -- resize


def _cubic(t: Any, alpha: float) -> list[Any]:
    """The weights of the four neighbors of a place `t` behind the second of them (Keys, 1981)."""
    t2, t3 = t * t, t * t * t
    return [
        (t3 - t2 * 2.0 + t) * alpha,
        t3 * (alpha + 2) - t2 * (alpha + 3) + 1.0,
        t3 * -(alpha + 2) + t2 * (2 * alpha + 3) - t * alpha,
        t2 * alpha - t3 * alpha,
    ]


def _source(x: Any, extent: Any, target: Any, start: float, end: float, mode: str, ops: Any) -> Any:
    """The coordinate in the image of the coordinate `x` in the result; all are float32."""
    if mode == "align_corners":
        return (extent - ops.one) / ops.larger(target - ops.one, ops.one) * x
    scale = extent / target
    if mode == "asymmetric":
        return scale * x
    if mode == "tf_half_pixel_for_nn":
        return (x + ops.half) * scale
    if mode == "tf_crop_and_resize":
        first, last = ops.number(start), ops.number(end)
        steps = ops.larger(target - ops.one, ops.one)
        many = first * (extent - ops.one) + x * (last - first) * (extent - ops.one) / steps
        return ops.choose(target > ops.one, many, ops.half * (first + last) * (extent - ops.one))
    found = (x + ops.half) * scale - ops.half
    return ops.choose(target > ops.one, found, ops.number(0.0)) if mode == "pytorch_half_pixel" else found


def _rounding(rounding: str, mode: str) -> str:
    return rounding or ("round" if mode == "align_corners" else "floor")


class _InKernel:
    """What `_source` is made of in kernels."""

    one, half = _number(1.0), _number(0.5)
    number = staticmethod(_number)

    @staticmethod
    def larger(a: Expr, b: Expr) -> Expr:
        return OPS["max"](a, b)

    @staticmethod
    def choose(condition: Expr, a: Expr, b: Expr) -> Expr:
        return OPS["Select"](condition, a, b)


_NEAREST: dict[str, Callable[[Expr], Expr]] = {
    "round": lambda x: OPS["nearbyint"](x),
    "round_prefer_floor": lambda x: OPS["ceil"](x - _number(0.5)),
    "round_prefer_ceil": lambda x: OPS["floor"](x + _number(0.5)),
    "floor": lambda x: OPS["floor"](x + _number(1e-5)),
    "ceil": lambda x: OPS["ceil"](x - _number(1e-5)),
}


def _taps(x: Expr, extent: Any, attrs: Mapping[str, Any], index: Any) -> list[tuple[Expr, Expr | None]]:
    """The indices along an axis that make the value at a coordinate, and their weights."""
    method = attrs["method"]
    if method == "nearest_neighbor":
        rounding = _rounding(attrs["rounding_method"], attrs["coordinate_transformation_mode"])
        return [(_clamped(cast_to(_NEAREST[rounding](x), index), extent), None)]
    floor = OPS["floor"](x)
    first, t = cast_to(floor, index), x - floor
    if method == "linear":
        return [(_clamped(first, extent), _number(1.0) - t), (_clamped(first + 1, extent), t)]
    weights = _cubic(t, attrs["cubic_alpha"])
    places = [first + (at - 1) for at in range(4)]
    if attrs["cubic_exclude"]:
        weights = [OPS["Select"](_inside(p, extent), w, _number(0.0)) for p, w in zip(places, weights, strict=True)]
        whole = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [weight / whole for weight in weights]
    return [(_clamped(place, extent), weight) for place, weight in zip(places, weights, strict=True)]


def _weighted(
    taps: Sequence[Sequence[tuple[Expr, Expr | None]]], value: Callable[[list[Expr]], Expr], chosen: list[Expr]
) -> Expr:
    """The sum over the taps of the first axis, each times its weight, of the sums over those of the others."""
    if not taps:
        return value(chosen)
    found: Expr | None = None
    for at, weight in taps[0]:
        own = _weighted(taps[1:], value, [*chosen, at])
        own = own if weight is None else own * weight
        found = own if found is None else found + own
    assert found is not None
    return found


def _resized(v: Sequence[Expr], args: Sequence[Any], attrs: Mapping[str, Any]) -> Expr:
    data, out, layout = args[0], args[-1], attrs["layout"]
    letters = space_of((layout,))
    axes = [axis_at(layout, letter) for letter in letters]
    roi, count = attrs["roi"], len(letters)
    coordinates = []
    for at, axis in enumerate(axes):
        extent, target = _real(size(data, axis)), _real(size(out, axis))
        mode = attrs["coordinate_transformation_mode"]
        coordinates.append(_source(_real(v[axis]), extent, target, roi[at], roi[at + count], mode, _InKernel))
    taps = [_taps(x, size(data, axis), attrs, v[0].dtype) for x, axis in zip(coordinates, axes, strict=True)]

    def pixel(chosen: list[Expr]) -> Expr:
        place: list[Any] = list(v)
        for axis, at in zip(axes, chosen, strict=True):
            place[axis] = at
        value = BufferLoad(data, tuple(place))
        return value if attrs["method"] == "nearest_neighbor" else cast_to(value, FLOAT32)

    found = _weighted(taps, pixel, [])
    if attrs["coordinate_transformation_mode"] == "tf_crop_and_resize":
        for x, axis in zip(coordinates, axes, strict=True):
            last = _real(size(data, axis)) - _number(1.0)
            outside = OPS["logical_or"](x < _number(0.0), x > last)
            found = OPS["Select"](outside, const(attrs["extrapolation_value"], found.dtype), found)
    return found


def _resize_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    """No kernel for cubic images of three dimensions, an element of which would be a sum of 64."""
    return None if call.attrs["method"] == "cubic" and call.op.name.endswith("3d") else {"attrs": call.attrs}


def _infer_resize(call: OpCall, types: Types) -> GraphType:
    kind, wanted = tensor(call, types, 0, NUMBERS), target_shape(call, types, 1)
    rank = 2 if call.op.name.endswith("2d") else 3
    layout = check_layout(call, "layout", "NC" + SPACE[rank], "NC")
    rank_of(call, kind, 0, rank_of_layout(layout))
    if wanted.rank not in (None, rank):
        refuse(call, f"`size` is {rank} ints, not {wanted.rank}")
    made = call.attrs["out_dtype"] or kind.dtype
    if kind.shape is None or wanted.values is None:
        return of_rank(rank_of_layout(layout), made, kind.vdevice)
    found = extents_of(call, "layout", layout, kind.shape)
    found.update(zip(SPACE[rank], wanted.values, strict=True))
    return like(kind, shape=shape_in(call, layout, found), dtype=made)


class _InNumpy:
    """What `_source` is made of in references."""

    def __init__(self) -> None:
        import numpy as np

        self.number = np.float32
        self.one, self.half = np.float32(1), np.float32(0.5)
        self.larger = np.maximum

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        import numpy as np

        return np.where(condition, a, b)


def _np_taps(extent: int, target: int, at: int, attrs: Mapping[str, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    """The elements of an axis that make those of the result, with their weights, and which of the latter lie outside.

    A weight of None is that of one element alone.
    """
    import numpy as np

    mode, method = attrs["coordinate_transformation_mode"], attrs["method"]
    roi, ops = attrs["roi"], _InNumpy()
    x = np.arange(target, dtype=np.float32)
    x = _source(x, np.float32(extent), np.float32(target), roi[at], roi[at + len(roi) // 2], mode, ops)
    x = np.broadcast_to(np.asarray(x, np.float32), (target,))
    if method == "nearest_neighbor":
        small = np.float32(1e-5)
        nearest = {
            "round": lambda: np.rint(x),
            "round_prefer_floor": lambda: np.ceil(x - ops.half),
            "round_prefer_ceil": lambda: np.floor(x + ops.half),
            "floor": lambda: np.floor(x + small),
            "ceil": lambda: np.ceil(x - small),
        }[_rounding(attrs["rounding_method"], mode)]()
        taps = [(np.clip(nearest.astype(int), 0, extent - 1), None)]
    else:
        first = np.floor(x).astype(int)
        t = x - np.floor(x)
        parts = [1 - t, t] if method == "linear" else _cubic(t, attrs["cubic_alpha"])
        places = [first + (number - (method == "cubic")) for number in range(len(parts))]
        if method == "cubic" and attrs["cubic_exclude"]:
            parts = [np.where((p >= 0) & (p < extent), w, 0) for p, w in zip(places, parts, strict=True)]
            whole = sum(parts)
            parts = [part / whole for part in parts]
        taps = [(np.clip(place, 0, extent - 1), part) for place, part in zip(places, parts, strict=True)]
    outside = (x < 0) | (x > extent - 1) if mode == "tf_crop_and_resize" else np.zeros(target, bool)
    return taps, outside


def _np_resize(data: Any, shape: Any, **attrs: Any) -> Any:
    import numpy as np

    layout = attrs["layout"]
    found = data if attrs["method"] == "nearest_neighbor" else data.astype(np.float32)
    beyond: Any = False
    for at, (letter, target) in enumerate(zip(space_of((layout,)), shape, strict=True)):
        axis = axis_at(layout, letter)
        line = [-1 if d == axis else 1 for d in range(data.ndim)]
        taps, outside = _np_taps(data.shape[axis], target, at, attrs)
        parts = [
            np.take(found, place, axis) * (1 if weight is None else weight.reshape(line)) for place, weight in taps
        ]
        found = sum(parts[1:], parts[0])
        beyond = beyond | outside.reshape(line)
    found = np.where(beyond, np.asarray(attrs["extrapolation_value"], found.dtype), found)
    return found.astype(data.dtype if attrs["out_dtype"] is None else numpy_dtype(attrs["out_dtype"]))


def _roi(count: int) -> Callable[[Any], tuple[float, ...]]:
    def normal(value: Any) -> tuple[float, ...]:
        given = (0.0,) if value is None else reals(value)
        return given * count if len(given) == 1 else given

    return normal


for _rank, _example in ((2, "(1, 2, 4, 4), size=(8, 8)"), (3, "(1, 2, 3, 4, 4), size=(6, 8, 8)")):
    register(
        GraphOp(
            f"image.resize{_rank}d",
            (
                Parameter("data"),
                Parameter("size", "shape"),
                attr("roi", _roi(2 * _rank), (0.0,) * 2 * _rank),
                attr("layout", text, "NC" + SPACE[_rank]),
                attr("method", one_of("nearest_neighbor", "linear", "cubic"), "linear"),
                attr("coordinate_transformation_mode", one_of(*MODES), "half_pixel"),
                attr("rounding_method", one_of(*ROUNDINGS), "round" if _rank == 2 else ""),
                attr("cubic_alpha", real, -0.75),
                attr("cubic_exclude", integer, 0),
                attr("extrapolation_value", real, 0.0),
                OUT_DTYPE,
            ),
            _infer_resize,
            "Images in another size, by the modes of ONNX's Resize.",
            f"G.image.resize{_rank}d(data: {_example})",
            reference=_np_resize,
            legalize=kernel(_computed, _resize_parts, value=_resized),
            fusion=INJECTIVE,
        )
    )


# -- grid_sample


def _infer_grid_sample(call: OpCall, types: Types) -> GraphType:
    kind, grid = tensor(call, types, 0, FLOATS), tensor(call, types, 1, FLOATS)
    rank_of(call, kind, 0, 4, 5)
    rank_of(call, grid, 1, 4, 5)
    if kind.rank is None:
        return of_rank(None, kind.dtype, kind.vdevice)
    rank = kind.rank - 2
    layout = check_layout(call, "layout", "NC" + SPACE[rank])
    if call.attrs["method"] == "bicubic" and rank == 3:
        refuse(call, "`method` is 'bicubic', which is of two dimensions", "take 'bilinear'", "T032")
    if grid.rank not in (None, kind.rank):
        refuse(call, f"`data` has {counted(kind.rank, 'dimension')} and `grid` {grid.rank}")
    if kind.shape is None or grid.shape is None:
        return of_rank(kind.rank, kind.dtype, kind.vdevice)
    found = by_letter(layout, kind.shape)
    equal_dims(call, found["N"], grid.shape[0], "the batches of `data` and `grid` differ")
    coordinates = grid.shape[1]  # more than are read mean nothing, as in TVM
    if type(coordinates) is Const and int(coordinates.value) < rank:
        refuse(call, f"axis 1 of `grid` holds {rank} coordinates of a place, and has {coordinates.value}")
    found.update(zip(SPACE[rank], grid.shape[2:], strict=True))
    return like(kind, shape=tuple(found[letter] for letter in layout))


def _unnormalized(x: Any, extent: Any, corners: bool, one: Any, half: Any) -> Any:
    """The coordinate in the image of one from -1 to 1."""
    return (x + one) * half * (extent - one) if corners else ((x + one) * extent - one) * half


def _reflected(x: Expr, extent: Expr, corners: bool) -> Expr:
    """A coordinate within the image that is reflected at its edges as often as needed."""
    one, half, zero = _number(1.0), _number(0.5), _number(0.0)
    low = zero if corners else -half
    span = extent - one if corners else extent
    safe = OPS["max"](span, _number(1e-6))
    away = OPS["abs"](x - low)
    turns = OPS["floor"](away / safe)
    rest = away - turns * safe
    even = OPS["floor"](turns * half) * _number(2.0) >= turns
    found = OPS["Select"](even, rest + low, span - rest + low)
    found = OPS["Select"](span > zero, found, zero)
    return OPS["max"](OPS["min"](found, extent - one), zero)


def _padded(x: Expr, extent: Expr, attrs: Mapping[str, Any]) -> Expr:
    if attrs["padding_mode"] == "border":
        return OPS["max"](OPS["min"](x, extent - _number(1.0)), _number(0.0))
    return _reflected(x, extent, attrs["align_corners"]) if attrs["padding_mode"] == "reflection" else x


def _sampled(v: Sequence[Expr], args: Sequence[Any], attrs: Mapping[str, Any]) -> Expr:
    data, grid, layout = args[0], args[1], attrs["layout"]
    letters = SPACE[data.ndim - 2]
    there, index = by_letter(layout, v), v[0].dtype
    taps: list[list[tuple[Expr, Expr | None]]] = []  # for each axis: coordinates that are whole, and their weights
    extents = [size(data, layout.index(letter)) for letter in letters]
    for at in range(len(letters)):
        extent = _real(extents[at])
        place = (there["N"], const(len(letters) - 1 - at, index), *[there[one] for one in letters])
        x = cast_to(BufferLoad(grid, place), FLOAT32)
        x = _unnormalized(x, extent, attrs["align_corners"], _number(1.0), _number(0.5))
        if attrs["method"] == "bicubic":
            floor = OPS["floor"](x)
            weights = _cubic(x - floor, -0.75)
            taps.append(
                [(_padded(floor + _number(n - 1.0), extent, attrs), weight) for n, weight in enumerate(weights)]
            )
            continue
        x = _padded(x, extent, attrs)
        if attrs["method"] == "nearest":
            taps.append([(OPS["nearbyint"](x), None)])
        else:
            floor = OPS["floor"](x)
            taps.append([(floor, _number(1.0) - (x - floor)), (floor + _number(1.0), x - floor)])

    def pixel(chosen: list[Expr]) -> Expr:
        inside: Expr = const(True)
        place: list[Any] = list(v)
        for letter, extent, x in zip(letters, extents, chosen, strict=True):
            near = OPS["max"](OPS["min"](x, _real(extent)), _number(-1.0))  # far ones are no int
            at = cast_to(near, index)
            place[layout.index(letter)] = _clamped(at, extent)
            one = _inside(at, extent)
            inside = one if type(inside) is Const else OPS["logical_and"](inside, one)
        value = cast_to(BufferLoad(data, tuple(place)), FLOAT32)
        return OPS["Select"](inside, value, _number(0.0))

    return _weighted(taps, pixel, [])


def _np_grid_sample(data: Any, grid: Any, method: str, layout: str, padding_mode: str, align_corners: bool) -> Any:
    import numpy as np

    rank = data.ndim - 2
    images = np.transpose(data, [layout.index(letter) for letter in "NC" + SPACE[rank]]).astype(np.float32)
    out = np.zeros((images.shape[0], images.shape[1], *grid.shape[2:]), np.float32)

    def turned(x: float, extent: int) -> float:
        if padding_mode == "border":
            return float(min(max(x, 0), extent - 1))
        if padding_mode == "reflection":
            low, span = np.float32(0 if align_corners else -0.5), np.float32(extent - 1 if align_corners else extent)
            turns, rest = np.divmod(abs(np.float32(x) - low), span) if span else (0, -low)
            return float(min(max(rest + low if turns % 2 == 0 else span - rest + low, 0), extent - 1))
        return x

    def pixel(n: int, at: Sequence[int]) -> Any:
        inside = all(0 <= one < extent for one, extent in zip(at, images.shape[2:], strict=True))
        place: Any = (n, slice(None), *at)
        return images[place] if inside else 0

    for n in range(out.shape[0]):
        for at in np.ndindex(*out.shape[2:]):
            axes = []
            for axis in range(rank):
                extent = images.shape[2 + axis]
                x = float(grid[(n, rank - 1 - axis, *at)])
                x = float(np.float32(_unnormalized(x, extent, align_corners, 1, 0.5)))
                if method == "bicubic":
                    first = int(np.floor(x))
                    weights = _cubic(x - first, -0.75)
                    axes.append([(turned(first + k - 1, extent), weights[k]) for k in range(4)])
                    continue
                x = turned(x, extent)
                first = int(np.floor(x))
                axes.append(
                    [(np.rint(x), 1.0)] if method == "nearest" else [(first, 1 - x + first), (first + 1, x - first)]
                )
            for chosen in product(*axes):
                share = np.prod([weight for _, weight in chosen])
                out[(n, slice(None), *at)] += share * pixel(n, [int(x) for x, _ in chosen])
    back = [("NC" + SPACE[rank]).index(letter) for letter in layout]
    return np.transpose(out, back).astype(data.dtype)


register(
    GraphOp(
        "image.grid_sample",
        (
            Parameter("data"),
            Parameter("grid"),
            attr("method", one_of("nearest", "bilinear", "bicubic"), "bilinear"),
            attr("layout", text, "NCHW"),
            attr("padding_mode", one_of("zeros", "border", "reflection"), "zeros"),
            attr("align_corners", boolean, False),
        ),
        _infer_grid_sample,
        "The values of images at the places of a grid, whose coordinates are from -1 to 1, that along the width first.",
        "G.image.grid_sample(data: (1, 2, 4, 4), grid: (1, 2, 3, 3))",
        reference=_np_grid_sample,
        legalize=computed(_sampled),
        fusion=OPAQUE,
        narrow=FOLLOW,
    )
)


# -- affine_grid


def _infer_affine_grid(call: OpCall, types: Types) -> GraphType:
    kind, wanted = tensor(call, types, 0, FLOATS), target_shape(call, types, 1)
    rank_of(call, kind, 0, 3)
    if wanted.rank not in (None, 2):
        refuse(call, f"`size` is 2 ints, not {wanted.rank}")
    if kind.shape is None or wanted.values is None:
        return of_rank(4, kind.dtype, kind.vdevice)
    for axis, extent in ((1, 2), (2, 3)):
        equal_dims(call, kind.shape[axis], dims.dim(extent), "the last two dimensions of `data` are not (2, 3)")
    return like(kind, shape=(kind.shape[0], dims.dim(2), *wanted.values))


def _line(at: Any, extent: Any, corners: bool, one: Any, larger: Any) -> Any:
    """The coordinate from -1 to 1 of a pixel."""
    if corners:
        return (at + at) / larger(extent - one, one) - one
    return (at + at + one) / extent - one


def _affine(v: Sequence[Expr], args: Sequence[Any], attrs: Mapping[str, Any]) -> Expr:
    data, out = args[0], args[-1]
    n, row, h, w = v
    larger = _InKernel.larger
    x, y = (
        _line(_real(at), _real(size(out, axis)), attrs["align_corners"], _number(1.0), larger)
        for at, axis in ((w, 3), (h, 2))
    )
    a, b, c = (cast_to(BufferLoad(data, (n, row, const(at, row.dtype))), FLOAT32) for at in range(3))
    return a * x + b * y + c


def _np_affine_grid(data: Any, size: Any, align_corners: bool) -> Any:
    import numpy as np

    y, x = (_line(np.arange(one, dtype=np.float32), one, align_corners, 1, max) for one in size)
    places = np.stack([*np.meshgrid(x, y), np.ones(tuple(size), np.float32)])
    return np.einsum("nij,jhw->nihw", data.astype(np.float32), places.astype(np.float32)).astype(data.dtype)


register(
    GraphOp(
        "image.affine_grid",
        (Parameter("data"), Parameter("size", "shape"), attr("align_corners", boolean, True)),
        _infer_affine_grid,
        "The grid, for `grid_sample`, of affine maps (n, 2, 3) on images of a size.",
        "G.image.affine_grid(data: (1, 2, 3), size=(3, 4))",
        reference=_np_affine_grid,
        legalize=computed(_affine),
        fusion=OPAQUE,
    )
)

__all__ = ["computed"]
