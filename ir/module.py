"""Modules: named functions of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

from .diagnostic import suggest
from .func import PrimFunc
from .graph import ExternFunction, GraphFunc
from .node import NO_ATTRS, Attrs, Node
from .span import Trivia
from .target import Target
from .words import call_it, refuse_call

Function = PrimFunc | GraphFunc


class VDevice(Node, frozen=True, eq=False):
    """`I.vdevice("llvm", 0, "global")`: a device that tensors name in `vdevice=`. The target is as it was written."""

    target: str | Target | Attrs
    index: int = 0
    scope: str = "global"


class DummyInfo(Node, frozen=True, eq=False):
    """`I.dummy_global_info()`"""


class DeviceMesh(Node, frozen=True, eq=False):
    """`G.device_mesh((2, 2), I.Range(0, 4))`: devices in rows and columns, which tensors name in `device_mesh=`.

    `devices` are their numbers where they are listed; otherwise these count from `first`.
    """

    shape: tuple[int, ...]
    devices: tuple[int, ...] | None = None
    first: int = 0


class ExternEntry(Node, frozen=True, eq=False):
    """`name = G.ExternFunc("symbol")` in a module: a function of a library under a name of the module."""

    name: str
    function: ExternFunction


class Module(Node, frozen=True, eq=False):
    """`@I.ir_module class name:`. Functions call each other by name.

    `global_infos` are what TVM keeps beside the functions, such as the devices of tensors. `externs` name functions of
    libraries; calls hold what they name.
    """

    not_compared: ClassVar[tuple[str, ...]] = ("name",)

    functions: tuple[Function, ...]
    name: str = "Module"
    attrs: Attrs = NO_ATTRS
    global_infos: Attrs = NO_ATTRS
    docstring: str | None = None
    trivia: Trivia | None = None
    externs: tuple[ExternEntry, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a program is built, or interpreted. Raises TypeError, which says so."""
        refuse_call(self.name)

    def __getitem__(self, name: str) -> Function:
        for function in self.functions:
            if function.name == name:
                return function
        names = [function.name for function in self.functions]
        near = suggest(name, names)
        raise KeyError(
            f"the module has no function {name!r}; "
            + (f"did you mean {near!r}?" if near else f"it has {', '.join(names) or 'none'}")
        )

    def __getattr__(self, name: str) -> NoReturn:
        """Refused: functions are items. Raises AttributeError, which says so."""
        near = None if name.startswith("_") else suggest(name, [function.name for function in self.functions], 0.75)
        if near is not None:
            said = "its function is" if near == name else "did you mean its function"
            mark = "" if near == name else "?"
            message = f"a module has no attribute {name!r}; {said} `module[{near!r}]`{mark}"
            raise AttributeError(message, name=name)
        raise AttributeError(f"a module has no attribute {name!r}", name=name, obj=self)

    def __contains__(self, name: object) -> bool:
        return any(function.name == name for function in self.functions)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions)

    @property
    def prim_funcs(self) -> tuple[PrimFunc, ...]:
        """The tensor functions."""
        return tuple(function for function in self.functions if isinstance(function, PrimFunc))

    @property
    def graph_funcs(self) -> tuple[GraphFunc, ...]:
        """The graph functions."""
        return tuple(function for function in self.functions if isinstance(function, GraphFunc))

    def prim_func(self, name: str) -> PrimFunc | None:
        """The tensor function of that name, None where there is none."""
        return next((function for function in self.prim_funcs if function.name == name), None)

    def with_function(self, function: Function) -> Module:
        """This module with `function` in place of the one of its name, or added at the end."""
        if function.name not in self:
            return self.replace(functions=(*self.functions, function))
        return self.replace(functions=tuple(function if f.name == function.name else f for f in self.functions))


call_it(Module, "module", lambda program: program.name)
