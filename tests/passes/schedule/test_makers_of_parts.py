"""Readers of a buffer that its maker fills in part: moved or inlined to the maker, they would leave elements out."""

from __future__ import annotations

import numpy as np
import pytest

from tirscript import interpret
from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def fewer(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            B[vi] = A[vi] * 2
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 3, B[vi], 7)


@T.prim_func
def sometimes(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi < 3:
                B[vi] = A[vi] * 2
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.if_then_else(vi < 3, B[vi], 7)


@T.prim_func
def more(A: T.Buffer((8,), "int32"), C: T.Buffer((5,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = B[vi] + 1


@T.prim_func
def tiles(A: T.Buffer(("m * 8",), "int32"), C: T.Buffer(("m * 8",), "int32"), m: T.int64):
    B = T.alloc_buffer((m * 8,), "int32")
    for i in range(m * 8):
        with T.block("B"):
            vi = T.axis.spatial(m * 8, i)
            B[vi] = A[vi] * 2
    for i in range(m * 8):
        with T.block("C"):
            vi = T.axis.spatial(m * 8, i)
            C[vi] = B[vi] + 1


@pytest.mark.parametrize("program", [fewer, sometimes])
def test_an_inlined_reader_of_more_than_is_made_is_refused(program) -> None:
    with pytest.raises(
        ScheduleError, match=r"does not make an element for every point of `C`|its store is conditional"
    ):
        Schedule(program).reverse_compute_inline("C")


def test_a_moved_reader_of_more_than_is_made_is_refused() -> None:
    schedule = Schedule(fewer)
    with pytest.raises(ScheduleError, match="the block `C` would not run for every point of its axes any more"):
        schedule.reverse_compute_at("C", schedule.get_loops("B")[0])


@pytest.mark.parametrize("program", [more, tiles])
def test_readers_of_what_is_made_move(program) -> None:
    inlined = Schedule(program)
    inlined.reverse_compute_inline("C")
    assert_same_result(program, inlined.func)
    moved = Schedule(program)
    outer, _ = moved.split(moved.get_loops("B")[0], [None, 4])
    moved.reverse_compute_at("C", outer)
    assert_same_result(program, moved.func)


@T.prim_func
def never_reached(A: T.Buffer((1, 4), "int32"), C: T.Buffer((1, 4), "int32")):
    B = T.alloc_buffer((1, 4), "int32")
    for i, j in T.grid(1, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
    for i, j in T.grid(1, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj + 4 < 4 and vi > 0, B[vi - 1, vj + 4], B[vi, vj])


def test_a_layout_of_what_is_never_read_is_a_program() -> None:
    schedule = Schedule(never_reached, verify=True)
    schedule.transform_layout("B", "B", lambda i, j: (i, j))
    assert_same_result(never_reached, schedule.func)


@T.prim_func
def written_again(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * 2
    for _ in range(2):
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] + 1
        for i in range(4):
            with T.block("update"):
                vi = T.axis.spatial(4, i)
                C[vi] = C[vi] * 3


def test_what_is_begun_again_in_a_loop_stays_in_it() -> None:
    schedule = Schedule(written_again)
    with pytest.raises(ScheduleError, match="`C`, which the block `C` writes, is used"):
        schedule.reverse_compute_at("C", schedule.get_loops("B")[0])
    with pytest.raises(ScheduleError, match="`C`, which the block `C` writes, is used"):
        schedule.reverse_compute_inline("C")


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_readers_move_into_fused_tiles_of_lengths_that_the_call_knows(kind: str) -> None:
    """What is divided by a length is not proved to take every point, nor known not to."""
    func = parse(f"""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.{kind}()
    m = T.{kind}()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8, m), "float32")
    C = T.match_buffer(c, (n, m), "float32")
    for i, j, k in T.grid(n, m, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
""")
    assert isinstance(func, PrimFunc)
    sch = Schedule(func)
    store = sch.cache_write("C", 0, "local")
    i, j, k = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 4]), sch.split(j, [None, 2])
    sch.reorder(i_0, j_0, k, i_1, j_1)
    sch.reverse_compute_at(store, sch.fuse(i_0, j_0))
    sch.decompose_reduction("C", k)
    A, B = np.ones((5, 8), "float32"), np.arange(24, dtype="float32").reshape(8, 3)
    C = np.zeros((5, 3), "float32")
    interpret(sch.func, A, B, C)
    np.testing.assert_array_equal(C, A @ B)
