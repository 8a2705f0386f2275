"""Modules: named functions of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from .func import PrimFunc
from .node import NO_ATTRS, Attrs, Node
from .span import Trivia
from .words import call_it


class Module(Node, frozen=True, eq=False):
    """`@I.ir_module class name:`. Functions call each other by name."""

    not_compared: ClassVar[tuple[str, ...]] = ("name",)

    functions: tuple[PrimFunc, ...]
    name: str = "Module"
    attrs: Attrs = NO_ATTRS
    docstring: str | None = None
    trivia: Trivia | None = None

    def __getitem__(self, name: str) -> PrimFunc:
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(f"the module has no function {name!r}; it has {', '.join(f.name for f in self.functions)}")

    def __contains__(self, name: object) -> bool:
        return any(function.name == name for function in self.functions)

    def __iter__(self) -> Iterator[PrimFunc]:
        return iter(self.functions)

    def with_function(self, function: PrimFunc) -> Module:
        """This module with `function` in place of the one of its name, or added at the end."""
        if function.name not in self:
            return self.replace(functions=(*self.functions, function))
        return self.replace(functions=tuple(function if f.name == function.name else f for f in self.functions))


call_it(Module, "module", lambda program: program.name)
