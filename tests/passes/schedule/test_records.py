"""Loops over records run in vectors, to the last bit as they were written, where what they read of each is read once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nests import func_of

from tirscript.ir import PrimFunc
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = (
    'P: T.Buffer((37, 3), "float32"), Q: T.Buffer((20, 3), "float32"), I: T.Buffer((37,), "int32"), '
    'W: T.Buffer((37, 2), "float32")'
)

TAKEN = {
    "fields before the loop": """
for i in range(37):
    x: T.float32 = P[i, 0]
    near: T.float32 = 100.0
    for j in range(20):
        near = T.min(near, T.abs(Q[j, 0] - x) + Q[j, 1] * near)
    W[i, 1] = near
""",
    "fields in the loop": """
for i in range(37):
    s: T.float32 = 0.0
    t: T.float32 = 1.0
    for j in range(20):
        d = P[i, 2] - Q[j, 2]
        s = d * d + 0.5 * s
        t = t * (P[i, 0] - s) + P[i, 2]
    W[i, 0] = s
    W[i, 1] = t
""",
    "columns and records": """
for i in range(37):
    s: T.float32 = T.float32(I[i])
    for j in range(20):
        s = P[i, 1] * s + Q[j, 0]
    W[i, 0] = s
""",
    "every other record": """
for i in range(18):
    s: T.float32 = 0.0
    for j in range(20):
        s = P[2 * i + 1, 1] * s + Q[j, 0]
    W[2 * i, 1] = s
""",
}
LEFT = {
    "records that memory names": TAKEN["fields in the loop"].replace("P[i, 2]", "P[T.max(T.min(I[i], 36), 0), 2]"),
    "short loops": TAKEN["fields in the loop"].replace("range(20)", "range(15)"),
    "fields that only a condition reads": """
for i in range(37):
    s: T.float32 = 0.0
    for j in range(20):
        s = Q[j, 0] + 0.5 * s + T.if_then_else(i < 30, P[i + 7, 1], 0.0)
    W[i, 0] = s
""",
    "fields that statements may leave out": """
for i in range(37):
    s: T.float32 = 0.0
    for j in range(20):
        s = Q[j, 0] + 0.5 * s
        if i < 30:
            s += P[i + 7, 1]
    W[i, 0] = s
""",
    "fields that change": """
for i in range(37):
    W[i, 0] = 0.0
    for j in range(20):
        W[i, 1] = W[i, 0] * 0.5 + Q[j, 0]
        W[i, 0] = W[i, 1] - 0.25
""",
    "one field for all": """
for i in range(37):
    s: T.float32 = 0.0
    for j in range(20):
        s = 0.5 * s + Q[j, 1]
    W[0, 0] = s
""",
}


def kernel(body: str) -> PrimFunc:
    return func_of(body.strip().split("\n"), PARAMS)


def arguments(random: np.random.Generator) -> list[np.ndarray]:
    P, Q, W = (random.standard_normal(shape).astype("float32") for shape in ((37, 3), (20, 3), (37, 2)))
    return [P, Q, random.integers(-5, 50, 37).astype("int32"), W]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_records_in_lanes(name: str, threads: int) -> None:
    func = kernel(TAKEN.get(name) or LEFT[name])
    made = scheduled(func, CpuFacts(512, threads, reassociate=False))
    assert ("T.vectorized(" in made.script()) == (name in TAKEN)
    assert not verify(made)
    assert_same_result(func, made, inputs=arguments, tolerance=0.0)


def test_fields_are_read_once() -> None:
    text = scheduled(kernel(TAKEN["fields in the loop"]), CpuFacts(512, 1)).script()
    first = text.partition("W[")[0]
    assert first.count("= P[") == 2
    assert "P[" not in first.partition("for j in")[2]


def test_fields_that_change_under_another_name_are_read_again() -> None:
    func = parse("""
@T.prim_func
def main(P: T.Buffer((37, 1)), Q: T.Buffer((20, 3))):
    F = T.decl_buffer((37,), "float32", data=P.data)
    for i in range(37):
        s: T.float32 = 0.0
        for j in range(20):
            s = P[i, 0] * Q[j, 0] + s
            F[i] = s
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, scheduled(func, CpuFacts(512, 1, reassociate=False)), tolerance=0.0)
