"""Calls of tensor functions in dataflows, as passes over layouts take them apart and put them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef, GraphBind, GraphExpr, GraphVar, OpCall, TensorType, TupleExpr
from tirscript.ir.graph_calls import Signature
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.module import Module
from tirscript.ir.span import Span


def called(value: GraphExpr, module: Module) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
    """The tensor function and the arguments of a `G.call_tir` that gives one tensor and passes no scalars."""
    if type(value) is not OpCall or value.op is not CALL_TIR or len(value.args) != 2 or len(value.types) != 1:
        return None
    function, given = value.args
    if type(function) is not FunctionRef or type(value.types[0]) is not TensorType:
        return None
    found = module.prim_func(function.function)
    args = given.fields if type(given) is TupleExpr else (given,)
    if found is None or len(found.params) != len(args) + 1 or not all(type(param) is Buffer for param in found.params):
        return None
    return found, args


def buffer_type(buffer: Buffer) -> TensorType:
    """The type in the graph of what a parameter holds."""
    found = Signature(PrimFunc("f", (buffer,), ())).types[0]
    assert type(found) is TensorType
    return found


def is_constant(buffer: Buffer) -> bool:
    """Whether all dimensions are numbers."""
    return all(type(dim) is Const for dim in buffer.shape)


def call(name: str, function: str, args: Sequence[GraphExpr], kind: TensorType, span: Span | None = None) -> GraphBind:
    """`name = G.call_tir(cls.function, args, out=kind)`"""
    value = OpCall(CALL_TIR, (FunctionRef(function), TupleExpr(tuple(args))), types=(kind,), span=span)
    return GraphBind(GraphVar(name, kind), value, span=span)


class Names:
    """Names of new functions in a module."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, base: str) -> str:
        """`base`, with a number behind it where a function has that name."""
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


__all__ = ["Names", "buffer_type", "call", "called", "is_constant"]
