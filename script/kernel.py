"""Tensor functions made from kernels: undecorated Python functions in the tensor language, read as macros on buffers.

Operators of the graph have such kernels (`ir/graph_ops/kernel.py`), written once for all shapes and dtypes.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.span import Source

from .context import Macro
from .entry import T, python_names
from .function import FunctionLowering
from .source import definition_of, syntax_tree

PART = "__part_of_kernels__"  # the attribute of functions whose statements kernels that call them write out
_CALL = "def kernel():\n    kernel_(*args, **kwargs)\n"


@functools.cache
def _macro(function: FunctionType) -> Macro:
    """A kernel as a macro; so are the functions marked as parts of kernels that it names."""
    source, _, node = definition_of(function)
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        names[name] = cell.cell_contents
    for name in (*function.__code__.co_names, *function.__code__.co_freevars):
        value = names.get(name)
        if isinstance(value, FunctionType) and hasattr(value, PART):
            names[name] = _macro(value)
    seen = {**python_names(names), "T": T}
    return Macro(node, source, lambda: seen, hygienic=True)


@functools.cache
def _call_of(name: str) -> tuple[Source, Any]:
    """The text that calls a kernel, and its syntax tree."""
    source = Source(f"<call of {name}>", _CALL)
    return source, syntax_tree(source).body[0]


def kernel_function(
    function: FunctionType,
    name: str,
    params: Sequence[Var | Buffer],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> PrimFunc:
    """A private tensor function called `name` whose body is that of the kernel `function` on `args` and `kwargs`.

    `params` are the function's parameters, in order; `args` are values of the language made of them, or plain Python.
    `T` need not be defined where the kernel stands. Raises DiagnosticError where the kernel is wrong, at its lines.
    """
    source, node = _call_of(function.__name__)
    names = {"kernel_": _macro(function), "args": tuple(args), "kwargs": dict(kwargs)}
    lowering = FunctionLowering(node, source, python_names(names), trusted=True, comments=None, namespace=T)
    lowering.params = list(params)
    lowering.options = {"private": True}
    made = lowering.lower(1, 1)
    if not isinstance(made, PrimFunc):
        raise DiagnosticError(lowering.diagnostics)
    return made.replace(name=name, span=None, trivia=None)
