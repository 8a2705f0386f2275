"""What is known while a function is made into closures: slots of the frame, names in scope, the loops around."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tirscript.ir import (
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Expr,
    Node,
    PrimFunc,
    ScalarDecl,
    Var,
    walk,
)

from .errors import Loops, malformed

if TYPE_CHECKING:
    from .program import Program

Frame = list[Any]  # slot 0: the Run; slot 1: the returned value; then a slot for each variable and buffer
Closure = Callable[[Frame], Any]

FIRST_SLOT = 2


class Context:
    """The making of one function. Expressions and statements become closures over a frame through the tables of
    their classes."""

    def __init__(self, func: PrimFunc, program: Program) -> None:
        self.func = func
        self.program = program
        self.size = FIRST_SLOT
        self.loops: Loops = None
        self.undef = program.undef
        self.counted = program.counted
        self.registers = register_scalars(func)
        self._slots: dict[Var | Buffer, int] = {}
        self._opened: list[tuple[Var | Buffer, int | None]] = []

    def define(self, binder: Var | Buffer) -> int:
        """A new slot for a variable or buffer, seen to the end of the body."""
        slot = self.size
        self.size += 1
        self._opened.append((binder, self._slots.get(binder)))
        self._slots[binder] = slot
        return slot

    def slot(self, binder: Var | Buffer, node: Node) -> int:
        """The slot of what is in scope; a diagnostic at `node` for what is not."""
        found = self._slots.get(binder)
        if found is None:
            raise malformed(node, "T201", f"`{binder.name}` is used outside of its scope")
        return found

    def knows(self, binder: Var | Buffer) -> bool:
        """Whether it is in scope."""
        return binder in self._slots

    def visible(self) -> list[tuple[Var | Buffer, int]]:
        """Everything in scope, with its slot."""
        return list(self._slots.items())

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A body: what is defined in it is forgotten behind it."""
        before, loops = len(self._opened), self.loops
        try:
            yield
        finally:
            while len(self._opened) > before:
                binder, old = self._opened.pop()
                if old is None:
                    del self._slots[binder]
                else:
                    self._slots[binder] = old
            self.loops = loops

    def enter_loop(self, var: Var) -> int:
        """A slot for a loop variable, whose value messages tell."""
        slot = self.define(var)
        self.loops = (var, slot, self.loops)
        return slot

    def expr(self, node: Expr) -> Closure:
        """The closure that computes an expression."""
        from .expressions import EXPRESSIONS

        return EXPRESSIONS[type(node)](self, node)

    def body(self, stmts: tuple[Any, ...]) -> tuple[Closure, bool]:
        """The closure that executes a body, and whether it may leave by break, continue or return."""
        from .statements import compile_body

        return compile_body(self, stmts)


def register_scalars(func: PrimFunc) -> frozenset[Buffer]:
    """The mutable scalars whose address is never taken: they live in the frame itself."""
    declared: set[Buffer] = set()
    addressed: set[Any] = set()
    for node in walk(func):
        cls = type(node)
        if cls is ScalarDecl:
            declared.add(node.buffer)  # type: ignore[attr-defined]
        elif cls in (BufferData, BufferRegion):
            addressed.add(node.buffer)  # type: ignore[attr-defined]
        elif cls is CallFunction:
            addressed.update(arg for arg in node.args if isinstance(arg, Buffer))  # type: ignore[attr-defined]
        elif cls is Call and node.op.name == "address_of" and type(node.args[0]) is BufferLoad:  # type: ignore[attr-defined]
            addressed.add(node.args[0].buffer)  # type: ignore[attr-defined]
    return frozenset(declared - addressed)
