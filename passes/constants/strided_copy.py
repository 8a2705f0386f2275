"""Copies whose places are sums over their loops, as numpy takes them: by an extent and two strides for each digit.

`P[j // 16, i, j % 16] = W[i, j]` for i < 64 and j < 32 writes at place (j // 16) * 1024 + i * 16 + j % 16 what is at
i * 32 + j. The loop over j is two digits, j // 16 with the strides 1024 and 16, and j % 16 with 1 and 1; the one over i
is a digit with 16 and 32. In the order of the first strides they count through the target: the copy is a view of the
source, and no index of an element is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tirscript.ir.constant import room, strided
from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.op import OPS
from tirscript.ir.words import counted

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Separable(NamedTuple):
    """A number, and what each of some loops adds to it, by its iterations."""

    constant: int
    parts: Mapping[Var, Array]

    @property
    def least(self) -> int:
        return self.constant + sum(int(part.min()) for part in self.parts.values())

    @property
    def most(self) -> int:
        return self.constant + sum(int(part.max()) for part in self.parts.values())

    def plus(self, other: Separable, factor: int = 1) -> Separable:
        """The sum with so many times another."""
        parts = dict(self.parts)
        for var, part in other.parts.items():
            parts[var] = parts[var] + factor * part if var in parts else factor * part
        return Separable(self.constant + factor * other.constant, parts)


def separable(expr: Expr, values: Mapping[Var, Separable]) -> Separable:
    """An index as a sum over loops. LookupError where it is none, or has other variables."""
    if type(expr) is Const:
        return Separable(int(expr.value), {})
    if type(expr) is Var:
        return values[expr]
    if type(expr) is not Call or not expr.dtype.is_int:
        raise LookupError
    args = [separable(arg, values) for arg in expr.args]
    if expr.op is OPS["cast"] and expr.args[0].dtype.is_int:
        return args[0]
    if expr.op is OPS["add"]:
        return args[0].plus(args[1])
    if expr.op is OPS["sub"]:
        return args[0].plus(args[1], -1)
    if expr.op is OPS["mul"]:
        first, second = sorted(args, key=lambda arg: len(arg.parts), reverse=True)
        if not second.parts:
            return Separable(0, {}).plus(first, second.constant)
    if expr.op in (OPS["floordiv"], OPS["floormod"]) and len(args[0].parts) <= 1 and not args[1].parts:
        divisor = args[1].constant
        if divisor > 0:
            return _divided(args[0], divisor, remainder=expr.op is OPS["floormod"])
    raise LookupError


def _divided(value: Separable, divisor: int, *, remainder: bool) -> Separable:
    def one(number: Any) -> Any:
        return number % divisor if remainder else number // divisor

    if not value.parts:
        return Separable(one(value.constant), {})
    return Separable(0, {var: one(part + value.constant) for var, part in value.parts.items()})


class Digit(NamedTuple):
    """Some iterations, and how far apart they are in the target and in the source."""

    extent: int
    target: int
    source: int


class Padding(NamedTuple):
    """What the target has where a condition is false."""

    condition: Expr
    value: Any


def strided_copy(
    loops: Mapping[Var, Array],
    axes: Sequence[tuple[Var, Expr]],
    target: tuple[Sequence[Expr], Sequence[int]],
    source: tuple[Sequence[Expr], Sequence[int]],
    padding: Padding | None = None,
) -> Callable[[Any], Any] | None:
    """A function from the source's elements, in row-major order, to the target; None where the nest is no such copy of
    all of it, within both.

    loops:   the values of each loop's variable
    axes:    what variables of the block are, in terms of these
    target:  the indices and the sizes of the target; those of the source likewise
    padding: its condition says which indices of the source are small enough, as in `j < 50257`
    """
    values = {var: Separable(0, {var: steps}) for var, steps in loops.items()}
    given, inside = list(source[1]), list(source[1])
    wide = given
    try:
        for var, value in axes:
            values[var] = separable(value, values)
        indices = [separable(one, values) for one in source[0]]
        if padding is not None:
            inside = _limits(padding.condition, indices, given, values)
            wide = [max(index.most + 1, size) for index, size in zip(indices, given, strict=True)]
            if math.prod(wide) > 4 * max(math.prod(given), math.prod(target[1])):
                return None  # it would be padded with more than is copied
        there, here = _place([separable(one, values) for one in target[0]], target[1]), _place(indices, wide)
    except LookupError:
        return None
    digits: list[Digit] = []
    to, start = there.constant, here.constant
    for var, steps in loops.items():
        zero = steps * 0
        found = _digits(there.parts.get(var, zero), here.parts.get(var, zero))
        if found is None:
            return None
        digits += found[0]
        to, start = to + found[1], start + found[2]
    digits.sort(key=lambda digit: -digit.target)
    extents = [digit.extent for digit in digits]
    sizes = target[1]
    if to or math.prod(extents) != math.prod(sizes) or [digit.target for digit in digits] != _row_major(extents):
        return None

    def copied(elements: Array) -> Array:
        import numpy as np

        if len(elements) != math.prod(given):
            raise ValueError(f"{counted(len(elements), 'element')}, and not {math.prod(given)}")
        if padding is not None:
            padded = np.full(wide, padding.value, elements.dtype)
            within = tuple(map(slice, inside))
            padded[within] = elements.reshape(given)[within]
            elements = padded.reshape(-1)
        (step,) = elements.strides
        strides = [digit.source * step for digit in digits]
        made = room(tuple(extents), elements.dtype)
        made[...] = strided(elements[start:], extents, strides)
        return made.reshape(sizes)

    return copied


def _row_major(extents: Sequence[int]) -> list[int]:
    return [math.prod(extents[at + 1 :]) for at in range(len(extents))]


def _place(indices: Iterable[Separable], sizes: Sequence[int]) -> Separable:
    """The place in row-major order. LookupError where an index may be outside."""
    place = Separable(0, {})
    for index, size in zip(indices, sizes, strict=True):
        if index.least < 0 or index.most >= size:
            raise LookupError
        place = index.plus(place, size)
    return place


def _limits(
    condition: Expr, indices: Sequence[Separable], sizes: Sequence[int], values: Mapping[Var, Separable]
) -> list[int]:
    """Below which numbers the indices are where a condition holds, and only there. LookupError where it says something
    else, or lets indices be outside."""
    found = [max(index.most + 1, size) for index, size in zip(indices, sizes, strict=True)]
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        if type(part) is not Call or part.op not in _CONDITIONS:
            raise LookupError
        if part.op is OPS["logical_and"]:
            waiting += part.args
            continue
        left, right = (separable(arg, values) for arg in part.args)
        less = left.plus(right, -1)  # this is less than 0, or 1
        at = next((at for at, index in enumerate(indices) if _same_steps(index, less)), None)
        if at is None:
            raise LookupError
        found[at] = min(found[at], indices[at].constant - less.constant + (part.op is OPS["less_equal"]))
    if any(limit > size for limit, size in zip(found, sizes, strict=True)):
        raise LookupError
    return [max(limit, 0) for limit in found]


_CONDITIONS = (OPS["less"], OPS["less_equal"], OPS["logical_and"])


def _same_steps(one: Separable, other: Separable) -> bool:
    return one.parts.keys() == other.parts.keys() and all(
        bool((part == other.parts[var]).all()) for var, part in one.parts.items()
    )


def _digits(target: Array, source: Array) -> tuple[list[Digit], int, int] | None:
    """The digits of a loop, and where its first iteration is in the target and in the source; None where it has none.

    A digit counts as long as both places go on by the same steps; if the whole is that again and again, the places
    where it begins are those of a loop with fewer iterations.
    """
    found: list[Digit] = []
    first = int(target[0]), int(source[0])
    while len(target) > 1:
        steps = [int(one[1] - one[0]) for one in (target, source)]
        even = (target[1:] - target[:-1] == steps[0]) & (source[1:] - source[:-1] == steps[1])
        extent = len(target) if even.all() else int(even.argmin()) + 1
        if len(target) % extent:
            return None
        rows = [one.reshape(-1, extent) for one in (target, source)]
        if any((row - row[:, :1] != row[0] - row[0, 0]).any() for row in rows):
            return None
        found.append(Digit(extent, *steps))
        target, source = (row[:, 0] for row in rows)
    return found, *first


__all__ = ["Padding", "strided_copy"]
