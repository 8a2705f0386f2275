"""softmax and its logarithm, the loss over it, and dropout as it is at inference."""

from __future__ import annotations

import math
from typing import Any

from ..expr import const
from ..graph import GraphType, OpCall, TensorType, TupleType
from ..graph_op import ELEMENTWISE, REDUCTION, GraphOp, Parameter
from ..op import OPS
from . import dims
from .attrs import attr, integer, real
from .kernel import T, kernel, size
from .reduce import count, float_accumulator, fold, split_axes, whole_place
from .reference import Reference, wide
from .rules import FLOATS, NUMBERS, Types, axis_of, common_dtype, equal_dims, like, rank_of, refuse, tensor
from .table import register

DATA = Parameter("data")


# -- softmax


def _infer_softmax(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, FLOATS)
    if kind.rank is not None:
        axis_of(call, call.attrs["axis"], kind.rank)
    return like(kind)


def _softmax(data: Any, out: Any, *, axis: Any, acc: Any, log: Any) -> None:
    kept, gone = split_axes(data.ndim, (axis,))
    greatest = T.alloc_buffer([size(data, d) for d in kept], data.dtype)
    fold(
        data,
        greatest,
        kept=kept,
        gone=gone,
        keepdims=False,
        start=const(-math.inf, data.dtype),
        step=OPS["max"],
        name="greatest",
    )
    total = T.alloc_buffer([size(data, d) for d in kept], acc)
    if log:
        for (*i,) in T.grid(*[size(data, d) for d in [*kept, *gone]]):
            with T.block("sum"):
                (*v,) = T.axis.remap("S" * len(kept) + "R", i)
                with T.init():
                    total[*v[: len(kept)]] = T.cast(0, acc)
                total[*v[: len(kept)]] = total[*v[: len(kept)]] + T.exp(
                    T.cast(data[*whole_place(v, kept, gone)], acc) - T.cast(greatest[*v[: len(kept)]], acc)
                )
        for (*i,) in T.grid(*data.shape):
            with T.block("log_softmax"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(
                    T.cast(data[*v], acc)
                    - T.cast(greatest[*[v[d] for d in kept]], acc)
                    - T.log(total[*[v[d] for d in kept]]),
                    out.dtype,
                )
    else:
        exponential = T.alloc_buffer(data.shape, acc)
        for (*i,) in T.grid(*data.shape):
            with T.block("exp"):
                (*v,) = T.axis.remap("S" * len(i), i)
                exponential[*v] = T.exp(T.cast(data[*v], acc) - T.cast(greatest[*[v[d] for d in kept]], acc))
        fold(
            exponential,
            total,
            kept=kept,
            gone=gone,
            keepdims=False,
            start=const(0, acc),
            step=OPS["add"],
            name="sum",
        )
        for (*i,) in T.grid(*data.shape):
            with T.block("softmax"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(exponential[*v] / total[*[v[d] for d in kept]], out.dtype)


def _np_softmax(log: bool) -> Reference:
    def reference(x: Any, axis: int) -> Any:
        import numpy as np

        moved = x - x.max(axis, keepdims=True, initial=-np.inf)
        total = np.exp(moved).sum(axis, keepdims=True)
        return moved - np.log(total) if log else np.exp(moved) / total

    return wide(reference)


for _name, _log, _doc in (
    ("nn.softmax", False, "exp(x) divided by its sum along an axis."),
    ("nn.log_softmax", True, "The logarithm of `nn.softmax`."),
):
    register(
        GraphOp(
            _name,
            (DATA, attr("axis", integer, -1)),
            _infer_softmax,
            _doc,
            f"G.{_name}(data: (2, 4), axis=-1)",
            reference=_np_softmax(_log),
            legalize=kernel(_softmax, float_accumulator, log=_log),
            fusion=REDUCTION,
        )
    )

# -- dropout, losses


def _infer_dropout(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0)
    return TupleType((like(kind), like(kind)))


def _dropout(data: Any, out: Any, mask: Any) -> None:
    for (*i,) in T.grid(*data.shape):
        with T.block("dropout"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = data[*v]
    for (*i,) in T.grid(*data.shape):
        with T.block("mask"):
            (*v,) = T.axis.remap("S" * len(i), i)
            mask[*v] = T.cast(1, mask.dtype)


def _np_dropout(x: Any, rate: float) -> Any:
    import numpy as np

    return x, np.ones_like(x)


register(
    GraphOp(
        "nn.dropout",
        (DATA, attr("rate", real, 0.5)),
        _infer_dropout,
        "The data as they are, which is what dropout means at inference, and a mask of ones.",
        "G.nn.dropout(data: (2, 3), rate=0.5)",
        reference=_np_dropout,
        legalize=kernel(_dropout),
        fusion=ELEMENTWISE,
    )
)


def _infer_cross_entropy(call: OpCall, types: Types) -> GraphType:
    found = [tensor(call, types, at, NUMBERS) for at in (0, 1)]
    kind = common_dtype(call, found, ("`predictions`", "`labels`"))
    a, b = found
    for at, one in enumerate(found):
        rank_of(call, one, at, 1, 2)
    if a.shape is not None and b.shape is not None:
        if len(a.shape) != len(b.shape):
            refuse(call, f"`predictions` is {dims.text(a.shape)} and `labels` {dims.text(b.shape)}")
        for at, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
            equal_dims(call, x, y, f"dimension {at} of `predictions` and `labels` differs")
    return TensorType((), kind)


def _cross_entropy(predictions: Any, labels: Any, out: Any, *, acc: Any) -> None:
    total = T.alloc_buffer((), acc)
    for (*i,) in T.grid(*predictions.shape):
        with T.block("sum"):
            (*v,) = T.axis.remap("R" * len(i), i)
            with T.init():
                total[()] = T.cast(0, acc)
            total[()] = total[()] - T.cast(predictions[*v], acc) * T.cast(labels[*v], acc)
    with T.block("mean"):
        out[()] = T.cast(total[()] / count([size(predictions, 0)] if predictions.ndim == 2 else [], acc), out.dtype)


def _np_cross_entropy(x: Any, labels: Any) -> Any:
    import numpy as np

    return np.asarray(-(x * labels).sum() / (x.shape[0] if x.ndim == 2 else 1)).astype(x.dtype)


register(
    GraphOp(
        "nn.cross_entropy_with_logits",
        (Parameter("predictions"), Parameter("labels")),
        _infer_cross_entropy,
        "-sum(predictions * labels), divided by the size of the batch where there is one.",
        "G.nn.cross_entropy_with_logits(predictions: (2, 3), labels: (2, 3))",
        reference=wide(_np_cross_entropy),
        legalize=kernel(_cross_entropy, float_accumulator, exact=True),
        fusion=REDUCTION,
    )
)
