"""Parts of vectors of several registers, which LLVM puts side by side wrongly: found in IR, and in no code that is made."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm.wide_vectors import may_break
from tirscript.script import parse

# the rows are turned around, and multiplied by each other: LLVM writes all of it out, in vectors of whole matrices
TURNED = """
@T.prim_func
def f(A: T.Buffer(({depth}, {n}), "{dtype}"), B: T.Buffer(({n}, {n}), "{dtype}")):
    C = T.alloc_buffer(({n}, {depth}), "{dtype}")
    for j, i in T.grid({n}, {depth}):
        C[j, i] = A[i, j]
    for i, j in T.grid({n}, {n}):
        B[i, j] = 0
        for k in range({depth}):
            B[i, j] = B[i, j] + C[i, k] * C[j, k]
"""


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["int32", "float32", "int64", "float64"])
@pytest.mark.parametrize(("n", "depth"), [(8, 7), (8, 5), (4, 7), (7, 8), (16, 3), (8, 8)])
@pytest.mark.parametrize("options", [{}, {"debug": True}, {"opt_level": 2}], ids=["scheduled", "plain", "O2"])
def test_small_products_of_what_is_turned_around(dtype: str, n: int, depth: int, options: dict[str, object]) -> None:
    function = tirscript.build(parse(TURNED.format(dtype=dtype, n=n, depth=depth)), **options)
    A, B = np.arange(1, depth * n + 1).reshape(depth, n).astype(dtype), np.full((n, n), 5, dtype)
    function(A, B)
    assert np.array_equal(B, A.T @ A)
    assert not may_break(function.llvm_ir())


def shuffle(lanes: int, places: str, source: str = "%v", size: int = 8) -> str:
    return (
        f"  %x = shufflevector <{lanes} x i32> {source}, <{lanes} x i32> poison, <{size} x i32> <"
        + ", ".join(f"i32 {place}" for place in places.split())
        + ">\n"
    )


@pytest.mark.parametrize(
    ("ir", "broken"),
    [
        (shuffle(48, "31 " * 8) + shuffle(48, "39 " * 8), True),
        (shuffle(48, "39 " * 8) + shuffle(48, "24 25 26 27 28 29 30 31"), True),
        (shuffle(49, "31 " * 8) + shuffle(49, "32 " * 8), True),
        (shuffle(80, "47 " * 8) + shuffle(80, "48 " * 8), True),
        (shuffle(24, "12 13 14 15", size=4) + shuffle(24, "19 18 17 16", size=4), True),
        (shuffle(48, "31 " * 8) + shuffle(48, "39 " * 8, "%w"), False),  # of two vectors
        (shuffle(48, "31 " * 8) + shuffle(48, "39 " * 4, size=4), False),  # of two sizes
        (shuffle(48, "23 " * 8) + shuffle(48, "24 " * 8), False),  # other parts
        (shuffle(48, "0 6 12 18 24 30 36 42") + shuffle(48, "39 " * 8), False),  # of several parts
        (shuffle(64, "31 " * 8) + shuffle(64, "39 " * 8), False),  # an even number of registers
        (shuffle(16, "7 " * 8) + shuffle(16, "8 " * 8), False),
        ("  %x = shufflevector <48 x i32> %v, <48 x i32> poison, <8 x i32> zeroinitializer\n", False),
        ("", False),
    ],
)
def test_what_is_found_in_ir(ir: str, broken: bool) -> None:
    assert may_break(ir) is broken
