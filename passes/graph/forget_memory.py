"""What says where values lie goes: tensors that a program allocates for its calls, storage, lifetimes, devices.

before:                                                   after:
    a = G.builtin.alloc_tensor(G.shape([4]), "float32")       a = G.call_tir(cls.exp, (x,), out=...)
    _ = cls.exp(x, a)                                         return a
    G.memory.kill_tensor(x)
    return a

So a program that apache-tvm has lowered to calls that write is again one of values, for all passes behind. A function
in which a tensor is used before a call writes it, or written where it was not allocated for it, stays as it is.
"""

from __future__ import annotations

from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    DTypeValue,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphVar,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.calls import CALL_DPS_PACKED, CALL_TIR
from tirscript.ir.graph_ops.distributed import DIST_CALL_TIR
from tirscript.ir.graph_ops.foreign import ALLOCATIONS, ENDS, PLACES, STORAGE, is_foreign
from tirscript.ir.module import Module
from tirscript.ir.node import Node
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .replacing import each_graph_func


@module_pass()
def forget_memory(module: Module) -> Module:
    """`a = G.builtin.alloc_tensor(...); cls.f(x, a)` becomes `a = G.call_tir(cls.f, (x,), ...)`."""
    kernels = {one.name for one in module.functions if isinstance(one, PrimFunc)}
    return each_graph_func(module, lambda func: _plain(func, kernels))


class _Unclear(Exception):
    """A tensor that the function allocates is no result of a call."""


def _plain(func: GraphFunc, kernels: set[str]) -> GraphFunc:
    if not any(map(_concerns, walk(func))):
        return func
    waiting: dict[GraphVar, TensorType] = {}
    try:
        body = _body(func.body, kernels, waiting)
    except _Unclear:
        return func
    made = func.replace(body=body)
    storage = {stmt.var: TensorType() for stmt in walk(func, GraphBind) if _is_storage(stmt.value)}
    return func if _uses(func.value, waiting) or _uses(made, storage) else made


def _is_storage(value: GraphExpr) -> bool:
    return type(value) is OpCall and is_foreign(value.op) and value.op.name in STORAGE


def _concerns(node: Node) -> bool:
    if type(node) is FunctionCall:
        return type(node.function) is ExternFunction
    return type(node) is OpCall and is_foreign(node.op)


def _body(body: tuple[Stmt, ...], kernels: set[str], waiting: dict[GraphVar, TensorType]) -> tuple[Stmt, ...]:
    """The statements; `waiting` are tensors that are allocated and not written yet."""
    made: list[Stmt] = []
    for stmt in body:
        if type(stmt) is GraphBind:
            made += _bind(stmt, kernels, waiting)
        elif type(stmt) is Dataflow:
            made.append(stmt.replace(body=_body(stmt.body, kernels, waiting)))
        elif type(stmt) is GraphIf:
            then, other = (_branch(part, kernels, waiting) for part in (stmt.then_body, stmt.else_body))
            made.append(_clear(stmt.replace(then_body=then, else_body=other), waiting))
        else:
            made.append(_clear(stmt, waiting))
    return tuple(made)


def _branch(body: tuple[Stmt, ...], kernels: set[str], outer: dict[GraphVar, TensorType]) -> tuple[Stmt, ...]:
    own: dict[GraphVar, TensorType] = {}
    made = _body(body, kernels, own)
    if any(_uses(stmt, own | outer) for stmt in made):
        raise _Unclear
    return made


def _bind(stmt: GraphBind, kernels: set[str], waiting: dict[GraphVar, TensorType]) -> list[Stmt]:
    value, kind = stmt.value, stmt.var.type
    if type(value) is GraphFunc:
        return [_clear(stmt.replace(value=_plain(value, kernels)), waiting)]
    if type(value) is OpCall and is_foreign(value.op):
        name = value.op.name
        if name in ALLOCATIONS and type(kind) is TensorType and kind.shape is not None and kind.dtype is not None:
            waiting[stmt.var] = kind
            return []
        if _is_storage(value) or name in ENDS:
            return []
        if name in PLACES and value.args:
            return [_clear(stmt.replace(value=value.args[0]), waiting)]
        if value.op is DIST_CALL_TIR:
            return [_clear(stmt.replace(value=value.replace(op=CALL_TIR)), waiting)]
        if name == "vm.call_tir_dyn" and len(value.args) == 2 and type(value.args[1]) is TupleExpr:
            return _written(stmt, value.args[0], value.args[1].fields, waiting)
    if type(value) is FunctionCall:
        callee = value.function
        if type(callee) is ExternFunction and _is_known(callee.symbol, value.args):
            return []
        if type(callee) is ExternFunction and callee.symbol == "vm.builtin.reshape" and len(value.args) == 2:
            made = GRAPH_OPS["reshape"](*value.args).replace(span=value.span)
            return [_clear(stmt.replace(value=made), waiting)]
        if type(callee) is FunctionRef and callee.function in kernels:
            return _written(stmt, callee, value.args, waiting)
        if type(callee) is ExternFunction and any(arg in waiting for arg in value.args):
            return _written(stmt, callee, value.args, waiting)
    return [_clear(stmt, waiting)]


