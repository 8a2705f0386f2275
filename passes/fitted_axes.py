"""Axes that take the values that their loops have.

before:                                    after:
    for i in range(14):                        for i in range(14):
        with T.block("b"):                         with T.block("b"):
            vi = T.axis.spatial(16, i)                 vi = T.axis.spatial(14, i)

An axis may take more values than its loop has while a condition around its block says which iterations run. Passes that
find that the condition always holds, or put it around the loop, fit such axes: as text, the program would be refused.
"""

from __future__ import annotations

from tirscript.ir.expr import Const, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import Axis, Block, For


def fit_axes(func: PrimFunc, made: PrimFunc) -> PrimFunc:
    """What a pass made of a function, with the domain of each axis that is bound to a loop as small as the loop."""
    if made is func:
        return func
    nodes = list(walk(made))
    loops = {node.var: _values(node) for node in nodes if type(node) is For}
    if all(type(node) is not Block or _fitted(node, loops) is node for node in nodes):
        return made
    return rewrite(made, {Block: lambda block: _fitted(block, loops)})  # type: ignore[no-any-return]


def _values(loop: For) -> range | None:
    """What the variable of a loop takes, where that is known."""
    ends = loop.start, loop.stop, const(1) if loop.step is None else loop.step
    if not all(type(end) is Const for end in ends) or ends[2].value == 0:  # type: ignore[attr-defined]
        return None
    return range(*(int(end.value) for end in ends))  # type: ignore[attr-defined]


def _fitted(block: Block, loops: dict[Var, range | None]) -> Block:
    if block.predicate is not None:
        return block
    axes = tuple(_fitted_axis(axis, loops) for axis in block.axes)
    if are_same(axes, block.axes):
        return block
    # an init runs at the first values of the axes that are reduced: at one that is never taken, none did
    later = any(new.kind == "reduce" and new.start != old.start for new, old in zip(axes, block.axes, strict=True))
    return block.replace(axes=axes, init=None if later else block.init)


def _fitted_axis(axis: Axis, loops: dict[Var, range | None]) -> Axis:
    values = loops.get(axis.value) if type(axis.value) is Var else None
    if not values or type(axis.start) is not Const or type(axis.stop) is not Const:
        return axis
    least, greatest = min(values[0], values[-1]), max(values[0], values[-1])
    low, high = int(axis.start.value), int(axis.stop.value) - 1
    fits = (low, high) == (least, greatest) or not low <= least <= greatest <= high
    if fits or axis.kind not in ("spatial", "reduce"):
        return axis
    return axis.replace(start=const(least, axis.start.dtype), stop=const(greatest + 1, axis.stop.dtype))


__all__ = ["fit_axes"]
