"""Loops over records run in vectors, to the last bit as they were written, where what they read of each is read once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nests import func_of

import tirscript
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
    "fields that loops change": """
for i in range(37):
    W[i, 0] = 0.0
    for j in range(20):
        W[i, 1] = W[i, 0] * 0.5 + Q[j, 0]
        W[i, 0] = W[i, 1] - 0.25
""",
    "fields that a condition reads, and changes": """
for i in range(37):
    W[i, 0] = 1.0
    for j in range(20):
        if j != i:
            W[i, 0] = W[i, 0] * 0.5 + P[i, 2] * Q[j, 0]
""",
    "loops through fields": """
for i in range(37):
    for c in range(2):
        W[i, c] = 0.0
    for j in range(20):
        d: T.float32 = 0.25
        for c in range(3):
            d = d * (P[i, c] - Q[j, c])
        for c in range(2):
            W[i, c] = W[i, c] * d + Q[j, c]
""",
    "a field that is changed again behind the loop": """
for i in range(37):
    for j in range(20):
        W[i, 0] = W[i, 0] * 0.5 + Q[j, 0]
    W[i, 0] = W[i, 0] + W[i, 1]
""",
}
LEFT = {
    "fields that are not there throughout": """
for i in range(60):
    for j in range(20):
        if i < 37:
            W[i, 0] = W[i, 0] * 0.5 + Q[j, 0]
""",
    "loops that go back": """
for i in range(37):
    for j in range(19, -1, -1):
        W[i, 0] = W[i, 0] * 0.5 + Q[j, 0]
""",
    "loops through fields that are left": """
for i in range(37):
    for c in range(2):
        if P[i, c] > 0.5:
            break
        W[i, c] = 7.0
    for j in range(20):
        W[i, j % 2] = W[i, 1] * 0.5 + Q[j, 0]
""",
    "fields of other records": """
for i in range(36):
    for j in range(20):
        W[i + 1, 0] = W[i, 0] * 0.5 + Q[j, 0]
""",
    "fields by number": """
for i in range(37):
    for j in range(20):
        W[i, j % 2] = W[i, 0] * 0.5 + Q[j, 0]
""",
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


def test_loops_through_fields_that_are_left_stay_beside_lanes() -> None:
    func = kernel(
        TAKEN["loops through fields"].replace(
            "W[i, c] = 0.0", "if P[i, c] > 0.5:\n            break\n        W[i, c] = 0.0"
        )
    )
    made = scheduled(func, CpuFacts(512, 1, reassociate=False))
    assert_same_result(func, made, inputs=arguments, tolerance=0.0)


def test_fields_by_strides_may_be_the_same() -> None:
    func = parse("""
@T.prim_func
def main(f: T.handle, Q: T.Buffer((20, 3))):
    F = T.match_buffer(f, (64, 2), strides=(2, 0))
    for i in range(64):
        for j in range(20):
            F[i, 0] = F[i, 0] * 0.5 + Q[j, 0]
            F[i, 1] = F[i, 1] - Q[j, 1]
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, 1))
    memory = np.random.default_rng(1).standard_normal(128).astype("float32")
    Q = np.random.default_rng(2).standard_normal((20, 3)).astype("float32")
    results = []
    for one in (func, made):
        given = memory.copy()
        tirscript.interpret(one, np.lib.stride_tricks.as_strided(given, (64, 2), (8, 0)), Q)
        results.append(given)
    np.testing.assert_array_equal(*results)


def test_long_bodies_are_looked_at_once() -> None:
    """What an access needs is not worked out for each of them."""
    steps = "\n".join(
        f"        W[i, {k % 2}] = W[i, {k % 2}] * 0.5 + P[i, {k % 3}] * Q[j, {k % 3}]" for k in range(300)
    )
    func = kernel(f"for i in range(37):\n    for j in range(20):\n{steps}")
    assert "T.vectorized(" in scheduled(func, CpuFacts(512, 1)).script()


@pytest.mark.parametrize("size", [0, 1, 5, 40, 67])
def test_records_of_unknown_number(size: int) -> None:
    func = parse("""
@T.prim_func
def main(P: T.Buffer(("n", 3)), Q: T.Buffer(("m", 3)), F: T.Buffer(("n", 2))):
    for i in range(n):
        for c in range(2):
            F[i, c] = 0.5
        for j in range(m):
            d = P[i, 1] - Q[j, 1]
            F[i, 0] += d * P[i, 0]
            F[i, 1] += F[i, 0] * d
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, 1, reassociate=False))
    assert "T.vectorized(" in made.script()
    assert not verify(made)

    def arguments(random: np.random.Generator) -> list[np.ndarray]:
        shapes = ((size, 3), (size // 2, 3), (size, 2))
        return [random.standard_normal(shape).astype("float32") for shape in shapes]

    assert_same_result(func, made, inputs=arguments, tolerance=0.0)


@pytest.mark.parametrize("dear", ["1.0 / (d * d + 0.5)", "T.exp(d)", "T.sqrt(d * d + 0.5)"])
def test_what_several_sums_share_is_computed_once_where_lanes_can_take_the_loop_around(dear: str) -> None:
    lines = f"""
for i in range(37):
    W[i, 0] = 0.0
    W[i, 1] = 0.0
    for j in range(20):
        d = A[j] - P[i, 0]
        s = {dear}
        W[i, 0] += s * A[j]
        W[i, 1] += s * d
"""
    func = func_of(lines.strip().split("\n"), f'{PARAMS}, A: T.Buffer((20,), "float32")')
    made = scheduled(func, CpuFacts(512, 1))
    assert made.script().count("+ s * A[j]") == 2  # whole vectors, and what is left
    assert "T.vectorized(" in made.script()
    random = np.random.default_rng(3)
    given = [*arguments(random), random.standard_normal(20).astype("float32")]
    assert_same_result(func, made, inputs=lambda _: [one.copy() for one in given], tolerance=1e-5)


SUMS = {
    "real parts": "{s}[k] += A[k, n, 0] * x[n, 0]",
    "products of complex numbers": "{s}[k] += A[k, n, 0] * x[n, 0] - A[k, n, 1] * x[n, 1]",
    "roots": "{s}[k] += T.sqrt(A[k, n, 0] * A[k, n, 0] + A[k, n, 1] * A[k, n, 1])",
    "greatest": "{s}[k] = T.max({s}[k], A[k, n, 1])",
    "two": "{s}[k] += A[k, n, 0] * x[n, 1]\n            o[k, 1] += A[k, n, 1]",
}


@pytest.mark.parametrize(("fields", "lanes"), [(2, True), (4, True), (5, False)])
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_fields_of_small_records(name: str, fields: int, lanes: bool) -> None:
    line = SUMS[name].replace("{s}[k]", "o[k, 0]")
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((5, 70, {fields})), x: T.Buffer((70, 2)), o: T.Buffer((5, 2))):
    for k in range(5):
        for n in range(70):
            {line}
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, 1))
    assert ("T.vectorized(" in made.script()) == lanes
    assert not verify(made)
    assert_same_result(func, made, tolerance=1e-4)
