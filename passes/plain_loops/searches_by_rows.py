"""A search for the greatest or least element through a matrix becomes one for its row, and one through that row.

before:                                            after:
    for i, j in T.grid(8, 100):                        m_row = T.alloc_buffer((8,), "float32")
        if A[i, j] > m:                                for i in range(8):
            m = A[i, j]                                    m_row[i] = -inf
            at = i * 100 + j                               for j in range(100):
                                                               if A[i, j] > m_row[i]:
                                                                   m_row[i] = A[i, j]
                                                       m_most: T.float32 = m
                                                       i_at: T.int32 = -1
                                                       for i in range(8):
                                                           if m_row[i] > m_most:
                                                               m_most = m_row[i]
                                                               i_at = i
                                                       if i_at >= 0:
                                                           m_in: T.float32 = -inf
                                                           j_at: T.int32 = 0
                                                           for j in range(100):
                                                               if A[i_at, j] > m_in:
                                                                   m_in = A[i_at, j]
                                                                   j_at = j
                                                           m = m_in
                                                           at = i_at * 100 + j_at

The greatest of each row is found in vectors. The first of equal elements is found as before, and nothing is greater
than nan: nor is a row of nothing else, which leaves -inf. So only `>` and `<` are taken apart, of which -inf, or the
least integer, never holds.
"""

from __future__ import annotations

import math
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.op import OPS, Op, const
from tirscript.ir.rewrite import substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, For, If, ScalarDecl, Stmt

from ..statements import may_overlap, reads_memory
from .names_written_out import Refused, written_out
from .plain import allocated_before

# rows of so many elements at least, of which so many at most are kept
LEAST, MOST = 64, 1 << 16
_STRICT = {OPS["greater"]: OPS["max"], OPS["less"]: OPS["min"]}


def searches_by_rows(func: PrimFunc) -> PrimFunc:
    """The function with its searches through matrices row by row; itself where there are none."""
    if may_overlap(func):
        return func
    body: list[Stmt] = []
    for stmt in func.body:
        body += _by_rows(stmt) if type(stmt) is For else (stmt,)
    return allocated_before(func, body)


def _by_rows(nest: For) -> list[Stmt]:
    """A search with its rows apart; the nest itself where it is none."""
    from ..schedule.reducers import IDENTITIES

    loops: list[For] = [nest]
    while len(loops[-1].body) == 1 and type(loops[-1].body[0]) is For:
        loops.append(loops[-1].body[0])
    *outer, inner = loops
    rows = math.prod([_extent(loop) for loop in outer])
    if not outer or _extent(inner) < LEAST or not 1 < rows <= MOST:
        return [nest]
    if any(loop.var.dtype.int_range()[0] == 0 for loop in outer):
        return [nest]  # no place is less than the first one
    found = _search(inner, {loop.var for loop in loops})
    if found is None:
        return [nest]
    test, best, direction, places = found
    value, mine, bool_ = best.value, BufferLoad(best.buffer, best.indices), test.condition.dtype
    lowest = IDENTITIES[_STRICT[direction]](value.dtype)

    def kept(new: Expr, old: BufferLoad, *places: BufferStore) -> If:
        store = BufferStore(old.buffer, old.indices, new, span=best.span)
        return If(Call(direction, (new, old), bool_), (store, *places))

    variables = [loop.var for loop in outer]
    rows_of = Buffer(f"{best.buffer.name}_row", tuple([loop.stop for loop in outer]), value.dtype)
    row = BufferLoad(rows_of, tuple(variables))
    begin = BufferStore(rows_of, tuple(variables), lowest)
    first = _around(outer, (begin, inner.replace(body=(kept(value, row),))))

    most = BufferLoad(_scalar(f"{best.buffer.name}_most", value), ())
    found_at = [BufferLoad(_scalar(f"{var.name}_at", var), ()) for var in (*variables, inner.var)]
    none = [const(-1, var.dtype) for var in variables]
    again: dict[Any, Expr] = {var: Var(var.name, var.dtype) for var in variables}
    stores = [BufferStore(at.buffer, (), again[var]) for at, var in zip(found_at, variables, strict=False)]
    renamed = [loop.replace(var=again[loop.var], trivia=None) for loop in outer]
    second = _around(renamed, (kept(substitute(row, again), most, *stores),))

    there: dict[Any, Expr] = dict(zip((*variables, inner.var), found_at, strict=True))
    along = Var(inner.var.name, inner.var.dtype)
    inside = BufferLoad(_scalar(f"{best.buffer.name}_in", value), ())
    place = BufferStore(found_at[-1].buffer, (), along)
    third = inner.replace(
        var=along, trivia=None, body=(kept(substitute(value, {**there, inner.var: along}), inside, place),)
    )
    last = (best.replace(value=inside), *(one.replace(value=substitute(one.value, there)) for one in places))
    decided: Stmt = If(
        Call(OPS["greater_equal"], (found_at[0], const(0, variables[0].dtype)), bool_),
        (ScalarDecl(inside.buffer, lowest), ScalarDecl(found_at[-1].buffer, inner.start), third, *last),
    )
    known = [ScalarDecl(at.buffer, value) for at, value in zip(found_at, none, strict=False)]
    return [AllocBuffer(rows_of, NO_ATTRS), first, ScalarDecl(most.buffer, mine), *known, second, decided]


