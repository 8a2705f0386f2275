"""argmax and argmin: as rfactor takes them apart, and as the default schedule runs them in vectors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tirscript
from tirscript.ir import For, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.extremes import extreme_of
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

TEXT = """
@T.prim_func
def main(A: T.Buffer(({rows}, {n}), "{dtype}"), at: T.Buffer(({rows},), "{index}"), best: T.Buffer(({rows},), "{dtype}")):
    for i, k in T.grid({rows}, {n}):
        with T.block("at"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = {start}
                best[vi] = {first}
            better: T.bool = {better}
            where: T.{index} = T.if_then_else(better, T.cast(vk, "{index}"), at[vi])
            most: T.{dtype} = T.if_then_else(better, A[vi, vk], best[vi])
            at[vi] = where
            best[vi] = most
"""
ORDERS = ["A[vi, vk] > best[vi]", "A[vi, vk] < best[vi]", "best[vi] <= A[vi, vk]", "best[vi] >= A[vi, vk]"]


def kernel(
    better: str,
    rows: int = 3,
    n: int = 300,
    dtype: str = "float32",
    index: str = "int64",
    start: object = -1,
    first: str = "A[vi, 0]",
) -> PrimFunc:
    text = TEXT.format(
        rows=rows, n=n, dtype=dtype, index=index, start=f"T.{index}({start})", first=first, better=better
    )
    made = parse(text)
    assert isinstance(made, PrimFunc)
    return made


def hard(rows: int, n: int, dtype: str, seed: int) -> np.ndarray:
    """Few different values, so that many are equal, and nan, infinities and zeros of both signs among floats."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (rows, n)).astype(dtype)
    if dtype == "float32":
        special = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], (rows, n)).astype(dtype)
        A = np.where(rng.random((rows, n)) < 0.02, special, A)
        A[0, 0] = np.nan
    return A


@pytest.mark.parametrize(("better", "dtype"), list(itertools.product(ORDERS, ["float32", "int32"])))
def test_the_same_element_is_found_whatever_the_order(better: str, dtype: str) -> None:
    func = kernel(better, dtype=dtype)
    made = [default_schedule(func, facts).func for facts in (CpuFacts(512, 2), CpuFacts(128, 1))]
    assert all(any(type(node) is For and node.kind == "vectorized" for node in walk(one.body)) for one in made)
    plain, *others = [tirscript.build(one, pipeline=DEFAULT_LOWERING) for one in (func, *made)]
    for seed in range(5):
        A = hard(3, 300, dtype, seed)
        at, best = np.zeros(3, "int64"), np.zeros(3, dtype)
        plain(A, at, best)
        for other in others:
            found, most = np.zeros_like(at), np.zeros_like(best)
            other(A, found, most)
            assert found.tolist() == at.tolist()
            assert most.tobytes() == best.tobytes()


def test_everything_is_searched_in_parts() -> None:
    @T.prim_func
    def argmax(A: T.Buffer((1 << 18,), "float32"), at: T.Buffer((1,), "int64")):
        best = T.alloc_buffer((1,), "float32")
        for k in range(1 << 18):
            with T.block("at"):
                vk = T.axis.reduce(1 << 18, k)
                with T.init():
                    at[0] = T.int64(-1)
                    best[0] = T.min_value("float32")
                better: T.bool = A[vk] > best[0]
                where: T.int64 = T.if_then_else(better, T.cast(vk, "int64"), at[0])
                most: T.float32 = T.if_then_else(better, A[vk], best[0])
                at[0] = where
                best[0] = most

    made = default_schedule(argmax, CpuFacts(512, 2)).func
    assert {"parallel", "vectorized"} <= {node.kind for node in walk(made.body) if type(node) is For}
    function, A = tirscript.build(made, pipeline=DEFAULT_LOWERING), np.zeros(1 << 18, "float32")
    for places in ((77_777, 200_000), (200_000,), (0, 1), ((1 << 18) - 1,)):
        A[:], at = -3, np.zeros(1, "int64")
        A[list(places)] = 5
        function(A, at)
        assert at[0] == A.argmax() == places[0]


