"""Index maps whose indices are numbers with the parameters as digits, as splits, fusions and transpositions make them.

`(i, j, k) -> (j, i * 8 + k)` with k below 8 is one. What is asked of most maps follows from that without a library for
Presburger sets, whose loading alone takes longer than to schedule a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import Const, Expr, Var
from ..linear import linear


def digit_ranges(params: Sequence[Var], sizes: Sequence[Expr], indices: Sequence[Expr]) -> list[Expr | int] | None:
    """How many places each index takes, from 0 on and all of them, where no two elements go to one place.

    `sizes` bounds the parameters, which run from 0. None where the indices do not hold each parameter as a digit once,
    which says nothing of the map.
    """
    left = dict(zip(params, sizes))
    if any(type(size) is Const and size.value < 1 for size in sizes):
        return None
    found: list[Expr | int] = []
    for index in indices:
        if not index.dtype.is_int or index.dtype.is_vector:
            return None
        form = linear(index)
        digits = [(stride, left.pop(atom)) for atom, stride in form.terms.items() if type(atom) is Var and atom in left]
        if form.constant or len(digits) < len(form.terms):
            return None
        places = _places(sorted(digits, key=lambda digit: digit[0]))
        if places is None or (type(places) is int and places - 1 > index.dtype.int_range()[1]):
            return None
        found.append(places)
    if any(type(size) is not Const or size.value != 1 for size in left.values()):
        return None  # elements that differ in what no index holds go to one place
    return found


def _places(digits: list[tuple[int, Expr]]) -> Expr | int | None:
    """How many values a sum of digits has, of which each follows on the one before; strides and sizes, in order."""
    if len(digits) == 1 and digits[0][0] == 1 and type(digits[0][1]) is not Const:
        return digits[0][1]
    places = 1
    for stride, size in digits:
        if type(size) is not Const or stride < 0:
            return None
        if size.value == 1:
            continue
        if stride != places:
            return None
        places *= int(size.value)
    return places


__all__ = ["digit_ranges"]
