"""Windows of few terms, along lines that are no whole vectors: a variable holds what is reduced, and they are written out."""

from __future__ import annotations

import numpy as np
import pytest

from tirscript import build
from tirscript.ir import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, For
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)


def masked(height: object, width: object, dtype: str, known: bool) -> PrimFunc:
    """The greatest of the pixels around each that a mask has."""
    h, w = (height, width) if known else ("h", "w")
    shape = (h, w)
    found = parse(f"""
@T.prim_func
def main(I: T.Buffer({shape}, "{dtype}"), K: T.Buffer((3, 3), "{dtype}"), O: T.Buffer({shape}, "{dtype}")):
    for y, x in T.grid({h}, {w}):
        m = T.min_value("{dtype}")
        for u, v in T.grid(3, 3):
            if K[u, v] > 0 and 0 <= y + u - 1 and y + u - 1 < {h} and 0 <= x + v - 1 and x + v - 1 < {w}:
                m = T.max(m, I[y + u - 1, x + v - 1])
        O[y, x] = m
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("height", "width", "dtype", "known"),
    [
        (20, 141, "uint8", True),
        (20, 141, "float32", True),
        (9, 23, "int16", True),
        (3, 4, "uint8", True),
        (0, 0, "uint8", False),
        (0, 0, "float32", False),
        (110, 1000, "uint8", True),  # what is reduced would not stay in the cache: the loops are those of the program
    ],
)
def test_what_is_reduced_is_held_in_a_variable(height: int, width: int, dtype: str, known: bool) -> None:
    func = masked(height, width, dtype, known)
    made = default_schedule(func, FACTS).func
    loops = [node for node in walk(made.body) if type(node) is For]
    assert [loop.kind for loop in loops if getattr(loop.stop, "value", None) == 3].count("unroll") == 2
    allocated = [node.buffer for node in walk(made.body) if type(node) is AllocBuffer]
    together = sum(1 for loop in loops if loop.kind != "unroll")
    assert together == 2 and len(allocated) == 1  # one loop over the lines and one along them
    if height * width < 10_000:
        assert_same_result(func, made, tolerance=0.0)


def test_rows_that_are_summed_stay_with_their_readers() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((40, 9)), B: T.Buffer((40, 9))):
    for i in range(40):
        s = T.float32(0)
        for j in range(9):
            s += A[i, j]
        for j in range(9):
            B[i, j] = A[i, j] / s
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS).func
    assert "T.unroll" not in made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize("operator", ["+", "max"])
def test_a_symbolic_size_that_the_loops_around_it_know_to_be_small(operator: str) -> None:
    """Where there is a `j`, `k` runs to 4, which is less than the lanes of what is of any size."""
    term = "x[vi, vj, vk]"
    update = f"out[vi, vj] + {term}" if operator == "+" else f"T.max(out[vi, vj], {term})"
    func = parse(f"""
@T.prim_func
def main(x: T.Buffer(("b", "n // 4", "n // 4 * 4 // (n // 4)")), out: T.Buffer(("b", "n // 4")), n: T.int64):
    for i in range(b):
        for j in range(n // 4):
            for k in range(n // 4 * 4 // (n // 4)):
                with T.block("sum"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        out[vi, vj] = 0.0
                    out[vi, vj] = {update}
""")
    assert isinstance(func, PrimFunc)
    built = build(func)
    for size in (4, 9, 40):
        x = np.random.default_rng(size).random((3, size // 4, 4), dtype="float32")
        out = np.empty((3, size // 4), "float32")
        built(x, out, size)
        np.testing.assert_allclose(out, x.sum(2) if operator == "+" else x.max(2), rtol=1e-6)
