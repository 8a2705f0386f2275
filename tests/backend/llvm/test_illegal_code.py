"""Programs whose vectors of statements would end the process: LLVM uses values in them before they are there, or fails."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm import compiling
from tirscript.backend.llvm.host import host
from tirscript.ir import DiagnosticError
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import tir as T


@T.prim_func
def used_before(
    P1: T.Buffer((4, 8), "float32"),
    O4: T.Buffer((8, 4), "float16"),
    O6: T.Buffer((6, 9), "float32"),
):
    B2 = T.alloc_buffer((4, 8), "float32")
    for _ in range(1):
        for i in range(4):
            with T.block("B2_m"):
                vi = T.axis.spatial(4, i)
                W3 = T.match_buffer(P1[vi, 0:8], (1, 8), "float32", offset_factor=1)
                for j in range(8):
                    B2[vi, j] = W3[0, j] + -2.0
        for i in range(8):
            L5 = T.alloc_buffer((4,), "int32")
            for j in range(4):
                with T.block("L5_l"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    L5[vj] = T.cast(B2[vj, vi], "int32") * 2
            for j in range(4):
                with T.block("O4_k"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    O4[vi, vj] = T.cast(B2[vj, vi], "float16") + T.cast(L5[vj], "float16")
    for i0, i1, j0, j1, k in T.grid(2, 3, 3, 3, 2):
        with T.block("O6_r"):
            vi = T.axis.spatial(6, i0 * 3 + i1)
            vj = T.axis.spatial(9, j0 * 3 + j1)
            vk = T.axis.reduce(2, k)
            with T.init():
                O6[vi, vj] = 1.0
            O6[vi, vj] = O6[vi, vj] * T.max(B2[vk + 2, vj // 2], B2[vk * 2, 7])


def test_vectors_of_values_that_are_vectors_already() -> None:
    given = np.arange(32, dtype="float32").reshape(4, 8)
    wanted, found = ([given, np.zeros((8, 4), "float16"), np.zeros((6, 9), "float32")] for _ in range(2))
    tirscript.interpret(used_before, *wanted)
    tirscript.build(used_before)(*found)
    assert all(map(np.array_equal, wanted, found))


@T.prim_func
def keys_of_a_table(A: T.Buffer(("n",), "bool"), B: T.Buffer((1, 2, 2), "int32"), x: T.float32, n: T.int32):
    A[B[0, 0, 0] % n] = T.Select(
        T.Select(A[T.cast(n ^ n, "int64") % T.cast(n, "int64")], T.cast(x, "bool"), False),
        A[T.int64(9223372036854775806) % T.cast(n, "int64")],
        0.5 <= x,
    )


def test_numbers_that_llvm_takes_for_marks() -> None:
    """It looked them up in a table where it makes vectors of statements, and ended the process."""
    given = np.array([True, False, True])
    wanted, found = ([given.copy(), np.full((1, 2, 2), 4, "int32"), 2.0, 3] for _ in range(2))
    tirscript.interpret(keys_of_a_table, *wanted)
    tirscript.build(keys_of_a_table, pipeline=DEFAULT_LOWERING)(*found)
    assert wanted[0].tolist() == found[0].tolist()


def test_what_stays_illegal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "why_illegal", lambda module: "a value is used before it is there")
    with pytest.raises(DiagnosticError, match="made illegal code: a value is used before it is there"):
        compiling.optimize("define void @f() { ret void }", host(), 3)
