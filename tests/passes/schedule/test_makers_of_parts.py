"""Readers of a buffer that its maker fills in part: moved or inlined to the maker, they would leave elements out."""

from __future__ import annotations

import pytest

from tirscript.passes.schedule import Schedule, ScheduleError
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
    with pytest.raises(ScheduleError, match=r"makes an element for every point of `C`|its store is conditional"):
        Schedule(program).reverse_compute_inline("C")


def test_a_moved_reader_of_more_than_is_made_is_refused() -> None:
    schedule = Schedule(fewer)
    with pytest.raises(ScheduleError, match="the block `C` would still run for every point of its axes"):
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
