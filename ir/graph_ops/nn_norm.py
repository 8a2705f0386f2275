"""Normalizations: batch, layer, group, instance and rms norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall, TupleType
from ..graph_op import OPAQUE, REDUCTION, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from . import dims
from .attrs import attr, boolean, integer, integers, real
from .kernel import T, kernel, part, size
from .reduce import count, float_accumulator, fold, split_axes, whole_place
from .reference import wide
from .rules import FLOATS, NUMBERS, Types, axes_of, axis_of, common_dtype, equal_dims, like, rank_of, refuse, tensor
from .table import register

DATA, GAMMA, BETA = Parameter("data"), Parameter("gamma"), Parameter("beta")
EPSILON = attr("epsilon", real, 1e-05)
CENTER, SCALE = attr("center", boolean, True), attr("scale", boolean, True)


def _rank(call: OpCall, types: Types) -> int | None:
    return tensor(call, types, 0).rank


# -- layer norm, rms norm


def _infer_over_axes(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, FLOATS)
    given = [tensor(call, types, at) for at in range(1, len(types))]
    common_dtype(call, (kind, *given), [f"`{one.name}`" for one in call.op.values])
    if kind.rank is None:
        return like(kind)
    axes = axes_of(call, call.attrs["axes"], kind.rank, "axes")
    for at, one in enumerate(given):
        name = call.op.values[at + 1].name
        rank_of(call, one, at + 1, len(axes))
        if one.shape is not None and kind.shape is not None:
            for axis, extent in zip(axes, one.shape, strict=True):
                equal_dims(call, kind.shape[axis], extent, f"dimension {axis} of `data` and that of `{name}` differ")
    return like(kind)


def _layer_norm(
    data: Any, gamma: Any, beta: Any, out: Any, *, axes: Any, epsilon: Any, center: Any, scale: Any, acc: Any
) -> None:
    kept, gone = split_axes(data.ndim, axes)
    mean = T.alloc_buffer([size(data, d) for d in kept], acc)
    square = T.alloc_buffer([size(data, d) for d in kept], acc)
    fold(data, mean, kept=kept, gone=gone, keepdims=False, start=const(0, acc), step=add_cast, name="sum")
    distances(data, mean, square, kept=kept, gone=gone, acc=acc)
    for (*i,) in T.grid(*data.shape):
        with T.block("layer_norm"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(
                scaled(
                    normalized(
                        T.cast(data[*v], acc),
                        mean[*[v[d] for d in kept]],
                        square[*[v[d] for d in kept]],
                        count([size(data, d) for d in gone], acc),
                        epsilon,
                    ),
                    gamma[*[v[d] for d in axes]],
                    beta[*[v[d] for d in axes]],
                    center,
                    scale,
                ),
                out.dtype,
            )


@part
def distances(data: Any, total: Any, square: Any, *, kept: Any, gone: Any, acc: Any) -> None:
    """square = the sum of the squares of the distances from the mean, which is a sum divided by the number."""
    for (*i,) in T.grid(*[size(data, d) for d in kept], *[size(data, d) for d in gone]):
        with T.block("squares"):
            (*v,) = T.axis.remap("S" * len(kept) + "R" * len(gone), i)
            with T.init():
                square[*v[: len(kept)]] = T.cast(0, acc)
            square[*v[: len(kept)]] = square[*v[: len(kept)]] + square_of(
                T.cast(data[*whole_place(v, kept, gone)], acc)
                - total[*v[: len(kept)]] / count([size(data, d) for d in gone], acc)
            )


def square_of(x: Expr) -> Expr:
    """x * x."""
    return x * x


def add_cast(total: Expr, one: Expr) -> Expr:
    """total + one, in the dtype of the total."""
    return total + cast_to(one, total.dtype)


def normalized(x: Expr, total: Expr, square: Expr, number: Expr, epsilon: float) -> Expr:
    """The distance from the mean, in units of the standard deviation."""
    return (x - total / number) * OPS["rsqrt"](square / number + const(epsilon, x.dtype))


def scaled(x: Expr, gamma: Expr, beta: Expr, center: bool, scale: bool) -> Expr:
    """x * gamma + beta."""
    found = x * cast_to(gamma, x.dtype) if scale else x
    return found + cast_to(beta, x.dtype) if center else found


def _axes_from_front(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank, found = _rank(call, types), float_accumulator(call, types)
    if rank is None or found is None:
        return None
    return {**found, "axes": tuple(axis % rank for axis in call.attrs["axes"])}


def _along(vector: Any, axes: Sequence[int], rank: int) -> Any:
    """A reference's scale or shift in the shape in which it broadcasts to the data."""
    import numpy as np

    order = np.argsort([axis % rank for axis in axes])
    moved = vector.transpose(order)
    sizes = iter(moved.shape)
    gone = {axis % rank for axis in axes}
    return moved.reshape([next(sizes) if at in gone else 1 for at in range(rank)])


