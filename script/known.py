"""The functions of the module that is being read, as graph functions see them before all of it is read."""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc
from tirscript.ir.module import Module

Function = PrimFunc | GraphFunc


class Known:
    """What is known of each function: its signature, and where that is asked for its result or its buffers.

    `read` reads a function before its turn, for what only its body says.
    """

    def __init__(self, read: Callable[[str], Function | None] | None = None) -> None:
        self.module = Module(())
        self.read = read
        self.open: set[str] = set()  # functions whose result is not known yet
        self.bodies: dict[str, Function | None] = {}

    def add(self, function: Function, result_known: bool = True) -> None:
        """Note a function by its signature."""
        self.module = self.module.with_function(function)
        if not result_known:
            self.open.add(function.name)

    def body_of(self, name: str) -> Function | None:
        """A function of the module with its body; None where it has mistakes."""
        if name not in self.bodies:
            self.bodies[name] = None  # what is being read is not read for itself again
            self.bodies[name] = self.read(name) if self.read is not None else None
        return self.bodies[name]

    def find_result(self, name: str) -> None:
        """Find out the type of what a function returns."""
        if name not in self.open:
            return
        self.open.discard(name)
        found = self.body_of(name)
        if found is not None:
            self.module = self.module.with_function(found.replace(body=()))
