"""Rows whose greatest element is looked for from their first one on, of lengths that only the call knows too."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=1)
LENGTHS = (1, 2, 40, 41, 65, 200)


def rows(begin: int, order: str = ">", dtype: str = "float32", *, place: bool = True) -> PrimFunc:
    found = parse(
        f"""
@T.prim_func
def main(a: T.handle, at: T.handle, most: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "{dtype}")
    At = T.match_buffer(at, (n,), "int32")
    Most = T.match_buffer(most, (n,), "{dtype}")
    for i in range(n):
        best: T.{dtype} = A[i, 0]
        where: T.int32 = 0
        for j in range({begin}, m):
            if A[i, j] {order} best:
                best = A[i, j]
                {"where = j" if place else ""}
        At[i] = where
        Most[i] = best
"""
    )
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(("begin", "order"), [(0, ">"), (1, "<"), (3, ">")])
def test_rows_that_begin_with_an_element_are_searched_in_lanes(begin: int, order: str, dtype: str) -> None:
    func = rows(begin, order, dtype)
    made = default_schedule(func, FACTS)
    assert "rfactor" in str(made.trace)
    fast, plain = tirscript.build(scheduled(func, FACTS)), tirscript.build(func, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(3)
    for length in LENGTHS:
        A = rng.integers(-2, 3, (4, length)).astype(dtype)
        if dtype == "float32":
            A[1] = -np.inf
            A[rng.random(A.shape) < 0.1] = np.nan
            A[rng.random(A.shape) < 0.1] = -0.0
        wanted, found = ((np.zeros(4, "int32"), np.zeros(4, dtype)) for _ in range(2))
        plain(A, *wanted)
        fast(A, *found)
        assert found[0].tolist() == wanted[0].tolist()
        assert found[1].tobytes() == wanted[1].tobytes()


@pytest.mark.parametrize("begin", [0, 1])
def test_so_are_those_whose_place_nobody_wants(begin: int) -> None:
    func = rows(begin, place=False)
    assert "rfactor" in str(default_schedule(func, FACTS).trace)
    built = tirscript.build(scheduled(func, FACTS))
    for length in LENGTHS:
        A = np.random.default_rng(length).standard_normal((4, length)).astype("float32")
        at, most = np.ones(4, "int32"), np.zeros(4, "float32")
        built(A, at, most)
        assert not at.any()
        assert most.tobytes() == A.max(axis=1).tobytes()


def test_sums_from_a_later_term_on_are_reductions() -> None:
    func = parse(
        """
@T.prim_func
def main(a: T.handle, s: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    S = T.match_buffer(s, (n,), "float32")
    for i in range(n):
        S[i] = 0.5
        for j in range(2, m):
            S[i] = S[i] + A[i, j]
"""
    )
    assert isinstance(func, PrimFunc)
    built = tirscript.build(scheduled(func, FACTS))
    assert "rfactor" in str(default_schedule(func, FACTS).trace)
    for length in (0, 1, *LENGTHS):
        A, S = np.ones((3, length), "float32"), np.zeros(3, "float32")
        built(A, S)
        assert S.tolist() == [max(length - 2, 0) + 0.5] * 3


def test_masked_loads_behind_the_first_element_lie_along_memory() -> None:
    # an index that is one more than what the mask keeps below a size does not wrap
    lowered = tirscript.build(scheduled(rows(1, place=False), FACTS)).lowered.script()
    assert "predicate" in lowered
    assert "T.cast(T.ramp" not in lowered


@pytest.mark.parametrize(("order", "before"), [(">", "<"), ("<", "<"), (">", ">")])
def test_blocks_that_decide_between_equal_elements_run_in_any_order(order: str, before: str) -> None:
    func = parse(
        f"""
@T.prim_func
def main(A: T.Buffer((3, 48)), P: T.Buffer((3, 48), "int32"), at: T.Buffer((3,), "int32"), best: T.Buffer((3,))):
    for i, k in T.grid(3, 48):
        with T.block("at"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = {1000 if before == "<" else -1}
                best[vi] = {"-1e30" if order == ">" else "1e30"}
            better = A[vi, vk] {order} best[vi] or A[vi, vk] == best[vi] and P[vi, vk] {before} at[vi]
            where = P[vi, vk] if better else at[vi]
            most = A[vi, vk] if better else best[vi]
            at[vi] = where
            best[vi] = most
"""
    )
    assert isinstance(func, PrimFunc)
    schedule = Schedule(func)
    for size in (16, 5):
        _, along = schedule.split(schedule.get_loops("at")[-1], [None, size])
        schedule.rfactor(along)
    assert_same_result(func, schedule.func)
    made = tirscript.build(schedule.func, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(1)
    A, P = rng.integers(0, 4, (3, 48)).astype("float32"), rng.integers(0, 99, (3, 48)).astype("int32")
    at, best = np.zeros(3, "int32"), np.zeros(3, "float32")
    made(A, P, at, best)
    for row in range(3):
        most = A[row].max() if order == ">" else A[row].min()
        equal = P[row][A[row] == most]
        assert (best[row], at[row]) == (most, equal.min() if before == "<" else equal.max())
