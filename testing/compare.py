"""Comparing what several ways of running a program left in its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# how far two evaluations may lie apart, relative to the largest value in the array; integers must be equal
TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2}


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a call with every array copied, those in tuples, too; a copy is aligned as its array is, and has
    its strides."""
    return [
        tuple(copies(item)) if isinstance(item, tuple) else _copied(item) if isinstance(item, np.ndarray) else item
        for item in arguments
    ]


def _copied(array: Any) -> Any:
    address = array.ctypes.data
    strides = array.strides if min(array.strides, default=1) > 0 else None
    return laid_out(array, min(max(1, address & -address), 4096), strides)


def laid_out(array: Any, align: int, strides: Sequence[int] | None = None) -> Any:
    """A copy of an array whose data begins at a multiple of `align` bytes; `strides` are in bytes, None for those of
    elements one behind the other."""
    last = sum((size - 1) * step for size, step in zip(array.shape, strides or (), strict=False)) + array.itemsize
    memory = np.zeros(max(array.nbytes, last) + align, np.uint8)
    start = -memory.ctypes.data % align
    made = np.ndarray(array.shape, array.dtype, memory, start, strides and tuple(strides))
    made[...] = array
    return made


def leaves(value: Any) -> list[Any]:
    """The arrays and numbers of tuples in tuples."""
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, tuple) else [value]


def tolerance(arguments: Sequence[Any]) -> float:
    """The error that two correct evaluations of a program on these arguments may show."""
    names = [item.dtype.name for item in leaves(tuple(arguments)) if isinstance(item, np.ndarray)]
    return max((TOLERANCES.get(name, 0.0) for name in names), default=0.0)


def largest_error(left: Sequence[Any], right: Sequence[Any]) -> float:
    """The greatest difference of any element, floats relative to the largest magnitude of their array (at least 1).

    Infinite where one is nan or infinite and the other is not the same.
    """
    return max((_error(a, b) for a, b in zip(left, right, strict=True) if isinstance(a, np.ndarray)), default=0.0)


def _error(a: np.ndarray, b: np.ndarray) -> float:
    if a.dtype != b.dtype or a.shape != b.shape:
        return float("inf")
    if np.array_equal(a, b):
        return 0.0
    if a.dtype.kind in "biu":
        return float(np.max(np.abs(a.astype(object) - b.astype(object))))
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
    if same.all():
        return 0.0
    if not (np.isfinite(wide_a) & np.isfinite(wide_b))[~same].all():
        return float("inf")
    return float(np.max(np.abs(wide_a[~same] - wide_b[~same])) / max(1.0, np.max(np.abs(wide_b[np.isfinite(wide_b)]))))
