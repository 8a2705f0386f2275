"""Sums in loops that were tiled by hand: they are those of whole loops, whatever the tiles leave over."""

from __future__ import annotations

import pytest

from tirscript.ir import Attrs, For, PrimFunc, walk
from tirscript.passes.plain_loops.blocks_from_loops import blocks_from_loops
from tirscript.passes.plain_loops.tiles_joined import tiles_joined
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def product(m: int, n: int, k: int, tiles: tuple[int, int, int] = (8, 8, 4), dtype: str = "float32") -> PrimFunc:
    a, b, c = tiles
    i, j, e = f"i0 * {a} + i1", f"j0 * {b} + j1", f"k0 * {c} + k1"
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")):
    for i0, j0 in T.grid({-(-m // a)}, {-(-n // b)}):
        for i1, j1 in T.grid({a}, {b}):
            if {i} < {m} and {j} < {n}:
                C[{i}, {j}] = T.cast(0, "{dtype}")
        for k0 in range({-(-k // c)}):
            for i1, k1, j1 in T.grid({a}, {c}, {b}):
                if {i} < {m} and {j} < {n} and {e} < {k}:
                    C[{i}, {j}] += A[{i}, {e}] * B[{e}, {j}]
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("sizes", [(33, 20, 17), (16, 16, 8), (1, 1, 1), (9, 7, 5), (40, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_tiled_product_is_one(sizes: tuple[int, int, int], dtype: str) -> None:
    func = product(*sizes, dtype=dtype)
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)


@pytest.mark.parametrize("sizes", [(33, 20, 17), (64, 16, 64)], ids=str)
def test_loops_are_those_of_the_dimensions(sizes: tuple[int, int, int]) -> None:
    made = blocks_from_loops(product(*sizes))
    (block,) = [line for line in made.script().splitlines() if "T.block(" in line]
    loops = [int(node.stop.value) for node in walk(made.body) if type(node) is For]  # type: ignore[attr-defined]
    assert block and sorted(loops) == sorted(sizes) and " if " not in made.script()


def rows(body: str, loops: str = "i0, i1, k in T.grid(5, 8, 16)") -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer((40, 16), "float32"), x: T.Buffer((40, 16), "float32"), C: T.Buffer((40,), "float32")):
    for {loops}:
        {body}
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    "body",
    [
        "C[i0 * 8 + i1] += A[i0 * 8 + i1, k] * x[i0, k]",  # a part of the sum by itself
        "C[i0 * 7 + i1] += A[i0 * 7 + i1, k] * x[i0 * 7 + i1, k]",  # tiles that overlap
        "C[i0 * 8 + i1] = A[i0 * 8 + i1, k] * x[i0 * 8 + i1, k]",  # the last of several stores
        "C[i0 * 8 + i1] = C[39 - i0 * 8 - i1] + A[i0 * 8 + i1, k] * x[i0 * 8 + i1, k]",  # what others have stored
    ],
)
def test_other_loops_stay(body: str) -> None:
    func = rows(body)
    assert tiles_joined(func, lambda func, nest: True, False) is func


def test_the_order_of_floats_stays_where_it_is_asked_for() -> None:
    func = rows("C[i0 * 8 + i1] += A[i0 * 8 + i1, k] * x[i0 * 8 + i1, k]")
    joined = tiles_joined(func, lambda func, nest: True, False)
    assert sum(type(node) is For for node in walk(joined.body)) == 2
    assert_same_result(func, joined, tolerance=0.0)
    assert tiles_joined(func, lambda func, nest: True, True) is func
    exact = product(33, 20, 17).replace(attrs=Attrs({"fastmath": False}))
    assert_same_result(exact, default_schedule(exact, CpuFacts(vector_bits=512)).func, tolerance=0.0)


def test_three_levels_are_one_loop() -> None:
    at = "i0 * 8 + i1 * 2 + i2"
    func = rows(f"C[{at}] += A[{at}, k] * x[{at}, k]", "i0, k, i1, i2 in T.grid(5, 16, 4, 2)")
    joined = tiles_joined(func, lambda func, nest: True, False)
    assert sum(type(node) is For for node in walk(joined.body)) == 2
    assert_same_result(func, joined, tolerance=0.0)
