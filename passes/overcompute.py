"""Branches that need not be taken, and branches that spare work.

What a statement does where its condition is false may be nothing at all: adding a padding that is known to be 0,
storing what is there already. Then the condition can go (`remove_branching_through_overcompute`), and the inner loop
runs without a branch; or it can be made, to leave the work out (`remove_overcompute_through_branching`).

before:                                                after `remove_branching_through_overcompute`:
    for i, jo, ji in T.grid(16, 4, 4):                     for i, jo, ji in T.grid(16, 4, 4):
        T.assume(4 * jo + ji < 14 or A[i, jo, ji] == 0)        T.assume(...)
    for i in range(16):                                    for i in range(16):
        B[i] = 0.0                                             B[i] = 0.0
        for jo, ji in T.grid(4, 4):                            for jo, ji in T.grid(4, 4):
            if 4 * jo + ji < 14:                                   B[i] = B[i] + A[i, jo, ji]
                B[i] = B[i] + A[i, jo, ji]

Nothing is done that could fail: every access must be proved to be in range and to read a defined value, and every
divisor not to be 0. `x + 0.0` is x but for x = -0.0, so for floats it is proved that the element is never -0.0.
"""

from __future__ import annotations

import math
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.logic import negation
from tirscript.ir.arith.scoped import Storage
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Let, Reduce, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, get_op
from tirscript.ir.op_sets import DIVISIONS
from tirscript.ir.rewrite import children, definitions, rewrite, substitute, walk
from tirscript.ir.stmt import (
    Assert,
    Assume,
    Bind,
    Block,
    BufferStore,
    Evaluate,
    For,
    If,
    LaunchThread,
    ScalarDecl,
    Stmt,
)

from .contents import Contents
from .element_indices import Bound, is_injective, solve
from .fitted_axes import fit_axes
from .knowing import KnowingSimplifier
from .pipeline import prim_func_pass
from .statements import conjunction, has_effect, keep_comments, reads_memory, same_indices
from .trapping import is_droppable

_ADD, _SUB, _MUL = OPS["add"], OPS["sub"], OPS["mul"]
# what leaves every other value as it is
_EXTREMES = {OPS["max"]: -math.inf, OPS["min"]: math.inf}


@prim_func_pass()
def remove_branching_through_overcompute(func: PrimFunc) -> PrimFunc:
    """`if i < 14: B[0] += A[i]` becomes `B[0] += A[i]` where A[i] is known to be 0 for i from 14."""
    return fit_axes(func, _RemoveBranches(func).function(func))


@prim_func_pass()
def remove_overcompute_through_branching(func: PrimFunc) -> PrimFunc:
    """`B[0] += A[i]` becomes `if i < 14: B[0] += A[i]` where A[i] is known to be 0 for i from 14."""
    return _MakeBranches(func).function(func)


