"""Loops whose variables are narrow: the dtype may be too small for the number of iterations."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir.stmt import For
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

ADD = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(T.{dtype}({start}), T.{dtype}({stop})):
        B[T.cast(i, "int32") - ({start})] = A[T.cast(i, "int32") - ({start})] + 1.0
"""
TOTAL = """
@T.prim_func
def main(A: T.Buffer((256,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 0
    for i in range(T.{dtype}({start}), T.{dtype}({stop})):
        B[0] += A[T.cast(i, "int32") - ({start})]
"""
AXES = """
@T.prim_func
def main(A: T.Buffer((256,), "int32"), C: T.Buffer((256,), "int32")):
    B = T.alloc_buffer((256,), "int32")
    for i in range(T.int8(-100), T.int8(100)):
        with T.block("B"):
            vi = T.axis.spatial((T.int8(-100), T.int8(100)), i)
            B[T.cast(vi, "int32") + 100] = A[T.cast(vi, "int32") + 100] * 2
    for i in range(200):
        with T.block("C"):
            vi = T.axis.spatial(200, i)
            C[vi] = B[vi] + 1
"""
MATMUL = """
@T.prim_func
def main(A: T.Buffer((17, 9), "{dtype}"), B: T.Buffer((9, 127), "{dtype}"), C: T.Buffer((17, 127), "{dtype}")):
    for i, j, k in T.grid(T.int8(17), T.int8(127), T.int8(9)):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{dtype}")
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""
RANGES = [
    ("int8", -100, 100),
    ("int8", -128, 127),
    ("int16", -100, 100),
    ("uint8", 3, 250),
    ("int8", 5, 3),
    ("uint8", 5, 3),
]


@pytest.mark.parametrize("source", [ADD, TOTAL])
@pytest.mark.parametrize(("dtype", "start", "stop"), RANGES)
def test_loops_of_more_iterations_than_their_dtype_holds(source: str, dtype: str, start: int, stop: int) -> None:
    func = parse(source.format(dtype=dtype, start=start, stop=stop))
    scheduled = default_schedule(func, CpuFacts(512, 2)).func
    assert_same_result(func, scheduled)
    A = np.arange(256, dtype=func.params[0].dtype.name)
    wanted, B = np.zeros_like(A[: 256 if source is ADD else 1]), np.zeros_like(A[: 256 if source is ADD else 1])
    count = max(0, stop - start)
    if source is ADD:
        wanted[:count] = A[:count] + 1
    else:
        wanted[0] = A[:count].sum()
    tirscript.build(func)(A, B)
    assert (B == wanted).all()


def test_axes_of_more_values_than_their_dtype_holds() -> None:
    func = parse(AXES)
    assert_same_result(func, default_schedule(func, CpuFacts(512, 2)).func)
    schedule = Schedule(func)
    with pytest.raises(ScheduleError, match="not proved that the loops run the block `B`"):
        schedule.compute_at("B", schedule.get_loops("C")[0])


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_sizes_that_cannot_be_padded_in_their_dtype(dtype: str) -> None:
    func = parse(MATMUL.format(dtype=dtype))
    assert_same_result(func, default_schedule(func, CpuFacts(512, 2)).func)
    with pytest.raises(ScheduleError, match="the int8 of the axis `vj` does not hold it rounded up to 32"):
        Schedule(func).pad_einsum("C", [1, 32, 1])


def test_extent_is_a_number_of_iterations() -> None:
    extents = []
    for dtype, start, stop in RANGES:
        loop = parse(ADD.format(dtype=dtype, start=start, stop=stop)).body[0]
        assert type(loop) is For
        extents.append((str(loop.extent.dtype), int(loop.extent.value)))  # type: ignore[attr-defined]
    assert extents == [("int32", 200), ("int32", 255), ("int16", 200), ("uint8", 247), ("int8", 0), ("uint8", 0)]


@pytest.mark.parametrize("step", ["split", "fuse", "rfactor"])
def test_primitives_refuse_what_they_cannot_count(step: str) -> None:
    func = parse(
        """
@T.prim_func
def main(A: T.Buffer((256,), "int32"), B: T.Buffer((1,), "int32")):
    for u in range(1):
        for i in range(T.int8(-100), T.int8(100)):
            with T.block("B"):
                vu = T.axis.spatial(1, u)
                vi = T.axis.reduce((T.int8(-100), T.int8(100)), i)
                with T.init():
                    B[vu] = 0
                B[vu] += A[T.cast(vi, "int32") + 100]
"""
    )
    schedule = Schedule(func)
    outer, inner = schedule.get_loops("B")
    steps = {"split": (inner, [None, 4]), "fuse": (outer, inner), "rfactor": (inner,)}
    with pytest.raises(ScheduleError, match="the int8 of `i` is not proved to hold how many iterations it has"):
        getattr(schedule, step)(*steps[step])


def test_ends_that_wrap_are_no_constant_distance() -> None:
    func = parse(
        """
@T.prim_func
def main(X: T.Buffer((1,), "uint8"), B: T.Buffer((256,), "int32")):
    x: T.let[T.uint8] = X[0]
    for i in range(x, x + T.uint8(5)):
        B[i] = 1
"""
    )
    for first in (3, 253):
        B = np.zeros(256, "int32")
        tirscript.build(func, pipeline=DEFAULT_LOWERING)(np.array([first], "uint8"), B)
        assert B.sum() == (5 if first == 3 else 0)
