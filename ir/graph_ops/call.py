"""Calls of operators: arguments bound to parameters as Python binds them, values and attributes in their one form."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import structs

from ..constant import ConstantTensor, constant
from ..diagnostic import Diagnostic, DiagnosticError, suggest
from ..dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from ..expr import Expr, StringImm, const
from ..graph import (
    DTypeValue,
    ExternFunction,
    FunctionRef,
    GraphConst,
    GraphExpr,
    GraphType,
    GraphVar,
    OpCall,
    PrimValue,
    ShapeExpr,
    StringValue,
    TensorType,
    TupleExpr,
    TupleType,
)
from ..graph_op import REQUIRED, GraphOp, Parameter
from ..node import NO_ATTRS, Attrs
from ..op import fail
from ..words import counted, words


def call(op: GraphOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> OpCall:
    """The call of `op` on values of the graph and Python values.

    Numbers become constants of the other arguments' dtype where a tensor stands, sequences shapes or tuples. Raises
    DiagnosticError without a place: T101 for a wrong number, T032 for a wrong kind.
    """
    given = _bound(op, args, kwargs)
    values: list[GraphExpr] = []
    attrs: dict[str, Any] = {}
    types: tuple[GraphType, ...] = ()
    left: str | None = None
    for parameter in op.parameters:
        value = given[parameter.name]
        with_name = _Named(op, parameter)
        if parameter.is_attr:
            attrs[parameter.name] = value if parameter.normal is None else with_name(parameter.normal, value)
        elif parameter.kind == "type":
            types = with_name(_types, value)
        elif value is None and parameter.default is not None:
            raise fail("T101", f"`{op.spelling}` needs `{parameter.name}`, which is None", signature(op))
        elif value is None:
            left = left or parameter.name
        elif left is not None:
            raise fail("T101", f"`{op.spelling}` takes `{parameter.name}` only together with `{left}`")
        else:
            like = _like(op, given) if parameter.kind in ("tensor", "tensors") and not parameter.apart else None
            values.append(with_name(partial(_VALUES[parameter.kind], like=like), value))
    if op.complete is not None:
        attrs = op.complete(attrs)
    return OpCall(op, tuple(values), Attrs(attrs) if attrs else NO_ATTRS, types)


def _bound(op: GraphOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The argument of each parameter by name."""
    names = [parameter.name for parameter in op.parameters]
    if [one.kind for one in op.parameters[:2]] == ["tensors", "attr"]:
        if len(args) > 1 and isinstance(args[0], GraphExpr) and isinstance(args[1], GraphExpr):
            raise fail("T032", f"the tensors of `{op.spelling}` are one argument", f"a list: `{op.spelling}([x, y])`")
    if len(args) > len(names):
        takes = counted(len(names), "argument")
        raise fail("T101", f"`{op.spelling}` takes {takes}, not {len(args)}", signature(op))
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            near = suggest(name, names)
            hint = f"did you mean `{near}`?" if near else signature(op)
            raise fail("T032", f"`{op.spelling}` takes no argument `{name}`", hint)
        if name in given:
            raise fail("T032", f"`{op.spelling}` is given `{name}` twice", signature(op))
        given[name] = value
    missing = [one.name for one in op.parameters if one.name not in given and one.default is REQUIRED]
    if missing:
        raise fail("T101", f"`{op.spelling}` needs `{missing[0]}`", signature(op))
    filled = {one.name: given.get(one.name, one.default) for one in op.parameters}
    return filled if op.bind is None else op.bind(filled)


def signature(op: GraphOp) -> str:
    """How an operator is called: `G.sum(x, axis=None, keepdims=False)`."""
    shown = [one.name if one.default is REQUIRED else f"{one.name}={_default(one.default)}" for one in op.parameters]
    return f"{op.spelling}({', '.join(shown)})"


def least(op: GraphOp, first: str) -> str:
    """A call with what an operator needs, the first of it by this name: `G.reshape(x, shape)`."""
    needed = [one.name for one in op.parameters[1:] if one.default is REQUIRED]
    return f"{op.spelling}({', '.join((first, *needed))})"


def _default(value: Any) -> str:
    if isinstance(value, DType):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_default, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


class _Named:
    """Says in what goes wrong with an argument which one it is."""

    def __init__(self, op: GraphOp, parameter: Parameter) -> None:
        self.what = f"`{parameter.name}` of `{op.spelling}`"
        self.usage = signature(op)

    def __call__(self, make: Callable[[Any], Any], value: Any) -> Any:
        try:
            return make(value)
        except DiagnosticError as problem:
            raise DiagnosticError(map(self.said, problem.diagnostics)) from None

    def said(self, found: Diagnostic) -> Diagnostic:
        message = found.message if found.message.startswith("`") else f"{self.what}: {found.message}"
        return structs.replace(found, message=message, hint=found.hint or self.usage)


