"""Casts of values to the dtype that they have, as other compilers write them, are taken away before rules look.

before: `B[v0] = B[v0] + T.Cast("float32", A[v0, v1])` of float32     after: `B[v0] = B[v0] + A[v0, v1]`
"""

from __future__ import annotations

from tirscript.ir.expr import Call, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import rewrite

_CAST = OPS["cast"]


def without_idle_casts(func: PrimFunc) -> PrimFunc:
    """The function without casts of values to their own dtype; itself where it has none."""
    body = rewrite(func.body, {Call: _value})
    return func if body is func.body else func.replace(body=body)


def _value(node: Call) -> Expr:
    idle = node.op is _CAST and node.args[0].dtype is node.dtype
    return node.args[0] if idle else node


__all__ = ["without_idle_casts"]
