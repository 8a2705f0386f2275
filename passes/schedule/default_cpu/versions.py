"""Versions of a function beside each other, for sizes that only the call knows.

before:                                    after:
    for i in range(n):                         if m < 40:
        S[i] = 0                                   for i in T.parallel(n): ... as it was
        for j in range(m):                     else:
            S[i] += A[i, j]                        for i in T.parallel(n): ... by lanes

So have products of symbolic numbers of rows for one row, `if n == 1`, and for some, `elif n > 0 and n <= 8`: these do
not copy the other operand, which takes longer than the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirscript.ir.arith.logic import conjunction
from tirscript.ir.expr import Call, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import free_buffers, free_vars, holds, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Assume,
    Axis,
    Block,
    DeclBuffer,
    If,
    MatchBuffer,
    StaticAssert,
    Stmt,
)

from ...simplify import simplified
from ...statements import reads_memory
from ..naming import renamed_apart
from ..refusal import ScheduleError
from ..schedule import Schedule

# so many rows are one tile, whose other operand need not be copied
FEW = 8
_DEMANDS = (Assume, StaticAssert)
_MEMORY = (AllocBuffer, AllocateConst, DeclBuffer)


def may_have_versions(func: PrimFunc) -> bool:
    """Whether a second copy of a function costs no more than its code: constants would be there twice."""
    return not holds(func.body, AllocateConst)


def is_known(func: PrimFunc, size: Expr) -> bool:
    """Whether the arguments of a function alone say what a size is."""
    return set(free_vars(size)) <= {*func.symbols, *func.params} and not reads_memory(size)


def beside(special: PrimFunc, conditions: Iterable[Expr], general: PrimFunc, suffix: str) -> PrimFunc:
    """One function that does what `special` does where all conditions hold, else what `general` does.

    The names of blocks of the special version end with `suffix`. What the function demands of its sizes before it does
    anything stands ahead of both; it is `general` alone where it demands something later, which may never hold in one
    of the two.
    """
    if any(type(node) in _DEMANDS for node in walk(_without_head(general))):
        return general
    taken = {node.name for node in walk(general.body, Block)}
    first = refresh(renamed_apart(_without_head(special), taken, suffix))
    chosen = If(conjunction([*conditions]), first, _without_head(general))
    return general.replace(body=(*_head(general), chosen))


def with_one_row(func: PrimFunc, rows: Iterable[Expr]) -> tuple[PrimFunc, list[Expr]] | None:
    """The function where these sizes are 1, and the conditions for it; None where that takes more than sizes that the
    call gives."""
    ones = {var: const(1, var.dtype) for size in rows for var in free_vars(size)}
    if not ones or not all(is_known(func, var) for var in ones) or not may_have_versions(func):
        return None
    if not all(is_const(simplified(substitute(size, ones)), 1) for size in rows):
        return None
    body = _without_head(func)
    # buffers from outside keep the shapes that they have there
    kept = {buffer: buffer for buffer in free_buffers(body)}
    made = func.replace(body=(*_head(func), *substitute(body, {**ones, **kept})))
    return made, [get_op("equal")(var, one) for var, one in ones.items()]


def with_few_rows(blocks: PrimFunc, rows: Mapping[str, Axis]) -> tuple[PrimFunc, list[Expr]] | None:
    """The function where these axes of blocks, products each, are of 1 to `FEW`: rounded up to that, which is a known
    number, and the conditions for it; None where some block cannot be."""
    sizes = list(dict.fromkeys(axis.stop for axis in rows.values()))
    if not sizes or not all(is_known(blocks, size) for size in sizes) or not may_have_versions(blocks):
        return None
    schedule, whole = Schedule(blocks, verify=False), set()
    try:
        for name, rounded in rows.items():
            axes = schedule.get(schedule.get_block(name)).axes
            schedule.pad_einsum(name, [FEW if axis.var is rounded.var else 1 for axis in axes])
            made = schedule.get(schedule.get_block(name)).axes
            whole |= {axis.stop for axis in made if axis.var is rounded.var}
    except ScheduleError:
        return None
    body = _without_head(schedule.func)
    if any(type(node) is Call and node in whole for node in walk(tuple(free_buffers(body)))):
        return None  # a buffer from outside keeps its shape
    body = rewrite(body, {Call: lambda call: const(FEW, call.dtype) if call in whole else call})
    conditions = [size > 0 for size in sizes] + [size <= FEW for size in sizes]
    return schedule.func.replace(body=(*_head(schedule.func), *body)), conditions


def _head(func: PrimFunc) -> list[Stmt]:
    """The statements that give parameters their shapes, and with that lengths their values, and what is demanded of
    these before anything is done."""
    found: list[Stmt] = []
    begun = False
    for stmt in func.body:
        demands = type(stmt) in _DEMANDS and not begun and is_known(func, stmt.condition)  # type: ignore[attr-defined]
        if demands or (type(stmt) is MatchBuffer and type(stmt.source) is Var):
            found.append(stmt)
        else:
            begun = begun or type(stmt) not in _MEMORY
    return found


def _without_head(func: PrimFunc) -> tuple[Stmt, ...]:
    head = set(map(id, _head(func)))
    return tuple([stmt for stmt in func.body if id(stmt) not in head])


__all__ = ["beside", "is_known", "may_have_versions", "with_few_rows", "with_one_row"]
