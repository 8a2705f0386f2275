"""Scans by several threads: the primitive, what it refuses, which scans the default schedule gives to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, walk
from tirscript.ir.expr import Call
from tirscript.ir.op import OPS
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
PLUS = "T.if_then_else(vk == 0, T.{dtype}(0), B[vk - 1]) + A[vk]"


def scan(n: int, dtype: str = "int32", value: str = PLUS) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer(({n},), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
    for k in range({n}):
        with T.block("B"):
            vk = T.axis.scan({n}, k)
            B[vk] = {value.format(dtype=dtype)}
""")
    assert isinstance(found, PrimFunc)
    return found


def in_parts(func: PrimFunc, *sizes: int) -> Schedule:
    schedule = Schedule(func)
    schedule.parallel_scan(schedule.get_loops("B")[-1], *sizes)
    return schedule


@pytest.mark.parametrize(("lanes", "parts", "size"), [(2, 2, 2), (4, 3, 12), (8, 2, 32)])
@pytest.mark.parametrize(
    "value",
    [
        PLUS,
        "A[vk] * T.if_then_else(vk == 0, T.int32(3), B[vk - 1])",
        "T.max(T.if_then_else(0 == vk, A[3], B[vk - 1]), A[vk] - A[0])",
    ],
)
def test_integers_are_exact(value: str, lanes: int, parts: int, size: int) -> None:
    for n in (parts * size, 3 * parts * size, 2 * parts * size + 5, 2 * parts * size + lanes * 3 - 1):
        func = scan(n, value=value)
        made = in_parts(func, lanes, parts, size)
        assert_same_result(func, made.func)
        assert made.func.script().count(f"in T.parallel({parts})") == 2
        again = Trace.parse(str(made.trace)).replay(Schedule(func))
        assert again.script() == made.script()


def test_rows_one_after_the_other() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((3, 50), "int32"), B: T.Buffer((3, 50), "int32")):
    for i, k in T.grid(3, 50):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            vk = T.axis.scan(50, k)
            B[vi, vk] = T.if_then_else(vk == 0, A[vi, 7], B[vi, vk - 1]) + A[vi, vk]
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, in_parts(func, 4, 2, 8).func)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_the_result_does_not_depend_on_the_threads(dtype: str) -> None:
    n = 100_003
    given = (np.random.default_rng(3).standard_normal(n) * 9).astype(dtype)
    built = tirscript.build(in_parts(scan(n, dtype), 16, 8, 4096).func, pipeline=DEFAULT_LOWERING)
    before, found = tirscript.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tirscript.set_num_threads(threads)
            found.append(np.zeros(n, dtype))
            built(given, found[-1])
    finally:
        tirscript.set_num_threads(before)
    assert all(one.tobytes() == found[0].tobytes() for one in found)
    exact = given.astype("float64" if dtype.startswith("float") else "int64").cumsum()
    if dtype == "int8":
        assert (found[0] == exact.astype("int8")).all()
    else:
        assert np.abs(found[0] - exact).max() < 1e-6 * np.abs(exact).max()


def test_minus_zeros_infinities_and_what_is_no_number() -> None:
    func = scan(5000, "float32", PLUS.replace("T.{dtype}(0)", "T.float32(-0.0)"))
    built = tirscript.build(in_parts(func, 16, 4, 512).func, pipeline=DEFAULT_LOWERING)
    given, found = np.full(5000, -0.0, "float32"), np.ones(5000, "float32")
    built(given, found)
    assert np.signbit(found).all() and not found.any()
    given[1000], given[3000] = np.inf, -np.inf
    built(given, found)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(found, given.cumsum(), equal_nan=True)


def test_the_next_block_is_prefetched_where_it_is_read_for_certain() -> None:
    made = in_parts(scan(50), 4, 2, 8).func
    later = "T.min(block * 16 + part * 8 + k_0 * 4, 33) + 16"
    prefetches = [str(node) for node in walk(made.body) if type(node) is Call and node.op is OPS["prefetch"]]
    assert prefetches == [f"T.prefetch(T.address_of(A[{later}]), 0, 2, 1)"]
    maybe = scan(50, value="T.if_then_else(vk == 0, 0, B[vk - 1]) + T.if_then_else(vk < 20, A[vk], A[0])")
    found = in_parts(maybe, 4, 2, 8).func
    assert "prefetch" not in found.script()
    assert_same_result(maybe, found)
    assert (
        "prefetch"
        not in in_parts(scan(50, value="T.if_then_else(vk == 0, 0, B[vk - 1]) + A[3]"), 4, 2, 8).func.script()
    )


@pytest.mark.parametrize(
    ("func", "sizes", "why"),
    [
        (scan(64), (3, 2, 3), "must be a power of two"),
        (scan(64), (4, 1, 8), "`parts` is 1"),
        (scan(64), (4, 2, 6), "must be a multiple of the 4 lanes"),
        (scan(64), (4, 2, 0), "must be a multiple of the 4 lanes"),
        (scan(64), (4, 2, 36), "has 64 iterations, and a block 72"),
        (scan(64, value="T.if_then_else(vk == 0, 0, B[vk - 1]) - A[vk]"), (4, 2, 8), "is no scan"),
    ],
)
def test_what_is_refused(func: PrimFunc, sizes: tuple[int, ...], why: str) -> None:
    before = func.script()
    with pytest.raises(ScheduleError, match=why):
        in_parts(func, *sizes)
    assert func.script() == before


@pytest.mark.parametrize(
    ("n", "dtype", "facts", "parts"),
    [
        (1 << 19, "float32", FACTS, "64, 4096)"),
        (1 << 18, "float64", FACTS, "64, 2048)"),
        (1 << 23, "float32", CpuFacts(512, 16), "512, 4096)"),  # half a MiB for each thread
        (1 << 21, "float32", CpuFacts(512, 16), "256, 4096)"),  # two blocks at least
        ((1 << 19) - 1, "float32", FACTS, ""),
        (1 << 19, "float32", CpuFacts(512, 1), ""),
        (1 << 19, "float32", CpuFacts(512, 2, reassociate=False), None),
    ],
)
def test_one_long_scan_is_done_by_all_threads(n: int, dtype: str, facts: CpuFacts, parts: str | None) -> None:
    made: Any = default_schedule(scan(n, dtype), facts)
    trace = str(made.trace)
    assert ("parallel_scan" in trace) == bool(parts)
    assert ("blocked_scan" in trace) == (parts == "")
    assert not parts or parts in trace


def test_what_the_default_schedule_made_gives_the_sums() -> None:
    n = (1 << 20) + 1234
    given = np.random.default_rng(1).integers(-9, 9, n).astype("float32")
    found = np.zeros(n + 2, "float32")
    tirscript.build(default_schedule(scan(n, "float32"), CpuFacts(512, 2, cache=1)).func, pipeline=DEFAULT_LOWERING)(
        given, found[1:-1]
    )
    assert (found[1:-1] == given.cumsum()).all() and found[0] == found[-1] == 0
