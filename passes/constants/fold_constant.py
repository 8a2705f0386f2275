"""Buffers that are computed from constants alone become constants.

before:                                            after:
    K = T.allocate_const([1, 2, 3], "int32", (3,))     K = T.allocate_const([1, 2, 3], "int32", (3,))
    L = T.alloc_buffer((3,), "int32")                  L = T.allocate_const([1, 4, 9], "int32", (3,))
    for i in range(3):                                 for i in range(3):
        L[i] = K[i] * K[i]                                 B[i] = A[i] + L[i]
    for i in range(3):
        B[i] = A[i] + L[i]

What is executed while compiling: loops of constant bounds, blocks, branches, bindings and scalars, over the operators
that fold exactly. A statement with anything else stays as it is. What takes more than `steps` steps is compiled, and
runs as native code where it makes at most `limit` bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tirscript.ir.arith.elements import Elements
from tirscript.ir.arith.folding import fold
from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant, constants_of
from tirscript.ir.constant_lists import encode
from tirscript.ir.dtype import BOOL
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, Call, CallFunction, Const, Expr, Let, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import nodes_in
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import free_vars, rewrite, substitute, uses, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Attr,
    Bind,
    Block,
    BufferStore,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    ScalarDecl,
    Stmt,
    While,
)

from ..pipeline import prim_func_pass
from ..statements import keep_comments
from .running import results_of

_ADDRESS = OPS["address_of"]


@prim_func_pass()
def fold_constant(func: PrimFunc, *, steps: int = 1 << 16, limit: int = 1 << 28) -> PrimFunc:
    """`L = T.alloc_buffer(...)`, filled from constants, becomes `L = T.allocate_const(...)`."""
    folding = _Folding(func, steps, limit)
    rules: dict[type, Any] = dict.fromkeys((For, If, While, Block, Attr, LaunchThread), folding.inside)
    body = folding.body(rewrite(func.body, rules))
    return func if body is func.body else func.replace(body=body)


class _Folding:
    def __init__(self, func: PrimFunc, steps: int, limit: int) -> None:
        self.steps, self.limit = steps, limit
        self.constants = {stmt.buffer: Elements(stmt.data.array) for stmt in constants_of(func) if stmt.data.resolved}
        self.data = {stmt.buffer: stmt.data for stmt in constants_of(func) if stmt.data.resolved}
        # buffers that are used otherwise than by loads and stores of their elements
        self.opaque = {id(buffer) for node in walk(func.body) for buffer in _whole_uses(node)}

    def inside(self, stmt: Any) -> Any:
        """A statement with its bodies folded."""
        changed = {}
        for name in ("body", "then", "orelse", "init"):
            inner = getattr(stmt, name, None)
            new = self.body(inner) if inner else inner
            if new is not inner:
                changed[name] = new
        return stmt.replace(**changed) if changed else stmt

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body whose buffers are folded where that is possible."""
        at = 0
        while at < len(stmts):
            alloc = stmts[at]
            if type(alloc) is AllocBuffer:
                new = self.fold(alloc, stmts, at)
                stmts = stmts if new is None else new
            at += 1
        return stmts

    def fold(self, alloc: AllocBuffer, stmts: tuple[Stmt, ...], at: int) -> tuple[Stmt, ...] | None:
        """The body with the allocation as a constant; None where it is none."""
        buffer = alloc.buffer
        shape = buffer.constant_shape()
        plain = buffer.strides is None and buffer.elem_offset is None and buffer.dtype.lanes == 1
        if shape is None or not plain or id(buffer) in self.opaque or alloc.annotations:
            return None
        writers = [place for place in range(at + 1, len(stmts)) if _stores(stmts[place], buffer)]
        readers = [place for place in range(at + 1, len(stmts)) if uses(stmts[place], buffer)]
        if not writers or any(place < writers[-1] and place not in writers for place in readers):
            return None
        array = self.result(buffer, shape, [stmts[place] for place in writers])
        if array is None:
            return None
        data = constant(array)
        self.constants[buffer], self.data[buffer] = Elements(data.array), data
        whole = buffer if buffer.scope == "global" else buffer.replace(scope="global")
        made = AllocateConst(whole, data, span=alloc.span, trivia=alloc.trivia)
        rest: list[Stmt] = []
        for place in range(at + 1, len(stmts)):
            if place not in writers:
                comments = stmts[place - 1] if place - 1 in writers else None
                rest += (stmts[place],) if comments is None else keep_comments(comments, (stmts[place],))
        if whole is not buffer:
            self.constants[whole], self.data[whole] = self.constants[buffer], data
            rest = list(substitute(tuple(rest), {buffer: whole}))
        return (*stmts[:at], made, *rest)

    def result(self, buffer: Buffer, shape: tuple[int, ...], writers: list[Stmt]) -> Any:
        """What statements leave in a buffer as an array; None where that is not known, or not all of it is written."""
        try:
            run = _Run(self.constants, buffer, shape, self.steps)
            for stmt in writers:
                run.stmt(stmt)
        except _TooLong:
            return self.run(buffer, writers)
        except _Unknown:
            return None
        if len(run.memory) != run.size:
            return None
        values = [run.memory[element].value for element in range(run.size)]
        return encode(values, buffer.dtype).reshape(shape)

    def run(self, buffer: Buffer, writers: list[Stmt]) -> Any:
        """The same by native code, which runs beside a flag for each element: whether it is written."""
        used = {node for stmt in writers for node in walk(stmt, Buffer)}
        known = [AllocateConst(one, self.data[one]) for one in used if one in self.data]
        written = Buffer(f"{buffer.name}_written", buffer.shape, BOOL)
        target = buffer if buffer.scope == "global" else buffer.replace(scope="global")

        def mark(store: BufferStore) -> Any:
            if store.buffer is not buffer:
                return store
            return store.replace(buffer=target), BufferStore(written, store.indices, const(True))

        body = rewrite(tuple(writers), {BufferStore: mark})
        body = substitute(body, {buffer: target}) if target is not buffer else body
        func = PrimFunc("folded", (target, written), (*known, *body))
        if free_vars(func):
            return None
        found = results_of(func, self.limit)
        return found[0] if found is not None and found[1].all() else None


