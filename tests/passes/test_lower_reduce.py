"""`T.Reduce` as loops: the text it becomes, and the same numbers interpreted, lowered and native."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.passes import keeps, rewrites, unchecked
from helpers.script import function

import tirscript
from tirscript.ir import AllocBuffer, Attrs, Buffer, DiagnosticError, Reduce, verify, walk
from tirscript.passes.lower import DEFAULT_LOWERING, lower_reduce
from tirscript.testing import Golden

SUM = "T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"
COUNT = "T.comm_reducer(lambda x, y: x + y, [0])"
ARGMAX = "T.comm_reducer(lambda i0, v0, i1, v1: (T.if_then_else(v0 >= v1, i0, i1), T.max(v0, v1)), [-1, -99])"
HEAD = 'def f(A: T.Buffer((16,), "float32"), X: T.Buffer((16,), "int32"), n: T.int32):\n'


class TestText:
    def test_a_sum(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"{HEAD}    A[0] = T.Reduce({SUM}, lambda k: [A[k] * 2.0], [(1, 16)], condition=lambda k: k < n)",
        )

    def test_several_values_change_together(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"{HEAD}    X[0] = T.Reduce({ARGMAX}, lambda k: [k, X[k]], [16])",
        )

    def test_an_initial_value_that_reads_memory_is_stored_first(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"{HEAD}    A[0] = T.Reduce({SUM}, lambda k: [A[k]], [4], init=[A[9]]) + 1.0",
        )

    def test_a_branch_computes_what_it_needs(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"{HEAD}    A[0] = T.Reduce({SUM}, lambda k: [A[k]], [n]) if n < 16 else 0.0",
        )

    def test_a_while_computes_its_condition_every_time(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"{HEAD}    while T.Reduce({COUNT}, lambda k: [X[k]], [16]) < n:\n        X[0] = X[0] + 1",
        )

    def test_a_predicate_is_computed_before_its_block(self, golden: Golden) -> None:
        rewrites(
            golden,
            lower_reduce,
            f"""{HEAD}    for i in range(16):
        with T.block("b"):
            v = T.axis.spatial(16, i)
            T.where(T.Reduce({COUNT}, lambda k: [X[k] + v], [4]) > 3)
            A[v] = 1.0""",
        )

    def test_comments_stay_above(self) -> None:
        text = lower_reduce(function(f"# the sum\nA[0] = T.Reduce({SUM}, lambda k: [A[k]], [4])  # of four")).script()
        assert "    # the sum\n    reduced: T.float32 = 0.0  # of four\n" in text

    def test_a_program_without_one_stays_itself(self) -> None:
        keeps(lower_reduce, f"{HEAD}    A[0] = 1.0")

    def test_one_in_a_shape_is_refused(self) -> None:
        made = unchecked(f"{HEAD}    n1 = T.Reduce({COUNT}, lambda k: [X[k]], [4])\n    A[0] = 1.0")
        buffer = Buffer("B", (made.body[0].value,))
        with pytest.raises(DiagnosticError, match="where no loop can compute it") as caught:
            lower_reduce(made.replace(body=(AllocBuffer(buffer), *made.body[1:])))
        assert caught.value.diagnostics[0].code == "T401"

    def test_code_generation_asks_for_the_pass(self) -> None:
        from tirscript.backend.llvm import emit_ir

        with pytest.raises(DiagnosticError, match="must be lowered before code generation"):
            emit_ir(function(f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [4])"))


BODIES = [
    f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [16])",
    f"A[0] = T.Reduce({SUM}, lambda k, j: [B[k, j] * A[k + j]], [(1, 3), 4], condition=lambda k, j: k < j)",
    f"X[0] = T.Reduce({ARGMAX}, lambda k: [k, X[k]], [16])",
    f"X[0] = T.Reduce({ARGMAX}, lambda k: [k, X[k]], [16], value_index=1, init=[3, 2])",
    f"A[0] = T.Reduce({SUM}, lambda k: [T.Reduce({SUM}, lambda j: [B[k, j]], [k + 1])], [4])",
    f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [T.Reduce({COUNT}, lambda j: [1], [7])])",
    f"A[0] = T.Reduce({SUM}, [A[n]])",
    f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [0], init=[A[3]])",
    f"for i in range(4):\n    A[i] = T.Reduce({SUM}, lambda k: [B[i, k]], [4]) / A[i + 1]",
    f"for i in range(T.Reduce({COUNT}, lambda j: [1], [4])):\n    A[i] = 9.0",
    f"if n > 0 and T.Reduce({COUNT}, lambda k: [X[k]], [16]) > 3:\n    A[1] = 9.0",
    f"if n > 9 or T.Reduce({COUNT}, lambda k: [X[k]], [16]) > 3:\n    A[1] = 9.0\nelif n > 3:\n    A[2] = 9.0",
    f"x = T.let('y', n + 1, lambda y: y * T.Reduce({COUNT}, lambda k: [X[k] + y], [4]))\nX[2] = x",
    f"assert T.Reduce({COUNT}, lambda k: [1], [16]) == 16\nA[3] = 1.0",
    f"x = 0\nwhile T.Reduce({COUNT}, lambda k: [X[k]], [4]) + x < 100:\n    x = x + 1\n    if x % 2 == 0:\n        continue\n    X[5] = x",
    f"for i in T.vectorized(4):\n    A[i] = T.Reduce({SUM}, lambda k: [B[i, k]], [4])",
    f"for i in T.parallel(4):\n    A[i] = T.Reduce({SUM}, lambda k: [B[i, k]], [4])",
    f"""
