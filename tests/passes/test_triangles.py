"""Loops over triangles become those over squares, which compute nothing outside of the triangles."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)


def kernel(body: str, params: str = "A: T.Buffer((19, 19)), B: T.Buffer((19, 23)), C: T.Buffer((19, 23))") -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


PRODUCTS = {
    "a lower triangle": """
for i, j in T.grid(19, 23):
    s: T.float32 = 0.0
    for k in range(i + 1):
        s += A[i, k] * B[k, j]
    C[i, j] = s
""",
    "an upper triangle": """
for i, j in T.grid(19, 23):
    C[i, j] = 0.0
    for k in range(i + 1, 19):
        C[i, j] += A[i, k] * B[k, j]
""",
    "a lower triangle of results": """
for i in range(19):
    for j in range(i + 1):
        s: T.float32 = 0.0
        for k in range(19):
            s += A[i, k] * B[k, j]
        C[i, j] = s
""",
    "an upper triangle of results": """
for i in range(19):
    for j in range(i, 19):
        C[i, j] = 0.0
        for k in range(19):
            C[i, j] -= A[i, k] * A[j, k]
""",
    "lines of results": """
for i in range(19):
    for j in range(i + 1):
        C[i, j] *= T.float32(0.5)
    for k in range(19):
        for j in range(i + 1):
            C[i, j] += T.float32(1.5) * A[i, k] * A[j, k]
""",
    "from the end": """
for i, j in T.grid(19, 23):
    s: T.float32 = 0.0
    for k in range(19 - i):
        s += A[i, k] * B[k, j]
    C[i, j] = s
""",
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_over_triangles_are_tiled(name: str) -> None:
    func = kernel(PRODUCTS[name])
    made = default_schedule(func, FACTS)
    assert "sch.pad_einsum(" in str(made.trace) and "sch.vectorize" in str(made.trace)
    # lanes that go their own ways through a condition would take one another's time
    assert ("T.Select" in with_blocks(func).script()) == (name in ("lines of results", "an upper triangle of results"))
    assert_same_result(func, with_blocks(func))
    assert_same_result(func, made.func)


@pytest.mark.parametrize("name", PRODUCTS)
def test_what_is_outside_neither_comes_in_nor_changes(name: str) -> None:
    """Infinities and nan outside of the triangle, and -0.0 in sums of nothing, as the loops leave them."""
    func = kernel(PRODUCTS[name]).replace(attrs=Attrs({"fastmath": False}))
    rng = np.random.default_rng(4)
    A, B, C = (rng.integers(-3, 4, shape).astype("float32") for shape in ((19, 19), (19, 23), (19, 23)))
    A[3, 9], A[9, 3], B[5, 5], B[15, 2] = np.nan, np.inf, np.inf, np.nan
    C[:] = np.where(C > 1, np.float32(-0.0), C)
    C[2, 20], C[2, 10], C[10, 2] = np.nan, -np.inf, np.nan
    results = []
    for one in (func, func.replace(attrs=Attrs({"tir.is_scheduled": True}))):
        got = C.copy()
        tirscript.build(one)(A, B, got)
        results.append(got)
    np.testing.assert_array_equal(*results)
    signs = [np.signbit(result[~np.isnan(result)]) for result in results]
    assert np.array_equal(*signs)


def test_attention_to_what_was_before() -> None:
    func = kernel(
        """
S = T.alloc_buffer((37, 37))
for i in range(37):
    for j in range(i + 1):
        s: T.float32 = 0.0
        for d in range(16):
            s += Q[i, d] * K[j, d]
        S[i, j] = T.exp(s * T.float32(0.25))
for i in range(37):
    t: T.float32 = 0.0
    for j in range(i + 1):
        t += S[i, j]
    L[i] = t
for i, d in T.grid(37, 16):
    o: T.float32 = 0.0
    for j in range(i + 1):
        o += S[i, j] / L[i] * V[j, d]
    O[i, d] = o
