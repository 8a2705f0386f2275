"""Scans in pieces: the primitive, what it refuses, and which scans the default schedule gives to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
PLUS = "T.if_then_else(vk == 0, {zero}, B[vi, vk - 1]) + A[vi, vk]"


def scan(n: int, m: int, dtype: str = "int32", value: str = PLUS, zero: str = "") -> PrimFunc:
    value = value.format(zero=zero or f"T.{dtype}(0)")
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer(({n}, {m}), "{dtype}"), B: T.Buffer(({n}, {m}), "{dtype}")):
    for i, k in T.grid({n}, {m}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            vk = T.axis.scan({m}, k)
            B[vi, vk] = {value}
""")
    assert isinstance(found, PrimFunc)
    return found


def in_pieces(func: PrimFunc, lanes: int) -> Schedule:
    schedule = Schedule(func)
    schedule.blocked_scan(schedule.get_loops("B")[-1], lanes)
    return schedule


COMBINERS = {
    "sum": PLUS,
    "value first": "A[vi, vk] + T.if_then_else(0 == vk, {zero}, B[vi, vk - 1])",
    "product": "T.if_then_else(vk == 0, {zero} + 3, B[vi, vk - 1]) * (A[vi, vk] + A[0, vk])",
    "most": "T.max(T.if_then_else(vk == 0, A[vi, 5], B[vi, vk - 1]), A[vi, vk])",
    "least": "T.min(A[vi, vk], T.if_then_else(vk == 0, {zero}, B[vi, vk - 1]))",
}


@pytest.mark.parametrize("lanes", [2, 16])
@pytest.mark.parametrize("combiner", list(COMBINERS))
def test_integers_are_exact(combiner: str, lanes: int) -> None:
    for m in (16, 37):
        func = scan(3, m, value=COMBINERS[combiner])
        made = in_pieces(func, lanes)
        assert_same_result(func, made.func)
        assert made.func.script().count("piece[0") == 3 * (lanes.bit_length() - 1)
        again = Trace.parse(str(made.trace)).replay(Schedule(func))
        assert again.script() == made.script()


@settings(max_examples=8, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 300),
    st.sampled_from(("int8", "uint16", "int32", "int64", "float32", "float64", "float16")),
    st.sampled_from((128, 512)),
    st.sampled_from((1, 1 << 24)),
)
def test_natively_it_is_the_scan(n: int, m: int, dtype: str, bits: int, cache: int) -> None:
    func = scan(n, m, dtype)
    made = default_schedule(func, CpuFacts(bits, 2, cache=cache)).func
    given = np.random.default_rng(n * m).integers(0, 3, (n, m)).astype(dtype)
    wanted, memory = np.zeros((n, m), dtype), np.zeros(n * m + 8, dtype)
    interpret(func, given, wanted)
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(given, memory[1 : n * m + 1].reshape(n, m))
    assert (memory[1 : n * m + 1].reshape(n, m) == wanted).all()  # whole numbers are exact in any order
    assert memory[0] == 0 and not memory[n * m + 1 :].any()


def test_the_error_of_floats_does_not_grow() -> None:
    func = scan(1, 20000, "float32")
    given = np.random.default_rng(7).standard_normal((1, 20000)).astype("float32")
    exact = given.astype("float64").cumsum(axis=1)
    errors = []
    for made in (func, default_schedule(func, FACTS).func):
        found = np.zeros_like(given)
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(given, found)
        errors.append(np.abs(found - exact).max())
    assert errors[1] < errors[0] / 2
    special = np.zeros((1, 20000), "float32")
    special[0, 100], special[0, 200], special[0, 19999] = np.inf, -np.inf, np.nan
    found = np.zeros_like(special)
    tirscript.build(default_schedule(func, FACTS).func, pipeline=DEFAULT_LOWERING)(special, found)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(found, special.cumsum(axis=1), equal_nan=True)


