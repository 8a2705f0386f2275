"""What stands in a loop that stays a loop is scheduled as a function of its own."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, For, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.outer_vectors import outer_vectors
from tirscript.script import parse
from tirscript.testing import assert_same_result, copies

PARAMS = (
    'A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32"), v: T.Buffer((40,), "float32"), '
    'S: T.Buffer((1,), "float32")'
)
KERNELS = {
    "powers of a matrix": """
C = T.alloc_buffer((40, 40), "float32")
for t in range(3):
    for i, j in T.grid(40, 40):
        C[i, j] = 0.0
        for k in range(40):
            C[i, j] += A[i, k] * B[k, j]
    for i, j in T.grid(40, 40):
        B[i, j] = C[i, j] * T.float32(0.125)
""",
    "a greatest value for each step": """
for t in range(30):
    for i in range(40):
        s: T.float32 = A[0, t] * (T.cast(i, "float32") * 0.1 - T.cast(t, "float32") * 0.1)
        v[t] = T.max(v[t], s + A[1, i])
    for i in range(T.min(t + 1, 40)):
        B[t, i] = A[t, i]
        S[0] = S[0] + A[t, i]
        last: T.float32 = A[t, i]
    v[t] = T.max(v[t], A[2, t])
""",
    "powers of a vector": """
w = T.alloc_buffer((40,), "float32")
for t in range(3):
    n: T.float32 = 0.0
    for i in range(40):
        w[i] = 0.0
        for j in range(40):
            w[i] += A[i, j] * v[j]
        n += w[i] * w[i]
    for i in range(40):
        v[i] = w[i] / T.sqrt(n)
""",
    "a variable around": """
rest: T.float32 = 1.0
for t in range(40):
    dot: T.float32 = 0.0
    for j in range(40):
        dot += A[t, j] * v[j]
    rest = T.float32(0.5) * rest + dot
    B[t, 0] = rest
S[0] = rest
""",
    "triangles": """
row = T.alloc_buffer((40,), "float32")
for i in range(40):
    most: T.float32 = -1.0e30
    for j in range(i + 1):
        s: T.float32 = 0.0
        for d in range(40):
            s += A[i, d] * A[j, d]
        row[j] = s
        most = T.max(most, s)
    total: T.float32 = 0.0
    for j in range(i + 1):
        row[j] = T.exp((row[j] - most) * T.float32(0.1))
        total += row[j]
    for d in range(40):
        o: T.float32 = 0.0
        for j in range(i + 1):
            o += row[j] * A[j, d]
        B[i, d] = o / total
""",
    "conditions": """
for i in range(40):
    if v[i] > 0.0:
        for j in range(40):
            B[i, j] = 0.0
            for k in range(40):
                B[i, j] += A[i, k] * A[j, k]
            for k in range(i, 40):
                v[k] = v[k] * T.float32(0.5) + A[i, j]
""",
}


def kernel(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({PARAMS}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_what_a_loop_does_is_scheduled(name: str, threads: int) -> None:
    func = kernel(KERNELS[name])
    made = scheduled(func, CpuFacts(vector_bits=512, threads=threads))
    assert not verify(made) and structural_equal(parse(made.script()), made)
    names = [node.name for node in walk(made.body) if type(node) is Block]
    assert len(names) == len(set(names))
    random = np.random.default_rng(3)
    wanted = [random.standard_normal(shape).astype("float32") for shape in ((40, 40), (40, 40), 40, 1)]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(made)(*found)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-3)


def test_blocks_have_axes_for_the_loops_around_that_they_use() -> None:
    func = kernel(KERNELS["a greatest value for each step"])
    made = scheduled(func, CpuFacts(vector_bits=128))
    assert "opaque" in {axis.kind for node in walk(made.body) if type(node) is Block for axis in node.axes}
    assert not verify(made) and structural_equal(parse(made.script()), made)
    assert_same_result(func, made, tolerance=1e-3)


def test_sums_in_rows_of_a_triangle_are_made_in_lanes() -> None:
    text = scheduled(kernel(KERNELS["triangles"]), CpuFacts(vector_bits=512)).script()
    assert "T.vectorized" in text and "with T.block" in text


def test_memory_of_one_iteration_is_no_others() -> None:
    """A sum that an iteration makes anew needs no place in another: the loop may run on several threads."""
    func = kernel(
        """
for i in range(40):
    for j in range(i, 40):
        s: T.float32 = 0.0
        for k in range(40):
            s += A[i, k] * A[j, k]
        B[i, j] = s
"""
    )
    made = scheduled(func, CpuFacts(vector_bits=512, threads=2))
    assert any(type(node) is For and node.kind == "vectorized" for node in walk(made.body))
    a, b = np.random.default_rng(0).standard_normal((2, 40, 40)).astype("float32")
    tirscript.build(made)(a, b, a[0].copy(), a[0, :1].copy())
    np.testing.assert_allclose(np.triu(b), np.triu(a @ a.T), rtol=1e-4, atol=1e-4)


def test_order_of_sums_is_kept_inside_too() -> None:
    func = kernel("T.func_attr({'fastmath': False})\n" + KERNELS["a variable around"].strip())
    random = np.random.default_rng(5)
    wanted = [random.standard_normal(shape).astype("float32") for shape in ((40, 40), (40, 40), 40, 1)]
    found = copies(wanted)
    tirscript.interpret(func, *wanted)
    tirscript.build(func)(*found)
    assert all(map(np.array_equal, wanted, found))


def test_loops_in_loops_are_looked_at_once() -> None:
    lines = [
        "for a in range(9):",
        "    for b in range(9):",
        "        for c in range(9):",
        "            for d in range(9):",
    ]
    func = kernel(
        "\n".join([*lines, "                v[a + b] = v[T.cast(v[a], 'int32')] * T.float32(0.5) + v[c + d]"])
    )
    seen: list[PrimFunc] = []

    def counted(inner: PrimFunc, facts: CpuFacts) -> PrimFunc:
        seen.append(inner)
        return outer_vectors(inner, facts, counted)

    assert counted(func, CpuFacts()) is func
    assert len(seen) == 4  # the function, and the body of each loop around others


@pytest.mark.parametrize(("place", "together"), [("j", True), ("T.max(j - 1, 0)", False), ("(j + 3) % 40", False)])
def test_loops_over_a_row_share_one_only_where_an_iteration_needs_its_own(place: str, together: bool) -> None:
    """What an iteration before has made would keep LLVM from vectors."""
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((300, 40), "int32"), B: T.Buffer((300, 40), "int32"), C: T.Buffer((300, 40), "int32")):
    for i in range(300):
        for j in range(40):
            B[i, j] = A[i, j] * 3
        for j in range(40):
            C[i, j] = B[i, {place}] + A[i, j]
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(vector_bits=512, threads=2))
    loops = [node for node in walk(made.body) if type(node) is For]
    assert (len(loops) == 2) == together, made.script()
    assert_same_result(func, made)
