"""Accesses that are not proved to lie in their buffer are checked at run time.

before:                                            after:
    for i in range(16):                                for i in range(16):
        B[i] = A[i + n]                                    assert 0 <= i + n and i + n < 16, (
                                                               "out of bounds: `A[i + n]`, dimension 0"
                                                           )
                                                           B[i] = A[i + n]

A check that fails raises AssertionError with the access, its place in the source and the values, from native code as
from the interpreter, before the access is made. What is evaluated only under a condition is checked under it. The last
index of a vector may run on into the next row, so vectors are checked as places in the whole buffer. What is known of a
block's axes is that they are within their domains, so that is checked, too, before each block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.logic import negation
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import BOOL, INT64, DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import (
    Broadcast,
    BufferLoad,
    BufferRegion,
    Call,
    Const,
    Expr,
    Let,
    Ramp,
    Range,
    Shuffle,
    Var,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, cast, get_op
from tirscript.ir.rewrite import children, distinct, substitute, walk
from tirscript.ir.stmt import Assert, Block, Break, BufferStore, For, If, MatchBuffer, Stmt, While

from .pipeline import prim_func_pass
from .statements import conjunction, reads_memory

_LOGIC = {OPS["logical_and"]: True, OPS["logical_or"]: False}
_CHOICE, _ADDRESS = OPS["if_then_else"], OPS["address_of"]


@prim_func_pass(requires=("lower_reduce",))
def bounds_check(func: PrimFunc) -> PrimFunc:
    """`B[i] = A[i + n]` becomes `assert 0 <= i + n and i + n < 16, "out of bounds: ..."`, then `B[i] = A[i + n]`."""
    return _Checks().function(func)


class _Checks(Scoped):
    """Puts what has to be checked before the statement that makes the access."""

    def visit(self, node: Any) -> Any:
        if not isinstance(node, Stmt):
            return node
        rule = _STMTS.get(type(node), _Checks.plain)
        return rule(self, node)

    def plain(self, stmt: Stmt) -> Any:
        """The checks of the expressions of a statement, and the statement with what is in it checked."""
        parts = [child for child in children(stmt) if not isinstance(child, (Stmt, Buffer))]
        if type(stmt) is BufferStore:
            parts.append(stmt)
        checks = self.checks(parts)
        return (*checks, self.descend(stmt)) if checks else self.descend(stmt)

    def branch_of(self, stmt: If) -> Any:
        checks = self.checks([stmt.condition])
        return (*checks, self.descend(stmt)) if checks else self.descend(stmt)

    def run(self, loop: For) -> Any:
        checks = self.checks([part for part in (loop.start, loop.stop, loop.step) if part is not None])
        return (*checks, self.descend(loop)) if checks else self.descend(loop)

    def again(self, stmt: While) -> Any:
        """The condition of a `while` is checked before each of its rounds."""
        with self.analyzer.scope():
            self.forget_written((stmt,))
            checks = self.checks([stmt.condition])
        new = self.descend(stmt)
        if not checks:
            return new
        leave = If(get_op("logical_not")(stmt.condition), (Break(),), span=stmt.condition.span)
        return new.replace(condition=Const(True, BOOL), body=(*checks, leave, *new.body))

    def part(self, stmt: Block) -> Any:
        """What a block's axes and T.where read is checked before it; its regions are no accesses."""
        checks = self.checks([axis.value for axis in stmt.axes])
        if stmt.predicate is not None:
            inner = substitute(stmt.predicate, {axis.var: axis.value for axis in stmt.axes})
            checks = (*checks, *self.checks([inner]))
        checks = (*checks, *self.domains(stmt))
        return (*checks, self.descend(stmt)) if checks else self.descend(stmt)

    def domains(self, stmt: Block) -> tuple[Stmt, ...]:
        """The checks that the axes of a block are within their domains."""
        return _domain_checks(stmt, self.analyzer)

    def match(self, stmt: MatchBuffer) -> Any:
        checks = self.checks([stmt.source] if type(stmt.source) is BufferRegion else [])
        return (*checks, stmt) if checks else stmt

    def checks(self, parts: Iterable[Any]) -> tuple[Stmt, ...]:
        """The assertions that the accesses in some expressions need, inner ones first."""
        found = _Accesses(self.analyzer)
        for part in parts:
            found.visit(part, {})
        return tuple(found.asserts)