for i in range(4):
    with T.block("b"):
        v = T.axis.spatial(4, i)
        T.where(T.Reduce({COUNT}, lambda k: [X[k] + v], [4]) > 3)
        with T.init():
            A[v] = T.Reduce({SUM}, lambda k: [B[0, k]], [4])
        A[v] = A[v] + T.Reduce({SUM}, lambda k: [B[v, k]], [4])
""",
    f"with T.attr(A.data, 'key', T.Reduce({COUNT}, lambda k: [1], [16])):\n    A[3] = T.Reduce({SUM}, lambda k: [A[k]], [2])",
]


def arguments() -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    a, b = random.random(16).astype("float32"), random.random((4, 4)).astype("float32")
    return a, b, random.integers(0, 9, 16).astype("int32"), 7


@pytest.mark.parametrize("body", BODIES)
def test_the_numbers_are_the_same_at_every_stage(body: str) -> None:
    made = function(body)
    wanted = arguments()
    tirscript.interpret(made, *wanted)
    assert any(np.any(a != b) for a, b in zip(wanted[:3], arguments())), "the body changes something"
    lowered = lower_reduce(made)
    assert verify(lowered) == [] and not any(type(node) is Reduce for node in walk(lowered))
    for run in (
        lambda *args: tirscript.interpret(lowered, *args),
        lambda *args: tirscript.interpret(DEFAULT_LOWERING(made), *args),
        tirscript.build(made),
    ):
        found = arguments()
        run(*found)
        for left, right in zip(found[:3], wanted[:3]):
            np.testing.assert_allclose(left, right, rtol=1e-6)


def test_the_interpreter_agrees_with_numpy() -> None:
    a, b, x, n = arguments()
    before = x.copy()
    tirscript.interpret(function(BODIES[2]), a, b, x, n)
    assert x[0] == before.argmax()
    expected = sum(b[k, j] * a[k + j] for k in (1, 2) for j in range(4) if k < j)
    tirscript.interpret(function(BODIES[1]), a, b, x, n)
    assert np.isclose(a[0], expected)


def test_a_condition_keeps_the_source_from_being_read() -> None:
    made = function(f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [64], condition=lambda k: k < 16)")
    for run in (
        lambda *args: tirscript.interpret(made, *args),
        lambda *args: tirscript.interpret(lower_reduce(made), *args),
    ):
        a, *rest = arguments()
        total = a.sum()
        run(a, *rest)
        assert np.isclose(a[0], total)


def test_attributes_of_the_function_stay() -> None:
    made = function(f"T.func_attr({{'k': 1}})\nA[0] = T.Reduce({SUM}, [A[1]])")
    assert lower_reduce(made).attrs == Attrs({"k": 1})