def _like(op: GraphOp, given: dict[str, Any]) -> DType | None:
    """The dtype that a plain number takes beside the tensors of a call."""
    from .infer import type_of

    for parameter in op.parameters:
        value = None if parameter.apart else given[parameter.name]
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if parameter.kind in ("tensor", "tensors") and isinstance(one, GraphExpr) and type(one) is not PrimValue:
                kind = type_of(one)
                if isinstance(kind, TensorType) and kind.dtype is not None:
                    return kind.dtype
    return None


# -- values


def _tensor(value: Any, like: DType | None) -> GraphExpr:
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, Expr):
        return PrimValue(value, span=value.span)
    if isinstance(value, (bool, int, float)):
        own = like or (BOOL if isinstance(value, bool) else FLOAT32 if isinstance(value, float) else INT32)
        if isinstance(value, float) and not own.is_float:
            raise fail("T103", f"{value!r} is no {own}", 'cast the tensor beside it: `x.astype("float32")`')
        return GraphConst(constant(float(value) if own.is_float else value, own))
    if isinstance(value, ConstantTensor) or hasattr(value, "__array_interface__"):
        return GraphConst(constant(value))
    hint = "`G.const(values, dtype)` makes a tensor of numbers" if isinstance(value, (list, tuple)) else None
    raise fail("T032", f"this is a tensor, not {words(value)}", hint)


def _tensors(value: Any, like: DType | None) -> GraphExpr:
    if isinstance(value, (tuple, list)):
        return TupleExpr(tuple(_tensor(one, like) for one in value))
    if isinstance(value, GraphExpr):
        return value
    raise fail("T032", f"this is a tuple of tensors, not {words(value)}")


def _prim(value: Any, like: DType | None = None) -> GraphExpr:
    if isinstance(value, GraphExpr):
        return value
    return PrimValue(_scalar(value))


def _scalar(value: Any) -> Expr:
    if isinstance(value, Expr) and type(value) is not StringImm:
        return value
    if isinstance(value, bool):
        return const(value)
    if isinstance(value, (int, float)) or hasattr(type(value), "__index__"):
        try:
            return const(value, FLOAT64) if isinstance(value, float) else const(int(value), INT64)
        except ValueError as problem:
            raise fail("T103", str(problem)) from None
        except TypeError:  # an array of several elements has `__index__`, and refuses
            pass
    raise fail("T032", f"this is a number, not {words(value)}")


def _prims(value: Any, like: DType | None = None) -> GraphExpr:
    if isinstance(value, (tuple, list)):
        return TupleExpr(tuple(map(_prim, value)))
    return value if isinstance(value, GraphExpr) else TupleExpr((_prim(value),))


def _shape(value: Any, like: DType | None = None) -> GraphExpr:
    if isinstance(value, GraphExpr):
        return value
    given = value if isinstance(value, (tuple, list)) else (value,)
    return ShapeExpr(tuple(map(_dimension, given)))


def _dimension(value: Any) -> Expr:
    if type(value) is PrimValue:
        value = value.value
    found = _scalar(value)
    if not found.dtype.is_int:
        raise fail("T032", f"a dimension is an integer, not {found.dtype}")
    return found if found.dtype is INT64 else found.astype(INT64)


def _value(value: Any, like: DType | None = None) -> GraphExpr:
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, str):
        return StringValue(value)
    if isinstance(value, DType):
        return DTypeValue(value)
    if isinstance(value, (tuple, list)):
        return TupleExpr(tuple(map(_value, value)))
    return _prim(value)


def _function(value: Any, like: DType | None = None) -> GraphExpr:
    if isinstance(value, str):
        return ExternFunction(value)
    if isinstance(value, _FUNCTIONS):
        return value
    raise fail("T032", f"this is a function of the module, not {words(value)}", "`cls.name`, where `cls` is the module")


_FUNCTIONS = (GraphVar, FunctionRef, ExternFunction)
_VALUES: dict[str, Callable[..., GraphExpr]] = {
    "tensor": _tensor,
    "tensors": _tensors,
    "prim": _prim,
    "prims": _prims,
    "shape": _shape,
    "value": _value,
    "spread": _value,
    "function": _function,
}


def _types(value: Any) -> tuple[GraphType, ...]:
    """The result types that a call is told: one, several, or a tuple type's."""
    if value is None:
        return ()
    if isinstance(value, TupleType):
        return value.fields
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for one in given:
        if not isinstance(one, GraphType):
            raise fail("T032", f"this is a type, not {words(one)}", '`G.Tensor((4, 4), "float32")`')
    return given


__all__ = ["call", "signature"]
