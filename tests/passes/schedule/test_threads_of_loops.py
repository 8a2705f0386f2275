"""Plain loops that become no blocks and no vectors, whose iterations threads share."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocBuffer, For, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = 'A: T.Buffer((48, 64), "float32"), B: T.Buffer((48, 64), "float32"), S: T.Buffer((5,), "float32")'

SHARED = {
    "as long as memory says": """
for i in range(48):
    for j in range(64):
        z: T.float32 = A[i, j]
        n: T.int32 = 0
        while n < 60 and z * z < T.float32(4):
            z = z * z + A[i, j]
            n += 1
        B[i, j] = T.Cast("float32", n)
""",
    "one loop": """
for i in range(48):
    z: T.float32 = A[i, 0]
    n: T.int32 = 0
    while n < 60 and z * z < T.float32(4):
        z = z * z + A[i, 1]
        n += 1
    B[i, 0] = T.Cast("float32", n)
""",
    "memory that each iteration fills": """
W = T.alloc_buffer((5,), "float32")
for i in range(48):
    for j in range(2, 62):
        for a in range(5):
            W[a] = A[i, j + a - 2]
        for p in range(3):
            for q in range(p + 1, 5):
                low = T.min(W[p], W[q])
                high = T.max(W[p], W[q])
                W[p] = low
                W[q] = high
        B[i, j] = W[2]
""",
    "rows that are kept in memory": """
W = T.alloc_buffer((64,), "float32")
for i in range(48):
    m: T.float32 = T.float32(-1)
    for j in range(64):
        W[j] = T.float32(0)
    for k in range(20):
        n = T.max(m, A[i, k])
        for j in range(64):
            W[j] = W[j] * (m - n) + A[i, j] * n
        m = n
    for j in range(64):
        B[i, j] = W[j] + m
""",
}

# outer loops, whose inner ones would start threads in each iteration
OUTER = """
W = T.alloc_buffer((n,), "float32")
for i in range(n):
    for j in range(n):
        W[j] = X[i, j % 64]
    for k in range(20):
        for j in range(n):
            W[j] = T.min(X[i, k], W[j]) * T.float32(0.5)
    for j in range(n):
        Y[i, j % 64] = W[j]
"""

SERIAL = {
    "memory that the iteration before fills": """
W = T.alloc_buffer((5,), "float32")
for a in range(5):
    W[a] = T.float32(0)
for i in range(48):
    for j in range(2, 62):
        for a in range(4):
            W[a] = A[i, j + a - 2]
        for p in range(3):
            for q in range(p + 1, 5):
                high = T.max(W[p], W[q])
                W[q] = high
        B[i, j] = W[4]
""",
    "memory that is read behind the loop": """
W = T.alloc_buffer((5,), "float32")
for i in range(48):
    for j in range(2, 62):
        for a in range(5):
            W[a] = A[i, j + a - 2]
        for p in range(3):
            for q in range(p + 1, 5):
                high = T.max(W[p], W[q])
                W[q] = high
        B[i, j] = W[2]
for a in range(5):
    S[a] = W[a]
""",
    "little work": """
for i in range(4):
    for j in range(3):
        z: T.float32 = A[i, j]
        for k in range(5):
            if z < T.float32(2):
                z = z * z + A[i, k]
        B[i, j] = z
""",
    "a search that ends": """
for i in range(48):
    for j in range(20):
        z: T.float32 = A[i, j]
        for k in range(20):
            if z < T.float32(2):
                z = z * z + A[i, k]
        B[i, j] = z
    if B[i, 0] > T.float32(2):
        break
""",
}


def kernel(body: str, params: str = PARAMS) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    func = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(func, PrimFunc)
    return func


def parallel(func: PrimFunc) -> list[For]:
    return [node for node in walk(func.body) if type(node) is For and node.kind == "parallel"]


@pytest.mark.parametrize("name", SHARED)
def test_threads_share_iterations(name: str) -> None:
    func = kernel(SHARED[name])
    made = scheduled(func, CpuFacts(512, 2))
    assert parallel(made) and not verify(made) and structural_equal(parse(made.script()), made)
    assert not any(type(stmt) is AllocBuffer for stmt in made.body)  # each iteration has its own
    assert not parallel(scheduled(func, CpuFacts(512, 1)))
    assert_same_result(func, made)


def test_the_outer_loop_is_shared_rather_than_those_inside() -> None:
    func = kernel(OUTER, 'X: T.Buffer(("n", 64), "float32"), Y: T.Buffer(("n", 64), "float32")')
    made = scheduled(func, CpuFacts(512, 2))
    assert [loop.var.name for loop in parallel(made)] == ["i"]
    assert_same_result(func, made)


@pytest.mark.parametrize("name", SERIAL)
def test_what_one_thread_does(name: str) -> None:
    func = kernel(SERIAL[name])
    made = scheduled(func, CpuFacts(512, 2))
    assert not parallel(made)
    assert_same_result(func, made)


@pytest.mark.parametrize("name", SHARED)
def test_any_number_of_threads_leaves_the_same(name: str) -> None:
    before = tirscript.get_num_threads()
    given = np.random.default_rng(1).random((48, 64), "float32")
    try:
        found = []
        for threads in (1, 2, 5):
            tirscript.set_num_threads(threads)
            results = [np.zeros((48, 64), "float32"), np.zeros(5, "float32")]
            tirscript.build(kernel(SHARED[name]))(given, *results)
            found.append(results)
    finally:
        tirscript.set_num_threads(before)
    for results in found[1:]:
        for a, b in zip(found[0], results, strict=True):
            np.testing.assert_array_equal(a, b)
