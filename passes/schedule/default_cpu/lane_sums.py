"""Sums along lines whose length only the loops around know are made in the lanes of vectors.

before:                                            after:
    for i in range(400):                               for i in range(400):
        x[i] = b[i]                                        x[i] = b[i]
        for j in range(i):                                 if 0 < i:
            x[i] = x[i] - L[i, j] * x[j]                       s: T.float32 = x[i]
        x[i] = x[i] / L[i, i]                                  if i >= 40: 64 partial results, of which s is made
                                                               else: for j in range(i): s = s - L[i, j] * x[j]
                                                               x[i] = s
                                                           x[i] = x[i] / L[i, i]

Such loops become no blocks: rows of triangles, of sparse matrices, of what a search has found so far. What they add to
may be an element of a buffer that they read as well, where it is proved to be none of those that they read: it waits in
a variable then, which is a gain without lanes, too. Short lines are added up one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import FLOAT32, FLOAT64, INT32
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Broadcast, BufferLoad, Call, Expr, Ramp, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.rewrite import holds, refresh, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Bind, Block, BufferStore, DeclBuffer, For, If, ScalarDecl, Stmt

from ...access import constant_extent
from ...contract import contracted
from ...lower.flatten_buffer import flat_index
from ...lower.vectorize_loop import in_vectors
from ...plain_loops.choices_from_loops import chosen
from ...plain_loops.names_written_out import Refused, written_out
from ...plain_loops.sums_of_differences import as_sum
from ...plain_loops.updates_joined import updates_joined
from ...simplify import simplified
from ...statements import keep_comments, reads_memory
from ..reducers import Update, neutral, update_by
from .facts import CpuFacts
from .nests import by_library
from .records import flattened
from .reductions import PAYS, SYMBOLIC, VECTORS

# sums that one loop makes
MOST = 4
# elements of lanes that lie so far apart are picked from whole registers; those farther apart are gathered
NEAR = 4
# partial results that are combined one by one in the end
SHORTEST = 4


class Sum(Struct, frozen=True, eq=False):
    """What a loop does to one element or variable: `update` in terms of the loop, `kept` in a variable for its time."""

    update: Update
    kept: bool

    @property
    def buffer(self) -> Buffer:
        return self.update.store.buffer


class Parts(Struct, frozen=True):
    """Partial results: `count` vectors of `one` lanes each, variables where it is 1, for `least` iterations or more."""

    one: int
    count: int
    least: int


def lane_sums(func: PrimFunc, facts: CpuFacts) -> PrimFunc:
    """The function, which `may_schedule` leaves to us, with its innermost plain loops that only add up in lanes."""
    if holds(func.body, DeclBuffer):
        return func  # one memory under several names
    if not any(True for node in walk(func.body, For) if _may_sum(node)):
        return func
    in_lanes = facts.reassociate and func.attrs.get("fastmath") is not False
    joined = updates_joined(func.body, in_order=not in_lanes)
    plain = func if joined is func.body else func.replace(body=joined)
    made = _Lanes(facts, in_lanes).function(plain)
    return func if made is plain else made


def sums_in_lanes(nest: For, facts: CpuFacts) -> bool:
    """Whether the innermost loops of a nest are sums along memory that `lane_sums` makes in vectors."""
    inner = [node for node in walk(nest, For) if not holds(node.body, For)]
    lanes = _Lanes(facts, in_lanes=True)
    for loop in inner:
        sums = lanes.sums(loop) if _may_sum(loop) else None
        parts = lanes.parts(loop, sums) if sums is not None else None
        if parts is None or parts.one == 1:
            return False
    return True


def _may_sum(loop: For) -> bool:
    """Whether a loop looks as if it did nothing but add up."""
    if loop.kind != "serial" or loop.step is not None or loop.annotations:
        return False
    if loop.start.dtype is not loop.var.dtype or loop.stop.dtype is not loop.var.dtype:
        return False
    stores: list[Any] = []
    for node in walk(loop.body):
        if isinstance(node, Stmt):
            if type(node) not in _TAKEN:
                return False
            if type(node) is BufferStore:
                stores.append(node)
        elif type(node) in (Broadcast, Ramp):
            return False
    declared = {node.buffer for node in loop.body if type(node) is ScalarDecl}
    return bool(stores) and not any(uses(one.indices, loop.var) or one.buffer in declared for one in stores)


_TAKEN = frozenset((BufferStore, If, Bind, ScalarDecl))


class _Lanes(Scoped):
    """Knows at each loop what is true of the variables of those around it."""

    def __init__(self, facts: CpuFacts, in_lanes: bool) -> None:
        super().__init__()
        self.facts, self.in_lanes = facts, in_lanes

    def block(self, stmt: Block) -> Block:
        return stmt

    def nested(self, loop: For) -> Any:
        if loop.kind == "vectorized":
            return loop  # what is in it is done in lanes already
        if not _may_sum(loop):
            return self.descend(loop)
        sums = self.sums(loop)
        return loop if sums is None else self.made(loop, sums)

    rules = {For: nested, Block: block}  # noqa: RUF012

    def sums(self, loop: For) -> list[Sum] | None:
        """The sums that are all that a loop does; None for other loops."""
        stores: list[Any] = list(walk(loop.body, BufferStore))
        buffers = {store.buffer for store in stores}
        always = {stmt.buffer for stmt in loop.body if type(stmt) is BufferStore}
        begun = {buffer for buffer in buffers if buffer.is_scalar or buffer in always}
        try:
            found: Any = written_out(tuple([chosen(stmt, begun) for stmt in loop.body]))
        except Refused:
            return None
        if len(found) > MOST or not all(type(one) is BufferStore for one in found) or len(buffers) != len(found):
            return None
        sums: list[Sum] = []
        for store in found:
            one = self.sum_of(loop, store)
            if one is None or any(uses(one.update.value, buffer) for buffer in buffers - {store.buffer}):
                return None
            sums.append(one)
        return sums

    def sum_of(self, loop: For, store: BufferStore) -> Sum | None:
        """A store of a loop as a sum that may wait in a variable for the end of it."""
        buffer = store.buffer
        if store.predicate is not None or buffer.dtype.is_vector or any(map(reads_memory, store.indices)):
            return None
        if uses(store.indices, loop.var):
            return None
        if buffer.is_scalar:
            update = update_by(as_sum(store))
            return None if update is None else Sum(update, kept=False)
        # other elements of the buffer are read as if they were of another one
        other = buffer.replace()
        mine = BufferLoad(buffer, store.indices)
        with self.analyzer.scope():
            self.analyzer.enter_loop(loop)
            apart = _Apart(self, mine, other)
            value = apart.visit(store.value)
        update = update_by(as_sum(store.replace(value=value))) if apart.holds else None
        if update is None:
            return None
        combined = substitute(update.value, {other: buffer})
        return Sum(Update(store, update.op, combined, update.first), kept=True)

    def made(self, loop: For, sums: list[Sum]) -> Any:
        """A loop with its sums in variables, and in lanes where it is long."""
        parts = self.parts(loop, sums) if self.in_lanes else None
        if parts is None and not any(uses(one.update.value, one.buffer) for one in sums):
            return loop  # LLVM keeps in registers what it sees to be apart
        before: list[Stmt] = []
        behind: list[Stmt] = []
        updates: list[Update] = []
        for one in sums:
            update = one.update
            if one.kept:
                kept = Buffer(one.buffer.name, (), one.buffer.dtype, scope="scalar")
                before.append(ScalarDecl(kept, BufferLoad(one.buffer, update.store.indices), span=loop.span))
                behind.append(update.store.replace(value=BufferLoad(kept, ()), trivia=None))
                update = Update(update.store.replace(buffer=kept, indices=()), update.op, update.value, update.first)
            updates.append(update)
        short = loop.replace(body=tuple(map(_stored, updates)) if before else loop.body, trivia=None)
        body: tuple[Stmt, ...] = (short,)
        extent, kind = constant_extent(loop), loop.var.dtype
        if parts is not None and extent is not None:
            body = _long(loop, updates, parts, self.facts.fuses)
        elif parts is not None:
            enough = get_op("greater_equal")(simplified(loop.stop - loop.start), const(parts.least, kind))
            if not before and not is_const(loop.start, 0):
                # a difference that its dtype does not hold is one of bounds without iterations, or negative
                enough = get_op("logical_and")(get_op("less")(loop.start, loop.stop), enough)
            body = (If(enough, _long(loop, updates, parts, self.facts.fuses), (refresh(short),), span=loop.span),)
        body = (*before, *body, *behind)
        if before and (extent is None or extent < 1):
            body = (If(get_op("less")(loop.start, loop.stop), body, (), span=loop.span),)
        return keep_comments(loop, body)

    def parts(self, loop: For, sums: list[Sum]) -> Parts | None:
        """The partial results that a loop's sums gain by; None where there are none."""
        dtype, values = sums[0].buffer.dtype, [one.update.value for one in sums]
        if dtype not in (FLOAT32, FLOAT64) or any(one.buffer.dtype is not dtype for one in sums):
            return None
        one = self.facts.lanes(dtype.bits)
        if one < SHORTEST or loop.var.dtype.bits < 32 or any(map(by_library, values)):
            return None
        if all(_is_near(value, loop.var) for value in values):
            made = Parts(one, VECTORS if len(sums) == 1 else SYMBOLIC, PAYS * SYMBOLIC * one // 4)
        else:
            made = Parts(1, SHORTEST, 2 * SHORTEST)
        extent = constant_extent(loop)
        if extent is not None and extent < made.least:
            return None
        return made if made.one == 1 or _has_vectors(loop, sums, one) else None


def _has_vectors(loop: For, sums: list[Sum], lanes: int) -> bool:
    """Whether the partial results of a loop have a form in vectors."""
    body: list[Stmt] = []
    for one in sums:
        partial = BufferLoad(Buffer("p", (const(lanes, INT32),), one.buffer.dtype), (loop.var,))
        body.append(BufferStore(partial.buffer, partial.indices, one.update.combine(partial, one.update.value)))
    return in_vectors(flattened(loop.replace(body=tuple(body))), loop.start, lanes) is not None


def _long(loop: For, updates: list[Update], shape: Parts, fuses: bool) -> tuple[Stmt, ...]:
    """The sums of a loop of many iterations by partial results, which are combined behind it."""
    kind, one, lanes = loop.var.dtype, shape.one, shape.one * shape.count
    count = Bind(Var("count", kind), simplified(loop.stop - loop.start))
    whole = Bind(Var("whole", kind), count.var // lanes)
    chunk, last = Var(f"{loop.var.name}_0", kind), Var(f"{loop.var.name}_0", kind)
    rest = count.var - whole.var * lanes

    def nothing(each: Update, mine: BufferLoad, lane: Var) -> Expr:
        return neutral(each.op, mine.dtype)

    def term(each: Update, first: Expr, lane: Expr) -> Expr:
        found: Expr = refresh(substitute(each.value, {loop.var: simplified(first + lane)}))
        return found

    def added(each: Update, mine: BufferLoad, lane: Var) -> Expr:
        found: Expr = each.combine(mine, term(each, loop.start + chunk * lanes, lane))
        return contracted(found) if fuses else found

    def left(each: Update, mine: BufferLoad, lane: Var) -> Expr:
        # a store under a condition would keep the partial results in memory
        value = term(each, loop.start + whole.var * lanes + last * one, lane)
        inside = get_op("less")(last * one + lane, rest)
        return each.combine(mine, get_op("if_then_else")(inside, value, nothing(each, mine, lane)))

    parts = _Partial(loop, updates, lanes, "unroll" if one == 1 else "vectorized")
    out: list[Stmt] = [count, whole, *parts.each(nothing)]
    out.append(For(chunk, const(0, kind), whole.var, tuple(parts.each(added)), span=loop.span))
    if one > 1:
        parts, narrowed = parts.combined(one)
        out += narrowed
        out.append(For(last, const(0, kind), (rest + (one - 1)) // one, tuple(parts.each(left)), span=loop.span))
        parts, narrowed = parts.combined(SHORTEST)
        out += narrowed
    for each, made in zip(updates, parts.buffers, strict=True):
        results: list[Expr] = [BufferLoad(made, (const(at, kind),)) for at in range(parts.lanes)]
        mine = BufferLoad(each.store.buffer, each.store.indices)
        store = each.store.replace(value=each.combine(mine, functools.reduce(each.combine, results)), trivia=None)
        out.append(store)
    if one == 1:
        behind = loop.start + whole.var * lanes
        body = [
            _stored(each).replace(
                value=each.combine(BufferLoad(each.store.buffer, each.store.indices), term(each, behind, last))
            )
            for each in updates
        ]
        out.append(For(last, const(0, kind), rest, tuple(body), span=loop.span))
    return tuple(out)


class _Partial:
    """Partial results of each of several sums, one in each of so many lanes."""

    def __init__(self, loop: For, updates: list[Update], lanes: int, kind: str) -> None:
        self.loop, self.updates, self.lanes, self.kind = loop, updates, lanes, kind
        stores = [each.store.buffer for each in updates]
        self.buffers = [Buffer(store.name, (const(lanes, INT32),), store.dtype) for store in stores]
        self.there = False

    def each(self, value: Callable[[Update, BufferLoad, Var], Expr]) -> list[Stmt]:
        """A loop that stores a value in each lane, the first time behind the allocations."""
        lane = Var("lane", self.loop.var.dtype)
        body: list[Stmt] = []
        for update, made in zip(self.updates, self.buffers, strict=True):
            body.append(BufferStore(made, (lane,), value(update, BufferLoad(made, (lane,)), lane)))
        zero, width = const(0, lane.dtype), const(self.lanes, lane.dtype)
        stmt = For(lane, zero, width, tuple(body), kind=self.kind, span=self.loop.span)
        before = [] if self.there else [AllocBuffer(made) for made in self.buffers]
        self.there = True
        return [*before, stmt]

    def combined(self, lanes: int) -> tuple[_Partial, list[Stmt]]:
        """The same in fewer lanes, each of which takes every so manyth."""
        if lanes == self.lanes:
            return self, []
        made = _Partial(self.loop, self.updates, lanes, self.kind)
        wide = dict(zip(made.buffers, self.buffers, strict=True))

        def value(each: Update, mine: BufferLoad, lane: Var) -> Expr:
            places = [lane + at if at else lane for at in range(0, self.lanes, lanes)]
            loads: list[Expr] = [BufferLoad(wide[mine.buffer], (place,)) for place in places]
            return functools.reduce(each.combine, loads)

        return made, made.each(value)


def _stored(update: Update) -> BufferStore:
    """An update as a store."""
    store = update.store
    return store.replace(value=update.combine(BufferLoad(store.buffer, store.indices), update.value), trivia=None)


def _is_near(value: Expr, var: Var) -> bool:
    """Whether a value reads along memory where it reads other elements with each step of a variable."""
    for node in walk(value):
        if type(node) is BufferLoad and any(uses(index, var) for index in node.indices):
            if any(map(reads_memory, node.indices)):
                return False
            terms = linear(flat_index(node.buffer, node.indices)).terms
            apart = [term for term in terms if uses(term, var)]
            if any(_variable(term) is not var or abs(terms[term]) > NEAR for term in apart):
                return False
    return True


def _variable(term: Expr) -> Expr:
    """A variable, whatever integer it was cast to."""
    while type(term) is Call and term.op is OPS["cast"] and term.args[0].dtype.is_int:
        term = term.args[0]
    return term


class _Apart(Scoped):
    """Finds out whether what an expression reads of a buffer is the very element, or proved to be another one, of which
    it makes elements of `other`."""

    def __init__(self, around: Scoped, mine: BufferLoad, other: Buffer) -> None:
        super().__init__(around.analyzer)
        self.storage = around.storage
        self.mine, self.other = mine, other
        self.holds = True

    def load(self, load: BufferLoad) -> Any:
        if load.buffer is not self.mine.buffer:
            return self.descend(load)
        if structural_equal(load, self.mine):
            return load
        pairs = list(zip(load.indices, self.mine.indices, strict=True))
        if load.predicate is not None or not any(self.differ(a, b) for a, b in pairs):
            self.holds = False
            return load
        return self.descend(load.replace(buffer=self.other))

    def differ(self, a: Expr, b: Expr) -> bool:
        """Whether two indices are never the same."""
        if a.dtype is not b.dtype or reads_memory(a):
            return False
        known = self.analyzer
        return known.can_prove(get_op("less")(a, b)) or known.can_prove(get_op("less")(b, a))

    rules = {BufferLoad: load}  # noqa: RUF012


__all__ = ["lane_sums", "sums_in_lanes"]
