"""A split whose parts are taken one by one becomes a slice for each: a kernel with one result joins those that read it.

before:                                            after:
    t = G.split(x, 2, axis=1)                          a = G.strided_slice(x, (1,), (0,), (n,), assume_inbound=True)
    a = t[0]                                           b = G.strided_slice(x, (1,), (n,), (n * 2,), assume_inbound=True)
    b = t[1]                                           c = G.multiply(G.sigmoid(a), b)
    c = G.multiply(G.sigmoid(a), b)

A split that anything else uses stays, as its kernel is then needed in any case, and so does one of a tensor that
a call writes in place.
"""

from __future__ import annotations

from collections import Counter

from tirscript.ir.graph import (
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import Replacing, each_graph_func, variables, written_in_place


@module_pass(opt_level=1)
def split_to_slices(module: Module) -> Module:
    """`t = G.split(x, 2, axis=1); a = t[0]` becomes `a = G.strided_slice(x, (1,), (0,), (n,))`."""
    return each_graph_func(module, lambda func: _Slicing(module).function(func))


class _Slicing(Replacing):
    """`known` has the splits that are taken apart."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module
        self.apart: set[GraphVar] = set()

    def function(self, func: GraphFunc) -> GraphFunc:
        splits: dict[GraphVar, OpCall] = {}
        items: Counter[GraphVar] = Counter()
        uses = Counter(walk(func, GraphVar))
        for node in walk(func):
            if type(node) is GraphBind and type(node.value) is OpCall and node.value.op.name == "split":
                splits[node.var] = node.value
            elif type(node) is GraphBind and type(node.value) is TupleItem and type(node.value.value) is GraphVar:
                items[node.value.value] += 1
        # its own binding is a use, too
        apart = {var: call for var, call in splits.items() if uses[var] == items[var] + 1}
        written = written_in_place(func, self.module) if apart else set()
        self.apart = {var for var, call in apart.items() if not {var, *variables(call)} & written}
        return super().function(func) if self.apart else func

    def instead(self, stmt: GraphBind | MatchCast) -> GraphExpr | None:
        if type(stmt) is GraphBind and stmt.var in self.apart and type(stmt.value) is OpCall:
            self.known[stmt.var] = stmt.value
        return None

    def rewritten(self, stmt: Stmt) -> tuple[Stmt, ...]:
        value = stmt.value if type(stmt) is GraphBind else None
        call = self.known.get(value.value) if type(value) is TupleItem else None
        if type(stmt) is not GraphBind or type(value) is not TupleItem or call is None:
            return (stmt,)
        found = _slice(call, value.index)
        return (stmt,) if found is None else (stmt.replace(value=found),)

    def forget(self, gone: set[GraphVar]) -> None:
        self.known = {var: call for var, call in self.known.items() if var not in gone and not variables(call) & gone}


def _slice(call: OpCall, index: int) -> OpCall | None:
    """The part of a split as a slice; None where it is not known where the part lies, or that it lies inside."""
    parts, whole = type_of(call), type_of(call.args[0])
    if type(parts) is not TupleType or type(whole) is not TensorType or whole.shape is None:
        return None
    axis = int(call.attrs["axis"]) % len(whole.shape)
    begin = end = dims.dim(0)
    for part in parts.fields[: index + 1]:
        if type(part) is not TensorType or part.shape is None:
            return None
        begin, end = end, dims.add(end, part.shape[axis])
    if not dims.not_negative(dims.sub(whole.shape[axis], end), presburger=True):
        return None
    places = [TupleExpr((PrimValue(dims.dim(one)),)) for one in (axis, begin, end)]
    found: OpCall = GRAPH_OPS["strided_slice"](call.args[0], *places, assume_inbound=True)
    return found if _same_type(type_of(found), parts.fields[index]) else None


def _same_type(one: GraphType, other: GraphType) -> bool:
    """Whether two tensors have one shape, perhaps in other words."""
    known = type(one) is TensorType and type(other) is TensorType and one.shape is not None and other.shape is not None
    return known and dims.same_shapes(one.shape, other.shape)  # type: ignore[attr-defined]


__all__ = ["split_to_slices"]
