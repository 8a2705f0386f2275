"""Sums that later blocks change where they lie, in buffers of their own."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocBuffer, PrimFunc, walk
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.results_apart import results_apart
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

PARAMS = """
    A: T.Buffer((m, p), "int32"),
    B: T.Buffer((p, n), "int32"),
    b: T.Buffer((n,), "int32"),
    C: T.Buffer((m, n), "int32"),
    D: T.Buffer((m, n), "int32"),
"""


def kernel(body: str, m: int = 5, n: int = 5, p: int = 4) -> PrimFunc:
    """A kernel over two factors, a row and two results."""
    lines = "\n    ".join(body.strip("\n").split("\n"))
    func = parse(f"@T.prim_func\ndef f({PARAMS}):\n    {lines}\n", names={"m": m, "n": n, "p": p})
    assert isinstance(func, PrimFunc)
    return func


def check(func: PrimFunc, made: PrimFunc, seed: int = 0) -> None:
    """Both leave the same in all of their arguments."""
    rng = np.random.default_rng(seed)
    arrays = [
        rng.integers(-5, 6, [int(dim.value) for dim in buffer.shape]).astype("int32")  # type: ignore[attr-defined]
        for buffer in func.param_buffers
    ]
    wanted, given = [array.copy() for array in arrays], [array.copy() for array in arrays]
    tirscript.interpret(func, *wanted)
    tirscript.interpret(made, *given)
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def sums(func: PrimFunc) -> list[str]:
    """The names of the buffers that were made."""
    return [stmt.buffer.name for stmt in walk(func.body) if type(stmt) is AllocBuffer]


SUM = """
for i, j in T.grid(m, n):
    C[i, j] = 0
    for k in range(p):
        C[i, j] += A[i, k] * B[k, j]
"""

APART = {
    "a bias in the same loops": SUM + "    C[i, j] += b[j]\n",
    "a bias in other loops": SUM + "for i, j in T.grid(m, n):\n    C[i, j] = C[i, j] + b[j]\n",
    "under a condition": SUM + "for i, j in T.grid(m, n):\n    if b[j] > 0:\n        C[i, j] += 1\n",
    "twice": SUM + "    C[i, j] += b[j]\nfor i, j in T.grid(m, n):\n    C[i, j] = C[i, j] * 3\n",
    "read between and behind": SUM
    + "for i, j in T.grid(m, n):\n    D[i, j] = C[j, i]\n"
    + "for i, j in T.grid(m, n):\n    C[i, j] -= b[j]\n"
    + "for i, j in T.grid(m, n):\n    D[i, j] = D[i, j] * 7 + C[j, i]\n",
    "read before": "for i, j in T.grid(m, n):\n    D[i, j] = C[j, i]\n" + SUM + "    C[i, j] += b[j]\n",
    "cleared before": "for i, j in T.grid(m, n):\n    C[i, j] = b[j]\n"
    + "for i, j, k in T.grid(m, n, p):\n    C[i, j] += A[i, k] * B[k, j]\n"
    + "for i, j in T.grid(m, n):\n    C[i, j] = T.max(C[i, j], 0)\n",
}
TOGETHER = {
    "another order": SUM + "for i, j in T.grid(m, n):\n    D[i, j] = C[i, j]\n",
    "a part is changed": SUM + "for i, j in T.grid(m, n - 1):\n    C[i, j] += b[j]\n",
    "other elements are read": SUM + "for i, j in T.grid(m, n):\n    C[i, j] += C[m - 1, j] * 0\n",
    "a condition": SUM + "for i, j in T.grid(m, n):\n    if b[j] > 0:\n        C[i, j] = 2\n",
    "overlapping memory": 'T.func_attr({"noalias": False})\n' + SUM + "    C[i, j] += b[j]\n",
    "reached through a view": SUM
    + "for i, j in T.grid(m, n):\n    C[i, j] += b[j]\n"
    + 'V = T.decl_buffer((m * n,), "int32", data=C.data)\nfor i in range(n):\n    D[0, i] = V[i]\n',
}


@pytest.mark.parametrize("name", APART)
def test_sums_that_are_changed(name: str) -> None:
    func = kernel(APART[name])
    made = with_blocks(func)
    assert [one for one in sums(made) if one.startswith("C_sum")]
    assert results_apart(made) is made
    check(func, made)


@pytest.mark.parametrize("name", TOGETHER)
def test_sums_that_stay(name: str) -> None:
    assert not sums(with_blocks(kernel(TOGETHER[name])))


def test_a_bias_is_added_in_the_tile_of_the_product() -> None:
    for name in ("a bias in the same loops", "a bias in other loops", "twice"):
        made = default_schedule(kernel(APART[name], 64, 64, 64), CpuFacts(vector_bits=512, threads=1)).func
        stores = [line for line in made.script().split("\n") if line.lstrip().startswith("C[")]
        assert len(stores) == 1 and "b[" in stores[0]
        check(kernel(APART[name], 64, 64, 64), made)


GIVEN = """
for i, j, k in T.grid(m, n, {extent}):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = {begin}
        C[vi, vj] += A[vi, vk] * B[vk, vj]
