"""What a call costs: the same function of two arrays of 16 floats through several ways of calling native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from loops import LOOPS
from measure import interleaved, per_call

import tirscript
from tirscript.script import tir as T


@T.prim_func
def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        B[i] = A[i] * T.float32(2)


def overheads(rounds: int) -> dict[str, float]:
    """Seconds a call."""
    A, B = np.ones(16, "float32"), np.zeros(16, "float32")
    candidates: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "tirscript": (tirscript.build(double), (A, B)),
        "a Python function": (lambda a, b: None, (A, B)),
        "np.multiply": (np.multiply, (A, 2, B)),
    }
    copy = ctypes.CDLL(None).memcpy
    pointer = ctypes.c_void_p
    candidates["ctypes, ready pointers"] = (copy, (pointer(B.ctypes.data), pointer(A.ctypes.data), ctypes.c_size_t(64)))
    if "vector_add" in LOOPS:
        LOOPS["vector_add"](A, A, B)
        candidates["numba"] = (LOOPS["vector_add"], (A, A, B))
    runs = {name: (lambda pair=pair: per_call(*pair)) for name, pair in candidates.items()}
    return interleaved(runs, rounds)
