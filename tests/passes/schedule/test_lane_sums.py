"""Sums along lines whose length only the loops around know: in lanes, and in variables where they lie."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import For, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.lane_sums import lane_sums
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies

PARAMS = (
    'A: T.Buffer((90, 90), "float32"), x: T.Buffer((90,), "float32"), y: T.Buffer((90,), "float32"), '
    'p: T.Buffer((91,), "int32"), N: T.Buffer((90, 90), "int32")'
)
LANES = {
    "forward substitution": """
for i in range(90):
    x[i] = y[i]
    for j in range(i):
        x[i] -= A[i, j] * x[j]
    x[i] = x[i] / (A[i, i] + 4.0)
""",
    "back substitution": """
for ii in range(90):
    i = 89 - ii
    s: T.float32 = x[i]
    for j in range(i + 1, 90):
        s -= A[i, j] * x[j]
    x[i] = s / (A[i, i] + 4.0)
""",
    "Cholesky's rows": """
for i in range(90):
    for j in range(i):
        for k in range(j):
            A[i, j] -= A[i, k] * A[j, k]
        A[i, j] = A[i, j] * T.float32(0.125)
""",
    "both ways along memory": """
for k in range(1, 90):
    s: T.float32 = 0.0
    for i in range(k):
        s += x[k - i - 1] * y[i]
    A[0, k] = s
""",
    "several sums under a condition": """
for i in range(90):
    s: T.float32 = 0.0
    n: T.float32 = 1.0
    for j in range(i, 90):
        d = A[i, j] - x[j]
        if d > 0.0:
            s += d
        n = n * T.float32(0.999)
    y[i] = s + n
""",
    "the greatest": """
for i in range(90):
    m: T.float32 = T.min_value("float32")
    for j in range(i + 1):
        if A[i, j] > m:
            m = A[i, j]
    y[i] = m
""",
    "rows that memory bounds": """
for i in range(90):
    s: T.float32 = 0.0
    for j in range(p[i], p[i + 1]):
        s += A[3, j] * x[j]
    y[i] = s
""",
    "columns": """
for i in range(90):
    for j in range(i):
        for k in range(j):
            A[i, j] -= A[i, k] * A[k, j]
        A[i, j] = A[i, j] * T.float32(0.125)
""",
}
KEPT = {
    "whole numbers": """
for ii in range(90):
    i = 89 - ii
    for j in range(i + 1, 90):
        for k in range(i + 1, j):
            N[i, j] = T.max(N[i, j], N[i, k] + N[k + 1, j])
""",
}
LEFT = {
    "elements that the sum may be": """
for i in range(90):
    for j in range(i + 1):
        x[i] += x[j] * T.float32(0.01)
""",
    "what another sum makes": """
for i in range(90):
    s: T.float32 = 0.0
    t: T.float32 = 0.0
    for j in range(i):
        s += A[i, j]
        t += s
    y[i] = t
