"""Whether evaluating something may end the program."""

from __future__ import annotations

from tirscript.ir.effects import has_effect, reads_memory
from tirscript.ir.expr import Call, Const, Expr
from tirscript.ir.op_sets import DIVISIONS
from tirscript.ir.rewrite import walk

# the operators that a divisor of 0 ends, on integers


def may_trap(expr: Expr) -> bool:
    """Whether evaluating an expression could end the program: a division by 0; accesses are taken to be in range."""
    for node in walk(expr):
        if type(node) is Call and node.op in DIVISIONS and node.dtype.element.is_int:
            divisor = node.args[1]
            if type(divisor) is not Const or divisor.value == 0:
                return True
    return False


def is_movable(expr: Expr) -> bool:
    """Whether an expression gives the same anywhere: it reads no memory, has no effect and cannot end the program."""
    return not reads_memory(expr) and not has_effect(expr) and not may_trap(expr)


def is_droppable(expr: Expr) -> bool:
    """Whether nobody would notice that an expression is not evaluated."""
    return not has_effect(expr) and not may_trap(expr)


__all__ = ["is_droppable", "is_movable", "may_trap"]