def _written(
    stmt: GraphBind, callee: GraphExpr, args: tuple[GraphExpr, ...], waiting: dict[GraphVar, TensorType]
) -> list[Stmt]:
    """A call of a function that writes tensors which were allocated for it, as one that gives them."""
    places = [at for at, arg in enumerate(args) if type(arg) is GraphVar and arg in waiting]
    if not places or places != list(range(places[0], places[-1] + 1)):
        raise _Unclear
    outs = [arg for arg in args[places[0] : places[-1] + 1] if type(arg) is GraphVar]
    given, rest = TupleExpr(args[: places[0]]), args[places[-1] + 1 :]
    if len(set(outs)) != len(outs):
        raise _Unclear
    types = tuple(waiting.pop(out) for out in outs)
    if _uses(given, waiting):
        raise _Unclear
    scalars = [part for one in rest for part in _scalars(one)]
    if type(callee) is ExternFunction:
        if scalars:
            raise _Unclear
        call = CALL_DPS_PACKED(callee, given, out=types)
    else:
        call = CALL_TIR(callee, given, out=types, **({"tir_vars": ShapeExpr(tuple(scalars))} if scalars else {}))
    call = call.replace(span=stmt.span)
    if len(outs) == 1:
        return [GraphBind(outs[0], call, trivia=stmt.trivia, span=stmt.span)]
    whole = GraphVar("written", TupleType(types))
    items = [GraphBind(out, TupleItem(whole, at), span=stmt.span) for at, out in enumerate(outs)]
    return [GraphBind(whole, call, trivia=stmt.trivia, span=stmt.span), *items]


def _is_known(name: str, args: tuple[GraphExpr, ...]) -> bool:
    """Whether a call of the virtual machine checks what the type of its argument says, which every call of the function
    checks."""
    kind = args[0].type if args and type(args[0]) is GraphVar else None
    if name == "vm.builtin.check_prim_value_info" and type(kind) is PrimType and len(args) == 3:
        return type(args[1]) is DTypeValue and args[1].value is kind.dtype
    if type(kind) is not TensorType or kind.shape is None or kind.dtype is None:
        return False
    if name == "vm.builtin.check_tensor_info":
        told = args[2].value if len(args) == 4 and type(args[2]) is DTypeValue else None
        return _number(args[1]) == len(kind.shape) and (len(args) == 3 or told is kind.dtype)
    if name != "vm.builtin.match_shape" or len(args) != 4 + 2 * len(kind.shape):
        return False
    # for each dimension a 0, which compares it with the number behind, or a 2, which says nothing
    pairs = zip(args[3:-1:2], args[4:-1:2], kind.shape, strict=True)
    return all(_number(how) == 2 or (_number(how) == 0 and _number(at) == dims.number(dim)) for how, at, dim in pairs)


def _number(value: GraphExpr) -> int | None:
    return dims.number(value.value) if type(value) is PrimValue else None


def _scalars(value: GraphExpr) -> tuple[Expr, ...]:
    """The scalars behind the tensors of a call."""
    if type(value) is ShapeExpr:
        return value.values
    if type(value) is PrimValue:
        return (value.value,)
    if type(value) is GraphVar and type(value.type) is PrimType and value.type.value is not None:
        return (value.type.value,)
    raise _Unclear


def _uses(node: Node, waiting: dict[GraphVar, TensorType]) -> bool:
    return bool(waiting) and any(part in waiting for part in walk(node, GraphVar))


def _clear(stmt: Stmt, waiting: dict[GraphVar, TensorType]) -> Stmt:
    """A statement, in which no tensor stands that is not written yet."""
    if _uses(stmt, waiting):
        raise _Unclear
    return stmt


__all__ = ["forget_memory"]
