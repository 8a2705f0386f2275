"""Elements taken and put by indices that are values: take, gather, scatter, one_hot, bucketize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import INT32, INT64, DType, dtype
from ..expr import Const, Expr, const
from ..graph import GraphType, OpCall, PrimType, PrimValue, TensorType, TupleType
from ..graph_op import INJECTIVE, OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from ..words import counted
from . import computed_sizes, dims
from .attrs import attr, boolean, integer, one_of
from .kernel import T, element, kernel, size
from .rules import (
    INTS,
    NUMBERS,
    Types,
    axis_of,
    common_shape,
    compared_dtype,
    equal_dims,
    like,
    of_rank,
    rank_of,
    refuse,
    tensor,
    tensors,
)
from .table import register

X, DATA, INDICES = Parameter("x"), Parameter("data"), Parameter("indices", apart=True)


def with_length(index: Expr, extent: Any) -> tuple[Expr, Expr]:
    """An index and the length of its axis in one dtype that holds both: an index of 8 bits may be one of 300."""
    kind = _wide(index.dtype, extent)
    return cast_to(index, kind), const(extent, kind) if type(extent) is int else cast_to(extent, kind)


def _wide(kind: DType, extent: Any) -> DType:
    if kind is dtype("uint64"):
        return kind
    length = extent.dtype if isinstance(extent, Expr) else INT32 if abs(extent) < 1 << 31 else INT64
    return INT32 if length is INT32 and kind.bits + (not kind.is_signed) <= 32 else INT64


def wrapped(index: Expr, extent: Any) -> Expr:
    """An index counted from the front; a negative one counts from the back."""
    wide, length = with_length(index, extent)
    if not index.dtype.is_signed:
        return wide
    return OPS["Select"](wide < const(0, wide.dtype), wide + length, wide)


# -- take


def _infer_take(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    indices = tensor(call, types, 1, INTS)
    axis = call.attrs["axis"]
    if axis is None:
        if kind.rank not in (None, 1):
            refuse(
                call,
                f"`axis` is None, which is for vectors, not for {counted(kind.rank, 'dimension')}",
                "give it: `axis=0`",
            )
        axis = 0
    elif kind.rank is not None:
        axis = axis_of(call, axis, kind.rank)
    if kind.shape is None or indices.shape is None:
        rank = None if kind.rank is None or indices.rank is None else kind.rank - 1 + indices.rank
        return of_rank(rank, kind.dtype, kind.vdevice)
    index, extent = call.args[1], kind.shape[axis]
    if type(index) is PrimValue and type(index.value) is Const and call.attrs["mode"] == "fast":
        place = index.value.value
        if place < 0 or (type(extent) is Const and place >= extent.value):
            why = f"index {place} is out of bounds for axis {axis} with size {dims.text(extent)}"
            refuse(call, why, 'indices do not wrap around, but for `mode="wrap"`', "T113")
    return TensorType((*kind.shape[:axis], *indices.shape, *kind.shape[axis + 1 :]), kind.dtype, None, kind.vdevice)


def _take(x: Any, indices: Any, out: Any, *, axis: Any, mode: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("take"):
            (*v,) = T.axis.remap("S" * len(i), i)
            if mode == "nan":
                out[*v] = T.if_then_else(
                    in_bounds(picked(indices, v, axis), size(x, axis)),
                    x[*taken(v, picked(indices, v, axis), axis, indices, x, mode)],
                    T.float32("nan").astype(out.dtype),
                )
            else:
                out[*v] = x[*taken(v, picked(indices, v, axis), axis, indices, x, mode)]


def picked(indices: Any, v: Sequence[Expr], axis: int) -> Expr:
    """The index that belongs to an element of the result."""
    from ..expr import BufferLoad

    return BufferLoad(indices, tuple(v[axis : axis + indices.ndim])) if isinstance(indices, _buffer()) else indices


def _buffer() -> Any:
    from ..buffer import Buffer

    return Buffer


def in_bounds(index: Expr, extent: Any) -> Expr:
    """Whether an index, which counts from the front alone, is one of an axis."""
    wide, length = with_length(index, extent)
    below = OPS["less"](wide, length)
    if not index.dtype.is_signed:
        return below
    return OPS["logical_and"](OPS["greater_equal"](wide, const(0, wide.dtype)), below)


def taken(v: Sequence[Expr], index: Expr, axis: int, indices: Any, x: Any, mode: str) -> list[Any]:
    """The place in `x`."""
    extent = size(x, axis)
    wide, length = with_length(index, extent)
    if mode == "clip":
        index = OPS["min"](OPS["max"](wide, const(0, wide.dtype)), length - const(1, wide.dtype))
    elif mode == "wrap":
        index = wide % length
    rank = getattr(indices, "ndim", 0)
    return [*v[:axis], index, *v[axis + rank :]]


def _take_axis(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank = tensor(call, types, 0).rank
    return None if rank is None else {"axis": (call.attrs["axis"] or 0) % rank}


def _np_take(x: Any, indices: Any, axis: int | None, mode: str) -> Any:
    import numpy as np

    indices = np.asarray(indices)
    if mode == "wrap" and x.shape[axis or 0]:
        # numpy's own mode subtracts the length again and again
        indices = indices.astype(np.uint64 if indices.dtype == np.uint64 else np.int64) % x.shape[axis or 0]
    at = (axis or 0) % x.ndim
    if mode != "nan":
        if mode == "fast" and indices.size and (low := indices.min()) < 0:
            raise IndexError(f"index {low} is out of bounds for axis {at} with size {x.shape[at]}")
        found = np.take(x, indices, at, mode="clip" if mode == "clip" else "raise")
        return np.asarray(found, x.dtype)
    extent = x.shape[at]
    valid = (indices >= 0) & (indices < extent)
    found = np.take(x, np.where(valid, indices, 0), at)
    shape = [1] * at + list(indices.shape) + [1] * (x.ndim - at - 1)
    return np.where(valid.reshape(shape), found, np.asarray(np.nan, x.dtype))


register(
    GraphOp(
        "take",
        (X, INDICES, attr("axis", integer, None), attr("mode", one_of("fast", "clip", "wrap", "nan"), "fast")),
        _infer_take,
        "The elements along an axis at some indices. Indices beyond it are a mistake (`fast`), the nearest (`clip`),"
        " counted round (`wrap`), or give nan, as negative ones do then.",
        "G.take(x: (4, 3), indices: (2,) int64, axis=0)",
        reference=_np_take,
        legalize=kernel(_take, _take_axis, inline=True),
        fusion=INJECTIVE,
    )
)

# -- gather


def _infer_gather_elements(call: OpCall, types: Types) -> GraphType:
    kind, indices = tensor(call, types, 0), tensor(call, types, 1, INTS)
    if kind.rank is not None and indices.rank is not None and kind.rank != indices.rank:
        refuse(call, f"`data` has {counted(kind.rank, 'dimension')} and `indices` {indices.rank}", "they have as many")
    if kind.rank is not None:
        axis = axis_of(call, call.attrs["axis"], kind.rank)
        if kind.shape is not None and indices.shape is not None:
            for at, (a, b) in enumerate(zip(kind.shape, indices.shape, strict=True)):
                if at != axis and (dims.number(b) or 0) > (dims.number(a) or 1 << 62):
                    refuse(call, f"dimension {at} of `indices` is {dims.text(b)}, beyond the {dims.text(a)} of `data`")
    return like(indices, dtype=kind.dtype)


def _gather_elements(data: Any, indices: Any, out: Any, *, axis: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("gather"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = data[*v[:axis], wrapped(indices[*v], size(data, axis)), *v[axis + 1 :]]


def _gather_axis(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank = tensor(call, types, 0).rank
    return None if not rank else {"axis": call.attrs["axis"] % rank}


def _np_gather_elements(data: Any, indices: Any, axis: int) -> Any:
    import numpy as np

    place = list(np.indices(indices.shape))
    place[axis] = indices
    return data[tuple(place)]


register(
    GraphOp(
        "gather_elements",
        (DATA, INDICES, attr("axis", integer, 0)),
        _infer_gather_elements,
        "The elements of the data whose place along an axis the indices give.",
        "G.gather_elements(data: (4, 3), indices: (2, 3) int64, axis=0)",
        reference=_np_gather_elements,
        legalize=kernel(_gather_elements, _gather_axis),
        fusion=INJECTIVE,
    )
)


def _infer_gather_nd(call: OpCall, types: Types) -> GraphType:
    kind, indices = tensor(call, types, 0), tensor(call, types, 1, INTS)
    batch = call.attrs["batch_dims"]
    if batch < 0 or (indices.rank is not None and batch >= max(indices.rank, 1)):
        refuse(call, f"`batch_dims` is {batch}", "it is below the number of dimensions of `indices`", "T032")
    if kind.shape is None or indices.shape is None:
        return TensorType(None, kind.dtype, None, kind.vdevice)
    if not indices.shape:
        refuse(call, "`indices` is a scalar", "its last dimension holds the indices of one element")
    depth = dims.number(indices.shape[-1])
    if depth is None:
        return TensorType(None, kind.dtype, None, kind.vdevice)
    if depth + batch > len(kind.shape):
        refuse(
            call,
            f"`indices` holds {depth} indices, and `data` has {counted(len(kind.shape) - batch, 'dimension')} for them",
        )
    for at in range(batch):
        equal_dims(call, kind.shape[at], indices.shape[at], f"dimension {at} of `data` and `indices`, a batch, differs")
    return TensorType((*indices.shape[:-1], *kind.shape[batch + depth :]), kind.dtype, None, kind.vdevice)


def _gather_nd(data: Any, indices: Any, out: Any, *, batch_dims: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("gather"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = data[
                *v[:batch_dims],
                *[
                    wrapped(indices[*v[: indices.ndim - 1], k], size(data, batch_dims + k))
                    for k in range(size(indices, indices.ndim - 1))
                ],
                *v[indices.ndim - 1 :],
            ]


def _np_gather_nd(data: Any, indices: Any, batch_dims: int) -> Any:
    import numpy as np

    depth = indices.shape[-1]
    places = np.indices(indices.shape[:-1])[:batch_dims]
    if not batch_dims and not depth:
        return np.broadcast_to(data, (*indices.shape[:-1], *data.shape))
    return data[(*places, *(indices[..., k] for k in range(depth)))]


register(
    GraphOp(
        "gather_nd",
        (DATA, INDICES, attr("batch_dims", integer, 0)),
        _infer_gather_nd,
        "The elements, or parts, of the data at the places in the last dimension of the indices.",
        "G.gather_nd(data: (4, 3), indices: (5, 2) int64)",
        reference=_np_gather_nd,
        legalize=kernel(_gather_nd),
        fusion=INJECTIVE,
    )
)


def _infer_index_tensor(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    found = tensors(call, types, 1)
    if found is None:
        return TensorType(None, kind.dtype, None, kind.vdevice)
    if kind.rank is not None and len(found) > kind.rank:
        refuse(call, f"{len(found)} tensors of indices for {counted(kind.rank, 'dimension')}")
    for at, one in enumerate(found):
        if one.dtype is not None and not one.dtype.is_int:
            refuse(call, f"field {at} of `indices` is of {one.dtype}", "indices are integers", "T105")
    shape, rank = common_shape(call, found)
    if shape is None or kind.shape is None:
        total = None if rank is None or kind.rank is None else rank + kind.rank - len(found)
        return of_rank(total, kind.dtype, kind.vdevice)
    return TensorType((*shape, *kind.shape[len(found) :]), kind.dtype, None, kind.vdevice)


def _index_tensor(data: Any, indices: Any, out: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("index"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = data[
                *[wrapped(at, size(data, d)) for d, at in enumerate(index_values(indices, v, data, out))],
                *v[out.ndim - data.ndim + len(indices) :],
            ]


def index_values(indices: Any, v: Sequence[Expr], data: Any, out: Any) -> list[Expr]:
    """The index of each dimension that belongs to an element of the result."""
    count = out.ndim - data.ndim + len(indices)
    return [element(one, v[:count], out.shape[:count]) for one in indices]


def _np_index_tensor(data: Any, indices: Sequence[Any]) -> Any:
    return data[tuple(indices)]


register(
    GraphOp(
        "index_tensor",
        (DATA, Parameter("indices", "tensors", apart=True)),
        _infer_index_tensor,
        "`data[indices]` with a tensor of indices for each of the first dimensions; they broadcast.",
        "G.index_tensor(data: (4, 3), (i: (5,) int64, j: (5,) int64))",
        reference=_np_index_tensor,
        legalize=kernel(_index_tensor),
        fusion=INJECTIVE,
    )
)

# -- one_hot, bucketize


def _infer_one_hot(call: OpCall, types: Types) -> GraphType:
    indices = tensor(call, types, 0, INTS)
    values = types[1:3]
    for at, one in enumerate(values):
        if type(one) is TensorType:
            rank_of(call, one, at + 1, 0)
    kinds = [one.dtype for one in values if isinstance(one, (PrimType, TensorType))]
    kind = kinds[0] if len(kinds) == 2 else None
    if len(kinds) == 2 and kinds[0] is not kinds[1]:
        refuse(call, f"`on_value` is of {kinds[0]} and `off_value` of {kinds[1]}", None, "T107")
    depth = call.attrs["depth"]
    if depth < 1:
        refuse(call, f"`depth` is {depth}", "it is 1 or more", "T032")
    if indices.rank is None:
        return of_rank(None, kind)
    axis = axis_of(call, call.attrs["axis"], indices.rank + 1)
    if indices.shape is None:
        return of_rank(indices.rank + 1, kind, indices.vdevice)
    return TensorType((*indices.shape[:axis], dims.dim(depth), *indices.shape[axis:]), kind, None, indices.vdevice)


def _one_hot(indices: Any, on_value: Any, off_value: Any, out: Any, *, axis: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("one_hot"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.Select(
                hit(indices, v, axis),
                T.cast(element(on_value, [], ()), out.dtype),
                T.cast(element(off_value, [], ()), out.dtype),
            )


def hit(indices: Any, v: Sequence[Expr], axis: int) -> Expr:
    """Whether a place along the axis is the one that the index gives."""
    index, place = with_length(element(indices, [*v[:axis], *v[axis + 1 :]], indices.shape), v[axis])
    return OPS["equal"](index, place)


def _one_hot_axis(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank = tensor(call, types, 0).rank
    return None if rank is None else {"axis": call.attrs["axis"] % (rank + 1)}


def _np_one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int) -> Any:
    import numpy as np

    at = axis % (indices.ndim + 1)
    places = np.arange(depth).reshape([-1 if d == at else 1 for d in range(indices.ndim + 1)])
    on, off = np.asarray(on_value), np.asarray(off_value)
    return np.where(np.expand_dims(indices, at) == places, on, off).astype(on.dtype)


register(
    GraphOp(
        "one_hot",
        (
            INDICES,
            Parameter("on_value", "prim"),
            Parameter("off_value", "prim"),
            attr("depth", integer),
            attr("axis", integer, -1),
        ),
        _infer_one_hot,
        "A new axis on which the place of the index holds `on_value` and the others `off_value`.",
        "G.one_hot(indices: (2,) int64, 1.0, 0.0, depth=4)",
        reference=_np_one_hot,
        legalize=kernel(_one_hot, _one_hot_axis, inline=True),
        fusion=INJECTIVE,
    )
)


def _infer_bucketize(call: OpCall, types: Types) -> GraphType:
    kind, bounds = tensor(call, types, 0, NUMBERS), tensor(call, types, 1, NUMBERS)
    rank_of(call, bounds, 1, 1)
    compared_dtype(call, (kind, bounds))
    return like(kind, dtype=INT32 if call.attrs["out_int32"] else INT64)


def _bucketize(input_tensor: Any, boundaries: Any, out: Any, *, right: Any) -> None:
    for *i, k in T.grid(*out.shape, size(boundaries, 0)):
        with T.block("count"):
            *v, vk = T.axis.remap("S" * len(i) + "R", [*i, k])
            with T.init():
                out[*v] = T.cast(0, out.dtype)
            out[*v] = out[*v] + T.cast(below(boundaries[vk], input_tensor[*v], right), out.dtype)


def below(bound: Expr, value: Expr, right: bool) -> Expr:
    """Whether a boundary lies before a value."""
    return OPS["less_equal" if right else "less"](bound, value)


def _np_bucketize(x: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    import numpy as np

    below = np.less_equal if right else np.less
    return below(boundaries, x[..., None]).sum(-1, dtype=np.int32 if out_int32 else np.int64)


register(
    GraphOp(
        "bucketize",
        (
            Parameter("input_tensor"),
            Parameter("boundaries"),
            attr("out_int32", boolean, False),
            attr("right", boolean, False),
        ),
        _infer_bucketize,
        "The number of boundaries, which ascend, below each element (or at most it, where `right`); below nan is none.",
        "G.bucketize(input_tensor: (2, 3), boundaries: (4,))",
        reference=_np_bucketize,
        legalize=kernel(_bucketize),
        fusion=OPAQUE,
    )
)


def _infer_nonzero(call: OpCall, types: Types) -> GraphType:
    return of_rank(2, INT64, tensor(call, types, 0).vdevice)


def _np_nonzero(x: Any) -> Any:
    import numpy as np

    return np.stack(np.nonzero(np.atleast_1d(x))).astype(np.int64)


register(
    GraphOp(
        "nonzero",
        (X,),
        _infer_nonzero,
        "The places of the elements that are not zero, a column each; how many is known when the program runs.",
        "G.nonzero(x: (2, 3))",
        reference=_np_nonzero,
        measured=computed_sizes.nonzero,
    )
)


# -- unique

_RETURNS = ("return_index", "return_inverse", "return_counts")


def _infer_unique(call: OpCall, types: Types) -> GraphType:
    x = tensor(call, types, 0)
    axis = call.attrs["axis"]
    if axis is not None and x.rank is not None:
        axis_of(call, axis, x.rank)
    values = of_rank(1 if axis is None else x.rank, x.dtype, x.vdevice)
    more = [of_rank(1, INT64, x.vdevice) for name in _RETURNS if call.attrs[name]]
    return TupleType((values, *more)) if more else values


def _np_unique(x: Any, sorted: bool, axis: int | None, **returns: bool) -> Any:
    import numpy as np

    values, *found = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    first, inverse, counts = (one.reshape(-1).astype(np.int64) for one in found)
    if not sorted:
        order = np.argsort(first)
        place = np.argsort(order)
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
        inverse = place[inverse].astype(np.int64)
    more = [one for name, one in zip(_RETURNS, (first, inverse, counts), strict=True) if returns[name]]
    return (values, *more) if more else values


register(
    GraphOp(
        "unique",
        (
            X,
            attr("sorted", boolean, True),
            *(attr(name, boolean, False) for name in _RETURNS),
            attr("axis", integer, None),
        ),
        _infer_unique,
        "The values of a tensor, or its parts along an axis, once each: in order, or as they come first. Then where"
        " each comes first, which of them each element is, and how often each comes.",
        "G.unique(x: (2, 3) int64, return_counts=True)",
        reference=_np_unique,
        measured=computed_sizes.unique,
    )
)
