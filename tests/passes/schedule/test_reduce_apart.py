"""Reductions that go on from what their buffer holds: they are made in a buffer that begins with it."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import blocks_from_loops
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
BODIES = {
    "loops": "for i, j, k in T.grid(19, 37, 31):\n        C[i, j] += A[i, k] * B[k, j]",
    "lines": "for i, k, j in T.grid(19, 31, 37):\n        C[i, j] -= A[i, k] * B[k, j]",
    "a name": "for i in range(19):\n        for k in range(31):\n            a = A[i, k]\n            for j in range(37):\n                C[i, j] += a * B[k, j]",
    "gemm": (
        "for i in range(19):\n        for j in range(37):\n            C[i, j] *= T.float32(0.5)\n"
        "        for k, j in T.grid(31, 37):\n            C[i, j] += T.float32(1.5) * A[i, k] * B[k, j]"
    ),
}


def kernel(body: str) -> PrimFunc:
    params = "A: T.Buffer((19, 31)), B: T.Buffer((31, 37)), C: T.Buffer((19, 37))"
    found = parse(f"@T.prim_func\ndef main({params}):\n    {body}\n")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("body", BODIES)
def test_products_that_go_on_are_tiled(body: str) -> None:
    func = kernel(BODIES[body])
    made = default_schedule(func, FACTS)
    assert "reduce_apart" in str(made.trace) and "T.fma" in made.func.script()
    assert_same_result(func, made.func)


@pytest.mark.parametrize("body", BODIES)
def test_their_sums_keep_their_order_where_that_is_wanted(body: str) -> None:
    """And a sum of -0.0 its sign: it begins with what is there."""
    func = kernel(BODIES[body])
    exact = func.replace(attrs=Attrs({"fastmath": False}))
    made = default_schedule(exact, FACTS)
    assert "reduce_apart" in str(made.trace)
    rng = np.random.default_rng(3)
    A, B, C = (rng.standard_normal(shape).astype("float32") for shape in ((19, 31), (31, 37), (19, 37)))
    A[3], C[3] = -0.0, -0.0
    B[:] = np.abs(B)
    alone = func.replace(attrs=Attrs({"tir.is_scheduled": True}))
    results = []
    for one in (exact, alone):
        got = C.copy()
        tirscript.build(one)(A, B, got)
        results.append(got)
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 33, 5), (5, 4, 0), (0, 3, 3)])
def test_of_sizes_that_the_call_knows(sizes: tuple[int, int, int]) -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("m", "k")), B: T.Buffer(("k", "n")), C: T.Buffer(("m", "n"))):
    for i, p, j in T.grid(m, k, n):
        C[i, j] += A[i, p] * B[p, j]
""")
    assert isinstance(func, PrimFunc)
    assert "reduce_apart" in str(default_schedule(func, FACTS).trace)
    m, n, k = sizes
    rng = np.random.default_rng(2)
    A, B, C = (rng.standard_normal(shape).astype("float32") for shape in ((m, k), (k, n), (m, n)))
    wanted = C + A @ B
    tirscript.build(func)(A, B, C)
    np.testing.assert_allclose(C, wanted, rtol=1e-5, atol=1e-5)


def chosen(term: str) -> PrimFunc:
    return kernel(f"for i, j, k in T.grid(19, 37, 31):\n        C[i, j] += {term}")


def exactly(func: PrimFunc, made: PrimFunc) -> None:
    rng = np.random.default_rng(4)
    A, B, C = (rng.standard_normal(shape).astype("float32") for shape in ((19, 31), (31, 37), (19, 37)))
    C[2:5], A[3], C[4, 4] = -0.0, np.inf, np.nan
    results = []
    for one in (func, made):
        got = C.copy()
        interpret(one, A, B, got)
        results.append(got)
    assert results[0].tobytes() == results[1].tobytes()


def test_a_choice_of_results_is_made_once() -> None:
    func = chosen("T.Select(j <= i, A[i, k] * B[k, j], T.float32(-0.0))")
    sch = Schedule(blocks_from_loops(func))
    sch.reduce_apart("C")
    update, result = sch.get(sch.get_block("C")).body[0], sch.get(sch.get_block("C_own")).body[0]
    assert "Select" not in update.script() and "Select" in result.script()
    exactly(func, sch.func)
    made = default_schedule(func, FACTS).func
    assert "T.fma" in made.script()
    assert_same_result(func, made)


def test_maxima_keep_their_choices() -> None:
    """Of nan and -inf a maximum may be either."""
    func = kernel(
        "for i, j, k in T.grid(19, 37, 31):\n"
        '        C[i, j] = T.max(C[i, j], T.Select(j <= i, A[i, k] * B[k, j], T.min_value("float32")))'
    )
    sch = Schedule(blocks_from_loops(func))
    sch.reduce_apart("C")
    assert "Select" not in sch.get(sch.get_block("C_own")).body[0].script()
    exactly(func, sch.func)


@pytest.mark.parametrize(
    "term",
    [
        "T.Select(j <= k, A[i, k] * B[k, j], T.float32(-0.0))",
        "T.Select(A[i, 0] < B[0, j], A[i, k] * B[k, j], T.float32(-0.0))",
        "T.Select(j <= i, A[i, k] * B[k, j], T.float32(0.0))",
        "T.Select(j <= i, A[i, k], B[k, j])",
    ],
)
def test_other_choices_stay_with_the_terms(term: str) -> None:
    """Of terms, by memory, of a zero that makes another one of -0.0, of two terms."""
    func = chosen(term)
    sch = Schedule(blocks_from_loops(func))
    sch.reduce_apart("C")
    assert (
        "Select" in sch.get(sch.get_block("C")).body[0].script()
        and "Select" not in sch.get(sch.get_block("C_own")).body[0].script()
    )
    exactly(func, sch.func)


REFUSED = {
    "has a T.init": """
        for i, k in T.grid(4, 8):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = 0.0
                S[vi] += A[vi, vk]
    """,
    "is no index of `S`": """
        for i, k in T.grid(4, 8):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                S[0] += A[vi, vk]
    """,
    "is used by something else in the same loops": """
        for i in range(4):
            for k in range(8):
                with T.block("S"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    S[vi] += A[vi, vk]
            with T.block("R"):
                vi = T.axis.spatial(4, i)
                R[vi] = S[3 - vi]
    """,
    "not spatial ones and some of a reduction": """
        for i, k in T.grid(4, 8):
            with T.block("S"):
                vi, vk = T.axis.remap("SS", [i, k])
                S[vi] = S[vi] + A[vi, vk]
    """,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message: str) -> None:
    lines = REFUSED[message].strip("\n").splitlines()
    params = "A: T.Buffer((4, 8)), S: T.Buffer((4,)), R: T.Buffer((4,))"
    func = parse(f"@T.prim_func\ndef main({params}):\n" + "\n".join(line[4:] for line in lines) + "\n")
    assert isinstance(func, PrimFunc)
    with pytest.raises(ScheduleError, match=message):
        Schedule(func).reduce_apart("S")
