"""TVM's multiplications of fixed-point numbers: computed alike by the interpreter, native code and C."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript import parse

KERNEL = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "int32"), S: T.Buffer((8,), "int32"), B: T.Buffer((5, 8), "int32")):
    for i in range(8):
        B[0, i] = T.q_multiply_shift(A[i], 1395864371, 31, -3)
        B[1, i] = T.q_multiply_shift(A[i], 1395864371, 31, S[i])
        B[2, i] = T.q_multiply_shift_per_axis(A[i], 1395864371, 1, S[i] + 4, 31, T.bool(True), T.bool(True))
        B[3, i] = T.q_multiply_shift_per_axis(A[i], 1395864371, 1, S[i] + 4, 31, T.bool(False), T.bool(True))
    for i in range(2):
        B[4, i * 4:i * 4 + 4] = T.q_multiply_shift(A[i * 4:i * 4 + 4], T.Broadcast(7, 4), T.Broadcast(2, 4), T.Broadcast(1, 4))
"""


def product(x: int, y: int, q: int, left: int, right: int) -> int:
    """With halves going up."""
    return ((x << left) * y + (1 << (q + right - 1))) >> (q + right)


@pytest.mark.parametrize("how", ["interpreter", "llvm", "c"])
def test_fixed_point_products(how: str) -> None:
    rng = np.random.default_rng(0)
    values, shifts = rng.integers(-(2**27), 2**27, 8).astype(np.int32), np.arange(-4, 4).astype(np.int32)
    values[:2] = -3, 0
    made, kernel = np.zeros((5, 8), np.int32), parse(KERNEL)
    if how == "interpreter":
        tirscript.interpret(kernel, values, shifts, made)
    else:
        tirscript.build(kernel, target=how)(values, shifts, made)
    y = 1395864371
    for at, (x, s) in enumerate(zip(values.tolist(), shifts.tolist(), strict=True)):
        wanted = [
            product(x, y, 31, 0, 3),
            product(x, y, 31, max(s, 0), max(-s, 0)),
            product(x, y, 31, 1, s + 4),
            product(x, y, 31, 0, s + 4),
            product(x, 7, 2, 1, 0),
        ]
        assert made[:, at].tolist() == [(one + 2**31) % 2**32 - 2**31 for one in wanted]
    assert kernel.script(dialect="tvm").count("T.q_multiply_shift") == 5
