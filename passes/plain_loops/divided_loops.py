"""Loops that hold several stores, which have nothing to do with each other, as a loop for each.

before:                                            after:
    for k in range(1024):                              for k in range(1024):
        s = s + A[k]                                       s = s + A[k]
        q = q + A[k] * A[k]                            for k in range(1024):
                                                           q = q + A[k] * A[k]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tirscript.ir.arith.linear import linear
from tirscript.ir.arith.presburger import Dependences, may_merge
from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import defined_by, free_vars, holds, refresh, uses, walk
from tirscript.ir.stmt import BufferStore, For, If, Stmt

from ..statements import reads_memory
from .choices_from_loops import chosen
from .names_written_out import Refused, written_out
from .plain import are_apart

# sums along lines of fewer bits stay in one loop with others: lanes would not share them, not even those of 128 bits
LINE = 512


def inits_apart(body: tuple[Stmt, ...], overlap: bool, long_lines: bool = True) -> tuple[Stmt, ...]:
    """The body of a function with a loop for each of the sums that one loop makes, behind the store that it begins
    with. Where buffers may `overlap`, what they begin with must be no memory."""
    out: list[Stmt] = []
    for stmt in body:
        parts = divided(stmt, long_lines) if type(stmt) is For else [stmt]
        inits: list[BufferStore] = []
        while len(parts) > 1 and out and type(out[-1]) is BufferStore and len(inits) < len(parts):
            inits.insert(0, out.pop())  # type: ignore[arg-type]
        mine = [[part for part in parts if uses(part, init.buffer)] for init in inits]
        alone = [
            len(found) == 1 and not any(uses(one.value, init.buffer) for one in inits)
            for found, init in zip(mine, inits)
        ]
        loads = [node for init in inits for node in walk((init.value, *init.indices), BufferLoad)]
        stored = {node.buffer for part in parts for node in walk(part, BufferStore)}
        steady = not any(overlap or load.buffer in stored for load in loads)
        if len(parts) < 2 or len({init.buffer for init in inits}) != len(parts) or not all(alone) or not steady:
            out += [*inits, stmt]
            continue
        for part in parts:
            out += [init for init, (found,) in zip(inits, mine) if found is part]
            out.append(part)
    return tuple(out)


def divided(stmt: Stmt, long_lines: bool = True, around: Sequence[For] = ()) -> list[Stmt]:
    """A loop, inside of others `around` it, over several stores as one loop for each, where none needs what a later one
    makes; else the statement.

    Stores that have nothing to do with each other stay where none of them gains: loops apart would compute again what
    they share. Sums gain by lines that are long, as those of symbolic length are where there are `long_lines`.
    """
    if type(stmt) is not For:
        return [stmt]
    if any(type(inner) is For for inner in stmt.body) and len(stmt.body) > 1:
        return _totals_behind(stmt)
    loops: list[For] = [stmt]
    while len(loops[-1].body) == 1 and type(loops[-1].body[0]) is For:
        loops.append(loops[-1].body[0])
    stores = _stores(loops[-1].body)
    if len(stores) < 2:
        return [stmt]
    if len(loops) > 1:
        return _nests(loops, stores, long_lines, around) or [stmt]
    if _stay(stmt, stores, long_lines, around):
        return [stmt]
    parts: list[For] = [stmt.replace(body=stores[:1])]
    parts += [refresh(stmt.replace(body=(inner,), trivia=None)) for inner in stores[1:]]
    return list(parts) if _may_be_apart(parts) else [stmt]


def stay_together(stmt: For, long_lines: bool) -> bool:
    """Whether an innermost loop holds several stores that have nothing to do with each other, none of which gains by a
    loop of its own."""
    stores = _stores(stmt.body)
    return len(stores) > 1 and _stay(stmt, stores, long_lines, ())


def _stay(loop: For, stores: Sequence[BufferStore], long_lines: bool, around: Sequence[For]) -> bool:
    pays = any(uses(one.value, one.buffer) and pays_alone([loop], one, long_lines, around) for one in stores)
    return not pays and independent_stores(stores) and strangers(stores)


def _stores(body: tuple[Stmt, ...]) -> tuple[Any, ...]:
    """Statements as stores, names of values written out and those of either of two values as choices; none where they
    are more than that."""
    try:
        stores = written_out(tuple([chosen(stmt, frozenset()) for stmt in body]))
    except Refused:
        return ()
    return stores if all(type(one) is BufferStore for one in stores) else ()


def totals_of_variables(stmt: Stmt) -> bool:
    """Whether the last statements of a loop add up variables that are made before them in it."""
    if type(stmt) is not For or not any(type(inner) is For for inner in stmt.body):
        return False
    return _use_variables(*_totals(stmt))


def _use_variables(body: tuple[Stmt, ...], totals: tuple[Stmt, ...]) -> bool:
    """Whether totals are of variables of the statements before them."""
    return any(uses(totals, name) for inner in body for name in defined_by(inner))


def _totals(stmt: For) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements of a loop, and those at its end that add up what the others make."""
    at = len(stmt.body)
    while at and _is_total(stmt.body[at - 1], stmt):
        at -= 1
    return stmt.body[:at], stmt.body[at:]


def _totals_behind(stmt: For) -> list[Stmt]:
    """A loop whose last statements add up what those before them make in loops, with loops of their own behind it."""
    body, totals = _totals(stmt)
    if not totals or not body or _use_variables(body, totals):
        return [stmt]
    parts: list[For] = [stmt.replace(body=body)]
    parts += [refresh(stmt.replace(body=(one,), trivia=None)) for one in totals]
    return list(parts) if _may_be_apart(parts) else [stmt]


