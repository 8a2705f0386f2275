"""`and` and `or`: the right side is evaluated without a branch where reading it needlessly cannot be noticed."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING

HEAD = "from tirscript.script import tir as T\n\n@T.prim_func\ndef f({}):\n    "
VECTORS = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "int32")'
FIXED = VECTORS.replace('("n",)', "(64,)")
SQUARES = VECTORS.replace('("n",)', "(8, 8)")


def text(params: str, body: str) -> str:
    return HEAD.format(params) + body.replace("\n", "\n    ") + "\n"


def branches(params: str, body: str, debug: bool = False) -> int:
    """The conditional branches of the kernel, without those of its loops."""
    kernel = tirscript.parse(text(params, body))
    assert isinstance(kernel, PrimFunc)
    lines = emit_ir(DEFAULT_LOWERING(kernel), optimized=False, debug=debug).splitlines()
    return sum("br i1" in line and "!llvm.loop" not in line and "!prof" not in line for line in lines)


def loop(condition: str, head: str = "for i in range(n):", index: str = "i") -> str:
    return f"{head}\n    C[{index}] = 1 if {condition} else 0"


CERTAIN = [
    (VECTORS, loop("A[i] > 0 and B[i] > 0")),
    (VECTORS, loop("A[i] > 0 or B[i] > 0")),
    (VECTORS, loop("A[i] > 0 and (B[i] > 0 or C[i] == 1) and A[i] < 4")),
    (VECTORS, loop("A[i] > 0 and B[i] > 0", "for i in range(2, n, 3):")),
    (FIXED, loop("A[i] > 0 and B[63 - i] > 0", "for i in range(64):")),
    (FIXED, loop("A[i] > 0 and B[i + 1] > B[i]", "for i in range(63):")),
    (SQUARES, loop("A[i, j] > 0 and B[j, i] > 0", "for i, j in T.grid(8, 8):", "i, j")),
    (FIXED, "V = T.decl_buffer((4, 16), data=B.data)\n" + loop("A[i] > 0 and V[2, i] > 0", "for i in range(16):")),
    (
        FIXED,
        'L = T.alloc_buffer((64,), "float32")\nL[1] = 2.0\n' + loop("A[i] > 0 and L[i] > 0", "for i in range(64):"),
    ),
]
UNCERTAIN = [
    (VECTORS, loop("i + 1 < n and B[i + 1] > 0")),
    (VECTORS, loop("i > 0 and B[i - 1] > 0")),
    (VECTORS, loop("A[i] > 0 and B[i] > 0", "for i in range(n + 1):")),
    (VECTORS, loop("A[i] > 0 and B[i] > 0", "for i in range(-1, n):")),
    (VECTORS, loop("A[i] > 0 and B[i] > 0", "for i in range(n - 1, -1, -1):")),  # only loops that count up are read
    (VECTORS, loop("A[i] > 0 and B[C[i]] > 0")),
    (VECTORS, loop("C[i] != 0 and 7 // C[i] > 2")),
    (VECTORS, loop('A[i] > 0 and T.call_extern("float32", "sinf", B[i]) > 0')),
    (FIXED, loop("i < 64 and B[i] > 0", "for i in range(65):")),
    (FIXED, "V = T.decl_buffer((65,), data=B.data)\n" + loop("A[i] > 0 and V[i] > 0", "for i in range(64):")),
    (
        FIXED,
        "V = T.decl_buffer((32,), data=T.address_of(B[40]))\n" + loop("i < 24 and V[i] > 0", "for i in range(32):"),
    ),
    (
        VECTORS + ", p: T.handle('float32')",
        "V = T.decl_buffer((64,), data=p)\n" + loop("n > 5 and V[i] > 0", "for i in range(64):"),
    ),
]


@pytest.mark.parametrize(("params", "body"), CERTAIN)
def test_what_is_certainly_in_memory_needs_no_branch(params: str, body: str) -> None:
    assert branches(params, body) == branches(params, body.split(" if ")[0])


@pytest.mark.parametrize(("params", "body"), UNCERTAIN)
def test_what_may_not_be_there_is_read_behind_a_branch(params: str, body: str) -> None:
    assert branches(params, body) > branches(params, body.split(" if ")[0])


def test_a_checked_build_reads_as_the_program_says() -> None:
    params, body = CERTAIN[0]
    assert branches(params, body, debug=True) > branches(params, body)


@pytest.mark.parametrize(
    ("params", "body"), [case for case in CERTAIN if case[0] is not SQUARES and "alloc" not in case[1]]
)
def test_the_result_is_that_of_python(params: str, body: str) -> None:
    kernel = tirscript.parse(text(params, body))
    generator = np.random.default_rng(0)
    A, B = generator.standard_normal((2, 64)).astype("float32")
    A[5], B[7] = np.nan, np.nan
    native, interpreted = np.full((2, 64), 1, "int32")
    tirscript.build(kernel)(A, B, native)
    tirscript.interpret(kernel, A, B, interpreted)
    assert native.tolist() == interpreted.tolist() and 0 < native.sum() < 64


@pytest.mark.parametrize("word", ["and", "or"])
def test_what_is_decided_is_not_read_on(word: str) -> None:
    """LLVM makes no vectors of "any" and "all", and a branch leaves out the reads behind the first that decides."""
    params = 'A: T.Buffer((64,), "bool"), B: T.Buffer((64,), "bool"), C: T.Buffer((64,), "bool")'
    assert branches(params, f"for i in range(64):\n    C[0] = C[0] {word} A[i]") == 1
    assert branches(params, f"for i in range(64):\n    C[i] = B[i] {word} A[i]") == 0
