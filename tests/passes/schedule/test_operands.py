"""Products of what is computed of rows and of columns: each operand is computed once, and the rest is a contraction."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
PARAMS = (
    'A: T.Buffer((9, 31)), D: T.Buffer((9, 31)), B: T.Buffer((31, 37)), V: T.Buffer((37, 31)), W: T.Buffer((31, 37), "int8"), '
    'P: T.Buffer((37, 16), "uint8"), m: T.Buffer((9,)), s: T.Buffer((37,)), t: T.Buffer((4, 37)), q: T.Buffer((31,)), '
    "C: T.Buffer((9, 37))"
)


def kernel(value: str, params: str = PARAMS) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main({params}):
    for i, j in T.grid(9, 37):
        C[i, j] = 0.0
        for k in range(31):
            C[i, j] += {value}
""")
    assert isinstance(found, PrimFunc)
    return found


# a value, and the parts of it that are made before the tiles; those of the columns are made as they are copied
VALUES = {
    "T.max(A[i, k], T.float32(0)) * B[k, j]": ["T.max(A[v0, v1], "],
    "(A[i, k] - m[i]) * B[k, j]": ["A[v0, v1] - m[v0]"],
    "A[i, k] / T.max(m[i], T.float32(1)) * B[k, j]": ["A[v0, v1] / T.max(m[v0]"],
    "A[i, k] * A[i, k] * B[k, j]": ["A[v0, v1] * A[v0, v1]"],
    "(A[i, k] + D[i, k]) * (B[k, j] - s[j])": ["A[v0, v1] + D[v0, v1]", " - s["],
    "A[i, k] * (T.cast(W[k, j], 'float32') * t[k // 8, j])": [" * t["],
    "A[i, k] * T.cast(T.cast(P[j, k // 2], 'int32') >> (k % 2 * 4) & 15, 'float32')": [">> "],
    "T.if_then_else(k <= i, A[i, k], T.float32(0)) * B[k, j]": ["v1 <= v0"],
    "A[i, k] * B[k, j] * q[k]": [],
    "A[i, k] * B[k, j] * s[j]": [],
    "(A[i, k] - B[k, j]) * (A[i, k] - B[k, j])": [],
    "T.abs(A[i, k] - V[j, k])": [],
    "-A[i, k] * B[k, j]": [],
}


@pytest.mark.long
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("bits", [128, 512])
def test_operands_are_computed_once(value: str, bits: int) -> None:
    func = kernel(value)
    made = default_schedule(func, CpuFacts(vector_bits=bits)).func
    text = made.script()
    assert '_update"' in text and "T.vectorized" in text and 'scope="local"' in text
    update = text[text.index('_update"') :]
    for part in VALUES[value]:
        assert part in text and part not in update
    assert_same_result(func, made)


def test_other_reductions_than_sums_are_tiled() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((9, 31)), B: T.Buffer((31, 37)), C: T.Buffer((9, 37))):
    for i, j in T.grid(9, 37):
        C[i, j] = T.min_value("float32")
        for k in range(31):
            C[i, j] = T.max(C[i, j], A[i, k] + B[k, j])
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS).func
    assert "B_pad" in made.script() and "T.vectorized" in made.script()
    assert_same_result(func, made, tolerance=0.0)


def test_a_matrix_times_itself() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((19, 31)), C: T.Buffer((19, 19))):
    for i, j in T.grid(19, 19):
        C[i, j] = 0.0
        for k in range(31):
            C[i, j] += A[i, k] * A[j, k]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS).func
    assert "C_update" in made.script() and "T.fma" in made.script()
    assert_same_result(func, made)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 5, 3), (17, 33, 5), (0, 3, 2), (5, 0, 2)])
def test_sizes_in_32_bits(sizes: tuple[int, int, int]) -> None:
    """As programs of TVM say them."""
    func = parse("""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    p = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, p))
    B = T.match_buffer(b, (p, m))
    C = T.match_buffer(c, (n, m))
    for i, j in T.grid(n, m):
        C[i, j] = 0.0
        for k in range(p):
            C[i, j] += T.max(A[i, k], T.float32(0)) * B[k, j]
""")
    assert isinstance(func, PrimFunc)
    assert "C_part" in default_schedule(func, FACTS).func.script()
    n, m, p = sizes
    rng = np.random.default_rng(1)
    A, B = (rng.standard_normal(shape).astype("float32") for shape in ((n, p), (p, m)))
    C = np.full((n, m), 7, "float32")
    tirscript.build(func)(A, B, C)
    np.testing.assert_allclose(C, np.maximum(A, 0) @ B, rtol=1e-5, atol=1e-5)


