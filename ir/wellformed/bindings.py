"""Block bindings: whether the values of a block's axes fit the domains of the axes.

The rules complain only about what is certain: a value is outside of a domain where constant loop ranges make it so
and no condition, predicate or early exit may keep it from being reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..expr import Call, Const, Expr, Var
from ..stmt import Axis, Block, For

# the least and greatest value an expression takes, both reached, and the variables they come from
Interval = tuple[int, int, frozenset[int]]
NOTHING: frozenset[int] = frozenset()


class Bindings:
    """Constant ranges of the variables in scope; `depth` counts what may keep the code at hand from running."""

    def __init__(self) -> None:
        self.ranges: dict[int, tuple[int, int, int]] = {}
        self.loops: dict[int, For] = {}
        self.depth = 0

    def enter(self, loop: For) -> None:
        """Note the range of a loop."""
        self.loops[id(loop.var)] = loop
        start, stop, step = loop.start, loop.stop, loop.step
        if type(start) is Const and type(stop) is Const and (step is None or type(step) is Const):
            values = range(int(start.value), int(stop.value), 1 if step is None else int(step.value) or 1)
            if values:
                self.ranges[id(loop.var)] = (min(values[0], values[-1]), max(values[0], values[-1]), self.depth)

    def note(self, axis: Axis, reached: Interval) -> None:
        """Note the range of an axis for the blocks inside of its block."""
        self.ranges[id(axis.var)] = (reached[0], reached[1], self.depth)

    def leaves(self) -> None:
        """A break, continue or return: from here on the loops around may not run to their ends."""
        self.depth += 1

    def interval(self, expr: Expr) -> Interval | None:
        """What `expr` takes over the loops around it, or None where that is not certain."""
        cls = type(expr)
        if cls is Var:
            known = self.ranges.get(id(expr))
            if known is None or known[2] != self.depth:
                return None
            return known[0], known[1], frozenset((id(expr),))
        if cls is Const:
            value = expr.value  # type: ignore[attr-defined]
            return (value, value, NOTHING) if type(value) is int else None
        if cls is Call:
            rule = _RULES.get(expr.op.name)  # type: ignore[attr-defined]
            if rule is not None:
                parts = [self.interval(arg) for arg in expr.args]  # type: ignore[attr-defined]
                if None not in parts and (len(parts) == 1 or not parts[0][2] & parts[1][2]):  # type: ignore[index]
                    return rule(*parts)
        return None


def _product(a: Interval, b: Interval) -> Interval:
    ends = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]
    return min(ends), max(ends), a[2] | b[2]


def _quotient(a: Interval, b: Interval) -> Interval | None:
    if b[2] or b[0] <= 0:
        return None
    return a[0] // b[0], a[1] // b[0], a[2]


def _remainder(a: Interval, b: Interval) -> Interval | None:
    # only where nothing wraps: whether all remainders are reached depends on more than the ends
    return a if not b[2] and a[0] >= 0 and a[1] < b[0] else None


# the operands share no variable, so that any value of one meets any value of the other
_RULES: dict[str, Callable[..., Interval | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] | b[2]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0], a[2] | b[2]),
    "mul": _product,
    "floordiv": _quotient,
    "floormod": _remainder,
    "negative": lambda a: (-a[1], -a[0], a[2]),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1]), a[2] | b[2]),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1]), a[2] | b[2]),
}


def axis_problems(block: Block, bindings: Bindings) -> Iterator[tuple[Axis, str, str, list[tuple[Any, str]]]]:
    """What is wrong with the bindings of a block: the axis, the message, the way out, and (node, words) to point at."""
    for axis in block.axes:
        value = axis.value
        plain = type(value) is Var
        if type(value) is Const and type(axis.stop) is Var and id(axis.stop) in bindings.loops:
            name = axis.stop.name  # type: ignore[attr-defined]
            yield (
                axis,
                f"the axis `{axis.var.name}` has the loop `{name}` as its domain and {value.value} as its value",  # type: ignore[attr-defined]
                f"the domain comes first: `T.axis.{axis.kind}({value.value}, {name})`",  # type: ignore[attr-defined]
                [(bindings.loops[id(axis.stop)], f"the loop over `{name}` is here")],
            )
            continue
        if type(axis.start) is not Const or type(axis.stop) is not Const:
            continue
        low, high = int(axis.start.value), int(axis.stop.value) - 1
        reached = bindings.interval(value)
        if reached is None:
            continue
        if block.predicate is None:
            loop = bindings.loops.get(id(value)) if plain else None
            notes = [(loop, f"the loop over `{loop.var.name}` is here")] if loop is not None else []
            name = f"`{value.name}`" if plain else "its value"  # type: ignore[attr-defined]
            domain = f"the axis `{axis.var.name}` takes {low} to {high}"
            if reached[0] < low or reached[1] > high:
                yield (
                    axis,
                    f"{domain}, but {name} goes from {reached[0]} to {reached[1]}",
                    "widen the axis, or say with `T.where(...)` which iterations run",
                    notes,
                )
            elif plain and axis.kind in ("spatial", "reduce") and (reached[0] > low or reached[1] < high):
                fit = f"({reached[0]}, {reached[1] + 1})" if reached[0] else f"{reached[1] + 1}"
                right = f"T.axis.{axis.kind}({fit}, {value.name})"  # type: ignore[attr-defined]
                yield (
                    axis,
                    f"{domain}, but {name} only goes from {reached[0]} to {reached[1]}",
                    f"give the axis the range of its loop, `{right}`, or restrict the block with `T.where(...)`",
                    notes,
                )
            elif reached[:2] == (low, high):
                bindings.note(axis, reached)
