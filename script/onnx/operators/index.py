"""Elements by their indices: gather, scatter, one-hot, the largest."""

from __future__ import annotations

from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleExpr
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


@onnx_op("TensorScatter")
def tensor_scatter(node: Node) -> GraphExpr:
    """A cache with new entries along an axis, from a place on that each line of the batch has for itself."""
    cache, update = node.tensor(0), node.tensor(1)
    shape, new = node.shape(cache), node.shape(update)
    axis = node.axis(int(node.attr("axis", -2)), len(shape))
    if not axis:
        raise node.wrong("its axis is that of the batch")
    place = node.op("arange", PrimValue(new[axis]), dtype="int64")
    place = node.op("reshape", place, [new[axis] if at == axis else dims.ONE for at in range(len(new))])
    if node.has(2):
        first = node.op("astype", node.tensor(2), "int64")
        place = node.op("add", place, node.op("reshape", first, [new[0], *[dims.ONE] * (len(new) - 1)]))
    mode = str(node.attr("mode", "linear"))
    if mode == "circular":
        size = node.op("shape_to_tensor", node.importer.emit(ShapeExpr((shape[axis],)), "size"))
        place = node.op("floor_mod", place, size)
    elif mode != "linear":
        raise node.wrong(f"the mode `{mode}` is not known")
    return node.last("scatter_elements", cache, node.op("broadcast_to", place, ShapeExpr(new)), update, axis=axis)


@onnx_op("NonZero")
def nonzero(node: Node) -> GraphExpr:
    x = node.tensor(0)
    return node.counted(node.op("nonzero", x), (dims.dim(max(1, len(node.shape(x)))), None))


@onnx_op("Compress")
def compress(node: Node) -> GraphExpr:
    x, chosen = node.tensor(0), node.tensor(1)
    shape = node.shape(x)
    if "axis" not in node.attrs:
        x, shape, axis = node.op("reshape", x, (dims.product(shape),)), (dims.product(shape),), 0
    else:
        axis = node.axis(int(node.attr("axis")), len(shape))
    places = node.counted(node.op("nonzero", chosen), (dims.ONE, None))
    (count,) = node.shape(places)[1:]
    return node.last("take", x, node.op("reshape", places, (count,)), axis=axis)


@onnx_op("Unique")
def unique(node: Node) -> tuple[GraphExpr, ...]:
    found = node.op(
        "unique",
        node.tensor(0),
        sorted=bool(node.attr("sorted", 1)),
        axis=None if "axis" not in node.attrs else int(node.attr("axis")),
        **dict.fromkeys(("return_index", "return_inverse", "return_counts"), True),
    )
    values, first, inverse, counts = (node.item(found, at) for at in range(4))
    if "axis" in node.attrs:
        return values, first, inverse, counts
    values = node.counted(values, (None,))
    count = node.shape(values)
    total = (dims.product(node.shape(node.tensor(0))),)
    return values, node.counted(first, count), node.counted(inverse, total), node.counted(counts, count)


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
    if not node.dtype(at).is_int:
        at = node.op("astype", at, "int64")
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
    wanted = dims.dim(int(node.attr("k"))) if "k" in node.attrs else node.one(1, "how many are wanted")
    k = dims.number(wanted)
    axis = node.axis(int(node.attr("axis", -1)), len(node.shape(node.tensor(0))))
    largest = bool(node.attr("largest", 1))
    found = node.op(
        "topk",
        node.tensor(0),
        k=k or -1,
        axis=axis,
        ret_type="both",
        largest=largest,
        dtype="int64",
    )
    both = node.item(found, 0), node.item(found, 1)
    if k:
        return both
    front = TupleExpr((PrimValue(wanted),))
    values, places = (node.op("strided_slice", one, (axis,), (0,), front, (1,)) for one in both)
    return values, places


__all__ = ["OPERATORS"]
