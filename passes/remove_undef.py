"""What any value would do for is left away.

before:                                            after:
    A[i] = T.undef("float32")                          B[i] = C[i]
    B[i] = T.Select(i < 4, C[i], T.undef("float32"))

Storing undef is no store; a choice between a value and undef is the value; `0 * undef` is 0; two undefs are not equal;
the result of other operators on undef is undef. An index that is undef is an error.
"""

from __future__ import annotations

from tirscript.ir.arith.scoped import may_fail
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, cast
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import rewrite
from tirscript.ir.stmt import BufferStore, Stmt

from .pipeline import prim_func_pass
from .statements import has_effect, keep_comments

_UNDEF, _MUL = OPS["undef"], OPS["mul"]
_EQUALITIES = {OPS["equal"]: False, OPS["not_equal"]: True}


@prim_func_pass()
def remove_undef(func: PrimFunc) -> PrimFunc:
    """`A[i] = T.undef("float32")` goes away, and `T.Select(c, x, T.undef("float32"))` becomes `x`."""
    return rewrite(func, {Call: _call, BufferStore: _store, BufferLoad: _indices})


def is_undef(expr: Expr) -> bool:
    """Whether an expression is `T.undef(dtype)`."""
    return type(expr) is Call and expr.op is _UNDEF


def _call(call: Call) -> Expr:
    args = call.args
    if call.op in CHOICES:
        return _choice(call)
    undefined = [arg for arg in args if is_undef(arg)]
    if len(undefined) == 2 and call.op in _EQUALITIES and not call.dtype.is_vector:
        # two of them are two values
        return Const(_EQUALITIES[call.op], call.dtype, span=call.span)
    if not undefined or call.op.effect != "pure" or not (call.dtype.element.is_float or call.dtype.element.is_int):
        # what a comparison with undef gives is not any value: it stays
        return call
    if call.op is _MUL and any(is_const(arg, 0) for arg in args):
        return next(arg for arg in args if type(arg) is Const)
    if any(has_effect(arg) for arg in args):
        return call
    return Call(_UNDEF, (), call.dtype)


def _choice(call: Call) -> Expr:
    condition, yes, no = call.args
    if is_undef(condition) or has_effect(condition):
        return call
    # T.if_then_else may guard what cannot be evaluated elsewhere
    guards = call.op is OPS["if_then_else"]
    if is_undef(yes) and not (guards and may_fail(no)):
        return cast(no, call.dtype)
    if is_undef(no) and not (guards and may_fail(yes)):
        return cast(yes, call.dtype)
    return call


def _store(stmt: BufferStore) -> BufferStore | tuple[Stmt, ...]:
    _check(stmt.indices, stmt)
    if is_undef(stmt.value) and not any(has_effect(index) for index in stmt.indices):
        return keep_comments(stmt, ())
    return stmt


def _indices(load: BufferLoad) -> BufferLoad:
    _check(load.indices, load)
    return load


def _check(indices: tuple[Expr, ...], node: BufferStore | BufferLoad) -> None:
    for index in indices:
        if is_undef(index):
            raise DiagnosticError(
                [error("T306", f"an index of `{node.buffer.name}` is undefined", index.span or node.span)]
            )
