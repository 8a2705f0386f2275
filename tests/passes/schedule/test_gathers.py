"""Rows that are looked up: where they are prefetched and written past the caches, and that they are the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

# everything is larger than these caches
NONE = CpuFacts(vector_bits=512, threads=2, cache=1)


def embedding(
    count: tuple[int, int] = (3, 5),
    width: int = 64,
    dtype: str = "float32",
    value: str = "W[at[i, j], k]",
    index: str = "int64",
) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def embedding(W: T.Buffer((50, {width}), "{dtype}"), P: T.Buffer(({count[1]}, {width}), "{dtype}"),
              at: T.Buffer({count}, "{index}"), B: T.Buffer(({count[0]}, {count[1]}, {width}), "{dtype}")):
    for i, j, k in T.grid({count[0]}, {count[1]}, {width}):
        B[i, j, k] = {value}
""")
    assert isinstance(found, PrimFunc)
    return found


def text(func: PrimFunc, facts: CpuFacts = NONE) -> str:
    return default_schedule(func, facts).func.script()


def test_rows_come_before_they_are_copied() -> None:
    found = text(embedding((30, 50)))
    assert '"pragma_nontemporal": True' in found and "in T.vectorized(64)" in found and "in T.parallel(30)" in found
    # 16 rows of 256 bytes are on their way, those of the next `i` among them
    assert "at[T.min(i + (j + 16) // 50, 29), (j + 16) % 50]" in found
    assert "at[T.min(i + (j + 4) // 50, 29), (j + 4) % 50]" in text(embedding((30, 50), 256))
    assert "(j + 2) // 50" in text(embedding((30, 50), 8000))
    # what is added to them lies behind each other
    both = text(embedding((30, 50), value="W[at[i, j], k] + P[j, k]"))
    assert both.count("T.prefetch(") == 1 and "T.address_of(W" in both.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    "value",
    ["P[j, k]", "W[at[i, j], 63 - k]", "W[k // 2, at[i, j]]", "W[at[0, 0], k]", "W[at[i, j], k] + B[i, j, k]"],
)
def test_what_is_no_row_that_is_looked_up(value: str) -> None:
    assert "T.prefetch(T.address_of(W" not in text(embedding(value=value)).replace("\n", "").replace(" ", "")


def test_what_the_caches_hold_is_left_in_them() -> None:
    size = 3 * 5 * 64 * 4
    assert "T.prefetch" in text(embedding(), CpuFacts(512, 1, cache=2 * size))
    assert "T.prefetch" not in text(embedding(), CpuFacts(512, 1, cache=2 * size + 1))
    # of a small matrix the rows are in the caches anyway
    rows, many = 50 * 64 * 4, 30 * 50 * 64 * 4
    assert "T.prefetch" in text(embedding((30, 50)), CpuFacts(512, 1, cache=rows + many))
    assert "T.prefetch" not in text(embedding((30, 50)), CpuFacts(512, 1, cache=rows + many + 1))


@settings(max_examples=12, deadline=None)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 9)),
    st.integers(8, 80),
    st.sampled_from(["float32", "float64", "float16", "int8"]),
    st.sampled_from(["W[at[i, j], k]", "W[at[i, j], k] + P[j, k]", "T.max(W[at[i, j], k], W[at[i, 0], k])"]),
    st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64"]),
)
def test_the_rows_are_the_same(count: tuple[int, int], width: int, dtype: str, value: str, index: str) -> None:
    func = embedding(count, width, dtype, value, index)
    random = np.random.default_rng(width)
    given = [random.integers(-50, 50, shape).astype(dtype) for shape in ((50, width), (count[1], width))]
    at = random.integers(0, 50, count).astype(index)
    results = []
    for form in (func, default_schedule(func, NONE).func):
        result = np.zeros((*count, width), dtype)
        tirscript.build(form, pipeline=DEFAULT_LOWERING)(*given, at, result)
        results.append(result)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("index", ["int8", "uint8", "uint16", "uint64"])
def test_indices_of_any_dtype_are_prefetched(index: str) -> None:
    assert text(embedding((30, 50), index=index)).count("T.prefetch(") == 1


@pytest.mark.parametrize("wrong", [-1, 50, 1 << 40])
def test_a_wrong_row_is_found_where_it_is_read(wrong: int) -> None:
    func = default_schedule(embedding(), NONE).func
    built = tirscript.build(func, debug=True, pipeline=DEFAULT_LOWERING)
    at = np.zeros((3, 5), "int64")
    at[2, 1] = wrong
    arrays = [np.zeros(shape, "float32") for shape in ((50, 64), (5, 64))]
    with pytest.raises(DiagnosticError, match=rf"read of `W\[{64 * wrong}\]` is out of bounds(.|\n)*i = 2, j = 1"):
        built(*arrays, at, np.zeros((3, 5, 64), "float32"))
