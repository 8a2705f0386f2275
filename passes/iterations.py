"""What an iteration of a loop does: the values that it gives to variables and elements, in terms of those before it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import exactly_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import Bind, BufferStore, For, If, ScalarDecl, Stmt

from .statements import reads_memory

CHOICE = OPS["if_then_else"]
# the nodes of a value
LARGEST = 200
# bounds and offsets below this do not wrap
_SMALL = 1 << 30
_NODES = frozenset((BufferLoad, Call, Const, Var, Buffer))
_COMPARE: dict[Op, Callable[[int, int], bool]] = {
    OPS["equal"]: operator.eq,
    OPS["not_equal"]: operator.ne,
    OPS["less"]: operator.lt,
    OPS["less_equal"]: operator.le,
    OPS["greater"]: operator.gt,
    OPS["greater_equal"]: operator.ge,
}


class NotPlain(Exception):
    """The loop does more than store values."""


def is_plain(expr: Expr) -> bool:
    """Whether an expression is made of constants, variables, elements and operators without effects alone."""
    return all(
        type(node) in _NODES
        and not (type(node) is Call and (node.op.effect != "pure" or node.op is OPS["undef"]))
        and not (type(node) is BufferLoad and node.predicate is not None)
        for node in walk(expr)
    )


def cells_of(loop: For) -> dict[Buffer, tuple[Expr, ...]]:
    """The elements and variables that all iterations store, with their indices: alone of their buffers in the loop."""
    stored = {node.buffer for node in walk(loop.body, BufferStore)}
    inner: set[Any] = {node.var for node in walk(loop) if type(node) in (For, Bind)}  # type: ignore[attr-defined]
    inner |= {node.buffer for node in walk(loop.body, ScalarDecl)}
    cells: dict[Buffer, tuple[Expr, ...]] = {}
    others = set(inner)
    for node in walk(loop.body):
        if type(node) not in (BufferLoad, BufferStore) or node.buffer not in stored:  # type: ignore[attr-defined]
            continue
        buffer, indices = node.buffer, node.indices  # type: ignore[attr-defined]
        fixed = not any(reads_memory(index) or any(uses(index, var) for var in inner) for index in indices)
        if not fixed or not exactly_equal(cells.setdefault(buffer, indices), indices):
            others.add(buffer)
    return {buffer: indices for buffer, indices in cells.items() if buffer not in others}


class Iteration:
    """The first iteration of a loop from a number on, or any other one.

    `values` are those of the cells behind it, `stores` the other stores in program order, both in terms of the cells
    and elements before it; `guarded` says that conditions are in it which hold in the first iteration alone, or in all
    others. An element must not be read behind its store: the caller sees which are both read and stored.
    Raises NotPlain where the body holds other things than stores, conditions and names.
    """

    def __init__(self, loop: For, cells: dict[Buffer, tuple[Expr, ...]], is_first: bool) -> None:
        self.var, self.cells, self.is_first = loop.var, cells, is_first
        begin = int(loop.start.value)  # type: ignore[attr-defined]
        # where it is not known where the loop ends, it may be far away
        end = int(loop.stop.value) - 1 if type(loop.stop) is Const else _SMALL - 1
        self.points = [begin, begin + 1, end]
        self.values: dict[Buffer, Expr] = {}
        self.stores: list[BufferStore] = []
        self.guarded = False
        self.names: dict[Any, Expr | None] = {}  # what the body names
        self.run(loop.body)

    def run(self, stmts: tuple[Stmt, ...]) -> None:
        for stmt in stmts:
            rule = _RULES.get(type(stmt))
            if rule is None:
                raise NotPlain
            rule(self, stmt)

    def value(self, expr: Expr) -> Expr:
        """The value of an expression where the body stands."""
        if not is_plain(expr):
            raise NotPlain
        found: Expr = rewrite(
            expr, {Var: lambda var: self.names.get(var, var), BufferLoad: self.load, Call: self.choice}
        )
        if sum(1 for _ in walk(found)) > LARGEST:
            raise NotPlain
        return found

    def load(self, node: BufferLoad) -> Expr:
        if node.buffer in self.names:
            value = self.names[node.buffer]
            if value is None:
                raise NotPlain  # nothing was stored
            return value
        return self.values.get(node.buffer, node)

    def choice(self, node: Call) -> Expr:
        truth = self.decided(node.args[0]) if node.op is CHOICE else None
        return node if truth is None else node.args[1 if truth else 2]

    def decided(self, condition: Expr) -> bool | None:
        """What a condition is in such an iteration; None where that depends on more."""
        if type(condition) is not Call:
            return None
        if condition.op is OPS["logical_not"]:
            truth = self.decided(condition.args[0])
            return None if truth is None else not truth
        compare = _COMPARE.get(condition.op)
        if compare is None or not all(arg.dtype.is_int for arg in condition.args):
            return None
        forms = [linear(arg) for arg in condition.args]
        if any(list(form.terms.items()) not in ([], [(self.var, 1)]) for form in forms):
            return None
        if any(abs(value) >= _SMALL for value in (*self.points, *(form.constant for form in forms))):
            return None
        # comparisons with a number change once at most, or at one place
        first, *rest = (compare(*(form.constant + (at if form.terms else 0) for form in forms)) for at in self.points)
        if first in rest:
            return None
        self.guarded = True
        return first if self.is_first else not first

    def bind(self, stmt: Bind) -> None:
        self.names[stmt.var] = self.value(stmt.value)

    def declare(self, stmt: ScalarDecl) -> None:
        self.names[stmt.buffer] = None if stmt.value is None else self.value(stmt.value)

    def store(self, stmt: BufferStore) -> None:
        if stmt.predicate is not None or stmt.buffer.dtype.is_vector:
            raise NotPlain
        value = self.value(stmt.value)
        if stmt.buffer in self.names:
            self.names[stmt.buffer] = value
        elif stmt.buffer in self.cells:
            self.values[stmt.buffer] = value
        else:
            indices = tuple(self.value(index) for index in stmt.indices)
            self.stores.append(stmt.replace(indices=indices, value=value))

    def branch(self, stmt: If) -> None:
        """Both branches, where it is not decided which: variables get a choice of values."""
        condition = self.value(stmt.condition)
        truth = self.decided(condition)
        if truth is not None:
            self.run(stmt.then if truth else stmt.orelse)
            return
        names, values, count = dict(self.names), dict(self.values), len(self.stores)
        ends = []
        for body in (stmt.then, stmt.orelse):
            self.names, self.values = dict(names), dict(values)
            self.run(body)
            ends.append((self.names, self.values))
        if len(self.stores) != count:
            raise NotPlain
        (names_a, values_a), (names_b, values_b) = ends
        self.names = {}
        for key in names:
            x, y = names_a[key], names_b[key]
            self.names[key] = None if x is None or y is None else _either(condition, x, y)
        self.values = {}
        for cell in (*values_a, *(cell for cell in values_b if cell not in values_a)):
            before = BufferLoad(cell, self.cells[cell])
            a, b = (found.get(cell, before) for found in (values_a, values_b))
            self.values[cell] = _either(condition, a, b)


def _either(condition: Expr, a: Expr, b: Expr) -> Expr:
    return a if a is b else Call(CHOICE, (condition, a, b), a.dtype)


_RULES: dict[type, Callable[[Iteration, Any], None]] = {
    Bind: Iteration.bind,
    ScalarDecl: Iteration.declare,
    BufferStore: Iteration.store,
    If: Iteration.branch,
}


__all__ = ["CHOICE", "Iteration", "NotPlain", "cells_of", "is_plain"]
