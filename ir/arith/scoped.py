"""Walking a program with an analyzer that knows, at every place, what is true there.

Known are: the ranges of loops, threads and block axes, T.where, the conditions of `if` and `while` in what they guard,
what an `if` that leaves excludes for the rest of its body, `assert`, `T.static_assert` and `T.assume` behind them, the
values of bound names, and that the dimensions of parameters are not negative. Conditions that read memory are known
until something is written that they may depend on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, ClassVar

from ..buffer import Buffer
from ..effects import reads_memory
from ..expr import BufferData, BufferLoad, BufferRegion, Call, CallFunction, Const, Expr, Let, Reduce, Var
from ..func import PrimFunc
from ..node import Node, are_same, recursion_room
from ..op import OPS, get_op
from ..op_sets import CHOICES, DIVISIONS
from ..rewrite import holds, map_except_buffers, walk
from ..stmt import (
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from ..written import noalias
from .analyzer import Analyzer
from .logic import buffers_read, negation

_LOGIC = {OPS["logical_and"]: False, OPS["logical_or"]: True}
_ADDRESS, _PRINT = OPS["address_of"], OPS["print"]
_LEAVES = (Return, Break, Continue)


class Scoped:
    """Rewrites a program top down; a subclass says with `rules` what becomes of the classes it cares for.

    A rule gets the walker and the node, whose children are as they were, and returns the node, one in its place, or for
    a statement a tuple of statements. It calls `descend` for the children (in their contexts), or `visit` for parts.
    `self.analyzer` knows what is true where the node stands.
    """

    rules: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self, analyzer: Analyzer | None = None) -> None:
        self.analyzer = analyzer if analyzer is not None else Analyzer()
        self.storage = Storage()

    def function(self, func: PrimFunc) -> PrimFunc:
        """A function rewritten; the same object where nothing changed."""
        self.storage = Storage(func)
        with self.analyzer.scope(), recursion_room():
            self.enter_function(func)
            body = self.body(func.body)
        return func if body is func.body else func.replace(body=body)

    def enter_function(self, func: PrimFunc) -> None:
        """What is known of the parameters: no dimension is negative, and arrays have fewer than 2**63 bytes."""
        for buffer in func.param_buffers:
            known = [int(dim.value) for dim in buffer.shape if type(dim) is Const and dim.value > 0]
            most = (1 << 63) - 1
            if buffer.strides is None:  # with strides of 0 there may be more elements than memory
                most //= max(1, buffer.dtype.itemsize) * math.prod(known)
            for dim in buffer.shape:
                if type(dim) is Var:
                    low, high = self.analyzer.const_int_bound(dim)
                    self.analyzer.bind(dim, (max(low, 0), min(high, most)))
                elif type(dim) is not Const:
                    self.analyzer.assume(get_op("greater_equal")(dim, Const(0, dim.dtype)))

    def visit(self, node: Any) -> Any:
        """A node rewritten where it stands."""
        rule = self.rules.get(type(node))
        return self.descend(node) if rule is None else rule(self, node)

    def descend(self, node: Any) -> Any:
        """A node with its children rewritten, each in its context."""
        name = _DESCEND.get(type(node))
        return map_except_buffers(node, self.visit) if name is None else getattr(self, name)(node)

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body with its statements rewritten; the same tuple where nothing changed."""
        with self.analyzer.scope():
            return self.sequence(stmts)

    def sequence(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """`body` in the scope that is open already."""
        out: list[Stmt] = []
        same = True
        for stmt in stmts:
            new = self.visit(stmt)
            same = same and new is stmt
            if type(new) is tuple:
                out += new
            else:
                out.append(new)
            self.after(stmt)
        return stmts if same else tuple(out)

    def after(self, stmt: Stmt) -> None:
        """What is known behind a statement that was not known before it."""
        self.forget_written((stmt,))
        rule = _AFTER.get(type(stmt))
        if rule is not None:
            rule(self, stmt)

    def forget_written(self, stmts: Iterable[Node]) -> None:
        """Forget what is known of memory that `stmts` may write."""
        analyzer = self.analyzer
        if analyzer.known.exprs or analyzer.facts.of_memory:
            analyzer.invalidate(self.storage.written(stmts))

    # statements

    def loop(self, loop: For) -> For:
        start, stop = self.visit(loop.start), self.visit(loop.stop)
        step = None if loop.step is None else self.visit(loop.step)
        if start is not loop.start or stop is not loop.stop or step is not loop.step:
            loop = loop.replace(start=start, stop=stop, step=step)
        body = self.loop_body(loop)
        return loop if body is loop.body else loop.replace(body=body)

    def loop_body(self, loop: For) -> tuple[Stmt, ...]:
        """The body of a loop whose range is rewritten already."""
        with self.analyzer.scope():
            self.analyzer.enter_loop(loop)
            self.forget_written(loop.body)
            return self.sequence(loop.body)

    def repeat(self, stmt: While) -> While:
        with self.analyzer.scope():
            self.forget_written((stmt,))
            condition = self.visit(stmt.condition)
            self.analyzer.assume(condition)
            body = self.sequence(stmt.body)
        same = condition is stmt.condition and body is stmt.body
        return stmt if same else stmt.replace(condition=condition, body=body)

    def branch(self, stmt: If) -> If:
        condition = self.visit(stmt.condition)
        then = self.under(condition, stmt.then)
        orelse = self.under(negation(condition), stmt.orelse) if stmt.orelse else stmt.orelse
        if condition is stmt.condition and then is stmt.then and orelse is stmt.orelse:
            return stmt
        return stmt.replace(condition=condition, then=then, orelse=orelse)

    def under(self, condition: Expr, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body that runs where a condition holds."""
        with self.analyzer.scope(condition):
            return self.sequence(stmts)

    def block(self, stmt: Block) -> Block:
        analyzer = self.analyzer
        changed: dict[str, Any] = {}
        with analyzer.scope():
            axes = [
                map_except_buffers(axis, lambda part: part if type(part) is Var else self.visit(part))
                for axis in stmt.axes
            ]
            if any(a is not b for a, b in zip(axes, stmt.axes, strict=True)):
                changed["axes"] = tuple(axes)
            predicate = stmt.predicate
            if predicate is not None:
                with analyzer.scope():
                    # it is what makes the axes stay in their domains, so they do not count here
                    for axis in axes:
                        analyzer.bind(axis.var, axis.value)
                    predicate = self.visit(predicate)
                if predicate is not stmt.predicate:
                    changed["predicate"] = predicate
            for axis in axes:
                analyzer.enter_axis(axis)
            if predicate is not None:
                analyzer.assume(predicate)
            for name in ("reads", "writes"):
                regions = getattr(stmt, name)
                new = regions if regions is None else tuple([self.visit(region) for region in regions])
                if new is not None and any(a is not b for a, b in zip(new, regions, strict=True)):
                    changed[name] = new
            for name in ("init", "body"):
                stmts = getattr(stmt, name)
                if stmts is None:
                    continue
                new = self.init(stmts) if name == "init" else self.body(stmts)
                self.forget_written(stmts)
                if new is not stmts:
                    changed[name] = new
        return stmt.replace(**changed) if changed else stmt

    def init(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The init of a block, which runs in some of its iterations only."""
        return self.body(stmts)

    def threads(self, stmt: LaunchThread) -> LaunchThread:
        extent = self.visit(stmt.extent)
        with self.analyzer.scope():
            self.analyzer.bind(stmt.var, (Const(0, extent.dtype), extent))
            self.forget_written(stmt.body)
            body = self.sequence(stmt.body)
        same = extent is stmt.extent and body is stmt.body
        return stmt if same else stmt.replace(extent=extent, body=body)

    def attribute(self, stmt: Attr) -> Attr:
        new = map_except_buffers(stmt, lambda part: part if isinstance(part, Stmt) else self.visit(part))
        body = self.body(stmt.body)
        return new if body is stmt.body else new.replace(body=body)

    # expressions

    def leaf(self, node: Any) -> Any:
        return node

    def call(self, node: Call) -> Call:
        op, args = node.op, node.args
        if op in _LOGIC and not node.dtype.is_vector:
            first = self.visit(args[0])
            given = negation(first) if _LOGIC[op] else first
            with self.analyzer.scope(given):
                second = self.visit(args[1])
            new: tuple[Any, ...] = (first, second)
        elif op in CHOICES and not args[0].dtype.is_vector:
            new = (self.visit(args[0]),)
            for arm, given in ((args[1], new[0]), (args[2], negation(new[0]))):
                if op is OPS["Select"] and may_fail(arm):
                    new = (*new, self.visit(arm))  # evaluated in any case
                    continue
                with self.analyzer.scope(given):
                    new = (*new, self.visit(arm))
        else:
            return map_except_buffers(node, self.visit)
        return node if are_same(new, args) else node.replace(args=new)

    def let(self, node: Let) -> Let:
        value = self.visit(node.value)
        with self.analyzer.scope():
            self.analyzer.bind(node.var, value)
            body = self.visit(node.body)
        return node if value is node.value and body is node.body else node.replace(value=value, body=body)

    def reduction(self, node: Reduce) -> Reduce:
        with ExitStack() as stack:
            stack.enter_context(self.analyzer.scope())
            for var, domain in zip(node.axes, node.domains, strict=True):
                stop = domain.stop
                if stop is None:
                    self.analyzer.bind(var, domain.start)
                else:
                    self.analyzer.bind(var, (domain.start, stop))
            if node.condition is not None:
                self.analyzer.assume(node.condition)
            return map_except_buffers(node, lambda part: part if type(part) is Var else self.visit(part))


def may_fail(expr: Expr) -> bool:
    """Whether evaluating an expression may be an error where it is not wanted: it reads memory or divides."""
    return reads_memory(expr) or any(type(node) is Call and node.op in DIVISIONS for node in walk(expr))


class Storage:
    """Which buffers are views of the same memory, and what statements write."""

    def __init__(self, func: PrimFunc | None = None) -> None:
        self._parent: dict[Buffer, Any] = {}
        self._written: dict[int, tuple[Node, frozenset[Any] | None]] = {}
        self._func = func

    def _look(self) -> None:
        """Find the views, when it is asked for the first time."""
        func, self._func = self._func, None
        if func is not None and not noalias(func):
            # the arguments may overlap each other
            self._parent.update((buffer, None) for buffer in func.param_buffers)
        for node in walk(func.body) if func is not None else ():
            if type(node) is DeclBuffer:
                self._view(node.buffer, node.data)
            elif type(node) is MatchBuffer and type(node.source) is BufferRegion:
                self._parent[node.buffer] = node.source.buffer

    def _view(self, buffer: Buffer, data: Expr) -> None:
        sources = [part for part in walk(data) if type(part) is BufferData or type(part) is BufferLoad]
        if len(sources) == 1:
            self._parent[buffer] = sources[0].buffer
        else:
            self._parent[buffer] = None  # who knows what

    def root(self, buffer: Buffer) -> Buffer | None:
        """The buffer that owns the memory; None where it may be any."""
        if self._func is not None:
            self._look()
        found: Buffer | None = buffer
        for _ in range(len(self._parent) + 1):
            if found not in self._parent:
                return found
            found = self._parent[found]
        return None

    def written(self, stmts: Iterable[Node]) -> Callable[[Buffer], bool]:
        """A test whether a buffer may be written by `stmts`."""
        roots: set[Any] = set()
        for stmt in stmts:
            found = self._of(stmt)
            if found is None:
                return lambda buffer: True
            roots |= found
        if None in roots:
            # through an address that may point anywhere, but not at variables
            return lambda buffer: not buffer.is_scalar or buffer in roots
        if not roots:
            return lambda buffer: False
        return lambda buffer: self.root(buffer) in roots or self.root(buffer) is None

    def _of(self, stmt: Node) -> frozenset[Any] | None:
        known = self._written.get(id(stmt))
        if known is None:
            known = self._written[id(stmt)] = stmt, self._find(stmt)
        return known[1]

    def _find(self, stmt: Node) -> frozenset[Any] | None:
        roots: set[Any] = set()
        for node in walk(stmt):
            kind = type(node)
            if kind is BufferStore or (kind is ScalarDecl and node.value is not None):  # type: ignore[attr-defined]
                roots.add(self.root(node.buffer))  # type: ignore[attr-defined]
            elif kind is ScalarDecl:
                roots.add(node.buffer)  # type: ignore[attr-defined]
            elif kind is CallFunction:
                for arg in node.args:  # type: ignore[attr-defined]
                    if type(arg) is BufferRegion or type(arg) is BufferData:
                        roots.add(self.root(arg.buffer))
                    elif type(arg) is Buffer:
                        roots.add(self.root(arg))
                    elif arg.dtype.is_handle and not (type(arg) is Call and arg.op is _ADDRESS):
                        roots.add(None)
            elif kind is Call and node.op is _ADDRESS:  # type: ignore[attr-defined]
                roots.add(self.root(node.args[0].buffer))  # type: ignore[attr-defined]
            elif kind is BufferData:
                roots.add(self.root(node.buffer))  # type: ignore[attr-defined]
            elif kind is Call and node.op.effect in ("write", "opaque") and node.op is not _PRINT:  # type: ignore[attr-defined]
                roots.add(None)
        return frozenset(roots)


def _asserted(self: Scoped, stmt: Any) -> None:
    self.analyzer.assume(stmt.condition)


def _bound(self: Scoped, stmt: Bind) -> None:
    self.analyzer.bind(stmt.var, stmt.value)


def _left(self: Scoped, stmt: If) -> None:
    """Behind an `if` one of whose branches leaves, the other one ran."""
    if stmt.then and type(stmt.then[-1]) in _LEAVES:
        given, ran = negation(stmt.condition), stmt.orelse
    elif stmt.orelse and type(stmt.orelse[-1]) in _LEAVES:
        given, ran = stmt.condition, stmt.then
    else:
        return
    written = self.storage.written(ran)
    if not any(map(written, buffers_read(given) or ())):
        self.analyzer.assume(given)


def _ended(self: Scoped, stmt: While) -> None:
    if not holds(stmt.body, Break):
        self.analyzer.assume(negation(stmt.condition))


class _Walk(Scoped):
    def __init__(self, visitor: Callable[[Node, Analyzer], None], analyzer: Analyzer | None) -> None:
        super().__init__(analyzer)
        self.visitor = visitor

    def visit(self, node: Any) -> Any:
        self.visitor(node, self.analyzer)
        return self.descend(node)


def walk_with_context(
    root: PrimFunc | tuple[Stmt, ...] | Expr,
    visitor: Callable[[Node, Analyzer], None],
    analyzer: Analyzer | None = None,
) -> None:
    """Call `visitor(node, analyzer)` for every statement and expression, parents first, in source order.

    The analyzer knows what is true where the node stands; it is valid during the call only (`copy` it to keep it).
    Buffers that are used are not visited, what indexes them is.
    """
    walker = _Walk(visitor, analyzer)
    with recursion_room():
        if isinstance(root, PrimFunc):
            walker.function(root)
        elif isinstance(root, tuple):
            walker.body(root)
        else:
            walker.visit(root)


# the method, which a subclass may have one of its own of
_DESCEND: dict[type, str] = {
    For: "loop",
    While: "repeat",
    If: "branch",
    Block: "block",
    LaunchThread: "threads",
    Attr: "attribute",
    Call: "call",
    Let: "let",
    Reduce: "reduction",
    Const: "leaf",
    Var: "leaf",
    Buffer: "leaf",
}
_AFTER: dict[type, Callable[[Scoped, Any], None]] = {
    Bind: _bound,
    Assert: _asserted,
    StaticAssert: _asserted,
    Assume: _asserted,
    If: _left,
    While: _ended,
}

__all__ = ["Scoped", "Storage", "may_fail", "walk_with_context"]
