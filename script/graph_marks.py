"""What a syntax node may mean in a graph function beside values: `metadata`, a method, a `G.match_cast`."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Const, StringImm
from tirscript.ir.graph import (
    DeviceValue,
    DTypeValue,
    ExternFunction,
    FunctionRef,
    GraphConst,
    GraphExpr,
    GraphType,
    GraphVar,
    MetadataConst,
    PrimValue,
    ShapeExpr,
    StringValue,
    TupleExpr,
)
from tirscript.ir.words import call_it

from .namespace import TypeName

_LEAVES = (
    GraphVar,
    GraphConst,
    MetadataConst,
    ShapeExpr,
    PrimValue,
    StringValue,
    DTypeValue,
    DeviceValue,
    FunctionRef,
    ExternFunction,
)


class Metadata:
    """`metadata`, which TVM prints apart from the text, and `metadata["ir.GenericConst"]`."""

    def __init__(self, kind: str | None = None) -> None:
        self.kind = kind


class Method:
    """A method of a value of the graph, waiting for its call."""

    def __init__(self, owner: GraphExpr, name: str) -> None:
        self.owner, self.name = owner, name


call_it(Method, "method", lambda method: method.name)


class Matched:
    """`G.match_cast(value, type)`, which is a statement of its own."""

    def __init__(self, value: GraphExpr, type: GraphType) -> None:
        self.value, self.type = value, type


def is_leaf(value: GraphExpr) -> bool:
    """Whether a value may stand as an argument in normal form."""
    if type(value) is TupleExpr:
        return all(map(is_leaf, value.fields))
    return isinstance(value, _LEAVES)


def plain_value(value: Any) -> Any:
    """An attribute as a Python value: `G.str("a")` is "a", a scalar constant its number."""
    if isinstance(value, (StringValue, DTypeValue, StringImm)):
        return value.value
    if type(value) is PrimValue and type(value.value) is Const:
        return value.value.value
    if isinstance(value, TupleExpr):
        return tuple(map(plain_value, value.fields))
    if isinstance(value, ShapeExpr):
        return tuple(int(dim.value) if type(dim) is Const else dim for dim in value.values)
    if isinstance(value, (tuple, list)):
        return tuple(map(plain_value, value))
    return value.dtype if isinstance(value, TypeName) else value
