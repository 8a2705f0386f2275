"""Walking with context: what is known at each place of a program, and when it is forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.passes import program

from tirscript.ir import BufferLoad, BufferStore, Const, Node, StaticAssert, Var
from tirscript.ir.arith import Analyzer, Scoped, walk_with_context


def proved(text: str) -> list[bool]:
    """Whether each `T.static_assert` of a program is proved where it stands; it is not assumed behind itself."""
    found: list[bool] = []

    class Asks(Scoped):
        def after(self, stmt: Any) -> None:
            if type(stmt) is not StaticAssert:
                super().after(stmt)

    def ask(walker: Scoped, stmt: StaticAssert) -> StaticAssert:
        found.append(walker.analyzer.can_prove(stmt.condition))
        return stmt

    Asks.rules = {StaticAssert: ask}
    func = program(text)
    assert Asks().function(func) is func
    return found


CASES: dict[str, tuple[str, list[bool]]] = {
    "loops": (
        """
        for i, j in T.grid(4, 8):
            T.static_assert(i * 8 + j < 32)
            T.static_assert(i * 8 + j < 31)
        """,
        [True, False],
    ),
    "loops with bounds that vary": (
        """
        for i in range(n):
            for j in range(i, n):
                T.static_assert(i <= j and j < n)
                T.static_assert(i < j)
        """,
        [True, False],
    ),
    "loops with a step": (
        """
        for i in range(1, 20, 4):
            T.static_assert(i % 4 == 1)
            T.static_assert(i < 18)
        """,
        [True, True],
    ),
    "branches": (
        """
        if n < 3:
            T.static_assert(n < 4)
        elif n < 10:
            T.static_assert(n >= 3 and n <= 9)
        else:
            T.static_assert(n >= 10)
        T.static_assert(n < 4)
        """,
        [True, True, True, False],
    ),
    "a branch that leaves": (
        """
        for i in range(8):
            if i >= n:
                break
            T.static_assert(i < n)
        if n < 0:
            return
        T.static_assert(n >= 0)
        """,
        [True, True],
    ),
    "while": (
        """
        x: T.int32 = 0
        while x < 8:
            T.static_assert(x < 8)
            x = x + 1
            T.static_assert(x < 8)
        T.static_assert(x >= 8)
        """,
        [True, False, True],
    ),
    "while with a break": (
        """
        x: T.int32 = 0
        while x < 8:
            x = x + 1
            if A[x] > 3:
                break
        T.static_assert(x >= 8)
        """,
        [False],
    ),
    "assumptions and checks": (
        """
        T.assume(n % 4 == 0)
        assert m < n, "m is below n"
        T.static_assert(n // 4 * 4 == n)
        T.static_assert(m < n)
        """,
        [True, True],
    ),
    "bound names": (
        """
        x = n % 4
        y = x * 2
        T.static_assert(y < 7)
        T.static_assert(y == n % 4 * 2)
        """,
        [True, True],
    ),
    "blocks": (
        """
        for i, ii in T.grid(4, 4):
            with T.block("b"):
                v = T.axis.spatial(14, i * 4 + ii)
                T.where(i * 4 + ii < 14)
                T.static_assert(v < 14)
                T.static_assert(v < 13)
                A[v] = 0
            with T.block("c"):
                vi, vj = T.axis.remap("SS", [i, ii])
                T.where(i * 4 + ii < 14)
                T.static_assert(vi * 4 + vj < 14)
                T.static_assert(vj < 2 or vi < 3)
                T.static_assert(vj < 2)
                A[vi * 4 + vj] = 0
        """,
        [True, False, True, True, False],
    ),
    "writes": (
        """
        if A[0] < 3:
            T.static_assert(A[0] < 4)
            B[0] = 1
            T.static_assert(A[0] < 4)
            A[1] = 1
            T.static_assert(A[0] < 4)
        """,
        [True, True, False],
    ),
    "writes in a loop": (
        """
        T.assume(A[0] < 3)
        for i in range(4):
            T.static_assert(A[0] < 3)
            A[i] = i
        T.static_assert(A[0] < 3)
        """,
        [False, False],
    ),
    "writes in a branch": (
        """
        T.assume(A[0] < 3)
        if n > 0:
            A[0] = 5
        else:
            T.static_assert(A[0] < 3)
        T.static_assert(A[0] < 3)
        """,
        [True, False],
    ),
    "writes through another view": (
        """
        C = T.decl_buffer((4, 4), "int32", data=A.data)
        T.assume(A[0] < 3)
        B[0] = 1
        T.static_assert(A[0] < 3)
        C[0, 0] = 5
        T.static_assert(A[0] < 3)
        """,
        [True, False],
    ),
    "writes by a call": (
        """
        x: T.int32 = 2
        T.assume(A[0] < 3)
        T.evaluate(T.call_extern("void", "f", A.data))
        T.static_assert(A[0] < 3)
        if x < 3:
            T.evaluate(T.call_extern("void", "f", B.data))
            T.static_assert(x < 3)
            T.evaluate(T.call_extern("void", "g", T.address_of(x)))
            T.static_assert(x < 3)
        """,
        [False, True, False],
    ),
    "printing writes nothing": (
        """
        T.assume(A[0] < 3)
        T.print(A[0])
        T.static_assert(A[0] < 3)
        """,
        [True],
    ),
    "scalars": (
        """
        x: T.int32 = n
        if x < 3:
            x += 1
            T.static_assert(x < 3)
        for i in range(x):
            T.static_assert(i < x)
            x = 0
        """,
        [False, False],
    ),
    "threads": (
        """
        with T.launch_thread("threadIdx.x", 32) as tx:
            T.static_assert(tx < 32)
        """,
        [True],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_known(name: str) -> None:
    import textwrap

    body, wanted = CASES[name]
    head = 'def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32, m: T.int32):\n'
    assert proved(head + textwrap.indent(textwrap.dedent(body).strip(), "    ")) == wanted


def test_expressions_have_contexts_too() -> None:
    func = program("""
    def f(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
        B[0] = A[n] if n >= 0 and n < 16 else 0
        B[1] = T.Select(n >= 0, A[n], 1)
        B[2] = T.Select(n >= 0, n + 7, n + 8)
        if n >= 0 and A[n] > 0:
            B[3] = 0
    """)
    found: list[tuple[int, int]] = []

    def visit(node: Node, analyzer: Analyzer) -> None:
        if type(node) is BufferLoad:
            found.append(analyzer.const_int_bound(node.indices[0]))

    walk_with_context(func, visit)
    assert found[0] == (0, 15)
    assert found[1][0] < 0, "both sides of a Select are evaluated"
    assert found[2] == (0, 2**31 - 1)


def test_symbolic_dimensions_are_not_negative() -> None:
    func = program("""
    def f(A: T.Buffer(("n", "n * 2"), "float32"), B: T.Buffer((8, "m"), "float32")):
        for i in range(8):
            B[i, 0] = 0.0
    """)
    bounds: list[tuple[int, int]] = []

    def visit(node: Node, analyzer: Analyzer) -> None:
        if type(node) is BufferStore:
            bounds.extend(analyzer.const_int_bound(symbol) for symbol in func.symbols)

    walk_with_context(func, visit)
    assert bounds == [(0, 2**61 - 1), (0, 2**58 - 1)]


def test_rewriting_keeps_what_does_not_change() -> None:
    func = program("""
    def f(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(16):
            if i < 8:
                A[i] = T.min(i, 8)
            else:
                A[i] = i
    """)

    class Replace(Scoped):
        pass

    def store(walker: Scoped, stmt: BufferStore) -> Any:
        value = walker.visit(stmt.value)
        return (stmt, stmt) if walker.analyzer.const_int_bound(value)[1] < 8 else stmt

    Replace.rules = {BufferStore: store}
    new = Replace().function(func)
    loop: Any = new.body[0]
    assert len(loop.body[0].then) == 2
    assert loop.body[0].orelse is func.body[0].body[0].orelse  # type: ignore[attr-defined]


def test_walking_a_lone_expression() -> None:
    seen: list[type] = []
    n = Var("n")
    walk_with_context(n + 1, lambda node, analyzer: seen.append(type(node)))
    assert seen[1:] == [Var, Const]
