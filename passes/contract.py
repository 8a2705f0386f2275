"""Products that are added to something become fused multiply-adds, which round once.

before:                                            after:
    C[i] = C[i] + A[i] * B[i]                          C[i] = T.fma(A[i], B[i], C[i])

The result is another one, nearer to the exact sum, so nothing does this unasked: a schedule asks for it for a block
(`sch.contract`), a pipeline for a whole function. What is written is `T.fma`, so the interpreter rounds as native code
does. A sum of two products goes into what it is added to one by one. float16, bfloat16 and float8 stay: processors have
no fused multiply-add of them that rounds as T.fma must.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Call, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import rewrite

from .pipeline import prim_func_pass

_ADD, _SUB, _MUL, _FMA, _NEGATIVE = (OPS[name] for name in ("add", "sub", "mul", "fma", "negative"))


@prim_func_pass()
def contract(func: PrimFunc) -> PrimFunc:
    """`C[i] + A[i] * B[i]` becomes `T.fma(A[i], B[i], C[i])`."""
    return contracted(func)


def contracted(node: Any) -> Any:
    """A part of a program with the sums of products in it fused."""
    return rewrite(node, {Call: _fused})


def _fused(call: Call) -> Expr:
    if call.op not in (_ADD, _SUB) or not call.dtype.is_float or call.dtype.bits < 32:
        return call
    first, second = call.args
    minus = call.op is _SUB
    if _is_product(second):
        a, b = second.args  # type: ignore[attr-defined]
        return call.replace(op=_FMA, args=(_negated(a) if minus else a, b, first))
    if type(second) is Call and second.op is _FMA and _is_product(second.args[2]):
        # a sum of products, one of which was taken into the other: both go into what they are added to
        a, b, product = second.args
        c, d = product.args  # type: ignore[attr-defined]
        inner = call.replace(op=_FMA, args=(_negated(c) if minus else c, d, first))
        return call.replace(op=_FMA, args=(_negated(a) if minus else a, b, inner))
    if _is_product(first):
        return call.replace(op=_FMA, args=(*first.args, _negated(second) if minus else second))  # type: ignore[attr-defined]
    return call


def _is_product(value: Expr) -> bool:
    return type(value) is Call and value.op is _MUL


def _negated(value: Expr) -> Expr:
    if type(value) is Call and value.op is _NEGATIVE:
        return value.args[0]
    return Call(_NEGATIVE, (value,), value.dtype)
