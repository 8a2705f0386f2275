"""Calls of tensor functions in dataflows, as passes over layouts take them apart and put them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphVar,
    OpCall,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_calls import Signature
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.module import Module
from tirscript.ir.op import cast
from tirscript.ir.rewrite import free_vars, substitute, walk
from tirscript.ir.span import Span

from ..statements import same_indices


def called(value: GraphExpr, module: Module) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
    """The tensor function and the arguments of a `G.call_tir` that gives one tensor and passes no scalars."""
    found = called_for(value, module)
    return found if found is not None and len(found[0].params) == len(found[1]) + 1 else None


def called_for(value: GraphExpr, module: Module) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
    """The tensor function and the arguments of a `G.call_tir` that gives tensors and passes no scalars."""
    if type(value) is not OpCall or value.op is not CALL_TIR or len(value.args) != 2 or not value.types:
        return None
    function, given = value.args
    if type(function) is not FunctionRef or not all(type(kind) is TensorType for kind in value.types):
        return None
    found = module.prim_func(function.function)
    args = given.fields if type(given) is TupleExpr else (given,)
    if found is None or len(found.params) != len(args) + len(value.types):
        return None
    return (found, args) if all(type(param) is Buffer for param in found.params) else None


def buffer_type(buffer: Buffer) -> TensorType:
    """The type in the graph of what a parameter holds."""
    found = Signature(PrimFunc("f", (buffer,), ())).types[0]
    assert type(found) is TensorType
    return found


class Instances:
    """Tensor functions of a module in the dimensions of the graph that calls them, one for each set of dimensions."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._made: dict[str, list[tuple[tuple[Expr, ...], PrimFunc]]] = {}

    def called(self, value: GraphExpr) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
        """The function and the arguments of a `G.call_tir` that gives one tensor, as `called_for` finds them."""
        found = self.called_for(value)
        return found if found is not None and len(found[0].params) == len(found[1]) + 1 else None

    def called_for(self, value: GraphExpr) -> tuple[PrimFunc, tuple[GraphExpr, ...]] | None:
        """The function and the arguments of a `G.call_tir` that gives tensors.

        Its symbolic dimensions are those that the call passes, in shapes or as `tir_vars`, and it takes no scalars.
        None where what is passed is not known to have the shapes of the parameters.
        """
        if type(value) is not OpCall or value.op is not CALL_TIR or not value.types:
            return None
        function, given, *rest = value.args
        found = self.module.prim_func(function.function) if type(function) is FunctionRef else None
        if found is None or not all(type(kind) is TensorType for kind in value.types):
            return None
        args = given.fields if type(given) is TupleExpr else (given,)
        scalars = rest[0].values if rest and type(rest[0]) is ShapeExpr else ()
        count = len(args) + len(value.types)
        buffers, others = found.params[:count], found.params[count:]
        if len(others) != len(scalars) or len(buffers) != count or (rest and not scalars):
            return None
        if not all(type(one) is Buffer for one in buffers) or not all(type(one) is Var for one in others):
            return None
        if not others and all(is_constant(one) for one in buffers):  # type: ignore[arg-type]
            return found, args
        bound: dict[Var, Expr] = dict(zip(others, scalars, strict=True))  # type: ignore[arg-type]
        shapes = (*map(_shape, args), *(kind.shape for kind in value.types))  # type: ignore[attr-defined]
        for buffer, shape in zip(buffers, shapes, strict=True):
            assert type(buffer) is Buffer
            if shape is None or len(shape) != buffer.ndim:
                return None
            for dim, size in zip(buffer.shape, shape, strict=True):
                if type(dim) is Var:
                    bound.setdefault(dim, size)
        free = [node for buffer in buffers for node in walk(buffer, Var)]
        if any(var.dtype is not INT64 or var not in bound for var in (*free, *bound)):
            return None
        known = Analyzer()
        for buffer, shape in zip(buffers, shapes, strict=True):
            sizes = zip(substitute(buffer.shape, bound), shape or (), strict=True)  # type: ignore[union-attr]
            if not all(known.prove_equal(cast(dim, INT64), cast(size, INT64)) for dim, size in sizes):
                return None  # the call compares them when it runs
        return self._instance(found, bound, buffers), args

    def _instance(self, func: PrimFunc, bound: dict[Var, Expr], params: tuple[Any, ...]) -> PrimFunc:
        given = tuple(bound.values())
        made = self._made.setdefault(func.name, [])
        for other, instance in made:
            if same_indices(other, given):
                return instance
        instance = substitute(func.replace(params=params), bound)
        made.append((given, instance))
        return instance


def _shape(arg: GraphExpr) -> tuple[Expr, ...] | None:
    kind = arg.type if type(arg) is GraphVar else None
    if type(arg) is GraphConst:
        return tuple(Const(size, INT64) for size in arg.data.shape)
    return kind.shape if type(kind) is TensorType else None


def closed(func: PrimFunc) -> tuple[PrimFunc, tuple[Var, ...]]:
    """A function that takes the dimensions that none of its shapes gives, and these."""
    alone = {dim for param in func.param_buffers for dim in param.shape if type(dim) is Var}
    free = tuple(dict.fromkeys((*(var for var in func.symbols if var not in alone), *free_vars(func))))
    return func.replace(params=(*func.params, *free)), free


def is_constant(buffer: Buffer) -> bool:
    """Whether all dimensions are numbers."""
    return all(type(dim) is Const for dim in buffer.shape)


def call(
    name: str,
    function: str,
    args: Sequence[GraphExpr],
    *kinds: TensorType,
    span: Span | None = None,
    scalars: tuple[Expr, ...] = (),
) -> GraphBind:
    """`name = G.call_tir(cls.function, args, out=kind, tir_vars=scalars)`, a tuple where there are several kinds."""
    given: list[GraphExpr] = [FunctionRef(function), TupleExpr(tuple(args))]
    if scalars:
        given.append(ShapeExpr(scalars))
    value = OpCall(CALL_TIR, tuple(given), types=kinds, span=span)
    return GraphBind(GraphVar(name, kinds[0] if len(kinds) == 1 else TupleType(kinds)), value, span=span)


__all__ = ["Instances", "buffer_type", "call", "called", "called_for", "closed", "is_constant"]
