"""Products whose results have other places than their rows and columns say, such as `C[i, j + 1]`: tiles as of others."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=1)
# where a result is stored, and the shape of what holds them
PLACES = [
    ("i, j + 1", "N, M + 1"),
    ("i + 1, j", "N + 1, M"),
    ("i * 2, j * 2 + 1", "N * 2, M * 2"),
    ("N - 1 - i, M - 1 - j", "N, M"),
    ("1, i, j", "3, N, M"),
    ("M - 1 - j, i + 2", "M, N + 2"),
    ("i // 2, i % 2, j", "N, 2, M"),
]


def product(place: str, shape: str, sizes: tuple[int, int, int] | None, variable: bool) -> PrimFunc:
    """A product as plain loops, by way of a `variable` or where it lies; of symbolic sizes where none are given."""
    n, m, k = sizes or ("N", "M", "K")
    shapes = [shape, "N, K", "K, M"]
    quoted = [
        ", ".join(f'"{dim}"' if sizes is None and not dim.isdigit() else dim for dim in one.split(", "))
        for one in shapes
    ]
    mine = "total" if variable else f"C[{place}]"
    found = parse(
        f"""
@T.prim_func
def product(
    A: T.Buffer(({quoted[1]}), "float32"), B: T.Buffer(({quoted[2]}), "float32"), C: T.Buffer(({quoted[0]}), "float32")
):
    for i, j in T.grid(N, M):
        {mine}{": T.float32" if variable else ""} = 0.0
        for k in range(K):
            {mine} += A[i, k] * B[k, j]
        {f"C[{place}] = total" if variable else "pass"}
""",
        names={} if sizes is None else {"N": n, "M": m, "K": k},
    )
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.long
@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize(("place", "shape"), PLACES)
def test_tiles_of_known_sizes(place: str, shape: str, variable: bool) -> None:
    func = product(place, shape, (23, 37, 11), variable)
    made = default_schedule(func, FACTS).func
    assert "T.fma(" in made.script()
    assert_same_result(func, made)


@pytest.mark.long
@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize(("place", "shape"), PLACES)
def test_tiles_of_symbolic_sizes(place: str, shape: str, variable: bool) -> None:
    func = product(place, shape, None, variable)
    assert "T.fma(" in default_schedule(func, FACTS).func.script()
    kernel = tirscript.build(func)
    rng = np.random.default_rng(0)
    for n, m, k in ((1, 1, 1), (2, 3, 5), (37, 41, 17), (9, 130, 64)):
        A, B = (rng.integers(-4, 5, size).astype("float32") for size in ((n, k), (k, m)))
        dims = [eval(dim, {"N": n, "M": m}) for dim in shape.split(", ")]
        found, wanted = np.full(dims, 7, "float32"), np.full(dims, 7, "float32")
        kernel(A, B, found)
        sums = A @ B
        for i, j in np.ndindex(n, m):
            wanted[eval(f"({place})", {"i": i, "j": j, "N": n, "M": m})] = sums[i, j]
        np.testing.assert_array_equal(found, wanted)


def test_results_in_one_place_stay() -> None:
    func = product("i, j // 2", "N, M", (23, 38, 11), False)
    assert "T.fma(" not in default_schedule(func, FACTS).func.script()
    assert_same_result(func, default_schedule(func, FACTS).func)
