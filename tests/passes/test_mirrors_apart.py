"""Symmetric matrices: what is stored at two places is made in a triangle of products, and copied behind it."""

from __future__ import annotations

import pytest

from tirscript.ir import For, PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.mirrors_apart import mirrors_apart
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = 'A: T.Buffer((48, 40), "float32"), C: T.Buffer((40, 40), "float32")'
APART = {
    "covariances": """
for i in range(40):
    for j in range(i, 40):
        C[i, j] = 0.0
        for k in range(48):
            C[i, j] += A[k, i] * A[k, j]
        C[i, j] = C[i, j] / T.float32(47)
        C[j, i] = C[i, j]
""",
    "correlations, with ones between": """
for i in range(39):
    C[i, i] = 1.0
    for j in range(i + 1, 40):
        C[i, j] = 0.0
        for k in range(48):
            C[i, j] += A[k, i] * A[k, j]
        C[j, i] = C[i, j]
C[39, 39] = 1.0
""",
    "a variable below": """
for i in range(40):
    for j in range(i + 1):
        s: T.float32 = 0.0
        for k in range(48):
            s += A[k, i] * A[k, j]
        C[i, j] = T.sqrt(T.abs(s))
        C[j, i] = T.sqrt(T.abs(s))
""",
}
LEFT = {
    "read again": """
for i in range(40):
    for j in range(i, 40):
        C[i, j] = A[0, 0] * C[j, T.max(i - 1, 0)]
        for k in range(48):
            C[i, j] += A[k, i] * A[k, j]
        C[j, i] = C[i, j]
""",
    "stored again": """
for i in range(40):
    for j in range(i + 1):
        C[i, j] = 0.0
        for k in range(48):
            C[i, j] += A[k, i] * A[k, j]
        C[39 - i, j] = C[i, j]
""",
    "too few terms": """
for i in range(40):
    for j in range(i, 40):
        C[i, j] = 0.0
        for k in range(3):
            C[i, j] += A[k, i] * A[k, j]
        C[j, i] = C[i, j]
""",
}


def kernel(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({PARAMS}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", APART)
def test_the_copy_is_a_nest_behind_a_product(name: str) -> None:
    func = kernel(APART[name])
    apart = mirrors_apart(func, lambda new, nest: True)
    assert sum(1 for stmt in apart.body if type(stmt) is For) == 2
    assert not verify(apart) and structural_equal(parse(apart.script()), apart)
    assert_same_result(func, apart)
    made = scheduled(func, CpuFacts(vector_bits=512))
    assert "T.vectorized" in made.script() and "T.alloc_buffer" in made.script()  # tiles of results
    assert_same_result(func, made, tolerance=1e-5)


@pytest.mark.parametrize("name", LEFT)
def test_it_stays_where_something_needs_it_or_nothing_gains(name: str) -> None:
    func = kernel(LEFT[name])
    assert mirrors_apart(func, lambda new, nest: True) is func
    assert_same_result(func, scheduled(func, CpuFacts(vector_bits=512)), tolerance=1e-4)


def test_products_begin_at_other_places_of_what_they_go_on_from() -> None:
    func = kernel("""
for i in range(1, 40):
    for j in range(2, 40):
        for k in range(48):
            C[i, j] += A[k, i - 1] * A[k, j]
""")
    made = default_schedule(func, CpuFacts(vector_bits=512))
    assert "reduce_apart" in str(made.trace) and "T.fma" in made.func.script()
    assert_same_result(func, made.func, tolerance=1e-5)
