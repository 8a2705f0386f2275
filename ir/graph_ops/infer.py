"""The type of every value of the graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..diagnostic import DiagnosticError
from ..expr import Const, Expr, Var
from ..func import PrimFunc
from ..graph import (
    CallableType,
    DeviceValue,
    DTypeValue,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MetadataConst,
    ObjectType,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    Sharding,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
    plain_dimensions,
)
from ..module import Module
from ..node import recursion_room
from ..op import fail
from ..rewrite import refresh, substitute, walk
from ..words import counted
from . import dims
from .rules import describe, located, refuse


def type_of(expr: GraphExpr, module: Module | None = None) -> GraphType:
    """The type of a value: of a variable its own, of a call what the operator's or the function's rule gives.

    `module` is where functions are looked up by name; without it their calls are of unknown type. Raises
    DiagnosticError at the value's place where it has no type: shapes that do not fit, dtypes that differ, a missing
    function.
    """
    with recursion_room():
        return _type_of(expr, module)


def _type_of(expr: GraphExpr, module: Module | None) -> GraphType:
    rule = _RULES.get(type(expr))
    if rule is None:
        raise TypeError(f"{type(expr).__name__} has no type rule")
    try:
        return rule(expr, module)
    except DiagnosticError as problem:
        raise located(problem, expr.span) from None


def _const(expr: GraphConst, module: Module | None) -> GraphType:
    return TensorType(dims.shape(expr.data.shape), expr.data.dtype, None, None, expr.sharding)


def _tuple(expr: TupleExpr, module: Module | None) -> GraphType:
    return TupleType(tuple(_type_of(one, module) for one in expr.fields))


def _item(expr: TupleItem, module: Module | None) -> GraphType:
    kind = _type_of(expr.value, module)
    if type(kind) is ObjectType:
        return ObjectType()
    if type(kind) is not TupleType:
        raise fail("T104", f"this is {describe(kind)}, which has no fields")
    if not 0 <= expr.index < len(kind.fields):
        count = len(kind.fields)
        has = counted(count, "field")
        raise fail("T113", f"field {expr.index} of a tuple of {has}", f"the last one is {count - 1}" if count else None)
    return kind.fields[expr.index]


def _reference(expr: FunctionRef, module: Module | None) -> GraphType:
    if module is None:
        return ObjectType()
    if expr.function not in module:
        from ..diagnostic import suggest

        near = suggest(expr.function, [one.name for one in module])
        hint = f"did you mean `{near}`?" if near else None
        raise fail("T307", f"the module has no function `{expr.function}`", hint)
    found = module[expr.function]
    if isinstance(found, PrimFunc):
        return ObjectType()  # a tensor function is called by G.call_tir, which tells the type
    kind: CallableType = refresh(callable_of(found))  # its dimensions are those of no caller
    return kind


def callable_of(func: GraphFunc) -> CallableType:
    """The type of a graph function as a value."""
    return CallableType(tuple(param.type for param in func.params), func.result, func.pure)


def _op_call(expr: OpCall, module: Module | None) -> GraphType:
    types = tuple(_type_of(one, module) for one in expr.args)
    made = expr.op.infer(expr, types)
    if not expr.types:
        _possible(expr, made)
    mesh = None if expr.types else _mesh(types)
    return made if mesh is None else _over(mesh, made)


def _possible(expr: OpCall, kind: GraphType) -> None:
    """T207 where a result would have fewer than no elements along an axis, as where padding takes away more."""
    if type(kind) is TupleType:
        for one in kind.fields:
            _possible(expr, one)
    elif type(kind) is TensorType:
        for axis, dim in enumerate(kind.shape or ()):
            if type(dim) is Const and dim.value < 0:
                refuse(expr, f"dimension {axis} of the result would be {dim.value}", "a dimension is 0 or more")


def _mesh(types: Sequence[GraphType]) -> str | None:
    """The devices over which an argument lies."""
    for kind in types:
        if type(kind) is TensorType and kind.sharding is not None:
            return kind.sharding.mesh
        found = _mesh(kind.fields) if type(kind) is TupleType else None
        if found is not None:
            return found
    return None


def _over(mesh: str, kind: GraphType) -> GraphType:
    """A result of what lies over several devices: it does, too, and only the program says with which parts where."""
    if type(kind) is TensorType and kind.sharding is None:
        return kind.replace(sharding=Sharding(mesh))
    if type(kind) is TupleType:
        return TupleType(tuple(_over(mesh, one) for one in kind.fields))
    return kind


def _call(expr: FunctionCall, module: Module | None) -> GraphType:
    if expr.types:
        return expr.types[0] if len(expr.types) == 1 else TupleType(expr.types)
    kind = _type_of(expr.function, module)
    called = module[expr.function.function] if module is not None and type(expr.function) is FunctionRef else None
    if isinstance(called, PrimFunc) and called.returns is not None:
        return PrimType(called.returns)
    if type(kind) is ObjectType:
        return ObjectType()
    if type(kind) is not CallableType:
        raise fail("T022", f"this is {describe(kind)}, which cannot be called")
    if kind.params is None:
        return kind.result
    given = [_type_of(one, module) for one in expr.args]
    name = expr.function.function if type(expr.function) is FunctionRef else "the function"
    if len(given) != len(kind.params):
        takes = counted(len(kind.params), "argument")
        raise fail("T101", f"`{name}` takes {takes}, not {len(given)}")
    return result_for(kind, given, name)


def result_for(kind: CallableType, given: Sequence[GraphType], name: str) -> GraphType:
    """The type of a call with arguments of these types; T207 and the like where they do not fit the parameters.

    Symbolic dimensions that an argument binds stand for what it has there; where one stays unbound, the dimensions that
    hold it are not known.
    """
    assert kind.params is not None
    bound: dict[Var, Expr] = {}
    for at, (want, have) in enumerate(zip(kind.params, given, strict=True)):
        match_types(want, have, bound, f"argument {at + 1} of `{name}`")
    own = plain_dimensions(kind.params)
    return with_dimensions(kind.result, bound, [var for var in own if var not in bound])


def match_types(want: GraphType, have: GraphType, bound: dict[Var, Expr], what: str) -> None:
    """Bind the dimensions of a parameter's type to those of an argument's; a diagnostic where they cannot agree."""
    if type(have) is ObjectType or type(want) is ObjectType:
        return
    if type(want) is not type(have):
        raise fail("T104", f"{what} is {describe(want)}, not {describe(have)}")
    rule = _MATCHES.get(type(want))
    if rule is not None:
        rule(want, have, bound, what)


def _match_tuples(want: TupleType, have: TupleType, bound: dict[Var, Expr], what: str) -> None:
    if len(want.fields) != len(have.fields):
        raise fail("T104", f"{what} is a tuple of {len(want.fields)}, not of {len(have.fields)}")
    for at, (w, h) in enumerate(zip(want.fields, have.fields, strict=True)):
        match_types(w, h, bound, f"field {at} of {what}")


def _match_tensors(want: TensorType, have: TensorType, bound: dict[Var, Expr], what: str) -> None:
    if want.dtype is not None and have.dtype is not None and want.dtype is not have.dtype:
        raise fail("T105", f"{what} is a tensor of {want.dtype}, not of {have.dtype}", f'`x.astype("{want.dtype}")`')
    if want.rank is not None and have.rank is not None and want.rank != have.rank:
        raise fail("T207", f"{what} must have {counted(want.rank, 'dimension')}, not {have.rank}")
    _match_dims(want.shape, have.shape, bound, what)


def _match_shapes(want: ShapeType, have: ShapeType, bound: dict[Var, Expr], what: str) -> None:
    if want.rank is not None and have.rank is not None and want.rank != have.rank:
        raise fail("T207", f"{what} must be a shape of {counted(want.rank, 'dimension')}, not {have.rank}")
    _match_dims(want.values, have.values, bound, what)


def _match_prims(want: PrimType, have: PrimType, bound: dict[Var, Expr], what: str) -> None:
    if want.dtype is not have.dtype:
        raise fail("T105", f"{what} is a scalar of {want.dtype}, not of {have.dtype}")
    if want.value is not None and have.value is not None:
        _match_dims((want.value,), (have.value,), bound, what)


_MATCHES: dict[type, Callable[[Any, Any, dict[Var, Expr], str], None]] = {
    TupleType: _match_tuples,
    TensorType: _match_tensors,
    ShapeType: _match_shapes,
    PrimType: _match_prims,
}


def _match_dims(want: dims.Shape | None, have: dims.Shape | None, bound: dict[Var, Expr], what: str) -> None:
    if want is None or have is None:
        return
    for w, h in zip(want, have, strict=True):
        if type(w) is Var and w not in bound:
            bound[w] = h
    for at, (w, h) in enumerate(zip(want, have, strict=True)):
        wanted = substitute(w, bound)
        if dims.differ(wanted, h):
            shapes = f"the shape {dims.text(want)} is expected and {dims.text(have)} given"
            raise fail("T207", f"dimension {at} of {what} is {dims.text(wanted)}, not {dims.text(h)}: {shapes}")


def seen_from_outside(kind: GraphType, known: Collection[int]) -> GraphType:
    """The type of a result, of which callers know the dimensions that are made up of known variables, by their ids."""
    inner = [var for var in walk(kind, Var) if id(var) not in known]
    return with_dimensions(kind, {}, inner) if inner else kind


def with_dimensions(kind: GraphType, bound: dict[Var, Expr], unknown: Sequence[Var] = ()) -> GraphType:
    """A type with symbolic dimensions replaced; a shape that holds an unknown one is not known."""
    from ..rewrite import free_vars

    def each(values: dims.Shape | None) -> dims.Shape | None:
        if values is None or any(var in unknown for value in values for var in free_vars(value)):
            return None
        return tuple(dims.simple(substitute(value, bound)) for value in values)

    if type(kind) is TensorType:
        found = each(kind.shape)
        return kind.replace(shape=found, ndim=None if found is not None else kind.rank)
    if type(kind) is ShapeType:
        found = each(kind.values)
        return ShapeType(found, None if found is not None else kind.rank)
    if type(kind) is PrimType:
        value = each(None if kind.value is None else (kind.value,))
        return PrimType(kind.dtype, value[0] if value else None)
    if type(kind) is TupleType:
        return TupleType(tuple(with_dimensions(one, bound, unknown) for one in kind.fields))
    return kind


_RULES: dict[type, Callable[[Any, Module | None], GraphType]] = {
    GraphVar: lambda expr, module: expr.type,
    GraphConst: _const,
    MetadataConst: lambda expr, module: ObjectType(),
    TupleExpr: _tuple,
    TupleItem: _item,
    ShapeExpr: lambda expr, module: ShapeType(expr.values),
    PrimValue: lambda expr, module: PrimType(expr.value.dtype, expr.value),
    StringValue: lambda expr, module: ObjectType(),
    DTypeValue: lambda expr, module: ObjectType(),
    DeviceValue: lambda expr, module: ObjectType(),
    FunctionRef: _reference,
    ExternFunction: lambda expr, module: expr.type or CallableType(),
    GraphFunc: lambda expr, module: callable_of(expr),
    OpCall: _op_call,
    FunctionCall: _call,
}
