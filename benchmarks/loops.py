"""Some of the examples as loops for numba, where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def vector_add(A: Any, B: Any, C: Any) -> None:
    """C = A + B"""
    for i in range(A.shape[0]):
        C[i] = A[i] + B[i]


def matmul(A: Any, B: Any, C: Any) -> None:
    """C = A @ B, in the order of loops that the example has"""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0
        for p in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, p] * B[p, j]


def softmax(A: Any, B: Any) -> None:
    """Softmax of each row"""
    for i in range(A.shape[0]):
        top = A[i, 0]
        for j in range(A.shape[1]):
            top = max(top, A[i, j])
        total = np.float32(0)
        for j in range(A.shape[1]):
            B[i, j] = np.exp(A[i, j] - top)
            total += B[i, j]
        for j in range(A.shape[1]):
            B[i, j] /= total


def histogram(A: Any, counts: Any) -> None:
    """How often each value occurs"""
    counts[:] = 0
    for i in range(A.shape[0]):
        if 0 <= A[i] < counts.shape[0]:
            counts[A[i]] += 1


def prefix_sum(A: Any, B: Any) -> None:
    """Running sums"""
    total = np.int32(0)
    for i in range(A.shape[0]):
        total = np.int32(total + A[i])
        B[i] = total


def _compiled() -> dict[str, Callable[..., Any]]:
    try:
        from numba import njit
    except ImportError:
        return {}
    return {function.__name__: njit(function) for function in (vector_add, matmul, softmax, histogram, prefix_sum)}


LOOPS = _compiled()