class Idle(Contents):
    """Finds out where statements do nothing."""

    def __init__(self, func: PrimFunc, analyzer: Analyzer | None = None) -> None:
        super().__init__(analyzer)
        self.expressions = KnowingSimplifier(self.analyzer, self)
        self.func = func
        self.given = set(func.param_buffers)

    def idle_under(self, condition: Expr, stmts: tuple[Stmt, ...]) -> bool:
        """Whether statements could run where `condition` holds, and would change nothing."""
        with self.analyzer.scope(condition):
            return self.analyzer.facts.unreachable or all(map(self.idle, stmts))

    def idle(self, stmt: Stmt) -> bool:
        """Whether a statement could run here, and would change nothing."""
        rule = _IDLE.get(type(stmt))
        return rule is not None and rule(self, stmt)

    def _store(self, stmt: BufferStore) -> bool:
        if stmt.predicate is not None or any(index.dtype.is_vector for index in stmt.indices):
            return False
        here = BufferLoad(stmt.buffer, stmt.indices)
        if not (self.safe(stmt.value) and self.safe(here)):
            return False
        # what is known of the element itself would hide that the value is the element
        return self.is_same(here, stmt.value) or self.is_same(here, self.expressions.visit(stmt.value))

    def is_same(self, here: BufferLoad, value: Expr) -> bool:
        """Whether a value is what the element holds already."""
        if self._element(here, value):
            return True
        known = self.value_of(here)
        if known is not None and structural_equal(known, value, map_free_vars=False):
            return True
        if type(value) is Call and value.op in (_ADD, _SUB):
            first, second = value.args
            if self._element(here, first) and (sign := self.zero(second)):
                # x + -0.0 and x - 0.0 are x, whatever x is
                return sign == ("-" if value.op is _ADD else "+") or self._keeps_zero(here)
            if value.op is _ADD and self._element(here, second) and (sign := self.zero(first)):
                return sign == "-" or self._keeps_zero(here)
        if type(value) is Call and value.op in _EXTREMES:
            # `T.max(-inf, x)` is x, for nan too; `T.max(x, -inf)` would be -inf for nan
            first, second = value.args
            return is_const(first, _EXTREMES[value.op]) and self._element(here, second)
        if type(value) is Call and value.op is _MUL:
            for mine, other in (value.args, value.args[::-1]):
                if self._element(here, mine) and is_const(other, 1):
                    return True
        return False

    def _element(self, here: BufferLoad, value: Expr) -> bool:
        return (
            type(value) is BufferLoad
            and value.buffer is here.buffer
            and value.predicate is None
            and all(self.analyzer.prove_equal(a, b) for a, b in zip(value.indices, here.indices, strict=True))
        )

    def zero(self, expr: Expr) -> str | None:
        """The sign of an expression that is zero here, "?" where only that is known; None where it may be another."""
        kind = type(expr)
        if kind is Const:
            value = expr.value  # type: ignore[attr-defined]
            if value != 0:
                return None
            return "-" if str(value).startswith("-") else "+"
        if kind is BufferLoad:
            found = (known for known in self.of(expr) if known.value is not None)  # type: ignore[arg-type]
            return next(("?" for known in found if is_const(known.value, 0)), None)
        if kind is Call and expr.op is _MUL:  # type: ignore[attr-defined]
            first, second = expr.args  # type: ignore[attr-defined]
            zeros = [self.zero(first), self.zero(second)]
            # infinity or nan times zero is nan
            finite = not expr.dtype.is_float or all(zeros) or _is_finite(first) or _is_finite(second)
            return "?" if any(zeros) and finite else None
        return None

    def _keeps_zero(self, here: BufferLoad) -> bool:
        """Whether adding a zero of any sign leaves the element as it is: -0.0 + 0.0 is 0.0."""
        if not here.dtype.is_float:
            return True
        stores = [known.origin for known in self.of(here) if known.written]
        if not any(type(store) is BufferStore and _is_positive(store.value) for store in stores):
            return False
        return never_negative_zero(self.func, here.buffer, self.storage)

    def safe(self, expr: Expr) -> bool:
        """Whether an expression can be evaluated here: in range, of defined values, dividing by no 0, no effect."""
        if has_effect(expr):
            return False
        for node in walk(expr):
            kind = type(node)
            if kind is Let or kind is Reduce:
                return False
            if kind is BufferLoad and not self._readable(node):  # type: ignore[arg-type]
                return False
            if kind is Call and node.op in DIVISIONS and node.dtype.element.is_int:  # type: ignore[attr-defined]
                divisor = node.args[1]  # type: ignore[attr-defined]
                if divisor.dtype.is_vector or not self.analyzer.can_prove(get_op("not_equal")(divisor, 0)):
                    return False
        return True

    def _readable(self, load: BufferLoad) -> bool:
        if load.predicate is not None or any(index.dtype.is_vector for index in load.indices):
            return False
        for index, dim in zip(load.indices, load.buffer.shape, strict=True):
            if not (self.analyzer.can_prove(index >= 0) and self.analyzer.can_prove(index < dim)):
                return False
        return load.buffer in self.given or self.is_written(load)

    def _loop(self, loop: For) -> bool:
        if loop.step is not None or not (self.safe(loop.start) and self.safe(loop.stop)):
            return False
        with self.analyzer.scope():
            self.analyzer.enter_loop(loop)
            return self.analyzer.facts.unreachable or all(map(self.idle, loop.body))

    def _branch(self, stmt: If) -> bool:
        if not self.safe(stmt.condition):
            return False
        return self.idle_under(stmt.condition, stmt.then) and self.idle_under(negation(stmt.condition), stmt.orelse)

    def _block(self, stmt: Block) -> bool:
        if stmt.init is not None or not all(self.safe(axis.value) for axis in stmt.axes):
            return False
        predicate = stmt.predicate
        if predicate is not None and not self.safe(predicate):
            return False
        with self.analyzer.scope():
            for axis in stmt.axes:
                # where the block does not run today its axes may leave their domains
                self.analyzer.bind(axis.var, axis.value)
            if predicate is not None:
                self.analyzer.assume(predicate)
            for axis in stmt.axes:
                if not (
                    self.analyzer.can_prove(axis.var >= axis.start) and self.analyzer.can_prove(axis.var < axis.stop)
                ):
                    return False
            return self.analyzer.facts.unreachable or all(map(self.idle, stmt.body))

    def _bind(self, stmt: Bind) -> bool:
        if not self.safe(stmt.value):
            return False
        self.analyzer.bind(stmt.var, stmt.value)
        return True

    def _condition(self, stmt: Any) -> bool:
        return self.safe(stmt.condition) and self.analyzer.can_prove(stmt.condition)


