"""What copies an expression with `T.let` gives the copy names of its own."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Let, Var, structural_equal, substitute, verify
from tirscript.ir.dtype import INT32
from tirscript.passes.simplify import simplify
from tirscript.script import tir as T

INLINED = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = {made}
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = {read}
"""


@pytest.mark.parametrize(
    ("made", "read", "step"),
    [
        ('T.let("x", A[vi] + 1, lambda x: x * x)', "B[vi] + B[7 - vi]", lambda sch: sch.compute_inline("B")),
        ('T.let("x", A[vi] + 1, lambda x: x * x)', "B[vi] * B[vi]", lambda sch: sch.reverse_compute_inline("C")),
    ],
    ids=["compute_inline", "reverse_compute_inline"],
)
def test_inlining(made: str, read: str, step: object) -> None:
    func = tirscript.parse(INLINED.format(made=made, read=read))
    sch = tirscript.Schedule(func)
    step(sch)  # type: ignore[operator]
    assert verify(sch.func) == []
    given = np.arange(-3, 5, dtype="int32")
    wanted, found = np.zeros(8, "int32"), np.zeros(8, "int32")
    tirscript.interpret(func, given, wanted)
    tirscript.interpret(sch.func, given, found)
    np.testing.assert_array_equal(found, wanted)


def test_what_memory_is_known_to_hold() -> None:
    @T.prim_func
    def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32"), n: T.int32):
        A[0] = T.let("x", n + 1, lambda x: x * x)
        B[0] = A[0]

    made = simplify(main, contents=True)
    assert made.script().count("T.let(") == 2
    assert verify(made) == []


def test_substitution() -> None:
    x, n = Var("x", INT32), Var("n", INT32)
    value = Let(x, n + 1, x * x)
    assert structural_equal(substitute(n, {n: value}), value)
    twice = substitute(n + n, {n: value})
    a, b = twice.args
    assert structural_equal(a, value)
    assert structural_equal(b, value)
    assert a.var is not b.var


@pytest.mark.parametrize(
    "body",
    [
        'C[T.let("x", A[0], lambda x: x * x % 8)] += 1',
        'x = T.meta_var(T.let("x", A[0], lambda x: x * x))\n    C[0] = x + x',
        'put(C, T.let("x", A[0], lambda x: x * x))',
    ],
    ids=["augmented", "meta_var", "macro"],
)
def test_text_that_writes_an_expression_twice(body: str) -> None:
    func = tirscript.parse(f"""
@T.macro
def put(C, value):
    C[0] = value * value


@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    {body}
""")
    assert func.script().count("T.let(") == 2
    assert structural_equal(tirscript.parse(func.script()), func)


def test_doubling_by_name_is_bounded() -> None:
    lines = "\n".join("    x = T.meta_var(x + x)" for _ in range(60))
    with pytest.raises(tirscript.DiagnosticError) as raised:
        tirscript.parse(f"""
@T.prim_func
def main(n: T.int32, C: T.Buffer((8,), "int32")):
    x = T.meta_var(T.let("x", n, lambda x: x * x))
{lines}
    C[0] = x
""")
    assert [one.code for one in raised.value.diagnostics] == ["T004"]