""",
}


def kernel(body: str, attrs: str = "") -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in (attrs + body).strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({PARAMS}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def arguments() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    rows = np.sort(random.integers(0, 90, 91)).astype("int32")
    rows[0], rows[1] = 0, 60  # a long row, and short and empty ones
    floats = [random.standard_normal(shape).astype("float32") for shape in ((90, 90), 90, 90)]
    return [*floats, np.maximum.accumulate(rows), random.integers(-99, 99, (90, 90)).astype("int32")]


@pytest.mark.parametrize("bits", [512, 128])
@pytest.mark.parametrize("name", [*LANES, *KEPT])
def test_sums_of_such_lines_are_those_of_the_loops(name: str, bits: int) -> None:
    func = kernel({**LANES, **KEPT}[name])
    made = scheduled(func, CpuFacts(vector_bits=bits))
    assert made is not func and not verify(made) and structural_equal(parse(made.script()), made)
    assert ("_0 in range(" in made.script()) == (name in LANES)
    wanted = arguments()
    found, checked = copies(wanted), copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    tirscript.build(func, bounds_check=bits == 512)(*checked)
    for a, b, c in zip(wanted, found, checked, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-4)
        np.testing.assert_allclose(c, a, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", LEFT)
def test_what_one_term_makes_of_another_stays(name: str) -> None:
    func = kernel(LEFT[name])
    assert scheduled(func, CpuFacts(vector_bits=512)) is func


def test_the_order_is_kept_where_a_function_says_so() -> None:
    exact = 'T.func_attr({"fastmath": False})'
    assert scheduled(kernel(LANES["back substitution"], exact), CpuFacts(vector_bits=512)).script().count("for ") == 2
    func = kernel(LANES["forward substitution"], exact)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "x_1: T.float32 = x[i]" in made.script() and "T.vectorized" not in made.script()
    wanted = arguments()
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    np.testing.assert_array_equal(found[1], wanted[1])


def test_an_element_that_is_not_there_is_not_read_where_there_are_no_terms() -> None:
    func = kernel("""
for i in range(91):
    for j in range(i, 90):
        x[i] += A[2, j] * x[j - 90 + i] if j > 200 else A[2, j]
""")
    simple = kernel("""
for i in range(91):
    for j in range(i, 90):
        x[i] += A[2, j]
""")
    for one in (func, simple):
        wanted = arguments()
        found, checked = copies(wanted), copies(wanted)
        tirscript.interpret(one, *wanted)
        tirscript.build(one)(*found)
        tirscript.build(one, bounds_check=True)(*checked)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4)
        np.testing.assert_allclose(checked[1], wanted[1], rtol=1e-4)


def test_counters_that_would_overflow_go_on_one_by_one() -> None:
    text = """@T.prim_func
def main(x: T.Buffer((64,), "float32"), y: T.Buffer((4,), "float32"), lo: T.int32, hi: T.int32):
    for i in range(4):
        s: T.float32 = 0.0
        for j in range(lo, hi + i):
            s += x[j]
        y[i] = s
"""
    func = parse(text)
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert made is not func
    x = np.arange(64, dtype="float32")
    for low, high in ((0, 0), (3, 60), (5, 4), (2**31 - 4, -(2**31)), (60, -(2**31))):
        wanted, found = np.ones(4, "float32"), np.ones(4, "float32")
        tirscript.interpret(func, x, wanted, low, high)
        tirscript.build(made)(x, found, low, high)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.long
def test_vectors_that_are_there_already_stay() -> None:
    func = kernel("""
for i in range(90):
    for j in range(90):
        A[i, j] = 0.0
        for k in range(i):
            A[i, j] += N[0, 0].astype("float32") * x[k] * y[j]
""")
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert_same_result(func, made, tolerance=1e-4)


def test_sums_in_the_lanes_of_a_loop_around_stay() -> None:
    func = kernel("""
for j in T.vectorized(64):
    s: T.float32 = 0.0
    for i in range(90):
        s += A[i, j] * A[j, i]
    y[j] = s
""")
    assert lane_sums(func, CpuFacts(vector_bits=512)) is func


def test_rows_that_are_summed_along_memory_are_not_gathered() -> None:
    text = """
for j in range(90):
    for i in range(j + 1, 90):
        t: T.float32 = A[i, j]
        for k in range(j):
            t -= A[i, k] * A[j, k]
        A[i, j] = t * 0.125
"""
    lanes = {}
    for order, attributes in (("any", ""), ("as written", 'T.func_attr({"fastmath": False})')):
        func = kernel(text, attributes)
        made = scheduled(func, CpuFacts(vector_bits=512, threads=1))
        assert_same_result(func, made)
        lanes[order] = {node.var.name for node in walk(made.body) if type(node) is For and node.kind == "vectorized"}
    assert lanes["any"] == {"lane"}
    assert "lane" not in lanes["as written"]
