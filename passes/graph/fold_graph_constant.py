"""Operators whose arguments are all constants become constants.

before:                                            after:
    with G.dataflow():                                 with G.dataflow():
        a = G.permute_dims(G.const([[1, 2]]))              b = G.matmul(x, G.const([[1], [2]]))
        b = G.matmul(x, a)                                 G.output(b)
        G.output(b)

The meaning of an operator is its numpy reference. A tensor function that is called with constants alone is compiled and
run now, where its loops show that it ends. What is written in place stays as it is, and results of over `limit` bytes.
"""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from tirscript.ir.constant import constant, numpy_dtype
from tirscript.ir.expr import Const
from tirscript.ir.graph import (
    Dataflow,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    OpCall,
    PrimValue,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops.reference import REFUSALS
from tirscript.ir.module import Module
from tirscript.ir.rewrite import substitute
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Stmt

from ..constants.parameters import hindrance, with_constants
from ..constants.running import results_of
from ..pipeline import module_pass
from .replacing import each_graph_func, written_in_place

LIMIT = 1 << 28


@module_pass(opt_level=1)
def fold_graph_constant(module: Module, *, limit: int = LIMIT) -> Module:
    """`a = G.permute_dims(G.const([[1, 2]]))` becomes `G.const([[1], [2]])` where `a` is used."""
    return each_graph_func(module, lambda func: _function(func, module, limit))


class _Folding(Struct, frozen=True, eq=False):
    """What folding a function takes: `written` are the variables whose elements are written in place."""

    module: Module
    limit: int
    written: set[GraphVar]
    gone: list[str]  # the comments at bindings that are no more, which go to what comes next

    def told(self, stmt: Stmt) -> None:
        """Remember the comments at a statement that goes."""
        if stmt.trivia is not None:
            self.gone.extend((*stmt.trivia.before, *filter(None, (stmt.trivia.beside,)), *stmt.trivia.after))

    def kept(self, stmt: Any) -> Any:
        """A statement that stays, with the comments of those above it that do not."""
        lines, self.gone[:] = tuple(self.gone), ()
        own = stmt.trivia or Trivia()
        return stmt.replace(trivia=Trivia((*lines, *own.before), own.beside, own.after)) if lines else stmt


def _function(func: GraphFunc, module: Module, limit: int) -> GraphFunc:
    values: dict[GraphVar, GraphExpr] = {}
    folding = _Folding(module, limit, written_in_place(func, module), [])
    body = _folded(func.body, values, folding)
    if not values:
        return func
    func = func.replace(body=body, value=substitute(func.value, values))
    if not folding.gone:
        return func
    if not body:
        return folding.kept(func)
    own = body[-1].trivia or Trivia()
    last = body[-1].replace(trivia=Trivia(own.before, own.beside, (*own.after, *folding.gone)))
    return func.replace(body=(*body[:-1], last))


def _folded(body: tuple[Stmt, ...], values: dict[GraphVar, GraphExpr], folding: _Folding) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for stmt in body:
        if type(stmt) is Dataflow:
            stmt = folding.kept(stmt)
            inner = _folded(stmt.body, values, folding)
            outputs = tuple(var for var in stmt.outputs if var not in values)
            if inner:
                kept.append(stmt.replace(body=inner, outputs=outputs))
            else:
                folding.told(stmt)
            continue
        if type(stmt) is GraphIf:
            stmt = folding.kept(stmt)
            then, orelse = (
                _folded(stmt.then_body, values, folding),
                _folded(stmt.else_body, values, folding),
            )
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
                found = None if stmt.var in folding.written else _value(stmt, folding.module, folding.limit)
                if found is not None:
                    values[stmt.var] = found
                    folding.told(stmt)
                    continue
        kept.append(folding.kept(stmt))
    return tuple(kept)


def _value(stmt: GraphBind, module: Module, limit: int) -> GraphExpr | None:
    """What a binding always gives, as a constant or a tuple of such; None where it is not known or too large."""
    value = stmt.value
    if type(value) is GraphConst:
        return value
    if type(value) is TupleItem and type(value.value) is TupleExpr:
        item = value.value.fields[value.index]
        return item if type(item) is GraphConst else None
    if type(value) is OpCall and value.op.name == "call_tir":
        return _called(value, module, limit)
    if (
        type(value) is not OpCall
        or value.op.reference is None
        or not value.op.pure
        or _known_size(stmt.var.type) > limit
    ):
        return None
    try:
        kinds = [one.kind for one in value.op.values]
        args = [_argument(arg, kinds[at : at + 1] == ["tensor"]) for at, arg in enumerate(value.args)]
    except LookupError:
        return None
    try:
        found = value.op.reference(*args, **value.attrs)
    except REFUSALS:  # an error where it is executed
        return None
    made = _constants(found)
    return None if made is None or _size(made) > limit or not _typed(made, stmt.var) else made


def _called(call: OpCall, module: Module, limit: int) -> GraphExpr | None:
    """The results of a tensor function for constants; None where they are not known now."""
    reference, given, *rest = call.args
    func = module.prim_func(reference.function) if type(reference) is FunctionRef else None
    if func is None or rest or type(given) is not TupleExpr:
        return None
    known = {at: value.data for at, value in enumerate(given.fields) if type(value) is GraphConst}
    outs = len(func.params) - len(given.fields)
    if len(known) < len(given.fields) or not known or outs != len(call.types):
        return None
    if any(hindrance(func, at, module) or not data.resolved for at, data in known.items()):
        return None
    results = results_of(with_constants(func, known, module), limit)
    if results is None:
        return None
    fields = tuple(GraphConst(constant(array), span=call.span) for array in results)
    return fields[0] if len(fields) == 1 else TupleExpr(fields)


def _argument(value: GraphExpr, tensor: bool) -> Any:
    """A constant argument as the reference takes it, a `tensor` or not; LookupError for what is not constant."""
    if type(value) is GraphConst:
        if not value.data.resolved:
            raise LookupError
        return value.data.array
    if type(value) is TupleExpr:
        return tuple(_argument(one, tensor) for one in value.fields)
    if type(value) is ShapeExpr and all(type(dim) is Const for dim in value.values):
        return tuple(int(dim.value) for dim in value.values if type(dim) is Const)
    if type(value) is PrimValue and type(value.value) is Const:
        import numpy as np

        number = value.value
        return np.asarray(number.value, numpy_dtype(number.dtype))[()] if tensor else number.value
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


def _known_size(kind: GraphType) -> int:
    """How many bytes the tensors of a type hold, those of unknown size left out."""
    if type(kind) is TupleType:
        return sum(map(_known_size, kind.fields))
    if type(kind) is not TensorType or kind.dtype is None or kind.shape is None:
        return 0
    sizes = [int(dim.value) for dim in kind.shape if type(dim) is Const]
    return math.prod(sizes) * kind.dtype.itemsize if len(sizes) == len(kind.shape) else 0


def _typed(value: GraphExpr, var: GraphVar) -> bool:
    """Whether what was found is of the binding's type: a tensor of its dtype, and no tuple in place of a shape."""
    kind = var.type
    if type(kind) is ShapeType:
        return False
    return type(value) is not GraphConst or type(kind) is not TensorType or kind.dtype in (None, value.data.dtype)


__all__ = ["LIMIT", "fold_graph_constant"]
