"""Lines of which only the ends are brought back into what they read are cut there: between them they lie along memory.

before:                                            after:
    for i, j in T.grid(8, 100):                        for i, j in T.grid(8, 1):
        with T.block("B"):                                 ... B[vi, vj] = A[vi, T.max(vj - 1, 0)]
            vi, vj = T.axis.remap("SS", [i, j])        for i, j in T.grid(8, 99):
            B[vi, vj] = A[vi, T.max(vj - 1, 0)]            ... B[vi, vj + 1] = A[vi, vj]

So are lines that go on at their other side, `A[vi, (vj + 1) % 100]`, and those of a parameter of which a choice asks
where an element lies, `A[vi, vj - 1] + A[vi, vj + 1] if 0 < vj and vj < 99 else A[vi, vj]`. Windows, whose
elements are read again and again, get copies with a border instead (`clamped_windows.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from msgspec import Struct

from tirscript.ir.arith.linear import Linear, linear
from tirscript.ir.arith.logic import AND, NEGATED, NOT, OR, negation
from tirscript.ir.dtype import BOOL
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.rewrite import refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, Stmt

from ...simplify import simplified
from ...statements import may_overlap, reads_memory
from ..naming import named_apart

_ASKED = _MAX, _MIN, _MOD, _CHOICE = tuple([OPS[name] for name in ("max", "min", "floormod", "if_then_else")])
# what is left between the ends is at least so many elements, and so many times what is cut off
SHORTEST, TIMES = 48, 4
# elements that a line may be moved by, so that no index wraps around
FARTHEST = 1 << 16
# stands for lengths that only the call knows
LONG = 64


def with_clamped_lines(func: PrimFunc) -> PrimFunc:
    """The function with lines cut where what they read is brought back; itself where there are none."""
    if may_overlap(func) or not any(type(node) is Call and node.op in _ASKED for node in walk(func.body)):
        return func
    body: list[Stmt] = []
    for stmt in func.body:
        body += _cut(func, stmt)
    if are_same(body, func.body):
        return func
    return named_apart(func.replace(body=tuple(body)))


class _Ends(Struct):
    """How many elements are cut off a line along an axis, before and behind what stays."""

    axis: Axis
    before: int = 0
    behind: int = 0
    along: bool = False

    def load(self, load: BufferLoad) -> BufferLoad:
        """A load as it is between the ends."""
        indices = tuple([rewrite(index, {Call: self.call}) for index in load.indices])
        self.along = self.along or indices[-1:] != load.indices[-1:]
        return load.replace(indices=indices)

    def call(self, call: Call) -> Expr:
        """What a number brought back is between the ends, which become as long as that needs."""
        if call.op not in (_MAX, _MIN, _MOD) or call.dtype is not self.axis.var.dtype:
            return call
        if call.dtype.kind != "int" or call.dtype.bits < 32:
            return call  # numbers that may wrap around are not brought back but at the ends
        inner, end = call.args
        if call.op is not _MOD and uses(end, self.axis.var):
            inner, end = end, inner
        form, size = linear(inner), linear(self.axis.stop)
        if self.axis.var not in form.terms or uses(end, self.axis.var) or reads_memory(end):
            return call
        if call.op is not _MOD:
            apart = form - linear(end)
            return inner if self.decided(apart if call.op is _MAX else apart.scaled(-1)) else call
        steps, rest = form.without(self.axis.var), size - linear(end)
        if form.terms[self.axis.var] != 1 or not rest.is_constant or rest.constant or abs(steps.constant) > FARTHEST:
            return call
        for turns in (0, 1):
            over = steps - size.scaled(turns)
            if over.is_constant and self.leaves(-over.constant, over.constant):
                return simplified(inner - self.axis.stop) if turns else inner
        return call

    def decided(self, form: Linear) -> bool | None:
        """Whether a number is not negative between the ends, which become as long as that needs; None where that is not
        to be had."""
        step, first = int(form.terms.get(self.axis.var, 0)), form.without(self.axis.var)
        if step < 0:
            turned = self.decided(form.scaled(-1).shifted(-1))
            return None if turned is None else not turned
        if step == 0 or abs(first.constant) > FARTHEST:
            return None
        last = first + linear(self.axis.stop).scaled(step)
        if first.is_constant and self.leaves(-(first.constant // step), 0):
            return True
        return False if last.is_constant and self.leaves(0, last.constant // step) else None

    def choice(self, call: Call) -> Expr:
        """A choice as it is between the ends."""
        if call.op is not _CHOICE:
            return call
        before = (self.before, self.behind)
        condition = self.asked(call.args[0])
        self.along = self.along or (self.before, self.behind) != before
        if type(condition) is Const:
            return call.args[1 if condition.value else 2]
        return call if condition is call.args[0] else call.replace(args=(condition, *call.args[1:]))

    def asked(self, condition: Expr) -> Expr:
        """What is left to be asked of a condition between the ends."""
        if type(condition) is Call and condition.op is NOT:
            inner = self.asked(condition.args[0])
            return condition if inner is condition.args[0] else negation(inner)
        if type(condition) is not Call or condition.op not in (AND, OR):
            truth = self.truth(condition)
            return condition if truth is None else const(truth, BOOL)
        parts = [self.asked(part) for part in condition.args]
        if are_same(parts, condition.args):
            return condition
        ends = condition.op is OR  # the truth of one part that is that of all
        if any(type(part) is Const and bool(part.value) is ends for part in parts):
            return const(ends, BOOL)
        left = [part for part in parts if type(part) is not Const]
        return condition.replace(args=tuple(left)) if len(left) > 1 else (*left, const(not ends, BOOL))[0]

    def truth(self, condition: Expr) -> bool | None:
        """The truth of a comparison between the ends; None where it has none, or is another condition."""
        if type(condition) is not Call or condition.op.name not in NEGATED or not uses(condition, self.axis.var):
            return None
        a, b = condition.args
        if a.dtype.kind != "int" or a.dtype.bits < 32 or reads_memory(condition):
            return None
        name, apart = condition.op.name, linear(a) - linear(b)
        if name in ("equal", "not_equal"):
            ends = (self.before, self.behind)
            if self.decided(apart.shifted(-1)) or self.decided(apart) is False:
                return name == "not_equal"
            self.before, self.behind = ends
            return None
        if name in ("less", "greater_equal"):
            found = self.decided(apart)
            return found if found is None or name == "greater_equal" else not found
        found = self.decided(apart.shifted(-1))
        return found if found is None or name == "greater" else not found

    def leaves(self, before: int, behind: int) -> bool:
        """Whether enough is left when so many elements are cut off on both sides; if so, they are."""
        before, behind = max(self.before, before), max(self.behind, behind)
        size = self.axis.stop
        left = int(size.value) - before - behind if type(size) is Const else LONG - before - behind
        if left < max(SHORTEST, TIMES * (before + behind)):
            return False
        self.before, self.behind = before, behind
        return True

    def parts(self) -> list[tuple[Expr, Expr]]:
        """Where the parts of the line begin, and how long they are: before, between, and behind."""
        size, before, behind = self.axis.stop, self.before, self.behind
        if type(size) is Const:
            last = int(size.value) - behind
            numbers = ((0, before), (before, last - before), (last, behind))
            return [(const(start, size.dtype), const(count, size.dtype)) for start, count in numbers]
        low, high, kind = get_op("min"), get_op("max"), size.dtype
        zero, first = const(0, kind), const(before, kind)
        rest = low(const(behind, kind), high(size - before, zero))
        between = high(simplified(size - (before + behind)), zero)
        return [(zero, low(first, size)), (first, between), (size - rest, rest)]


def _cut(func: PrimFunc, stmt: Stmt, around: tuple[For, ...] = ()) -> list[Stmt]:
    """A nest as one for each part of its lines; the statement itself where nothing is to be cut."""
    block = _block_of(stmt, around)
    if block is None:
        if not _is_plain(stmt) or len(stmt.body) < 2:
            return [stmt]
        inside = [part for one in stmt.body for part in _cut(func, one, (*around, stmt))]
        return [stmt if are_same(inside, stmt.body) else stmt.replace(body=tuple(inside))]
    (store,) = block.body
    assert type(store) is BufferStore
    column = next((axis for axis in block.axes if store.indices and axis.var is store.indices[-1]), None)
    if column is None or any(column.value is loop.var for loop in around):
        return [stmt]
    if uses(store.value, store.buffer) or _is_inlined(func, store):
        return [stmt]
    ends = _Ends(column)
    chosen: dict[type, Callable[[Any], Any]] = {Call: ends.choice} if store.buffer in func.param_buffers else {}
    value = rewrite(store.value, {BufferLoad: ends.load, **chosen})
    if not ends.along:
        return [stmt]
    values = (store.value, value, store.value)
    made = [
        _part(stmt, block, column, start, count, store.replace(value=value))
        for (start, count), value in zip(ends.parts(), values, strict=True)
        if not is_const(count, 0)
    ]
    return [made[0], *(refresh(one) for one in made[1:])]


def _is_plain(stmt: Stmt) -> TypeGuard[For]:
    """Whether a statement is a loop from 0 that nothing is said of."""
    return (
        type(stmt) is For
        and stmt.kind == "serial"
        and stmt.step is None
        and not stmt.annotations
        and is_const(stmt.start, 0)
        and not reads_memory(stmt.stop)
    )


def _block_of(stmt: Stmt, around: tuple[For, ...]) -> Block | None:
    """The block with one store that alone stands in loops over its axes, each element by itself; None for others."""
    loops = [*around]
    while _is_plain(stmt) and len(stmt.body) == 1:
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.predicate is not None or stmt.init is not None or len(stmt.body) != 1:
        return None
    if type(stmt.body[0]) is not BufferStore or stmt.body[0].predicate is not None or len(loops) != len(stmt.axes):
        return None
    for axis in stmt.axes:
        loop = next((one for one in loops if one.var is axis.value), None)
        if loop is None or axis.kind != "spatial" or not is_const(axis.start, 0) or axis.stop != loop.stop:
            return None
        if any(uses(loop.stop, other.var) for other in loops):
            return None
    return stmt


def _is_inlined(func: PrimFunc, store: BufferStore) -> bool:
    """Whether what a block makes is read at one place, where the schedule may compute it."""
    if not any(type(stmt) is AllocBuffer and stmt.buffer is store.buffer for stmt in func.body):
        return False
    return sum(1 for node in walk(func.body, BufferLoad) if node.buffer is store.buffer) < 2


def _part(stmt: Stmt, block: Block, column: Axis, first: Expr, count: Expr, store: BufferStore) -> Stmt:
    """The nest for so many elements of its lines from one on."""
    moved = {column.var: column.var + first}

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        return node.replace(indices=tuple(map(simplified, node.indices)))

    def asked(call: Call) -> Call:
        if call.op is not _CHOICE:
            return call
        return call.replace(args=(simplified(call.args[0]), *call.args[1:]))

    body = rewrite(substitute(store, moved), {BufferLoad: access, BufferStore: access, Call: asked})
    axes = tuple([axis.replace(stop=count) if axis is column else axis for axis in block.axes])
    new = block.replace(axes=axes, body=(body,), reads=None, writes=None)

    def rebuilt(loop: Stmt) -> Stmt:
        if type(loop) is not For:
            return new
        stop = count if loop.var is column.value else loop.stop
        return loop.replace(stop=stop, body=(rebuilt(loop.body[0]),))

    return rebuilt(stmt)


__all__ = ["with_clamped_lines"]
