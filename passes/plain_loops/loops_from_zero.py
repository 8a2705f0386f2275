"""Loops that begin at another number begin at 0, which `with_blocks` takes.

before:                                            after:
    for k in range(1, 8):                              for k in range(7):
        C[i] = C[i] + A[i, k]                              C[i] = C[i] + A[i, k + 1]

So do reductions up to what sizes of parameters say: there the number of iterations may be less than 0, which is none.
"""

from __future__ import annotations

from collections.abc import Set
from functools import partial

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.expr import Call, Const, Expr, Var, is_const
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import free_vars, substitute, uses, walk
from tirscript.ir.stmt import BufferStore, For, Stmt

from ..simplify import simplified
from .plain import in_plain_loops


def loops_from_zero(body: tuple[Stmt, ...], sizes: Set[Var] = frozenset()) -> tuple[Stmt, ...]:
    """The body of a function whose plain loops between numbers begin at 0, and reductions up to what `sizes` say;
    itself where they do."""
    return in_plain_loops(body, {For: partial(_shifted, sizes=sizes)})


def _shifted(loop: For, sizes: Set[Var] = frozenset()) -> For:
    start, stop = loop.start, loop.stop
    if is_const(start, 0) or type(start) is not Const or loop.step is not None or loop.kind != "serial":
        return loop
    if type(stop) is not Const:
        return _shifted_to(loop, _iterations(loop, start, sizes))
    extent = int(stop.value) - int(start.value)
    return _shifted_to(loop, const(extent, stop.dtype) if 0 < extent <= loop.var.dtype.int_range()[1] else None)


def _iterations(loop: For, start: Const, sizes: Set[Var]) -> Expr | None:
    """The iterations of a reduction from a number to what sizes say, less than 0 for none; None for other loops."""
    stop = loop.stop
    if not all(type(node) in (Var, Const, Call) for node in walk(stop)) or not set(free_vars(stop)) <= sizes:
        return None
    stores = list(walk(loop.body, BufferStore))
    if int(start.value) < 0 or not stores or any(uses(store.indices, loop.var) for store in stores):
        return None
    known = Analyzer()
    for size in sizes:
        known.bind(size, (0, size.dtype.int_range()[1]))
    if known.const_int_bound(stop)[0] - int(start.value) < stop.dtype.int_range()[0]:
        return None
    return simplified(get_op("sub")(stop, const(int(start.value), stop.dtype)))


def _shifted_to(loop: For, extent: Expr | None) -> For:
    if extent is None:
        return loop
    start = loop.start
    assert type(start) is Const
    body = substitute(loop.body, {loop.var: loop.var + const(int(start.value), loop.var.dtype)})
    zero = const(0, start.dtype)
    return loop.replace(start=zero, stop=extent, body=body)


__all__ = ["loops_from_zero"]