def test_rows_whose_number_is_computed() -> None:
    func = parse("""
@T.prim_func
def main(u: T.handle, a: T.handle, B: T.Buffer((32, 32), "float32"), c: T.handle):
    n = T.int64()
    m = T.int64()
    U = T.match_buffer(u, (n, m), "float32")
    A = T.match_buffer(a, (n * m, 32), "float32")
    C = T.match_buffer(c, (n * m, 32), "float32")
    for i, j, k in T.grid(n * m, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS)
    assert "reverse_compute_at" in [step.primitive for step in made.trace.steps]
    n, m = 5, 7
    A, B = np.random.default_rng(1).standard_normal((2, n * m, 32)).astype("float32")
    C = np.full((n * m, 32), 7, "float32")
    tirscript.build(func)(np.zeros((n, m), "float32"), A, B[:32], C)
    np.testing.assert_allclose(C, A @ B[:32], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        "A[i, k] * B[k, j] * U[i, j, k]",  # a tensor of both sides, with terms of its own
        "T.exp(A[i, k] + B[k, j])",  # dear itself
        "X[i + k] * B[k, j]",  # windows
    ],
)
def test_what_is_no_product_of_two_sides(value: str) -> None:
    func = kernel(value, PARAMS + ", U: T.Buffer((9, 37, 31)), X: T.Buffer((39,))")
    made = default_schedule(func, FACTS)
    assert all(step.primitive != "precompute" for step in made.trace.steps)
    assert_same_result(func, made.func)


def test_what_is_not_computed_for_no_columns() -> None:
    """The element is there only where there is a column."""
    func = parse("""
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (m, 16))
    B = T.match_buffer(b, (16, m))
    C = T.match_buffer(c, (n, m))
    for i, j in T.grid(n, m):
        C[i, j] = 0.0
        for k in range(16):
            C[i, j] += T.max(A[m - 1, k], T.cast(i, "float32")) * B[k, j]
""")
    assert isinstance(func, PrimFunc)
    assert all(step.primitive != "precompute" for step in default_schedule(func, FACTS).trace.steps)


BLOCK = """
@T.prim_func
def main(A: T.Buffer((9, 8)), B: T.Buffer((8, 7)), C: T.Buffer((9, 7))):
    for i, j, k in T.grid(9, 7, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += {}
"""


@pytest.mark.parametrize(
    ("value", "axes", "message"),
    [
        ("A[vi, vk] * B[vk, vj]", [3], "not numbers of some of the 3 axes"),
        ("A[vi, vk] * B[vk, vj]", [0], "no part of what `C` stores is computed of `vi` alone"),
        ("T.if_then_else(vj < 3, A[vi, vk + 3], 0.0) * B[vk, vj]", [0, 2], "not known to be harmless"),
    ],
)
def test_what_is_not_precomputed(value: str, axes: list[int], message: str) -> None:
    func = parse(BLOCK.format(value))
    assert isinstance(func, PrimFunc)
    with pytest.raises((ScheduleError, tirscript.DiagnosticError), match=message):
        Schedule(func).precompute("C", axes)


def test_what_changes_meanwhile_is_not_precomputed() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((9, 8)), B: T.Buffer((9, 8))):
    for i in range(9):
        for j in range(8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, 0]) + A[vi, vj]
""")
    assert isinstance(func, PrimFunc)
    with pytest.raises(ScheduleError, match="still written where the copy would be made"):
        Schedule(func).precompute("B", [0])


@pytest.mark.parametrize(("terms", "copied"), [(512, False), (768, False), (1024, True), (2048, True), (1000, False)])
def test_rows_are_copied_where_they_would_share_the_sets_of_a_cache(terms: int, copied: bool) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((16, {terms})), B: T.Buffer(({terms}, 128)), C: T.Buffer((16, 128))):
    for i, j in T.grid(16, 128):
        C[i, j] = 0.0
        for k in range({terms}):
            C[i, j] += A[i, k] * B[k, j]
""")
    assert isinstance(func, PrimFunc)
    text = default_schedule(func, FACTS).func.script()
    assert ("A_global" in text) == copied
    assert (f"strides=({terms + 16}, 1)" in text) == copied
