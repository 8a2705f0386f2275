"""Masks of consecutive lanes, and loops of vectors whose length is known when they run."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.script import function
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.ir import DiagnosticError
from tirscript.passes import DEFAULT_LOWERING


def comparisons(dtype: str, lanes: int) -> tirscript.ir.PrimFunc:
    """Every comparison of a ramp with a limit, in both orders, and of a moved ramp."""
    ramp, limit = f"T.ramp(x, T.{dtype}(1), {lanes})", f"T.broadcast(y, {lanes})"
    moved = f"({ramp} + T.broadcast(T.{dtype}(3), {lanes}))"
    tests = [
        f"{a} {op} {b}" for op in ("<", "<=", ">", ">=") for a, b in ((ramp, limit), (limit, ramp), (moved, limit))
    ]
    lines = [
        f"M[{at * lanes}:{(at + 1) * lanes}] = T.Select({test}, T.broadcast(1, {lanes}), T.broadcast(0, {lanes}))"
        for at, test in enumerate(tests)
    ]
    return function("\n".join(lines), f'x: T.{dtype}, y: T.{dtype}, M: T.Buffer(({12 * lanes},), "int32")')


MADE = {(dtype, lanes): comparisons(dtype, lanes) for dtype in ("int32", "int64", "uint8", "int8") for lanes in (3, 16)}
BUILT = {key: tirscript.build(func) for key, func in MADE.items()}


@pytest.mark.parametrize("key", list(MADE))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_masks_are_what_the_comparison_says(key: tuple[str, int], data: st.DataObject) -> None:
    low, high = tirscript.ir.dtype(key[0]).int_range()
    near = st.integers(-20, 20)
    number = st.one_of(
        near, near.map(lambda d: low + 20 + d), near.map(lambda d: high - 20 + d), st.integers(low, high)
    )
    x, y = (min(high, max(low, data.draw(number))) for _ in "xy")
    want, got = np.zeros(12 * key[1], "int32"), np.zeros(12 * key[1], "int32")
    tirscript.interpret(MADE[key], x, y, want)
    BUILT[key](x, y, got)
    assert (want == got).all()


GUARDED = """
for i0 in range((n + 15) // 16):
    for i1 in T.vectorized(16):
        if i0 * 16 + i1 < n:
            B[i0 * 16 + i1] = A[i0 * 16 + i1] * T.float32(2)
"""


@pytest.mark.parametrize("count", ["(n + 15) // 16", "T.ceildiv(n, 16)"])
def test_a_guard_is_one_comparison_of_bytes(count: str) -> None:
    func = function(
        GUARDED.replace("(n + 15) // 16", count), 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")'
    )
    text = emit_ir(DEFAULT_LOWERING(func), optimized=False)
    assert "icmp ult <16 x i8>" in text and "icmp slt <16 x i64>" not in text
    built = tirscript.build(func)
    for n in (0, 1, 15, 16, 17, 31, 32, 33):
        # what lies behind is not touched
        room, given = np.full(n + 8, -1, "float32"), np.arange(n, dtype="float32")
        built(given, room[:n])
        assert (room[:n] == 2 * given).all() and (room[n:] == -1).all()


def test_dimensions_leave_room_for_the_arithmetic_of_indices() -> None:
    func = function(GUARDED, 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")')
    # a view without memory of its own, since no array is so long
    long = np.lib.stride_tricks.as_strided(np.zeros(1, "int8"), (1 << 57,), (0,))
    strided = function("B[0] = A[0]", 'A: T.Buffer(("n",), "int8", strides=("s",)), B: T.Buffer((1,), "int8")')
    with pytest.raises(DiagnosticError, match=r"T301.*dimension of an argument"):
        tirscript.build(strided)(long, np.zeros(1, "int8"))
    assert f"icmp ult i64 %$2, {1 << 56}" in emit_ir(DEFAULT_LOWERING(func), optimized=False)


SHARED = """
for i0 in range(T.ceildiv(n, 16)):
    B.vstore(
        [T.ramp(i0 * 16, 1, 16)],
        A.vload([T.ramp(i0 * 16, 1, 16)], predicate=T.ramp(i0 * 16, 1, 16) < T.broadcast(n, 16))
        - M.vload([{place}], predicate=T.ramp(i0 * 16, 1, 16) < T.broadcast(n, 16)),
        predicate=T.ramp(i0 * 16, 1, 16) < T.broadcast(n, 16),
    )
"""


@pytest.mark.parametrize(("place", "plain"), [("T.broadcast(2, 16)", True), ("T.broadcast(n % 5, 16)", False)])
def test_one_element_for_all_lanes_of_a_mask_is_loaded_once(place: str, plain: bool) -> None:
    """Where it is not known to be there, if a lane asks for it."""
    params = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), M: T.Buffer((4,), "float32")'
    func = function(SHARED.format(place=place), params)
    text = emit_ir(func, optimized=False)
    assert "masked.gather" not in text
    assert ("vector.reduce.or" not in text) == plain
    made = tirscript.build(func, pipeline=DEFAULT_LOWERING)
    for n in (0, 1, 16, 18, 33):
        given, room, other = (
            np.arange(n, dtype="float32"),
            np.full(n + 20, -1, "float32"),
            np.arange(4, dtype="float32"),
        )
        made(given, room[:n], other)
        assert (room[:n] == given - (2 if plain else n % 5)).all() and (room[n:] == -1).all()


def test_no_lane_asks_for_an_element_that_is_not_there() -> None:
    text = "A[0:8] = A.vload([T.broadcast(at, 8)], predicate=T.ramp(at, 1, 8) < T.broadcast(4, 8))"
    made = tirscript.build(function(text, 'A: T.Buffer((16,), "float32"), at: T.int32'), pipeline=DEFAULT_LOWERING)
    for at, wanted in ((1, [5, 5, 5, 0, 0, 0, 0, 0]), (3, [7] + [0] * 7), (1 << 30, [0] * 8)):
        array = np.arange(4, 20, dtype="float32")
        made(array, at)
        assert array[:8].tolist() == wanted
