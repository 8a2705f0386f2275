"""Loops marked T.unroll with few iterations become their iterations.

before:                                            after:
    for i in T.unroll(2):                              B[0] = A[0]
        B[i] = A[i]                                    B[1] = A[1]

A loop of more iterations than `limit`, of an unknown number, or with a break or continue of its own stays.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import cast
from tirscript.ir.rewrite import refresh, rewrite, substitute
from tirscript.ir.stmt import Bind, For, Stmt

from ..access import constant_extent
from ..pipeline import prim_func_pass
from ..simplify import Simplify, leaves_loop
from ..statements import keep_comments, out_of_bounds, reads_memory


@prim_func_pass()
def unroll_loop(func: PrimFunc, *, limit: int = 16) -> PrimFunc:
    """`for i in T.unroll(2): B[i] = A[i]` becomes `B[0] = A[0]; B[1] = A[1]`."""
    return rewrite(func, {For: lambda loop: unrolled(loop, limit)})


def unrolled(loop: For, limit: int) -> Any:
    """The iterations of a loop marked T.unroll, or the loop where it has too many or leaves early."""
    extent = constant_extent(loop)
    if loop.kind != "unroll" or extent is None or extent > limit or leaves_loop(loop.body) or reads_memory(loop.start):
        return loop
    out: list[Stmt] = []
    for at in range(extent):
        value = Const(loop.start.value + at, loop.start.dtype) if type(loop.start) is Const else loop.start + at
        body = refresh(loop.body) if at else loop.body
        ready = Simplify().body(substitute(body, {loop.var: cast(value, loop.var.dtype)}))
        if out_of_bounds(ready):  # under a condition that is false then, but only known when it runs
            index = loop.var.replace()
            ready = (Bind(index, cast(value, loop.var.dtype), span=loop.span), *substitute(body, {loop.var: index}))
        out += ready
    return keep_comments(loop, tuple(out))
