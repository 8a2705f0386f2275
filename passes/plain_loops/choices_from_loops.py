"""Conditions over a variable become the choice of its value, which `with_blocks` takes.

before:                                            after:
    s = s + b[j]                                       s = s + b[j]
    if s < 0.0:                                        s = T.if_then_else(s < 0.0, 0.0, T.if_then_else(s > 6.0, 6.0, s))
        s = 0.0
    elif s > 6.0:
        s = 6.0

So does one whose sides store to the same element, `if c: B[i] = x` and `else: B[i] = y`.
What is added under a condition, `if c: s += x`, is `s += T.if_then_else(c, x, -0.0)`, and so are products and the like.
The greater one that a condition keeps, `if x > m: m = x`, is `m = T.max(x, m)`.
And a store of the first iteration becomes what a sum begins with: `if k == 0: C[i, j] = 0`, then `C[i, j] += ...`.
"""

from __future__ import annotations

from collections.abc import Set

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS
from tirscript.ir.op_sets import CHOICES, EXTREMES
from tirscript.ir.rewrite import holds, rewrite, uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, If, Stmt

from ..statements import conjunction, same_indices
from .names_written_out import Refused, written_out
from .plain import conjuncts, is_there


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
        if not same_indices(first.indices, part.indices):
            return stmt
        values.append(part.value)
    if len(values) == 1:
        values.append(BufferLoad(first.buffer, first.indices))
    value = Call(OPS["if_then_else"], (stmt.condition, *values), first.value.dtype)
    return first.replace(value=value, span=stmt.span, trivia=stmt.trivia)


def added_always(func: PrimFunc) -> PrimFunc:
    """The function, whose loops add nothing where a condition of what they add does not hold.

    Nothing is -0.0: with 0.0 a sum of -0.0 would lose its sign. Of two the greater is kept by `T.max`.
    """
    chooses = any(type(node) is If or (type(node) is Call and node.op in CHOICES) for node in walk(func.body))
    return _Added().function(func) if chooses else func


class _Added(Scoped):
    """Knows where an element is one of its buffer whatever the condition says."""

    def choose(self, node: If) -> Stmt | tuple[Stmt, ...]:
        """The condition with what it holds, as a store where it is one, or as one for each of several variables."""
        stmt: If = self.descend(node)
        apart = _apart(stmt)
        made = [self.always(one) for one in apart]
        return tuple(made) if len(made) > 1 and all(type(one) is BufferStore for one in made) else self.always(stmt)

    def always(self, stmt: If) -> Stmt:
        """A condition over a store, as that store; other conditions as they are."""
        store = stmt.then[0] if len(stmt.then) == 1 and not stmt.orelse else None
        if type(store) is not BufferStore or store.predicate is not None:
            return stmt
        if store.buffer.dtype.is_vector or store.buffer.dtype.is_handle:
            return stmt
        *before, last = conjuncts(stmt.condition)
        if uses(last, store.buffer):
            # `last` reads the element, so it is there
            mine = BufferLoad(store.buffer, store.indices)
            choice = Call(OPS["if_then_else"], (last, store.value, mine), store.value.dtype)
            found = _extreme(store.replace(value=choice))
            if found is None:
                return stmt
            store = found
        else:
            before.append(last)
        if any(uses(part, store.buffer) for part in before) or (
            before and not is_there(self.analyzer, store.indices, store.buffer.shape)
        ):
            return stmt
        value = _under(before, store)
        return stmt if value is None else store.replace(value=value, span=stmt.span, trivia=stmt.trivia)

    def store(self, node: BufferStore) -> Stmt:
        """A store with the greater of two values instead of a choice."""
        stmt: BufferStore = self.descend(node)
        return _extreme(stmt) or stmt

    rules = {If: choose, BufferStore: store}  # noqa: RUF012


def _apart(stmt: If) -> list[If]:
    """A condition over stores to variables that have nothing to do with each other, as one for each; none otherwise."""
    try:
        stores = () if stmt.orelse else written_out(stmt.then)
    except Refused:
        return []
    changed = {store.buffer for store in stores if type(store) is BufferStore and store.buffer.is_scalar}
    if len(changed) < len(stores) or any(uses(stmt.condition, buffer) for buffer in changed):
        return []
    if any(type(node) is Call and node.op.effect != "pure" for node in walk(stmt.condition)):
        return []
    if any(uses(store.value, buffer) for store in stores for buffer in changed - {store.buffer}):  # type: ignore[attr-defined]
        return []
    return [stmt.replace(then=(store,), trivia=None if at else stmt.trivia) for at, store in enumerate(stores)]


def _extreme(store: BufferStore) -> BufferStore | None:
    """A store of the greater or less of its element and another value, with what says so; None for other stores."""
    from ..schedule.reducers import update_by

    value = store.value
    if type(value) is not Call or value.op not in CHOICES or not uses(value.args[0], store.buffer):
        return None
    update = update_by(store)
    if update is None:
        return None
    if store.buffer.dtype.is_float and value.args[0].op not in (OPS["greater"], OPS["less"]):  # type: ignore[attr-defined]
        return store  # of zeros of both signs the later one
    return store.replace(value=update.combine(BufferLoad(store.buffer, store.indices), update.value))


def _under(conditions: list[Expr], store: BufferStore) -> Expr | None:
    """What an update stores where it is done under conditions; None for other stores."""
    from ..schedule.reducers import neutral, update_by

    value, dtype = store.value, store.value.dtype
    update = update_by(store)
    if update is None or not conditions:
        return None if update is None else value
    condition = conjunction(conditions)
    assert condition is not None
    mine = BufferLoad(store.buffer, store.indices)
    choice = OPS["if_then_else"]
    if update.op in EXTREMES and dtype.is_float and (update.first or value.op in CHOICES):  # type: ignore[attr-defined]
        return Call(choice, (condition, value, mine), dtype)  # no value leaves a nan as it is
    chosen = Call(choice, (condition, update.value, neutral(update.op, dtype)), dtype)
    return update.combine(mine, chosen) if update.op in EXTREMES else Call(update.op, (mine, chosen), dtype)


def begun_blocks(func: PrimFunc) -> PrimFunc:
    """The function whose blocks say with T.init what they begin a sum with, instead of `if vk == 0: C[vi] = 0`."""
    return rewrite(func, {Block: _begun}) if holds(func.body, Block) else func


def _begun(block: Block) -> Block:
    if block.init is not None or block.predicate is not None:
        return block
    found = begun_at_first(block.body, block.axes)
    if found is None or any(
        axis.kind != ("spatial" if uses(found[1].indices, axis.var) else "reduce") for axis in block.axes
    ):
        return block
    return block.replace(init=(found[0],), body=(found[1],))


def begun_at_first(
    stmts: tuple[Stmt, ...], loops: tuple[For, ...] | tuple[Axis, ...]
) -> tuple[BufferStore, BufferStore] | None:
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
    if not same_indices(begin.indices, store.indices):
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


__all__ = ["begun_blocks", "added_always", "begun_at_first", "chosen"]