for i, j in T.grid(m, n):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        {where}
        C[vi, vj] = C[vi, vj] + b[vj]
"""


def test_blocks_that_were_given() -> None:
    func = kernel(GIVEN.format(extent="p", begin="0", where="pass"))
    made = with_blocks(func)
    assert sums(made) == ["C_sum"]
    check(func, made)
    for other in (
        GIVEN.format(extent="p", begin="C[vi, vj]", where="pass"),  # what was there goes on
        GIVEN.format(extent="p", begin="0", where="T.where(i < 3)"),
    ):
        assert not sums(with_blocks(kernel(other)))


def test_given_sums_that_may_have_no_terms_stay() -> None:
    text = GIVEN.format(extent="p", begin="0", where="pass").replace("\n", "\n    ")
    shapes = {"(m, p)": "('m', 'p')", "(p, n)": "('p', 'n')", "(n,)": "('n',)", "(m, n)": "('m', 'n')"}
    params = PARAMS
    for known, symbolic in shapes.items():
        params = params.replace(known, symbolic)
    func = parse(f"@T.prim_func\ndef f({params}):{text}\n")
    assert isinstance(func, PrimFunc)
    assert results_apart(func, frozenset(("C", "D"))) is func
    assert sums(results_apart(func)) == ["C_sum"]


def element(draw: random.Random, square: bool) -> str:
    """Mostly the element of the iteration, at times another."""
    return draw.choice(["i, j"] * 8 + (["j, i"] if square else []) + ["m - 1 - i, j", "i, n - 1 - j"])


def steps(draw: random.Random, square: bool) -> str:
    """Sums, changes and reads, in the same loops or one after the other."""
    shared = draw.choice((0, 0, 1, 2))
    loops = ["for i in range(m):", "for j in range(n):"]
    out = ["    " * at + loop for at, loop in enumerate(loops[:shared])]
    for at in range(draw.randint(2, 5)):
        place, other = draw.choice(["i, j"] * 6 + [element(draw, square)]), element(draw, square)
        kinds = {
            "sum": [
                f"C[{place}] = {draw.choice(['0', 'b[j]', 'C[i, j]'])}",
                "for k in range(p):",
                f"    C[{place}] += A[i, k] * B[k, j]",
            ],
            "change": [f"C[{place}] = C[{draw.choice([place, place, other])}] {draw.choice('+-*')} b[j]"],
            "set": [f"C[{place}] = b[j] + {at}"],
            "read": [f"D[i, j] = D[i, j] * 3 + C[{other}]"],
            "read in sums": ["for k in range(p):", f"    D[i, j] += C[{other}] * A[i, k]"],
        }
        out += ["    " * depth + loops[depth] for depth in range(shared, 2)]
        out += ["        " + line for line in kinds["sum" if at == 0 else draw.choice(list(kinds))]]
    return "\n".join(out)


def test_random_steps() -> None:
    apart = 0
    for seed in range(60):
        draw = random.Random(seed)
        m = draw.choice((1, 2, 5))
        n = draw.choice((m, m, 3))
        func = kernel(steps(draw, m == n), m, n, draw.choice((1, 4)))
        made = with_blocks(func)
        if sums(made):
            apart += 1
            check(func, made, seed)
    assert apart >= 10
