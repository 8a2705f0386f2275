"""Sums whose T.init reads memory: a bias, or what the result held before (`C = alpha * A @ B + beta * C`)."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.script import tir as T

WIDE = CpuFacts(vector_bits=512, threads=1)

# what the sum begins with, in terms of the axes of its element
BEGINNINGS = {
    "bias": "b[vj]",
    "made bias": "b2[vj]",
    "own": "C[vi, vj] * 2",
    "own and bias": "C[vi, vj] + b[vj]",
    "factor": "A[vi, 0]",
    "quotient": "T.cast(100 // (33 - vj), dtype)",
}


def product(beginning: str, dtype: str, transposed: bool = False) -> PrimFunc:
    """A product of 7 by 13 and 13 by 33, neither of which is a multiple of any vector."""
    shape, element = ("(33, 13)", "B[vj, vk]") if transposed else ("(13, 33)", "B[vk, vj]")
    func = parse(
        f"""
@T.prim_func
def f(
    A: T.Buffer((7, 13), dtype), B: T.Buffer({shape}, dtype), b: T.Buffer((33,), dtype), C: T.Buffer((7, 33), dtype)
):
    b2 = T.alloc_buffer((33,), dtype)
    for j in range(33):
        b2[j] = b[j] + T.cast(1, dtype)
    for i, j, k in T.grid(7, 33, 13):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {BEGINNINGS[beginning]}
            C[vi, vj] += A[vi, vk] * {element}
""",
        names={"dtype": dtype},
    )
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(("dtype", "transposed"), [("float32", False), ("int32", True)])
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_products_begin_with_what_is_there(beginning: str, dtype: str, transposed: bool) -> None:
    kernel = product(beginning, dtype, transposed)
    assert "sch.pad_einsum" in str(default_schedule(kernel, WIDE).trace)
    rng = np.random.default_rng(1)
    shapes = ((7, 13), (33, 13) if transposed else (13, 33), (33,), (7, 33))
    arrays = [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    wanted = [array.copy() for array in arrays]
    tirscript.interpret(kernel, *wanted)
    tirscript.build(kernel, bounds_check=True)(*arrays)
    np.testing.assert_array_equal(arrays[3], wanted[3])


@pytest.mark.parametrize(
    ("primitive", "options"),
    [
        ("pad_einsum", ([1, 16, 1],)),
        ("cache_write", (0, "local")),
        ("reindex_cache_write", (0, "local", lambda i, j, k: (j, i))),
    ],
)
@pytest.mark.parametrize("beginning", ["bias", "own"])
def test_copies_of_results_begin_with_what_was_there(
    beginning: str, primitive: str, options: tuple[object, ...]
) -> None:
    kernel = product(beginning, "float32")
    schedule = Schedule(kernel)
    getattr(schedule, primitive)("C", *options)
    rng = np.random.default_rng(2)
    arrays = [rng.integers(-3, 4, shape).astype("float32") for shape in ((7, 13), (13, 33), (33,), (7, 33))]
    wanted, given = [array.copy() for array in arrays], [array.copy() for array in arrays]
    tirscript.interpret(kernel, *wanted)
    tirscript.interpret(schedule.func, *given)
    np.testing.assert_array_equal(given[3], wanted[3])


@T.prim_func
def begins_with_neighbours(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 9), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = C[vi, vj + 1]
            C[vi, vj] += A[vi, vk] * A[vj, vk]


def test_a_copy_that_begins_with_other_elements_is_refused() -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule(begins_with_neighbours).cache_write("C", 0, "local")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "`cache_write`: the T.init of `C` reads elements of `C` that other iterations make"


def through_a_copy(index: str) -> PrimFunc:
    """What a result held before goes through another buffer into it."""
    func = parse(
        f"""
@T.prim_func
def f(C: T.Buffer((8, 8), "float32")):
    P = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = C[vi, {index}] * 2.0
    for k, l in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            C[vi, vj] = P[vi, vj] + 1.0
"""
    )
    assert isinstance(func, PrimFunc)
    return func


def test_a_copy_moves_to_where_its_element_was_read_before() -> None:
    schedule = Schedule(through_a_copy("vj"))
    schedule.reverse_compute_at("C", "j")
    given = np.arange(64, dtype="float32").reshape(8, 8)
    wanted = given * 2 + 1
    tirscript.interpret(schedule.func, given)
    np.testing.assert_array_equal(given, wanted)


def test_a_copy_does_not_move_before_its_element_is_read() -> None:
    with pytest.raises(ScheduleError, match="is used between the loop and the block"):
        Schedule(through_a_copy("7 - vj")).reverse_compute_at("C", "j")


@pytest.mark.parametrize("extent", [7, 600])
def test_sums_that_begin_with_what_their_first_term_is_at(extent: int) -> None:
    """The axis of the reduction in a T.init is at its start."""
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((5, n), "int32"), b: T.Buffer((n,), "int32"), S: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, n):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = b[vk] + vk
            S[vi] += A[vi, vk]
""",
        names={"n": extent},
    )
    assert isinstance(func, PrimFunc)
    rng = np.random.default_rng(3)
    A, b = rng.integers(-9, 9, (5, extent), "int32"), rng.integers(1, 9, extent, "int32")
    wanted = b[0] + A.sum(axis=1, dtype="int32")
    decomposed, lanes = Schedule(func), Schedule(func)
    decomposed.decompose_reduction("S", "k")
    lanes.rfactor(lanes.split("k", [None, 1])[0], 0)
    for made in (func, decomposed.func, lanes.func, default_schedule(func, WIDE).func):
        S = np.zeros(5, "int32")
        tirscript.interpret(made, A, b, S)
        np.testing.assert_array_equal(S, wanted)
