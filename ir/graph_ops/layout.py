"""Elements at other places by an index map; sums back to a smaller shape; grids; shapes as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..buffer import Buffer
from ..dtype import INT64
from ..expr import Call, Const, Expr, Var, const
from ..graph import GraphType, ObjectType, OpCall, ShapeType, TensorType, TupleType
from ..graph_op import INJECTIVE, REDUCTION, GraphOp, Parameter
from ..index_map import IndexMap
from ..op import cast as cast_to
from ..words import counted
from . import computed_sizes, dims
from .attrs import attr, index_map, integer, number, one_of
from .create import generated
from .kernel import T, kernel, part, rearranged, size
from .reduce import accumulator, whole_place
from .reference import wide
from .rules import (
    INTS,
    NUMBERS,
    Types,
    common_device,
    common_dtype,
    like,
    of_rank,
    of_shape,
    rank_of,
    refuse,
    target_shape,
    tensor,
    tensors,
)
from .table import register

X = Parameter("x")
DATA = Parameter("data")

# -- index maps


def _infer_layout(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    mapping: IndexMap = call.attrs["index_map"]
    if kind.rank is not None and len(mapping.params) != kind.rank:
        takes, has = counted(len(mapping.params), "index"), counted(kind.rank, "dimension")
        refuse(call, f"`index_map` takes {takes}, and the tensor has {has}")
    shape = None if kind.shape is None else _mapped_shape(mapping, kind.shape)
    if shape is None:
        return of_rank(len(mapping.indices), kind.dtype, kind.vdevice)
    return TensorType(shape, kind.dtype, None, kind.vdevice)


def _mapped_shape(mapping: IndexMap, shape: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """The shape that holds every place; the last index of a tile runs over the whole tile."""
    given = dict(zip(mapping.params, shape, strict=True))
    found = [_extent(value, given) for value in mapping.indices]
    known = [one for one in found if one is not None]
    if len(known) == len(found):
        return tuple(known)
    if any(dims.number(one) is None for one in shape):
        return None
    whole = mapping.map_shape(shape)
    return None if whole is None else tuple(map(dims.dim, whole))


def _extent(value: Expr, given: Mapping[Var, Expr]) -> Expr | None:
    """One more than the greatest value of a constant, an axis, `axis // c` or `axis % c`; None of anything else."""
    if type(value) is Const:
        return dims.add(value, 1)
    if type(value) is Var:
        return given.get(value)
    if not isinstance(value, Call) or len(value.args) != 2 or type(value.args[1]) is not Const:
        return None
    inner, by = _extent(value.args[0], given), int(value.args[1].value)
    if inner is None or by < 1:
        return None
    if value.op.name == "floordiv":
        return dims.ceildiv(inner, by)
    return dims.dim(by) if value.op.name == "floormod" else None


def _layout(x: Any, out: Any, *, index_map: Any, pad_value: Any, whole: Any) -> None:
    if not whole:
        for (*i,) in T.grid(*out.shape):
            with T.block("padding"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(pad_value or 0, out.dtype)
    for (*i,) in T.grid(*x.shape):
        with T.block("move"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*mapped(index_map, v)] = x[*v]


def mapped(index_map: IndexMap, v: Sequence[Expr]) -> tuple[Expr, ...]:
    """Where the element at `v` is found."""
    return index_map.apply(tuple(cast_to(at, one.dtype) for at, one in zip(v, index_map.params, strict=True)))


def _is_whole(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind, to = tensor(call, types, 0), call.op.infer(call, types)
    if kind.shape is None or type(to) is not TensorType or to.shape is None:
        return None
    # elements do not meet, so that as many places as elements are filled
    return {"whole": dims.same(dims.product(kind.shape), dims.product(to.shape))}


def _np_layout(x: Any, index_map: IndexMap, pad_value: Any) -> Any:
    import numpy as np

    from ..rewrite import substitute

    shape = _mapped_shape(index_map, dims.shape(x.shape))
    assert shape is not None
    found = np.full(dims.numbers(shape) or (), pad_value or 0, x.dtype)
    for place in np.ndindex(x.shape):
        at = [const(one, var.dtype) for one, var in zip(place, index_map.params, strict=True)]
        values = [
            dims.simple(substitute(one, dict(zip(index_map.params, at, strict=True)))) for one in index_map.indices
        ]
        found[dims.numbers(values) or ()] = x[place]
    return found


register(
    GraphOp(
        "layout_transform",
        (X, attr("index_map", index_map), attr("pad_value", number, None)),
        _infer_layout,
        "Each element at the place that an index map gives; places without one hold `pad_value`.",
        "G.layout_transform(x: (2, 32), index_map=T.index_map(lambda i, j: (j // 16, i, j % 16)), pad_value=None)",
        reference=_np_layout,
        legalize=kernel(_layout, _is_whole),
        fusion=INJECTIVE,
    )
)


def _infer_shuffle(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    factor = call.attrs["upscale_factor"]
    if factor < 1:
        refuse(call, f"`upscale_factor` is {factor}", "it is 1 or more", "T032")
    if kind.rank is not None and kind.rank < 3:
        refuse(call, f"`data` must have at least 3 dimensions, not {kind.rank}")
    if kind.shape is None:
        return like(kind)
    channels = dims.number(kind.shape[-3])
    if channels is not None and channels % (factor * factor):
        refuse(call, f"{channels} channels are not a multiple of {factor} * {factor}")
    *batch, channel, height, width = kind.shape
    fewer = dims.floordiv(channel, factor * factor)
    return like(kind, shape=(*batch, fewer, dims.mul(height, factor), dims.mul(width, factor)))


def _shuffled(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    *batch, channel, row, column = v
    factor = attrs["upscale_factor"]
    return [*batch, (channel * factor + row % factor) * factor + column % factor, row // factor, column // factor]


def _np_shuffle(x: Any, upscale_factor: int) -> Any:
    r = upscale_factor
    *batch, c, h, w = x.shape
    k = len(batch)
    parts = x.reshape(*batch, c // (r * r), r, r, h, w)
    order = [*range(k), k, k + 3, k + 1, k + 4, k + 2]
    return parts.transpose(order).reshape(*batch, c // (r * r), h * r, w * r)


register(
    GraphOp(
        "nn.pixel_shuffle",
        (DATA, attr("upscale_factor", integer)),
        _infer_shuffle,
        "Channels moved into a larger image: (c * r * r, h, w) to (c, h * r, w * r).",
        "G.nn.pixel_shuffle(data: (1, 8, 2, 3), upscale_factor=2)",
        reference=_np_shuffle,
        legalize=rearranged(_shuffled),
        fusion=INJECTIVE,
    )
)

# -- sums back to a smaller shape


def _infer_collapse(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    if call.op.name.endswith("_like"):
        target = tensor(call, types, 1)
        rank, values = target.rank, target.shape
    else:
        shape = target_shape(call, types, 1)
        rank, values = shape.rank, shape.values
    if kind.rank is not None and rank is not None and rank > kind.rank:
        refuse(call, f"a tensor of {counted(kind.rank, 'dimension')} is not collapsed to {rank}")
    if kind.shape is not None and values is not None:
        for have, want in zip(reversed(kind.shape), reversed(values), strict=False):
            if dims.number(want) != 1 and dims.differ(have, want):
                shapes = f"{dims.text(kind.shape)} does not collapse to {dims.text(values)}"
                refuse(call, f"{shapes}: {dims.text(want)} is neither 1 nor {dims.text(have)}")
    return of_shape(ShapeType(values, rank), kind.dtype, kind.vdevice)


def _collapse(data: Any, *rest: Any, acc: Any) -> None:
    out = T.meta_var(rest[-1])
    kept, gone = collapsed_axes(data, out)
    if acc is out.dtype:
        _collapse_into(data, out, kept=kept, gone=gone, new=data.ndim - out.ndim)
    else:
        total = T.alloc_buffer(out.shape, acc)
        _collapse_into(data, total, kept=kept, gone=gone, new=data.ndim - out.ndim)
        for (*i,) in T.grid(*out.shape):
            with T.block("finish"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(total[*v], out.dtype)


@part
def _collapse_into(data: Any, total: Any, *, kept: Any, gone: Any, new: Any) -> None:
    for (*i,) in T.grid(*[size(data, d) for d in kept], *[size(data, d) for d in gone]):
        with T.block("collapse"):
            (*v,) = T.axis.remap("S" * len(kept) + "R" * len(gone), i)
            with T.init():
                total[*collapsed(v, kept, gone, new)] = T.cast(0, total.dtype)
            total[*collapsed(v, kept, gone, new)] = total[*collapsed(v, kept, gone, new)] + T.cast(
                data[*whole_place(v, kept, gone)], total.dtype
            )


def collapsed_axes(data: Any, out: Any) -> tuple[list[int], list[int]]:
    """The axes that stay and those that are added up."""
    new = data.ndim - out.ndim
    one = [d for d in range(data.ndim) if d < new or (dims.number(out.shape[d - new]) == 1 != size(data, d))]
    return [d for d in range(data.ndim) if d not in one], one


def collapsed(v: Sequence[Any], kept: Sequence[int], gone: Sequence[int], new: int) -> list[Any]:
    """The place in the smaller tensor."""
    by_axis = dict(zip(kept, v, strict=False))
    return [by_axis.get(axis, 0) for axis in range(new, len(kept) + len(gone))]


def _collapse_sums(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    return None if kind.dtype is None else {"acc": accumulator(kind.dtype)}


def _np_collapse(x: Any, target: Any) -> Any:
    import numpy as np

    shape = tuple(getattr(target, "shape", target))
    new = x.ndim - len(shape)
    axes = tuple(d for d in range(x.ndim) if d < new or (shape[d - new] == 1 and x.shape[d] != 1))
    return np.sum(x, axis=axes, dtype=x.dtype).reshape(shape)


for _name, _target, _doc, _example in (
    ("collapse_sum_to", Parameter("shape", "shape"), "a shape", "(3, 1)"),
    ("collapse_sum_like", Parameter("collapse_target"), "the shape of another tensor", "collapse_target: (3, 1)"),
):
    register(
        GraphOp(
            _name,
            (DATA, _target),
            _infer_collapse,
            f"What broadcasting to the data repeated, added up again to {_doc}.",
            f"G.{_name}(data: (2, 3, 4), {_example})",
            reference=wide(_np_collapse),
            legalize=kernel(_collapse, _collapse_sums),
            fusion=REDUCTION,
        )
    )

# -- grids


def _infer_meshgrid(call: OpCall, types: Types) -> GraphType:
    found = tensors(call, types, 0)
    if found is None:
        return ObjectType()
    for at, one in enumerate(found):
        if one.rank not in (None, 1):
            refuse(call, f"field {at} of `tensors` must have 1 dimension, not {one.rank}")
    kind = common_dtype(call, found, [f"field {at}" for at in range(len(found))])
    lengths = [one.shape[0] if one.shape is not None else None for one in found]
    if call.attrs["indexing"] == "xy" and len(lengths) > 1:
        lengths[:2] = lengths[1::-1]
    known = [one for one in lengths if one is not None]
    device = common_device(found)
    each = of_rank(len(found), kind, device)
    if len(known) == len(lengths):
        each = TensorType(tuple(known), kind, None, device)
    return TupleType((each,) * len(found))


def _meshgrid(tensors: Any, *outs: Any, axes: Any) -> None:
    for k, out in enumerate(outs):
        for (*i,) in T.grid(*out.shape):
            with T.block(f"grid_{k}"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = tensors[k][v[axes[k]]]


def _mesh_axes(call: OpCall, types: Types) -> Mapping[str, Any]:
    count = len(tensors(call, types, 0) or ())
    axes = list(range(count))
    if call.attrs["indexing"] == "xy" and count > 1:
        axes[:2] = [1, 0]
    return {"axes": tuple(axes)}


def _np_meshgrid(arrays: Sequence[Any], indexing: str) -> Any:
    import numpy as np

    return tuple(np.meshgrid(*arrays, indexing=indexing))  # type: ignore[call-overload]


register(
    GraphOp(
        "meshgrid",
        (Parameter("tensors", "tensors"), attr("indexing", one_of("ij", "xy"), "ij")),
        _infer_meshgrid,
        "The coordinates of the points of a grid, a tensor for each of the vectors.",
        "G.meshgrid((a: (2,), b: (3,)))",
        reference=_np_meshgrid,
        legalize=kernel(_meshgrid, _mesh_axes),
        fusion=INJECTIVE,
    )
)

# -- shapes as values


def _infer_shape_of(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    return ShapeType(kind.shape, None if kind.shape is not None else kind.rank)


register(
    GraphOp(
        "shape_of",
        (Parameter("expr"),),
        _infer_shape_of,
        "The shape of a tensor, as a shape.",
        "G.shape_of(expr: (2, 3))",
        reference=lambda x: tuple(x.shape),
    )
)


def _infer_shape_to_tensor(call: OpCall, types: Types) -> GraphType:
    kind = target_shape(call, types, 0)
    return of_rank(1, INT64) if kind.rank is None else TensorType((dims.dim(kind.rank),), INT64)


def _np_shape_to_tensor(shape: Sequence[int]) -> Any:
    import numpy as np

    return np.array(shape, np.int64)


def _shape_to_tensor(expr: Any, out: Any) -> None:
    for k, one in enumerate(expr):
        with T.block(f"dimension_{k}"):
            out[k] = T.cast(one, "int64")


register(
    GraphOp(
        "shape_to_tensor",
        (Parameter("expr", "shape"),),
        _infer_shape_to_tensor,
        "The dimensions of a shape as a tensor.",
        "G.shape_to_tensor((2, 3))",
        reference=_np_shape_to_tensor,
        legalize=kernel(_shape_to_tensor),
    )
)


def _infer_tensor_to_shape(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, INTS)
    rank_of(call, kind, 0, 1)
    return ShapeType(None, None if kind.shape is None else dims.number(kind.shape[0]))


register(
    GraphOp(
        "tensor_to_shape",
        (Parameter("expr"),),
        _infer_tensor_to_shape,
        "The elements of a vector as the dimensions of a shape, known when the program runs.",
        "G.tensor_to_shape(expr: (2,) int64)",
        reference=lambda x: tuple(int(one) for one in x),
        measured=computed_sizes.tensor_to_shape,
    )
)


def _np_size(x: Any) -> Any:
    import numpy as np

    return np.array(x.size, np.int64)


def _size(v: Sequence[Expr], args: Sequence[Any], out: Any) -> Expr:
    total: Any = 1
    for at in range(args[0].ndim if isinstance(args[0], Buffer) else 0):  # a scalar is one element
        total = total * size(args[0], at)
    return const(total, INT64) if type(total) is int else cast_to(total, INT64)


register(
    GraphOp(
        "size",
        (Parameter("expr"),),
        lambda call, types: TensorType((), INT64, None, tensor(call, types, 0).vdevice),
        "The number of elements.",
        "G.size(expr: (2, 3))",
        reference=_np_size,
        legalize=generated(_size),
    )
)