@pytest.mark.parametrize("better", ORDERS)
def test_rfactor_keeps_the_meaning(better: str) -> None:
    for factors, part in (([None, 8], 1), ([7, None], 0)):
        func = kernel(better, n=37)
        schedule = Schedule(func)
        schedule.rfactor(schedule.split(schedule.get_loops("at")[1], factors)[part])
        assert_same_result(func, schedule.func)


TIE = "best[vi] > A[vi, vk] or (best[vi] == A[vi, vk] and at[vi] < T.cast(vk, 'int64'))"


@pytest.mark.parametrize("condition", ["best[vi] >= A[vi, vk]", TIE])
@pytest.mark.parametrize("named", [True, False])
def test_what_keeps_the_element_in_the_first_case_may_be_found_anywhere(condition: str, named: bool) -> None:
    text = (
        TEXT.format(rows=3, n=40, dtype="float32", index="int64", start=-1, first='T.float32("-inf")', better=condition)
        .replace('T.cast(vk, "int64"), at[vi]', 'at[vi], T.cast(vk, "int64")')
        .replace("A[vi, vk], best[vi])", "best[vi], A[vi, vk])")
    )
    if not named:
        text = text.replace(f"            better: T.bool = {condition}\n", "").replace("(better,", f"({condition},")
    func = parse(text)
    assert isinstance(func, PrimFunc)
    block = Schedule(func).get(Schedule(func).get_block("at"))
    assert extreme_of(block) is None  # of nan, the comparison that is turned is another one
    found = extreme_of(block, anywhere=True)
    assert found is not None and found.grows
    schedule = Schedule(func)
    schedule.rfactor(schedule.split(schedule.get_loops("at")[1], [None, 8])[1])
    assert_same_result(func, schedule.func)


def test_what_is_no_such_search_is_refused() -> None:
    found = [
        kernel("not (best[vi] >= A[vi, vk])"),  # nan would be found
        kernel("A[vi, vk] > A[vi, 0]"),
        kernel(ORDERS[2], start=5),  # whether an element equals the first is not known from its place
        kernel(ORDERS[0]).replace(body=parse(_swapped()).body),  # type: ignore[union-attr]
    ]
    for func in found:
        block = Schedule(func).get(Schedule(func).get_block("at"))
        assert extreme_of(block) is None
        schedule = Schedule(func)
        with pytest.raises(ScheduleError, match="is not an update"):
            schedule.rfactor(schedule.get_loops("at")[1])
    narrow = Schedule(
        kernel(ORDERS[0], index="int8", n=100)
    )  # where the index is none to decide by, one beside it does
    assert extreme_of(narrow.get(narrow.get_block("at"))) is None
    narrow.rfactor(narrow.get_loops("at")[1])
    assert_same_result(kernel(ORDERS[0], index="int8", n=100), narrow.func)
    assert extreme_of(Schedule(kernel(ORDERS[0])).get(Schedule(kernel(ORDERS[0])).get_block("at"))) is not None


def _swapped() -> str:
    """A place that is stored by what the block has just made: not the elements before it."""
    return """
@T.prim_func
def main(A: T.Buffer((3, 300), "float32"), at: T.Buffer((3,), "int64"), best: T.Buffer((3,), "float32")):
    for i, k in T.grid(3, 300):
        with T.block("at"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = T.int64(-1)
                best[vi] = A[vi, 0]
            best[vi] = T.if_then_else(A[vi, vk] > best[vi], A[vi, vk], best[vi])
            at[vi] = T.if_then_else(A[vi, vk] > best[vi], T.cast(vk, "int64"), at[vi])
"""


def test_loops_that_do_not_run_upward_are_refused() -> None:
    @T.prim_func
    def backward(A: T.Buffer((64,), "float32"), at: T.Buffer((1,), "int32"), best: T.Buffer((1,), "float32")):
        for a, b in T.grid(8, 8):
            with T.block("at"):
                vk = T.axis.reduce(64, b * 8 + a)
                with T.init():
                    at[0] = -1
                    best[0] = T.float32("-inf")
                better: T.bool = A[vk] > best[0]
                where: T.int32 = T.if_then_else(better, vk, at[0])
                most: T.float32 = T.if_then_else(better, A[vk], best[0])
                at[0] = where
                best[0] = most

    schedule = Schedule(backward)
    with pytest.raises(ScheduleError, match="the loops are not proved to run the axis `vk` upward"):
        schedule.rfactor(schedule.get_loops("at")[1])
