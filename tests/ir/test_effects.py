"""What evaluating an expression does: asked of all that is evaluated with it, and of no sizes."""

from __future__ import annotations

import pytest

from tirscript.ir import Broadcast, Buffer, BufferLoad, Call, Const, Expr, Let, Ramp, Var, const, dtype, get_op
from tirscript.ir.effects import has_effect, reads_memory

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
    ],
)
def test_what_is_evaluated_is_asked(expr: Expr, reads: bool, does: bool) -> None:
    assert (reads_memory(expr), has_effect(expr)) == (reads, does)
