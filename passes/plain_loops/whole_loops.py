"""Plain loops over tiles become loops over what the tiles are of, and one loop over a matrix those over its lines and
columns: what schedules see, which make tiles that fit the processor.

before:                                            after:
    for io, jo, ii, ji in T.grid(4, 4, 8, 8):          for i, j in T.grid(32, 32):
        C[io * 8 + ii, jo * 8 + ji] = 0.0                  C[i, j] = 0.0
    for t in range(32 * 32):                           for t_1, t_0 in T.grid(32, 32):
        B[t // 32, t % 32] = A[t % 32]                     B[t_1, t_0] = A[t_0]

A loop over tiles is joined with that in its tiles where both are only used together. Iterations keep their order, or
are proved not to depend on it; the terms of a sum keep theirs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.linear import expression, linear
from tirscript.ir.arith.presburger import Dependences, is_parallel, may_merge
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferData, BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS, const
from tirscript.ir.rewrite import holds, refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Bind, Block, BufferStore, For, Stmt

from ..statements import may_overlap, reads_memory, same_indices

_SUMS = frozenset(OPS[name] for name in ("add", "sub", "mul", "negative"))
_DIVISIONS = frozenset(OPS[name] for name in ("floordiv", "truncdiv"))
_RESTS = frozenset(OPS[name] for name in ("floormod", "truncmod"))
# loops in each other that are looked at
DEEPEST = 12
# shorter lines of one loop stay as they are, where it holds no other loop: vectors would not fill them
LINE = 32


def whole_loops(func: PrimFunc) -> PrimFunc:
    """The function with whole loops for those over tiles, and loops for lines and columns; itself where there are
    none."""
    if may_overlap(func) or not any(type(stmt) is For for stmt in func.body):
        return func
    if holds(func.body, BufferData):  # one memory under several names
        return func
    body: list[Stmt] = []
    for stmt in func.body:
        if type(stmt) is For and not holds(stmt, Block):
            body += _joined(rewrite(stmt, {For: partial(_simpler, _divided_variables(stmt))}))
        else:
            body.append(stmt)
    return func if are_same(body, func.body) else func.replace(body=tuple(body))


def _divided_variables(nest: For) -> set[Var]:
    """The variables in a nest that are divided, or of which a rest is taken, somewhere: few are, of many loops."""
    found: set[Var] = set()
    for node in walk(nest):
        while type(node) is Call and node.op in _DIVISIONS | _RESTS:
            node = node.args[0]
            if type(node) is Var:
                found.add(node)
    return found


def _simpler(divided: set[Var], loop: For) -> For:
    """A loop divided where indices are divided, or joined with the only one in it."""
    found = _divided(loop) if loop.var in divided else loop
    if len(found.body) == 1 and type(found.body[0]) is For and found is loop:
        made = _pair([loop, found.body[0]], found.body[0].body, 0, 1)
        if made is not None:
            return _nest(*made)
    return found


def _is_plain(stmt: Stmt) -> bool:
    """Whether a statement is a loop from 0 to a number that neither says how it runs nor is left early."""
    return (
        type(stmt) is For
        and stmt.kind == "serial"
        and stmt.step is None
        and not stmt.annotations
        and is_const(stmt.start, 0)
        and type(stmt.stop) is Const
        and stmt.stop.value > 0
        and not leaves_loop(stmt.body)
    )


def _size(loop: For) -> int:
    assert type(loop.stop) is Const
    return int(loop.stop.value)


def _nest(loops: Sequence[For], body: tuple[Stmt, ...]) -> For:
    for loop in reversed(loops):
        body = (loop.replace(body=body),)
    found = body[0]
    assert type(found) is For
    return found


# one loop over several dimensions


class _Digits(Struct, frozen=True, eq=False):
    """A part of a loop's variable: `variable % high // low`."""

    low: int
    high: int

    def divided(self, by: int) -> _Digits:
        return _Digits(self.low * by, self.high)

    def rest(self, by: int) -> _Digits:
        return _Digits(self.low, min(self.high, self.low * by))


