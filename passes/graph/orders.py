"""How operators follow tensors whose axes are in another order.

An order is that of `G.permute_dims(x, order)`: axis `i` of the turned tensor is axis `order[i]` of the tensor. A rule
gets a call, the ranks of its arguments and the order in which its data are, and tells the call of turned tensors:

    G.nn.softmax(x, axis=1)                            G.nn.softmax(x_turned, axis=3)      of x in (0, 2, 3, 1)
    G.sum(x, axis=[2, 3])                              G.sum(x_turned, axis=[1, 2])        its result is not turned
    G.add(x, b)                                        G.add(x_turned, b_turned)

Operators that have no rule need their tensors as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.graph import GraphExpr, OpCall, PrimValue, ShapeExpr, TensorType, TupleExpr, TupleType
from tirscript.ir.graph_op import BROADCAST, ELEMENTWISE
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.axes import axes_of
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_ops.table import GRAPH_OPS

Order = tuple[int, ...]


class Following(Struct, frozen=True, eq=False):
    """A call of turned tensors.

    args:    the order that each argument is wanted in, None where it stays what it is; one with fewer axes gets axes of
             1 before them first, as in broadcasting
    results: the order of each tensor that it gives
    attrs:   attributes that change
    instead: arguments, by their places, for which others stand: a shape in the new order
    """

    args: tuple[Order | None, ...]
    results: tuple[Order, ...]
    attrs: Mapping[str, Any] = {}
    instead: Mapping[int, GraphExpr] = {}


Rule = Callable[[OpCall, Sequence[int | None], Order], Following | None]


def following(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """How a call follows data in an order; None where it has to have them as they were.

    `ranks` are those of its arguments: of the first tensor of a tuple, and None of what is no tensor or has no known
    rank.
    """
    rule = RULES.get(call.op.name)
    return rule(call, ranks, order) if rule is not None else None


def turned_axis(axis: int, order: Order) -> int:
    """Where an axis is in turned data."""
    return order.index(axis % len(order))


def inverse(order: Order) -> Order:
    """The order that brings axes back."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def is_plain(order: Order) -> bool:
    """Whether all axes are where they were."""
    return order == tuple(range(len(order)))


def _first(call: OpCall, order: Order) -> tuple[Order | None, ...]:
    """The orders of arguments of which only the first one is turned."""
    return (order, *(None for _ in call.args[1:]))


def _without(gone: set[int], order: Order) -> Order:
    """An order from which some axes, of the data as they were, are gone."""
    kept = [axis for axis in range(len(order)) if axis not in gone]
    return tuple(kept.index(axis) for axis in order if axis not in gone)


