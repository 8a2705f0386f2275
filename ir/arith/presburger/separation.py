"""Accesses of which no two iterations of a loop meet, seen from the coefficients of one index alone.

`A[i * 8 + j]` with `j` below 8 is another element in each iteration of `i`: the distance of two iterations times 8 is
more than all the rest can differ by (Banerjee's test of one dimension). What is a multiple of a number that all
iterations of the loop together stay below may be what it likes: `A[k * 64 + i * 8 + j]` with `i` and `j` below 8 is
another element in each iteration of `i`, whatever `k` is (a test of the remainders).

Nearly all loops of scheduled programs are so. What is decided here costs no relation of isl, and a process that asks
nothing else does not load it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .form import Dim, Sum
from .limits import Unknown
from .relations import Relations
from .steps import Step


class Split(NamedTuple):
    """An index: the terms that are the same in all iterations, the loop's factor, and all else."""

    same: tuple[Any, ...]
    by: int
    constant: int
    rest: tuple[tuple[int, int, int], ...]  # factors, and the least and greatest value of what they multiply


def separate(relations: Relations, accesses: Sequence[tuple[Step, int]], level: int) -> bool:
    """Whether it is proved that no two iterations of the loop at `level`, in the same iterations of those around it,
    touch the same element by any of these accesses, which are numbers of the steps' accesses to one memory."""
    once = relations.columns(accesses[0][0])[1][level]
    if once.low == once.high:
        return True
    seen: dict[int, list[Split | None]] = {}
    for step, at in accesses:
        splits = relations.splits.get((step.number, at, level))
        if splits is None:
            splits = relations.splits[step.number, at, level] = _splits(relations, step, at, level)
        if not splits:
            return False
        for dim, split in enumerate(splits):
            seen.setdefault(dim, []).append(split)
    return any(len(splits) == len(accesses) and _far(splits, once.high - once.low) for splits in seen.values())


def _far(splits: list[Split | None], longest: int) -> bool:
    """Whether such indices differ in iterations that are at most `longest` apart."""
    known = [split for split in splits if split is not None]
    first = known[0] if known else None
    if first is None or len(known) < len(splits):
        return False
    if any(split.same != first.same or split.by != first.by for split in known):
        return False
    reach = abs(first.by) * longest
    spread = _spread(known, None)
    if spread < abs(first.by):
        return True
    for period in _periods(known, reach):
        spread = _spread(known, period)
        if spread < abs(first.by) and reach + spread < period:
            return True
    return False


def _periods(splits: list[Split], reach: int) -> Iterator[int]:
    """Numbers above `reach` of which the large factors are multiples, and what constants differ by may be."""
    large = math.gcd(*(factor for split in splits for factor, _, _ in split.rest if abs(factor) > reach))
    apart = {abs(split.constant - splits[0].constant) for split in splits}
    found = {math.gcd(large, distance) for distance in apart if distance > reach}
    yield from sorted({large, *found} - {0})


def _spread(splits: list[Split], period: int | None) -> int:
    """By how much what is not the loop's can differ, but for multiples of `period`."""
    lows, highs = [], []
    for split in splits:
        constant = split.constant - splits[0].constant
        if period is not None:  # the remainder that is nearest to zero
            constant = (constant + period // 2) % period - period // 2
        low = high = constant
        for factor, least, greatest in split.rest:
            if period is None or factor % period:
                ends = (least * factor, greatest * factor)
                low, high = low + min(ends), high + max(ends)
        lows.append(low)
        highs.append(high)
    return max(highs) - min(lows)


def _splits(relations: Relations, step: Step, at: int, level: int) -> list[Split | None]:
    """Each index of an access; None where the loop is not in it, an empty list where the indices are not known."""
    place = step.accesses[at].place
    if place is None:
        return []
    translation, loops = relations.columns(step)
    values: list[Sum | None] = []
    for index in place:
        try:
            values.append(translation.number(index))
        except Unknown:
            values.append(None)
    fixed: dict[int, Any] = {id(loop): (position,) for position, loop in enumerate(loops[:level])}
    for dim, value in enumerate(values):
        # of `A[i // 8, i % 8]` the quotient in the second index is the first, the same where the place is the same
        if value is not None and len(value.terms) == 1:
            ((column, factor),) = value.terms.items()
            if type(column) is not Dim:
                fixed[id(column)] = (dim, factor, value.constant)
    return [None if value is None else _split(relations, value, fixed, loops[level]) for value in values]


def _split(relations: Relations, value: Sum, fixed: dict[int, Any], loop: Dim) -> Split | None:
    same: list[Any] = []
    rest: list[tuple[int, int, int]] = []
    by = 0
    for column, factor in value.terms.items():
        if column is loop:
            by = factor
        elif id(column) in fixed:
            same.append((fixed[id(column)], factor))
        elif type(column) is Dim and (name := relations.name(column)) is not None:
            same.append((name, factor))
        else:
            rest.append((factor, column.low, column.high))
    return Split(tuple(sorted(same, key=str)), by, value.constant, tuple(rest)) if by else None


__all__ = ["separate"]
