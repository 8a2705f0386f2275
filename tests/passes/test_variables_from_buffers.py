"""Buffers of one element that loops use as variables."""

from __future__ import annotations

import pytest

from tirscript.ir import AllocBuffer, PrimFunc, ScalarDecl, walk
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.variables_from_buffers import variables_from_buffers
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

TAKEN = {
    "a sum": """
for i, j in T.grid(6, 33):
    acc[0] = 0
    for k in range(7):
        acc[0] += A[i, k] * B[k, j]
    C[i, j] = acc[0] + b[j]
""",
    "a bias, and a store behind": """
for i in range(6):
    for j in range(33):
        acc[0] = b[j]
        for k in range(7):
            acc[0] = acc[0] + A[i, k] * B[k, j]
        acc[0] = acc[0] * 2
        C[i, j] = acc[0]
""",
}
SEVERAL = """
for i in range(6):
    acc[0] = 0
    for k in range(7):
        acc[0] += A[i, k]
        C[i, k] = acc[0]
for i in range(6):
    for j in range(33):
        acc[0] = b[j]
        C[i, j] += acc[0]
"""
LEFT = {
    "what another loop left": SEVERAL.replace("        acc[0] = b[j]\n", ""),
    "what another iteration left": """
acc[0] = 0
for i, j in T.grid(6, 33):
    acc[0] += A[i, 0]
    C[i, j] = acc[0]
""",
    "begun with what it holds": """
acc[0] = 1
for i, j in T.grid(6, 33):
    acc[0] = acc[0] + b[j]
    C[i, j] = acc[0]
""",
    "read behind the loop": """
for i, j in T.grid(6, 33):
    acc[0] = b[j]
    C[i, j] = acc[0]
C[0, 0] = acc[0]
""",
    "begun under a condition": """
acc[0] = 1
for i, j in T.grid(6, 33):
    if b[j] > 0:
        acc[0] = b[j]
    C[i, j] = acc[0]
""",
    "at an index that is known when it runs": """
for i, j in T.grid(6, 33):
    acc[0] = b[j]
    C[i, j] = acc[T.min(b[j], 0) * 0]
""",
    "by its address": """
for i, j in T.grid(6, 33):
    acc[0] = b[j]
    V = T.decl_buffer((1,), "int32", data=acc.data)
    C[i, j] = V[0]
""",
}


def kernel(body: str) -> PrimFunc:
    lines = "\n    ".join(body.strip("\n").split("\n"))
    func = parse(
        f"""
@T.prim_func
def f(
    A: T.Buffer((6, 7), "int32"), B: T.Buffer((7, 33), "int32"), b: T.Buffer((33,), "int32"),
    C: T.Buffer((6, 33), "int32"),
):
    acc = T.alloc_buffer((1,), "int32", scope="local")
    {lines}
"""
    )
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize("name", TAKEN)
def test_a_buffer_as_a_variable(name: str) -> None:
    func = kernel(TAKEN[name])
    body = variables_from_buffers(func.body)
    assert not any(type(node) is AllocBuffer for node in walk(body))
    assert_same_result(func, func.replace(body=body))
    assert_same_result(func, with_blocks(func))
    scheduled = default_schedule(func, CpuFacts(vector_bits=512, threads=1))
    assert "sch.pad_einsum" in str(scheduled.trace)
    assert_same_result(func, scheduled.func)


def test_a_variable_for_each_of_several_loops() -> None:
    func = kernel(SEVERAL)
    body = variables_from_buffers(func.body)
    assert not any(type(node) is AllocBuffer for node in walk(body))
    assert sum(1 for node in walk(body) if type(node) is ScalarDecl) == 2
    assert_same_result(func, func.replace(body=body))


ALLOCATED = """
for i, j in T.grid(6, 33):
    own = T.alloc_buffer((1,), "int32", scope="local")
    own[0] = 0
    for k in range(7):
        own[0] += A[i, k] * B[k, j]
    C[i, j] = own[0]
"""


def test_a_buffer_that_is_allocated_in_the_loop() -> None:
    func = kernel(ALLOCATED)
    body = variables_from_buffers(func.body)
    assert sum(1 for node in walk(body) if type(node) is AllocBuffer) == 1  # the other one is not used
    assert_same_result(func, func.replace(body=body))
    scheduled = default_schedule(func, CpuFacts(vector_bits=512, threads=1))
    assert "sch.pad_einsum" in str(scheduled.trace)
    assert_same_result(func, scheduled.func)


@pytest.mark.parametrize(
    "lines", ["own[0] = own[0] + 1", "V = T.decl_buffer((1,), 'int32', data=own.data)\n    V[0] = 3"]
)
def test_a_buffer_of_a_loop_that_is_no_variable(lines: str) -> None:
    func = kernel(ALLOCATED.replace("own[0] = 0", f"own[0] = 0\n    {lines}" if "V" in lines else lines))
    assert variables_from_buffers(func.body) is func.body


@pytest.mark.parametrize("name", LEFT)
def test_a_buffer_that_is_no_variable(name: str) -> None:
    func = kernel(LEFT[name])
    assert variables_from_buffers(func.body) is func.body
    assert_same_result(func, with_blocks(func))
