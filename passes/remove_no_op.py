"""Statements that change nothing go away.

before:                                            after:
    T_1 = T.alloc_buffer((8,), "float32")              for i in range(8):
    for i in range(8):                                     B[i] = A[i] + 1.0
        T_1[i] = A[i]
        B[i] = 0.0
        B[i] = A[i] + 1.0
        B[i] = B[i]
    for i in range(8):
        pass

These are: stores of a value that is there already; stores that are overwritten before anything reads them; allocations
that nothing reads, with the stores to them; names without uses; evaluations without effect; and the loops, branches and
blocks that hold nothing then. What could fail at run time, an assertion or a division by 0 among them, stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tirscript.ir.arith.scoped import Storage
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, CallFunction, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import children, rewrite, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Attr,
    Bind,
    Block,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    ScalarDecl,
    Stmt,
)

from .overcompute import Idle
from .pipeline import prim_func_pass
from .statements import keep_comments, reads_memory, same_indices
from .trapping import is_droppable, may_trap

ROUNDS = 8  # what goes away may leave something else without use


@prim_func_pass()
def remove_no_op(func: PrimFunc) -> PrimFunc:
    """`B[i] = 0.0; B[i] = A[i]; B[i] = B[i]` becomes `B[i] = A[i]`."""
    for _ in range(ROUNDS):
        new = _without_unread(_Remove(func).function(func))
        new = _without_unused(new)
        if new is func:
            break
        func = new
    return func


class _Remove(Idle):
    """Takes away stores of what is there, overwritten stores, and bodies that hold nothing."""

    def visit(self, node: Any) -> Any:
        rule = _RULES.get(type(node))
        return self.descend(node) if rule is None else rule(self, node)

    def sequence(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return super().sequence(self._without_overwritten(stmts))

    def _without_overwritten(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A body without the stores that another store of it overwrites before anything could read them."""
        out: list[Stmt] = []
        for at, stmt in enumerate(stmts):
            if type(stmt) is BufferStore and self._overwritten(stmt, stmts[at + 1 :]):
                continue
            out.append(stmt)
        return stmts if len(out) == len(stmts) else tuple(out)

    def _overwritten(self, store: BufferStore, following: Iterable[Stmt]) -> bool:
        buffer = store.buffer
        if store.predicate is not None or has_effect(store.value) or any(map(may_trap, (store.value, *store.indices))):
            return False
        for stmt in following:
            if type(stmt) is not BufferStore and type(stmt) is not Bind:
                return False
            if any(self._may_read(part, buffer) for part in walk(stmt) if part is not stmt):
                return False
            if type(stmt) is not BufferStore or stmt.buffer is not buffer or stmt.predicate is not None:
                if type(stmt) is BufferStore and any(map(reads_memory, store.indices)):
                    return False
                continue
            if same_indices(store.indices, stmt.indices):
                return True
        return False

    def _may_read(self, node: Any, buffer: Buffer) -> bool:
        kind = type(node)
        if kind is BufferLoad or kind is BufferData or kind is BufferRegion:
            root = self.storage.root(node.buffer)
            return root is None or root is self.storage.root(buffer)
        return isinstance(node, Expr) and has_effect(node)

    def store(self, stmt: BufferStore) -> Any:
        new = self.descend(stmt)
        if stmt.predicate is None and not any(index.dtype.is_vector for index in stmt.indices):
            here = BufferLoad(stmt.buffer, stmt.indices)
            if not has_effect(stmt.value) and not may_trap(stmt.value) and self.holds(here, stmt.value):
                return keep_comments(stmt, ())
        return new

    def holds(self, here: BufferLoad, value: Expr) -> bool:
        """Whether an element holds a value already."""
        if self._element(here, value):
            return True
        if not self._initialized(here):
            return False
        return self.is_same(here, value) or self.is_same(here, self.expressions.visit(value))

    def _initialized(self, here: BufferLoad) -> bool:
        return here.buffer in self.given or self.is_written(here)

    def around(self, stmt: Any) -> Any:
        new = self.descend(stmt)
        return new if new.body else keep_comments(stmt, ())

    def run(self, loop: For) -> Any:
        new = self.descend(loop)
        empty = not new.body and all(map(is_droppable, (loop.start, loop.stop))) and loop.step is None
        return keep_comments(loop, ()) if empty else new

    def choose(self, stmt: If) -> Any:
        new = self.descend(stmt)
        empty = not new.then and not new.orelse and is_droppable(stmt.condition)
        return keep_comments(stmt, ()) if empty else new

    def part(self, stmt: Block) -> Any:
        new = self.descend(stmt)
        parts = [axis.value for axis in stmt.axes] + ([] if stmt.predicate is None else [stmt.predicate])
        plain = all(map(is_droppable, parts))
        return keep_comments(stmt, ()) if plain and not new.body and not new.init else new

    def evaluate(self, stmt: Evaluate) -> Any:
        new = self.descend(stmt)
        return keep_comments(stmt, ()) if is_droppable(new.value) else new


