"""Memory that each iteration fills before it reads it: memory of its own where that pays, and nowhere else."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.scratch_apart import scratch_apart
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def attention(fill: str = "range(16)", read: str = "range(16)", first: str = "S[i, j] = 0.0") -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(Q: T.Buffer((3, 16, 8)), K: T.Buffer((3, 16, 8)), V: T.Buffer((3, 16, 8)), O: T.Buffer((3, 16, 8))):
    S = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        O[0, i, j % 8] = 0.0
    for b in range(3):
        for i in range(16):
            for j in {fill}:
                {first}
                for k in range(8):
                    S[i, j] += Q[b, i, k] * K[b, j, k]
        for i, k in T.grid(16, 8):
            O[b, i, k] = 0.0
            for j in {read}:
                O[b, i, k] += S[i, j] * V[b, j, k]
""")
    assert isinstance(found, PrimFunc)
    return found


def widened(func: PrimFunc) -> bool:
    return scratch_apart(func, lambda made, nest: True) is not func


def test_each_head_has_its_scores() -> None:
    func = attention()
    assert "S = T.alloc_buffer((3, 16, 16)" in with_blocks(func).script()
    made = default_schedule(func, CpuFacts(vector_bits=512)).func
    assert "T.vectorized(" in made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize(
    "bounds", [("range(16)", "range(16)"), ("range(i + 1)", "range(i + 1)"), ("range(16)", "range(2, 9)")]
)
def test_what_is_read_was_filled(bounds: tuple[str, str]) -> None:
    if bounds[0] == "range(i + 1)":
        func = parse("""
@T.prim_func
def main(A: T.Buffer((12, 12)), B: T.Buffer((12,))):
    S = T.alloc_buffer((12,), "float32")
    for i in range(12):
        for j in range(i + 1):
            S[j] = A[i, j]
        B[i] = 0.0
        for j in range(i + 1):
            B[i] += S[j]
""")
    else:
        func = attention(*bounds)
    assert widened(func)
    assert_same_result(func, scratch_apart(func, lambda made, nest: True))


@pytest.mark.parametrize(
    "func",
    [
        attention("range(9)", "range(10)"),
        attention("range(1, 16)", "range(1, 16)", "S[i, j] = S[i, j - 1]"),
        attention(first="S[i, 15 - j] = 0.0"),
        attention("range(i + 1)", "range(16)"),
    ],
)
def test_what_an_earlier_iteration_left_is_read(func: PrimFunc) -> None:
    assert not widened(func)


def test_memory_that_is_read_behind_the_loop_stays() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((4, 8)), B: T.Buffer((8,))):
    S = T.alloc_buffer((8,), "float32")
    for i in range(4):
        for j in range(8):
            S[j] = A[i, j]
    for j in range(8):
        B[j] = S[j]
""")
    assert not widened(func)


def test_what_would_be_too_large_stays() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((1 << 16, 512)), B: T.Buffer((1 << 16, 512))):
    S = T.alloc_buffer((512,), "float32")
    for i in range(1 << 16):
        for j in range(512):
            S[j] = A[i, j]
        for j in range(512):
            B[i, j] = S[511 - j]
""")
    assert not widened(func)


def test_a_row_is_a_row_again() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((5, 100)), Y: T.Buffer((5, 100))):
    E = T.alloc_buffer((100,), "float32")
    for i in range(5):
        s: T.float32 = 0.0
        for j in range(100):
            E[j] = T.exp(X[i, j])
            s += E[j]
        for j in range(100):
            Y[i, j] = E[j] / s
""")
    made = default_schedule(func, CpuFacts(vector_bits=512)).func
    assert "T.vectorized(16)" in made.script()
    assert_same_result(func, made)
