"""Windows that are brought back at the border of an image go over a copy with a border."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.blocks_from_loops import blocks_from_loops
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies

SUM = """
for i, j in T.grid({h}, {w}):
    s: T.{dtype} = T.cast(0, "{dtype}")
    for u, v in T.grid(3, 3):
        s += A[{y}, {x}]
    B[i, j] = s
"""
MOST = """
for i, j in T.grid({h}, {w}):
    m: T.{dtype} = A[i, j]
    for u in range(-1, 2):
        for v in range(-1, 2):
            if A[{y}, {x}] > m:
                m = A[{y}, {x}]
    B[i, j] = m
"""
ENDS = ("T.max(0, T.min({n} - 1, {at}))", "T.min(T.max({at}, 0), {n} - 1)", "({at} + {n}) % {n}")


def kernel(body: str, h: int, w: int, dtype: str, ends: str, at: tuple[str, str], attrs: str = "") -> PrimFunc:
    y, x = (ends.format(n=n, at=one) for n, one in zip((h, w), at, strict=True))
    text = body.format(h=h, w=w, dtype=dtype, y=y, x=x)
    lines = "\n".join(f"    {line}" for line in (attrs + text).strip("\n").splitlines())
    params = f'A: T.Buffer(({h}, {w}), "{dtype}"), B: T.Buffer(({h}, {w}), "{dtype}")'
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.long
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("sizes", [(17, 33), (40, 7), (2, 9), (1, 5)])
def test_what_windows_read_is_in_the_copy(sizes: tuple[int, int], ends: str) -> None:
    for func in (
        kernel(SUM, *sizes, "float32", ends, ("i + u - 1", "j + v - 1")),
        kernel(MOST, *sizes, "uint8", ends, ("i + u", "j + v")),
    ):
        made = blocks_from_loops(func)
        assert "A_border" in made.script()
        assert not verify(made) and structural_equal(parse(made.script()), made)
        assert_same_result(func, made)
        assert_same_result(func, scheduled(func, CpuFacts(vector_bits=512)), tolerance=1e-6)


def test_an_end_alone_and_steps_of_two() -> None:
    body = """
for i, j in T.grid({h}, {w}):
    s: T.{dtype} = 0.0
    for u, v in T.grid(3, 3):
        s += A[T.max(i + u - 2, 0), T.min(j // 1 + v, {w} - 1)] * 0.5
    B[i, j] = s
for i, j in T.grid({h} // 2, {w} // 2):
    s: T.{dtype} = 0.0
    for u, v in T.grid(5, 3):
        s += A[T.min(2 * i + u, {h} - 1), (2 * j + v + 1) % {w}]
    B[i, j] = s
"""
    func = kernel(body, 16, 24, "float64", "{at}", ("i", "j"))
    made = blocks_from_loops(func)
    assert "A_border" in made.script() and not verify(made)
    assert_same_result(func, made)


@pytest.mark.parametrize(
    "func",
    [
        kernel(SUM.replace("B[i, j] = s", "A[i, j] = s"), 9, 9, "float32", ENDS[0], ("i + u - 1", "j + v - 1")),
        kernel(SUM.replace("s +=", "s += A[i, u] *"), 9, 9, "float32", ENDS[0], ("i + u - 1", "j + v - 1")),
        kernel(SUM, 9, 9, "float32", ENDS[0], ("i * u - 1", "j + v - 1")),
        kernel(SUM, 9, 9, "float32", ENDS[0], ("i + u - 1",) * 2, 'T.func_attr({"tir.noalias": False})'),
    ],
    ids=["in place", "two places", "no window", "overlapping"],
)
def test_others_stay(func: PrimFunc) -> None:
    assert "A_border" not in blocks_from_loops(func).script()
    assert_same_result(func, scheduled(func, CpuFacts(vector_bits=512)), tolerance=1e-5)


def test_numbers_that_are_none_stay_where_they_are() -> None:
    func = kernel(SUM, 19, 21, "float32", ENDS[2], ("i + u - 1", "j + v - 1"))
    image = np.random.default_rng(1).standard_normal((19, 21)).astype("float32")
    image[0, 0], image[18, 3], image[5, 20] = np.nan, np.inf, -np.inf
    wanted = [image, np.zeros_like(image)]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(func)(*found)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-5)
