"""Types and values of the graph language as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir.dtype import FLOAT64, INT64, DType
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.graph import (
    CallableType,
    DeviceValue,
    DTypeValue,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphConst,
    GraphExpr,
    GraphType,
    GraphVar,
    MetadataConst,
    ObjectType,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import Parameter, dims
from tirscript.ir.graph_ops.attrs import TOLD_DTYPES
from tirscript.ir.graph_ops.foreign import keeps_arguments
from tirscript.ir.module import DeviceMesh, VDevice
from tirscript.ir.node import Node
from tirscript.ir.rewrite import walk
from tirscript.ir.words import parenthesized

from .constants import LISTED, constant_text, number_list
from .expr import binder, top
from .literals import bare, dtype_name, explicit, plain, quote
from .stmt import value as attr_value

if TYPE_CHECKING:
    from .core import Printer

# --- dimensions and types ---------------------------------------------------------------------------------------------


def dimension(p: Printer, dim: Expr, quoted: bool = False) -> str:
    """A dimension; `quoted` in a signature, where symbols that nothing outside of it declares stand in strings."""
    if type(dim) is Const:
        return str(dim.value) if dim.dtype is INT64 else explicit(dim)
    mark = False
    if quoted:
        known = p.names.known
        for node in walk(dim):
            if type(node) is Var and id(node) not in p.declared:
                mark = True
                if id(node) not in known:
                    p.names.fix(node, node.name)
    text = top(p, dim)
    return quote(text) if mark else text


def dimensions(p: Printer, dims: tuple[Expr, ...], quoted: bool = False) -> str:
    """A shape as a tuple."""
    return parenthesized([dimension(p, dim, quoted) for dim in dims])


def listed(p: Printer, dims: tuple[Expr, ...], quoted: bool = False) -> str:
    """A shape as a list."""
    return f"[{', '.join([dimension(p, dim, quoted) for dim in dims])}]"


def type_text(p: Printer, kind: GraphType, quoted: bool = False) -> str:
    """A type: `G.Tensor((n, 4), "float32")`."""
    return _TYPES[type(kind)](p, kind, quoted)  # type: ignore[no-any-return]


def is_placed_by_tvm(kind: GraphType) -> bool:
    """Whether a type holds a tensor over devices of which it is not known where the parts lie: TVM finds that out, and
    has no text for not knowing."""
    if type(kind) is TupleType:
        return any(map(is_placed_by_tvm, kind.fields))
    return type(kind) is TensorType and kind.sharding is not None and not kind.sharding.placement


def _call(name: str, parts: list[str]) -> str:
    return f"{name}({', '.join(parts)})" if parts else name


def _tensor(p: Printer, kind: TensorType, quoted: bool) -> str:
    parts = []
    if kind.shape is not None:
        parts.append(dimensions(p, kind.shape, quoted))
    if kind.dtype is not None:
        parts.append(dtype_name(kind.dtype) if parts else f"dtype={dtype_name(kind.dtype)}")
    sharding = kind.sharding
    if sharding is not None:
        by_place = len(parts) == 2
        told = (("device_mesh", sharding.mesh), ("placement", ", ".join(sharding.placement)))
        parts += [quote(text) if by_place else f"{name}={quote(text)}" for name, text in told if text]
    if kind.shape is None and kind.ndim is not None:
        parts.append(f"ndim={kind.ndim}")
    if kind.vdevice is not None:
        parts.append(f"vdevice={quote(kind.vdevice)}")
    return _call(f"{p.words['graph']}.{'Tensor' if sharding is None else 'DTensor'}", parts)


def _shape(p: Printer, kind: ShapeType, quoted: bool) -> str:
    name = f"{p.words['graph']}.Shape"
    if kind.values is not None:
        if not kind.values and not p.dialect.strings:
            return f"{name}(ndim=0)"  # TVM takes an empty list for none
        return f"{name}({listed(p, kind.values, quoted)})"
    return _call(name, [] if kind.ndim is None else [f"ndim={kind.ndim}"])


def _prim(p: Printer, kind: PrimType, quoted: bool) -> str:
    if not p.dialect.strings:
        return f"R.Prim({dtype_name(kind.dtype)})"
    worth = "" if kind.value is None else f", value={dimension(p, kind.value, quoted)}"
    return f"G.Prim({dtype_name(kind.dtype)}{worth})"


def _tuple_type(p: Printer, kind: TupleType, quoted: bool) -> str:
    return f"{p.words['graph']}.Tuple({', '.join([type_text(p, field, quoted) for field in kind.fields])})"


def _object(p: Printer, kind: ObjectType, quoted: bool) -> str:
    return "G.Object" if p.dialect.strings else "R.Any"


def _callable(p: Printer, kind: CallableType, quoted: bool) -> str:
    result = type_text(p, kind.result, quoted)
    name = f"{p.words['graph']}.Callable"
    if kind.params is None:
        if type(kind.result) is ObjectType and not kind.pure:
            return name
        return f"{name}(ret={result}, purity={kind.pure})"
    params = [type_text(p, param, quoted) for param in kind.params]
    return f"{name}({parenthesized(params)}, {result}, {kind.pure})"


_TYPES: dict[type, Callable[[Printer, Any, bool], str]] = {
    TensorType: _tensor,
    ShapeType: _shape,
    PrimType: _prim,
    TupleType: _tuple_type,
    ObjectType: _object,
    CallableType: _callable,
}


def type_rule(p: Printer, node: Any, prec: int) -> str:
    """A type by itself."""
    return type_text(p, node)


# --- values -----------------------------------------------------------------------------------------------------------


def _const(p: Printer, node: GraphConst, prec: int) -> str:
    """`G.const([1, 2], "int32")`, or a constant by its digest."""
    if node.sharding is not None:
        return _sharded_const(p, node)
    data, letter = node.data, p.words["graph"]
    text = number_list(data, None if letter == "R" else LISTED)
    if text is not None:
        return f"{letter}.const({text}, {dtype_name(data.dtype)})"
    if letter == "R":
        from .core import refuse

        hint = "load its data first" if not data.resolved else None
        raise refuse("TVM has no text for this constant", node.span, hint)
    return constant_text(p, data)


def _sharded_const(p: Printer, node: GraphConst) -> str:
    """`G.dist.const(1.0, G.DTensor((), "float32", "mesh[0]", "R"))`"""
    text = number_list(node.data, None)
    kind = type_text(p, TensorType(dims.shape(node.data.shape), node.data.dtype, None, None, node.sharding))
    return f"{p.words['graph']}.dist.const({text}, {kind})"


def _metadata(p: Printer, node: MetadataConst, prec: int) -> str:
    return f"metadata[{quote(node.kind)}][{node.index}]"


def _tuple_value(p: Printer, node: TupleExpr, prec: int) -> str:
    if not node.fields:
        return f"{p.words['graph']}.tuple()"
    return parenthesized([top(p, field) for field in node.fields])


def _item(p: Printer, node: TupleItem, prec: int) -> str:
    owner = top(p, node.value)
    if type(node.value) is TupleExpr:  # read as an index of a Python tuple, it would be that field
        return f"{p.words['graph']}.TupleGetItem({owner}, {node.index})"
    return f"{owner}[{node.index}]"


def _shape_value(p: Printer, node: ShapeExpr, prec: int) -> str:
    return f"{p.words['graph']}.shape({listed(p, node.values)})"


def _prim_value(p: Printer, node: PrimValue, prec: int) -> str:
    """A scalar where any value may stand: a bare number is one of int64, float64 or bool."""
    found = node.value
    if type(found) is Const:
        text = bare(found) if found.dtype in (INT64, FLOAT64) or found.dtype.is_bool else None
        return explicit(found) if text is None else text
    if type(found) is Var and p.dialect.strings:
        return f"G.prim_value({top(p, found)})"
    return top(p, found)


def _explicit_prim(p: Printer, node: PrimValue) -> str:
    """A scalar where a bare number would be a constant tensor."""
    found = node.value
    if type(found) is Const:
        return explicit(found) if p.dialect.strings else f"R.prim_value({explicit(found)})"
    return _prim_value(p, node, 0)


def prim_text(p: Printer, node: PrimValue) -> str:
    """A scalar where a bare number would be one of Python's."""
    if type(node.value) is Const:
        return f"{p.words['graph']}.prim_value({explicit(node.value)})"
    return _prim_value(p, node, 0)


