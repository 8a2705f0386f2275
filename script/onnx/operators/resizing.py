"""A tensor resized along one axis: the places in it of the elements of the result, and the weights of those around.

Places and weights are arrays where the sizes are known, else vectors that the model computes, by the same operators:
an array is what the operator's reference gives.
"""

from __future__ import annotations

import math
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr
from tirscript.ir.graph_ops import GRAPH_OPS, dims

from ..node import Node


class Line:
    """Numbers along an axis, float32: an array, or a vector of the model."""

    def __init__(self, node: Node, value: Any) -> None:
        self.node, self.value = node, value

    def of(self, name: str, *others: Any, **attrs: Any) -> Line:
        """What an operator gives of these numbers and others."""
        import numpy as np

        given = [self.value, *(one.value if isinstance(one, Line) else np.float32(one) for one in others)]
        if not any(isinstance(one, GraphExpr) for one in given):
            return Line(self.node, np.asarray(GRAPH_OPS[name].reference(*map(np.asarray, given), **attrs)))  # type: ignore[misc]
        args = [one if isinstance(one, GraphExpr) else GraphConst(constant(np.asarray(one))) for one in given]
        return Line(self.node, self.node.op(name, *args, **attrs))

    def __add__(self, other: Any) -> Line:
        return self.of("add", other)

    def __sub__(self, other: Any) -> Line:
        return self.of("subtract", other)

    def __mul__(self, other: Any) -> Line:
        return self.of("multiply", other)

    def __truediv__(self, other: Any) -> Line:
        return self.of("divide", other)

    def minus_from(self, number: float) -> Line:
        """A number less these."""
        return self.of("negative") + number

    def chosen(self, kept: Line, otherwise: Any) -> Line:
        """`kept` where these bools are true."""
        return self.of("where", kept, otherwise)

    def indices(self, size: Expr) -> GraphExpr:
        """These whole numbers as indices of an axis of that size, those outside as the first or the last."""
        import numpy as np

        node, known = self.node, dims.number(size)
        if known is not None and not isinstance(self.value, GraphExpr):
            array = np.clip(self.value, 0, known - 1).astype(np.int64)
            return node.importer.emit(GraphConst(constant(array)), f"{node.output}_places")
        value = self.value if isinstance(self.value, GraphExpr) else node.importer.emit(
            GraphConst(constant(self.value)), f"{node.output}_places"
        )  # fmt: skip
        return node.op("astype", value, "int64")

    def weights(self, axis: int, rank: int) -> GraphExpr:
        """These numbers along an axis of so many."""
        node = self.node
        if not isinstance(self.value, GraphExpr):
            line = self.value.reshape([-1 if one == axis else 1 for one in range(rank)])
            return node.importer.emit(GraphConst(constant(line)), f"{node.output}_weights")
        (length,) = node.shape(self.value)
        shape = tuple(length if one == axis else dims.ONE for one in range(rank))
        return node.op("reshape", self.value, ShapeExpr(shape))


def real(node: Node, size: Expr) -> Line:
    """A dimension as a float32."""
    import numpy as np

    known = dims.number(size)
    if known is not None:
        return Line(node, np.float32(known))
    vector = node.op("astype", node.op("shape_to_tensor", ShapeExpr((size,))), "float32")
    return Line(node, node.op("reshape", vector, ShapeExpr(())))


def scaled_size(node: Node, size: Expr, scale: float) -> Expr:
    """A dimension times a scale, which is no whole number, rounded down: a product of float32."""
    found = real(node, size) * scale
    if not isinstance(found.value, GraphExpr):
        return dims.dim(int(found.value))
    whole = node.op("astype", node.op("floor", found.value), "int64")
    return node.computed(whole, "the sizes")[0]


def places(node: Node, size: Expr, target: Expr, scale: float | None, where: str) -> Line:
    """The coordinates in an axis of the elements of the resized one."""
    import numpy as np

    known = dims.number(target)
    if known is not None:
        x = Line(node, np.arange(known, dtype=np.float32))
    else:
        count = node.op("arange", PrimValue(dims.dim(0)), PrimValue(target), PrimValue(dims.ONE), "int64")
        x = Line(node, node.op("astype", count, "float32"))
    own, made = real(node, size), real(node, target)
    step = made / own if scale is None else Line(node, np.float32(scale))
    if where == "align_corners":
        return x * ((own - 1) / (made - 1).of("maximum", 1))
    if where == "asymmetric":
        return x / step
    if where == "tf_half_pixel_for_nn":
        return (x + 0.5) / step
    found = (x + 0.5) / step - 0.5
    if where == "pytorch_half_pixel":
        return made.of("equal", 1).chosen(x * 0, found)
    if where == "half_pixel_symmetric" and scale is not None:
        # the parts of an element that its size lacks are left away on both sides
        return found + own * 0.5 * (made / (own * scale)).minus_from(1)
    return found


def taps(
    node: Node, at: Line, size: Expr, method: str, rounding: str, support: float
) -> list[tuple[Line, Line | None]]:
    """The indices along an axis that make the values at coordinates, and their weights.

    `support` is how many elements an element of the result is wide: more than one where what is made smaller is
    smoothed before.
    """
    if method == "nearest_neighbor":
        half = {"round_prefer_floor": -0.5, "round_prefer_ceil": 0.5}.get(rounding, 0)
        up = rounding in ("ceil", "round_prefer_floor")
        return [((at + half).of("ceil" if up else "floor"), None)]
    first = at.of("floor")
    if support == 1:
        if method == "linear":
            t = at - first
            return [(first, t.minus_from(1)), (first + 1, t)]
        reach, count = 1, 4
    else:
        reach, count = 0, math.ceil(2 * support * (1 if method == "linear" else 2))
        first = (at + (1 - support * (1 if method == "linear" else 2))).of("floor")
    end = real(node, size) if node.attr("exclude_outside", 0) else None
    found: list[tuple[Line, Line | None]] = []
    whole: Line | None = None
    for place in range(-reach, count - reach):
        index = first + place
        away = (at - index).of("abs") / support
        weight = away.minus_from(1).of("maximum", 0) if method == "linear" else _cubic(node, away)
        if end is not None:
            weight = index.of("less", end).chosen(index.of("less", 0).chosen(index * 0, weight), 0)
        whole = weight if whole is None else whole + weight
        found.append((index, weight))
    assert whole is not None
    return [(index, weight / whole) for index, weight in found if weight is not None]


def _cubic(node: Node, away: Line) -> Line:
    """The weight of an element so far away."""
    alpha = float(node.attr("cubic_coeff_a", -0.75))
    near = (away * (alpha + 2) - (alpha + 3)) * away * away + 1
    far = ((away * alpha - 5 * alpha) * away + 8 * alpha) * away - 4 * alpha
    return away.of("less_equal", 1).chosen(near, away.of("less", 2).chosen(far, 0))


__all__ = ["Line", "places", "real", "scaled_size", "taps"]
