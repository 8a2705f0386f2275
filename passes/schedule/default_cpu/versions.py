"""Versions of a function beside each other, for sizes that only the call knows.

before:                                    after:
    for i in range(n):                         if m < 40:
        S[i] = 0                                   for i in T.parallel(n): ... as it was
        for j in range(m):                     else:
            S[i] += A[i, j]                        for i in T.parallel(n): ... by lanes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tirscript.ir.arith.logic import conjunction
from tirscript.ir.expr import Call, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import free_buffers, free_vars, refresh, rewrite, substitute, walk
from tirscript.ir.stmt import AllocateConst, Axis, Block, If, MatchBuffer, Stmt

from ...simplify import simplified
from ...statements import reads_memory
from ..naming import renamed_apart
from ..refusal import ScheduleError
from ..schedule import Schedule

# so many rows are one tile, whose other operand need not be copied
FEW = 8


def may_have_versions(func: PrimFunc) -> bool:
    """Whether a second copy of a function costs no more than its code: constants would be there twice."""
    return not any(type(node) is AllocateConst for node in walk(func.body))


def is_known(func: PrimFunc, size: Expr) -> bool:
    """Whether the arguments of a function alone say what a size is."""
    return set(free_vars(size)) <= {*func.symbols, *func.params} and not reads_memory(size)


def beside(special: PrimFunc, conditions: Iterable[Expr], general: PrimFunc, suffix: str) -> PrimFunc:
    """One function that does what `special` does where all conditions hold, else what `general` does.

    The names of blocks of the special version end with `suffix`.
    """
    taken = {node.name for node in walk(general.body) if type(node) is Block}
    first = refresh(renamed_apart(_without_matches(special), taken, suffix))
    matches = [stmt for stmt in general.body if _gives_lengths(stmt)]
    return general.replace(body=(*matches, If(conjunction([*conditions]), first, _without_matches(general))))


def with_one_row(func: PrimFunc, rows: Iterable[Expr]) -> tuple[PrimFunc, list[Expr]] | None:
    """The function where these sizes are 1, and the conditions for it; None where that takes more than sizes that the
    call gives."""
    ones = {var: const(1, var.dtype) for size in rows for var in free_vars(size)}
    if not ones or not all(is_known(func, var) for var in ones) or not may_have_versions(func):
        return None
    if not all(is_const(simplified(substitute(size, ones)), 1) for size in rows):
        return None
    body = _without_matches(func)
    # buffers from outside keep the shapes that they have there
    kept = {buffer: buffer for buffer in free_buffers(body)}
    matches = [stmt for stmt in func.body if _gives_lengths(stmt)]
    made = func.replace(body=(*matches, *substitute(body, {**ones, **kept})))
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
            at = [axis.var for axis in axes].index(rounded.var)
            schedule.pad_einsum(name, [FEW if one == at else 1 for one in range(len(axes))])
            whole.add(schedule.get(schedule.get_block(name)).axes[at].stop)
    except ScheduleError:
        return None
    body = _without_matches(schedule.func)
    if any(type(node) is Call and node in whole for node in walk(tuple(free_buffers(body)))):
        return None  # a buffer from outside keeps its shape
    body = rewrite(body, {Call: lambda call: const(FEW, call.dtype) if call in whole else call})
    matches = [stmt for stmt in schedule.func.body if _gives_lengths(stmt)]
    conditions = [size > 0 for size in sizes] + [size <= FEW for size in sizes]
    return schedule.func.replace(body=(*matches, *body)), conditions


def _gives_lengths(stmt: Stmt) -> bool:
    """Whether a statement gives a parameter its shape, and with that lengths their values."""
    return type(stmt) is MatchBuffer and type(stmt.source) is Var


def _without_matches(func: PrimFunc) -> tuple[Stmt, ...]:
    return tuple([stmt for stmt in func.body if not _gives_lengths(stmt)])


__all__ = ["beside", "is_known", "may_have_versions", "with_few_rows", "with_one_row"]
