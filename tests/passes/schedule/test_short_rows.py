"""Rows of few elements: what is computed and summed along them goes in vectors, whole or narrower ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.schedule_kernels import softmax

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, For
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE = CpuFacts(512, 1)


def plain_softmax(rows: int, columns: int) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def softmax(A: T.Buffer(({rows}, {columns}), "float32"), B: T.Buffer(({rows}, {columns}), "float32")):
    for i in range({rows}):
        top: T.float32 = T.min_value("float32")
        for j in range({columns}):
            top = T.max(top, A[i, j])
        total: T.float32 = T.float32(0)
        for j in range({columns}):
            B[i, j] = T.exp(A[i, j] - top)
            total += B[i, j]
        for j in range({columns}):
            B[i, j] = B[i, j] / total
""")
    assert isinstance(found, PrimFunc)
    return found


def vectors(func: PrimFunc) -> dict[str, list[int]]:
    """The lanes of the vectors that each block goes in."""
    found: dict[str, list[int]] = {}
    for loop in walk(func.body):
        if type(loop) is For and loop.kind == "vectorized":
            for block in walk(loop.body):
                if type(block) is Block:
                    found.setdefault(block.name, []).append(int(loop.extent.value))
    return found


@pytest.mark.parametrize("columns", [4, 7, 8, 11, 12, 13, 16, 20, 31, 32, 33, 47, 48, 63, 64, 65, 96])
@pytest.mark.parametrize("make", [softmax, plain_softmax])
def test_every_length_is_right(make, columns: int) -> None:
    func = make(5, columns)
    given = np.random.default_rng(columns).standard_normal((5, columns), "float32")
    wanted, found = np.zeros_like(given), np.zeros_like(given)
    interpret(func, given, wanted)
    tirscript.build(default_schedule(func, WIDE).func, pipeline=DEFAULT_LOWERING)(given, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("columns", [9, 24, 40, 50])
def test_every_dtype_is_right(dtype: str, columns: int) -> None:
    func = softmax(3, columns, dtype)
    assert_same_result(func, default_schedule(func, WIDE).func)


@pytest.mark.parametrize(
    ("columns", "greatest", "sum_of_powers", "quotient"),
    [
        (8, None, None, [8]),  # summed one by one
        (12, [4], None, [12]),
        (16, [8], None, [16]),
        (24, [8], None, [16, 8]),
        (48, [16], [16], [16]),
        (64, [32], [32], None),  # LLVM finds vectors in loops of 64 iterations
    ],
)
def test_the_vectors_of_short_rows(columns: int, greatest, sum_of_powers, quotient) -> None:
    made = vectors(default_schedule(softmax(600, columns), WIDE).func)
    assert made.get("top_rf_update") == greatest
    # in the loop that makes the powers, where vectors divide the row
    merged = made.get("power") == made.get("total_rf_update") == sum_of_powers
    assert merged == (sum_of_powers is not None)
    assert [lanes for name, lanes in made.items() if name == "B" or name.startswith("B_")] == (
        [] if quotient is None else [[lanes] for lanes in quotient]
    )


def test_a_sum_stands_in_the_loop_that_makes_what_it_sums() -> None:
    script = default_schedule(softmax(600, 1024), WIDE).func.script()
    loop = script[script.index("_m in range(32):") :]
    assert loop.index('with T.block("power")') < loop.index('with T.block("total_rf_update")')
    cheap = parse(softmax(600, 1024).script().replace("T.exp(A[vi, vj] - top[vi])", "A[vi, vj] - top[vi]"))
    assert "_m in range" not in default_schedule(cheap, WIDE).func.script()  # it is inlined, or no gain


@pytest.mark.parametrize("bits", [512, 256])
def test_a_sum_of_unknown_length_stands_there_as_well(bits: int) -> None:
    func, facts = softmax("n", "m"), CpuFacts(vector_bits=bits)
    made = scheduled(func, facts)
    assert f"_m_0 in range(m // {bits // 16})" in made.script() and not verify(made)
    built = tirscript.build(made, bounds_check=True)
    for rows, columns in ((3, 1), (2, 41), (1, 64), (5, 127), (0, 50), (2, 1000)):
        given = np.random.default_rng(columns).standard_normal((rows, columns)).astype("float32")
        found = np.zeros_like(given)
        built(given, found)
        powers = np.exp(given - given.max(1, keepdims=True))
        np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_loops_without_lanes_stay_as_they_are() -> None:
    func = plain_softmax(600, 8)
    assert not vectors(default_schedule(func, WIDE).func)


@pytest.mark.parametrize(("columns", "lanes"), [(12, 4), (16, 8), (24, 8), (33, 16)])
def test_two_sums_of_a_short_row_in_one_loop(columns: int, lanes: int) -> None:
    func = parse(f"""
@T.prim_func
def moments(A: T.Buffer((600, {columns})), B: T.Buffer((600, {columns}))):
    total = T.alloc_buffer((600,))
    square = T.alloc_buffer((600,))
    for i, j in T.grid(600, {columns}):
        with T.block("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = 0.0
            total[vi] += A[vi, vj]
    for i, j in T.grid(600, {columns}):
        with T.block("square"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                square[vi] = 0.0
            square[vi] += A[vi, vj] * A[vi, vj]
    for i, j in T.grid(600, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * total[vi] + square[vi]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE)
    assert vectors(made.func)["total_rf_update"] == vectors(made.func)["square_rf_update"] == [lanes]
    assert "sch.merge(" in str(made.trace)
    given = np.random.default_rng(columns).random((600, columns), "float32")
    found = np.zeros_like(given)
    tirscript.build(made.func, pipeline=DEFAULT_LOWERING)(given, found)
    total, square = given.sum(1, keepdims=True), (given * given).sum(1, keepdims=True)
    np.testing.assert_allclose(found, given * total + square, rtol=1e-5)


@pytest.mark.parametrize(("columns", "lanes"), [(96, 48), (100, 32), (150, 64), (60, 16), (70, 32)])
def test_lanes_behind_the_end_of_a_row_are_those_of_one_two_or_four_vectors(columns: int, lanes: int) -> None:
    """LLVM goes through the masks of three lane by lane."""
    func = parse(f"""
@T.prim_func
def total(A: T.Buffer((5, {columns}), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        B[i] = 0.0
        for j in range({columns}):
            B[i] += T.exp(A[i, j])
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert max(size for sizes in vectors(made).values() for size in sizes) == lanes
    assert_same_result(func, made, tolerance=1e-5)


@pytest.mark.parametrize("columns", [16, 20, 32, 64])
def test_a_line_that_a_loop_changes_again_and_again_goes_in_vectors(columns: int) -> None:
    """LLVM would keep each of its elements in a register of its own."""
    func = parse(f"""
@T.prim_func
def attention(S: T.Buffer((9, 20)), V: T.Buffer((20, {columns})), C: T.Buffer((9, {columns}))):
    total = T.alloc_buffer(({columns},))
    for i in range(9):
        greatest: T.float32 = S[i, 0]
        for c in range({columns}):
            total[c] = 0.0
        for j in range(20):
            n = T.max(greatest, S[i, j])
            for c in range({columns}):
                total[c] = total[c] * T.exp(greatest - n) + T.exp(S[i, j] - n) * V[j, c]
            greatest = n
        for c in range({columns}):
            C[i, c] = total[c]
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, WIDE)
    assert 16 in [size for name, sizes in vectors(made).items() if "total" in name for size in sizes]
    assert not verify(made)
    assert_same_result(func, made, tolerance=1e-5)
