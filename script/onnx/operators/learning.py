"""Operators of `ai.onnx.ml` on tensors of numbers, which exporters of pipelines such as scikit-learn's write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.dtype import dtype
from tirscript.ir.graph import GraphConst, GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

DOMAIN = "ai.onnx.ml"
_FLOAT = dtype("float32")


def learning_op(name: str) -> Callable[[Any], Any]:
    """Register a rule for an operator of this domain."""
    return onnx_op(f"{DOMAIN}.{name}")


def floats(node: Node) -> GraphExpr:
    """The input as float32, which the results are of."""
    x = node.tensor(0)
    return x if node.dtype(x) is _FLOAT else node.op("astype", x, "float32")


def _vector(node: Node, name: str, values: Sequence[float], count: int | None) -> GraphExpr:
    """Numbers for the columns, or one for all of them."""
    import numpy as np

    if count is not None and len(values) not in (1, count):
        raise node.wrong(f"its attribute `{name}` has {len(values)} numbers, and its input {count} columns")
    return GraphConst(constant(np.asarray(values, np.float32)))


def _columns(node: Node, x: GraphExpr) -> int | None:
    shape = node.shape(x)
    if not shape:
        raise node.wrong("its input must have 1 dimension or more, not 0")
    return dims.number(shape[-1])


@learning_op("Scaler")
def scaler(node: Node) -> GraphExpr:
    x = floats(node)
    count = _columns(node, x)
    offset = _vector(node, "offset", node.attr("offset", [0.0]), count)
    scale = _vector(node, "scale", node.attr("scale", [1.0]), count)
    return node.last("multiply", node.op("subtract", x, offset), scale)


@learning_op("Binarizer")
def binarizer(node: Node) -> GraphExpr:
    x, threshold = node.tensor(0), float(node.attr("threshold", 0.0))
    kind = node.dtype(x)
    # an integer is above what it is above the whole part of
    above = node.op("greater", x, node.constant(math.floor(threshold) if kind.is_int else threshold, kind))
    return node.last("astype", above, str(kind))


@learning_op("Normalizer")
def normalizer(node: Node) -> GraphExpr:
    """Each row divided by its greatest element, the sum of their sizes or the root of that of their squares, unless
    that is 0."""
    x, norm = floats(node), str(node.attr("norm", "MAX"))
    if norm not in ("MAX", "L1", "L2"):
        raise node.wrong(f"the norm {norm} is not supported", "one of MAX, L1, L2 is")
    _columns(node, x)
    if norm == "MAX":
        size = node.op("max", x, axis=[-1], keepdims=True)
    elif norm == "L1":
        size = node.op("sum", node.op("abs", x), axis=[-1], keepdims=True)
    else:
        size = node.op("sqrt", node.op("sum", node.op("multiply", x, x), axis=[-1], keepdims=True))
    nothing = node.op("equal", size, node.constant(0.0, _FLOAT))
    return node.last("divide", x, node.op("where", nothing, node.constant(1.0, _FLOAT), size))


@learning_op("LinearRegressor")
def linear_regressor(node: Node) -> GraphExpr:
    """Products with a row of numbers for each target."""
    import numpy as np

    x, targets = floats(node), int(node.attr("targets", 1))
    after = str(node.attr("post_transform", "NONE"))
    if after != "NONE":
        raise node.wrong(f"the transform {after} of its results is not supported", "`NONE` is")
    numbers = np.asarray(node.attr("coefficients", []), np.float32)
    if len(node.shape(x)) == 1:
        x = node.op("reshape", x, ShapeExpr((dims.ONE, node.shape(x)[0])))
    columns = dims.number(node.shape(x, 2)[1])
    if targets < 1 or numbers.size % targets or columns not in (None, numbers.size // targets):
        raise node.wrong(f"its {numbers.size} coefficients are not {targets} for each column")
    weights = GraphConst(constant(np.ascontiguousarray(numbers.reshape(targets, -1).T)))
    intercepts = np.asarray(node.attr("intercepts", [0.0] * targets), np.float32)
    if intercepts.size != targets:
        raise node.wrong(f"its attribute `intercepts` has {intercepts.size} numbers, not {targets}")
    return node.last("add", node.op("matmul", x, weights), GraphConst(constant(intercepts)))


__all__ = ["DOMAIN", "floats", "learning_op"]