""",
        "Q: T.Buffer((37, 16)), K: T.Buffer((37, 16)), V: T.Buffer((37, 16)), L: T.Buffer((37,)), O: T.Buffer((37, 16))",
    )
    made = default_schedule(func, FACTS).func
    assert made.script().count("T.fma") >= 1 and "C_update" not in made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize(
    "body",
    [
        # a band
        "for i, j in T.grid(15, 23):\n    C[i, j] = 0.0\n    for k in range(i, i + 4):\n        C[i, j] += A[i, k] * B[k, j]",
        # reads beyond
        "for i, j in T.grid(19, 23):\n    C[i, j] = 0.0\n    for k in range(i + 2):\n        C[i, j] += A[i, k] * B[k, j]",
        # no product
        "for i in range(19):\n    for j in range(i + 1):\n        C[i, j] = A[i, j]",
        # a result that others need
        "for i in range(19):\n    for k in range(i):\n        for j in range(19):\n            C[i, j] += A[i, k] * C[k, j]",
        # a condition of its own
        "for i, j in T.grid(19, 19):\n    for k in range(i + 1):\n        if A[i, k] > T.float32(0):\n            C[i, j] = A[j, k] * B[k, j]",
        # triangles in each other
        "for i in range(19):\n    for j in range(i + 1):\n        for k in range(j + 1):\n            C[i, j] += A[i, k] * A[j, k]",
    ],
)
def test_what_stays(body: str) -> None:
    func = kernel(body)
    assert with_blocks(func) is func


@pytest.mark.parametrize("more", [210, 230])
def test_bounds_that_begin_anew_are_those_of_no_triangle(more: int) -> None:
    """At i = 26 the second one begins at 0."""
    func = kernel(
        f"""
for i, j in T.grid(T.uint8(40), 2):
    C[i, j] = 0.0
    for k in range(i + T.uint8({more})):
        C[i, j] += A[i, k] * B[k, j]
""",
        "A: T.Buffer((40, 255)), B: T.Buffer((255, 2)), C: T.Buffer((40, 2))",
    )
    made = with_blocks(func)
    assert (made is func) == (more == 230)
    assert_same_result(func, made)


def test_what_is_written_before_stays_outside_of_the_triangle() -> None:
    """Of a buffer of the function all could be written, were it not for those before."""
    func = kernel("""
S = T.alloc_buffer((19, 19))
for i, j in T.grid(19, 19):
    S[i, j] = A[i, j]
for i in range(19):
    for j in range(i + 1):
        s: T.float32 = 0.0
        for k in range(19):
            s += A[i, k] * A[j, k]
        S[i, j] = s
for i, j in T.grid(19, 19):
    C[i, j] = S[i, j]
""")
    made = default_schedule(func, FACTS)
    assert "T.fma" in made.func.script()
    assert_same_result(func, made.func)


ROWS = """
P = T.alloc_buffer((23, 23))
L = T.alloc_buffer((23,))
for i in range(23):
    for j in range(i + 1):
        P[i, j] = 0.0
        for d in range(16):
            P[i, j] += Q[i, d] * K[j, d]
for i in range(23):
    L[i] = 0.0
    for j2 in range({columns}):
        P[i, j2] = {value}
        L[i] += P[i, j2]
for i, d in T.grid(23, 16):
    O[i, d] = 0.0
    for j in range(i + 1):
        O[i, d] += P[i, j] / L[i] * V[j, d]
"""
MATRICES = "Q: T.Buffer((23, 16)), K: T.Buffer((23, 16)), V: T.Buffer((23, 16)), O: T.Buffer((23, 16))"


def test_what_only_triangles_write_may_be_written_as_squares() -> None:
    func = kernel(ROWS.format(columns="i + 1", value="T.exp(P[i, j2] * T.float32(0.1))"), MATRICES)
    made = with_blocks(func)
    assert "P[vi, vj] if " not in made.script() and made.script().count("T.block(") >= 4
    assert_same_result(func, made)
    assert_same_result(func, default_schedule(func, FACTS).func)


def test_what_a_line_writes_too_is_not() -> None:
    """The elements outside of the triangle are read and written by the second nest."""
    func = kernel(
        ROWS.format(columns="23", value="T.if_then_else(j2 <= i, P[i, j2], T.float32(2))"),
        MATRICES,
    )
    made = with_blocks(func)
    assert_same_result(func, made)
    # of numbers whose sums do not cancel, as they are divided by
    arrays = lambda rng: [rng.random((23, 16), "float32") for _ in range(4)]
    assert_same_result(func, default_schedule(func, FACTS).func, inputs=arrays)
