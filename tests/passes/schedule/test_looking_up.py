"""Functions that look into a table for some lanes only: their loops become vectors here, not in LLVM."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(vector_bits=512)


def kernel(value: str, shape: str = "7, 70", dtype: str = "float32") -> PrimFunc:
    extents = shape.replace('"', "")
    params = f'A: T.Buffer(({shape}), "{dtype}"), B: T.Buffer(({shape}), "{dtype}")'
    found = parse(f"@T.prim_func\ndef main({params}):\n    for i, j in T.grid({extents}):\n        B[i, j] = {value}\n")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("value", "shape", "dtype", "vectors"),
    [
        ("T.sin(A[i, j])", "7, 70", "float32", True),
        ("T.cos(A[i, 0]) + A[i, j]", "7, 70", "float32", True),
        ("T.tan(A[i, j])", "7, 16", "float32", True),
        ("T.sin(A[i, j])", '"m", "n"', "float32", True),
        ("T.sin(A[i, j])", "7, 70", "float16", True),
        ("T.sin(A[i, j])", "7, 15", "float32", True),  # one line of 105
        ("T.sin(A[i, j]) + A[0, j]", "7, 15", "float32", True),  # written out under a mask
        ("T.sin(A[j, i])", "70, 70", "float32", True),  # across the lines, by squares
        ("T.sin(A[j, i] + A[i, j])", "70, 70", "float32", False),
        ("T.sin(A[i, j])", "7, 70", "float64", False),  # calls the C library
        ("T.exp(A[i, j])", "7, 70", "float32", False),  # has no table
    ],
)
def test_which_become_vectors(value: str, shape: str, dtype: str, vectors: bool) -> None:
    made = default_schedule(kernel(value, shape, dtype), WIDE)
    assert any(step.primitive == "vectorize" for step in made.trace.steps) == vectors


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize(
    ("m", "n", "symbolic"),
    [
        *(
            (m, n, symbolic)
            for m, n in ((1, 1), (3, 15), (2, 16), (5, 17), (1, 33), (4, 250))
            for symbolic in (False, True)
        ),
        (0, 20, True),
        (3, 0, True),
    ],
)
def test_the_bits_are_those_of_plain_loops(name: str, m: int, n: int, symbolic: bool) -> None:
    func = kernel(f"T.{name}(A[i, j]) * T.float32(0.5)", '"m", "n"' if symbolic else f"{m}, {n}")
    rng = np.random.default_rng(m * n)
    A = rng.integers(0, 2**32, (m, n)).astype(np.uint32).view(np.float32)
    A[:, ::3] = rng.normal(0, 100, A[:, ::3].shape)
    got, plain = np.ones_like(A), np.ones_like(A)
    tirscript.build(func)(A, got)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(A, plain)
    np.testing.assert_array_equal(got, plain)
    with np.errstate(invalid="ignore"):
        true = getattr(np, name)(A.astype(np.float64)) * 0.5
    np.testing.assert_allclose(got, true, rtol=3e-7, atol=1e-44)
