"""Loops that hold several sums of products: a product of matrices for each."""

from __future__ import annotations

import textwrap

import pytest

from tirscript.ir import For, PrimFunc, walk
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE = CpuFacts(vector_bits=512, threads=2)
HEAD = "A: T.Buffer((19, 31)), B: T.Buffer((19, 31)), P: T.Buffer((31, 37)), Q: T.Buffer((31, 37))"
BODIES = {
    "one sum": """
        C[i, j] = 0.0
        for k in range(31):
            C[i, j] += A[i, k] * P[k, j] - B[i, k] * Q[k, j]
""",
    "a variable": """
        s: T.float32 = A[i, 0]
        for k in range(31):
            s += A[i, k] * P[k, j] + B[i, k] * Q[k, j]
        C[i, j] = T.tanh(s)
""",
    "three": """
        C[i, j] = 0.0
        for k in range(31):
            C[i, j] += A[i, k] * P[k, j] + B[i, k] * Q[k, j] - A[i, k] * Q[k, j]
""",
    "of complex numbers": """
        C[i, j] = 0.0
        D[i, j] = 0.0
        for k in range(31):
            C[i, j] += A[i, k] * P[k, j] - B[i, k] * Q[k, j]
            D[i, j] += A[i, k] * Q[k, j] + B[i, k] * P[k, j]
""",
    "two in a loop": """
        c: T.float32 = 0.0
        d: T.float32 = 0.0
        for k in range(31):
            c += A[i, k] * P[k, j]
            d += B[i, k] * P[k, j]
        C[i, j] = c
        D[i, j] = d
""",
}


def kernel(name: str) -> PrimFunc:
    body = textwrap.indent(textwrap.dedent(BODIES[name]), "        ")
    found = parse(
        f"@T.prim_func\ndef main({HEAD}, C: T.Buffer((19, 37)), D: T.Buffer((19, 37))):\n"
        f"    for i, j in T.grid(19, 37):\n{body}"
    )
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("name", BODIES)
def test_each_product_is_tiled(name: str) -> None:
    func = kernel(name)
    made = default_schedule(func, WIDE)
    assert str(made.trace).count("sch.contract(") == (2 if "D[" in BODIES[name] else 1)
    assert "T.vectorized" in made.script() and 'scope="local"' in made.script()
    assert_same_result(func, made.func, tolerance=1e-4)
    assert Trace.parse(str(made.trace)).replay(Schedule(with_blocks(func))).script() == made.script()


def test_sums_that_share_what_they_read_stay_in_one_loop() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((19, 31), "int32"), S: T.Buffer((19,), "int32"), Q: T.Buffer((19,), "int32")):
    for i in range(19):
        S[i] = 0
        Q[i] = 0
        for k in range(31):
            S[i] += A[i, k]
            Q[i] += A[i, k] * A[i, k]
""")
    assert isinstance(func, PrimFunc)
    loops = [node for node in walk(with_blocks(func).body) if type(node) is For and len(node.body) == 2]
    assert len(loops) == 1
    assert_same_result(func, default_schedule(func, WIDE).func)
