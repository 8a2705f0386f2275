"""Runs small programs and writes down which iteration touched what: the truth that analyses are held to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tirscript.ir import (
    AllocBuffer,
    Block,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    If,
    PrimFunc,
    ScalarDecl,
    Var,
    children,
)
from tirscript.ir.arith.evaluate import evaluate

Element = tuple[Any, ...]


@dataclass
class Event:
    """One execution of a store, with the loops around it as they were."""

    stmt: Any
    loops: tuple[For, ...]
    iteration: tuple[int, ...]
    reads: list[Element] = field(default_factory=list)
    writes: list[Element] = field(default_factory=list)


class Trace:
    """The events of a function whose conditions and indices do not read memory."""

    def __init__(self, func: PrimFunc, symbols: dict[Var, int] | None = None) -> None:
        self.events: list[Event] = []
        self.values: dict[Var, int] = dict(symbols or {})
        self.loops: tuple[For, ...] = ()
        self.instances: dict[Any, int] = {}
        self.count = 0
        self.body(func.body)

    def body(self, stmts: tuple[Any, ...]) -> None:
        for stmt in stmts:
            RULES[type(stmt)](self, stmt)

    def loop(self, stmt: For) -> None:
        start, stop = evaluate(stmt.start, self.values), evaluate(stmt.stop, self.values)
        step = 1 if stmt.step is None else evaluate(stmt.step, self.values)
        before, self.loops = self.loops, (*self.loops, stmt)
        for value in range(start, stop, step):
            self.values[stmt.var] = value
            self.body(stmt.body)
        self.loops = before

    def branch(self, stmt: If) -> None:
        self.body(stmt.then if evaluate(stmt.condition, self.values) else stmt.orelse)

    def block(self, stmt: Block) -> None:
        for axis in stmt.axes:
            self.values[axis.var] = evaluate(axis.value, self.values)
        if stmt.predicate is None or evaluate(stmt.predicate, self.values):
            reduces = [axis for axis in stmt.axes if axis.kind == "reduce"]
            if stmt.init and all(self.values[a.var] == evaluate(a.start, self.values) for a in reduces):
                self.body(stmt.init)
            self.body(stmt.body)

    def allocate(self, stmt: AllocBuffer) -> None:
        self.count += 1
        self.instances[stmt.buffer] = self.count

    def declare(self, stmt: ScalarDecl) -> None:
        self.count += 1
        self.instances[stmt.buffer] = self.count
        if stmt.value is not None:
            self.event(stmt, stmt.value, self.element(stmt.buffer, ()))

    def store(self, stmt: BufferStore) -> None:
        self.event(stmt, stmt.value, self.element(stmt.buffer, stmt.indices))

    def event(self, stmt: Any, value: Expr, target: Element) -> None:
        made = Event(stmt, self.loops, tuple(self.values[loop.var] for loop in self.loops), [], [target])
        self.reads(value, made.reads)
        self.events.append(made)

    def reads(self, expr: Any, found: list[Element]) -> None:
        if type(expr) is BufferLoad:
            found.append(self.element(expr.buffer, expr.indices))
        elif type(expr) is Call and expr.op.name == "if_then_else":
            self.reads(expr.args[1 if evaluate(expr.args[0], self.values) else 2], found)
        else:
            for child in children(expr):
                if isinstance(child, Expr):
                    self.reads(child, found)

    def element(self, buffer: Any, indices: tuple[Expr, ...]) -> Element:
        return (buffer, self.instances.get(buffer, 0), *(evaluate(index, self.values) for index in indices))


RULES: dict[type, Any] = {
    For: Trace.loop,
    If: Trace.branch,
    Block: Trace.block,
    AllocBuffer: Trace.allocate,
    ScalarDecl: Trace.declare,
    BufferStore: Trace.store,
}
