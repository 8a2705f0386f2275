"""What a graph function computes several times is computed once.

before:                                            after:
    with G.dataflow():                                 with G.dataflow():
        a = G.exp(x)                                       a = G.exp(x)
        b = G.exp(x)                                       c = G.add(a, a)
        c = G.add(a, b)                                    G.output(c)
        G.output(c)

Calls of operators and kernels are taken, and of graph functions that are pure. Memory that is allocated twice stays
two, and so do what a branch computes and the code behind it, and what is written in place or made of that.
"""

from __future__ import annotations

from tirscript.ir.equal import structural_equal
from tirscript.ir.graph import FunctionCall, GraphBind, GraphExpr, GraphFunc, GraphVar, MatchCast, OpCall
from tirscript.ir.hashing import structural_hash
from tirscript.ir.module import Module

from ..pipeline import module_pass
from .replacing import Replacing, each_graph_func, is_pure, variables, written_in_place


@module_pass(opt_level=1)
def common_graph_subexpression(module: Module) -> Module:
    """`a = G.exp(x); b = G.exp(x); c = G.add(a, b)` becomes `a = G.exp(x); c = G.add(a, a)`."""
    return each_graph_func(module, lambda func: _Common(module).function(func))


class _Common(Replacing):
    """`known` has the bindings so far by the hash of their values."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module
        self.written: set[GraphVar] = set()

    def function(self, func: GraphFunc) -> GraphFunc:
        self.written = written_in_place(func, self.module)
        return super().function(func)

    def instead(self, stmt: GraphBind | MatchCast) -> GraphVar | None:
        if type(stmt) is not GraphBind or not self.is_computed(stmt.value):
            return None
        if {stmt.var, *variables(stmt.value)} & self.written:
            return None
        before: list[GraphBind] = self.known.setdefault(structural_hash(stmt.value), [])
        for other in before:
            if structural_equal(other.value, stmt.value) and structural_equal(other.var.type, stmt.var.type):
                return other.var
        before.append(stmt)
        return None

    def is_computed(self, value: GraphExpr) -> bool:
        """Whether a value is made of its arguments alone, so that one may stand for another."""
        if type(value) is OpCall:
            own = value.op.reference is not None or value.op.legalize is not None or value.op.name == "call_tir"
            return own and is_pure(value, self.module)
        return type(value) is FunctionCall and is_pure(value, self.module)

    def forget(self, gone: set[GraphVar]) -> None:
        for key, binds in self.known.items():
            self.known[key] = [one for one in binds if one.var not in gone and not variables(one.value) & gone]


__all__ = ["common_graph_subexpression"]