def _string(p: Printer, node: StringValue, prec: int) -> str:
    return f"{p.words['graph']}.str({quote(node.value)})"


def _dtype(p: Printer, node: DTypeValue, prec: int) -> str:
    return f"{p.words['graph']}.dtype({dtype_name(node.value)})"


def _device(p: Printer, node: DeviceValue, prec: int) -> str:
    return f"{p.words['graph']}.device(device_type={node.device_type}, index={node.index})"


def _reference(p: Printer, node: FunctionRef, prec: int) -> str:
    if p.module is not None:
        return f"{p.module}.{node.function}"
    p.called.add(node.function)
    return node.function


def _vdevice(p: Printer, node: VDevice, prec: int) -> str:
    return f"I.vdevice({attr_value(p, node.target)}, {node.index}, {quote(node.scope)})"


def _mesh(p: Printer, node: DeviceMesh, prec: int) -> str:
    """`G.device_mesh((2, 2), I.Range(0, 4))`"""
    if node.devices is None:
        devices = f"I.Range({node.first}, {node.first + math.prod(node.shape)})"
    else:
        devices = f"{list(node.devices)}"
    return f"{p.words['graph']}.device_mesh({parenthesized(list(map(str, node.shape)))}, {devices})"


def _extern(p: Printer, node: ExternFunction, prec: int) -> str:
    kind = "" if node.type is None else f", {type_text(p, node.type)}"
    return f"{p.words['graph']}.ExternFunc({quote(node.symbol)}{kind})"


