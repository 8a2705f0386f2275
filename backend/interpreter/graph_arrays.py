"""Arrays that the operators, kernels and libraries of a graph are given, and those that they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def as_arrays(value: Any) -> Any:
    """numpy's scalars as arrays without dimensions."""
    if isinstance(value, tuple):
        return tuple(map(as_arrays, value))
    return np.asarray(value) if isinstance(value, np.generic) else value


def with_own_memory(value: Any, args: Sequence[Any]) -> Any:
    """Results with memory of their own, where numpy's look at that of an argument: it may be written in place."""
    if isinstance(value, tuple):
        return tuple([with_own_memory(one, args) for one in value])
    shares = isinstance(value, np.ndarray) and (value.base is not None or any(value is arg for arg in args))
    return value.copy() if shares else value


def without_gaps(value: Any) -> Any:
    """An argument of a kernel: an array without gaps that it may not write to by mistake, or a number."""
    return np.ascontiguousarray(value).reshape(value.shape) if isinstance(value, np.ndarray) else value


def can_be_written(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or bool(value.flags.writeable)


__all__ = ["as_arrays", "can_be_written", "with_own_memory", "without_gaps"]
