"""Gradients that operators of their own compute, and the marks of what a gradient goes through, which change no value.

Gradients of all other operators are made of ordinary ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..graph import GraphType, OpCall, TensorType
from ..graph_op import ELEMENTWISE, OPAQUE, GraphOp, Legalized, Parameter
from ..op import OPS
from . import dims
from .attrs import attr, boolean, borders, each, integer, one_of, text
from .extents import Equal
from .index import picked, wrapped
from .kernel import T, kernel, part, rearranged, size
from .nn_pool import _out_layout, data_index, in_window, padded_count, pool_parts, window_count
from .reference import Reference, wide
from .rules import FLOATS, INTS, Types, axis_of, equal_dims, like, rank_of, refuse, tensor
from .table import GRAPH_OPS, register
from .vision import class_place, loss_parts, weight

GRADIENT = Parameter("output_grad")


def _like_forward(call: OpCall, forward: OpCall, types: Types) -> None:
    """The gradient of a result has its shape."""
    for what, a, b in _pairs(call, forward, types):
        equal_dims(call, a, b, what)


def _pairs(call: OpCall, forward: OpCall, types: Types) -> list[Equal]:
    """The dimensions of the gradient and of the result that have to be equal."""
    given, result = tensor(call, types, 0, FLOATS), forward.op.infer(forward, types[1:])
    if type(result) is not TensorType or given.shape is None or result.shape is None:
        return []
    if len(given.shape) != len(result.shape):
        refuse(call, f"`output_grad` is {dims.text(given.shape)}, and the result is {dims.text(result.shape)}")
    pairs = enumerate(zip(given.shape, result.shape, strict=True))
    return [(f"dimension {at} of `output_grad` is not that of the result", a, b) for at, (a, b) in pairs]


def _agree(forward: Callable[[OpCall], OpCall]) -> Callable[[OpCall, Types], list[Equal]]:
    """What a kernel asks of the call where sizes are not known before: it goes over all of the gradient."""
    return lambda call, types: _pairs(call, forward(call), types)


@part
def zeros(out: Any) -> None:
    """out = 0."""
    for (*i,) in T.grid(*out.shape):
        with T.block("zeros"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = T.cast(0, out.dtype)


# -- marks


def _same_type(call: OpCall, types: Types) -> GraphType:
    return types[0]


def _np_same(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_np_same, x))
    return x.copy() if hasattr(x, "copy") else x


_copied = rearranged(lambda v, x, out, attrs: v)


def _same(call: OpCall, types: Types, name: str) -> Legalized | None:
    return _copied(call, types, name) if type(types[0]) is TensorType else None


for _name, _given, _doc in (
    ("grad.no_grad", "input", "The value, through which no gradient goes."),
    ("grad.start_checkpoint", "input", "The value, after which results are computed again for the gradient."),
    ("grad.end_checkpoint", "input", "The value, until which results are computed again for the gradient."),
    ("builtin.stop_lift_params", "x", "The value; what follows from it is not computed ahead of the call."),
):
    register(
        GraphOp(
            _name,
            (Parameter(_given, "value"),),
            _same_type,
            _doc,
            f"G.{_name}({_given}: (2, 3))",
            reference=_np_same,
            legalize=_same,
            fusion=ELEMENTWISE,
        )
    )

# -- take


def _forward_take(call: OpCall) -> OpCall:
    return GRAPH_OPS["take"](*call.args[1:], axis=call.attrs["axis"])


def _infer_take(call: OpCall, types: Types) -> GraphType:
    tensor(call, types, 2, INTS)
    _like_forward(call, _forward_take(call), types)
    return like(tensor(call, types, 1, FLOATS))


def _take(output_grad: Any, x: Any, indices: Any, out: Any, *, axis: Any) -> None:
    zeros(out)
    # one after the other: several may meet one element
    with T.block("add"):
        for (*i,) in T.grid(*output_grad.shape):
            out[*i[:axis], wrapped(picked(indices, i, axis), size(out, axis)), *i[axis + indices.ndim :]] += (
                output_grad[*i]
            )


def _take_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    rank, axis = tensor(call, types, 1).rank, call.attrs["axis"]
    return None if not rank else {"axis": 0 if axis is None else axis_of(call, axis, rank)}


def _axis(value: Any) -> int | None:
    return None if value is None else integer(value)


def _np_take(output_grad: Any, x: Any, indices: Any, axis: int | None) -> Any:
    import numpy as np

    found = np.zeros_like(x)
    at = (axis or 0) % x.ndim
    np.add.at(found, (*[slice(None)] * at, indices), output_grad)
    return found


register(
    GraphOp(
        "grad.take_backward",
        (GRADIENT, Parameter("x"), Parameter("indices", apart=True), attr("axis", _axis, None)),
        _infer_take,
        "What `x` of a `take` gets: the gradients of the elements that were taken, summed.",
        "G.grad.take_backward(output_grad: (2, 3), x: (4, 3), indices: (2,) int64, axis=0)",
        reference=_np_take,
        legalize=kernel(_take, _take_parts, equal=_agree(_forward_take)),
        fusion=OPAQUE,
    )
)  # fmt: skip

# -- pooling


def _forward_pool(call: OpCall) -> OpCall:
    return GRAPH_OPS[f"nn.{call.op.name.split('.')[1].removesuffix('_backward')}"](call.args[1], **call.attrs)


def _infer_pool(call: OpCall, types: Types) -> GraphType:
    rank_of(call, tensor(call, types, 1, FLOATS), 1, 4)
    _like_forward(call, _forward_pool(call), types)
    return like(tensor(call, types, 1))


def _pool_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    return pool_parts(_forward_pool(call), types[1:])


def _max_pool(output_grad: Any, data: Any, out: Any, *, pool_size: Any, layouts: Any, places: Any, sure: Any) -> None:
    zeros(out)
    with T.block("add"):
        for (*i,) in T.grid(*output_grad.shape):
            # the greatest element of the window, the first of several
            best = T.cast(0, out.dtype)
            chosen = T.cast(-1, "int32")
            for (*k,) in T.grid(*pool_size):
                if in_window([*i, *k], data, layouts, places, sure):
                    if greater(data[*data_index([*i, *k], layouts, places)], best, chosen):
                        best = data[*data_index([*i, *k], layouts, places)]
                        chosen = T.cast(k[0] * pool_size[1] + k[1], "int32")
            if chosen >= 0:
                out[*data_index(within(i, chosen, pool_size), layouts, places)] += output_grad[*i]


def greater(value: Any, best: Any, chosen: Any) -> Any:
    """Whether an element is the greatest so far; nan never is."""
    first = OPS["less"](chosen, 0)
    if value.dtype.is_float:
        first = OPS["logical_and"](first, OPS["equal"](value, value))
    return OPS["logical_or"](first, OPS["greater"](value, best))


def within(i: Sequence[Any], chosen: Any, pool: Sequence[int]) -> list[Any]:
    """The place of an element of a result, then that of the element of its window of that number."""
    return [*i, chosen // pool[1], chosen % pool[1]]


def _avg_pool(
    output_grad: Any, data: Any, out: Any, *, pool_size: Any, layouts: Any, places: Any, sure: Any, inside: Any,
    count_include_pad: Any,
) -> None:  # fmt: skip
    zeros(out)
    with T.block("add"):
        for (*i,) in T.grid(*output_grad.shape):
            for (*k,) in T.grid(*pool_size):
                if in_window([*i, *k], data, layouts, places, sure):
                    out[*data_index([*i, *k], layouts, places)] += output_grad[*i] / T.cast(
                        window_count(i, data, pool_size, layouts, places, sure, inside, count_include_pad), out.dtype
                    )


def _np_pool(kind: str) -> Reference:
    def reference(output_grad: Any, data: Any, **attrs: Any) -> Any:
        import numpy as np

        pool, strides, padding, dilation = (attrs[k] for k in ("pool_size", "strides", "padding", "dilation"))
        order = [attrs["layout"].index(letter) for letter in "NCHW"]
        x = data.transpose(order)
        given = output_grad.transpose([attrs["out_layout"].index(letter) for letter in "NCHW"])
        found = np.zeros_like(x)
        for place in itertools.product(*map(range, given.shape[2:])):
            axes = [
                [
                    tap
                    for k in range(pool[at])
                    if 0 <= (tap := place[at] * strides[at] - padding[at] + k * dilation[at]) < x.shape[2 + at]
                ]
                for at in (0, 1)
            ]
            taps = list(itertools.product(*axes))
            grad = given[(..., *place)]
            count = padded_count(place, x.shape[2:], attrs) if attrs["count_include_pad"] else len(taps)
            if kind == "avg":
                for tap in taps:
                    found[(..., *tap)] += grad / count
            elif taps:
                window = np.stack([x[(..., *tap)] for tap in taps], -1)
                known = ~np.isnan(window)
                best = np.where(known, window, -np.inf).argmax(-1)
                for n, c in np.ndindex(*x.shape[:2]):
                    if known[n, c].any():
                        number = int(best[n, c]) if known[n, c, best[n, c]] else int(known[n, c].argmax())
                        found[(n, c, *taps[number])] += grad[n, c]
        return found.transpose(np.argsort(order))

    return wide(reference)


for _kind, _kernel in (("max", _max_pool), ("avg", _avg_pool)):
    register(
        GraphOp(
            f"grad.{_kind}_pool2d_backward",
            (
                GRADIENT,
                Parameter("data"),
                attr("pool_size", each(2), (1, 1)),
                attr("strides", each(2), (1, 1)),
                attr("padding", borders(2), (0, 0, 0, 0)),
                attr("dilation", each(2), (1, 1)),
                attr("ceil_mode", boolean, False),
                attr("count_include_pad", boolean, False),
                attr("layout", text, "NCHW"),
                attr("out_layout", text, None),
            ),
            _infer_pool,
            f"What the data of `nn.{_kind}_pool2d` get"
            + (": the gradient of a window goes to its greatest element." if _kind == "max" else "."),
            f"G.grad.{_kind}_pool2d_backward(output_grad: (1, 2, 4, 4), data: (1, 2, 8, 8), pool_size=[2, 2], "
            "strides=[2, 2])",
            reference=_np_pool(_kind),
            complete=_out_layout,
            legalize=kernel(_kernel, _pool_parts, equal=_agree(_forward_pool)),
            fusion=OPAQUE,
        )
    )

# -- nll_loss


def _forward_loss(call: OpCall) -> OpCall:
    return GRAPH_OPS["nn.nll_loss"](*call.args[1:], **call.attrs)


def _infer_loss(call: OpCall, types: Types) -> GraphType:
    _like_forward(call, _forward_loss(call), types)
    return like(tensor(call, types, 1))


def _loss_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    return loss_parts(_forward_loss(call), types[1:])


def _loss(
    output_grad: Any, predictions: Any, targets: Any, weights: Any, out: Any, *, reduction: Any, ignore_index: Any,
    acc: Any,
) -> None:  # fmt: skip
    zeros(out)
    with T.block("loss"):
        whole = T.cast(1, acc)
        if reduction == "mean":
            whole = T.cast(0, acc)
            for (*i,) in T.grid(*targets.shape):
                whole = whole + weight(targets, weights, i, ignore_index, acc)
        for (*i,) in T.grid(*targets.shape):
            if targets[*i] != ignore_index:
                out[*class_place(i, targets[*i], out.ndim)] = T.cast(
                    -T.cast(output_grad[*(i if reduction == "none" else ())], acc)
                    * weight(targets, weights, i, ignore_index, acc)
                    / whole,
                    out.dtype,
                )


def _np_loss(output_grad: Any, predictions: Any, targets: Any, *rest: Any, reduction: str, ignore_index: int) -> Any:
    import numpy as np

    flat = predictions[None] if predictions.ndim == 1 else predictions
    places = targets[None] if predictions.ndim == 1 else targets
    kept = places != ignore_index
    weights = rest[0] if rest else np.ones(flat.shape[1], flat.dtype)
    own = np.where(kept, weights[np.where(kept, places, 0)], 0).astype(flat.dtype)
    grads = -own * np.broadcast_to(output_grad, places.shape) / (own.sum() if reduction == "mean" else 1)
    classes = np.arange(flat.shape[1]).reshape(1, -1, *[1] * (places.ndim - 1))
    found = np.where(classes == np.where(kept, places, -1)[:, None], grads[:, None], 0)
    return found.astype(flat.dtype).reshape(predictions.shape)


register(
    GraphOp(
        "grad.nll_loss_backward",
        (
            GRADIENT,
            Parameter("predictions"),
            Parameter("targets"),
            Parameter("weights", "tensor", None),
            attr("reduction", one_of("none", "mean", "sum"), "mean"),
            attr("ignore_index", integer, -100),
        ),
        _infer_loss,
        "What the predictions of `nn.nll_loss` get.",
        "G.grad.nll_loss_backward(output_grad: (), predictions: (2, 3), targets: (2,) int64)",
        reference=wide(_np_loss),
        legalize=kernel(_loss, _loss_parts, exact=True, equal=_agree(_forward_loss)),
        fusion=OPAQUE,
    )
)