class _RemoveBranches(Idle):
    """Takes away the conditions outside of which nothing would happen."""

    def visit(self, node: Any) -> Any:
        kind = type(node)
        if kind is If:
            return self.choose(node)
        if kind is BufferStore:
            return self.place(node)
        if kind is Call and node.op is OPS["if_then_else"]:
            return self.value(node)
        return self.descend(node)

    def __init__(self, func: PrimFunc) -> None:
        super().__init__(func)
        # the loops around whose iterations run at the same time, each with what is inside of it
        self.together: list[tuple[Bound, tuple[Bound, ...], set[Any]]] = []

    def loop_body(self, loop: For) -> tuple[Stmt, ...]:
        if loop.kind == "serial" or loop.kind == "unroll":
            return super().loop_body(loop)
        return self._at_once(loop, (loop.var, loop.start, loop.stop), super().loop_body)

    def threads(self, stmt: LaunchThread) -> LaunchThread:
        zero = Const(0, stmt.extent.dtype)
        return self._at_once(stmt, (stmt.var, zero, stmt.extent), super().threads)

    def _at_once(self, stmt: Any, bound: Bound, walk_on: Any) -> Any:
        inner = tuple((node.var, node.start, node.stop) for node in walk(stmt.body, For))
        loops = {var for var, _, _ in inner}
        self.together.append((bound, inner, set(definitions(stmt.body)) - loops))
        try:
            return walk_on(stmt)
        finally:
            self.together.pop()

    def alone(self, stmts: tuple[Stmt, ...]) -> bool:
        """Whether no two iterations that run at the same time would store to the same element."""
        stores = [node for stmt in stmts for node in walk(stmt, BufferStore)]
        for store in stores:
            names = {node for index in store.indices for node in walk(index, Var)}
            for bound, inner, defined in self.together:
                if store.buffer in defined:
                    continue  # each iteration has one of its own
                if names & defined or any(map(reads_memory, store.indices)):
                    return False
                own = tuple(one for one in inner if one[0] in names)
                if not is_injective(store.indices, (bound, *own), self.analyzer):
                    return False
        return True

    def choose(self, stmt: If) -> Any:
        if (
            not stmt.orelse
            and stmt.then
            and is_droppable(stmt.condition)
            and (not self.together or self.alone(stmt.then))
            and self.idle_under(negation(stmt.condition), stmt.then)
        ):
            # what stands in it is looked at as if the branch were not there
            return keep_comments(stmt, self.body(stmt.then))
        return self.branch(stmt)

    def place(self, stmt: BufferStore) -> Any:
        """`A[i] = A[i] + (x if c else 0.0)`, which changes nothing where c is false, with x or without."""
        new = self.descend(stmt)
        for node in walk(new.value):
            if type(node) is not Call or node.op is not OPS["if_then_else"] or not is_droppable(node.args[0]):
                continue
            condition, yes, no = node.args
            chosen, other = (new.replace(value=_with(new.value, node, arm)) for arm in (yes, no))
            if not condition.dtype.is_vector and self.idle_under(negation(condition), (chosen, other)):
                return chosen
        return new

    def value(self, node: Call) -> Any:
        """`x if c else y` where x is y wherever c is false."""
        condition, yes, no = node.args
        if condition.dtype.is_vector or not is_droppable(condition):
            return self.descend(node)
        with self.analyzer.scope(negation(condition)):
            same = self.safe(yes) and structural_equal(
                self.expressions.visit(yes), self.expressions.visit(no), map_free_vars=False
            )
        return self.visit(yes) if same else self.descend(node)