def with_checked_regions(func: PrimFunc) -> PrimFunc:
    """A function in which regions that are matched, and accesses of what matches them, are checked where they are not
    proved to be within their dimensions: when such an access has become one of the whole buffer, nothing could."""
    matches = [node for node in walk(func.body, MatchBuffer) if type(node.source) is BufferRegion]
    return _Regions(frozenset(match.buffer for match in matches)).function(func) if matches else func


class _Regions(_Checks):
    """Puts before a statement what has to be checked of its accesses of some buffers, and of regions."""

    def __init__(self, buffers: frozenset[Buffer]) -> None:
        super().__init__()
        self.buffers = buffers

    def checks(self, parts: Iterable[Any]) -> tuple[Stmt, ...]:
        found = _AccessesOf(self.analyzer, self.buffers)
        for part in parts:
            found.visit(part, {})
        return tuple(found.asserts)

    def domains(self, stmt: Block) -> tuple[Stmt, ...]:
        return ()


def with_checked_axes(func: PrimFunc) -> PrimFunc:
    """A function in which the axes of blocks that are not proved to be within their domains are checked before them."""
    return _Domains().function(func)


class _Domains(Scoped):
    """Puts before a block what has to be checked of its axes."""

    def visit(self, node: Any) -> Any:
        if not isinstance(node, Stmt):
            return node
        checks = _domain_checks(node, self.analyzer) if type(node) is Block else ()
        return (*checks, self.descend(node)) if checks else self.descend(node)


def _domain_checks(block: Block, analyzer: Analyzer) -> tuple[Assert, ...]:
    """The assertions that the axes of a block are within their domains where it runs, but for those that are proved."""
    values = {axis.var: axis.value for axis in block.axes}
    runs = None if block.predicate is None else substitute(block.predicate, values)
    found: list[Assert] = []
    with analyzer.scope(*(() if runs is None else (runs,))):
        for axis in block.axes:
            missing = [one for one in _within(axis.value, axis.start, axis.stop) if not analyzer.can_prove(one)]
            condition = conjunction(missing)
            if condition is None:
                continue
            if not reads_memory(condition):
                analyzer.assume(condition)
            if runs is not None:
                condition = get_op("logical_or")(negation(runs), condition)
            domain = "its domain"
            if type(axis.start) is Const and type(axis.stop) is Const:
                domain = f"{axis.start.value} to {axis.stop.value - 1}"
                domain = domain if axis.start.value < axis.stop.value else "an empty domain"
            message = f"axis `{axis.var.name}` of block `{block.name}` is not within {domain}"
            found.append(Assert(distinct(condition), message, span=axis.span or block.span))
    return tuple(found)


def unproved_accesses(func: PrimFunc) -> frozenset[int]:
    """The ids of the loads and stores of a function some index of which is not proved to be one of its dimension."""
    found = _Unproved()
    found.function(func)
    return frozenset(found.ids)


