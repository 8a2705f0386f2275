"""Types of the graph language: what an annotation means where it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import Const, Expr, Var, const
from tirscript.ir.graph import (
    CallableType,
    GraphType,
    GraphVar,
    ObjectType,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    Sharding,
    TensorType,
    TupleType,
)
from tirscript.ir.words import counted, words

from .function import FunctionLowering
from .graph_names import TypeForm, TypeSpec
from .namespace import BufferForm, BufferType, TypeName

_NUMBERS = {"`int`": "int64", "`float`": "float32", "`bool`": "bool"}
_EXAMPLE = 'such as `G.Tensor((4, 4), "float32")`'
_NONE = TupleType(())
_MESH = re.compile(r"\w+\[\d+\]")
_PLACEMENT = re.compile(r"R|S\[\d+\]")


class GraphTypeLowering(FunctionLowering):
    """Reads types. `scalar` gives the expression by which dimensions know a scalar of the graph."""

    def scalar(self, value: Any) -> Any:
        """A scalar of the graph as an expression of the tensor language; anything else as it is."""
        if type(value) is GraphVar and type(value.type) is PrimType and value.type.value is not None:
            return value.type.value
        return value.value if type(value) is PrimValue else value

    def symbols_in_scope(self) -> dict[str, Any]:
        found: dict[str, Any] = dict(self.symbols)
        for scope in self.scopes:
            for name, value in scope.items():
                known = self.scalar(value)
                if type(known) is Var and known.dtype.is_int:
                    found[name] = known
        return found

    def type_at(self, node: ast.expr) -> GraphType:
        """The type that an annotation means."""
        node = self.unquoted(node, "this annotation", _EXAMPLE)
        return self.type_of_value(self.value(node), node)

    def type_of_value(self, value: Any, node: ast.expr) -> GraphType:
        """A value that stands for a type."""
        if isinstance(value, GraphType):
            return value
        if isinstance(value, TypeForm):
            value = TypeSpec(value.name, (), {})
        if isinstance(value, TypeSpec):
            return _RULES[value.name](self, value, node)
        if isinstance(value, (TypeName, DType)):
            return PrimType(self.dtype_of(value, node))
        if value is None:
            return _NONE
        hint = _EXAMPLE
        kind = _NUMBERS.get(words(value))
        if kind is not None:
            hint = f'a number is `G.Prim("{kind}")`, a tensor {_EXAMPLE.removeprefix("such as ")}'
        if isinstance(value, (BufferForm, BufferType)):
            self.foreign_params += self.in_signature
            hint = f"a graph function takes tensors, {_EXAMPLE}"
        raise self.fail("T041", f"{words(value)} is not a type of G", node, hint=hint)

    def fields(self, spec: TypeSpec, names: tuple[str, ...], node: ast.expr) -> dict[str, Any]:
        """The arguments of a type by name."""
        if len(spec.args) > len(names):
            raise self.fail("T101", f"`G.{spec.name}` takes at most {counted(len(names), 'argument')}", node)
        given = dict(zip(names, spec.args, strict=False))
        for name, value in spec.kwargs.items():
            if name not in names or name in given:
                what = "is given twice" if name in given else "is no argument"
                raise self.fail(
                    "T032", f"`{name}` {what} of `G.{spec.name}`", node, hint=f"they are {', '.join(names)}"
                )
            given[name] = value
        return given

    def rank_of(self, value: Any, node: ast.expr) -> int | None:
        """`ndim=`; -1 and None are unknown."""
        number = value.value if type(value) is Const else value
        if number is None or (type(number) is int and number == -1):
            return None
        if type(number) is not int or number < 0:
            raise self.fail("T032", "`ndim` is the number of dimensions, an int of 0 or more", node)
        return number

    def sharding(self, device_mesh: Any, placement: Any, node: ast.expr) -> Sharding:
        """Where the parts of a tensor lie, in words: `"mesh[0]"` and `"S[0], R"`."""
        if not isinstance(device_mesh, str) or not _MESH.fullmatch(device_mesh):
            message = "the devices of a tensor are a mesh of the module, by its name and number"
            node = _written(node, "device_mesh", 2, device_mesh)
            raise self.fail("T032", message, node, hint='`"mesh[0]"`, of `I.module_global_infos({"mesh": [...]})`')
        if placement is None or placement == "":
            return Sharding(device_mesh)
        parts = [one.strip() for one in placement.split(",")] if isinstance(placement, str) else [""]
        if not all(map(_PLACEMENT.fullmatch, parts)):
            message = "the placement of a tensor says for each axis of the mesh what lies along it"
            node = _written(node, "placement", 3, placement)
            hint = '`"S[1], R"`: parts of axis 1 of the tensor along the first, all of it along the second'
            raise self.fail("T032", message, node, hint=hint)
        return Sharding(device_mesh, tuple(parts))

    def dimensions(self, value: Any, node: ast.expr) -> tuple[Expr, ...]:
        """The dimensions of a shape: ints, symbols, strings."""
        if not isinstance(value, (tuple, list)):
            hint = f"a tuple: `({value},)`" if isinstance(value, (int, str)) else "a tuple: `(4, 4)`"
            raise self.fail("T041", f"{words(value)} is no shape", node, hint=hint)
        nodes = _items(node, len(value))
        return tuple(self.graph_dimension(dim, at) for dim, at in zip(value, nodes, strict=True))

    def graph_dimension(self, dim: Any, node: ast.expr) -> Expr:
        """One dimension."""
        found = self.dimension(self.scalar(dim), node)
        if not found.dtype.is_signed:
            hint = "declare it as `T.int64()`"
            raise self.fail("T207", f"a dimension of a tensor is {found.dtype}, not a signed integer", node, hint=hint)
        return const(int(found.value), INT64) if type(found) is Const else found


def _written(node: ast.expr, name: str, at: int, value: Any) -> ast.expr:
    """The place of an argument of a type where its value stands in the text, else that of the type."""
    given = [keyword.value for keyword in getattr(node, "keywords", ()) if keyword.arg == name]
    for part in [*given, *(getattr(node, "args", None) or ())[at : at + 1]]:
        if isinstance(part, ast.Constant) and part.value == value:
            return part
    return node


def _items(node: ast.expr, count: int) -> list[ast.expr]:
    """The places of the dimensions of a type, where they stand in it."""
    for part in [node, *(getattr(node, "args", None) or ())]:
        if isinstance(part, (ast.Tuple, ast.List)) and len(part.elts) == count:
            if not any(isinstance(item, ast.Starred) for item in part.elts):
                return part.elts
    return [node] * count


def _tensor(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    if len(spec.args) > 2 and all(isinstance(one, (int, Expr)) for one in spec.args[:2]):
        sizes = [one for one in spec.args if isinstance(one, (int, Expr))]
        shown = ", ".join(str(one) if isinstance(one, int) else one.script(fragment=True).strip() for one in sizes)
        hint = f'the shape is one tuple: `G.Tensor(({shown}), "float32")`'
        raise self.fail("T101", "`G.Tensor` takes a shape, then a dtype", node, hint=hint)
    given = self.fields(spec, ("shape", "dtype", "vdevice", "ndim"), node)
    shape, kind = given.get("shape"), given.get("dtype")
    if isinstance(shape, (str, TypeName, DType)) and kind is None:
        shape, kind = None, shape  # `G.Tensor("float32")`
    elif isinstance(shape, (str, TypeName, DType)) and isinstance(kind, (tuple, list, int)):
        hint = 'G.Tensor((128,), "float32")'
        raise self.fail("T032", "the shape comes first in `G.Tensor`, then the dtype", node, hint=hint)
    if type(shape) is ShapeExpr:
        shape = shape.values
    rank = self.rank_of(given.get("ndim"), node)
    known = shape.type if type(shape) is GraphVar else None
    if type(known) is ShapeType:
        if known.values is not None:
            shape = known.values
        elif self.theirs:  # of the type that TVM keeps the variable in, ours say the number of dimensions
            shape, rank = None, known.ndim
    unknown = ("", "void") if self.theirs else ("",)
    place = _written(node, "dtype", 1, kind)
    elements = None if kind is None or (isinstance(kind, str) and kind in unknown) else self.dtype_of(kind, place)
    if elements is not None and (elements.is_handle or elements.is_vector or elements.kind == "void"):
        raise self.fail("T109", f"a tensor holds numbers, not {elements}", node)
    device = given.get("vdevice")
    if device is not None and not isinstance(device, str):
        raise self.fail("T032", 'the device of a tensor is a string, such as `"llvm:0"`', node)
    if shape is None:
        return TensorType((), elements, None, device) if rank == 0 else TensorType(None, elements, rank, device)
    dims = self.dimensions(shape, node)
    if rank is not None and rank != len(dims):
        raise self.fail("T207", f"the shape has {counted(len(dims), 'dimension')}, but `ndim` is {rank}", node)
    return TensorType(dims, elements, None, device)


def _sharded(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    """`G.DTensor((4, 4), "float32", "mesh[0]", "S[0]")`"""
    given = self.fields(spec, ("shape", "dtype", "device_mesh", "placement", "ndim"), node)
    place = {name: given.pop(name, None) for name in ("device_mesh", "placement")}
    made = _tensor(self, TypeSpec("Tensor", (), given), node)
    return made.replace(sharding=self.sharding(**place, node=node))


def _shape(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    given = self.fields(spec, ("values", "ndim"), node)
    rank = self.rank_of(given.get("ndim"), node)
    if given.get("values") is None:
        return ShapeType((), None) if rank == 0 else ShapeType(None, rank)
    dims = self.dimensions(given["values"], node)
    if rank is not None and rank != len(dims):
        raise self.fail("T207", f"the shape has {counted(len(dims), 'dimension')}, but `ndim` is {rank}", node)
    return ShapeType(dims)


def _prim(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    given = self.fields(spec, ("dtype", "value"), node)
    value = None if given.get("value") is None else self.graph_dimension(given["value"], node)
    if "dtype" in given:
        return PrimType(self.dtype_of(given["dtype"], node), value)
    if value is None:
        raise self.fail("T032", "`G.Prim` takes a dtype", node, hint='`G.Prim("int64")`')
    return PrimType(value.dtype, value)


def _tuple(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    given: Any = spec.args
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    if spec.kwargs:
        raise self.fail("T032", "`G.Tuple` takes the types of its fields", node)
    return TupleType(tuple(self.type_of_value(field, node) for field in given))


def _object(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    self.fields(spec, (), node)
    return ObjectType()


def _callable(self: GraphTypeLowering, spec: TypeSpec, node: ast.expr) -> GraphType:
    given = self.fields(spec, ("params", "ret", "purity", "derive_func"), node)
    params = given.get("params")
    if params is not None and not isinstance(params, (tuple, list)):
        params = (params,)
    if given.get("derive_func") is not None:
        raise self.fail("T021", "a function that tells the result type is not supported", node)
    result = self.type_of_value(given["ret"], node) if "ret" in given else ObjectType()
    pure = given.get("purity")
    if not isinstance(pure, (bool, type(None))):
        raise self.fail("T032", "`purity` of `G.Callable` is True or False", node)
    kinds = None if params is None else tuple(self.type_of_value(one, node) for one in params)
    return CallableType(kinds, result, params is not None if pure is None else pure)


_RULES: dict[str, Callable[[GraphTypeLowering, TypeSpec, ast.expr], GraphType]] = {
    "Tensor": _tensor,
    "DTensor": _sharded,
    "Shape": _shape,
    "Prim": _prim,
    "Tuple": _tuple,
    "Object": _object,
    "Callable": _callable,
}