class _MakeBranches(Idle):
    """Puts a condition around stores that do nothing where what is known of memory says so."""

    def visit(self, node: Any) -> Any:
        return self.place(node) if type(node) is BufferStore else self.descend(node)

    def place(self, stmt: BufferStore) -> Any:
        for condition in self._candidates(stmt):
            if self.analyzer.decide(condition) is None and self.idle_under(condition, (stmt,)):
                return If(self.analyzer.simplify(negation(condition)), (stmt,), span=stmt.span)
        return stmt

    def _candidates(self, stmt: BufferStore) -> list[Expr]:
        """The conditions under which the value of an element that the store reads is known."""
        found: list[Expr] = []
        for load in walk(stmt.value):
            if type(load) is not BufferLoad or any(index.dtype.is_vector for index in load.indices):
                continue
            for content in self.contents:
                if content.buffer is not load.buffer or content.value is None:
                    continue
                values = solve(content.indices, content.bound, load.indices, self.analyzer)
                if values is None:
                    continue
                parts = [substitute(content.condition, values)]
                for var, start, stop in content.bound:
                    parts += [values[var] >= substitute(start, values), values[var] < substitute(stop, values)]
                open_ones = [part for part in parts if not self.analyzer.can_prove(part)]
                condition = conjunction(open_ones)
                if condition is not None and not reads_memory(condition):
                    found.append(condition)
        return found


def never_negative_zero(func: PrimFunc, buffer: Buffer, storage: Storage) -> bool:
    """Whether no store of a function makes an element of a buffer -0.0 that was something else.

    It stores other constants, or sums with the element: a sum is -0.0 only where both of its parts are.
    """
    for node in walk(func.body):
        if type(node) is not BufferStore:
            if not isinstance(node, Stmt) or type(node) is ScalarDecl:
                continue
            parts = [part for part in children(node) if not isinstance(part, Stmt)]
            if any(map(has_effect, parts)) and storage.written(parts)(buffer):
                return False
            continue
        if has_effect(node.value) and storage.written((node.value,))(buffer):
            return False
        if node.buffer is not buffer:
            root = storage.root(node.buffer)
            if root is None or root is storage.root(buffer):
                return False
            continue
        value = node.value
        if _is_positive(value):
            continue
        if type(value) is Call and value.op is _ADD and any(_reads_itself(arg, node) for arg in value.args):
            continue
        return False
    return True


def _reads_itself(expr: Expr, store: BufferStore) -> bool:
    return type(expr) is BufferLoad and expr.buffer is store.buffer and same_indices(expr.indices, store.indices)


def _with(root: Expr, node: Call, arm: Expr) -> Expr:
    """An expression with an arm in the place of a choice."""
    result: Expr = rewrite(root, {Call: lambda one: arm if one is node else one})
    return result


def _is_positive(value: Expr) -> bool:
    """Whether a value is a constant that is not below 0.0, nor -0.0."""
    return type(value) is Const and not str(value.value).startswith("-")


def _is_finite(value: Expr) -> bool:
    return type(value) is Const and math.isfinite(value.value)


_IDLE: dict[type, Any] = {
    BufferStore: Idle._store,
    For: Idle._loop,
    If: Idle._branch,
    Block: Idle._block,
    Bind: Idle._bind,
    Assert: Idle._condition,
    Assume: Idle._condition,
    Evaluate: lambda self, stmt: self.safe(stmt.value),
}
__all__ = [
    "Idle",
    "never_negative_zero",
    "remove_branching_through_overcompute",
    "remove_overcompute_through_branching",
]
