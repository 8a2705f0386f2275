"""Loops that begin at another number begin at 0, which `with_blocks` takes.

before:                                            after:
    for k in range(1, 8):                              for k in range(7):
        C[i] = C[i] + A[i, k]                              C[i] = C[i] + A[i, k + 1]
"""

from __future__ import annotations

from tirscript.ir.expr import Const, is_const
from tirscript.ir.op import const
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import For, Stmt

from .plain import in_plain_loops


def loops_from_zero(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function whose plain loops between numbers begin at 0; itself where they do."""
    return in_plain_loops(body, {For: _shifted})


def _shifted(loop: For) -> For:
    start, stop = loop.start, loop.stop
    if is_const(start, 0) or type(start) is not Const or type(stop) is not Const or loop.step is not None:
        return loop
    extent = int(stop.value) - int(start.value)
    if loop.kind != "serial" or not 0 < extent <= loop.var.dtype.int_range()[1]:
        return loop
    body = substitute(loop.body, {loop.var: loop.var + const(int(start.value), loop.var.dtype)})
    zero = const(0, start.dtype)
    return loop.replace(start=zero, stop=const(extent, stop.dtype), body=body)


__all__ = ["loops_from_zero"]
