"""Where scalars stand in calls of tensor functions: ours are behind the results, those of TVM among the arguments.

before:                                             after:
    def relu(x, out, n): ...                            def relu(x, n, out): ...
    y = G.call_tir(relu, (x,), tir_vars=(n,))           y = G.call_tir(relu, (x, n))
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef, OpCall, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite, walk

_CALLS = frozenset(("call_tir", "call_tir_inplace"))


def scalars_among_arguments(module: Module) -> Module:
    """The module with scalars that graphs pass behind the results as the last of the arguments.

    A function that is called in both ways, or with unknown scalars, stays.
    """
    counts: dict[str, set[tuple[int, int]]] = {}
    for func in module.graph_funcs:
        for node in walk(func):
            if type(node) is OpCall and node.op.name in _CALLS:
                given, more = node.args[1], node.args[2] if len(node.args) > 2 else None
                if type(node.args[0]) is not FunctionRef:
                    continue
                ways = counts.setdefault(node.args[0].function, set())
                if type(given) is TupleExpr and (more is None or type(more) is ShapeExpr):
                    ways.add((len(given.fields), 0 if more is None else len(more.values)))
                else:
                    ways.update(((-1, 0), (0, -1)))
    moved: dict[str, tuple[int, int]] = {}
    for name, found in counts.items():
        (first, many), *others = found
        if not others and many > 0 and name in module and type(module[name]) is PrimFunc:
            moved[name] = (first, many)
    if not moved:
        return module

    def in_order(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        first, many = moved[name]
        return (*values[:first], *values[len(values) - many :], *values[first : len(values) - many])

    def of_graph(call: OpCall) -> OpCall:
        if call.op.name not in _CALLS or call.args[0].function not in moved:  # type: ignore[attr-defined]
            return call
        function, given, sizes = call.args[:3]
        fields = (*given.fields, *map(PrimValue, sizes.values))  # type: ignore[attr-defined]
        return call.replace(args=(function, given.replace(fields=fields)))

    def of_function(call: CallFunction) -> CallFunction:
        return call.replace(args=in_order(call.function, call.args)) if call.function in moved else call

    functions = []
    for one in module.functions:
        if type(one) is PrimFunc and one.name in moved:
            one = one.replace(params=in_order(one.name, one.params))
        functions.append(rewrite(one, {OpCall: of_graph, CallFunction: of_function}))
    return module.replace(functions=tuple(functions))


__all__ = ["scalars_among_arguments"]
