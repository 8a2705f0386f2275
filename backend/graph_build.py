"""Modules with graph functions on their way to `build`: lowered to tensor functions first, wrapped behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirscript.ir.constant import require_constants
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.verify import check_well_formed
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.passes.pipeline import Sequential


def graph_functions(module: Module) -> dict[str, GraphFunc]:
    """The graph functions of a module by name."""
    return {one.name: one for one in module.functions if type(one) is GraphFunc}


def lower_graphs(module: Module, passes: Sequential | None, default: bool) -> tuple[Module, Sequential | None]:
    """The module with tensor functions for its graph functions, and the passes that are still to be applied.

    By `default` these are GRAPH_LOWERING; of passes that the user gave, as many as it takes. Raises DiagnosticError
    T401 where graph functions are left.
    """
    check_well_formed(module)
    require_constants(module)
    if default:
        return GRAPH_LOWERING(module), passes
    rest = () if passes is None else passes.passes
    while rest and graph_functions(module):
        module, rest = rest[0](module), rest[1:]
    left = graph_functions(module)
    if left:
        names = ", ".join(f"`{name}`" for name in left)
        hint = "let the pipeline hold `graph_to_tensor`, and `legalize_ops` before it, or leave it away"
        raise DiagnosticError([error("T401", f"the passes leave graph functions: {names}", module.span, hint=hint)])
    return module, Sequential(rest)


def wrapped(graphs: Mapping[str, GraphFunc], lowered: Module, native: Mapping[str, Any]) -> dict[str, Any]:
    """The functions that were built, those of graph functions as Python calls them."""
    from .runtime.graph_function import GraphFunction

    found = dict(native)
    tensors = {one.name: one for one in lowered.functions if isinstance(one, PrimFunc)}
    for name, func in graphs.items():
        if name in native and name in tensors:
            found[name] = GraphFunction(func, tensors[name], native[name])
    return found


__all__ = ["graph_functions", "lower_graphs", "wrapped"]