class _Unproved(_Checks):
    """Collects what is not proved, and changes nothing. What nothing checks is not known behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[int] = set()

    def checks(self, parts: Iterable[Any]) -> tuple[Stmt, ...]:
        found = _UnprovedIn(self.analyzer, self.ids)
        for part in parts:
            found.visit(part, {})
        return ()


_STMTS: dict[type, Any] = {
    If: _Checks.branch_of,
    For: _Checks.run,
    While: _Checks.again,
    Block: _Checks.part,
    MatchBuffer: _Checks.match,
}


class _Accesses:
    """Collects assertions; what is known on the way to an access is known to the analyzer."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.guards: list[Expr] = []
        self.asserts: list[Assert] = []

    def visit(self, node: Any, lets: dict[Var, Expr]) -> None:
        """The accesses of an expression, in the order in which they are made; `lets` are the names around it."""
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(self, node, lets)
        elif type(node) is not Buffer:
            for child in children(node):
                if not isinstance(child, Stmt):
                    self.visit(child, lets)

    def access(self, node: BufferLoad | BufferStore, lets: dict[Var, Expr]) -> None:
        for index in node.indices:
            self.visit(index, lets)
        if type(node) is BufferLoad and node.predicate is not None:
            self.visit(node.predicate, lets)
        if any(index.dtype.is_vector for index in node.indices):
            self.vector(node, lets)
            return
        allowed = [] if node.predicate is None else [node.predicate]
        for dim, (index, size) in enumerate(zip(node.indices, node.buffer.shape, strict=True)):
            self.need(_between(index, size), allowed, node, f", dimension {dim}" if node.buffer.ndim > 1 else "", lets)

    def vector(self, node: BufferLoad | BufferStore, lets: dict[Var, Expr]) -> None:
        """Every lane that is accessed lies in the buffer."""
        last = node.indices[-1]
        if last.dtype.scalable:
            message = "the accesses of a vector of scalable length cannot be checked"
            raise DiagnosticError([error("T401", message, node.span, hint="check the program before it is vectorized")])
        outer = node.indices[:-1]
        for dim, (index, size) in enumerate(zip(outer, node.buffer.shape)):
            self.need(_between(index, size), [], node, f", dimension {dim}", lets)
        start, total = _flat(outer, node.buffer), _size(node.buffer)
        every = node.predicate is None
        numbers = (0, last.dtype.lanes - 1) if every and type(last) in (Ramp, Broadcast) else range(last.dtype.lanes)
        for lane in dict.fromkeys(numbers):
            allowed = [] if every else [_lane(node.predicate, lane)]  # type: ignore[arg-type]
            place = _lane(last, lane)
            place = place if start is None else start + _wide(place)
            self.need(_between(place, total), allowed, node, f", lane {lane}", lets)

    def region(self, node: BufferRegion, lets: dict[Var, Expr]) -> None:
        for dim, (one, size) in enumerate(zip(node.ranges, node.buffer.shape, strict=True)):
            for end in children(one):
                self.visit(end, lets)
            self.need(_inside(one, size), [], node, f", dimension {dim}", lets)

    def call(self, node: Call, lets: dict[Var, Expr]) -> None:
        args = node.args
        if node.op in _LOGIC and not node.dtype.is_vector:
            self.visit(args[0], lets)
            self.under(args[0] if _LOGIC[node.op] else negation(args[0]), args[1], lets)
        elif node.op is _CHOICE:
            self.visit(args[0], lets)
            self.under(args[0], args[1], lets)
            self.under(negation(args[0]), args[2], lets)
        elif node.op is _ADDRESS and type(args[0]) is BufferLoad:
            for index in args[0].indices:
                self.visit(index, lets)  # no element is accessed
        else:
            for arg in args:
                self.visit(arg, lets)

    def under(self, condition: Expr, node: Expr, lets: dict[Var, Expr]) -> None:
        """An expression that is evaluated only where a condition holds."""
        self.guards.append(substitute(condition, lets) if lets else condition)
        with self.analyzer.scope(condition):
            self.visit(node, lets)
        self.guards.pop()

    def let(self, node: Let, lets: dict[Var, Expr]) -> None:
        self.visit(node.value, lets)
        # a name of its own, that nothing else in a check defines
        var = node.var.replace()
        with self.analyzer.scope():
            self.analyzer.bind(var, node.value)
            self.visit(substitute(node.body, {node.var: var}), {**lets, var: substitute(node.value, lets)})

    def need(self, wanted: list[Expr], allowed: list[Expr], node: Any, where: str, lets: dict[Var, Expr]) -> None:
        """An assertion that the conditions hold where the access is made, unless they are proved."""
        with self.analyzer.scope(*allowed):
            missing = [one for one in wanted if not self.analyzer.can_prove(one)]
        if not missing:
            return
        condition = conjunction(missing)
        assert condition is not None
        for guard in (*reversed(allowed), *reversed(self.guards)):
            condition = get_op("logical_or")(negation(guard), condition)
        if lets:
            condition = substitute(condition, lets)
        text = node.span.text if node.span is not None and type(node) is not BufferStore else _words(node)
        condition = distinct(condition)
        made = Assert(condition, f"out of bounds: `{text}`{where}", span=node.span)
        if not any(structural_equal(one.condition, condition, map_free_vars=False) for one in self.asserts):
            self.asserts.append(made)
        # what was checked is known from here on, as long as nothing is written in between
        if not reads_memory(condition):
            self.analyzer.assume(condition)


