"""Kinds of targets for tests: one that takes tensor functions, one that takes graphs, both by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tirscript
from tirscript.backend.request import Request
from tirscript.ir import Module, PrimFunc, Target
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target_kinds import TargetKind, TargetOption, register_target_kind, unregister_target_kind


class Calls:
    """What the kinds were asked for, and how often what they made was called."""

    def __init__(self) -> None:
        self.compiled: list[tuple[str, list[str], Target]] = []
        self.called: list[str] = []

    def tensors(self, request: Request) -> dict[str, Callable[..., Any]]:
        """The hook `tir_to_runtime`."""
        names = [func.name for func in request.public]
        self.compiled.append(("tensors", names, request.target))
        made = request.lowered
        program = made if isinstance(made, Module) else Module((made,))
        return {name: self.function(program, name) for name in names}

    def graph(self, func: GraphFunc, module: Module, target: Target) -> Callable[..., Any]:
        """The hook `graph_to_runtime`."""
        self.compiled.append(("graph", [func.name], target))
        program = module.replace(functions=tuple(one.replace(attrs=one.attrs.without("external")) for one in module))

        def run(*arrays: Any) -> None:
            self.called.append(func.name)
            found = tirscript.interpret(program, *arrays[: len(func.params)], entry=func.name)
            for out, value in zip(arrays[len(func.params) :], found if type(found) is tuple else (found,), strict=True):
                out[...] = value

        return run

    def function(self, program: Module, name: str) -> Callable[..., Any]:
        """A tensor function that the interpreter runs."""

        def run(*args: Any) -> Any:
            self.called.append(name)
            return tirscript.interpret(program, *args, entry=name)

        return run


@contextmanager
def kinds() -> Iterator[Calls]:
    """The kinds `test_dsp`, of tensor functions, and `test_npu`, of graphs, as long as the `with` lasts."""
    calls = Calls()
    level = TargetOption("level", int, "a number that tells targets apart")
    register_target_kind(TargetKind("test_dsp", "Tensor functions.", (level,), tir_to_runtime=calls.tensors))
    register_target_kind(TargetKind("test_npu", "Graphs.", (level,), graph_to_runtime=calls.graph))
    try:
        yield calls
    finally:
        unregister_target_kind("test_dsp")
        unregister_target_kind("test_npu")


def module(text: str) -> Module:
    """The module of a text."""
    made = tirscript.parse(text)
    assert isinstance(made, Module)
    return made


def function(program: Module, name: str) -> PrimFunc:
    """A tensor function of a module."""
    made = program[name]
    assert isinstance(made, PrimFunc)
    return made


__all__ = ["Calls", "function", "kinds", "module"]
