"""Reductions that loops run again: each time T.init begins anew, so it cannot be taken out of those loops."""

from __future__ import annotations

import pytest

from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def repeated(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")):
    for _, i, k in T.grid(2, 8, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def rows_again(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")):
    for i, k in T.grid(16, 6):
        with T.block("C"):
            vi = T.axis.spatial(8, i // 2)
            vk = T.axis.reduce(6, k)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def terms_again(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 12):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(6, k // 2)
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]


@pytest.mark.parametrize("program", [repeated, rows_again, terms_again])
@pytest.mark.parametrize("primitive", ["decompose_reduction", "blockize"])
def test_the_init_stays_in_loops_that_begin_again(program, primitive: str) -> None:
    schedule = Schedule(program)
    outer = schedule.get_loops("C")[0]
    arguments = (outer,) if primitive == "blockize" else ("C", outer)
    with pytest.raises(ScheduleError, match=r"its T.init begins anew"):
        getattr(schedule, primitive)(*arguments)


@T.prim_func
def each_term_again(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")):
    for i, k, _ in T.grid(8, 6, 2):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]


@pytest.mark.parametrize("program", [terms_again, each_term_again])
def test_terms_that_come_again_have_no_lanes(program) -> None:
    schedule = Schedule(program)
    with pytest.raises(ScheduleError, match=r"its T.init begins anew"):
        schedule.rfactor(schedule.get_loops("C")[1])


def test_sums_that_come_again_have_lanes() -> None:
    schedule = Schedule(repeated)
    schedule.rfactor(schedule.get_loops("C")[2])
    assert_same_result(repeated, schedule.func)


@pytest.mark.parametrize("primitive", ["decompose_reduction", "blockize"])
def test_the_init_leaves_the_loops_of_one_time(primitive: str) -> None:
    schedule = Schedule(repeated)
    schedule.split(schedule.get_loops("C")[2], [None, 4])
    loop = schedule.get_loops("C")[1]
    arguments = (loop,) if primitive == "blockize" else ("C", loop)
    getattr(schedule, primitive)(*arguments)
    assert_same_result(repeated, schedule.func)
