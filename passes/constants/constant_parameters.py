"""Functions say which of their parameters are constants wherever they are called, for schedules to know.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def f(x: ..., W: ...):                             def f(x: ..., W: ...):
        ...                                                T.func_attr({"constant_parameters": [1]})
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
    marked = {one.name: one.replace(attrs=Attrs({**one.attrs, MARK: _constants(one, given)})) for one in asked}
    return module.replace(functions=tuple([marked.get(one.name, one) for one in module.functions]))


def _constants(func: PrimFunc, given: Given) -> tuple[int, ...]:
    return tuple(
        [at for at, param in enumerate(func.params) if type(param) is Buffer and given.constant(func.name, at)]
    )


class Given:
    """What the functions of a module are called with; `functions` change, but who calls whom does not."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions = functions
        self.callers: dict[str, dict[str, None]] = {}
        self.referred: set[str] = set()  # those that are called otherwise, too
        for name, func in functions.items():
            for node in walk(func):
                if type(node) is FunctionRef:
                    self.referred.add(node.function)
                elif type(node) is CallFunction and type(func) is PrimFunc:
                    self.callers.setdefault(node.function, {})[name] = None

    def constant(self, name: str, at: int, asked: tuple[str, ...] = ()) -> bool:
        """Whether a parameter of a private function is a constant wherever that is called."""
        if name in asked or name in self.referred or name not in self.callers:
            return False
        return all(
            self._known(self.functions[caller], node.args[at], (*asked, name))
            for caller in self.callers[name]
            for node in walk(self.functions[caller].body)
            if type(node) is CallFunction and node.function == name
        )

    def _known(self, caller: PrimFunc, value: Any, asked: tuple[str, ...]) -> bool:
        """Whether what a function hands on is a constant of it, or a parameter that always is one."""
        if any(type(stmt) is AllocateConst and stmt.buffer is value and stmt.data.resolved for stmt in caller.body):
            return True
        at = caller.params.index(value) if caller.private and value in caller.params else None
        return at is not None and self.constant(caller.name, at, asked)


__all__ = ["MARK", "Given", "mark_constant_parameters"]
