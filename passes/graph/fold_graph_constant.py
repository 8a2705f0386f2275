"""Operators whose arguments are all constants become constants.

before:                                            after:
    with G.dataflow():                                 with G.dataflow():
        a = G.permute_dims(G.const([[1, 2]]))              b = G.matmul(x, G.const([[1], [2]]))
        b = G.matmul(x, a)                                 G.output(b)
        G.output(b)

The meaning of an operator is its numpy reference. Results of over `limit` bytes stay operators.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.expr import Const
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    OpCall,
    PrimValue,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleItem,
)
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import Stmt

from ..pipeline import graph_func_pass

LIMIT = 1 << 28


@graph_func_pass()
def fold_graph_constant(func: GraphFunc, *, limit: int = LIMIT) -> GraphFunc:
    """`a = G.permute_dims(G.const([[1, 2]]))` becomes `G.const([[1], [2]])` where `a` is used."""
    values: dict[GraphVar, GraphExpr] = {}
    body = _folded(func.body, values, limit)
    if not values:
        return func
    return func.replace(body=body, value=substitute(func.value, values))


def _folded(body: tuple[Stmt, ...], values: dict[GraphVar, GraphExpr], limit: int) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for stmt in body:
        if type(stmt) is Dataflow:
            inner = _folded(stmt.body, values, limit)
            outputs = tuple(var for var in stmt.outputs if var not in values)
            if inner:
                kept.append(stmt.replace(body=inner, outputs=outputs))
            continue
        if type(stmt) is GraphIf:
            then, orelse = _folded(stmt.then_body, values, limit), _folded(stmt.else_body, values, limit)
            stmt = stmt.replace(
                then_body=then,
                else_body=orelse,
                condition=substitute(stmt.condition, values),
                then_value=substitute(stmt.then_value, values),
                else_value=substitute(stmt.else_value, values),
            )
        else:
            stmt = substitute(stmt, values) if values else stmt
            if type(stmt) is GraphBind:
                found = _value(stmt, limit)
                if found is not None:
                    values[stmt.var] = found
                    continue
        kept.append(stmt)
    return tuple(kept)


def _value(stmt: GraphBind, limit: int) -> GraphExpr | None:
    """What a binding always gives, as a constant or a tuple of such; None where it is not known or too large."""
    value = stmt.value
    if type(value) is GraphConst:
        return value
    if type(value) is TupleItem and type(value.value) is TupleExpr:
        item = value.value.fields[value.index]
        return item if type(item) is GraphConst else None
    if type(value) is not OpCall or value.op.reference is None or not value.op.pure:
        return None
    try:
        args = [_argument(arg) for arg in value.args]
    except LookupError:
        return None
    made = _constants(value.op.reference(*args, **value.attrs))
    return None if made is None or _size(made) > limit or not _typed(made, stmt.var) else made


def _argument(value: GraphExpr) -> Any:
    """A constant argument as the reference takes it; LookupError for what is not constant."""
    if type(value) is GraphConst:
        if not value.data.resolved:
            raise LookupError
        return value.data.array
    if type(value) is TupleExpr:
        return tuple(map(_argument, value.fields))
    if type(value) is ShapeExpr and all(type(dim) is Const for dim in value.values):
        return tuple(int(dim.value) for dim in value.values if type(dim) is Const)
    if type(value) is PrimValue and type(value.value) is Const:
        return value.value.value
    raise LookupError


def _constants(value: Any) -> GraphExpr | None:
    if isinstance(value, tuple):
        fields = [_constants(field) for field in value]
        return None if None in fields else TupleExpr(tuple(field for field in fields if field is not None))
    return GraphConst(constant(value)) if hasattr(value, "dtype") else None


def _size(value: GraphExpr) -> int:
    if type(value) is TupleExpr:
        return sum(map(_size, value.fields))
    return value.data.nbytes if type(value) is GraphConst else 0


def _typed(value: GraphExpr, var: GraphVar) -> bool:
    """Whether a constant is of the dtype that the binding says."""
    kind = var.type
    return type(value) is not GraphConst or type(kind) is not TensorType or kind.dtype in (None, value.data.dtype)


__all__ = ["LIMIT", "fold_graph_constant"]