# memory that only its readers make worth having
_ALLOCATING = (AllocBuffer, AllocateConst, ScalarDecl)


def _without_unread(func: PrimFunc) -> PrimFunc:
    """The function without allocations whose contents nothing reads, and the stores to them."""
    storage = Storage(func)
    allocated = [node.buffer for node in walk(func.body) if type(node) in _ALLOCATING]  # type: ignore[attr-defined]
    if not allocated:
        return func
    used: set[Buffer | None] = set()
    for node in walk(func.body):
        kind = type(node)
        if kind in (BufferLoad, BufferData, BufferRegion) or kind in (DeclBuffer, MatchBuffer):
            used.add(storage.root(node.buffer))  # type: ignore[attr-defined]
        elif kind is CallFunction:
            used |= {arg for arg in node.args if type(arg) is Buffer}  # type: ignore[attr-defined]
    dead = {buffer for buffer in allocated if buffer not in used and None not in used}
    for node in walk(func.body):
        # a store whose value could fail or does something keeps its buffer
        if type(node) is BufferStore and node.buffer in dead:
            if has_effect(node.value) or any(may_trap(part) for part in (node.value, *node.indices)):
                dead.discard(node.buffer)
        elif type(node) is ScalarDecl and node.buffer in dead and node.value is not None:
            if has_effect(node.value) or may_trap(node.value):
                dead.discard(node.buffer)
    if not dead:
        return func

    def unless_dead(stmt: Any) -> Any:
        return keep_comments(stmt, ()) if stmt.buffer in dead else stmt

    def regions(block: Block) -> Block:
        writes = block.writes
        if writes is None or not any(region.buffer in dead for region in writes):
            return block
        return block.replace(writes=tuple(region for region in writes if region.buffer not in dead))

    rules: dict[Any, Any] = {
        AllocBuffer: unless_dead,
        AllocateConst: unless_dead,
        ScalarDecl: unless_dead,
        BufferStore: unless_dead,
        Block: regions,
    }
    return rewrite(func, rules)


def _without_unused(func: PrimFunc) -> PrimFunc:
    """The function without names that nothing uses."""
    used = set()
    for node in walk(func.body):
        for child in _children(node):
            if type(child) is Var:
                used.add(child)
    unused = [
        node
        for node in walk(func.body)
        if type(node) is Bind and node.var not in used and not has_effect(node.value) and not may_trap(node.value)
    ]
    if not unused:
        return func
    gone = {stmt.var for stmt in unused}
    return rewrite(func, {Bind: lambda stmt: keep_comments(stmt, ()) if stmt.var in gone else stmt})


def _children(node: Any) -> Iterable[Any]:
    defined = [getattr(node, name) for name in type(node).defines]
    return [child for child in children(node) if all(child is not one for one in defined)]


_RULES: dict[type, Any] = {
    BufferStore: _Remove.store,
    For: _Remove.run,
    If: _Remove.choose,
    Block: _Remove.part,
    Attr: _Remove.around,
    LaunchThread: _Remove.around,
    Evaluate: _Remove.evaluate,
}
