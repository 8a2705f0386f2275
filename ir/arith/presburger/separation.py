"""Accesses of which no two iterations of a loop meet, seen from the coefficients of one index alone.

`A[i * 8 + j]` with `j` below 8 is another element in each iteration of `i`: the distance of two iterations times 8 is
more than all the rest can differ by (Banerjee's test of one dimension). Nearly all loops of scheduled programs are so,
and what is decided here costs no relation of isl, and a process that asks nothing else does not load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .form import Dim, Sum
from .limits import Unknown
from .relations import Relations
from .steps import Step

# of one index: the coefficients that must be the same, that of the loop, and the bounds of all else
Split = tuple[tuple[Any, ...], int, int, int]


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
    return any(len(splits) == len(accesses) and _far(splits) for splits in seen.values())


def _far(splits: list[Split | None]) -> bool:
    if None in splits:
        return False
    known = [split for split in splits if split is not None]
    same, by, _, _ = known[0]
    if any(split[0] != same or split[1] != by for split in known):
        return False
    return max(split[3] for split in known) - min(split[2] for split in known) < abs(by)


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
    by, low, high = 0, value.constant, value.constant
    for column, factor in value.terms.items():
        if column is loop:
            by = factor
        elif id(column) in fixed:
            same.append((fixed[id(column)], factor))
        elif type(column) is Dim and (name := relations.name(column)) is not None:
            same.append((name, factor))
        else:
            ends = (column.low * factor, column.high * factor)
            low, high = low + min(ends), high + max(ends)
    return (tuple(sorted(same, key=str)), by, low, high) if by else None


__all__ = ["separate"]
