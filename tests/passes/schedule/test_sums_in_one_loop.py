"""Loops that hold several sums of products: a product of matrices for each."""

from __future__ import annotations

import textwrap

import pytest

from tirscript.ir import For, PrimFunc, verify, walk
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


@pytest.mark.long
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


@pytest.mark.parametrize("size", ["24", '"n"'])
def test_scores_and_their_maximum_in_one_loop(size: str) -> None:
    """Heads that share keys and values: each is a block over whole heads, with the scores' maximum behind them."""
    n = size.strip('"')
    func = parse(f"""
@T.prim_func
def main(Q: T.Buffer((8, 16)), K: T.Buffer((2, {size}, 16)), V: T.Buffer((2, {size}, 16)), O: T.Buffer((8, 16))):
    S = T.alloc_buffer((8, {n}))
    for h in range(8):
        m: T.float32 = T.min_value("float32")
        s: T.float32 = 0.0
        for t in range({n}):
            S[h, t] = 0.0
            for d in range(16):
                S[h, t] += Q[h, d] * K[h // 4, t, d]
            S[h, t] = S[h, t] * T.float32(0.25)
            m = T.max(m, S[h, t])
        for t in range({n}):
            S[h, t] = T.exp(S[h, t] - m)
            s += S[h, t]
        for d in range(16):
            O[h, d] = 0.0
            for t in range({n}):
                O[h, d] += S[h, t] * V[h // 4, t, d]
            O[h, d] = O[h, d] / s
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, CpuFacts(vector_bits=128)).func
    assert "h_1" not in made.script() and "T.vectorized" in made.script()
    assert_same_result(func, made, tolerance=1e-4)


def test_a_total_that_its_loop_needs_stays_in_it() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((19, 31)), S: T.Buffer((19,)), m: T.Buffer((1,))):
    m[0] = 0.0
    for i in range(19):
        S[i] = m[0]
        for k in range(31):
            S[i] += A[i, k]
        m[0] = T.max(m[0], S[i])
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, default_schedule(func, WIDE).func, tolerance=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("rows", [1, 3])
def test_a_total_of_sums_in_variables(rows: int) -> None:
    """A sum that the loop has for itself does not live behind it."""
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer(({rows}, 512)), B: T.Buffer((64, 16, 32)), S: T.Buffer((64, 16)), Y: T.Buffer(({rows}, 64))):
    for i, j in T.grid({rows}, 64):
        total: T.float32 = 0.0
        for b in range(16):
            part: T.float32 = 0.0
            for k in range(32):
                part += X[i, b * 32 + k] * B[j, b, k]
            total += part * S[j, b]
        Y[i, j] = total
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    verify(made)
    assert_same_result(func, made, tolerance=1e-4)
