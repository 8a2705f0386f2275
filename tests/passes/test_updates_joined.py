"""Terms that an iteration adds to one sum, one after the other, are added as one."""

from __future__ import annotations

import textwrap

import pytest

from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import BufferStore, For, If
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.updates_joined import updates_joined
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = (
    'X: T.Buffer((6, 64), "float32"), W: T.Buffer((9, 32), "uint8"), U: T.Buffer((32,), "int32"), '
    'Y: T.Buffer((6, 9), "float32"), N: T.Buffer((9,), "int32")'
)
HALVES = """
for i, j in T.grid(6, 9):
    acc: T.float32 = 0.0
    for p in range(32):
        b = T.cast(W[j, p], "int32")
        acc += X[i, 2 * p] * T.cast((b & 15) - 8, "float32")
        acc -= X[i, 2 * p + 1] * T.cast((b >> 4) - 8, "float32")
    Y[i, j] = acc
"""
JOINED = {
    "halves of bytes": (HALVES, 1),
    "names between them": (
        """
for j in range(9):
    N[j] = 0
    for p in range(16):
        a = U[p] * 3
        N[j] += a
        b = U[p + 16]
        N[j] += b * j
        N[j] = N[j] + 1
""",
        1,
    ),
    "two sums by turns": (
        """
for i, j in T.grid(6, 9):
    re: T.float32 = 0.0
    im: T.float32 = 0.0
    for p in range(32):
        re += X[i, p]
        im += X[i, p + 32]
        re -= X[i, p + 32] * 0.5
        im += X[i, p] * 0.5
    Y[i, j] = re + im * 2.0
""",
        2,
    ),
}
APART = {
    "the second needs what the first made": """
for j in range(9):
    s: T.int32 = 1
    for p in range(32):
        s += U[p]
        s += s * 3
    N[j] = s
""",
    "somebody looks between them": """
for j in range(9):
    s: T.int32 = 1
    for p in range(32):
        s += U[p]
        U[p] = s
        s += 2
    N[j] = s
""",
    "what the first adds is written between them": """
for j in range(9):
    s: T.int32 = 1
    for p in range(32):
        s += U[p]
        U[p] = j
        s += 2
    N[j] = s
""",
    "a variable that the first adds changes between them": """
for j in range(9):
    s: T.int32 = 1
    t: T.int32 = 0
    for p in range(32):
        s += t
        t += U[p]
        s += 2
    N[j] = s + t
""",
    "other elements": """
for p in range(8):
    N[p] += U[p]
    N[p + 1] += U[p]
""",
    "products": """
for j in range(9):
    s: T.int32 = 1
    for p in range(32):
        s *= U[p]
        s *= 3
    N[j] = s
""",
}


def program(body: str) -> PrimFunc:
    found = parse(f"@T.prim_func\ndef f({PARAMS}):\n{textwrap.indent(body.strip(), '    ')}\n")
    assert isinstance(found, PrimFunc)
    return found


def innermost(func: PrimFunc) -> list[BufferStore]:
    (loop,) = (node for node in walk(func.body) if type(node) is For and node.var.name == "p")
    return [stmt for stmt in loop.body if type(stmt) is BufferStore]


@pytest.mark.parametrize("kind", JOINED)
def test_terms_of_a_sum_become_one(kind: str) -> None:
    body, sums = JOINED[kind]
    func = program(body)
    made = func.replace(body=updates_joined(func.body, in_order=False))
    assert len(innermost(made)) == sums
    verify(made)
    assert_same_result(func, made)
    assert updates_joined(made.body, in_order=False) is made.body


@pytest.mark.parametrize("kind", APART)
def test_what_happens_between_two_keeps_them_apart(kind: str) -> None:
    func = program(APART[kind])
    assert updates_joined(func.body, in_order=False) is func.body


def test_sums_of_floats_keep_their_order_where_they_are_to() -> None:
    halves, whole = program(HALVES), program(JOINED["names between them"][0])
    assert updates_joined(halves.body, in_order=True) is halves.body
    assert len(innermost(whole.replace(body=updates_joined(whole.body, in_order=True)))) == 1
    exact = halves.replace(attrs=program('T.func_attr({"fastmath": False})\n' + HALVES.strip()).attrs)
    assert_same_result(exact, scheduled(exact, CpuFacts(vector_bits=512, threads=1)), tolerance=0.0)


def test_halves_of_bytes_are_a_product() -> None:
    func = program(HALVES)
    made = scheduled(func, CpuFacts(vector_bits=512, threads=1))
    assert any(type(node) is For and node.kind == "vectorized" for node in walk(made.body))
    assert_same_result(func, made)


def test_loops_that_become_no_blocks_are_left_as_they_are_written() -> None:
    text = """
for j in range(9):
    s: T.int32 = 1
    for p in range(32):
        if s > 3:
            s += U[p]
        s += 1
        s += U[p]
    while s > 100:
        s = s // 2
    N[j] = s
"""
    func = program(text)
    assert any(type(node) is If for node in walk(func.body))
    assert structural_equal(with_blocks(func), func)
