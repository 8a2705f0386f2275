"""Functions say which of their parameters are constants wherever they are called, for schedules to know.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def f(x: ..., W: ...):                             def f(x: ..., W: ...):
        ...                                                T.func_attr({"constant_parameters": (1,)})
                                                           ...
    @T.prim_func
    def main(x: ...):
        W = T.constant(...)
        cls.f(x, W)

What is copied of such a parameter is copied once, when the program is compiled (`pack_constants`): it costs no time
of a call.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocateConst

from ..pipeline import module_pass

MARK = "constant_parameters"


@module_pass(opt_level=1)
def mark_constant_parameters(module: Module) -> Module:
    """A private function gets the attribute "constant_parameters": the numbers of those that always are constants."""
    asked = [one for one in module.functions if type(one) is PrimFunc and one.private and one.param_buffers]
    if not asked:
        return module
    given = Given({one.name: one for one in module.functions})
    marks = {one.name: _constants(one, given) for one in asked}
    marked = {one.name: _marked(one, marks[one.name]) for one in asked if one.attrs.get(MARK) != marks[one.name]}
    if not marked:
        return module
    return module.replace(functions=tuple([marked.get(one.name, one) for one in module.functions]))


def is_constant(func: PrimFunc, at: int) -> bool:
    """Whether a parameter is marked as a constant; in a private function without marks each may well be one."""
    marked = func.attrs.get(MARK)
    return func.private and (type(marked) is not tuple or at in marked)


def _marked(func: PrimFunc, constants: tuple[int, ...]) -> PrimFunc:
    return func.replace(attrs=Attrs({**func.attrs, MARK: constants}))


def _constants(func: PrimFunc, given: Given) -> tuple[int, ...]:
    return tuple(
        [at for at, param in enumerate(func.params) if type(param) is Buffer and given.constant(func.name, at)]
    )


class Given:
    """What the functions of a module are called with."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions = functions
        self.calls: dict[str, dict[str, list[CallFunction]]] = {}  # by the function that is called, and by its caller
        self.referred: set[str] = set()  # those that are called otherwise, too
        self._constants: dict[str, set[Buffer]] = {}  # by the function that holds them
        self._answers: dict[tuple[str, int], bool] = {}
        for name, func in functions.items():
            self._read(name, func)

    def put(self, func: PrimFunc) -> None:
        """Take a function for the one of its name, which calls the same functions."""
        self.functions[func.name] = func
        for callers in self.calls.values():
            if func.name in callers:
                callers[func.name] = []
        self._read(func.name, func)
        self._answers.clear()

    def _read(self, name: str, func: Any) -> None:
        for node in walk(func):
            if type(node) is FunctionRef:
                self.referred.add(node.function)
            elif type(node) is CallFunction and type(func) is PrimFunc:
                self.calls.setdefault(node.function, {}).setdefault(name, []).append(node)
        if type(func) is PrimFunc:
            constants = [stmt for stmt in func.body if type(stmt) is AllocateConst and stmt.data.resolved]
            self._constants[name] = {stmt.buffer for stmt in constants}

    def constant(self, name: str, at: int, asked: tuple[str, ...] = ()) -> bool:
        """Whether a parameter of a private function is a constant wherever that is called; `asked` are the functions
        whose own parameters depend on that."""
        if name in asked or name in self.referred or name not in self.calls:
            return False
        if (name, at) not in self._answers:
            self._answers[name, at] = all(
                self._known(self.functions[caller], call.args[at], (*asked, name))
                for caller, calls in self.calls[name].items()
                for call in calls
            )
        return self._answers[name, at]

    def _known(self, caller: PrimFunc, value: Any, asked: tuple[str, ...]) -> bool:
        """Whether what a function hands on is a constant of it, or a parameter that always is one."""
        if type(value) is not Buffer:
            return False
        if value in self._constants[caller.name]:
            return True
        at = caller.params.index(value) if caller.private and value in caller.params else None
        return at is not None and self.constant(caller.name, at, asked)


__all__ = ["MARK", "Given", "is_constant", "mark_constant_parameters"]
