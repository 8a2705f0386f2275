"""What is said of a value that stands where a program is to be built or executed."""

from __future__ import annotations

from types import FunctionType, ModuleType

from tirscript.ir import Module, PrimFunc
from tirscript.ir.check import held_in
from tirscript.ir.graph import GraphFunc

SEVERAL = "several functions are a class under `@I.ir_module`, whose body takes each by `f = f`"


def no_program(x: object) -> str:
    """That it is none, and what makes one of it: "not a str; read a text with `tirscript.parse`"."""
    return f"not {kind_of(x)}{_hint(x)}"


def kind_of(x: object) -> str:
    """A value by its class, with an article."""
    if x is None:
        return "None"
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    return f"the class {name}" if isinstance(x, type) else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _hint(x: object) -> str:
    if isinstance(x, FunctionType):
        cls = x.__qualname__.rpartition(".")[0].rpartition(".")[2]
        if cls and cls != "<locals>":  # the decorator left it for that of the class
            return f"; decorate its class `{cls}` with `@I.ir_module`, or define it outside of the class"
        return "; decorate it with `@T.prim_func`"
    if isinstance(x, type):
        return "; decorate it with `@I.ir_module`"
    if isinstance(x, str):
        return "; read a text with `tirscript.parse`"
    if isinstance(x, (GraphFunc, Module)):
        return "; build it with `tirscript.build`"
    from tirscript.passes.schedule import Schedule

    if isinstance(x, Schedule):
        return "; build the function that it has made, `schedule.func`"
    if isinstance(x, (dict, list, tuple, ModuleType)):
        return f"; {SEVERAL}"
    held = held_in(x, (PrimFunc, GraphFunc, Module))
    return f"; {held}" if held is not None else ""


__all__ = ["kind_of", "no_program"]