def _scalar(name: str, like: Expr) -> Buffer:
    return Buffer(name, (), like.dtype, scope="scalar")


def _search(loop: For, variables: set[Var]) -> tuple[If, BufferStore, Op, list[BufferStore]] | None:
    """The condition of a search, the store that keeps what it compares, how, and the stores of where that is."""
    try:
        leaf = written_out(loop.body)
    except Refused:
        return None
    test = leaf[0] if len(leaf) == 1 else None
    if type(test) is not If or test.orelse or not all(type(store) is BufferStore for store in test.then):
        return None
    stores: list[BufferStore] = list(test.then)  # type: ignore[arg-type]
    buffers = {store.buffer for store in stores}
    best = next((store for store in stores if _direction(test.condition, store) is not None), None)
    if best is None or len(stores) < 2 or sum(store.buffer is best.buffer for store in stores) > 1:
        return None
    for store in stores:
        if store.predicate is not None or any(reads_memory(index) for index in store.indices):
            return None
        if any(uses(index, var) for index in store.indices for var in variables):
            return None
        if store is not best and (reads_memory(store.value) or not store.buffer.dtype.is_int):
            return None
    dtype = best.buffer.dtype
    if any(uses(best.value, buffer) for buffer in buffers) or best.value.dtype is not dtype:
        return None
    if dtype.bits < 8 or (dtype.is_float and dtype.bits < 16):
        return None  # there may be no infinity
    if any(type(node) is Call and node.op.effect != "pure" for node in walk(test)):
        return None
    direction = _direction(test.condition, best)
    assert direction is not None
    return test, best, direction, [store for store in stores if store is not best]


def _direction(condition: Expr, store: BufferStore) -> Op | None:
    """The strict comparison by which a store keeps what it stores, as of that with what was there; else None."""
    if type(condition) is not Call or condition.op not in _STRICT:
        return None
    mine = BufferLoad(store.buffer, store.indices)
    for at, op in enumerate((condition.op, OPS["less" if condition.op is OPS["greater"] else "greater"])):
        new, old = condition.args if at == 0 else condition.args[::-1]
        if structural_equal((new, old), (store.value, mine), map_free_vars=False):
            return op
    return None


def _extent(loop: For) -> int:
    """The iterations of a plain loop of known size; 0 for another."""
    if loop.kind != "serial" or loop.step is not None or loop.annotations:
        return 0
    known = is_const(loop.start, 0) and type(loop.stop) is Const
    return int(loop.stop.value) if known else 0  # type: ignore[attr-defined]


def _around(loops: list[For], body: tuple[Stmt, ...]) -> For:
    for loop in reversed(loops):
        body = (loop.replace(body=body),)
    assert type(body[0]) is For
    return body[0]


__all__ = ["searches_by_rows"]
