"""Random calls of operators of the graph with the arrays that they are of, and what their references give."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from helpers.graph_draw import Draw
from helpers.graph_samples_images import SAMPLES
from tirscript.ir import dtype
from tirscript.ir.graph import (
    GraphConst,
    GraphExpr,
    GraphType,
    GraphVar,
    OpCall,
    PrimValue,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_op import Legalized
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.graph_ops.infer import type_of

CALLS = frozenset(name for name, op in GRAPH_OPS.items() if op.infer.__module__ == CALL_TIR.infer.__module__)
REFERENCED = [name for name, op in GRAPH_OPS.items() if op.reference is not None]


def drawn(name: str, seed: int) -> tuple[OpCall, dict[int, Any]]:
    """A random call of an operator, and the arrays that its variables stand for."""
    args, attrs = SAMPLES[name](Draw(zlib.crc32(name.encode()) + seed))
    values: dict[int, Any] = {}

    def graph(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            var = GraphVar("x", TensorType(dims.shape(value.shape), dtype(value.dtype.name)))
            values[id(var)] = value
            return var
        if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
            return TupleExpr(tuple(map(graph, value)))
        return value

    call = GRAPH_OPS[name](*map(graph, args), **attrs)
    return call, values


def value_of(expr: GraphExpr, values: dict[int, Any]) -> Any:
    if isinstance(expr, TupleExpr):
        return tuple(value_of(one, values) for one in expr.fields)
    if isinstance(expr, ShapeExpr):
        return dims.numbers(expr.values)
    if isinstance(expr, PrimValue):
        return expr.value.value  # type: ignore[attr-defined]
    return expr.data.array if isinstance(expr, GraphConst) else values[id(expr)]


def expected(call: OpCall, values: dict[int, Any]) -> tuple[Any, ...]:
    """What the reference gives."""
    assert call.op.reference is not None
    with np.errstate(all="ignore"):
        found = call.op.reference(*[value_of(arg, values) for arg in call.args], **call.attrs)
    return found if isinstance(found, tuple) and not isinstance(type_of(call), ShapeType) else (found,)


def results(kind: GraphType) -> tuple[GraphType, ...]:
    return kind.fields if isinstance(kind, TupleType) else (kind,)


def legalized(call: OpCall) -> Legalized | None:
    assert call.op.legalize is not None
    return call.op.legalize(call, tuple(map(type_of, call.args)), "kernel")
