"""Tensors in another shape or order: reshape, permute_dims, broadcast_to, tile, flip and their like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

from ..expr import Expr, const
from ..graph import GraphExpr, GraphType, OpCall, TensorType
from ..graph_op import BROADCAST, INJECTIVE, GraphOp, Parameter
from ..op import OPS, fail
from ..stmt import Assert
from ..words import counted
from . import dims
from .attrs import AXES, AXIS, attr, integer, integers
from .infer import type_of
from .kernel import T, as_many, asking, element, flat, kernel, rearranged, size, unflat
from .rules import (
    INTS,
    Types,
    axes_of,
    axis_of,
    equal_dims,
    like,
    of_rank,
    of_shape,
    rank_of,
    refuse,
    target_shape,
    tensor,
)
from .table import register

X = Parameter("x")
DATA = Parameter("data")


def _sizes(buffer: Any) -> list[Any]:
    return [size(buffer, axis) for axis in range(buffer.ndim)]


# -- reshape


def _bind_reshape(given: dict[str, Any]) -> dict[str, Any]:
    """-1 stands for the dimension that the others leave, and 0 for that of `x` at its place, where `x` has elements."""
    target = [-1] if type(given["shape"]) is int and given["shape"] == -1 else given["shape"]
    if not isinstance(target, (tuple, list)):
        return given
    free = [at for at, one in enumerate(target) if type(one) is int and one == -1]
    zeros = [at for at, one in enumerate(target) if type(one) is int and one == 0]
    if not free and not zeros:
        return given
    if len(free) > 1:
        raise fail("T032", "`G.reshape`: more than one dimension is -1", "the others decide one dimension at most")
    kind = type_of(given["x"]) if isinstance(given["x"], GraphExpr) else None
    if type(kind) is not TensorType or kind.shape is None:
        if not free:
            return given
        raise fail("T207", "`G.reshape`: -1 needs the shape of `x`, which is not known here", "write all dimensions")
    if dims.number(dims.product(kind.shape)) != 0:
        target = [kind.shape[at] if at in zeros and at < len(kind.shape) else one for at, one in enumerate(target)]
    return {**given, "shape": _without_free(kind.shape, list(target), free)}


def _without_free(shape: dims.Shape, target: list[Any], free: list[int]) -> list[Any]:
    total = dims.product(shape)
    if free:
        others = [dims.dim(one) for at, one in enumerate(target) if at != free[0]]
        given = dims.product(others)
        if dims.number(given) == 0:
            raise fail("T207", "`G.reshape`: -1 is not decided beside a dimension of 0")
        rest = dims.quotient(shape, others)
        if dims.differ(dims.mul(rest, given), total):
            message = f"the {dims.text(total)} elements of {dims.text(shape)} do not fill {_shown(target)}"
            raise fail("T207", f"`G.reshape`: {message}")
        target[free[0]] = rest
    return target


def _shown(target: Sequence[Any]) -> str:
    return dims.text([dims.dim(one) for one in target])


def _infer_reshape(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    target = target_shape(call, types, 1)
    if kind.shape is not None and target.values is not None:
        have, want = dims.product(kind.shape), dims.product(target.values)
        if dims.differ(have, want):
            shapes = f"{dims.text(kind.shape)} has {dims.text(have)} elements"
            refuse(call, f"{shapes}, and {dims.text(target.values)} has {dims.text(want)}", "the number of them stays")
    return of_shape(target, kind.dtype, kind.vdevice)


def regrouped(v: Sequence[Any], into: Sequence[Any], out: Sequence[Any]) -> list[Any]:
    """The place in a shape `into` of the element `v` of a shape `out` of as many elements.

    Dimensions are taken in the smallest groups that have as many elements on both sides, so that what stays is not
    divided and multiplied.
    """
    if any(type(one) is int and one == 0 for one in into):
        return [v[0]] * len(into)  # no element is moved
    place: list[Any] = []
    a = b = 0
    while a < len(into) or b < len(out):
        first, second = a, b
        have, want = 1, 1
        if a < len(into):
            have, a = into[a], a + 1
        if b < len(out):
            want, b = out[b], b + 1
        while not _same(have, want):
            if a < len(into) and (b >= len(out) or _below(have, want)):
                have, a = have * into[a], a + 1
            elif b < len(out):
                want, b = want * out[b], b + 1
            else:
                break
        if b - second == 1 and a - first == 1:
            place.append(v[second])
        else:
            place += unflat(flat(v[second:b], out[second:b]), into[first:a])
    return place


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, int) and isinstance(b, int) else dims.same(dims.dim(a), dims.dim(b))


def _below(a: Any, b: Any) -> bool:
    return a < b if isinstance(a, int) and isinstance(b, int) else isinstance(a, int) or not isinstance(b, int)


def _reshaped(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    return regrouped(v, _sizes(x), _sizes(out))


def _np_reshape(x: Any, shape: Sequence[int]) -> Any:
    return x.reshape(shape)


register(
    GraphOp(
        "reshape",
        (X, Parameter("shape", "shape")),
        _infer_reshape,
        "The elements in their order in another shape; -1 stands for the dimension that the others leave.",
        "G.reshape(x: (2, 6), (3, 4))",
        reference=_np_reshape,
        bind=_bind_reshape,
        legalize=as_many(rearranged(_reshaped)),
        fusion=INJECTIVE,
    )
)


def _infer_flatten(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.shape is None:
        return of_rank(1, kind.dtype, kind.vdevice)
    return TensorType((dims.product(kind.shape),), kind.dtype, None, kind.vdevice)


def _infer_batch_flatten(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.rank is not None and kind.rank < 2:
        refuse(call, f"`data` must have at least 2 dimensions, not {kind.rank}")
    if kind.shape is None:
        return of_rank(2, kind.dtype, kind.vdevice)
    return TensorType((kind.shape[0], dims.product(kind.shape[1:])), kind.dtype, None, kind.vdevice)


for _name, _infer, _parameter, _doc, _example, _reference in (
    ("flatten", _infer_flatten, X, "The elements in their order.", "(2, 3)", lambda x: x.reshape(-1)),
    (
        "nn.batch_flatten",
        _infer_batch_flatten,
        DATA,
        "All dimensions but the first as one.",
        "(2, 3, 4)",
        lambda x: x.reshape(x.shape[0], math.prod(x.shape[1:])),
    ),
):
    register(
        GraphOp(
            _name,
            (_parameter,),
            _infer,
            _doc,
            f"G.{_name}({_parameter.name}: {_example})",
            reference=_reference,
            legalize=as_many(rearranged(_reshaped)),
            fusion=INJECTIVE,
        )
    )

# -- order and number of dimensions


def _infer_permute(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    axes = call.attrs["axes"]
    if kind.rank is None:
        return of_rank(None if axes is None else len(axes), kind.dtype, kind.vdevice)
    order = tuple(range(kind.rank))[::-1] if axes is None else axes_of(call, axes, kind.rank, "axes")
    if len(order) != kind.rank:
        refuse(call, f"`axes` has {len(order)} of the {kind.rank} axes of `x`", "it names each axis once")
    return like(kind, shape=None if kind.shape is None else tuple(kind.shape[axis] for axis in order))


def _permuted(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    axes = attrs["axes"]
    order = list(range(x.ndim))[::-1] if axes is None else [axis % x.ndim for axis in axes]
    return [v[order.index(axis)] for axis in range(x.ndim)]


def _np_permute(x: Any, axes: Sequence[int] | None) -> Any:
    return x.transpose(axes)


register(
    GraphOp(
        "permute_dims",
        (X, attr("axes", integers, None)),
        _infer_permute,
        "The dimensions in another order; reversed where none is given.",
        "G.permute_dims(x: (2, 3, 4), axes=[0, 2, 1])",
        reference=_np_permute,
        legalize=rearranged(_permuted),
        fusion=INJECTIVE,
    )
)


def _infer_expand(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    axes = call.attrs["axis"]
    if kind.rank is None:
        return of_rank(None, kind.dtype, kind.vdevice)
    new = frozenset(axes_of(call, axes, kind.rank + len(axes)))
    if kind.shape is None:
        return of_rank(kind.rank + len(axes), kind.dtype, kind.vdevice)
    rest = iter(kind.shape)
    return like(kind, shape=tuple(dims.ONE if at in new else next(rest) for at in range(kind.rank + len(axes))))


def _expanded(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    new = {axis % len(v) for axis in attrs["axis"]}
    return [one for at, one in enumerate(v) if at not in new]


def _np_expand(x: Any, axis: Sequence[int]) -> Any:
    import numpy as np

    return np.expand_dims(x, axis)


register(
    GraphOp(
        "expand_dims",
        (X, attr("axis", integers)),
        _infer_expand,
        "New dimensions of 1 at some places of the result.",
        "G.expand_dims(x: (2, 3), axis=[0, -1])",
        reference=_np_expand,
        legalize=rearranged(_expanded),
        fusion=INJECTIVE,
    )
)


def _infer_squeeze(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    axes = call.attrs["axis"]
    if kind.rank is None:
        return of_rank(None, kind.dtype, kind.vdevice)
    if axes is None:
        if kind.shape is None or any(dims.number(one) is None for one in kind.shape):
            ones = kind.shape is not None and not any(dims.number(one) == 1 for one in kind.shape)
            sure = ones and kind.shape is not None and all(dims.differ(one, dims.ONE) for one in kind.shape)
            return kind if sure else of_rank(None, kind.dtype, kind.vdevice)
        return like(kind, shape=tuple(one for one in kind.shape if dims.number(one) != 1))
    gone = axes_of(call, axes, kind.rank)
    if kind.shape is None:
        return of_rank(kind.rank - len(gone), kind.dtype, kind.vdevice)
    for at in gone:
        if dims.number(kind.shape[at]) is None:
            what = f"dimension {at} of `x` is not 1 and cannot be left out"
            equal_dims(call, kind.shape[at], dims.ONE, what, "`G.reshape` merges dimensions")
    left = [at not in gone or dims.number(one) not in (None, 1) for at, one in enumerate(kind.shape)]
    return like(kind, shape=tuple(compress(kind.shape, left)))


def _squeezed(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    axes = attrs["axis"]
    sizes = _sizes(x)
    named = range(x.ndim) if axes is None else {axis % x.ndim for axis in axes}
    gone = {at for at in named if sizes[at] == 1 or (axes is not None and type(sizes[at]) is not int)}
    rest = iter(v)
    return [0 if at in gone else next(rest) for at in range(x.ndim)]


def _np_squeeze(x: Any, axis: Sequence[int] | None) -> Any:
    import numpy as np

    named = range(x.ndim) if axis is None else axis
    return np.squeeze(x, tuple(at for at in named if x.shape[at] == 1))


register(
    GraphOp(
        "squeeze",
        (X, AXES),
        _infer_squeeze,
        "Dimensions of 1 left out, of the axes where some are given; one that is known to be another number stays.",
        "G.squeeze(x: (1, 3, 1), axis=[0])",
        reference=_np_squeeze,
        legalize=as_many(rearranged(_squeezed)),
        fusion=INJECTIVE,
    )
)


def _infer_broadcast_to(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    target = target_shape(call, types, 1)
    if kind.rank is not None and target.rank is not None and target.rank < kind.rank:
        refuse(call, f"a tensor of {counted(kind.rank, 'dimension')} does not broadcast to {target.rank}")
    if kind.shape is not None and target.values is not None:
        for have, want in zip(reversed(kind.shape), reversed(target.values), strict=False):
            if dims.number(have) != 1 and dims.differ(have, want):
                shapes = f"{dims.text(kind.shape)} does not broadcast to {dims.text(target.values)}"
                refuse(call, f"{shapes}: {dims.text(have)} is neither 1 nor {dims.text(want)}")
    return of_shape(target, kind.dtype, kind.vdevice)


def _broadcast(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    found = list(element(x, v, out.shape).indices)
    for axis, size_, _ in _unsure(x.shape, out.shape):
        found[axis] = OPS["Select"](
            OPS["equal"](size_, const(1, size_.dtype)), const(0, found[axis].dtype), found[axis]
        )
    return found


def _unsure(source: Sequence[Expr], result: Sequence[Expr]) -> list[tuple[int, Expr, Expr]]:
    """The axes of an argument along which only the call knows whether it has one element or those of the result."""
    last = result[len(result) - len(source) :]
    sizes = [(dims.dim(one), dims.dim(other)) for one, other in zip(source, last, strict=True)]
    return [
        (axis, one, other)
        for axis, (one, other) in enumerate(sizes)
        if dims.number(one) is None and not dims.same(one, other) and not dims.differ(one, dims.ONE)
    ]


def _broadcasting(call: OpCall, source: Sequence[Expr], result: Sequence[Expr]) -> list[Assert]:
    """What asks whether the sizes of an argument are 1 or those of the result."""
    asked = []
    for axis, one, other in _unsure(source, result):
        fits = OPS["equal"](one, other)
        if dims.number(other) != 1:
            fits = OPS["logical_or"](OPS["equal"](one, dims.ONE), fits)
        message = f"`{call.op.spelling}`: dimension {axis} of `x` has to be 1 or {dims.text(other)}"
        asked.append(Assert(fits, message, span=call.span))
    return asked


def _np_broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    import numpy as np

    return np.broadcast_to(x, shape)


register(
    GraphOp(
        "broadcast_to",
        (X, Parameter("shape", "shape")),
        _infer_broadcast_to,
        "Dimensions of 1 repeated to a shape, and new ones before them.",
        "G.broadcast_to(x: (3, 1), (2, 3, 4))",
        reference=_np_broadcast_to,
        legalize=asking(rearranged(_broadcast, exact=True), _broadcasting),
        fusion=BROADCAST,
    )
)

# -- repeated, reversed


def _infer_repeat(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    axis, times = call.attrs["axis"], call.attrs["repeats"]
    if times < 0:
        refuse(call, f"`repeats` is {times}", "it is 0 or more", "T032")
    if axis is None:
        if kind.shape is None:
            return of_rank(1, kind.dtype, kind.vdevice)
        return TensorType((dims.mul(dims.product(kind.shape), times),), kind.dtype, None, kind.vdevice)
    if kind.rank is None:
        return like(kind)
    at = axis_of(call, axis, kind.rank)
    if kind.shape is None:
        return like(kind)
    return like(kind, shape=tuple(dims.mul(one, times) if d == at else one for d, one in enumerate(kind.shape)))


def _repeated(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    axis, times = attrs["axis"], attrs["repeats"]
    if axis is None:
        return unflat(v[0] // times, _sizes(x))
    return [one // times if at == axis % x.ndim else one for at, one in enumerate(v)]


def _np_repeat(x: Any, repeats: int, axis: int | None) -> Any:
    import numpy as np

    return np.repeat(x, repeats, axis)


register(
    GraphOp(
        "repeat",
        (DATA, attr("repeats", integer), attr("axis", integer, None)),
        _infer_repeat,
        "Each element several times, along an axis or of all in order.",
        "G.repeat(data: (2, 3), repeats=2, axis=1)",
        reference=_np_repeat,
        legalize=rearranged(_repeated),
        fusion=INJECTIVE,
    )
)


def _infer_tile(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    times = call.attrs["repeats"]
    if any(one < 0 for one in times):
        refuse(call, f"`repeats` is {list(times)}", "they are 0 or more", "T032")
    if kind.shape is None:
        return of_rank(None if kind.rank is None else max(kind.rank, len(times)), kind.dtype, kind.vdevice)
    rank = max(len(kind.shape), len(times))
    shape = [*[dims.ONE] * (rank - len(kind.shape)), *kind.shape]
    counts = [*[1] * (rank - len(times)), *times]
    return like(kind, shape=tuple(dims.mul(a, b) for a, b in zip(shape, counts, strict=True)))


def _tiled(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    own = v[len(v) - x.ndim :]
    times = [*[1] * (len(v) - len(attrs["repeats"])), *attrs["repeats"]][len(v) - x.ndim :]
    return [at if n == 1 else at % extent for at, extent, n in zip(own, _sizes(x), times, strict=True)]


def _np_tile(x: Any, repeats: Sequence[int]) -> Any:
    import numpy as np

    return np.tile(x, repeats)


register(
    GraphOp(
        "tile",
        (DATA, attr("repeats", integers)),
        _infer_tile,
        "The whole tensor several times along each dimension.",
        "G.tile(data: (2, 3), repeats=[2, 1])",
        reference=_np_tile,
        legalize=rearranged(_tiled),
        fusion=INJECTIVE,
    )
)


def _infer_flip(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    if kind.rank is not None:
        axis_of(call, call.attrs["axis"], kind.rank)
    return like(kind)


def _flipped(v: Sequence[Expr], x: Any, out: Any, attrs: Mapping[str, Any]) -> Sequence[Any]:
    axis = attrs["axis"] % x.ndim
    return [size(x, at) - 1 - one if at == axis else one for at, one in enumerate(v)]


def _np_flip(x: Any, axis: int) -> Any:
    import numpy as np

    return np.flip(x, axis)


register(
    GraphOp(
        "flip",
        (DATA, AXIS),
        _infer_flip,
        "The elements along an axis in reverse order.",
        "G.flip(data: (2, 3), axis=1)",
        reference=_np_flip,
        legalize=rearranged(_flipped),
        fusion=INJECTIVE,
    )
)


def _infer_reverse(call: OpCall, types: Types) -> GraphType:
    kind, lengths = tensor(call, types, 0), tensor(call, types, 1, INTS)
    rank_of(call, lengths, 1, 1)
    if kind.rank is not None:
        seq, batch = (axis_of(call, call.attrs[name], kind.rank, name) for name in ("seq_axis", "batch_axis"))
        if seq == batch:
            refuse(call, f"`seq_axis` and `batch_axis` are both {seq}")
        if kind.shape is not None and lengths.shape is not None:
            what = "the batch and `seq_lengths` differ in length"
            equal_dims(call, kind.shape[batch], lengths.shape[0], what)
    return like(kind)


def _reverse(data: Any, seq_lengths: Any, out: Any, *, seq: Any, batch: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("reverse"):
            (*v,) = T.axis.remap("S" * len(i), i)
            length = T.cast(T.min(seq_lengths[v[batch]], whole(data, seq, seq_lengths)), v[seq].dtype)
            place = T.if_then_else(v[seq] < length, length - 1 - v[seq], v[seq])
            out[*v] = data[*v[:seq], place, *v[seq + 1 :]]


def whole(data: Any, axis: int, lengths: Any) -> Any:
    """The length of an axis in the dtype of the lengths."""
    found = size(data, axis)
    return const(min(found, lengths.dtype.int_range()[1]), lengths.dtype) if type(found) is int else found


def _np_reverse(x: Any, lengths: Any, seq_axis: int, batch_axis: int) -> Any:
    import numpy as np

    found = np.array(x)
    moved = np.moveaxis(found, (batch_axis, seq_axis), (0, 1))
    source = np.moveaxis(x, (batch_axis, seq_axis), (0, 1))
    for at, length in enumerate(np.maximum(lengths, 0)):
        moved[at, :length] = source[at, :length][::-1]
    return found


register(
    GraphOp(
        "reverse_sequence",
        (DATA, Parameter("seq_lengths"), attr("seq_axis", integer, 1), attr("batch_axis", integer, 0)),
        _infer_reverse,
        "The first elements along an axis in reverse order, as many as `seq_lengths` says for each of the batch.",
        "G.reverse_sequence(data: (2, 3), seq_lengths: (2,) int64, seq_axis=1, batch_axis=0)",
        reference=_np_reverse,
        legalize=kernel(
            _reverse,
            lambda call, types: {
                "seq": call.attrs["seq_axis"] % (tensor(call, types, 0).rank or 1),
                "batch": call.attrs["batch_axis"] % (tensor(call, types, 0).rank or 1),
            },
        ),
        fusion=INJECTIVE,
    )
)
