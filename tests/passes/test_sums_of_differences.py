"""What is taken off step by step, as sums: the same bits, and scheduled as sums are."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.sums_of_differences import sums_of_differences
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse


def product(dtype: str = "float32", term: str = "A[i, k] * B[k, j]") -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer((48, 32), "{dtype}"), B: T.Buffer((32, 64), "{dtype}"), C: T.Buffer((48, 64), "{dtype}")):
    for i, j in T.grid(48, 64):
        for k in range(32):
            C[i, j] -= {term}
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    "term", ["A[i, k] * B[k, j]", "A[i, k]", "A[i, k] * B[k, j] * A[i, 0]", "T.abs(A[i, k] - B[k, j])"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32"])
def test_the_same_bits(dtype: str, term: str) -> None:
    func = product(dtype, term)
    made = func.replace(body=sums_of_differences(func.body))
    assert " - " not in made.script().partition("C[i, j] =")[2].partition("A[")[0] and made is not func
    random = np.random.default_rng(0)
    limits = (-128, 128) if dtype == "int8" else (-(1 << 20), 1 << 20)
    arrays = [random.integers(*limits, shape).astype(dtype) for shape in ((48, 32), (32, 64), (48, 64))]
    results = []
    for form in (func, made):
        results.append(arrays[2].copy())
        tirscript.build(form, pipeline=DEFAULT_LOWERING)(*arrays[:2], results[-1])
    np.testing.assert_array_equal(*results)


def test_a_product_that_is_taken_off_is_one() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((48, 32)), B: T.Buffer((32, 64)), C: T.Buffer((48, 64))):
    for i, j in T.grid(48, 64):
        rest: T.float32 = C[i, j]
        for k in range(32):
            rest -= A[i, k] * B[k, j]
        C[i, j] = rest
""")
    assert isinstance(func, PrimFunc)
    text = default_schedule(func, CpuFacts(512)).func.script()
    assert "T.fma(" in text and "T.vectorized(16)" in text


@pytest.mark.parametrize(("dtype", "term"), [("uint8", "A[i, k]"), ("float32", "A[i, k] * C[i, j]")])
def test_others_stay(dtype: str, term: str) -> None:
    """Numbers without a sign, and what is made of the element itself."""
    func = product(dtype, term)
    assert sums_of_differences(func.body) == func.body


def test_blocks_are_left_as_they_are_written() -> None:
    func = with_blocks(product(term="A[i, k]"))
    text = func.script().replace("C[vi, vj] + -A[vi, vk]", "C[vi, vj] - A[vi, vk]")
    given = parse(text)
    assert isinstance(given, PrimFunc)
    assert sums_of_differences(given.body) == given.body
