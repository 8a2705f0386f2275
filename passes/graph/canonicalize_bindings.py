"""Bindings that give another name to a value go: aliases, also of functions, items of known tuples, checks that cannot
fail.

before:                                            after:
    with G.dataflow():                                 with G.dataflow():
        a = G.exp(x)                                       a = G.exp(x)
        t = (a, x)                                         t = (a, x)
        b = t[0]                                           d = G.sin(a)
        c = G.match_cast(b, G.Tensor((n, 4), "float32"))   G.output(d)
        d = G.sin(c)
        G.output(d)

A binding whose annotation says another type than the value has stays. Tuples that nothing uses any more are for
`dead_code_elimination`.
"""

from __future__ import annotations

from tirscript.ir.equal import structural_equal
from tirscript.ir.graph import (
    ExternFunction,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MatchCast,
    TensorType,
    TupleExpr,
    TupleItem,
)
from tirscript.ir.graph_ops import dims

from ..pipeline import graph_func_pass
from .replacing import Replacing, variables


@graph_func_pass()
def canonicalize_bindings(func: GraphFunc) -> GraphFunc:
    """`a = G.exp(x); b = a; c = G.sin(b)` becomes `a = G.exp(x); c = G.sin(a)`."""
    return _Canonical().function(func)


class _Canonical(Replacing):
    """`known` has the tuples that variables are bound to."""

    def instead(self, stmt: GraphBind | MatchCast) -> GraphExpr | None:
        value = stmt.value
        if type(value) is TupleExpr and type(stmt) is GraphBind:
            self.known[stmt.var] = value
            return None
        if type(value) is TupleItem:
            whole = self.known.get(value.value) if type(value.value) is GraphVar else value.value
            if type(whole) is not TupleExpr:
                return None
            value = whole.fields[value.index]
            if type(value) is GraphConst:
                return value
            if type(value) is TupleExpr:  # a tuple in a tuple, the items of which are known, too
                self.known[stmt.var] = value
                return None
        if type(value) is GraphVar and _is_same(value.type, stmt.var.type):
            return value
        return value if type(value) in (FunctionRef, ExternFunction) else None

    def forget(self, gone: set[GraphVar]) -> None:
        self.known = {
            var: value for var, value in self.known.items() if var not in gone and not variables(value) & gone
        }


def _is_same(one: GraphType, other: GraphType) -> bool:
    """Whether two types say the same, perhaps with dimensions in other words."""
    if type(one) is TensorType and type(other) is TensorType and one.shape is not None and other.shape is not None:
        alike = (one.dtype, one.vdevice) == (other.dtype, other.vdevice) and len(one.shape) == len(other.shape)
        return alike and dims.same_shapes(one.shape, other.shape)
    return structural_equal(one, other)


__all__ = ["canonicalize_bindings"]
