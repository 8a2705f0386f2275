"""Loops that do not run at all, and ranges and predicates that may be worked out only where an iteration is one."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.passes.schedule import Schedule
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def counted(C: T.Buffer((1,), "int32"), n: T.int32, m: T.int32, k: T.int32):
    for i in range(n - 5):
        for j in range(m):
            for l in range(k + 1):
                C[0] += i * 100 + j * 10 + l + 1


@T.prim_func
def inside(A: T.Buffer(("n", "m"), "int32"), C: T.Buffer(("n", "m"), "int32")):
    for i, j in T.grid(n - 2, m - 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi + 1, vj + 1] = A[vi, vj] + A[vi + 2, vj + 2]


@pytest.mark.parametrize("sizes", [(3, -2, 4), (3, 2, -4), (6, -1, -2), (-1, -1, -2), (7, 3, 1)])
def test_loops_that_count_down_run_no_time_where_they_are_fused(sizes: tuple[int, int, int]) -> None:
    schedule = Schedule(counted)
    schedule.fuse("i", "j", "l")
    made, wanted = np.zeros(1, "int32"), np.zeros(1, "int32")
    tirscript.interpret(schedule.func, made, *sizes)
    tirscript.interpret(counted, wanted, *sizes)
    assert made[0] == wanted[0]


def test_fused_loops_over_the_inside_of_a_small_array_run_no_time() -> None:
    schedule = Schedule(inside)
    schedule.fuse(*schedule.get_loops("C"))
    for shape in ((1, 1), (1, 4), (4, 5)):
        given, made, wanted = (np.arange(shape[0] * shape[1], dtype="int32").reshape(shape) for _ in range(3))
        tirscript.interpret(schedule.func, given, made)
        tirscript.interpret(inside, given, wanted)
        assert np.array_equal(made, wanted)


@T.prim_func
def sizes_alone(C: T.Buffer(("n", "m"), "int32")):
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 3


def test_the_product_of_sizes_of_arrays_is_written_as_such() -> None:
    schedule = Schedule(sizes_alone)
    schedule.fuse(*schedule.get_loops("C"))
    assert "range(n * m)" in schedule.script()


@T.prim_func
def where_read(A: T.Buffer((10,), "int32"), C: T.Buffer((10,), "int32")):
    for i in range(10):
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            T.where(A[i] > 0)
            C[vi] = A[vi]


@T.prim_func
def as_many_as_read(A: T.Buffer((10,), "int32"), C: T.Buffer((10, 4), "int32")):
    for i in range(10):
        for j in range(T.max(0, T.min(A[i], 4))):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = 1


@pytest.mark.parametrize("program", [where_read, as_many_as_read])
def test_nothing_is_read_behind_the_end_of_a_split_loop(program) -> None:
    schedule = Schedule(program)
    schedule.split(schedule.get_loops("C")[0], [None, 4])
    assert_same_result(program, schedule.func)
