"""Floats as integers: truncated, stopped at the limits, nan as 0, and whole vectors at a time."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirscript
from tirscript.script import tir as T

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def odd_values(dtype: str) -> np.ndarray:
    """Numbers around the limits of all integers and around zero, infinities, nan, and random bits."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    limits = [0.0, 0.5, 0.999, 1.0, 127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0]
    limits += [2.0**power for power in (31, 32, 52, 53, 62, 63, 64, 100)]
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.array(limits, "float64").astype(kind)
        unsigned = f"uint{kind.itemsize * 8}"
        bits = np.concatenate([near.view(unsigned) + step for step in (0, 1, np.array(-1).astype(unsigned))])
        random = np.random.default_rng(0).integers(0, 1 << (kind.itemsize * 8), 4001, unsigned, endpoint=False)
        special = np.array([np.nan, np.inf, -np.inf, -0.0], kind).view(unsigned)
        both = np.concatenate([bits, random, special]).view(kind)
        return np.concatenate([both, -both])


def wanted(values: np.ndarray, dtype: str) -> np.ndarray:
    """The same in whole numbers of Python."""
    limits = np.iinfo(dtype)

    def one(value: float) -> int:
        if value != value:
            return 0
        if value in (float("inf"), float("-inf")):
            return int(limits.max if value > 0 else limits.min)
        return min(max(int(value), int(limits.min)), int(limits.max))

    return np.array([one(float(value)) for value in values], dtype)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_all_limits(source: str, target: str) -> None:
    values = odd_values(source)
    n = len(values)

    @T.prim_func
    def f(A: T.Buffer((n,), source), B: T.Buffer((n,), target), C: T.Buffer((n,), target)):
        for i in range(n):
            B[i] = T.cast(A[i], target)
        # alone, not in a vector
        at: T.int64 = 0
        while at < n:
            C[at] = T.cast(A[at], target)
            at += 1

    results = [np.ones(n, target) for _ in range(2)]
    tirscript.build(f)(values, *results)
    for result in results:
        np.testing.assert_array_equal(result, wanted(values, target))


def test_vectors_of_the_program() -> None:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int8")):
        B[T.ramp(0, 1, 8)] = T.cast(A[T.ramp(0, 1, 8)], "int8x8")

    values = np.array([np.nan, np.inf, -np.inf, -128.9, 127.9, 128.0, -0.5, 3.7], "float32")
    found = np.zeros(8, "int8")
    tirscript.build(f)(values, found)
    np.testing.assert_array_equal(found, wanted(values, "int8"))


@pytest.mark.parametrize("target", ("int8", "uint8", "int16", "uint16", "int32"))
def test_loops_become_vectors(target: str) -> None:
    @T.prim_func
    def f(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), target)):
        for i in range(1024):
            B[i] = T.cast(A[i] * 2.0, target)

    assert " = fptosi <" in tirscript.build(f, target="llvm -mcpu=x86-64-v3").llvm_ir()