def _np_normalized(x: Any, axes: Sequence[int], epsilon: float) -> Any:
    import numpy as np

    mean = x.mean(tuple(axes), keepdims=True)
    variance = ((x - mean) ** 2).mean(tuple(axes), keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def _np_layer_norm(
    x: Any, gamma: Any, beta: Any, axes: Sequence[int], epsilon: float, center: bool, scale: bool
) -> Any:
    found = _np_normalized(x, axes, epsilon)
    found = found * _along(gamma, axes, x.ndim) if scale else found
    return (found + _along(beta, axes, x.ndim) if center else found).astype(x.dtype)


register(
    GraphOp(
        "nn.layer_norm",
        (DATA, GAMMA, BETA, attr("axes", integers), EPSILON, CENTER, SCALE),
        _infer_over_axes,
        "Elements brought to mean 0 and variance 1 along some axes, scaled and shifted.",
        "G.nn.layer_norm(data: (2, 3, 4), gamma: (4,), beta: (4,), axes=[-1])",
        reference=wide(_np_layer_norm),
        legalize=kernel(_layer_norm, _axes_from_front, exact=True),
        fusion=REDUCTION,
    )
)


def _rms_norm(data: Any, weight: Any, out: Any, *, axes: Any, epsilon: Any, acc: Any) -> None:
    kept, gone = split_axes(data.ndim, axes)
    square = T.alloc_buffer([size(data, d) for d in kept], acc)
    fold(data, square, kept=kept, gone=gone, keepdims=False, start=const(0, acc), step=add_square, name="squares")
    for (*i,) in T.grid(*data.shape):
        with T.block("rms_norm"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(
                T.cast(data[*v], acc)
                * T.rsqrt(
                    square[*[v[d] for d in kept]] / count([size(data, d) for d in gone], acc) + T.cast(epsilon, acc)
                )
                * T.cast(weight[*[v[d] for d in axes]], acc),
                out.dtype,
            )


def add_square(total: Expr, one: Expr) -> Expr:
    """total + one * one, in the dtype of the total."""
    value = cast_to(one, total.dtype)
    return total + value * value


def _np_rms_norm(x: Any, weight: Any, axes: Sequence[int], epsilon: float) -> Any:
    import numpy as np

    square = (x * x).mean(tuple(axes), keepdims=True)
    return (x / np.sqrt(square + epsilon) * _along(weight, axes, x.ndim)).astype(x.dtype)


register(
    GraphOp(
        "nn.rms_norm",
        (DATA, Parameter("weight"), attr("axes", integers, (-1,)), EPSILON),
        _infer_over_axes,
        "Elements divided by the root of their mean square along some axes, and scaled.",
        "G.nn.rms_norm(data: (2, 3, 4), weight: (4,), axes=[-1])",
        reference=wide(_np_rms_norm),
        legalize=kernel(_rms_norm, _axes_from_front, exact=True),
        fusion=REDUCTION,
    )
)

# -- group norm, instance norm


def _infer_channels(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    given = [tensor(call, types, at) for at in (1, 2)]
    common_dtype(call, (kind, *given), ("`data`", "`gamma`", "`beta`"))
    for at, one in enumerate(given):
        rank_of(call, one, at + 1, 1)
    if kind.rank is None:
        return like(kind)
    channel = axis_of(call, call.attrs["channel_axis"], kind.rank, "channel_axis")
    axes = axes_of(call, call.attrs["axes"], kind.rank, "axes")
    if channel in axes:
        refuse(call, f"`axes` hold the channels' axis {channel}", "they are the other axes that are averaged", "T032")
    if kind.shape is None:
        return like(kind)
    for name, one in zip(("gamma", "beta"), given, strict=True):
        if one.shape is not None:
            equal_dims(call, kind.shape[channel], one.shape[0], f"the channels of `data` and `{name}` differ")
    groups = call.attrs.get("num_groups", 1)
    channels = dims.number(kind.shape[channel])
    if groups < 1 or (channels is not None and channels % groups):
        refuse(call, f"{dims.text(kind.shape[channel])} channels do not make {groups} groups", None, "T032")
    return like(kind)


def _group_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    out: Any,
    *,
    axes: Any,
    groups: Any,
    channel: Any,
    epsilon: Any,
    center: Any,
    scale: Any,
    acc: Any,
) -> None:
    kept, gone = split_axes(data.ndim, [channel, *axes])
    mean = T.alloc_buffer([*[size(data, d) for d in kept], groups], acc)
    square = T.alloc_buffer([*[size(data, d) for d in kept], groups], acc)
    for (*i,) in T.grid(*mean.shape, *group_sizes(data, gone, channel, groups)):
        with T.block("sum"):
            (*v,) = T.axis.remap("S" * mean.ndim + "R" * len(gone), i)
            with T.init():
                mean[*v[: mean.ndim]] = T.cast(0, acc)
            mean[*v[: mean.ndim]] = mean[*v[: mean.ndim]] + T.cast(
                data[*group_place(v, data, kept, gone, channel, groups)], acc
            )
    for (*i,) in T.grid(*mean.shape, *group_sizes(data, gone, channel, groups)):
        with T.block("squares"):
            (*v,) = T.axis.remap("S" * mean.ndim + "R" * len(gone), i)
            with T.init():
                square[*v[: mean.ndim]] = T.cast(0, acc)
            square[*v[: mean.ndim]] = square[*v[: mean.ndim]] + square_of(
                T.cast(data[*group_place(v, data, kept, gone, channel, groups)], acc)
                - mean[*v[: mean.ndim]] / count(group_sizes(data, gone, channel, groups), acc)
            )
    for (*i,) in T.grid(*data.shape):
        with T.block("normalize"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(
                scaled(
                    normalized(
                        T.cast(data[*v], acc),
                        mean[*[v[d] for d in kept], group_of(v[channel], data, channel, groups)],
                        square[*[v[d] for d in kept], group_of(v[channel], data, channel, groups)],
                        count(group_sizes(data, gone, channel, groups), acc),
                        epsilon,
                    ),
                    gamma[v[channel]],
                    beta[v[channel]],
                    center,
                    scale,
                ),
                out.dtype,
            )


def group_sizes(data: Any, gone: Sequence[int], channel: int, groups: Any) -> list[Any]:
    """The sizes of the averaged axes, of the channels those of a group."""
    return [each_group(data, channel, groups) if d == channel else size(data, d) for d in gone]


def each_group(data: Any, channel: int, groups: Any) -> Any:
    """The number of channels of a group."""
    channels = size(data, channel)
    return channels if type(groups) is int and groups == 1 else 1 if groups is channels else channels // groups


def group_place(
    v: Sequence[Any], data: Any, kept: Sequence[int], gone: Sequence[int], channel: int, groups: Any
) -> list[Any]:
    """The place in the data: the batch, the group, then the averaged axes."""
    place = dict(zip(kept, v, strict=False))
    place.update(zip(gone, v[len(kept) + 1 :], strict=True))
    if not (type(groups) is int and groups == 1):
        each = each_group(data, channel, groups)
        place[channel] = v[len(kept)] + place[channel] if each == 1 else v[len(kept)] * each + place[channel]
    return [place[axis] for axis in range(data.ndim)]


def group_of(channel: Any, data: Any, axis: int, groups: Any) -> Any:
    """The group of a channel."""
    if type(groups) is int and groups == 1:
        return 0
    number = each_group(data, axis, groups)
    return channel if type(number) is int and number == 1 else channel // number


def _group_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    found, kind = _axes_from_front(call, types), tensor(call, types, 0)
    if found is None or kind.shape is None:
        return None
    channel = call.attrs["channel_axis"] % len(kind.shape)
    groups = call.attrs.get("num_groups", kind.shape[channel])
    return {**found, "channel": channel, "groups": groups}


def _np_group_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float,
    center: bool,
    scale: bool,
    num_groups: int | None = None,
) -> Any:
    rank, channel = x.ndim, channel_axis % x.ndim
    groups = x.shape[channel] if num_groups is None else num_groups
    split = x.reshape(*x.shape[:channel], groups, x.shape[channel] // groups, *x.shape[channel + 1 :])
    moved = [axis % rank + (axis % rank > channel) for axis in axes]
    found = _np_normalized(split, [channel + 1, *moved], epsilon).reshape(x.shape)
    found = found * _along(gamma, [channel], rank) if scale else found
    return (found + _along(beta, [channel], rank) if center else found).astype(x.dtype)


_CHANNEL, _AXES = attr("channel_axis", integer), attr("axes", integers)
for _name, _more, _doc in (
    ("group_norm", (attr("num_groups", integer),), "each group of channels"),
    ("instance_norm", (), "each channel"),
):
    _groups = "num_groups=2, " if _more else ""
    register(
        GraphOp(
            f"nn.{_name}",
            (DATA, GAMMA, BETA, *_more, _CHANNEL, _AXES, EPSILON, CENTER, SCALE),
            _infer_channels,
            f"Elements brought to mean 0 and variance 1 in {_doc} of each of the batch, scaled and shifted by channel.",
            f"G.nn.{_name}(data: (2, 4, 3, 3), gamma: (4,), beta: (4,), {_groups}channel_axis=1, axes=[2, 3])",
            reference=wide(_np_group_norm),
            legalize=kernel(_group_norm, _group_parts, exact=True),
            fusion=REDUCTION,
        )
    )

# -- batch norm


def _infer_batch_norm(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, FLOATS)
    given = [tensor(call, types, at) for at in range(1, 5)]
    common_dtype(call, (kind, *given), [f"`{one.name}`" for one in call.op.values])
    for at, one in enumerate(given):
        rank_of(call, one, at + 1, 1)
    if kind.rank is not None:
        axis = axis_of(call, call.attrs["axis"], kind.rank)
        for at, one in enumerate(given):
            if one.shape is not None and kind.shape is not None:
                name = call.op.values[at + 1].name
                equal_dims(call, kind.shape[axis], one.shape[0], f"dimension {axis} of `data` and `{name}` differ")
    return TupleType((like(kind), like(given[2]), like(given[3])))


def _batch_norm(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any,
    out: Any, mean_out: Any, var_out: Any, *, axis: Any, epsilon: Any, center: Any, scale: Any, acc: Any,
) -> None:  # fmt: skip
    for (*i,) in T.grid(*data.shape):
        with T.block("batch_norm"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(
                scaled(
                    standard(T.cast(data[*v], acc), moving_mean[v[axis]], moving_var[v[axis]], epsilon),
                    gamma[v[axis]],
                    beta[v[axis]],
                    center,
                    scale,
                ),
                out.dtype,
            )
    for i in range(size(moving_mean, 0)):
        with T.block("mean"):
            vi = T.axis.spatial(size(moving_mean, 0), i)
            mean_out[vi] = moving_mean[vi]
    for i in range(size(moving_var, 0)):
        with T.block("variance"):
            vi = T.axis.spatial(size(moving_var, 0), i)
            var_out[vi] = moving_var[vi]


def _batch_norm_training(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, out: Any, mean_out: Any, var_out: Any,
    *, axis: Any, epsilon: Any, center: Any, scale: Any, momentum: Any, acc: Any, kept: Any, gone: Any,
) -> None:  # fmt: skip
    mean = T.alloc_buffer([size(data, axis)], acc)
    square = T.alloc_buffer([size(data, axis)], acc)
    fold(data, mean, kept=kept, gone=gone, keepdims=False, start=const(0, acc), step=add_cast, name="sum")
    distances(data, mean, square, kept=kept, gone=gone, acc=acc)
    for (*i,) in T.grid(*data.shape):
        with T.block("batch_norm"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(
                scaled(
                    normalized(
                        T.cast(data[*v], acc),
                        mean[v[axis]],
                        square[v[axis]],
                        count([size(data, d) for d in gone], acc),
                        epsilon,
                    ),
                    gamma[v[axis]],
                    beta[v[axis]],
                    center,
                    scale,
                ),
                out.dtype,
            )
    for i in range(size(moving_mean, 0)):
        with T.block("moments"):
            vi = T.axis.spatial(size(moving_mean, 0), i)
            mean_out[vi] = moved(moving_mean[vi], mean[vi], count([size(data, d) for d in gone], acc), momentum)
            var_out[vi] = moved(moving_var[vi], square[vi], count([size(data, d) for d in gone], acc), momentum)


def standard(x: Expr, mean: Expr, variance: Expr, epsilon: float) -> Expr:
    """The distance from a mean, in units of a standard deviation."""
    spread = OPS["sqrt"](cast_to(variance, x.dtype) + const(epsilon, x.dtype))
    return (x - cast_to(mean, x.dtype)) / spread


def moved(old: Expr, total: Expr, number: Expr, momentum: float) -> Expr:
    """old * (1 - momentum) + total / number * momentum."""
    kind = total.dtype
    return cast_to(cast_to(old, kind) * const(1 - momentum, kind) + total / number * const(momentum, kind), old.dtype)


def _batch_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    found, rank = float_accumulator(call, types), _rank(call, types)
    if found is None or rank is None:
        return None
    axis = call.attrs["axis"] % rank
    return {**found, "axis": axis, "kept": [axis], "gone": [at for at in range(rank) if at != axis]}


_trained, _applied = (kernel(one, _batch_parts, exact=True) for one in (_batch_norm_training, _batch_norm))


def _np_batch_norm(x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, **attrs: Any) -> Any:
    import numpy as np

    axis, momentum = attrs["axis"] % x.ndim, attrs["momentum"]
    use_mean, use_variance = mean, variance
    if attrs["training"]:
        others = tuple(at for at in range(x.ndim) if at != axis)
        use_mean, use_variance = x.mean(others), x.var(others)
        mean = mean * (1 - momentum) + use_mean * momentum
        variance = variance * (1 - momentum) + use_variance * momentum
    found = x - _along(use_mean, [axis], x.ndim)
    found = found / np.sqrt(_along(use_variance, [axis], x.ndim) + attrs["epsilon"])
    found = found * _along(gamma, [axis], x.ndim) if attrs["scale"] else found
    found = found + _along(beta, [axis], x.ndim) if attrs["center"] else found
    return found.astype(x.dtype), mean.astype(x.dtype), variance.astype(x.dtype)


register(
    GraphOp(
        "nn.batch_norm",
        (
            DATA,
            GAMMA,
            BETA,
            Parameter("moving_mean"),
            Parameter("moving_var"),
            attr("axis", integer),
            EPSILON,
            CENTER,
            SCALE,
            attr("momentum", real, 0.1),
            attr("training", boolean, True),
        ),
        _infer_batch_norm,
        "Elements brought to mean 0 and variance 1 by channel, scaled and shifted, and the new moving mean and"
        " variance; unless it is training by the moving ones, which stay.",
        "G.nn.batch_norm(data: (2, 3, 4, 4), gamma: (3,), beta: (3,), moving_mean: (3,), moving_var: (3,), axis=1,"
        " training=False)",
        reference=wide(_np_batch_norm),
        legalize=lambda call, types, name: (_trained if call.attrs["training"] else _applied)(call, types, name),
        fusion=OPAQUE,
    )
)
