"""Loops that were tiled by hand become loops over whole dimensions again: the schedule makes tiles of its own.

before:                                            after:
    for i0, k0, i1, k1 in T.grid(5, 5, 8, 4):          for i0, k0 in T.grid(33, 17):
        if i0 * 8 + i1 < 33:                               y[i0] += A[i0, k0] * x[k0]
            if k0 * 4 + k1 < 17:
                y[i0 * 8 + i1] += (
                    A[i0 * 8 + i1, k0 * 4 + k1] * x[k0 * 4 + k1]
                )

Two loops are one where their variables occur nowhere but in such a sum. Terms of sums may change places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS, const
from tirscript.ir.rewrite import substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, If, Stmt

from ..simplify import simplified
from ..statements import conjunction, reads_memory
from .names_written_out import Refused, written_out
from .plain import conjuncts


def tiles_joined(func: PrimFunc, pays: Callable[[PrimFunc, For], bool], ordered: bool) -> PrimFunc:
    """The function with whole loops for those of sums that pay so, and for what clears their results; sums of floats
    whose terms are `ordered` stay."""
    nests = [stmt for stmt in func.body if type(stmt) is For]
    found = [(stmt, made) for stmt in nests if (made := _whole(stmt, ordered)) is not None]
    sums = {made.store.buffer for stmt, made in found if pays(func, made.nest(stmt))}
    instead: dict[int, Stmt] = {id(stmt): made.nest(stmt) for stmt, made in found if made.store.buffer in sums}
    body = tuple([instead.get(id(stmt), stmt) for stmt in func.body])
    return func if are_same(body, func.body) else func.replace(body=body)


class _Nest(Struct, frozen=True, eq=False):
    """Loops around one store that is made where all that is asked holds."""

    loops: tuple[For, ...]
    asked: tuple[Expr, ...]
    store: BufferStore

    def expressions(self) -> tuple[Expr, ...]:
        return (*self.store.indices, self.store.value, *self.asked)

    def nest(self, source: For) -> For:
        """The loops as a statement that stands for `source`."""
        condition = conjunction(self.asked)
        made: Stmt = self.store if condition is None else If(condition, (self.store,))
        for loop in reversed(self.loops):
            made = loop.replace(body=(made,), trivia=None)
        whole: For = made.replace(trivia=source.trivia)  # type: ignore[assignment]
        return whole


def _whole(nest: For, ordered: bool) -> _Nest | None:
    """A nest with fewer loops; None where there is none."""
    found = _read(nest)
    if found is None or (ordered and found.store.buffer.dtype.is_float):
        return None
    made, before = found, None
    while made is not before:
        before = made
        made = next((one for pair in _pairs(made) if (one := _joined(made, *pair)) is not None), made)
    if made is not found and not _any_order(made):
        return None
    made = _bounded(made)
    return made if made is not found else None


def _read(nest: For) -> _Nest | None:
    """A nest as its parts; None where it has others."""
    loops: list[For] = []
    body: tuple[Stmt, ...] = (nest,)
    while len(body) == 1 and type(body[0]) is For:
        loops.append(body[0])
        body = body[0].body
    if not all(map(_counts, loops)) or any(type(node) in (Block, For) for node in walk(body)):
        return None
    try:
        stmts = written_out(body)
    except Refused:
        return None
    asked: list[Expr] = []
    while len(stmts) == 1 and type(stmts[0]) is If and not stmts[0].orelse:
        asked += conjuncts(stmts[0].condition)
        stmts = stmts[0].then
    store = stmts[0] if len(stmts) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or has_effect(store.value):
        return None
    if any(map(reads_memory, (*store.indices, *asked))):
        return None
    return _Nest(tuple(loops), tuple(asked), store)


def _counts(loop: For) -> bool:
    """Whether a loop says nothing but how often it runs, from 0 on."""
    if loop.kind != "serial" or loop.step is not None or loop.annotations:
        return False
    return type(loop.start) is Const and type(loop.stop) is Const and loop.start.value == 0 < loop.stop.value


def _pairs(nest: _Nest) -> Iterator[tuple[For, For]]:
    """Loops of which an index has so many times the first and once the second as the second has iterations."""
    accesses: list[BufferStore | BufferLoad] = [nest.store]
    accesses += list(walk(nest.store.value, BufferLoad))
    for index in (index for access in accesses for index in access.indices):
        terms = linear(index).terms
        mine = [loop for loop in nest.loops if terms.get(loop.var)]
        for at, outer in enumerate(mine):
            for inner in mine[at + 1 :]:
                if outer.var.dtype is inner.var.dtype and terms[outer.var] == terms[inner.var] * _extent(inner):
                    yield outer, inner


def _joined(nest: _Nest, outer: For, inner: For) -> _Nest | None:
    """A nest with one loop in place of two; None where these are used each by itself."""
    kind, extent = outer.var.dtype, _extent(outer) * _extent(inner)
    if extent > kind.int_range()[1]:
        return None
    var = Var(outer.var.name, kind)
    values = {inner.var: var - outer.var * const(_extent(inner), kind)}
    made = [simplified(substitute(one, values)) for one in nest.expressions()]
    if any(uses(one, outer.var) for one in made):
        return None
    count = len(nest.store.indices)
    whole = outer.replace(var=var, stop=const(extent, kind))
    loops = tuple([whole if loop is outer else loop for loop in nest.loops if loop is not inner])
    return _Nest(loops, tuple(made[count + 1 :]), nest.store.replace(indices=tuple(made[:count]), value=made[count]))


def _bounded(nest: _Nest) -> _Nest:
    """A nest whose loops end where what is asked of their variables does; itself where nothing is."""
    extents = {loop.var: _extent(loop) for loop in nest.loops}
    bounds = [(one, _bound(one)) for one in nest.asked]
    for found in (found for _, found in bounds if found is not None):
        if found[0] in extents:
            extents[found[0]] = min(extents[found[0]], found[1])
    left = tuple([one for one, found in bounds if found is None or found[0] not in extents])
    if len(left) == len(nest.asked) or min(extents.values()) < 1:
        return nest
    loops = [loop.replace(stop=const(extents[loop.var], loop.var.dtype)) for loop in nest.loops]
    return _Nest(tuple(loops), left, nest.store)


def _bound(condition: Expr) -> tuple[Var, int] | None:
    """The variable and the number of a condition `var < number`."""
    if type(condition) is not Call or condition.op not in (OPS["less"], OPS["less_equal"]):
        return None
    less, more = condition.args
    if type(less) is not Var or type(more) is not Const:
        return None
    return less, int(more.value) + (condition.op is OPS["less_equal"])


def _any_order(nest: _Nest) -> bool:
    """Whether iterations may run in another order: they add to elements, or each stores one of its own."""
    from ..schedule.reducers import update_by

    store = nest.store
    mine = [node for node in walk(store.value, BufferLoad) if node.buffer is store.buffer]
    if mine:
        return update_by(store) is not None and all(load.indices == store.indices for load in mine)
    return all(any(loop.var is index for index in store.indices) for loop in nest.loops)


def _extent(loop: For) -> int:
    return int(loop.stop.value)  # type: ignore[attr-defined]


__all__ = ["tiles_joined"]
