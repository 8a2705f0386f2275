"""Multiplications and divisions of integers by powers of two as shifts and masks."""

from __future__ import annotations

from tirscript.ir import Call, Const, DiagnosticError, Expr, PrimFunc, error, get_op, rewrite, walk
from tirscript.passes import prim_func_pass

DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")


@prim_func_pass()
def strength_reduction(func: PrimFunc, *, divisions: bool = True) -> PrimFunc:
    """`i * 8` becomes `i << 3`; with `divisions`, `i // 8` is `i >> 3` and `i % 8` is `i & 7`."""
    return rewrite(func, {Call: lambda call: _reduced(call, divisions)})


def _reduced(call: Call, divisions: bool) -> Expr:
    name = call.op.name
    if not call.dtype.is_int or call.dtype.lanes > 1 or name not in ("mul", "floordiv", "floormod"):
        return call
    value, factor = call.args
    if name == "mul" and isinstance(value, Const):
        value, factor = factor, value
    if not isinstance(factor, Const) or factor.value <= 0 or factor.value & (factor.value - 1):
        return call
    shift = Const(factor.value.bit_length() - 1, call.dtype)
    if name == "mul":
        return get_op("shift_left")(value, shift)
    if not divisions:
        return call
    # `//` and `%` floor, as a shift of a negative number and a mask of its bits do
    if name == "floordiv":
        return get_op("shift_right")(value, shift)
    return get_op("bitwise_and")(value, Const(factor.value - 1, call.dtype))


def no_divisions(func: PrimFunc) -> PrimFunc:
    """The function as it is. DiagnosticError with every division of integers that is left in it."""
    found = [
        error(
            "T402",
            f"the machine has no `{call.op.symbol or call.op.name}` of integers",
            call.span,
            hint="divide by a power of two, and run `strength_reduction` before",
        )
        for call in walk(func)
        if isinstance(call, Call) and call.op.name in DIVISIONS and call.dtype.is_int
    ]
    if found:
        raise DiagnosticError(found)
    return func
