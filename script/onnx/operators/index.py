"""Elements by their indices: gather, scatter, one-hot, the largest."""

from __future__ import annotations

from tirscript.ir.graph import GraphExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import OPERATORS, onnx_op

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


@onnx_op("Gather")
def gather(node: Node) -> GraphExpr:
    x, at = node.tensors()
    axis = node.axis(int(node.attr("axis", 0)), len(node.shape(x)))
    return node.last("take", x, at, axis=axis, mode=_mode(node, dims.number(node.shape(x)[axis])))


def _mode(node: Node, size: int | None) -> str:
    """How indices are read: those below 0 count from the end, which "wrap" does; known ones are looked at here."""
    data = node.data(1)
    if data is None or not data.size:
        return "wrap"
    low, high = int(data.array.min()), int(data.array.max())
    if size is not None and not -size <= low <= high < size:
        raise node.wrong(f"its index {high if high >= size else low} is none of {size} elements")
    # the first one is taken as if it were known to be there
    return "fast" if low >= 0 and (size is not None or high == 0) else "wrap"


@onnx_op("GatherElements")
def gather_elements(node: Node) -> GraphExpr:
    x, at = node.tensors()
    axis = node.axis(int(node.attr("axis", 0)), len(node.shape(x)))
    return node.last("gather_elements", x, at, axis=axis)


@onnx_op("GatherND")
def gather_nd(node: Node) -> GraphExpr:
    x, at = node.tensors()
    return node.last("gather_nd", x, at, batch_dims=int(node.attr("batch_dims", 0)))


def _reduction(node: Node) -> str:
    word = str(node.attr("reduction", "none"))
    if word not in _REDUCTIONS:
        raise node.wrong(f"the reduction `{word}` is not supported")
    return _REDUCTIONS[word]


@onnx_op("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> GraphExpr:
    x, at, updates = node.tensors()
    axis = node.axis(int(node.attr("axis", 0)), len(node.shape(x)))
    return node.last("scatter_elements", x, at, updates, axis=axis, reduction=_reduction(node))


@onnx_op("ScatterND")
def scatter_nd(node: Node) -> GraphExpr:
    x, at, updates = node.tensors()
    return node.last("scatter_nd", x, at, updates, reduction=_reduction(node))


@onnx_op("NonZero")
def nonzero(node: Node) -> GraphExpr:
    return node.last("nonzero", node.tensor(0))


@onnx_op("Unique")
def unique(node: Node) -> tuple[GraphExpr, ...]:
    found = node.op(
        "unique",
        node.tensor(0),
        sorted=bool(node.attr("sorted", 1)),
        axis=None if "axis" not in node.attrs else int(node.attr("axis")),
        **dict.fromkeys(("return_index", "return_inverse", "return_counts"), True),
    )
    return tuple(node.item(found, at) for at in range(4))


@onnx_op("ReverseSequence")
def reverse_sequence(node: Node) -> GraphExpr:
    x, lengths = node.tensors()
    time, batch = int(node.attr("time_axis", 0)), int(node.attr("batch_axis", 1))
    return node.last("reverse_sequence", x, lengths, seq_axis=time, batch_axis=batch)


@onnx_op("OneHot")
def one_hot(node: Node) -> GraphExpr:
    at, depth, values = node.tensor(0), node.scalar(1), node.data(2)
    if depth is None or values is None:
        raise node.wrong("its depth or its values are not known before the model runs")
    if values.array.shape != (2,):
        raise node.wrong(f"its values have the shape {values.array.shape}, not (2,)")
    off, on = values.array.tolist()
    kind = values.dtype
    kept = node.op(
        "where",
        node.op("less", at, node.constant(0, node.dtype(at))),
        node.op("add", at, node.constant(int(depth), node.dtype(at))),
        at,
    )
    axis = int(node.attr("axis", -1))
    return node.last("one_hot", kept, node.constant(on, kind), node.constant(off, kind), depth=int(depth), axis=axis)


@onnx_op("TopK")
def top_k(node: Node) -> tuple[GraphExpr, ...]:
    wanted = None if "k" in node.attrs else node.single(1)
    k = node.attr("k") if "k" in node.attrs else dims.number(wanted) if wanted is not None else None
    if k is None:
        raise node.wrong("how many are wanted is not known before the model runs")
    largest = bool(node.attr("largest", 1))
    found = node.op(
        "topk",
        node.tensor(0),
        k=int(k),
        axis=int(node.attr("axis", -1)),
        ret_type="both",
        largest=largest,
        dtype="int64",
    )
    return node.item(found, 0), node.item(found, 1)


__all__ = ["OPERATORS"]
