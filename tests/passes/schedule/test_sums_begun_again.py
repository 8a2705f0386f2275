"""Reductions that loops run again: each time T.init begins anew, so it cannot be taken out of those loops."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse
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


def left_once(predicate: str):
    """`repeated`, `rows_again` and `terms_again` in one, of which a predicate leaves each point once."""
    text = f"""
@T.prim_func
def left(A: T.Buffer((8, 6), "int32"), C: T.Buffer((8,), "int32")):
    for again, i, k in T.grid(3, 16, 12):
        with T.block("C"):
            vi = T.axis.spatial(8, i // 2)
            vk = T.axis.reduce(6, k // 2)
            T.where({predicate})
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
"""
    return parse(text)


def taken_apart(program: PrimFunc, primitive: str) -> PrimFunc:
    schedule = Schedule(program)
    outer, _, inner = schedule.get_loops("C")
    arguments = {"decompose_reduction": ("C", outer), "blockize": (outer,), "rfactor": (inner,)}[primitive]
    getattr(schedule, primitive)(*arguments)
    return schedule.func


OUTERMOST = ["decompose_reduction", "blockize"]


@pytest.mark.parametrize("primitive", [*OUTERMOST, "rfactor"])
@pytest.mark.parametrize("spatial", ["i % 2 == 0", "i % 2 == 1"])
def test_predicates_that_leave_each_point_once(spatial: str, primitive: str) -> None:
    program = left_once(f"again < 1 and {spatial} and k % 2 == 0")
    assert_same_result(program, taken_apart(program, primitive))


@pytest.mark.parametrize("predicate", ["i > 4 and k % 2 == 0", "again == 1 and k % 2 == 0"])
def test_lanes_of_sums_that_a_predicate_leaves_again(predicate: str) -> None:
    program = left_once(predicate)
    assert_same_result(program, taken_apart(program, "rfactor"))
    for primitive in OUTERMOST:
        with pytest.raises(ScheduleError, match=r"its T.init begins anew"):
            taken_apart(program, primitive)


@pytest.mark.parametrize("primitive", [*OUTERMOST, "rfactor"])
@pytest.mark.parametrize("predicate", ["i % 2 == 0", "i % 2 == 0 and k % 2 == 1", "A[i // 2, k // 2] < 0"])
def test_predicates_that_leave_terms_again_or_not_the_first(predicate: str, primitive: str) -> None:
    with pytest.raises(ScheduleError, match=r"its T.init begins anew"):
        taken_apart(left_once(f"again < 1 and {predicate}"), primitive)


@pytest.mark.parametrize("primitive", OUTERMOST)
def test_a_time_that_is_not_the_first(primitive: str) -> None:
    with pytest.raises(ScheduleError, match=r"its T.init begins anew"):
        taken_apart(left_once("again == 1 and i % 2 == 0 and k % 2 == 0"), primitive)
