"""Loops around loops that only fill or copy memory stay loops, where LLVM would write thousands of stores."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm.moves import moves_much
from tirscript.ir import For, PrimFunc, walk
from tirscript.script import tir as T


def scattered(images: int, lines: int, width: int) -> PrimFunc:
    @T.prim_func
    def main(B: T.Buffer((images, 3, lines - 2, width), "float32"), A: T.Buffer((images, lines, width), "float32")):
        for k, i, j in T.grid(images, lines, width):
            A[k, i, j] = 0.0
        for k, u, i, j in T.grid(images, 3, lines - 2, width):
            A[k, i + u, j] += B[k, u, i, j]

    return main


def test_lines_that_are_filled_stay_in_a_loop() -> None:
    built = tirscript.build(scattered(16, 56, 57))
    assert built.llvm_ir().count("llvm.memset") < 100
    B = np.random.default_rng(0).integers(-9, 9, (16, 3, 54, 57)).astype("float32")
    A, wanted = np.ones((16, 56, 57), "float32"), np.zeros((16, 56, 57), "float32")
    built(B, A)
    for u in range(3):
        wanted[:, u : u + 54] += B[:, u]
    np.testing.assert_array_equal(A, wanted)


@pytest.mark.parametrize(
    ("images", "lines", "width", "value", "much"),
    [
        (1, 16, 64, "0.0", False),  # as many bytes as may be
        (1, 16, 65, "0.0", True),
        (1, 16, 65, "A[k, i, j]", True),
        (1, 16, 65, "A[k, i, j] + 1.0", False),  # is computed
    ],
)
def test_what_moves_much(images: int, lines: int, width: int, value: str, much: bool) -> None:
    shape = f"({images}, {lines}, {width})"
    text = f"""
@T.prim_func
def main(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32")):
    for k, i, j in T.grid({images}, {lines}, {width}):
        B[k, i, j] = {value}
"""
    loops = [node for node in walk(tirscript.parse(text)) if isinstance(node, For)]
    assert [moves_much(loop) for loop in loops] == [much, much, False]
