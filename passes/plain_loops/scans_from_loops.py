"""Plain loops that scan become loops over one store that reads the element before it, which `with_blocks` takes.

before:                                            after:
    total: T.float32 = 0.0                             for k in range(64):
    for k in range(64):                                    B[k] = T.if_then_else(k == 0, 0.0, B[k - 1]) + A[k]
        total = total + A[k]
        B[k] = total

What an iteration does decides, the first one and all others. So it is the same whether a scan is kept in a variable or
read back from the element before, whether its first element is stored before the loop or under a condition in it, and
whether an element holds the terms up to its own or those before. What else such a loop stores gets a loop of its own.
No rounding changes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import exactly_equal
from tirscript.ir.expr import BufferData, BufferLoad, Call, Const, Expr, Var
from tirscript.ir.op import OPS, Op, const
from tirscript.ir.rewrite import rewrite, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Bind, BufferStore, DeclBuffer, For, If, MatchBuffer, ScalarDecl, Stmt

from ..iterations import CHOICE, Iteration, NotPlain, cells_of, is_plain
from ..statements import equal, has_effect, keep_comments

_LESS = (OPS["less"], OPS["less_equal"])
_COMPARISONS = (*_LESS, OPS["greater"], OPS["greater_equal"])
# what a store may be moved behind
_QUIET = frozenset((AllocBuffer, Bind, BufferStore, For, If, ScalarDecl))


def scans_from_loops(body: tuple[Stmt, ...], takes: Callable[[For], bool], ordered: bool = False) -> tuple[Stmt, ...]:
    """The body of a function with its loops that scan as above; `takes` says of a nest so changed whether it stays so.

    Loops from a number on are looked at. `ordered` leaves scans of floats as they are.
    """
    for node in walk(body):
        if type(node) in (DeclBuffer, BufferData) or (type(node) is MatchBuffer and type(node.source) is not Var):
            return body  # it may be a second name for the same memory
    return _Function(body, takes, ordered).scans()


class _Step(Struct, frozen=True, eq=False):
    """`op(the element before, value)`."""

    op: Op
    value: Expr


class _Scan(Struct, frozen=True, eq=False):
    """The scan of a store to the element `k + shift`.

    The first element, at 0, is `first`; the step to the element `k + late` has the value of the iteration `k`.
    `begun` is the statement before the loop that stores the first element, `cell` the variable that holds the scan.
    """

    store: BufferStore
    shift: int
    first: Expr
    step: _Step
    late: int
    begun: int | None = None
    cell: Buffer | None = None


class _Made(Struct, frozen=True, eq=False):
    """The statements of a body, and the loops among them that scan."""

    body: tuple[Stmt, ...]
    loops: tuple[For, ...]


class _Function:
    """Rewrites the loops of one function."""

    def __init__(self, body: tuple[Stmt, ...], takes: Callable[[For], bool], ordered: bool) -> None:
        self.root, self.takes, self.ordered = body, takes, ordered
        self.own = {node.buffer for node in walk(body) if type(node) in (AllocBuffer, ScalarDecl)}  # type: ignore[attr-defined]

    def scans(self) -> tuple[Stmt, ...]:
        nests: list[Stmt] = []
        for stmt in self.root:
            made = self.inside(stmt)
            nests.append(made if made is stmt or self.takes(made) else stmt)
        return self.body(tuple(nests), self.takes)

    def inside(self, stmt: Any) -> Any:
        """A nest with the scans in it; itself where there are none."""
        if type(stmt) is not For:
            return stmt
        body = self.body(tuple(self.inside(inner) for inner in stmt.body), lambda loop: True)
        same = len(body) == len(stmt.body) and all(map(operator.is_, body, stmt.body))
        return stmt if same else stmt.replace(body=body)

    def body(self, stmts: tuple[Stmt, ...], takes: Callable[[For], bool]) -> tuple[Stmt, ...]:
        """Statements behind each other with those loops among them that scan."""
        at = 0
        while at < len(stmts):
            try:
                made = _Loop(self, stmts, at).made() if _may_scan(stmts[at]) else None
            except NotPlain:
                made = None
            if made is not None and all(map(takes, made.loops)):
                at += len(made.body) - len(stmts)
                stmts = made.body
            at += 1
        return stmts


def _may_scan(loop: Stmt) -> bool:
    """Whether a statement is an innermost loop from a number on, of at least two iterations as far as is known."""
    if type(loop) is not For or loop.kind != "serial" or loop.step is not None or loop.annotations:
        return False
    if type(loop.start) is not Const or loop.start.value < 0:
        return False
    if type(loop.stop) is Const and loop.stop.value - loop.start.value < 2:
        return False
    if any(type(node) not in (Call, Const, Var) for node in walk(loop.stop)):
        return False
    return all(type(inner) is not For for inner in walk(loop.body))


class _Loop:
    """Makes scans of one loop, which is the statement `at` of some. Raises NotPlain where it is something else."""

    def __init__(self, function: _Function, stmts: tuple[Stmt, ...], at: int) -> None:
        self.function, self.stmts, self.at = function, stmts, at
        loop: Any = stmts[at]
        self.loop: For = loop
        self.var: Var = loop.var
        self.low, self.stop = int(loop.start.value), loop.stop
        self.cells = cells_of(self.loop)
        first, rest = (Iteration(self.loop, self.cells, is_first) for is_first in (True, False))
        self.guarded = first.guarded or rest.guarded
        if first.values.keys() != rest.values.keys() or len(first.stores) != len(rest.stores):
            raise NotPlain
        self.values, self.stores = rest.values, rest.stores
        self.firsts = dict(first.values)
        for a, b in zip(first.stores, rest.stores, strict=True):
            if a.buffer is not b.buffer or not all(map(self.same_first, a.indices, b.indices)):
                raise NotPlain
            if a.buffer in self.firsts or any(_reads(one, a.buffer) for one in (first, rest)):
                raise NotPlain
            self.firsts[a.buffer] = a.value
        self.stored = set(self.firsts)
        self.scans: list[_Scan] = []

    def number(self, value: int) -> Const:
        return const(value, self.var.dtype)

    def ends(self, shift: int) -> Expr:
        """The end of the loop, so much further."""
        return self.number(int(self.stop.value) + shift) if type(self.stop) is Const else _moved(self.stop, shift)

    def same_first(self, a: Expr, b: Expr) -> bool:
        """Whether two indices are the same in the first iteration."""
        one, other = (linear(substitute(index, {self.var: self.number(self.low)})) for index in (a, b))
        return a.dtype is b.dtype and (one - other).is_constant and (one - other).constant == 0

    def made(self) -> _Made | None:
        """The statements around the loop with loops that scan in its place; None where it does not."""
        todo = list(self.stores)
        while (found := next((scan for store in todo if (scan := self.scan(store)) is not None), None)) is not None:
            self.scans.append(found)
            todo = self.reread(todo, found)
        held = {scan.cell for scan in self.scans}
        sums = [BufferStore(cell, self.cells[cell], value) for cell, value in self.values.items() if cell not in held]
        rest = [*todo, *sums]
        if not self.scans or (rest and self.guarded):
            return None
        if any(uses(store, cell) for store in rest for cell in self.values if cell is not store.buffer):
            return None
        gone = {scan.begun for scan in self.scans if scan.begun is not None}
        behind: list[Stmt] = []
        starts: dict[Buffer, Expr] = {}
        for cell, scan in {scan.cell: scan for scan in self.scans}.items():
            if cell is not None:
                begun, starts[cell] = self.start(cell)
                gone |= set() if begun is None else {begun}
                behind += self.end(scan, cell, begun)
        loops: Any = tuple(self.written(scan, starts) for scan in self.scans)
        for stmt in (self.loop, *(self.stmts[place] for place in sorted(gone, reverse=True))):
            loops = keep_comments(stmt, loops)
        before = [stmt for place, stmt in enumerate(self.stmts[: self.at]) if place not in gone]
        body = (*before, *loops, *(self.over(store) for store in rest), *behind, *self.stmts[self.at + 1 :])
        return _Made(body, loops)

    # what a store scans

    def scan(self, store: BufferStore) -> _Scan | None:
        """The scan that a store is, over the last dimension; None where it is something else."""
        dtype = store.buffer.dtype
        if not (dtype.is_int or (dtype.is_float and not self.function.ordered)) or dtype.bits < 8:
            return None
        form = linear(store.indices[-1])
        if list(form.terms.items()) != [(self.var, 1)] or any(uses(index, self.var) for index in store.indices[:-1]):
            return None
        stop, most = linear(self.stop), self.var.dtype.int_range()[1]
        if (most + min(0, stop.constant) if stop.terms else stop.constant) + form.constant > most:
            return None
        if uses(store.value, store.buffer):
            found = self.recurrence(store, form.constant)
        else:
            kinds = (self.inclusive, self.exclusive)
            found = next(
                (one for cell in self.values for kind in kinds if (one := kind(store, form.constant, cell))), None
            )
        return None if found is None or any(uses(found.step.value, cell) for cell in self.values) else found

    def recurrence(self, store: BufferStore, shift: int) -> _Scan | None:
        """`B[k] = op(B[k - 1], value)`, the first element in the first iteration or before the loop."""
        before = (*store.indices[:-1], store.indices[-1] - 1)

        def is_before(node: Expr) -> bool:
            return type(node) is BufferLoad and node.buffer is store.buffer and all(map(_same, node.indices, before))

        step, first = _step(store.value, store.buffer, is_before), self.firsts[store.buffer]
        if step is None:
            return None
        if not uses(first, store.buffer):
            first = substitute(first, {self.var: self.number(self.low)})
            return _Scan(store, shift, first, step, shift) if self.low + shift == 0 else None
        if not exactly_equal(first, store.value):
            return None
        return self.continued(store, shift, step)

    def continued(self, store: BufferStore, shift: int, step: _Step) -> _Scan | None:
        """A scan whose first element is stored before the loop."""
        if type(self.stop) is not Const and not _same(self.ends(shift), store.buffer.shape[-1]):
            return None  # the loop may not run, and the first element is stored
        begun = self.before(store.buffer, (*store.indices[:-1], self.number(0))) if self.low + shift == 1 else None
        return None if begun is None else _Scan(store, shift, begun[1], step, shift, begun[0])

    def inclusive(self, store: BufferStore, shift: int, cell: Buffer) -> _Scan | None:
        """`total = op(total, value)` with `B[k] = total` behind it."""
        step, first = self.cell_step(cell), self.firsts[cell]
        if step is None or not exactly_equal(store.value, self.values[cell]):
            return None
        if not exactly_equal(self.firsts[store.buffer], first):
            return None
        if self.low + shift == 0:
            return _Scan(store, shift, substitute(first, {self.var: self.number(self.low)}), step, shift, None, cell)
        found = self.continued(store, shift, step) if exactly_equal(first, self.values[cell]) else None
        if found is None or not exactly_equal(found.first, self.start(cell)[1]):
            return None
        return structs.replace(found, cell=cell)

    def exclusive(self, store: BufferStore, shift: int, cell: Buffer) -> _Scan | None:
        """`total = op(total, value)` with `B[k] = total` before it."""
        step, held = self.cell_step(cell), BufferLoad(cell, self.cells[cell])
        if step is None or not (exactly_equal(store.value, held) and exactly_equal(self.firsts[store.buffer], held)):
            return None
        if self.low + shift != 0 or not exactly_equal(self.firsts[cell], self.values[cell]):
            return None
        return _Scan(store, shift, held, step, shift + 1, None, cell)

    def cell_step(self, cell: Buffer) -> _Step | None:
        return _step(self.values[cell], cell, lambda node: type(node) is BufferLoad and node.buffer is cell)

    # what the scans of a loop are for what else it does

    def reread(self, stores: list[BufferStore], scan: _Scan) -> list[BufferStore]:
        """The other stores of the loop, with elements of a scan where its variable was."""
        left = [store for store in stores if store is not scan.store]
        if scan.cell is None or self.guarded:
            return left
        held, whole = BufferLoad(scan.store.buffer, scan.store.indices), self.values[scan.cell]
        rules: dict[type, Callable[[Any], Any]] = {
            BufferLoad: lambda node: held if node.buffer is scan.cell else node,
            Call: lambda node: held if exactly_equal(node, whole) else node,
        }
        del rules[Call if scan.late != scan.shift else BufferLoad]
        for found in (self.values, self.firsts):
            for buffer in found:
                if buffer is not scan.cell and buffer is not scan.store.buffer:
                    found[buffer] = rewrite(found[buffer], rules)
        return [store.replace(value=rewrite(store.value, rules)) for store in left]

    # what is around the loop

    def before(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[int, Expr] | None:
        """The statement before the loop that stores an element last, with its value, which is the same at the loop."""
        for place in range(self.at - 1, -1, -1):
            stmt = self.stmts[place]
            kind = type(stmt)
            if kind is BufferStore and stmt.buffer is buffer and stmt.predicate is None:  # type: ignore[attr-defined]
                here = all(map(_same, stmt.indices, indices))  # type: ignore[attr-defined]
            else:
                here = kind is ScalarDecl and stmt.buffer is buffer  # type: ignore[attr-defined]
            if here:
                value = stmt.value  # type: ignore[attr-defined]
                return (place, value) if value is not None and self.lasts(value, buffer, place) else None
            if uses(stmt, buffer):
                return None
        return None

    def lasts(self, value: Expr, buffer: Buffer, place: int) -> bool:
        """Whether a value that the statement at `place` stores is the same at the loop and in it."""
        between = self.stmts[place + 1 : self.at]
        if not is_plain(value) or any(map(_does_more, between)):
            return False
        read = {node.buffer for node in walk(value, BufferLoad)}
        stored = {node.buffer for node in walk(between, BufferStore)}
        return buffer not in read and read.isdisjoint(stored | self.stored)

    def start(self, cell: Buffer) -> tuple[int | None, Expr]:
        """What a variable holds where the loop begins, and the statement before that stores it, if it may go."""
        return self.before(cell, self.cells[cell]) or (None, BufferLoad(cell, self.cells[cell]))

    def end(self, scan: _Scan, cell: Buffer, begun: int | None) -> tuple[Stmt, ...]:
        """What gives a variable behind the loop the value that it has there, where somebody may read it."""
        first = None if begun is None else self.stmts[begun]
        known = [self.loop] if first is None else [first, self.loop]
        used = _count(cell, self.function.root) - _count(cell, tuple(known)) - (type(first) is not ScalarDecl)
        if begun is not None and cell in self.function.own and used == 0:
            return ()
        if type(self.stop) is not Const:
            raise NotPlain  # where the loop does not run, there is no last element
        last = BufferLoad(scan.store.buffer, (*scan.store.indices[:-1], self.ends(scan.shift - 1)))
        value: Expr = last
        if scan.late != scan.shift:
            value = Call(scan.step.op, (last, substitute(scan.step.value, {self.var: self.ends(-1)})), last.dtype)
        if type(first) is ScalarDecl:
            return (first.replace(value=value, trivia=None),)
        return (BufferStore(cell, self.cells[cell], value, span=self.loop.span),)

    def written(self, scan: _Scan, starts: dict[Buffer, Expr]) -> For:
        """The loop over the elements of a scan."""
        from ..schedule.reducers import neutral

        var, dtype = Var(self.var.name, self.var.dtype), scan.store.buffer.dtype
        step, first = scan.step, scan.first
        first = rewrite(first, {BufferLoad: lambda node: starts.get(node.buffer, node)})
        value = substitute(step.value, {self.var: _moved(var, -scan.late)})
        again = substitute(step.value, {self.var: self.number(-scan.late)}) if scan.late <= 0 else None
        none = neutral(step.op, dtype)
        start: Expr = first
        if again is not None and exactly_equal(first, again):
            start = none
        elif again is not None and type(first) is Call and first.op is step.op and exactly_equal(first.args[1], again):
            start = first.args[0]
        elif again is not None and type(first) is Call and first.op is step.op and exactly_equal(first.args[0], again):
            start = first.args[1]
        else:
            value = Call(CHOICE, (equal(var, self.number(0)), none, value), dtype)
        indices = (*scan.store.indices[:-1], var)
        last = BufferLoad(scan.store.buffer, (*indices[:-1], var - 1))
        before = Call(CHOICE, (equal(var, self.number(0)), start, last), dtype)
        store = scan.store.replace(indices=indices, value=Call(step.op, (before, value), dtype))
        return self.loop.replace(var=var, start=self.number(0), stop=self.ends(scan.shift), body=(store,), trivia=None)

    def over(self, store: BufferStore) -> For:
        """A loop over another store alone."""
        var = Var(self.var.name, self.var.dtype)
        return self.loop.replace(var=var, body=(substitute(store, {self.var: var}),), trivia=None)


def _step(value: Expr, buffer: Buffer, is_before: Callable[[Expr], bool]) -> _Step | None:
    """How a value is made of the element before; None where it is not, or where the order of terms matters."""
    from ..schedule.reducers import IDENTITIES

    if type(value) is not Call:
        return None
    dtype, args = value.dtype, value.args
    if value.op is CHOICE:
        return _chosen(value, buffer, is_before)
    if value.op is OPS["sub"] and is_before(args[0]) and not uses(args[1], buffer):
        negative = const(0, dtype) - args[1] if dtype.is_int else args[1] * const(-1.0, dtype)
        return _Step(OPS["add"], negative)
    if value.op not in IDENTITIES or (dtype.is_float and value.op is not OPS["add"]):
        return None
    for mine, other in (args, args[::-1]):
        if uses(other, buffer):
            continue
        if is_before(mine):
            return _Step(value.op, other)
        inner = _step(mine, buffer, is_before) if dtype.is_int else None
        if inner is not None and inner.op is value.op:
            return _Step(value.op, Call(value.op, (inner.value, other), dtype))
    return None


def _chosen(value: Call, buffer: Buffer, is_before: Callable[[Expr], bool]) -> _Step | None:
    """The step of `op(before, value) if condition else before`, and of `other if other > before else before`."""
    from ..schedule.reducers import neutral

    condition, *branches = value.args
    dtype = value.dtype
    if uses(condition, buffer):
        return _extreme(value, buffer, is_before)
    steps = [None if is_before(branch) else _step(branch, buffer, is_before) for branch in branches]
    op = next((step.op for step in steps if step is not None), None)
    if op is None or any(step is None and not is_before(branch) for step, branch in zip(steps, branches, strict=True)):
        return None
    if any(step is not None and step.op is not op for step in steps):
        return None
    a, b = (neutral(op, dtype) if step is None else step.value for step in steps)
    return _Step(op, Call(CHOICE, (condition, a, b), dtype))


def _extreme(value: Call, buffer: Buffer, is_before: Callable[[Expr], bool]) -> _Step | None:
    """`other if other > before else before` of integers, a maximum, and the like."""
    condition, chosen, left = value.args
    if type(condition) is not Call or condition.op not in _COMPARISONS:
        return None
    a, b = condition.args
    in_order = exactly_equal(chosen, a) and exactly_equal(left, b)
    if not in_order and not (exactly_equal(chosen, b) and exactly_equal(left, a)):
        return None
    op = OPS["min"] if (condition.op in _LESS) == in_order else OPS["max"]
    return _step(Call(op, (a, b), value.dtype), buffer, is_before)


def _reads(iteration: Iteration, buffer: Buffer) -> bool:
    """Whether something else than the value that is stored to a buffer is made of the buffer."""
    others = [store.value for store in iteration.stores if store.buffer is not buffer]
    indices = [index for store in iteration.stores for index in store.indices]
    return any(uses(expr, buffer) for expr in (*others, *indices, *iteration.values.values()))


def _same(a: Expr, b: Expr) -> bool:
    """Whether two indices are equal."""
    if type(a) is type(b) is Const:
        return a.value == b.value
    if a.dtype is not b.dtype:
        return False
    form = linear(a) - linear(b)
    return form.is_constant and form.constant == 0


def _moved(var: Expr, by: int) -> Expr:
    return var + by if by > 0 else var - -by if by else var


def _count(buffer: Buffer, root: tuple[Stmt, ...]) -> int:
    return sum(1 for node in walk(root) if node is buffer)


def _does_more(stmt: Stmt) -> bool:
    """Whether what is behind a statement may not be reached, or it changes more than it stores."""
    return has_effect(stmt) or any(isinstance(node, Stmt) and type(node) not in _QUIET for node in walk(stmt))


__all__ = ["scans_from_loops"]