def _is_total(stmt: Stmt, loop: For) -> bool:
    """Whether a statement changes the same elements in all iterations of a loop, or chooses what they hold."""
    if type(stmt) is If:
        inner: list[Any] = [node for node in walk((*stmt.then, *stmt.orelse)) if isinstance(node, Stmt)]
        stores = [node for node in inner if type(node) is BufferStore]
        plain = all(type(node) in (If, BufferStore) for node in inner)
        return plain and not any(uses(store.indices, loop.var) for store in stores)
    return type(stmt) is BufferStore and uses(stmt.value, stmt.buffer) and not uses(stmt.indices, loop.var)


def _may_be_apart(parts: Sequence[For]) -> bool:
    """Whether loops may run one after the other, where they were one loop."""
    deps = Dependences(tuple(parts))
    return all(may_merge(deps, a, b).legal for at, a in enumerate(parts) for b in parts[at + 1 :])


def _nests(
    loops: list[For], stores: tuple[BufferStore, ...], long_lines: bool, around: Sequence[For]
) -> list[Stmt] | None:
    """Loops in each other over stores that have nothing to do with each other, as such loops for each."""
    pays = any(uses(one.value, one.buffer) and pays_alone(loops, one, long_lines, around) for one in stores)
    counted = all(not holds((loop.start, loop.stop), BufferLoad) for loop in loops)
    if not pays or not counted or not independent_stores(stores) or not strangers(stores):
        return None
    parts: list[Stmt] = []
    for store in stores:
        part: Stmt = store
        for loop in reversed(loops):
            part = loop.replace(body=(part,), trivia=None if parts else loop.trivia)
        parts.append(refresh(part) if parts else part)
    return parts


def pays_alone(loops: list[For], store: BufferStore, long_lines: bool = True, around: Sequence[For] = ()) -> bool:
    """Whether a sum or scan gains by loops of its own: its lines are long and lie along memory, so that lanes can take
    them, or it is one of a product of matrices. Lines whose length is not known are taken for long ones where there are
    `long_lines`. What is dear is computed once for all sums of a loop where lanes can take the loop around it."""
    from ..schedule.default_cpu.nests import by_library, goes_along_fields, stride_of, takes_long

    if multiplies_matrices(store):
        return True
    if by_library(store.value):
        return False  # what several sums call it for is computed once in one loop, sine and cosine by one call
    loads = [node for node in walk(store.value, BufferLoad) if node.indices]
    if around and any(map(takes_long, walk(store.value))) and _lies_across(store, loads, loops, around[-1]):
        return False
    for loop in loops:
        if store.buffer.dtype.is_int and not uses(store.indices, loop.var):
            continue  # LLVM makes vectors of sums of integers, of several in one loop, too
        strides = [stride_of(load, loop.var) for load in loads]
        short = not long_lines
        if type(loop.stop) is Const:
            short = int(loop.stop.value) * store.buffer.dtype.bits < LINE
        along = 1 in strides and all(stride in (0, 1) for stride in strides)
        # lanes can take the loop around where none of what is read is a matter of both
        both = not around or any(uses(load.indices, loop.var) and uses(load.indices, around[-1].var) for load in loads)
        if not short and (along or (both and goes_along_fields(loads, loop.var))):
            return True
    return False


def _lies_across(store: BufferStore, loads: Sequence[BufferLoad], loops: Sequence[For], across: For) -> bool:
    """Whether iterations of the loop `across` others add to elements of their own and read, in these, what is the same
    for all of them, neighbours, or an element that is theirs throughout."""
    from ..schedule.default_cpu.nests import stride_of

    def fits(access: Any) -> bool:
        return stride_of(access, across.var) in (0, 1) or not any(uses(access.indices, loop.var) for loop in loops)

    return uses(store.indices, across.var) and all(map(fits, (store, *loads)))


def multiplies_matrices(store: BufferStore) -> bool:
    """Whether a store adds up products of elements, each with an index that the other does not have."""
    for node in walk(store.value):
        if type(node) is Call and node.op is OPS["mul"]:
            loads = [one for one in walk(node, BufferLoad) if one.indices]
            has = [set(free_vars(one.indices)) for one in loads if one.buffer is not store.buffer]
            if len(has) == 2 and has[0] & has[1] and has[0] - has[1] and has[1] - has[0]:
                return True
    return False


def independent_stores(stores: Sequence[BufferStore]) -> bool:
    """Whether stores one after the other are to different elements: each may be a block of its own there."""
    return all(_apart(a, b) for a, b in itertools.combinations(stores, 2))


def _apart(a: BufferStore, b: BufferStore) -> bool:
    """Whether two stores are to different buffers, or to places of one that are a number other than 0 apart."""
    return a.buffer is not b.buffer or any(_differ(x, y) for x, y in zip(a.indices, b.indices, strict=False))


def _differ(a: Expr, b: Expr) -> bool:
    """Whether two indices differ by the same number in all iterations: `2 * i` and `2 * i + 1`."""
    if a.dtype is not b.dtype or reads_memory(a) or reads_memory(b):
        return False
    apart = linear(a) - linear(b)
    return apart.is_constant and apart.constant != 0


def strangers(stores: Sequence[Any]) -> bool:
    """Whether no store reads what another one stores."""
    return not any(_reads(a, b) or _reads(b, a) for a, b in itertools.combinations(stores, 2))


def _reads(reader: BufferStore, writer: BufferStore) -> bool:
    """Whether a store reads what may be an element that another one stores in any iteration: of the same buffer, not
    where an index of one is a number, and that of the other another one."""
    loads = walk((reader.value, *reader.indices), BufferLoad)
    return any(load.buffer is writer.buffer and not are_apart(load, writer) for load in loads)


__all__ = [
    "divided",
    "independent_stores",
    "inits_apart",
    "pays_alone",
    "stay_together",
    "strangers",
    "totals_of_variables",
]
