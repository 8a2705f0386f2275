"""What evaluating an expression does: asked of all that is evaluated with it, and of no sizes."""

from __future__ import annotations

import pytest

import tirscript
from tirscript.ir import (
    Break,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Continue,
    Expr,
    Let,
    Ramp,
    Var,
    const,
    dtype,
    get_op,
)
from tirscript.ir.effects import exits, has_effect, leaves_loop, misses, out_of_bounds, reads_memory

A = Buffer("A", (const(8, "int32"),), dtype("int32"))
SIZED = Buffer("S", (BufferLoad(A, (const(0, "int32"),)),), dtype("int32"))
i = Var("i", dtype("int32"))
READ = BufferLoad(A, (i,))
ASKED = Call(get_op("call_extern"), (Const(1, dtype("int32")),), dtype("int32"))


@pytest.mark.parametrize(
    ("expr", "reads", "does"),
    [
        (i + 1, False, False),
        (READ + 1, True, False),
        (get_op("max")(i, i * READ), True, False),
        (ASKED + i, True, True),
        (BufferLoad(A, (ASKED,)), True, True),
        (BufferLoad(A, (Ramp(i, const(1, "int32"), 4),), Broadcast(ASKED > 0, 4)), True, True),
        (Let(i, READ, i + 1), True, False),
        (Let(i, const(1, "int32"), ASKED), True, True),
        (BufferLoad(SIZED, (i,)), True, False),
        (Broadcast(READ, 4), True, False),
        (Ramp(i, const(1, "int32"), 4), False, False),
        (Call(get_op("undef"), (), dtype("int32")), True, False),
    ],
)
def test_what_is_evaluated_is_asked(expr: Expr, reads: bool, does: bool) -> None:
    assert (reads_memory(expr), has_effect(expr)) == (reads, does)


def _at(index: Expr | int) -> BufferLoad:
    return BufferLoad(A, (const(index, "int32") if isinstance(index, int) else index,))


@pytest.mark.parametrize(
    ("index", "outside"),
    [(0, False), (7, False), (8, True), (-1, True), (i, False)]
    + [
        (Ramp(const(first, "int32"), const(step, "int32"), 4), outside)
        for first, step, outside in (
            (4, 1, False),
            (5, 1, True),
            (3, -1, False),
            (2, -1, True),
            (1, 2, False),
            (2, 2, True),
        )
    ]
    + [(Ramp(const(8, "int32"), const(1, "int32"), 4, scalable=True), False), (Ramp(i, const(1, "int32"), 9), False)],
)
def test_constant_indices_outside_of_a_buffer(index: Expr | int, outside: bool) -> None:
    load = _at(index)
    assert misses(load) is outside
    assert out_of_bounds(load) is outside
    if isinstance(index, int):
        assert out_of_bounds((BufferStore(A, (const(0, "int32"),), i), BufferStore(A, (i,), load))) is outside
        assert out_of_bounds(BufferStore(A, load.indices, i)) is outside


def test_of_a_symbolic_size_only_what_is_negative_is_outside() -> None:
    sized = Buffer("S", (i,), dtype("int32"))
    assert not misses(BufferLoad(sized, (const(99, "int32"),)))
    assert misses(BufferLoad(sized, (const(-1, "int32"),)))


def test_what_leaves_a_loop_is_in_no_loop_of_its_body() -> None:
    func = tirscript.parse("""
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        if A[i] > 0:
            break
        elif A[i] < 0:
            with T.block("b"):
                continue
    for i in range(8):
        for j in range(8):
            break
        while A[i] > 0:
            continue
""")
    first, second = func.body
    assert set(exits(first.body)) == {Break, Continue}
    assert leaves_loop(first.body)
    assert not leaves_loop(second.body)
    assert [leaves_loop(stmt.body) for stmt in second.body] == [True, True]