def _function_call(p: Printer, node: FunctionCall, prec: int) -> str:
    function = node.function
    # what is called by name takes a bare number for an int32
    exact = not p.dialect.strings and not (type(function) is ExternFunction and function.type is None)
    parts = [_explicit_prim(p, arg) if exact and type(arg) is PrimValue else top(p, arg) for arg in node.args]
    if node.types:
        kinds = [type_text(p, kind) for kind in node.types]
        parts.append(f"ty_args={kinds[0] if len(kinds) == 1 and p.dialect.strings else parenthesized(kinds)}")
    parts += [f"{name}={_attr(p, item)}" for name, item in node.attrs.items()]
    if type(function) is ExternFunction and function.type is None:
        return f"{p.words['graph']}.call_packed({', '.join([quote(function.symbol), *parts])})"
    return f"{top(p, function)}({', '.join(parts)})"


def _op_call(p: Printer, node: OpCall, prec: int) -> str:
    op, letter = node.op, p.words["graph"]
    name = f"{letter}.{op.tvm if op.tvm is not None and letter == 'R' else op.name}"
    if keeps_arguments(op):
        bare_strings = letter == "R"
        parts = [quote(arg.value) if bare_strings and type(arg) is StringValue else top(p, arg) for arg in node.args]
        parts += [f"{key}={_attr(p, item)}" for key, item in node.attrs.items()]
        return f"{name}({', '.join(parts)})"
    parts = []
    args = iter(node.args)
    named = False
    for parameter in op.parameters:
        if parameter.is_attr:
            worth = node.attrs.get(parameter.name)
            if not p.dialect.strings or not parameter.is_default(worth):
                void = worth is None and node.told_void and parameter.name in TOLD_DTYPES
                parts.append(f"{parameter.name}={quote('void') if void else _attr(p, worth)}")
                named = True
            continue
        if parameter.kind == "type":
            if node.types:
                parts.append(f"{_result_name(p, parameter)}={_result(p, parameter, node.types)}")
                named = True
            continue
        arg = next(args, None)
        if arg is None:
            continue
        if parameter.kind == "spread" and type(arg) is TupleExpr:
            parts += [top(p, field) for field in arg.fields]
            continue
        text = argument(p, arg, parameter.kind)
        parts.append(f"{parameter.name}={text}" if named else text)
    return f"{name}({', '.join(parts)})"


def argument(p: Printer, arg: GraphExpr, kind: str) -> str:
    """A value as an argument of an operator, by the kind of the parameter."""
    if kind == "function" and type(arg) is ExternFunction and arg.type is None:
        return quote(arg.symbol)
    if kind == "shape" and type(arg) is ShapeExpr and p.dialect.strings:
        return dimensions(p, arg.values)
    if kind == "tensor" and type(arg) is PrimValue:
        return _explicit_prim(p, arg)
    if kind == "tensors" and type(arg) is TupleExpr and arg.fields:
        return parenthesized([argument(p, field, "tensor") for field in arg.fields])
    if kind == "value" and type(arg) is TupleExpr and not arg.fields:
        return "()"
    return top(p, arg)


def _result_name(p: Printer, parameter: Parameter) -> str:
    return "out_ty" if parameter.name == "out" and not p.dialect.strings else parameter.name


def _result(p: Printer, parameter: Parameter, types: tuple[GraphType, ...]) -> str:
    kinds = [type_text(p, kind) for kind in types]
    if parameter.name == "ty_args" and not p.dialect.strings:
        return parenthesized(kinds)
    return kinds[0] if len(kinds) == 1 and type(types[0]) is not TupleType else f"[{', '.join(kinds)}]"


def _attr(p: Printer, item: Any) -> str:
    """An attribute of a call."""
    if isinstance(item, (tuple, list)):
        return f"[{', '.join([_attr(p, one) for one in item])}]"
    if isinstance(item, DType):
        return dtype_name(item)
    if isinstance(item, GraphType):
        return type_text(p, item)
    if type(item) is PrimValue:
        return prim_text(p, item)
    if isinstance(item, dict):
        return f"{{{', '.join([f'{_attr(p, key)}: {_attr(p, one)}' for key, one in item.items()])}}}"
    text = None if isinstance(item, Node) else plain(item)
    return attr_value(p, item) if text is None else text


GRAPH_VALUE_RULES: dict[type, Callable[[Printer, Any, int], str]] = {
    GraphVar: binder,
    GraphConst: _const,
    MetadataConst: _metadata,
    TupleExpr: _tuple_value,
    TupleItem: _item,
    ShapeExpr: _shape_value,
    PrimValue: _prim_value,
    StringValue: _string,
    DTypeValue: _dtype,
    DeviceValue: _device,
    VDevice: _vdevice,
    DeviceMesh: _mesh,
    FunctionRef: _reference,
    ExternFunction: _extern,
    FunctionCall: _function_call,
    OpCall: _op_call,
    **dict.fromkeys(_TYPES, type_rule),
}
