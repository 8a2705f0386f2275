"""Lines of which only the ends are brought back into what they read are cut there."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.blocks_from_loops import blocks_from_loops
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled, with_clamped_lines
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies

VALUES = {
    "before": "A[i, T.max(j - 1, 0)]",
    "behind": "A[i, T.min(j + 1, N - 1)]",
    "both, far": "A[i, T.max(j - 3, 0)] * A[i, T.min(j + 2, N - 1)]",
    "one in the other": "A[i, T.max(T.min(j + 1, N - 1), 0)] + A[i, T.min(T.max(0, j - 2), N - 1)]",
    "rows as well": "A[T.max(i - 1, 0), T.max(j - 1, 0)] - A[T.min(i + 1, 4), T.min(N - 1, j + 1)]",
    "around": "A[i, (j + 1) % N] - A[i, (j + N - 2) % N] * A[(i + 4) % 5, j]",
    "to another border": "A[i, T.max(j - 1, 2)] + A[i, T.min(j, N - 3)]",
    "every second": "A[i, T.min(2 * j, N - 1 - (N - 1) % 2) // 2] + A[i, T.max(2 * j - 3, 0) // 2]",
}
CHOICES = {
    "a choice": "A[i, j - 1] + A[i, j + 1] if j > 0 and j + 2 <= N - 1 else A[i, j]",
    "a choice of rows as well": "7 if i == 0 or j == 0 or N - 1 == j else A[i - 1, j - 1] - A[i, j + 1]",
    "not the ends": "(A[i, j - 2] if j >= 2 else 0) - (A[i, j + 1] if not (j >= N - 1) else 5)",
    "the ends alone": "A[i, j] * 3 if j != 0 and j < N - 2 else -1",
}


def kernel(value: str, size: int | str) -> PrimFunc:
    name, shape = ("n", '(5, "n")') if size == "n" else (str(size), f"(5, {size})")
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer({shape}, "int32"), B: T.Buffer({shape}, "int32")):
    for i, j in T.grid(5, {name}):
        B[i, j] = {value.replace("N", name)}
""")
    assert isinstance(found, PrimFunc)
    return found


def same_as_interpreted(func: PrimFunc, built: Callable[..., None], size: int) -> None:
    wanted = [np.random.default_rng(size).integers(-9, 9, (5, size), dtype="int32") for _ in range(2)]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    built(*found)
    np.testing.assert_array_equal(found[1], wanted[1])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", VALUES)
def test_lines_are_cut_where_they_are_brought_back(name: str, threads: int) -> None:
    func = kernel(VALUES[name], 77)
    made = scheduled(func, CpuFacts(vector_bits=512, threads=threads))
    assert "B_1" in made.script() and not verify(made) and structural_equal(parse(made.script()), made)
    parts = with_clamped_lines(blocks_from_loops(func)).script().replace(" ", "").split("T.block(")[1:]
    between = [part for part in parts if not any(f"({column}" in part for column in ("vj+", "vj-", "vj,", "0,vj"))]
    assert len(between) == 1 < len(parts)
    same_as_interpreted(func, tirscript.build(made, bounds_check=True), 77)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CHOICES)
def test_lines_are_cut_where_a_choice_asks_for_their_ends(name: str, threads: int) -> None:
    func = kernel(CHOICES[name], 77)
    made = scheduled(func, CpuFacts(vector_bits=512, threads=threads))
    assert "B_1" in made.script() and not verify(made) and structural_equal(parse(made.script()), made)
    parts = with_clamped_lines(blocks_from_loops(func)).script().split("T.block(")[1:]
    asks = [part for part in parts if re.search(r"vj( . \d+)? [<>=!]|[<>=!] vj", part.replace("vi, vj =", ""))]
    assert len(parts) - len(asks) == 1 < len(parts), parts
    same_as_interpreted(func, tirscript.build(made, bounds_check=True), 77)