def test_a_sum_of_minus_zeros() -> None:
    func = scan(1, 64, "float32", zero="T.float32(-0.0)")
    made = default_schedule(func, FACTS).func
    given, found = np.full((1, 64), -0.0, "float32"), np.ones((1, 64), "float32")
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(given, found)
    assert np.signbit(found).all()


@pytest.mark.parametrize(
    ("func", "lanes", "why"),
    [
        (scan(2, 32), 3, "must be a power of two"),
        (scan(2, 32), 1, "must be a power of two"),
        (scan(2, 7), 8, "does not run from 0 to a number of 8 or more"),
        (scan(2, 32, value="T.if_then_else(vk == 0, {zero}, B[vi, vk - 1]) + B[vi, vk]"), 8, "is no scan"),
        (scan(2, 32, value="T.if_then_else(vk == 1, {zero}, B[vi, vk - 1]) + A[vi, vk]"), 8, "is no scan"),
        (scan(2, 32, value="T.if_then_else(vk == 0, {zero}, B[vi, vk - 2]) + A[vi, vk]"), 8, "is no scan"),
        (scan(2, 32, value="T.if_then_else(vk == 0, {zero}, B[0, vk - 1]) + A[vi, vk]"), 8, "is no scan"),
        (scan(2, 32, value="T.if_then_else(vk == 0, {zero}, B[vi, vk - 1]) - A[vi, vk]"), 8, "is no scan"),
        (scan(2, 32, value="T.if_then_else(vk == 0, A[vi, vk], B[vi, vk - 1]) + A[vi, vk]"), 8, "is no scan"),
    ],
)
def test_what_is_refused(func: PrimFunc, lanes: int, why: str) -> None:
    before = func.script()
    with pytest.raises(ScheduleError, match=why):
        in_pieces(func, lanes)
    assert func.script() == before


def test_a_loop_over_rows_is_no_scan() -> None:
    schedule = Schedule(scan(4, 32))
    with pytest.raises(ScheduleError, match="does not hold a block alone"):
        schedule.blocked_scan(schedule.get_loops("B")[0], 8)
    schedule.parallel(schedule.get_loops("B")[0])
    outer, _ = schedule.split(schedule.get_loops("B")[-1], [None, 8])
    with pytest.raises(ScheduleError, match="is not the axis"):
        schedule.blocked_scan(schedule.get_loops("B")[-1], 8)
    with pytest.raises(ScheduleError, match="does not hold a block alone"):
        schedule.blocked_scan(outer, 8)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", PLUS, True),
        ("int8", PLUS, True),
        ("int32", COMBINERS["most"], True),
        ("float32", COMBINERS["most"], False),  # what of a nan and a number is the greater depends on the order
        ("float32", COMBINERS["product"], False),  # a product of a piece may overflow where the whole is 0
        ("int32", "T.if_then_else(vk == 0, {zero}, B[vi, vk - 1]) + A[vi, 255 - vk]", False),
    ],
)
def test_which_scans_the_default_schedule_takes(dtype: str, value: str, expected: bool) -> None:
    func = scan(4, 256, dtype, value)
    made: Any = default_schedule(func, FACTS)
    assert ("blocked_scan" in str(made.trace)) == expected
    if dtype == "float32":
        assert "blocked_scan" not in str(default_schedule(func, CpuFacts(512, 2, reassociate=False)).trace)
        ordered = func.replace(attrs=Attrs({"fastmath": False}))
        assert "blocked_scan" not in str(default_schedule(ordered, FACTS).trace)


def test_large_scans_run_in_parallel_and_past_the_caches() -> None:
    text = default_schedule(scan(512, 256), CpuFacts(512, 2, cache=1 << 19)).func.script()
    assert "in T.parallel(512)" in text and 'T.block_attr({"pragma_nontemporal": True})' in text
    assert "nontemporal" not in default_schedule(scan(512, 256), CpuFacts(512, 2)).func.script()
    assert_same_result(scan(40, 96), default_schedule(scan(40, 96), CpuFacts(512, 2, cache=1)).func)
