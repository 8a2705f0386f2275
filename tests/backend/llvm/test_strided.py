"""Vectors of lanes that are apart: what is read and written, and by which instructions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from helpers.script import function
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import Host, emit_ir, host
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING

CHUNKS = 2


def copying(dtype: str, lanes: int, load: int, store: int) -> PrimFunc:
    """A copy with a distance between the elements on either side; a negative one goes backward."""
    count = CHUNKS * lanes

    def index(distance: int) -> str:
        at = f"(i * {lanes} + j)"
        return f"{at} * {distance}" if distance > 0 else f"({count - 1} - {at}) * {-distance}"

    sizes = [(count - 1) * abs(distance) + 1 for distance in (load, store)]
    return function(
        f"for i in range({CHUNKS}):\n    for j in T.vectorized({lanes}):\n        B[{index(store)}] = A[{index(load)}]",
        f'A: T.Buffer(({sizes[0]},), "{dtype}"), B: T.Buffer(({sizes[1]},), "{dtype}")',
    )


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "int8", "float64", "bool", "float16", "bfloat16"]),
    lanes=st.sampled_from([3, 4, 7, 8, 12, 16, 24, 28, 33, 48, 61, 64]),
    load=st.sampled_from([1, 2, 3, 4, 5, -1, -2, -3, -4]),
    store=st.sampled_from([1, 2, 3, 4, -1, -2, -3]),
)
def test_the_elements_that_are_meant_and_no_others(dtype: str, lanes: int, load: int, store: int) -> None:
    func = copying(dtype, lanes, load, store)
    source, target = (param.constant_shape()[0] for param in func.params)  # type: ignore[union-attr,index]
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, source).astype(kind)
    want, room = np.ones(target, kind), np.ones(target + 64, kind)
    tirscript.interpret(func, a, want)
    tirscript.build(func, pipeline=DEFAULT_LOWERING, opt_level=1)(a, room[:target])
    assert (room[:target] == want).all() and (room[target:] == np.ones(1, kind)).all()


WIDE = Host(host().triple, "x86-64-v4", "+avx,+avx2,+avx512f,+avx512vl,+avx512bw,+avx512dq")


def text(load: int, store: int, lanes: int = 16) -> str:
    return emit_ir(DEFAULT_LOWERING(copying("float32", lanes, load, store)), target=WIDE, optimized=False)


@pytest.mark.parametrize("load, registers", [(-1, 1), (2, 2), (-2, 2), (3, 3), (4, 4)])
def test_near_lanes_are_whole_registers(load: int, registers: int) -> None:
    found = text(load, 1)
    assert "gather" not in found and found.count("= load <16 x float>") == registers
    assert text(load, 1, 64).count("= load <16 x float>") == 4 * registers
    uneven = text(load, 1, 48)
    assert "gather" not in uneven and uneven.count("= load <16 x float>") == 3 * registers
    rest = text(load, 1, 28)
    assert "gather" not in rest and rest.count("= load <16 x float>") == rest.count("= load <12 x float>") == registers


def test_far_lanes_are_gathered_and_scattered() -> None:
    assert "masked.gather" in text(5, 1) and "masked.scatter" in text(1, 4)
    assert "masked.gather" in text(2, 1, 3)


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "int8", "float64", "bool", "float16"]),
    lanes=st.sampled_from([3, 4, 7, 8, 12, 16, 24, 28, 33, 48, 61, 64]),
    load=st.sampled_from([2, 3, 4, -2, -3, -4]),
    store=st.sampled_from([1, 2, 3, -2, -3]),
    bounds=st.tuples(st.integers(0, 130), st.integers(0, 130)),
)
def test_lanes_that_are_off_touch_nothing(
    dtype: str, lanes: int, load: int, store: int, bounds: tuple[int, int]
) -> None:
    """Iterations outside of some bounds lie outside of the arrays, too, of which a part is given."""
    first, last = (min(bound, CHUNKS * lanes) for bound in sorted(bounds))
    count = last - first

    def index(distance: int) -> str:
        at = f"(i * {lanes} + j - {first})"
        return f"{at} * {distance}" if distance > 0 else f"({count - 1} - {at}) * {-distance}"

    sizes = [max(0, (count - 1) * abs(distance)) + 1 for distance in (load, store)]
    func = function(
        f"for i in range({CHUNKS}):\n    for j in T.vectorized({lanes}):\n"
        f"        if i * {lanes} + j >= {first} and i * {lanes} + j < {last} and M[i * {lanes} + j]:\n"
        f"            B[{index(store)}] = A[{index(load)}]",
        f'A: T.Buffer(({sizes[0]},), "{dtype}"), M: T.Buffer(({CHUNKS * lanes},), "bool"), '
        f'B: T.Buffer(({sizes[1]},), "{dtype}")',
    )
    random = np.random.default_rng(0)
    a = random.integers(0, 2 if dtype == "bool" else 100, sizes[0]).astype(dtype)
    mask = random.integers(0, 4, CHUNKS * lanes) > 0
    want, room = np.ones(sizes[1], dtype), np.ones(sizes[1] + 512, dtype)
    tirscript.interpret(func, a, mask, want)
    part = room[256 : 256 + sizes[1]]
    tirscript.build(func, pipeline=DEFAULT_LOWERING, opt_level=1)(a, mask, part)
    assert (part == want).all()
    part[:] = 1
    assert (room == np.ones(1, dtype)).all()


def masked(dtype: str, load: int, store: int, target: Host) -> str:
    func = function(
        f"for j in T.vectorized(16):\n    if M[j]:\n        B[j * {store}] = A[j * {load}]",
        f'A: T.Buffer((61,), "{dtype}"), M: T.Buffer((16,), "bool"), B: T.Buffer((46,), "{dtype}")',
    )
    return emit_ir(DEFAULT_LOWERING(func), target=target, optimized=False)


def test_near_lanes_under_a_mask_are_registers_under_masks() -> None:
    narrow = Host(WIDE.triple, "x86-64-v3", "+avx,+avx2")
    for dtype, target in (("float32", WIDE), ("int8", WIDE), ("float32", narrow)):
        found = masked(dtype, 3, 2, target)
        assert "gather" not in found and "scatter" not in found
    assert "gather" in masked("int8", 3, 2, narrow) and "scatter" in masked("int8", 3, 2, narrow)


def test_stores_write_through_masks() -> None:
    found = text(1, 2)
    assert "scatter" not in found and found.count('call void @"llvm.masked.store') == 2
    reversed_ = text(1, -1)
    assert "masked" not in reversed_ and reversed_.count("store <16 x float>") == 1


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(["float32", "int8", "float64", "bool", "float16", "bfloat16"]),
    lanes=st.sampled_from([3, 4, 8, 16, 24, 64]),
    count=st.sampled_from([2, 3, 4, 8, 16, 32, 128]),
    first=st.integers(0, 9),
)
def test_lanes_that_share_what_they_read(dtype: str, lanes: int, count: int, first: int) -> None:
    size = (first + CHUNKS * lanes - 1) // count + 2
    func = function(
        f"for i in range({CHUNKS}):\n    for j in T.vectorized({lanes}):\n"
        f"        B[i * {lanes} + j] = A[({first} + i * {lanes} + j) // {count} + 1]",
        f'A: T.Buffer(({size},), "{dtype}"), B: T.Buffer(({CHUNKS * lanes},), "{dtype}")',
    )
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a = np.arange(size).astype(kind)
    found = np.zeros(CHUNKS * lanes, kind)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(a, found)
    assert (found == a[(first + np.arange(CHUNKS * lanes)) // count + 1]).all()
    step = min(lanes, count)
    if max(lanes, count) % step == 0 and first % step == 0 and dtype != "bool":
        assert "masked.gather" not in emit_ir(DEFAULT_LOWERING(func), optimized=False)
