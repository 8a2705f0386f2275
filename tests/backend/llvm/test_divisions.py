"""Divisions under a condition that stay the same in a loop: LLVM's vectors of the loop use them for all lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.default_pipeline import default_pipeline
from tirscript.backend.llvm.divisions import _conditional
from tirscript.backend.llvm.module import emit_ir
from tirscript.ir import For, PrimFunc, walk
from tirscript.script import parse

HEAD = "from tirscript.script import ir as I, tir as T\n\n"
N, M = 8, 40


def rows(body: str) -> PrimFunc:
    """Rows of C, of which some elements are those of a row of A that is computed."""
    lines = "".join(f"            {line}\n" for line in body.splitlines())
    found = parse(f"""{HEAD}
@T.prim_func
def main(
    A: T.Buffer(("n", "m"), "float32"),
    B: T.Buffer(("n",), "int64"),
    K: T.Buffer(("m",), "int32"),
    C: T.Buffer(("n", "m"), "float32"),
    q: T.int64,
):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
{lines}""")
    assert isinstance(found, PrimFunc)
    return found


def same(program: Any, cpu: str, *numbers: int) -> None:
    """Native code leaves what the interpreter leaves."""
    a, b = np.arange(N * M, dtype="float32").reshape(N, M) + 1, np.arange(N)[::-1].astype("int64")
    k = np.arange(M, dtype="int32") % 3
    found, wanted = np.zeros((N, M), "float32"), np.zeros((N, M), "float32")
    tirscript.build(program, cpu)(a, b, k, found, *numbers)
    tirscript.interpret(program, a, b, k, wanted, *numbers)
    np.testing.assert_array_equal(found, wanted)


BODIES = (
    "C[i, j] = 0.0 if K[j] == 0 else A[(i + 1) % n, j]",
    "C[i, j] = A[3, j] if K[j] == 0 else A[(i + 1) % n, j] + A[(i + 2) % n, j]",
    "C[i, j] = 0.0 if K[j] == 0 else A[i // T.max(q, 1), j]",
    "C[i, j] = A[3, j] if K[j] == 0 else A[B[5 % n], j]",
    "x = B[i]\nC[i, j] = 0.0 if K[j] == 0 else A[(x + 1) % n, j]",
    "for k in range(3):\n    if K[j] != 0:\n        C[i, j] += A[(i + k) % n, j]",
    "if K[j] == 2:\n    continue\nC[i, j] = A[(i + 1) % n, j]",
)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("cpu", ["llvm", "llvm -mcpu=x86-64"])
def test_all_lanes_read_the_row_that_is_computed(body: str, cpu: str) -> None:
    same(rows(body), cpu, 3)


def test_nothing_is_divided_by_zero_ahead_of_a_loop() -> None:
    same(rows("C[i, j] = 0.0 if q == 0 or K[j] == 0 else A[i % q, j]"), "llvm", 0)


def test_only_divisions_under_a_condition_are_moved() -> None:
    func = rows("""x = i % q
if j > i // q:
    C[i, j] = A[i, j // q] if j % 4 == x and j % q > 0 else 0.0
for k in range(2):
    C[i, j] += A[j % n, k]
for k in range(q):
    C[i, j] += A[k, (j + 1) // n]""")
    loop = next(node for node in walk(func) if isinstance(node, For) and node.var.name == "j")
    assert [call.script(fragment=True) for call in _conditional(loop)] == ["j % q", "j // q", "(j + 1) // n"]


@pytest.mark.parametrize(
    ("body", "vectors"),
    [
        ("C[i, j] = 0.0 if K[j] == 0 else A[(i + 1) % n, j]", True),
        ("C[i, j] = 0.0 if K[j] == 0 else A[(B[i] + 1) % n, j]", False),
        ("C[i, j] = 0.0 if K[j] == 0 else A[i, (B[j % 8] + 1) % m]", True),
    ],
)
def test_loops_whose_divisions_stay_become_no_vectors(body: str, vectors: bool) -> None:
    text = emit_ir(default_pipeline(schedule=False)(rows(body)), optimized=False)
    assert ('!"llvm.loop.vectorize.enable", i1 false' not in text) == vectors


def test_so_do_loops_that_call_functions_that_divide() -> None:
    same(
        parse(f"""{HEAD}
@I.ir_module
class Module:
    @T.prim_func
    def next_row(i: T.int64, n: T.int64) -> T.int64:
        return (i + 1) % n

    @T.prim_func
    def main(
        A: T.Buffer(("n", "m"), "float32"),
        B: T.Buffer(("n",), "int64"),
        K: T.Buffer(("m",), "int32"),
        C: T.Buffer(("n", "m"), "float32"),
    ):
        n, m = A.shape
        for i in range(n):
            for j in range(m):
                if K[j] != 0:
                    C[i, j] = A[Module.next_row(i, n), j]
"""),
        "llvm",
    )


def test_threads_divide_ahead_of_their_parts() -> None:
    func = parse(f"""{HEAD}
@T.prim_func
def main(A: T.Buffer(("n",), "int32"), K: T.Buffer(("m",), "int32"), C: T.Buffer(("m",), "int32")):
    n, m = A.shape[0], K.shape[0]
    for j in T.parallel(m, annotations={{"grain": 1}}):
        C[j] = 0 if K[j] == 0 else A[m % n]
""")
    a, k = np.arange(5, dtype="int32"), np.arange(64, dtype="int32") % 2
    c = np.zeros(64, "int32")
    tirscript.build(func)(a, k, c)
    np.testing.assert_array_equal(c, np.where(k == 0, 0, a[64 % 5]))
