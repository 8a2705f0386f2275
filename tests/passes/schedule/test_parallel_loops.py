"""Plain loops that are parallel are scheduled as serial ones are, where they are proved to be independent."""

from __future__ import annotations

import pytest
from helpers.nests import func_of

from tirscript.ir import For, PrimFunc, walk
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled, with_serial_loops
from tirscript.testing import assert_same_result

PARAMS = (
    'A: T.Buffer((40, 70), "float32"), B: T.Buffer((70, 50), "float32"), I: T.Buffer((40,), "int32"), '
    'C: T.Buffer((40, 50), "float32")'
)
PRODUCT = """
for i in T.parallel(40):
    for j in range(50):
        C[i, j] = 0.0
        for k in range(70):
            C[i, j] += A[i, k] * B[k, j]
"""
TAKEN = {
    "a product": PRODUCT,
    "two loops": PRODUCT.replace("j in range", "j in T.parallel"),
    "rows": """
for i in T.parallel(40):
    s: T.float32 = 0.0
    for k in range(70):
        s += A[i, k]
    for j in range(50):
        C[i, j] = s * B[0, j]
""",
    "inside a loop in order": """
for t in range(3):
    for i in T.parallel(40):
        for j in range(50):
            C[i, j] = T.float32(0.5) * C[i, j] + A[i, t] * B[t, j]
""",
}
LEFT = {
    "a part of what a loop says": PRODUCT.replace("k in range(70)", "k in T.unroll(70)"),
    "annotations": PRODUCT.replace("T.parallel(40)", 'T.parallel(40, annotations={"grain": 4})'),
    "blocks": """
for i in T.parallel(40):
    for j in range(50):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, 0] * B[0, vj]
""",
    "iterations of which nobody knows how many they are": """
for i in T.parallel(40):
    x: T.float32 = A[i, 0]
    while x < 8.0:
        x = x + T.max(T.abs(x), 1.0)
    for j in range(50):
        C[i, j] = x
""",
    "places that memory names": """
for i in T.parallel(40):
    for j in range(50):
        C[T.max(T.min(I[i], 39), 0), j] = 1.0
""",
}


def kernel(body: str) -> PrimFunc:
    return func_of(body.strip().split("\n"), PARAMS)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", TAKEN)
def test_parallel_loops_are_scheduled(name: str, threads: int) -> None:
    func, facts = kernel(TAKEN[name]), CpuFacts(512, threads)
    serial = kernel(TAKEN[name].replace("T.parallel", "range"))
    assert with_serial_loops(func).script() == serial.script()
    made, plain = scheduled(func, facts), scheduled(serial, facts)
    assert made is func if plain is serial else made.script() == plain.script()
    assert default_schedule(func, facts).func.script() == default_schedule(serial, facts).func.script()
    assert_same_result(func, made)


def test_more_than_threads_comes_of_it() -> None:
    made = scheduled(kernel(PRODUCT), CpuFacts(512, 2))
    assert {node.kind for node in walk(made.body) if type(node) is For} >= {"parallel", "vectorized", "unroll"}


@pytest.mark.parametrize("name", LEFT)
def test_what_says_more_is_left_alone(name: str) -> None:
    func = kernel(LEFT[name])
    assert scheduled(func, CpuFacts(512, 2)) is func
    assert not default_schedule(func, CpuFacts(512, 2)).trace.steps