def _whole_uses(node: Any) -> Iterator[Buffer]:
    """The buffers whose address a node takes, or which it gives another name or passes on."""
    cls = type(node)
    if cls is BufferData:
        yield node.buffer
    elif cls is CallFunction:
        yield from (getattr(arg, "buffer", arg) for arg in node.args if type(arg) in (Buffer, BufferRegion))
    elif cls is MatchBuffer and type(node.source) is BufferRegion:
        yield node.source.buffer
    elif cls is Call and node.op is _ADDRESS:
        yield node.args[0].buffer
    elif cls in (Attr, For, Block, AllocBuffer):
        values = (node.target, node.value) if cls is Attr else (node.annotations,)
        yield from (part for value in values for part in nodes_in(value) if type(part) is Buffer)


def _stores(stmt: Stmt, buffer: Buffer) -> bool:
    return any(type(node) is BufferStore and node.buffer is buffer for node in walk(stmt))


class _Unknown(Exception):
    """A value is not known while compiling."""


class _TooLong(_Unknown):
    """It takes too long in Python."""


class _Run:
    """Executes statements that write one buffer; its elements go into `memory`, by their place."""

    def __init__(self, constants: dict[Buffer, Elements], target: Buffer, shape: tuple[int, ...], steps: int) -> None:
        self.constants = constants
        self.target = target
        self.shape = shape
        self.size = 1
        for dim in shape:
            self.size *= dim
        self.left = steps
        self.memory: dict[int, Const] = {}
        self.vars: dict[Var, Const] = {}
        self.scalars: dict[Buffer, Const] = {}

    def body(self, stmts: Iterable[Stmt]) -> None:
        for stmt in stmts:
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        """Execute one statement."""
        self.left -= 1
        rule = _STMTS.get(type(stmt))
        if rule is None:
            raise _Unknown
        if self.left < 0:
            raise _TooLong
        rule(self, stmt)

    def loop(self, stmt: For) -> None:
        start, stop = self.number(stmt.start), self.number(stmt.stop)
        step = 1 if stmt.step is None else self.number(stmt.step)
        if step == 0 or stmt.kind == "thread_binding":
            raise _Unknown
        for value in range(start, stop, step):
            self.vars[stmt.var] = Const(value, stmt.var.dtype)
            self.body(stmt.body)

    def branch(self, stmt: If) -> None:
        self.body(stmt.then if self.value(stmt.condition).value else stmt.orelse)

    def block(self, stmt: Block) -> None:
        for axis in stmt.axes:
            self.vars[axis.var] = self.value(axis.value)
        if stmt.predicate is not None and not self.value(stmt.predicate).value:
            return
        reduced = [axis for axis in stmt.axes if axis.kind == "reduce"]
        if stmt.init is not None and all(self.vars[one.var].value == self.number(one.start) for one in reduced):
            self.body(stmt.init)
        self.body(stmt.body)

    def store(self, stmt: BufferStore) -> None:
        if stmt.predicate is not None:
            raise _Unknown
        value = self.value(stmt.value)
        if stmt.buffer.is_scalar and stmt.buffer in self.scalars:
            self.scalars[stmt.buffer] = value
        elif stmt.buffer is self.target:
            self.memory[self.place(stmt)] = value
        else:
            raise _Unknown

    def declare(self, stmt: ScalarDecl) -> None:
        if stmt.value is None:
            raise _Unknown
        self.scalars[stmt.buffer] = self.value(stmt.value)

    def bind(self, stmt: Bind) -> None:
        self.vars[stmt.var] = self.value(stmt.value)

    # expressions

    def number(self, expr: Expr) -> int:
        return int(self.value(expr).value)

    def place(self, node: Any) -> int:
        """The place of an element of the target."""
        at = 0
        for index, size in zip(node.indices, self.shape, strict=True):
            value = self.number(index)
            if not 0 <= value < size:
                raise _Unknown
            at = at * size + value
        return at

    def value(self, expr: Expr) -> Const:
        """The value of an expression."""
        rule = _EXPRS.get(type(expr))
        if rule is None:
            raise _Unknown
        return rule(self, expr)

    def var(self, expr: Var) -> Const:
        found = self.vars.get(expr)
        if found is None:
            raise _Unknown
        return found

    def load(self, expr: BufferLoad) -> Const:
        buffer = expr.buffer
        found = self.scalars.get(buffer)
        if found is None and buffer is self.target:
            found = self.memory.get(self.place(expr))
        elif found is None and buffer in self.constants:
            indices = tuple([self.value(index) for index in expr.indices])
            found = self.constants[buffer].element(expr.replace(indices=indices))
        if found is None:
            raise _Unknown
        return found

    def call(self, expr: Call) -> Const:
        lazy = _LAZY.get(expr.op.name)
        if lazy is not None and not expr.dtype.is_vector:
            return lazy(self, expr.args)
        if has_effect(expr):
            raise _Unknown
        found = fold(expr.op, tuple([self.value(arg) for arg in expr.args]), expr.dtype)
        if found is None:
            raise _Unknown
        return found

    def let(self, expr: Let) -> Const:
        self.vars[expr.var] = self.value(expr.value)
        return self.value(expr.body)


def _chosen(run: _Run, args: tuple[Expr, ...]) -> Const:
    return run.value(args[1] if run.value(args[0]).value else args[2])


def _both(run: _Run, args: tuple[Expr, ...]) -> Const:
    first = run.value(args[0])
    return run.value(args[1]) if first.value else first


def _either(run: _Run, args: tuple[Expr, ...]) -> Const:
    first = run.value(args[0])
    return first if first.value else run.value(args[1])


_LAZY: dict[str, Callable[[_Run, tuple[Expr, ...]], Const]] = {
    "if_then_else": _chosen,
    "Select": _chosen,
    "logical_and": _both,
    "logical_or": _either,
}
_EXPRS: dict[type, Callable[[_Run, Any], Const]] = {
    Const: lambda run, expr: expr,
    Var: _Run.var,
    BufferLoad: _Run.load,
    Call: _Run.call,
    Let: _Run.let,
}
_STMTS: dict[type, Callable[[_Run, Any], None]] = {
    For: _Run.loop,
    If: _Run.branch,
    Block: _Run.block,
    BufferStore: _Run.store,
    ScalarDecl: _Run.declare,
    Bind: _Run.bind,
}
