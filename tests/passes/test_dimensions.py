"""Arrays of one dimension as matrices: which are, of what sizes, and that programs mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes.plain_loops.dimensions import with_dimensions
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def program(body: str, size: int = 60) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(
        f'@T.prim_func\ndef main(A: T.Buffer(({size},), "int32"), B: T.Buffer(({size},), "int32"), n: T.int32):\n{lines}\n'
    )
    assert isinstance(found, PrimFunc)
    return found


MATRICES = {
    "rows": ("for i, j in T.grid(6, 10):\n    B[i * 10 + j] = A[i * 10 + j]", ["A_2d[i, j]", "(6, 10)"]),
    "columns": (
        "for i, j in T.grid(6, 10):\n    B[j * 6 + i] = A[i * 10 + j]",
        ["B_2d[j, i]", "(10, 6)", "A_2d[i, j]"],
    ),
    "three": (
        "for i, j, k in T.grid(3, 4, 5):\n    B[i * 20 + j * 5 + k] = A[k * 12 + j * 3 + i]",
        ["B_3d[i, j, k] = A_3d[k, j, i]", "(3, 4, 5)", "(5, 4, 3)"],
    ),
    "window": (
        "for y, x in T.grid(4, 8):\n    for i, j in T.grid(3, 3):\n        B[y * 10 + x] = A[(y + i) * 10 + x + j]",
        ["A_2d[y + i, x + j]", "B_2d[y, x]"],
    ),
    "steps": ("for y, x in T.grid(3, 5):\n    B[y * 10 + x] = A[y * 20 + x * 2]", ["A_3d[y, x, 0]", "(3, 10, 2)"]),
    "shifted": (
        "for i in range(5):\n    for j in range(1, 10):\n        B[i * 10 + j] = A[(i + 1) * 10 + j - 1]",
        ["A_2d[i + 1, j - 1]"],
    ),
    "backward": ("for i, j in T.grid(6, 10):\n    B[i * 10 + j] = A[(5 - i) * 10 + 9 - j]", ["A_2d["]),
    "divided": ("for i in range(60):\n    B[i // 10 * 10 + i % 10] = A[i // 10 * 10]", ["B_2d[i // 10, i % 10]"]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    body, pieces = MATRICES[name]
    func = program(body)
    made = with_dimensions(func)
    for piece in pieces:
        assert piece in made.script(), made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(60):\n    B[i] = A[i]",
        "for i, j in T.grid(6, 11):\n    if i * 10 + j < 60:\n        B[i * 10 + j] = 1",  # rows overlap
        "for i, j in T.grid(6, 10):\n    B[i * 10 + j] = 1\nB[n] = 2",
        "for i, j in T.grid(8, 7):\n    B[i * 7 + j] = 1",  # 60 is no multiple of 7
        "for i, j in T.grid(6, 10):\n    B[i * 10 + j] = 1\nT.evaluate(T.call_extern('int32', 'f', B.data))",
        "for i, j in T.grid(6, n):\n    B[i * 10 + j] = 1",
        "T.func_attr({'tir.noalias': False})\nfor i, j in T.grid(6, 10):\n    B[i * 10 + j] = 1",
    ],
)
def test_others_stay(body: str) -> None:
    func = program(body)
    assert with_dimensions(func) is func


def test_views_are_there_before_the_first_loop() -> None:
    func = program("""
if n >= 0 and n < 60:
    B[A[0] % 6] = A[n % 6 * 10]
for i, j in T.grid(6, 10):
    B[i * 10 + j] = B[i * 10 + j] + A[i * 10 + j]
""")
    made = with_dimensions(func)
    assert "A_2d[n % 6, 0]" in made.script()
    assert_same_result(func, made)


def test_what_a_function_makes_has_dimensions_itself() -> None:
    func = program("""
C = T.alloc_buffer((60,), "int32")
for i, j in T.grid(6, 10):
    C[i * 10 + j] = A[i * 10 + j] + 1
for i, j in T.grid(6, 10):
    B[j * 6 + i] = C[i * 10 + j]
""")
    made = with_dimensions(func).script()
    assert 'C_2d = T.alloc_buffer((6, 10), "int32")' in made and made.count("decl_buffer") == 2
    assert_same_result(func, with_dimensions(func))


def test_a_product_of_flat_arrays_is_one() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((64 * 48,)), B: T.Buffer((48 * 80,)), C: T.Buffer((64 * 80,))):
    for i, j in T.grid(64, 80):
        total: T.float32 = 0.0
        for k in range(48):
            total += A[i * 48 + k] * B[k * 80 + j]
        C[i * 80 + j] = total
""")
    assert isinstance(func, PrimFunc)
    for threads in (1, 2):
        assert "T.fma(" in default_schedule(func, CpuFacts(512, threads)).script()
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype("float32") for shape in ((64, 48), (48, 80)))
    c = np.zeros(64 * 80, "float32")
    tirscript.build(func)(a.ravel(), b.ravel(), c)
    np.testing.assert_allclose(c.reshape(64, 80), a @ b, rtol=1e-4, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_sums(data: st.DataObject) -> None:
    """Of up to three loops with any factors and shifts, kept inside the array by a condition."""
    extents = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    factors = [data.draw(st.sampled_from((1, 2, 3, 4, 5, 6, 10, 12, -1, -5))) for _ in extents]
    shift = data.draw(st.integers(-3, 12))
    names = "ijk"[: len(extents)]
    index = " + ".join(f"{name} * {factor}" for name, factor in zip(names, factors, strict=True)) + f" + {shift}"
    guard = "" if data.draw(st.booleans()) else "if 0 <= INDEX and INDEX < 60:\n        ".replace("INDEX", f"({index})")
    low = shift + sum(min(0, f * (e - 1)) for f, e in zip(factors, extents, strict=True))
    high = shift + sum(max(0, f * (e - 1)) for f, e in zip(factors, extents, strict=True))
    if not guard and (low < 0 or high >= 60):
        return
    loops = (
        f"{', '.join(names)} in T.grid({', '.join(map(str, extents))})"
        if len(names) > 1
        else f"i in range({extents[0]})"
    )
    func = program(f"for {loops}:\n    {guard}B[{index}] = B[{index}] * 3 + A[{index}]")
    assert_same_result(func, with_dimensions(func))
