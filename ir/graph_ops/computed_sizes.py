"""Operators whose results have sizes that only the program computes, in terms of operators whose sizes are named.

A rule is given the call, the types of its arguments, and a `Bindings` that takes what it makes. Sizes that a tensor
holds become scalars of the program (`number`), which may stand in the shapes of what follows.
"""

from __future__ import annotations

from typing import Any

from ..constant import constant
from ..dtype import INT64
from ..expr import Expr, Var
from ..graph import GraphConst, GraphExpr, GraphVar, OpCall, PrimValue, ShapeExpr, TensorType, TupleExpr
from ..graph_op import Bindings
from . import dims
from .rules import Types


def _tensor(kind: Any) -> TensorType | None:
    """The type, if it is that of a tensor with a shape and a dtype."""
    return kind if type(kind) is TensorType and kind.shape is not None and kind.dtype is not None else None


def _int(value: int) -> GraphExpr:
    return GraphConst(constant(value, INT64))


def _indices(out: Bindings, count: Expr) -> GraphVar:
    """0, 1, ... up to a count."""
    return out.op("arange", PrimValue(dims.dim(0)), PrimValue(count), PrimValue(dims.ONE), dtype="int64")


def _flagged(out: Bindings, flags: GraphExpr, count: Expr) -> tuple[GraphVar, Var, GraphVar]:
    """Where a vector of `count` bools is true; how often that is; and how often it is up to each place."""
    ends = out.op("cumsum", out.op("astype", flags, "int64"), axis=0)
    total = out.op("sum", out.op("astype", flags, "int64"), axis=[0], keepdims=True)
    found = out.number(total, 0)
    # those that are not wanted go behind the end
    target = out.op("where", flags, out.op("subtract", ends, _int(1)), PrimValue(count))
    room = out.op("zeros", ShapeExpr((dims.simple(count + 1),)), dtype="int64")
    scattered = out.op("scatter_elements", room, target, _indices(out, count), axis=0)
    return _front(out, scattered, found), found, ends


def _front(out: Bindings, vector: GraphExpr, count: Expr) -> GraphVar:
    """The first elements of a vector, of which there are at least `count`."""
    return out.op("strided_slice", vector, (0,), (0,), (count,), (1,), assume_inbound=True)


def nonzero(call: OpCall, types: Types, out: Bindings) -> GraphExpr | None:
    """`G.nonzero`: places in the flat tensor, then the index of each along every axis."""
    kind = _tensor(types[0])
    if kind is None or kind.shape is None or kind.dtype is None:
        return None
    shape = kind.shape or (dims.ONE,)
    count = dims.product(shape)
    flat = out.op("reshape", call.args[0], ShapeExpr((count,)))
    flags = flat if kind.dtype.is_bool else out.op("astype", flat, "bool")
    rest, found, _ = _flagged(out, flags, count)
    rows: list[GraphExpr] = []
    for size in reversed(shape[1:]):
        rows.append(out.op("floor_mod", rest, PrimValue(size)))
        rest = out.op("floor_divide", rest, PrimValue(size))
    rows.append(rest)
    wide = [out.op("reshape", row, ShapeExpr((dims.ONE, found))) for row in reversed(rows)]
    return wide[0] if len(wide) == 1 else out.op("concat", TupleExpr(tuple(wide)), axis=0)