@pytest.mark.parametrize("name", [*VALUES, *CHOICES])
def test_lines_of_unknown_length_are_cut_as_well(name: str) -> None:
    func = kernel({**VALUES, **CHOICES}[name], "n")
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "B_1" in made.script() and not verify(made) and structural_equal(parse(made.script()), made)
    least = 3 if "border" in name else 0 if "around" not in name else 2
    built = tirscript.build(made, bounds_check=True)
    for size in (*range(least, 7), 77):
        same_as_interpreted(func, built, size)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("A[i, T.max(j - 1, 0)]", 12),  # too short
        ("A[i, T.max(j - 30, 0)]", 100),  # most of it would be cut off
        ("A[T.max(i - 1, 0), j]", 100),  # whole lines
        ("A[i, T.max(N - 1 - j, 0)]", 100),  # backward
        ("A[i, T.max(A[i, 0], 0) % 100]", 100),  # looked up
        ("B[i, T.max(j - 1, 0)] + 1", 100),  # what it writes
        ("A[i, (j + 1) % 50]", 100),  # of another length
        ("T.cast(T.max(j - 1, 0), 'int32')", 100),  # reads nothing
        ("A[i, j] if j < 50 else 1", 100),  # half of it
        ("A[i, j] if j % 2 == 0 else 1", 100),  # everywhere
        ("A[i, j] if j == A[i, 0] else 1", 100),  # known to memory alone
        ("A[i, j] if i > 0 else 1", 100),  # whole lines
    ],
)
def test_other_lines_stay_whole(value: str, size: int) -> None:
    func = kernel(value, size)
    blocks = blocks_from_loops(func)
    assert with_clamped_lines(blocks) is blocks


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("uint32", "T.min(j - T.uint32(1), T.uint32(99))"),
        ("int8", "T.max(j + T.int8(100), T.int8(0))"),
        ("int8", "(j + T.int8(99)) % T.int8(100)"),
        ("int64", "T.min(j + T.int64(1 << 62), T.int64(99))"),
    ],
)
def test_lines_whose_numbers_wrap_around_stay_whole(kind: str, index: str) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((256,), "int32"), B: T.Buffer((256,), "int32")):
    for j in range(T.{kind}(100)):
        B[j] = A[{index}] * 3
""")
    assert isinstance(func, PrimFunc)
    blocks = blocks_from_loops(func)
    assert with_clamped_lines(blocks) is blocks
    wanted = [np.arange(256, dtype="int32"), np.zeros(256, "int32")]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(func)(*found)
    np.testing.assert_array_equal(found[1], wanted[1])


def test_the_parts_of_lines_of_known_length_have_known_lengths() -> None:
    """Else the schedule makes no vectors of what is between."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((400, 1000), "float32"), B: T.Buffer((400, 1000), "float32")):
    for i, j in T.grid(400, 1000):
        B[i, j] = A[i, T.max(j - 1, 0)] / 3.0
""")
    assert isinstance(func, PrimFunc)
    text = with_clamped_lines(blocks_from_loops(func)).script()
    assert "T.grid(400, 1)" in text and "T.grid(400, 999)" in text
    assert "T.vectorized" in scheduled(func, CpuFacts(vector_bits=512)).script()


def test_lines_of_blocks_that_share_a_loop_are_cut() -> None:
    """Steps of a wavelet: what the second reads of the line before it is what the first has made."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((9, 154), "int32"), B: T.Buffer((9, 77), "int32"), C: T.Buffer((9, 77), "int32")):
    for i in range(9):
        for j in range(77):
            B[i, j] = A[i, 2 * j + 1] - A[i, T.min(2 * j + 2, 152)]
        for j in range(77):
            C[i, j] = A[i, 2 * j] + B[i, T.max(j - 1, 0)] + B[i, j]
""")
    assert isinstance(func, PrimFunc)
    for threads in (1, 2):
        made = scheduled(func, CpuFacts(vector_bits=512, threads=threads))
        assert made.script().count("range(76)") == 2, made.script()
        assert_same_result(func, made)


def test_choices_of_what_no_parameter_holds_stay_whole() -> None:
    """Copies with a border are made where they are read."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((5, 77), "int32"), B: T.Buffer((5, 77), "int32")):
    C = T.alloc_buffer((5, 78), "int32")
    for i, j in T.grid(5, 78):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj - 1] if vj > 0 else 0
    for i, j in T.grid(5, 77):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] - C[vi, vj + 1]
""")
    assert isinstance(func, PrimFunc) and with_clamped_lines(func) is func


def test_what_is_computed_where_it_is_read_stays_whole() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((5, 77), "int32"), B: T.Buffer((5, 77), "int32")):
    C = T.alloc_buffer((5, 77), "int32")
    for i, j in T.grid(5, 77):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, T.max(vj - 1, 0)] * 3
    for i, j in T.grid(5, 77):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj] - 1
"""
    once, twice = parse(text), parse(text.replace("- 1\n", "- C[4 - vi, vj]\n"))
    assert isinstance(once, PrimFunc) and isinstance(twice, PrimFunc)
    assert with_clamped_lines(once) is once
    assert with_clamped_lines(twice) is not twice
    for func in (once, twice):
        same_as_interpreted(func, tirscript.build(func), 77)