class _AccessesOf(_Accesses):
    """Collects the assertions of the accesses of some buffers, and of regions of any."""

    def __init__(self, analyzer: Analyzer, buffers: frozenset[Buffer]) -> None:
        super().__init__(analyzer)
        self.buffers = buffers

    def need(self, wanted: list[Expr], allowed: list[Expr], node: Any, where: str, lets: dict[Var, Expr]) -> None:
        if node.buffer in self.buffers or type(node) is BufferRegion:
            super().need(wanted, allowed, node, where, lets)


class _UnprovedIn(_Accesses):
    """Notes the accesses that need a check, of vectors those that may run on into the next row."""

    def __init__(self, analyzer: Analyzer, ids: set[int]) -> None:
        super().__init__(analyzer)
        self.ids = ids

    def vector(self, node: BufferLoad | BufferStore, lets: dict[Var, Expr]) -> None:
        last = node.indices[-1]
        if last.dtype.scalable:
            self.ids.add(id(node))
            return
        ends = (0, last.dtype.lanes - 1) if type(last) in (Ramp, Broadcast) else range(last.dtype.lanes)
        for lane in ends:
            lanes = (*node.indices[:-1], _lane(last, lane))
            for index, size in zip(lanes, node.buffer.shape, strict=True):
                self.need(_between(index, size), [], node, "", lets)

    def need(self, wanted: list[Expr], allowed: list[Expr], node: Any, where: str, lets: dict[Var, Expr]) -> None:
        with self.analyzer.scope(*allowed):
            if not all(map(self.analyzer.can_prove, wanted)):
                self.ids.add(id(node))


_RULES: dict[type, Any] = {
    BufferLoad: _Accesses.access,
    BufferStore: _Accesses.access,
    BufferRegion: _Accesses.region,
    Call: _Accesses.call,
    Let: _Accesses.let,
}


def _words(node: Any) -> str:
    indices = ", ".join(index.script() for index in node.indices)
    return f"{node.buffer.name}[{indices}]" if indices else node.buffer.name


def _joint(*exprs: Expr) -> tuple[Expr, ...]:
    """Expressions in the widest of their dtypes."""
    wide: DType = max((expr.dtype for expr in exprs), key=lambda dtype: dtype.bits)
    if any(expr.dtype.kind != wide.kind for expr in exprs):
        wide = INT64
    return tuple(Const(expr.value, wide) if type(expr) is Const else cast(expr, wide) for expr in exprs)


def _between(index: Expr, size: Expr) -> list[Expr]:
    index, size = _joint(index, size)
    return _within(index, Const(0, index.dtype), size)


def _within(value: Expr, start: Expr, stop: Expr) -> list[Expr]:
    value, start, stop = _joint(value, start, stop)
    return [get_op("less_equal")(start, value), get_op("less")(value, stop)]


def _inside(one: Range, size: Expr) -> list[Expr]:
    if one.stop is None:
        return _between(one.start, size)
    start, stop, size = _joint(one.start, one.stop, size)
    return [get_op("less_equal")(Const(0, start.dtype), start), get_op("less_equal")(stop, size)]


def _flat(indices: tuple[Expr, ...], buffer: Buffer) -> Expr | None:
    """How many elements lie before the row at `indices`; None where there is one row only."""
    number: Expr | None = None
    for index, size in zip(indices, buffer.shape[1:]):
        number = (_wide(index) if number is None else number + _wide(index)) * _wide(size)
    return number


def _size(buffer: Buffer) -> Expr:
    """How many elements a buffer has."""
    known = buffer.constant_shape()
    if known is not None:
        return Const(math.prod(known), buffer.shape[0].dtype if len(known) == 1 else INT64)
    size = buffer.shape[0]
    for one in buffer.shape[1:]:
        size = _wide(size) * _wide(one)
    return size


def _wide(expr: Expr) -> Expr:
    return Const(expr.value, INT64) if type(expr) is Const else cast(expr, INT64)


def _lane(expr: Expr, lane: int) -> Expr:
    """One lane of a vector."""
    if type(expr) is Broadcast:
        return expr.value
    if type(expr) is Ramp:
        step = expr.stride
        if type(step) is Const:
            return expr.base + Const(int(step.value) * lane, step.dtype) if lane else expr.base
        return expr.base + step * Const(lane, step.dtype)
    return Shuffle((expr,), (lane,)) if expr.dtype.is_vector else expr
