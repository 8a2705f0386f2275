"""Conditions over a variable become the choice of its value, which `with_blocks` takes.

before:                                            after:
    s = s + b[j]                                       s = s + b[j]
    if s < 0.0:                                        s = T.if_then_else(s < 0.0, 0.0, T.if_then_else(s > 6.0, 6.0, s))
        s = 0.0
    elif s > 6.0:
        s = 6.0

So does one whose sides store to the same element, `if c: B[i] = x` and `else: B[i] = y`.
What is added under a condition, `if c: s += x`, is `s += T.if_then_else(c, x, -0.0)`.
And a store of the first iteration becomes what a sum begins with: `if k == 0: C[i, j] = 0`, then `C[i, j] += ...`.
"""

from __future__ import annotations

from collections.abc import Set

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import BufferStore, For, If, Stmt

from ..statements import reads_memory


def chosen(stmt: Stmt, begun: Set[Buffer]) -> Stmt:
    """A condition over stores to one of the variables `begun`, which have values before it, as one store, and one of
    which both sides store to the same element; other statements as they are."""
    if type(stmt) is not If or len(stmt.then) != 1 or len(stmt.orelse) > 1:
        return stmt
    parts = [chosen(inner, begun) for inner in (*stmt.then, *stmt.orelse)]
    first = parts[0]
    if type(first) is not BufferStore or first.predicate is not None:
        return stmt
    if first.buffer not in begun and len(parts) == 1:
        return stmt
    values: list[Expr] = []
    for part in parts:
        if type(part) is not BufferStore or part.buffer is not first.buffer or part.predicate is not None:
            return stmt
        if not all(
            structural_equal(a, b, map_free_vars=False) for a, b in zip(first.indices, part.indices, strict=True)
        ):
            return stmt
        values.append(part.value)
    if len(values) == 1:
        values.append(BufferLoad(first.buffer, first.indices))
    value = Call(OPS["if_then_else"], (stmt.condition, *values), first.value.dtype)
    return first.replace(value=value, span=stmt.span, trivia=stmt.trivia)


def added_always(func: PrimFunc) -> PrimFunc:
    """The function, whose loops add nothing where a condition of what they add does not hold.

    Nothing is -0.0: with 0.0 a sum of -0.0 would lose its sign.
    """
    return _Added().function(func) if any(type(node) is If for node in walk(func.body)) else func


class _Added(Scoped):
    """Knows where an element is one of its buffer whatever the condition says."""

    def choose(self, node: If) -> Stmt:
        """The condition with what it holds, as a store where it is one."""
        stmt: If = self.descend(node)
        store = stmt.then[0] if len(stmt.then) == 1 and not stmt.orelse else None
        if type(store) is not BufferStore or store.predicate is not None or uses(stmt.condition, store.buffer):
            return stmt
        value, dtype = store.value, store.buffer.dtype
        if type(value) is not Call or value.op is not OPS["add"] or dtype.is_vector or dtype.is_handle:
            return stmt
        mine, other = value.args if type(value.args[0]) is BufferLoad else value.args[::-1]
        if type(mine) is not BufferLoad or mine.buffer is not store.buffer or not _same(mine.indices, store.indices):
            return stmt
        if mine.predicate is not None or uses(other, store.buffer) or not self.is_there(store):
            return stmt
        nothing = Const(-0.0 if dtype.is_float else 0, dtype)
        added = Call(OPS["if_then_else"], (stmt.condition, other, nothing), dtype)
        return store.replace(value=value.replace(args=(mine, added)), span=stmt.span, trivia=stmt.trivia)

    def is_there(self, store: BufferStore) -> bool:
        """Whether the indices are proved to be in the buffer."""
        return not any(map(reads_memory, store.indices)) and all(
            self.is_inside(index, dim) for index, dim in zip(store.indices, store.buffer.shape, strict=True)
        )

    def is_inside(self, index: Expr, dim: Expr) -> bool:
        low, high = self.analyzer.const_int_bound(index)
        if type(dim) is Const or low < 0:
            return low >= 0 and type(dim) is Const and high < dim.value
        return index.dtype is dim.dtype and self.analyzer.can_prove(get_op("less")(index, dim))

    rules = {If: choose}  # noqa: RUF012


def begun_at_first(stmts: tuple[Stmt, ...], loops: tuple[For, ...]) -> tuple[BufferStore, BufferStore] | None:
    """What an element begins with and what is added to it, where `stmts` in `loops` are a store in its first iteration
    and a store in each; None for other statements."""
    if len(stmts) != 2:
        return None
    test, store = stmts
    if type(test) is not If or len(test.then) != 1 or test.orelse or type(store) is not BufferStore:
        return None
    begin = test.then[0]
    if type(begin) is not BufferStore:
        return None
    if begin.buffer is not store.buffer or begin.predicate is not None or uses(begin.value, store.buffer):
        return None
    if not _same(begin.indices, store.indices):
        return None
    again = {loop.var: loop for loop in loops if not any(uses(index, loop.var) for index in store.indices)}
    tests = [test.condition]
    while tests:
        part = tests.pop()
        if type(part) is not Call or part.op not in (OPS["logical_and"], OPS["equal"]):
            return None
        if part.op is OPS["logical_and"]:
            tests += part.args
            continue
        var, value = part.args if type(part.args[0]) is Var else part.args[::-1]
        loop = again.pop(var, None) if type(var) is Var else None
        if loop is None or type(loop.start) is not Const or type(loop.stop) is not Const:
            return None  # one of no iterations would leave the element as it is
        if type(value) is not Const or value.value != loop.start.value:
            return None
    return None if again else (begin, store)


def _same(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    return all(structural_equal(one, other, map_free_vars=False) for one, other in zip(a, b, strict=True))


__all__ = ["added_always", "begun_at_first", "chosen"]
