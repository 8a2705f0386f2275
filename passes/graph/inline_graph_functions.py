"""Calls of graph functions become what these do, so that it is fused with what is around them.

before:                                            after:
    @G.graph_func(private=True)                        @G.graph_func
    def doubled(a: G.Tensor(("n",), "float32")):       def main(x: G.Tensor((4,), "float32")):
        b = G.multiply(a, G.const(2.0))                    h = G.exp(x)
        return b                                           b = G.multiply(h, G.const(2.0))
                                                           return b
    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        h = G.exp(x)
        y = cls.doubled(h)
        return y

A function stays a function where it calls itself or one that does, says by its attributes something else than its
caller (another target is one), is given what fits its parameters only when the program runs, takes tensors of which
only the rank is said (`measure_sizes` names their dimensions), or has an `if` and is called in a dataflow; and where
the module would get more than `most` statements more. Private functions that nothing calls any more go.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.equal import structural_equal
from tirscript.ir.graph import Dataflow, FunctionCall, FunctionRef, GraphBind, GraphExpr, GraphFunc, GraphIf, GraphVar
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.rewrite import holds, walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import Replacing
from .written_out import callees_first, calls_of, fits, for_arguments, in_place

OF_PARAMETERS = ("num_input", "tir_var_upper_bound")  # attributes that speak of the parameters of their function


@module_pass(opt_level=1)
def inline_graph_functions(module: Module, *, most: int = 1_000, private: bool = False) -> Module:
    """`y = cls.doubled(h)` becomes `b = G.multiply(h, G.const(2.0))`; `private`: of private functions alone."""
    return in_place_of_calls(module, most, private)


def in_place_of_calls(module: Module, most: int, private: bool) -> Module:
    """A module whose graph functions stand in place of their calls, with no more than `most` statements more."""
    before: dict[str, Any] = {one.name: one for one in module.functions}
    now = dict(before)
    known: dict[str, GraphFunc] = {}
    ending = {one.name for one in module.prim_funcs}  # functions that do not call themselves, nor one that does
    for name in callees_first(module):
        func: GraphFunc = now[name]
        calls = calls_of(func)
        chosen = _that_fit(func, known, most)
        if chosen:
            inlining = _Inlining(func, module, {one: known[one] for one in chosen})
            func = now[name] = inlining.function(func)
            most -= inlining.more
        if calls <= ending:
            ending.add(name)
            if func.private or not private:
                known[name] = func
    if all(now[name] is one for name, one in before.items()):
        return module
    called, still = (
        {name for one in functions.values() if type(one) is GraphFunc for name in calls_of(one)}
        for functions in (before, now)
    )
    kept = (one for name, one in now.items() if not (one.private and name in known and name in called - still))
    return module.replace(functions=tuple(kept))


def _that_fit(func: GraphFunc, known: dict[str, GraphFunc], room: int) -> list[str]:
    """The functions whose calls in `func` become no more than `room` statements, small ones first."""
    counts = Counter(node.function for node in walk(func, FunctionRef) if node.function in known)
    costs = {name: count * _statements(known[name]) for name, count in counts.items()}
    found: list[str] = []
    for name in sorted(costs, key=costs.__getitem__):
        if costs[name] <= room:
            found.append(name)
            room -= costs[name]
    return found


def _statements(node: GraphFunc | tuple[Stmt, ...]) -> int:
    return sum(isinstance(inner, Stmt) for inner in walk(node))


class _Inlining(Replacing):
    """One function on its way; `functions` are those whose calls become what they do."""

    def __init__(self, func: GraphFunc, module: Module, functions: dict[str, GraphFunc]) -> None:
        super().__init__()
        self.func, self.module, self.functions = func, module, functions
        self.more = 0  # statements
        flows = walk(func, Dataflow)
        self.in_dataflow = {stmt.var for flow in flows for stmt in flow.body if type(stmt) is GraphBind}

    def forget(self, gone: set[GraphVar]) -> None:
        """Nothing is remembered."""

    def instead(self, stmt: object) -> GraphExpr | None:
        return None

    def rewritten(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if type(stmt) is not GraphBind or type(stmt.value) is not FunctionCall:
            return (stmt,)
        callee, args = self.callee(stmt, stmt.value), stmt.value.args
        if callee is None:
            return (stmt,)
        types = [type_of(arg, self.module) for arg in args]
        try:
            made = for_arguments(callee, types)
        except DiagnosticError:
            return (stmt,)  # the check of the program tells
        if not fits(made, types):
            return (stmt,)
        statements, value = in_place(made, args, types, flat=stmt.var in self.in_dataflow)
        body = tuple(statements)
        self.more += _statements(body)
        if type(value) is GraphVar and structural_equal(value.type, stmt.var.type):
            self.values[stmt.var] = value
            return body
        return (*body, stmt.replace(value=value))

    def callee(self, stmt: GraphBind, call: FunctionCall) -> GraphFunc | None:
        """The function that a statement calls, if what it does may stand there."""
        found = self.functions.get(call.function.function) if type(call.function) is FunctionRef else None
        if found is None or len(found.params) != len(call.args):
            return None
        if found.attrs != self.func.attrs.without(*OF_PARAMETERS) or (self.func.pure and not found.pure):
            return None
        branches = holds(found, GraphIf)
        return None if branches and stmt.var in self.in_dataflow else found


__all__ = ["inline_graph_functions"]
