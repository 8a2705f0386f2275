"""Scaled dot-product attention on (batch, sequence, heads, head size)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..expr import Expr, const
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import ALWAYS, OPAQUE, GraphOp, Parameter
from ..op import OPS
from ..op import cast as cast_to
from . import dims
from .attrs import attr, integer, one_of, real
from .kernel import T, kernel, size
from .reduce import accumulator
from .reference import wide
from .rules import NUMBERS, Types, common_device, common_dtype, equal_dims, of_rank, rank_of, refuse, tensor
from .table import register


def _infer(call: OpCall, types: Types) -> GraphType:
    query, key, value = (tensor(call, types, at, NUMBERS) for at in range(3))
    for at, one in enumerate((query, key, value)):
        rank_of(call, one, at, 4)
    kind = common_dtype(call, (query, key, value), ("`query`", "`key`", "`value`"))
    device = common_device((query, key, value))
    if query.shape is None or key.shape is None or value.shape is None:
        return of_rank(4, kind, device)
    equal_dims(call, query.shape[0], key.shape[0], "the batches of `query` and `key` differ")
    equal_dims(call, query.shape[0], value.shape[0], "the batches of `query` and `value` differ")
    equal_dims(call, key.shape[1], value.shape[1], "the lengths of `key` and `value` differ")
    equal_dims(call, key.shape[2], value.shape[2], "the numbers of heads of `key` and `value` differ")
    equal_dims(call, query.shape[3], key.shape[3], "the head sizes of `query` and `key` differ")
    heads, shared = dims.number(query.shape[2]), dims.number(key.shape[2])
    if heads is not None and shared is not None and (shared == 0 or heads % shared):
        refuse(
            call, f"the {heads} heads of `query` are no multiple of the {shared} of `key`", "heads share keys evenly"
        )
    if len(types) > 3:
        _check_bias(call, types, (query.shape[0], query.shape[2], query.shape[1], key.shape[1]))
    return TensorType((*query.shape[:3], value.shape[3]), kind, None, device)


def _check_bias(call: OpCall, types: Types, scores: Sequence[Expr]) -> None:
    bias = tensor(call, types, 3, NUMBERS)
    rank_of(call, bias, 3, 4)
    for at, (have, want) in enumerate(zip(bias.shape or (), scores, strict=False)):
        if dims.number(have) != 1:
            shapes = f"dimension {at} of `bias`, which is (batch, heads, queries, keys), does not fit"
            equal_dims(call, have, want, shapes)


def _attention(
    query: Any, key: Any, value: Any, bias: Any, out: Any, *, scale: Any, causal_mask: Any, window_size: Any, acc: Any
) -> None:
    score = T.alloc_buffer(score_shape(query, key), acc)
    for b, h, i, j, d in T.grid(*score.shape, size(query, 3)):
        with T.block("score"):
            vb, vh, vi, vj, vd = T.axis.remap("SSSSR", [b, h, i, j, d])
            with T.init():
                score[vb, vh, vi, vj] = T.cast(0, acc)
            score[vb, vh, vi, vj] = score[vb, vh, vi, vj] + T.cast(query[vb, vi, vh, vd], acc) * T.cast(
                key[vb, vj, shared_head(vh, query, key), vd], acc
            )
    masked = T.alloc_buffer(score_shape(query, key), acc)
    for b, h, i, j in T.grid(*score.shape):
        with T.block("mask"):
            vb, vh, vi, vj = T.axis.remap("SSSS", [b, h, i, j])
            masked[vb, vh, vi, vj] = visible(
                biased(score[vb, vh, vi, vj], scale, bias, [vb, vh, vi, vj], query),
                vi,
                vj,
                query,
                key,
                causal_mask,
                window_size,
            )
    greatest = T.alloc_buffer(score_shape(query, key)[:3], acc)
    for b, h, i, j in T.grid(*score.shape):
        with T.block("greatest"):
            vb, vh, vi, vj = T.axis.remap("SSSR", [b, h, i, j])
            with T.init():
                greatest[vb, vh, vi] = const(-math.inf, acc)
            greatest[vb, vh, vi] = T.max(greatest[vb, vh, vi], masked[vb, vh, vi, vj])
    weight = T.alloc_buffer(score_shape(query, key), acc)
    for b, h, i, j in T.grid(*score.shape):
        with T.block("exp"):
            vb, vh, vi, vj = T.axis.remap("SSSS", [b, h, i, j])
            weight[vb, vh, vi, vj] = T.exp(masked[vb, vh, vi, vj] - greatest[vb, vh, vi])
    total = T.alloc_buffer(score_shape(query, key)[:3], acc)
    for b, h, i, j in T.grid(*score.shape):
        with T.block("sum"):
            vb, vh, vi, vj = T.axis.remap("SSSR", [b, h, i, j])
            with T.init():
                total[vb, vh, vi] = T.cast(0, acc)
            total[vb, vh, vi] = total[vb, vh, vi] + weight[vb, vh, vi, vj]
    mixed = T.alloc_buffer(out.shape, acc)
    for b, i, h, e, j in T.grid(*out.shape, size(key, 1)):
        with T.block("mix"):
            vb, vi, vh, ve, vj = T.axis.remap("SSSSR", [b, i, h, e, j])
            with T.init():
                mixed[vb, vi, vh, ve] = T.cast(0, acc)
            mixed[vb, vi, vh, ve] = mixed[vb, vi, vh, ve] + weight[vb, vh, vi, vj] * T.cast(
                value[vb, vj, shared_head(vh, query, key), ve], acc
            )
    for b, i, h, e in T.grid(*out.shape):
        with T.block("finish"):
            vb, vi, vh, ve = T.axis.remap("SSSS", [b, i, h, e])
            out[vb, vi, vh, ve] = T.cast(mixed[vb, vi, vh, ve] / total[vb, vh, vi], out.dtype)


def score_shape(query: Any, key: Any) -> list[Any]:
    """(batch, heads, queries, keys)."""
    return [size(query, 0), size(query, 2), size(query, 1), size(key, 1)]


def shared_head(head: Expr, query: Any, key: Any) -> Any:
    """The head of the keys that goes with one of the queries."""
    heads, shared = size(query, 2), size(key, 2)
    if dims.same(dims.dim(heads), dims.dim(shared)):
        return head
    return 0 if type(shared) is int and shared == 1 else head // (heads // shared)


def biased(score: Expr, scale: float | None, bias: Any, place: Sequence[Expr], query: Any) -> Expr:
    """score * scale + bias; the scale is 1 / sqrt(head size) unless it is given."""
    kind = score.dtype
    if scale is not None:
        found = score * const(scale, kind)
    else:
        head = size(query, 3)
        found = score * const(head**-0.5, kind) if type(head) is int else score / OPS["sqrt"](cast_to(head, kind))
    if bias is None:
        return found
    from ..expr import BufferLoad

    at = tuple(const(0, one.dtype) if size(bias, d) == 1 else one for d, one in enumerate(place))
    return found + cast_to(BufferLoad(bias, at), kind)


def visible(score: Expr, i: Expr, j: Expr, query: Any, key: Any, causal: str | None, window: int | None) -> Expr:
    """The score where a query sees a key, -inf elsewhere."""
    if causal is None and window is None:
        return score
    seen = i if causal != "BottomRight" else i + (size(key, 1) - size(query, 1))
    test = OPS["less_equal"](j, seen) if causal is not None else const(True)
    if window is not None:
        near = OPS["greater"](j, seen - window)
        test = near if causal is None else OPS["logical_and"](test, near)
    return OPS["Select"](test, score, const(-math.inf, score.dtype))


def _parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind = tensor(call, types, 0)
    return None if kind.dtype is None or not kind.dtype.is_float else {"acc": accumulator(kind.dtype)}


def _np_attention(
    query: Any, key: Any, value: Any, bias: Any = None, *, scale: Any, causal_mask: Any, window_size: Any
) -> Any:
    import numpy as np

    shared = query.shape[2] // key.shape[2]
    key, value = (np.repeat(one, shared, axis=2) for one in (key, value))
    score = np.einsum("bihd,bjhd->bhij", query, key) * (query.shape[3] ** -0.5 if scale is None else scale)
    score = score if bias is None else score + bias
    i, j = np.indices(score.shape[2:])
    seen = i + (key.shape[1] - query.shape[1] if causal_mask == "BottomRight" else 0)
    hidden = (j > seen) if causal_mask else np.zeros_like(j, bool)
    if window_size is not None:
        hidden |= j <= seen - window_size
    score = np.where(hidden, -np.inf, score)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return np.einsum("bhij,bjhd->bihd", weight / weight.sum(-1, keepdims=True), value).astype(query.dtype)


for _name, _bias in (("nn.attention", None), ("nn.attention_bias", ...)):
    register(
        GraphOp(
            _name,
            (
                Parameter("query"),
                Parameter("key"),
                Parameter("value"),
                Parameter("bias", "tensor", None) if _bias is None else Parameter("bias"),
                attr("scale", real, None),
                attr("causal_mask", one_of("TopLeft", "BottomRight"), None),
                attr("window_size", integer, None),
            ),
            _infer,
            "softmax(query @ key * scale + bias) @ value for each head, on (batch, sequence, heads, head size);"
            " a causal mask hides the keys behind a query.",
            f"G.{_name}(query: (1, 3, 2, 4), key: (1, 5, 2, 4), value: (1, 5, 2, 4)"
            + (")" if _bias is None else ", bias: (1, 2, 3, 5))"),
            reference=wide(_np_attention),
            legalize=kernel(_attention, _parts, exact=True),
            fusion=OPAQUE,
            narrow=ALWAYS,
        )
    )
