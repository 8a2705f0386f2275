"""Windows of convolutions lose their rows and columns that only ever see the border of zeros.

before:                                            after:
    y = G.nn.conv2d(x, w, padding=[1, 1, 1, 1])        y = G.nn.conv2d(x, c)  # c = w[:, :, 1:2, 1:2]

Of an image of one pixel a window of 3 by 3 sees the pixel by its centre alone, as in the last stages of networks for
small images; one of dilation 36 sees most feature maps so, as in atrous pyramids. Weights have to be constant and
finite: others times zero are no zeros.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.graph import GraphBind, GraphConst, GraphExpr, GraphFunc, GraphVar, OpCall, TensorType
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.axes import axis_at
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite, walk

from ..pipeline import module_pass
from .replacing import each_graph_func

_LETTERS = {f"nn.conv{len(space)}d": space for space in ("W", "HW", "DHW")}


class _Axis(Struct, frozen=True):
    """A convolution along one axis: sizes of the data and the window, stride, dilation, and the border's sides."""

    size: int
    window: int
    stride: int
    dilation: int
    before: int
    behind: int

    @property
    def length(self) -> int:
        """Of the result."""
        return (self.size + self.before + self.behind - self.dilation * (self.window - 1) - 1) // self.stride + 1

    def seen(self) -> tuple[int, int]:
        """The first and the last place of the window that are on an element of the data for some of the result."""
        places = [at for at in range(self.window) if self.sees(at)]
        return (places[0], places[-1]) if places else (0, self.window - 1)

    def sees(self, at: int) -> bool:
        """Whether a place of the window is on an element of the data for some of the result."""
        shift = at * self.dilation - self.before
        first = max(0, -(shift // self.stride))  # of the result that is not in the border before
        return first < self.length and first * self.stride + shift < self.size

    def trimmed(self) -> tuple[int, _Axis]:
        """Where the window begins that is enough, and the convolution with it."""
        first, last = self.seen()
        first = min(first, self.before // self.dilation)  # a border is not below zero
        before, window = self.before - first * self.dilation, last - first + 1
        reach = (self.length - 1) * self.stride + self.dilation * (window - 1) + 1
        made = _Axis(self.size, window, self.stride, self.dilation, before, max(0, reach - self.size - before))
        return (first, made) if made.length == self.length else (0, self)


@module_pass(opt_level=1)
def trim_windows(module: Module) -> Module:
    """`G.nn.conv2d(x, w, padding=[1, 1, 1, 1])` of one pixel becomes a product with the centre of the window."""
    return each_graph_func(module, _trimmed)


def _trimmed(func: GraphFunc) -> GraphFunc:
    bound: dict[GraphExpr, ConstantTensor] = {
        stmt.var: stmt.value.data for stmt in walk(func, GraphBind) if type(stmt.value) is GraphConst
    }
    made: GraphFunc = rewrite(func, {OpCall: lambda call: _smaller(call, bound)})
    return made


def _smaller(call: OpCall, bound: Mapping[GraphExpr, ConstantTensor]) -> OpCall:
    letters = _LETTERS.get(call.op.name)
    if letters is None or not any(call.attrs["padding"]):
        return call
    weight = call.args[1]
    data = weight.data if type(weight) is GraphConst else bound.get(weight) if type(weight) is GraphVar else None
    if data is None or not data.resolved:
        return call
    axes = _axes(call, letters, data)
    made = [one.trimmed() if one is not None else (0, None) for one in axes]
    places = [axis_at(call.attrs["kernel_layout"], letter) for letter in letters]
    parts = [slice(None)] * data.ndim
    border, rank = list(call.attrs["padding"]), len(letters)
    for at, (old, (first, new)) in enumerate(zip(axes, made, strict=True)):
        if old is not None and new is not None and new.window < old.window:
            parts[places[at]] = slice(first, first + new.window)
            border[at], border[at + rank] = new.before, new.behind
    if tuple(border) == tuple(call.attrs["padding"]) or not _is_finite(data):
        return call
    import numpy as np

    kept = GraphConst(constant(np.ascontiguousarray(data.array[tuple(parts)])))
    smaller: OpCall = call.replace(
        args=(call.args[0], kept, *call.args[2:]), attrs=type(call.attrs)({**call.attrs, "padding": border})
    )
    return smaller


def _axes(call: OpCall, letters: str, weight: ConstantTensor) -> list[_Axis | None]:
    """The axes of space; None for one whose size is not known."""
    kind = type_of(call.args[0])
    if type(kind) is not TensorType or kind.shape is None:
        return [None] * len(letters)
    attrs, found, rank = call.attrs, [], len(letters)
    for at, letter in enumerate(letters):
        size = dims.number(kind.shape[axis_at(attrs["data_layout"], letter)])
        window = weight.shape[axis_at(attrs["kernel_layout"], letter)]
        step, apart, border = attrs["strides"][at], attrs["dilation"][at], attrs["padding"]
        axis = None if size is None else _Axis(size, window, step, apart, border[at], border[at + rank])
        found.append(axis)
    return found


def _is_finite(data: ConstantTensor) -> bool:
    import numpy as np

    return not data.dtype.is_float or bool(np.isfinite(data.array.astype("float32")).all())


__all__ = ["trim_windows"]