def _divided(loop: For) -> For:
    """A loop whose variable is divided by numbers as one loop for each digit; itself where it is not."""
    if not _is_plain(loop) or _is_dimension(loop):
        return loop
    size, ends = _size(loop), {1}

    def digits(node: Expr) -> _Digits | None:
        if node is loop.var:
            return _Digits(1, size)
        if type(node) is not Call or node.op not in _DIVISIONS | _RESTS or type(node.args[1]) is not Const:
            return None
        if node.dtype is not loop.var.dtype:
            return None  # floats are divided, too, by infinities
        inner, by = digits(node.args[0]), int(node.args[1].value)
        if inner is None or by < 1:
            return None
        return inner.divided(by) if node.op in _DIVISIONS else inner.rest(by)

    for node in walk(loop.body):
        found = digits(node) if type(node) is Call else None
        if found is not None:
            ends |= {found.low, found.high}
    steps = sorted(ends | {size})
    if len(steps) < 3 or steps[-1] != size or any(b % a for a, b in itertools.pairwise(steps)):
        return loop
    if steps[1] < LINE and not holds(loop.body, For):
        return loop
    dtype = loop.var.dtype
    levels = [Var(f"{loop.var.name}_{at}", dtype) for at in range(len(steps) - 1)]
    made: dict[int, tuple[Expr, _Digits]] = {}

    def value(part: _Digits) -> Expr:
        terms = [
            var if step == part.low else var * const(step // part.low, dtype)
            for var, step in zip(levels, steps, strict=False)
            if part.low <= step < part.high
        ]
        total: Expr = terms[-1] if terms else const(0, dtype)
        for term in reversed(terms[:-1]):
            total = total + term
        made[id(total)] = (total, part)
        return total

    def variable(node: Var) -> Expr:
        return value(_Digits(1, size)) if node is loop.var else node

    def call(node: Call) -> Expr:
        if node.op not in _DIVISIONS | _RESTS or id(node.args[0]) not in made or type(node.args[1]) is not Const:
            return node
        _, part = made[id(node.args[0])]
        by = int(node.args[1].value)
        if by < 1:
            return node
        return value(part.divided(by) if node.op in _DIVISIONS else part.rest(by))

    body: tuple[Stmt, ...] = rewrite(loop.body, {Var: variable, Call: call})
    zero = const(0, loop.start.dtype)
    loops = [
        For(var, zero, const(after // before, loop.stop.dtype), ())
        for var, (before, after) in zip(levels, itertools.pairwise(steps), strict=True)
    ]
    outermost = loops[-1].replace(span=loop.span, trivia=loop.trivia)
    return _nest([outermost, *loops[-2::-1]], body)


def _is_dimension(loop: For) -> bool:
    """Whether a loop goes through one of several dimensions of a buffer, as it is."""
    accesses = (node for node in walk(loop.body) if type(node) in (BufferLoad, BufferStore))
    return any(len(node.indices) > 1 and any(one is loop.var for one in node.indices) for node in accesses)  # type: ignore[attr-defined]


# loops over tiles


def _joined(nest: For) -> list[For]:
    """A nest with its loops over tiles joined with those in the tiles, as one nest for each loop in it where that is
    needed; itself where there are none."""
    loops, body = _chain(nest)
    if len(body) > 1 and all(type(stmt) is For for stmt in body) and all(map(_is_plain, loops)) and loops:
        parts: list[For] = [_nest(loops, (stmt,)) for stmt in body]
        parts = [parts[0], *(refresh(part) for part in parts[1:])]
        made = [_alone(part) for part in parts]
        if are_same(made, parts):
            return [nest]
        deps = Dependences(tuple(parts))
        apart = all(may_merge(deps, a, b).legal for a, b in itertools.combinations(parts, 2))
        return made if apart else [nest]
    return [_alone(nest)]


def _chain(nest: For) -> tuple[list[For], tuple[Stmt, ...]]:
    """The plain loops in each other alone, and what they are around."""
    loops: list[For] = []
    body: tuple[Stmt, ...] = (nest,)
    while len(body) == 1 and _is_plain(body[0]) and len(loops) < DEEPEST:
        loop = body[0]
        assert type(loop) is For
        loops.append(loop)
        body = loop.body
    return loops, body


def _alone(nest: For) -> For:
    """The nest with loops joined; itself where none can be."""
    given, body = _chain(nest)
    loops = given
    parts: dict[Var, list[Var]] = {loop.var: [loop.var] for loop in loops}
    moved = False
    at = len(loops) - 1
    while at > 0:
        for place in range(at - 1, -1, -1):
            made = _pair(loops, body, place, at)
            if made is not None:
                parts[made[0][place].var] = parts[loops[place].var] + parts[loops[at].var]
                moved = moved or place != at - 1
                (loops, body), at = made, len(made[0])
                break
        at -= 1
    if loops is given:
        return nest
    return _nest(loops, body) if not moved or _may_move(nest, given, loops, body, parts) else nest


def _pair(
    loops: list[For], body: tuple[Stmt, ...], outer: int, inner: int
) -> tuple[list[For], tuple[Stmt, ...]] | None:
    """The loops and their body with two loops as one in the place of the outer; None where they are used apart."""
    x, y = loops[outer], loops[inner]
    if not (_is_plain(x) and _is_plain(y)) or x.var.dtype is not y.var.dtype or x.stop.dtype is not y.stop.dtype:
        return None
    size = _size(y)
    if size < 2 or _size(x) * size > x.var.dtype.int_range()[1] or not _multiplied(body, x.var, size):
        return None
    whole = Var(f"{x.var.name}_{y.var.name}", x.var.dtype)
    rest = whole - x.var * const(size, x.var.dtype)

    def simpler(node: Call) -> Expr:
        if node.op not in _SUMS or not node.dtype.is_int or node.dtype.is_vector or not uses(node, x.var):
            return node
        form = linear(node)
        return node if x.var in form.terms else expression(form)

    found: tuple[Stmt, ...] = rewrite(substitute(body, {y.var: rest}), {Call: simpler})
    if uses(found, x.var):
        return None
    made = x.replace(var=whole, stop=const(_size(x) * size, x.stop.dtype))
    return [made if loop is x else loop for loop in loops if loop is not y], found


def _multiplied(body: tuple[Stmt, ...], var: Var, size: int) -> bool:
    """Whether a variable is multiplied with a number, or a multiple of it, somewhere."""
    for node in walk(body):
        if type(node) is Call and node.op is OPS["mul"]:
            a, b = node.args
            factor = b if a is var else a if b is var else None
            if type(factor) is Const and factor.dtype.is_int and factor.value % size == 0:
                return True
    return False


def _may_move(
    nest: For, given: list[For], loops: list[For], body: tuple[Stmt, ...], parts: dict[Var, list[Var]]
) -> bool:
    """Whether the iterations of a nest may run in the order of its joined loops, which `parts` tells.

    They may where no loop carries a dependence, and where each of them stores an element of its own, or updates one:
    then only the order of the updates of one element counts.
    """
    store = _only_store(body)
    if store is not None:
        spatial = {index for index in store.indices if any(index is loop.var for loop in loops)}
        reduced = [loop for loop in loops if loop.var not in spatial]
        apart = len(spatial) == sum(1 for index in store.indices if index in spatial)
        apart = apart and not any(uses(index, loop.var) for index in store.indices for loop in reduced)
        own = not uses(store.value, store.buffer) if not reduced else _updates(store)
        if apart and own:
            after = [var for loop in reduced for var in parts[loop.var]]
            return [loop.var for loop in given if loop.var in after] == after
    deps = Dependences((nest,))
    return all(is_parallel(deps, loop) for loop in given)


def _only_store(body: tuple[Stmt, ...]) -> BufferStore | None:
    """The store that is all that a body does, with names of values written out; None where it does something else."""
    *names, store = body
    if type(store) is not BufferStore or store.predicate is not None or store.buffer.is_scalar:
        return None
    values: dict[Any, Expr] = {}
    for name in names:
        if type(name) is not Bind:
            return None
        values[name.var] = substitute(name.value, values)
    found: BufferStore = substitute(store, values)
    return None if any(map(reads_memory, found.indices)) else found


def _updates(store: BufferStore) -> bool:
    """Whether a store combines its own element with a value that does not read its buffer, in whatever order."""
    value = store.value
    if type(value) is not Call or value.op not in (OPS["add"], OPS["sub"], OPS["mul"], OPS["min"], OPS["max"]):
        return False
    mine, other = value.args if type(value.args[0]) is BufferLoad else value.args[::-1]
    if type(mine) is not BufferLoad or mine.buffer is not store.buffer or mine.predicate is not None:
        return False
    return same_indices(mine.indices, store.indices) and not uses(other, store.buffer)


__all__ = ["whole_loops"]
