"""Reductions down columns have loops of their own, whatever else the loop over the columns does."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def columns(update: str, begin: str = "0.0", width: int = 64) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(X: T.Buffer((48,)), A: T.Buffer((48, {width})), C: T.Buffer(({width},))):
    for j in range({width}):
        s: T.float32 = {begin}
        for i in range(48):
            s = {update}
        C[j] = s * 0.5
""")
    assert isinstance(found, PrimFunc)
    return found


UPDATES = ["s + A[i, j]", "s + X[i] * A[i, j]", "T.max(s, A[i, j])", "s + (A[i, j] - X[0]) * (A[i, j] - X[0])"]


@pytest.mark.parametrize("update", UPDATES)
def test_columns_are_vectors(update: str) -> None:
    func = columns(update)
    assert with_blocks(func).script().count("for j") == 2  # the sum, and what is made of it
    made = default_schedule(func, CpuFacts(vector_bits=512)).func
    assert "T.vectorized(16)" in made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize(("update", "width"), [("s + A[i, j]", 4), ("s + A[i, 0]", 64), ("s + A[j // 2, i]", 64)])
def test_others_stay_together(update: str, width: int) -> None:
    assert with_blocks(columns(update, width=width)).script().count("for j") == 1


def test_softmax_down_the_columns() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3, 20, 48)), Y: T.Buffer((3, 20, 48))):
    for b, j in T.grid(3, 48):
        greatest: T.float32 = X[b, 0, j]
        for i in range(1, 20):
            greatest = T.max(greatest, X[b, i, j])
        total: T.float32 = 0.0
        for i in range(20):
            Y[b, i, j] = T.exp(X[b, i, j] - greatest)
            total += Y[b, i, j]
        for i in range(20):
            Y[b, i, j] = Y[b, i, j] / total
""")
    made = default_schedule(func, CpuFacts(vector_bits=512)).func
    assert made.script().count("T.vectorized(16)") >= 2
    assert_same_result(func, made)


def test_stores_a_number_apart_stay_in_one_loop() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((16, 64)), C: T.Buffer((32,)), Y: T.Buffer((16, 64))):
    for p in range(16):
        for i in range(32):
            Y[p, 2 * i] = X[p, 2 * i] * C[i] - X[p, 2 * i + 1]
            Y[p, 2 * i + 1] = X[p, 2 * i + 1] * C[i] + X[p, 2 * i]
""")
    made = with_blocks(func)
    assert made.script().count("T.block(") == 2 and made.script().count("for ") == 1
    assert_same_result(func, made)


def test_stores_that_other_iterations_change_stay_as_they_are() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((16, 32)), Y: T.Buffer((16, 33))):
    for p in range(16):
        for i in range(32):
            Y[p, i] = X[p, i]
            Y[p, i + 1] = X[p, i] * 2.0
""")
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)


@pytest.mark.parametrize(
    ("lines", "width", "step", "apart"),
    [(8, 16, 1, True), (8, 15, 1, True), (8, 16, 3, False), (1024, 1024, 1, True), (8, 3, 1, False)],
)
def test_windows_that_overlap_have_loops_of_their_own(lines: int, width: int, step: int, apart: bool) -> None:
    """Of images of any size, but not in lines that are shorter than a vector."""
    sizes = f"(1, 4, {lines * step + 2}, {width * step + 2})"
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer({sizes}), W: T.Buffer((4, 3, 3)), C: T.Buffer((1, 4, {lines}, {width}))):
    for n, c, y, x in T.grid(1, 4, {lines}, {width}):
        s: T.float32 = 0.0
        for p, q in T.grid(3, 3):
            s += A[n, c, y * {step} + p, x * {step} + q] * W[c, p, q]
        C[n, c, y, x] = s
""")
    assert isinstance(func, PrimFunc)
    assert (with_blocks(func).script().count("for n") == 2) == apart
    if lines < 1024:
        assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)


@pytest.mark.parametrize(("width", "apart"), [(16, True), (15, False)])
def test_products_left_out_beyond_a_border_have_loops_of_their_own_in_whole_vectors(width: int, apart: bool) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((1, 4, 8, {width})), W: T.Buffer((4, 3, 3)), C: T.Buffer((1, 4, 8, {width}))):
    for n, c, y, x in T.grid(1, 4, 8, {width}):
        s: T.float32 = 0.0
        for p, q in T.grid(3, 3):
            if 0 <= y + p - 1 and y + p - 1 < 8 and 0 <= x + q - 1 and x + q - 1 < {width}:
                s += A[n, c, y + p - 1, x + q - 1] * W[c, p, q]
        C[n, c, y, x] = s
""")
    assert isinstance(func, PrimFunc)
    assert (with_blocks(func).script().count("for n") == 2) == apart
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)
