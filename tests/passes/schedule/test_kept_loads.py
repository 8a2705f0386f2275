"""Elements that each iteration of a loop reads, and none writes, wait in variables."""

from __future__ import annotations

import textwrap

import pytest

from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Bind, If
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.kept_loads import kept_loads
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = 'A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32"), x: T.Buffer((40,), "float32")'
KEPT = {
    "rows of L and U": """
for k in range(40):
    for i in range(k + 1, 40):
        A[i, k] = A[i, k] / (A[k, k] + 9.0)
        for j in range(k + 1, 40):
            A[i, j] -= A[i, k] * A[k, j]
""",
    "a place with a name": """
for i in range(39):
    for j in range(39):
        at = 39 - j
        A[i, at] = A[i, at] + A[i + 1, 0] + B[0, at]
        A[i + 1, at] = A[i, at] * 0.5
""",
    "a condition that asks for it": """
for i in range(40):
    for j in range(i):
        if A[i, i] > B[i, j]:
            A[i, j] = B[i, j] * A[i, i]
""",
    "another column": """
for i in range(1, 40):
    for j in range(i, 40):
        A[j, 0] = A[j, 0] + A[i - 1, 1] * x[j]
""",
}
LEFT = {
    "the loop writes it": """
for k in range(40):
    for i in range(40):
        for j in range(k, 40):
            A[i, j] = A[i, j] - A[i, k] * 0.125
""",
    "it is read under a condition alone": """
for i in range(40):
    for j in range(i):
        A[i, j] = A[i, i] if x[j] > 0.0 else B[i, j]
        if B[i, j] > 0.0:
            A[i, j] += A[i, i]
""",
    "memory says where it lies": """
for i in range(40):
    for j in range(i):
        A[i, j] += A[i, T.cast(T.max(T.min(B[i, 0], 0.0), 0.0), "int32") + i]
""",
    "nobody writes its buffer": """
for i in range(40):
    for j in range(40):
        A[i, j] += B[i, i] * x[j]
""",
}


def program(body: str, params: str = PARAMS) -> PrimFunc:
    found = parse(f"@T.prim_func\ndef f({params}):\n{textwrap.indent(body.strip(), '    ')}\n")
    assert isinstance(found, PrimFunc)
    return found


def kept(func: PrimFunc) -> list[Bind]:
    return [node for node in walk(func.body) if type(node) is Bind and node.var.name == "kept"]


@pytest.mark.parametrize("kind", KEPT)
def test_what_no_iteration_writes_is_read_once(kind: str) -> None:
    func = program(KEPT[kind])
    made = kept_loads(func)
    assert len(kept(made)) == 1
    verify(made)
    assert_same_result(func, made)
    assert structural_equal(kept_loads(made), made)


@pytest.mark.parametrize("kind", LEFT)
def test_what_may_change_or_may_not_be_there_is_read_where_it_was(kind: str) -> None:
    func = program(LEFT[kind])
    assert kept_loads(func) is func


def test_a_loop_that_may_not_run_reads_nothing() -> None:
    symbolic = 'A: T.Buffer(("n", "m"), "float32"), p: T.Buffer(("n",), "int32")'
    func = program("for i in range(n):\n    for j in range(1, m):\n        A[i, j] -= A[i, 0]", symbolic)
    made = kept_loads(func)
    guards = [node for node in walk(made.body) if type(node) is If]
    assert len(kept(made)) == len(guards) == 1
    assert_same_result(func, made)
    bounds_from_memory = "for i in range(n):\n    for j in range(p[i], m):\n        A[i, j] -= A[i, 0]"
    func = program(bounds_from_memory, symbolic)
    assert kept_loads(func) is func


def test_memory_that_may_be_the_same_is_read_again() -> None:
    shared = program('T.func_attr({"noalias": False})\n' + KEPT["rows of L and U"].strip())
    assert kept_loads(shared) is shared
    view = program("V = T.decl_buffer((40, 40), data=A.data)\n" + KEPT["rows of L and U"].strip())
    assert kept_loads(view) is view


def test_the_default_schedule_keeps_them_for_threads_too() -> None:
    func = program(KEPT["rows of L and U"])
    made = scheduled(func, CpuFacts(vector_bits=512, threads=2))
    assert len(kept(made)) == 1
    assert_same_result(func, made)
