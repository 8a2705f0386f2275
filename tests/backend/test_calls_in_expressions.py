"""Calls of functions that write, in expressions: each is evaluated as often as it stands there, and where it stands."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module
from tirscript.passes import get_pass

TEXT = """
from tirscript.script import tir as T, ir as I

@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((16,), "int32"), C: T.Buffer((2,), "int32"), n: T.int32):
        {}

    @T.prim_func(private=True)
    def tick(C: T.Buffer((2,), "int32")) -> T.int32:
        C[0] += 1
        return C[0]
"""
LISTED = [
    "M.tick(C) + M.tick(C)",
    "M.tick(C) - M.tick(C) * 2 + M.tick(C)",
    "M.tick(C) // 4 * 4 + M.tick(C) % 4",
    "T.max(M.tick(C), M.tick(C))",
    "1 if M.tick(C) < 3 and M.tick(C) >= 3 else M.tick(C)",
    "M.tick(C) if T.cast(M.tick(C) > 0, 'int32') > 1 else M.tick(C)",
    "M.tick(C) if (C[1] - M.tick(C)) % 2 > 4 else M.tick(C)",
    "T.Select(M.tick(C) > M.tick(C), M.tick(C), M.tick(C))",
]


def _random(source: random.Random, depth: int) -> str:
    if depth == 0 or source.random() < 0.15:
        return source.choice(["M.tick(C)", "M.tick(C)", "n", "3", "C[1]"])
    a, b = _random(source, depth - 1), _random(source, depth - 1)
    k = source.choice([2, 4])
    return source.choice(
        [
            *(f"({a} + {b})", f"({a} - {b})", f"({a} * {k})", f"({a} // {k})", f"({a} % {k})", f"T.min({a}, {b})"),
            *(f"T.max({a}, {b})", f"({a} if {b} > {k} else {a})", f"T.Select({a} > {b}, {b}, {a})", f"({a} + {a})"),
            *(f"({a} // 4 * 4 + {a} % 4)", f"T.cast({a} < {b} and {a} >= {b}, 'int32')"),
        ]
    )


@pytest.mark.parametrize("seed", range(-1, 6))
def test_native_code_evaluates_what_the_program_says(seed: int) -> None:
    source = random.Random(seed)
    found = LISTED if seed < 0 else [_random(source, 3) for _ in range(6)]
    module = tirscript.parse(TEXT.format("\n        ".join(f"A[{at}] = {one}" for at, one in enumerate(found))))
    assert isinstance(module, Module)
    simple = get_pass("simplify")(module)
    results = []
    for run in (
        lambda *args: tirscript.interpret(module, *args),
        lambda *args: tirscript.interpret(simple, *args),
        tirscript.build(module),
    ):
        A, C = np.zeros(16, "int32"), np.array([0, 5], "int32")
        run(A, C, 7)
        results.append([*A.tolist(), *C.tolist()])
    assert results[0] == results[1] == results[2]
    assert seed >= 0 or results[0][0] == 3  # 1 + 2


def test_bounds_that_close_in_on_each_other_one_by_one_come_to_an_end() -> None:
    text = """
from tirscript.script import tir as T

@T.prim_func
def f(A: T.Buffer((8,), "int32"), C: T.Buffer((2,), "int32"), n: T.int32):
    A[0] = T.min(
        T.Select(T.min(n, C[1]) > n, n, T.min(n, C[1])),
        T.cast(n % 4 < C[0] + C[0] and n % 4 >= C[0] + C[0], "int32"),
    )
"""
    kernel = tirscript.parse(text)
    A = np.ones(8, "int32")
    tirscript.build(kernel)(A, np.array([1, 9], "int32"), 7)
    assert A[0] == 0


def test_the_index_of_an_augmented_assignment_is_evaluated_once() -> None:
    module = tirscript.parse(TEXT.format("A[M.tick(C) + 2] += 5\n        A[0] += n"))
    assert isinstance(module, Module)
    assert "index = M.tick(C) + 2\n        A[index] = A[index] + 5" in module.script()
    for run in (tirscript.build(module), lambda *args: tirscript.interpret(module, *args)):
        A, C = np.ones(16, "int32"), np.zeros(2, "int32")
        run(A, C, 7)
        assert A.tolist() == [8, 1, 1, 6, *[1] * 12] and C.tolist() == [1, 0]
