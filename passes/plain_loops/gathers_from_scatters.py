"""Sums that a nest adds to elements here and there, as in a transposed convolution, become sums element by element.

before:                                            after:
    for i, j, c, k in T.grid(8, 16, 4, 3):             for i, x, c, k in T.grid(8, 33, 4, 3):
        C[i, j * 2 + k] += A[c, j] * W[c, i, k]            if (x - k) % 2 == 0 and 0 <= (x - k) // 2 < 16:
                                                               C[i, x] += A[c, (x - k) // 2] * W[c, i, k]

Of the loops that an index is made of the longest gives way to one over the dimension of the results, which then stay in
registers. Sums of floats have their terms in another order. A nest whose innermost loop goes along the results for
long, as in products of polynomials, stays: LLVM makes vectors of that loop, and no masks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import const, get_op
from tirscript.ir.op_sets import COMPARISONS
from tirscript.ir.rewrite import rewrite, substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, If, Stmt

from ..statements import conjunction, reads_memory
from .names_written_out import Refused, written_out
from .plain import conjuncts

# an innermost loop along the results is quicker as it stands from so many iterations on, and from so many where the
# results are no whole vectors of so many lanes
LONG, SHORT, LANES = 256, 32, 16


def gathers_from_scatters(func: PrimFunc, pays: Callable[[PrimFunc, For], bool], ordered: bool) -> PrimFunc:
    """The function whose nests gather what they add up where that pays; no sums of floats where these are `ordered`."""
    gathered = functools.partial(_gathered, pays=functools.partial(pays, func), ordered=ordered)
    body = tuple([gathered(stmt) if type(stmt) is For else stmt for stmt in func.body])
    return func if are_same(body, func.body) else func.replace(body=body)


class _Place(Struct, frozen=True, eq=False):
    """A dimension of the results: the loop over it, and the loop that gave way with what its variable is then."""

    loop: For
    gone: For | None = None
    form: Linear | None = None
    value: Expr | None = None
    conditions: tuple[Expr, ...] = ()


def _gathered(nest: For, pays: Callable[[For], bool], ordered: bool) -> For:
    """A nest that gathers instead; itself where it is another one."""
    from ..schedule.reducers import update_by

    loops: list[For] = []
    body: tuple[Stmt, ...] = (nest,)
    while len(body) == 1 and type(body[0]) is For:
        loops.append(body[0])
        body = body[0].body
    if not all(map(_is_plain, loops)) or any(type(node) in (Block, For) for node in walk(body)):
        return nest
    try:
        stmts = written_out(body)
    except Refused:
        return nest
    asked: list[Expr] = []
    while len(stmts) == 1 and type(stmts[0]) is If and not stmts[0].orelse:
        asked += conjuncts(stmts[0].condition)
        stmts = stmts[0].then
    store = stmts[0] if len(stmts) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or update_by(store) is None:
        return nest
    if (ordered and store.buffer.dtype.is_float) or any(map(reads_memory, (*store.indices, *asked))):
        return nest
    places = _places(store, loops)
    if places is None:
        return nest
    if _goes_along(store, loops[-1], places) or _goes_once(store, loops):
        return nest
    kept = [_known(one, places) for one in asked]
    if not all(_is_inside(place, loops, kept) for place in places):
        return nest  # where it stores beside its buffer, a build that checks is to say so
    gone = [place.gone for place in places if place.gone is not None]
    values = {place.gone.var: place.value for place in places if place.gone is not None and place.value is not None}
    conditions = [one for place in places for one in place.conditions]
    conditions += [substitute(one, values) for one in kept]
    condition = conjunction(conditions)
    assert condition is not None
    indices: tuple[Expr, ...] = tuple([place.loop.var for place in places])
    mine = BufferLoad(store.buffer, indices)
    added = rewrite(store.value, {BufferLoad: lambda node: mine if node.buffer is store.buffer else node})
    added = substitute(added, values)
    made: Stmt = If(condition, (store.replace(indices=indices, value=added),))
    spatial = [place.loop for place in places]
    rest = [loop for loop in loops if not any(loop is one for one in (*gone, *spatial))]
    for loop in reversed((*spatial, *rest)):
        made = loop.replace(body=(made,), trivia=None)
    assert type(made) is For
    made = made.replace(trivia=nest.trivia)
    return made if pays(made) else nest


def _is_plain(loop: For) -> bool:
    if loop.kind != "serial" or loop.step is not None or loop.annotations:
        return False
    return type(loop.start) is Const and type(loop.stop) is Const and loop.start.value < loop.stop.value


def _places(store: BufferStore, loops: list[For]) -> list[_Place] | None:
    """A loop for each dimension of the results, of which one at least is new; None where there are no such loops."""
    if not store.indices or any(type(dim) is not Const for dim in store.buffer.shape):
        return None
    found: list[_Place] = []
    for index, dim in zip(store.indices, store.buffer.shape, strict=True):
        place = _place(index, dim, loops)
        others = [one for one in store.indices if one is not index]
        if place is None:
            return None
        own = place.loop if place.gone is None else place.gone
        if any(uses(one, own.var) for one in others):
            return None
        found.append(place)
    return found if any(place.gone is not None for place in found) else None


def _place(index: Expr, dim: Expr, loops: list[For]) -> _Place | None:
    """The loop over a dimension that an index goes through; None where no loop of the index can give way to it."""
    mine = next((loop for loop in loops if loop.var is index), None)
    if mine is not None:
        return _Place(mine)
    form = linear(index)
    parts = [next((loop for loop in loops if loop.var is term), None) for term in form.terms]
    longest = max((loop for loop in parts if loop is not None), key=_extent, default=None)
    if longest is None or None in parts or len(parts) < 2:
        return None
    factor, dtype = form.terms[longest.var], longest.var.dtype
    if factor < 1 or index.dtype is not dtype:
        return None
    if dtype.bits < 32 or int(dim.value) > dtype.int_range()[1]:  # type: ignore[attr-defined]
        return None  # it may begin anew at the least number of its dtype, or has no number for the end
    var = Var(longest.var.name, dtype)
    loop = longest.replace(var=var, start=const(0, dtype), stop=const(int(dim.value), dtype))  # type: ignore[attr-defined]
    left = var - expression(form.without(longest.var))
    value: Expr = left if factor == 1 else get_op("floordiv")(left, const(factor, dtype))
    conditions = [get_op("less_equal")(longest.start, value), get_op("less")(value, longest.stop)]
    if factor > 1:
        remainder = get_op("floormod")(left, const(factor, dtype))
        conditions.insert(0, get_op("equal")(remainder, const(0, dtype)))
    return _Place(loop, longest, form, value, tuple(conditions))


def _goes_along(store: BufferStore, inner: For, places: list[_Place]) -> bool:
    """Whether the innermost loop goes along the results for long, and no others of them share what is read there."""
    results, extent = int(places[-1].loop.stop.value), _extent(inner)  # type: ignore[attr-defined]
    if extent < (SHORT if results % LANES else LONG) or linear(store.indices[-1]).terms.get(inner.var) != 1:
        return False
    gone = [place.gone.var for place in places if place.gone is not None]
    others = [place.loop.var for place in places if place.gone is None]
    loads = [node for node in walk(store.value, BufferLoad) if node.buffer is not store.buffer]
    moved = [load for load in loads if any(uses(load.indices, var) for var in gone)]
    return all(uses(load.indices, var) for load in moved for var in others)


def _goes_once(store: BufferStore, loops: list[For]) -> bool:
    """Whether no two iterations of the loops that the indices are made of add to one element, nor read the same, as
    those of `y[i * 8 + k] += A[i, j, k] * x[c[i, j, k]]` with eight of `k`: a gather would only ask."""
    extents = {loop.var: _extent(loop) for loop in loops}
    mine: list[Var] = []
    for index in store.indices:
        parts = {loop.var: abs(factor) for loop in loops if (factor := linear(index).terms.get(loop.var))}
        reach = 0
        for var, factor in sorted(parts.items(), key=lambda one: one[1]):
            if factor <= reach:
                return False
            reach += factor * (extents[var] - 1)
        mine += parts
    loads = [node for node in walk(store.value, BufferLoad) if node.buffer is not store.buffer]
    return all(uses(load.indices, var) for load in loads for var in mine)


def _extent(loop: For) -> int:
    return int(loop.stop.value) - int(loop.start.value)  # type: ignore[attr-defined]


def _is_inside(place: _Place, loops: list[For], asked: list[Expr]) -> bool:
    """Whether the index of a dimension is one of it, by the bounds of the loops or by what is asked."""
    if place.form is None:
        return True
    low = high = place.form.constant
    for loop in loops:
        factor = place.form.terms.get(loop.var, 0)
        ends = [factor * int(loop.start.value), factor * (int(loop.stop.value) - 1)]  # type: ignore[attr-defined]
        low, high = low + min(ends), high + max(ends)
    var, last = place.loop.var, int(place.loop.stop.value) - 1  # type: ignore[attr-defined]
    for one in asked:
        if type(one) is not Call or one.op.name not in _BOUNDS:
            continue
        a, b = one.args
        strict, less = _BOUNDS[one.op.name]
        below, above = (a, b) if less else (b, a)
        if below is var and type(above) is Const:
            high = min(high, int(above.value) - strict)
        if above is var and type(below) is Const:
            low = max(low, int(below.value) + strict)
    return low >= 0 and high <= last


# whether a comparison excludes equal values, and whether its first value is the lesser one
_BOUNDS = {"less": (1, True), "less_equal": (0, True), "greater": (1, False), "greater_equal": (0, False)}


def _known(condition: Expr, places: list[_Place]) -> Expr:
    """What is asked of the place of a result, asked of the loop over the results."""
    if type(condition) is not Call or condition.op not in COMPARISONS:
        return condition
    args = list(condition.args)
    for at, side in enumerate(args):
        for place in places:
            if place.form is None or place.gone is None or not uses(side, place.gone.var):
                continue
            apart = linear(side) - place.form
            if apart.is_constant:
                args[at] = place.loop.var + apart.constant if apart.constant else place.loop.var
    return condition.replace(args=tuple(args))


__all__ = ["gathers_from_scatters"]