def _each(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """Operators that take elements from the same place of all tensors, which broadcast."""
    tensors = [parameter.kind in ("tensor", "value") for parameter in call.op.values]
    known = [rank for rank, tensor in zip(ranks, tensors, strict=True) if tensor]
    if any(rank is None or rank > len(order) for rank in known):
        return None
    return Following(tuple(order if tensor else None for tensor in tensors), (order,))


def _dropout(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    return Following((order,), (order, order))


def _along_axis(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """Operators along one axis that leave the others what they are; without an axis they count all elements."""
    axis = call.attrs["axis"]
    return None if axis is None else Following(_first(call, order), (order,), {"axis": turned_axis(axis, order)})


def _batch_norm(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    return Following(_first(call, order), (order, (0,), (0,)), {"axis": turned_axis(call.attrs["axis"], order)})


def _quantize(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    scales = all(rank is not None and rank < 2 for rank in ranks[1:])  # one for each element of the axis, or one
    return _along_axis(call, ranks, order) if scales else None


def _take(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    return _along_axis(call, ranks, order) if ranks[1] == 1 else None


def _concat(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    axis = call.attrs["axis"]
    return None if axis is None else Following((order,), (order,), {"axis": turned_axis(axis, order)})


def _split(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    kind = type_of(call)
    if type(kind) is not TupleType:
        return None
    return Following((order,), (order,) * len(kind.fields), {"axis": turned_axis(call.attrs["axis"], order)})


def _gather_elements(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    return Following((order, order), (order,), {"axis": turned_axis(call.attrs["axis"], order)})


def _reduction(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    axes = call.attrs["axis"]
    gone = set(range(len(order))) if axes is None else {axis % len(order) for axis in axes}
    attrs = {} if axes is None else {"axis": tuple(turned_axis(axis, order) for axis in axes)}
    return Following(_first(call, order), (order if call.attrs["keepdims"] else _without(gone, order),), attrs)


def _place(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """`argmax` and `argmin`; without an axis they count all elements."""
    axis = call.attrs["axis"]
    if axis is None:
        return None
    result = order if call.attrs["keepdims"] else _without({axis % len(order)}, order)
    return Following((order,), (result,), {"axis": turned_axis(axis, order)})


def _norm(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """Norms over axes: the dimensions of the scale are those of `axes`, one for one."""
    attrs: dict[str, Any] = {"axes": tuple(turned_axis(axis, order) for axis in call.attrs["axes"])}
    if "channel_axis" in call.attrs:
        attrs["channel_axis"] = turned_axis(call.attrs["channel_axis"], order)
    return Following(_first(call, order), (order,), attrs)


def _in_layout(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """Operators that name the axes of data and result by letters."""
    axes = axes_of(call.attrs["layout"])
    out = call.attrs.get("out_layout")
    if len(axes) != len(order) or any(count for _, count in axes) or out not in (None, call.attrs["layout"]):
        return None
    layout = "".join(axes[axis][0] for axis in order)
    attrs = {"layout": layout, **({"out_layout": layout} if out is not None else {})}
    return Following(_first(call, order), (order,), attrs)


def _pool_backward(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    """Gradients of pools, which take that of the result beside the data."""
    found = _in_layout(call, ranks, order)
    return None if found is None else Following((order, order), found.results, found.attrs)


def _squeeze(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    axes, kind = call.attrs["axis"], type_of(call.args[0])
    if axes is None or type(kind) is not TensorType or kind.shape is None:
        return None
    sizes = {axis % len(order): dims.number(kind.shape[axis]) for axis in axes}
    if None in sizes.values():
        return None
    gone = {axis for axis, size in sizes.items() if size == 1}  # the others stay
    return Following((order,), (_without(gone, order),), {"axis": tuple(turned_axis(axis, order) for axis in axes)})


def _pad(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    given = call.attrs["pad_width"]
    width = tuple(one for axis in order for one in given[2 * axis : 2 * axis + 2])
    return Following((order,), (order,), {"pad_width": width})


def _tile(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    given = call.attrs["repeats"]
    if len(given) != len(order):
        return None
    return Following((order,), (order,), {"repeats": tuple(given[axis] for axis in order)})


def _broadcast_to(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    shape = call.args[1]
    if type(shape) is not ShapeExpr or len(shape.values) != len(order):
        return None
    return Following((order, None), (order,), instead={1: ShapeExpr(tuple(shape.values[axis] for axis in order))})


def _strided_slice(call: OpCall, ranks: Sequence[int | None], order: Order) -> Following | None:
    axes = call.args[1]
    if type(axes) is not TupleExpr or not all(type(axis) is PrimValue for axis in axes.fields):
        return None
    numbers = [dims.number(axis.value) for axis in axes.fields]  # type: ignore[attr-defined]
    if any(number is None for number in numbers):
        return None
    turned = [PrimValue(dims.dim(turned_axis(number, order))) for number in numbers if number is not None]
    return Following(_first(call, order), (order,), instead={1: TupleExpr(tuple(turned))})


# Of each element, but for where it is: they stand in the order of the axes.
_BY_PLACE = ("eye_like", "outer", "tril", "triu")
_OTHERS = ("broadcast_to", "dequantize", "nn.dropout", "nn.prelu", "quantize")

RULES: dict[str, Rule] = {
    name: _each
    for name, op in GRAPH_OPS.items()
    if op.fusion in (ELEMENTWISE, BROADCAST) and name not in (*_BY_PLACE, *_OTHERS)
}
RULES |= dict.fromkeys(("sum", "mean", "prod", "max", "min", "variance", "std"), _reduction)
RULES |= dict.fromkeys(("nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.instance_norm"), _norm)
RULES |= dict.fromkeys(("nn.softmax", "nn.log_softmax", "nn.prelu", "flip", "repeat", "cumsum", "cumprod"), _along_axis)
RULES |= dict.fromkeys(("quantize", "dequantize"), _quantize)
RULES |= dict.fromkeys(("argmax", "argmin"), _place)
RULES |= dict.fromkeys(
    (f"nn.{kind}_pool{rank}d" for kind in ("max", "avg", "adaptive_avg") for rank in (1, 2, 3)), _in_layout
)
RULES |= dict.fromkeys(("image.resize2d", "image.resize3d", "image.grid_sample"), _in_layout)
RULES |= dict.fromkeys(("grad.max_pool2d_backward", "grad.avg_pool2d_backward"), _pool_backward)
RULES |= {
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "gather_elements": _gather_elements,
    "nn.batch_norm": _batch_norm,
    "nn.dropout": _dropout,
    "nn.pad": _pad,
    "split": _split,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "take": _take,
    "tile": _tile,
}

__all__ = ["RULES", "Following", "Order", "following", "inverse", "is_plain", "turned_axis"]
