"""Reductions: sums, means, extremes and where they are, running sums."""

from __future__ import annotations

from tirscript.ir.graph import GraphExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import OPERATORS, onnx_op

_PLAIN = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod"}


@onnx_op(*_PLAIN)
def plain(node: Node) -> GraphExpr:
    return _reduced(node, _PLAIN[node.proto.op_type], node.tensor(0))


@onnx_op("ReduceSumSquare")
def sum_square(node: Node) -> GraphExpr:
    return _reduced(node, "sum", _square(node))


@onnx_op("ReduceL1")
def l1(node: Node) -> GraphExpr:
    return _reduced(node, "sum", node.op("abs", node.tensor(0)))


@onnx_op("ReduceL2")
def l2(node: Node) -> GraphExpr:
    x = _real(node)
    return _as_given(node, node.op("sqrt", _reduced(node, "sum", node.op("multiply", x, x))))


@onnx_op("ReduceLogSum")
def log_sum(node: Node) -> GraphExpr:
    return _as_given(node, node.op("log", _reduced(node, "sum", _real(node))))


@onnx_op("ReduceLogSumExp")
def log_sum_exp(node: Node) -> GraphExpr:
    x = _real(node)
    axes = _axes(node)
    if _keeps_all(node):
        return node.tensor(0)
    top = node.op("max", x, axis=axes, keepdims=True)
    # of infinite numbers alone nothing is taken off: their difference would be nan
    top = node.op("where", node.op("isfinite", top), top, node.constant(0, node.dtype(x)))
    total = node.op("sum", node.op("exp", node.op("subtract", x, top)), axis=axes, keepdims=True)
    found = node.op("add", node.op("log", total), top)
    return _as_given(node, found if node.attr("keepdims", 1) else node.op("squeeze", found, axes))


def _real(node: Node) -> GraphExpr:
    """The input; integers as floats, of which roots and logarithms are."""
    x = node.tensor(0)
    return node.op("astype", x, "float64") if node.dtype(x).is_int else x


def _as_given(node: Node, found: GraphExpr) -> GraphExpr:
    """A result as what the input holds: of integers the whole part."""
    kind = node.dtype(node.tensor(0))
    return found if node.dtype(found) is kind else node.last("astype", found, str(kind))


def _square(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return node.op("multiply", x, x)


def _axes(node: Node) -> list[int] | None:
    return node.numbers(1, "axes") or None


def _keeps_all(node: Node) -> bool:
    """Whether no axis is reduced, as a node may say that has none."""
    return _axes(node) is None and bool(node.attr("noop_with_empty_axes", 0))


def _reduced(node: Node, op: str, x: GraphExpr) -> GraphExpr:
    axes = _axes(node)
    if _keeps_all(node):
        return x
    if node.dtype(x).is_bool:  # true is the larger
        found = node.op(op, node.op("astype", x, "uint8"), axis=axes, keepdims=bool(node.attr("keepdims", 1)))
        return node.last("astype", found, "bool")
    return node.last(op, x, axis=axes, keepdims=bool(node.attr("keepdims", 1)))


@onnx_op("ArgMax", "ArgMin")
def arg(node: Node) -> GraphExpr:
    x = node.tensor(0)
    axis, keep = node.axis(int(node.attr("axis", 0)), len(node.shape(x))), bool(node.attr("keepdims", 1))
    last = bool(node.attr("select_last_index", 0))
    found = node.op(node.proto.op_type.lower(), node.op("flip", x, axis) if last else x, axis=axis, keepdims=keep)
    if last:  # the first one, counted from the end
        size = dims.number(node.shape(x)[axis])
        if size is None:
            raise node.wrong("`select_last_index` along a symbolic dimension is not supported")
        found = node.op("subtract", node.constant(size - 1, node.dtype(found)), found)
    return found if str(node.dtype(found)) == "int64" else node.last("astype", found, "int64")


@onnx_op("CumSum", "CumProd")
def running(node: Node) -> GraphExpr:
    axis = node.scalar(1)
    if axis is None:
        raise node.wrong("its axis is not known before the model runs")
    x = node.tensor(0)
    given = node.op("flip", x, int(axis)) if node.attr("reverse", 0) else x
    found = node.op(node.proto.op_type.lower(), given, int(axis), exclusive=bool(node.attr("exclusive", 0)))
    return node.last("flip", found, int(axis)) if node.attr("reverse", 0) else found


__all__ = ["OPERATORS"]
