"""Elements in order along an axis: sort, argsort, topk, median. All are stable, by merging runs of twice the length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import INT32, INT64, DType
from ..expr import Expr
from ..graph import GraphType, OpCall, TensorType, TupleType
from ..graph_op import OPAQUE, GraphOp, Parameter
from ..op import OPS
from . import dims
from .attrs import AXES, KEEPDIMS, attr, boolean, element_type, integer, one_of
from .kernel import T, kernel, part, size, unflat
from .reduce import along
from .reference import numpy_dtype
from .rules import Types, axes_of, axis_of, like, of_rank, tensor
from .table import register

_AXIS, _DESCENDING = attr("axis", integer, -1), attr("descending", boolean, False)
_DTYPE = attr("dtype", element_type, INT32)


def _infer_sort(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.rank is not None:
        axis_of(call, call.attrs["axis"], kind.rank)
    return like(kind, dtype=call.attrs.get("dtype", kind.dtype))


def _infer_topk(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    k = call.attrs["k"]
    if kind.rank is not None:
        axis = axis_of(call, call.attrs["axis"], kind.rank)
        if kind.shape is not None:
            whole = kind.shape[axis]
            count = whole if k < 1 else dims.minimum(whole, k)
            kind = like(kind, shape=(*kind.shape[:axis], count, *kind.shape[axis + 1 :]))
    places = like(kind, dtype=call.attrs["dtype"])
    return {"both": TupleType((like(kind), places)), "values": like(kind), "indices": places}[call.attrs["ret_type"]]


@part
def find_order(x: Any, order: Any, *, axis: Any, before: Any) -> None:
    """order = for each place around the axis, the indices along it in the order of the elements."""
    merged = T.alloc_buffer(order.shape, "int32")
    for (*i,) in T.grid(*order.shape[:-1]):
        with T.block("sort"):
            (*v,) = T.axis.remap("S" * len(i), i)
            for k in range(length(x, axis)):
                order[*v, k] = k
            width = T.int32(1)
            while width < length(x, axis):
                for run in range((length(x, axis) + 2 * width - 1) // (2 * width)):
                    middle = T.min(run * 2 * width + width, length(x, axis))
                    last = T.min(run * 2 * width + 2 * width, length(x, axis))
                    left = run * 2 * width
                    right = middle
                    for k in range(run * 2 * width, last):
                        first = T.bool(True)
                        if left >= middle:
                            first = T.bool(False)
                        elif right < last:
                            first = not before(
                                x[*along(v, order[*v, right], axis, x.ndim)],
                                x[*along(v, order[*v, left], axis, x.ndim)],
                            )
                        if first:
                            merged[*v, k] = order[*v, left]
                            left = left + 1
                        else:
                            merged[*v, k] = order[*v, right]
                            right = right + 1
                for k in range(length(x, axis)):
                    order[*v, k] = merged[*v, k]
                width = width * 2


def length(x: Any, axis: int) -> Any:
    """The length of the axis as an int32, which the indices are."""
    found = size(x, axis)
    return found if type(found) is int else found.astype(INT32)


def order_shape(x: Any, axis: int) -> list[Any]:
    """The places around the axis, then the axis."""
    return [*[size(x, d) for d in range(x.ndim) if d != axis], size(x, axis)]


def order_place(v: Sequence[Any], axis: int) -> list[Any]:
    """The place in the order of a place in the tensor."""
    return [*v[:axis], *v[axis + 1 :], v[axis]]


def _sort(x: Any, out: Any, *, at: Any, before: Any) -> None:
    order = T.alloc_buffer(order_shape(x, at), "int32")
    find_order(x, order, axis=at, before=before)
    for (*i,) in T.grid(*out.shape):
        with T.block("values"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = x[*[order[*order_place(v, at)] if d == at else one for d, one in enumerate(v)]]


def _argsort(data: Any, out: Any, *, at: Any, before: Any) -> None:
    order = T.alloc_buffer(order_shape(data, at), "int32")
    find_order(data, order, axis=at, before=before)
    for (*i,) in T.grid(*out.shape):
        with T.block("indices"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(order[*order_place(v, at)], out.dtype)


def _topk(data: Any, *outs: Any, at: Any, before: Any, ret_type: Any) -> None:
    order = T.alloc_buffer(order_shape(data, at), "int32")
    find_order(data, order, axis=at, before=before)
    if ret_type != "indices":
        for (*i,) in T.grid(*outs[0].shape):
            with T.block("values"):
                (*v,) = T.axis.remap("S" * len(i), i)
                outs[0][*v] = data[*[order[*order_place(v, at)] if d == at else one for d, one in enumerate(v)]]
    if ret_type != "values":
        for (*i,) in T.grid(*outs[-1].shape):
            with T.block("indices"):
                (*v,) = T.axis.remap("S" * len(i), i)
                outs[-1][*v] = T.cast(order[*order_place(v, at)], outs[-1].dtype)


def _parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    if not kind.rank or kind.dtype is None or kind.dtype.is_bool:
        return None
    down = call.attrs["largest"] if "largest" in call.attrs else call.attrs["descending"]
    return {"at": call.attrs["axis"] % kind.rank, "before": _above if down else _below}


def _above(a: Expr, b: Expr) -> Expr:
    # of floats nan is above all numbers
    if a.dtype.is_int:
        return OPS["greater"](a, b)
    return OPS["logical_and"](OPS["logical_not"](OPS["less_equal"](a, b)), OPS["equal"](b, b))


def _below(a: Expr, b: Expr) -> Expr:
    if a.dtype.is_int:
        return OPS["less"](a, b)
    return OPS["logical_and"](OPS["logical_not"](OPS["greater_equal"](a, b)), OPS["equal"](a, a))


def _np_order(x: Any, axis: int, descending: bool) -> Any:
    import numpy as np

    if not descending:
        return np.argsort(x, axis, kind="stable")
    # equal elements stay in their order: those of the reversed tensor, from its end
    found = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - found, axis)


def _np_sort(x: Any, axis: int, descending: bool) -> Any:
    import numpy as np

    return np.take_along_axis(x, _np_order(x, axis, descending), axis)


def _np_argsort(x: Any, axis: int, descending: bool, dtype: DType) -> Any:
    return _np_order(x, axis, descending).astype(numpy_dtype(dtype))


def _np_topk(x: Any, k: int, axis: int, ret_type: str, largest: bool, dtype: DType) -> Any:
    import numpy as np

    count = x.shape[axis] if k < 1 else min(k, x.shape[axis])
    order = np.take(_np_order(x, axis, largest), range(count), axis)
    values, indices = np.take_along_axis(x, order, axis), order.astype(numpy_dtype(dtype))
    return {"both": (values, indices), "values": values, "indices": indices}[ret_type]


# -- median


def _infer_median(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    axes = call.attrs["axis"]
    reduced = _reduced(call, kind)
    if axes is None or len(axes) != 1:
        return reduced
    return TupleType((reduced, like(reduced, dtype=INT64)))


def _reduced(call: OpCall, kind: TensorType) -> TensorType:
    """The type with the axes gone, or 1."""
    if kind.rank is None:
        return of_rank(0 if call.attrs["axis"] is None and not call.attrs["keepdims"] else None, kind.dtype)
    gone = axes_of(call, call.attrs["axis"], kind.rank)
    if kind.shape is None:
        return of_rank(kind.rank - (0 if call.attrs["keepdims"] else len(gone)), kind.dtype, kind.vdevice)
    keep = call.attrs["keepdims"]
    shape = [dims.ONE if at in gone else one for at, one in enumerate(kind.shape) if keep or at not in gone]
    return like(kind, shape=tuple(shape))


def _median(x: Any, *outs: Any, kept: Any, gone: Any, at: Any) -> None:
    rows = T.alloc_buffer([*[size(x, d) for d in kept], total(x, gone)], x.dtype)
    order = T.alloc_buffer(rows.shape, "int32")
    for (*i,) in T.grid(*rows.shape):
        with T.block("rows"):
            (*v,) = T.axis.remap("S" * len(i), i)
            rows[*v] = x[*row_place(v, x, kept, gone)]
    find_order(rows, order, axis=len(kept), before=_below)
    for (*i,) in T.grid(*outs[0].shape):
        with T.block("median"):
            (*v,) = T.axis.remap("S" * len(i), i)
            outs[0][*v] = rows[*at(v), order[*at(v), (total(x, gone) - 1) // 2]]
    if len(outs) > 1:
        for (*i,) in T.grid(*outs[1].shape):
            with T.block("index"):
                (*v,) = T.axis.remap("S" * len(i), i)
                outs[1][*v] = T.cast(order[*at(v), (total(x, gone) - 1) // 2], outs[1].dtype)


def total(x: Any, axes: Sequence[int]) -> Any:
    """The number of elements along some axes."""
    found: Any = 1
    for axis in axes:
        found = size(x, axis) if type(found) is int and found == 1 else found * size(x, axis)
    return found


def row_place(v: Sequence[Any], x: Any, kept: Sequence[int], gone: Sequence[int]) -> list[Any]:
    """The place in the tensor of a place in its rows."""
    inner = dict(zip(gone, unflat(v[-1], [size(x, d) for d in gone]), strict=True))
    outer = dict(zip(kept, v, strict=False))
    return [{**inner, **outer}[d] for d in range(x.ndim)]


def _median_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    if not kind.rank or kind.dtype is None or kind.dtype.is_bool:
        return None
    gone = axes_of(call, call.attrs["axis"], kind.rank)
    kept = [d for d in range(kind.rank) if d not in gone]
    if not call.attrs["keepdims"]:
        return {"kept": kept, "gone": sorted(gone), "at": list}
    return {"kept": kept, "gone": sorted(gone), "at": lambda v: [v[d] for d in kept]}


def _np_median(x: Any, axis: Any, keepdims: bool) -> Any:
    import numpy as np

    gone = tuple(range(x.ndim)) if axis is None else tuple(sorted(one % x.ndim for one in axis))
    kept = [d for d in range(x.ndim) if d not in gone]
    rows = np.transpose(x, [*kept, *gone])
    rows = rows.reshape([*rows.shape[: len(kept)], math.prod(rows.shape[len(kept) :])])
    order = np.argsort(rows, -1, kind="stable")[..., (rows.shape[-1] - 1) // 2]
    values = np.take_along_axis(rows, order[..., None], -1)[..., 0]
    shape = [1 if d in gone else x.shape[d] for d in range(x.ndim)] if keepdims else values.shape
    if axis is None or len(axis) != 1:
        return values.reshape(shape)
    return values.reshape(shape), order.astype(np.int64).reshape(shape)


register(
    GraphOp(
        "median",
        (Parameter("x"), AXES, KEEPDIMS),
        _infer_median,
        "The lower median along axes; along one axis its index, too.",
        "G.median(x: (2, 5), axis=[1])",
        reference=_np_median,
        legalize=kernel(_median, _median_parts),
        fusion=OPAQUE,
    )
)
register(
    GraphOp(
        "sort",
        (Parameter("x"), _AXIS, _DESCENDING),
        _infer_sort,
        "The elements along an axis in order.",
        "G.sort(x: (2, 5), axis=-1)",
        reference=_np_sort,
        legalize=kernel(_sort, _parts),
        fusion=OPAQUE,
    )
)
register(
    GraphOp(
        "argsort",
        (Parameter("data"), _AXIS, _DESCENDING, _DTYPE),
        _infer_sort,
        "The indices along an axis in the order of the elements.",
        'G.argsort(data: (2, 5), axis=-1, dtype="int32")',
        reference=_np_argsort,
        legalize=kernel(_argsort, _parts),
        fusion=OPAQUE,
    )
)
register(
    GraphOp(
        "topk",
        (
            Parameter("data"),
            attr("k", integer, 1),
            _AXIS,
            attr("ret_type", one_of("both", "values", "indices"), "both"),
            attr("largest", boolean, True),
            _DTYPE,
        ),
        _infer_topk,
        "The k greatest or least elements along an axis in order, and their indices; all where k is below 1.",
        "G.topk(data: (2, 5), k=3, axis=-1)",
        reference=_np_topk,
        legalize=kernel(_topk, _parts),
        fusion=OPAQUE,
    )
)
