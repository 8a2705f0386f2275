"""Functions for other targets, which the rest of a module calls as those of a library: executed like all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir import Module
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target import EXTERNAL

from .graph import run_graph
from .program import program_of, run_program


def external_functions(module: Module, max_steps: int | None) -> dict[str, Callable[..., Any]]:
    """What stands behind the names by which a module calls its own functions for other targets."""
    return {
        str(one.attrs[EXTERNAL]): (_graph if isinstance(one, GraphFunc) else _tensor)(module, one.name, max_steps)
        for one in module.functions
        if EXTERNAL in one.attrs
    }


def _tensor(module: Module, name: str, max_steps: int | None) -> Callable[..., Any]:
    return lambda *args: run_program(program_of(module, max_steps is not None), name, args, {}, max_steps)


def _graph(module: Module, name: str, max_steps: int | None) -> Callable[..., Any]:
    """A graph function as a library has it: it writes its results into the arrays behind the arguments."""

    def run(*args: Any) -> None:
        count = len(module[name].params)
        found = run_graph(module, name, args[:count], {}, max_steps)
        for out, value in zip(args[count:], found if isinstance(found, tuple) else (found,), strict=True):
            out[...] = value

    return run


__all__ = ["external_functions"]