def unique(call: OpCall, types: Types, out: Bindings) -> GraphExpr | None:
    """`G.unique` of all elements: sorted, the first of each run of equal ones is kept. Not along an axis."""
    kind = _tensor(types[0])
    if kind is None or kind.shape is None or kind.dtype is None or call.attrs["axis"] is not None:
        return None
    count = dims.product(kind.shape)
    flat = out.op("reshape", call.args[0], ShapeExpr((count,)))
    numbers = out.op("astype", flat, "uint8") if kind.dtype.is_bool else flat
    order = out.op("argsort", numbers, axis=0, dtype="int64")
    ordered = out.op("take", numbers, order, axis=0)
    places = _indices(out, count)
    before = out.op("take", ordered, out.op("maximum", out.op("subtract", places, _int(1)), _int(0)), axis=0)
    differs = out.op("not_equal", ordered, before)
    if kind.dtype.is_float:  # nan is one value
        both = out.op("logical_and", out.op("isnan", ordered), out.op("isnan", before))
        differs = out.op("logical_and", differs, out.op("logical_not", both))
    starts = out.op("logical_or", differs, out.op("equal", places, _int(0)))
    heads, found, ends = _flagged(out, starts, count)
    values = out.op("take", ordered, heads, axis=0)
    first = out.op("take", order, heads, axis=0)
    zeros = out.op("zeros", ShapeExpr((count,)), dtype="int64")
    group = out.op("subtract", ends, _int(1))
    inverse = out.op("scatter_elements", zeros, order, group, axis=0)
    ones = out.op("ones", ShapeExpr((count,)), dtype="int64")
    counts = _front(out, out.op("scatter_elements", zeros, group, ones, axis=0, reduction="add"), found)
    if not call.attrs["sorted"]:
        turn = out.op("argsort", first, axis=0, dtype="int64")
        place = out.op("argsort", turn, axis=0, dtype="int64")
        values, first, counts = (out.op("take", one, turn, axis=0) for one in (values, first, counts))
        inverse = out.op("take", place, inverse, axis=0)
    if kind.dtype.is_bool:
        values = out.op("astype", values, "bool")
    more = {"return_index": first, "return_inverse": inverse, "return_counts": counts}
    asked = tuple(one for name, one in more.items() if call.attrs[name])
    return TupleExpr((values, *asked)) if asked else values


def tensor_to_shape(call: OpCall, types: Types, out: Bindings) -> GraphExpr | None:
    """`G.tensor_to_shape`: each element is a scalar."""
    kind = _tensor(types[0])
    count = None if kind is None or not kind.shape else dims.number(kind.shape[0])
    if count is None:
        return None
    return ShapeExpr(tuple(out.number(call.args[0], at) for at in range(count)))


def dynamic_strided_slice(call: OpCall, types: Types, out: Bindings) -> GraphExpr | None:
    """`G.dynamic_strided_slice`: how many steps each axis has, as Python counts them, and what stands at each.

    A step of 0 gives no elements.
    """
    kind = _tensor(types[0])
    if kind is None or kind.shape is None:
        return None
    x = call.args[0]
    begin, end, step = (out.op("astype", one, "int64") for one in call.args[1:])
    sizes = out.op("shape_to_tensor", ShapeExpr(kind.shape))
    down = out.op("less", step, _int(0))
    # an index is counted from the back where it is below 0, and ends at the first or last place that steps may have
    low = out.op("where", down, _int(-1), _int(0))
    high = out.op("subtract", sizes, out.op("where", down, _int(1), _int(0)))
    bounds = []
    for bound in (begin, end):
        from_back = out.op("where", out.op("less", bound, _int(0)), out.op("add", bound, sizes), bound)
        bounds.append(out.op("minimum", out.op("maximum", from_back, low), high))
    first, last = bounds
    way = out.op("where", down, out.op("subtract", first, last), out.op("subtract", last, first))
    pace = out.op("abs", step)
    steps = out.op("floor_divide", out.op("add", way, out.op("subtract", pace, _int(1))), pace)
    steps = out.op("maximum", steps, _int(0))
    for axis in range(len(kind.shape)):
        one = ((0,), (axis,), (axis + 1,), (1,))
        start, stride = (out.op("strided_slice", vector, *one) for vector in (first, step))
        count = out.number(steps, axis)
        x = out.op("take", x, out.op("add", start, out.op("multiply", _indices(out, count), stride)), axis=axis)
    return x


__all__ = ["dynamic_strided_slice", "nonzero", "tensor_to_shape", "unique"]
