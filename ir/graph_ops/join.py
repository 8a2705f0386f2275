"""Tensors joined along an axis, or along a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import INJECTIVE, GraphOp, Parameter
from . import dims
from .attrs import attr, integer, optional
from .extents import Equal
from .kernel import T, kernel, size
from .rules import Types, axis_of, common_device, common_dtype, equal_dims, of_rank, refuse, tensors
from .table import register


def _joined(call: OpCall, types: Types) -> tuple[tuple[TensorType, ...], int | None] | None:
    """The tensors of a call and their number of dimensions, which is one; None where nothing is known."""
    found = tensors(call, types, 0)
    if found is None:
        return None
    ranks = {one.rank for one in found if one.rank is not None}
    if len(ranks) > 1:
        counts = " and ".join(map(str, sorted(ranks)))
        refuse(call, f"the tensors have {counts} dimensions", "`G.expand_dims` adds dimensions of 1")
    return found, next(iter(ranks), None)


def _infer_concat(call: OpCall, types: Types) -> GraphType:
    joined = _joined(call, types)
    if joined is None:
        return TensorType()
    found, rank = joined
    kind = common_dtype(call, found, [f"field {at}" for at in range(len(found))])
    device = common_device(found)
    axis = call.attrs["axis"]
    if rank is None:
        return of_rank(1 if axis is None else None, kind, device)
    if axis is None and rank != 1:
        refuse(call, "`axis` is None, which is for tensors of 1 dimension", "give the axis: `axis=0`")
    at = 0 if axis is None else axis_of(call, axis, rank)
    shapes = [one.shape for one in found if one.shape is not None]
    for other in shapes[1:]:
        for d in range(rank):
            if d != at:
                what = f"dimension {d} of the tensors differs"
                equal_dims(call, shapes[0][d], other[d], what, f"they are joined along {at}, and agree in the others")
    if len(shapes) < len(found):
        return of_rank(rank, kind, device)
    total = shapes[0][at]
    for other in shapes[1:]:
        total = dims.add(total, other[at])
    return TensorType((*shapes[0][:at], total, *shapes[0][at + 1 :]), kind, None, device)


def _concat(tensors: Any, out: Any, *, axis: Any) -> None:
    for k, x in enumerate(tensors):
        for (*i,) in T.grid(*x.shape):
            with T.block(f"concat_{k}"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*shifted(v, axis, [size(one, axis) for one in tensors[:k]])] = x[*v]


def _agree(call: OpCall, types: Types) -> list[Equal]:
    """The dimensions of the tensors but the one along which they are joined."""
    first, *others = [one.shape or () for one in tensors(call, types, 0) or ()]
    axis = (call.attrs["axis"] or 0) % max(len(first), 1)
    return [
        (f"dimension {at} of the tensors differs", first[at], other[at])
        for other in others
        for at in range(len(first))
        if at != axis
    ]


def shifted(v: Sequence[Expr], axis: int, before: Sequence[Any]) -> list[Any]:
    """The place `v` moved along an axis by the sum of the sizes before it."""
    far: Any = 0
    for one in before:
        far = one if type(far) is int and far == 0 else far + one
    return [one + far if at == axis and not (type(far) is int and far == 0) else one for at, one in enumerate(v)]


def _np_concat(arrays: Sequence[Any], axis: int | None) -> Any:
    import numpy as np

    return np.concatenate(arrays, axis or 0)


def _positive_axis(extra: int = 0) -> Any:
    def prepare(call: OpCall, types: Types) -> Mapping[str, Any] | None:
        joined = _joined(call, types)
        if joined is None or joined[1] is None:
            return None
        return {"axis": (call.attrs["axis"] or 0) % (joined[1] + extra)}

    return prepare


register(
    GraphOp(
        "concat",
        (Parameter("tensors", "tensors"), attr("axis", optional(integer), 0)),
        _infer_concat,
        "The tensors one behind the other along an axis.",
        "G.concat((a: (2, 3), b: (2, 4)), axis=1)",
        reference=_np_concat,
        legalize=kernel(_concat, _positive_axis(), equal=_agree),
        fusion=INJECTIVE,
    )
)


def _infer_stack(call: OpCall, types: Types) -> GraphType:
    joined = _joined(call, types)
    if joined is None:
        return TensorType()
    found, rank = joined
    kind = common_dtype(call, found, [f"field {at}" for at in range(len(found))])
    device = common_device(found)
    if rank is None:
        return of_rank(None, kind, device)
    at = axis_of(call, call.attrs["axis"], rank + 1)
    shapes = [one.shape for one in found if one.shape is not None]
    for other in shapes[1:]:
        for d in range(rank):
            equal_dims(call, shapes[0][d], other[d], f"dimension {d} of the tensors differs", "they have one shape")
    if not shapes:
        return of_rank(rank + 1, kind, device)
    return TensorType((*shapes[0][:at], dims.dim(len(found)), *shapes[0][at:]), kind, None, device)


def _stack(tensors: Any, out: Any, *, axis: Any) -> None:
    for k, x in enumerate(tensors):
        for (*i,) in T.grid(*x.shape):
            with T.block(f"stack_{k}"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v[:axis], k, *v[axis:]] = x[*v]


def _np_stack(arrays: Sequence[Any], axis: int) -> Any:
    import numpy as np

    return np.stack(arrays, axis)


register(
    GraphOp(
        "stack",
        (Parameter("tensors", "tensors"), attr("axis", integer, 0)),
        _infer_stack,
        "Tensors of one shape along a new axis.",
        "G.stack((a: (2, 3), b: (2, 3)), axis=1)",
        reference=_np_stack,
        legalize=kernel(_stack, _positive_axis(1), exact=True),
        fusion=INJECTIVE,
    )
)
