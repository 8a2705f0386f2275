"""Loops whose extents depend on loops around them: what the steps make of them stands where these are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.refusals import program

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.passes.schedule import Schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

TRIANGLE = program("""
for i in range(16):
    for j in range(i + 1):
        for k in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(i + 1, j)
                vk = T.axis.reduce(16, k)
                with T.init():
                    B[vi, vj] = 0
                B[vi, vj] += A[vi, vj] * W[vk]
""")


@pytest.mark.parametrize("outer", [0, 1])
def test_partial_results_are_combined_in_loops_of_the_same_extents(outer: int) -> None:
    schedule = Schedule(TRIANGLE)
    schedule.rfactor(schedule.split(schedule.get_loops("B")[2], [None, 4])[outer])
    assert_same_result(TRIANGLE, schedule.func)
    assert_same_result(TRIANGLE, parse(schedule.func.script()))


REFUSED: dict[str, tuple[Callable[[Any], object], str]] = {
    "reindex": (lambda s: s.reindex("B", ("write", 0)), "the size of `B_reindex` depends on the loop over `i`"),
    "cache_write": (lambda s: s.cache_write("B", 0, "local"), "writes of `B` is no box: its size depends on `i`"),
    "transform_block_layout": (
        lambda s: s.transform_block_layout("B", lambda i, j, k: (j, i, k)),
        "the extent of `j` depends on `i`",
    ),
}


@pytest.mark.parametrize(("step", "words"), REFUSED.values(), ids=REFUSED)
def test_nothing_stands_outside_of_the_loops_that_say_its_size(step: Callable[[Any], object], words: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        step(Schedule(TRIANGLE))
    assert words in raised.value.diagnostics[0].message


def test_a_result_is_not_as_large_as_its_reduction() -> None:
    func = program("""
for k in range(16):
    for i in range(k + 1):
        with T.block("W"):
            vk = T.axis.reduce(16, k)
            vi = T.axis.spatial(16, i)
            T.where(i < 16)
            with T.init():
                W[vi] = 0
            W[vi] += A[vi, vk]
""")
    with pytest.raises(DiagnosticError):
        Schedule(func).rfactor("k")


def test_the_default_schedule_sums_along_lines_of_a_triangle() -> None:
    func = parse("""
from tirscript.script import tir as T

@T.prim_func
def main(A: T.Buffer(("n", "q"), "float32"), W: T.Buffer(("q",), "float32"), C: T.Buffer(("n", "q"), "float32"),
         m: T.int64):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            for k in range(m):
                with T.block("C"):
                    vi = T.axis.spatial(A.shape[0], i)
                    vj = T.axis.spatial(i + 1, j)
                    vk = T.axis.reduce(m, k)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] += A[vi, vj] * W[vj + vk]
""")
    rng = np.random.default_rng(0)
    a, w = rng.integers(-3, 4, (9, 60)).astype("float32"), rng.integers(-3, 4, 60).astype("float32")
    found = np.zeros((9, 60), "float32")
    wanted = found.copy()
    tirscript.build(func)(a, w, found, 40)
    tirscript.interpret(func, a, w, wanted, 40)
    np.testing.assert_array_equal(found, wanted)
