"""Types of the graph compared: what two of them have in common, and whether one is a case of another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .dtype import INT64
from .equal import structural_equal
from .expr import Call, Expr, Var, is_const
from .graph import (
    CallableType,
    GraphFunc,
    GraphType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
)
from .graph_ops import dims
from .graph_ops.rules import describe
from .node import are_same
from .op import OPS
from .rewrite import children, walk
from .words import counted


def join(a: GraphType, b: GraphType) -> GraphType:
    """The narrowest type of which both are cases."""
    if a is b or structural_equal(a, b):
        return a
    if type(a) is TensorType and type(b) is TensorType:
        kind = a.dtype if a.dtype is b.dtype else None
        device = a.vdevice if a.vdevice == b.vdevice else None
        sharding = a.sharding if a.sharding == b.sharding else None
        if a.shape is not None and b.shape is not None and dims.same_shapes(a.shape, b.shape):
            return TensorType(a.shape, kind, None, device, sharding)
        return TensorType(None, kind, a.rank if a.rank == b.rank else None, device, sharding)
    if type(a) is ShapeType and type(b) is ShapeType:
        if a.values is not None and b.values is not None and dims.same_shapes(a.values, b.values):
            return a
        return ShapeType(None, a.rank if a.rank == b.rank else None)
    if type(a) is PrimType and type(b) is PrimType and a.dtype is b.dtype:
        return PrimType(a.dtype)
    if type(a) is TupleType and type(b) is TupleType and len(a.fields) == len(b.fields):
        return TupleType(tuple(join(x, y) for x, y in zip(a.fields, b.fields, strict=True)))
    if type(a) is CallableType and type(b) is CallableType:
        return CallableType(None, join(a.result, b.result), a.pure and b.pure)
    return ObjectType()


def scalars_in_shapes(func: GraphFunc) -> list[tuple[str, Var]]:
    """The scalar parameters, and those of shapes, that stand in types of tensors, by name, but for those that are a
    dimension of a parameter.

    What is said of dimensions (`T.min(n, 0) + 5` is 5) holds for sizes, so such a scalar has to be one: not negative.
    Whatever stands in `T.max(..., 0)`, as the ends of ranges do, gives a size.
    """
    kinds = [(param.name, param.type) for param in func.params]
    scalars: dict[Var, str] = {}
    sizes: set[Var] = set()
    for name, kind in kinds:
        if type(kind) is TupleType:
            kinds += ((f"{name}[{at}]", field) for at, field in enumerate(kind.fields))
        elif type(kind) is ShapeType:
            kinds += ((f"{name}[{at}]", PrimType(INT64, dim)) for at, dim in enumerate(kind.values or ()))
        elif type(kind) is PrimType and type(kind.value) is Var and kind.value.dtype.is_int:
            scalars.setdefault(kind.value, name)
        elif type(kind) is TensorType:
            sizes.update(dim for dim in kind.shape or () if type(dim) is Var)
    wanted = scalars.keys() - sizes
    shapes = (node.shape for node in (walk(func) if wanted else ()) if type(node) is TensorType)
    standing = {part for shape in shapes for dim in shape or () for part in _unguarded(dim)}
    return [(name, var) for var, name in scalars.items() if var in wanted and var in standing]


def _unguarded(dim: Expr) -> Iterator[Var]:
    """The variables of a dimension that stand in no `T.max(..., 0)`."""
    if type(dim) is Call and dim.op is OPS["max"] and any(is_const(arg, 0) for arg in dim.args):
        return
    if type(dim) is Var:
        yield dim
    for part in children(dim):
        if isinstance(part, Expr):
            yield from _unguarded(part)


NO_SIZE = "stands in a shape, where no size is negative"


def as_annotated(kind: GraphType) -> GraphType:
    """An inferred type as an annotation has it: what a scalar's value is stands in no type that TVM knows."""
    if type(kind) is PrimType and kind.value is not None:
        return PrimType(kind.dtype)
    if type(kind) is TupleType:
        fields = tuple(map(as_annotated, kind.fields))
        return kind if are_same(fields, kind.fields) else TupleType(fields)
    return kind


def conflict(have: GraphType, want: GraphType) -> tuple[str, str] | None:
    """A code and words for why no value of type `have` is one of type `want`; None where it may be one."""
    if type(have) is ObjectType or type(want) is ObjectType:
        return None
    if type(have) is not type(want):
        return "T104", f"is {describe(have)}, not {describe(want)}"
    return _CONFLICTS[type(have)](have, want)


def _tensors(have: TensorType, want: TensorType) -> tuple[str, str] | None:
    if have.dtype is not None and want.dtype is not None and have.dtype is not want.dtype:
        return "T204", f"is of {have.dtype}, not of {want.dtype}"
    return _shapes(have.shape, want.shape, have.rank, want.rank)


def _shapes(
    have: dims.Shape | None, want: dims.Shape | None, rank: int | None, wanted: int | None
) -> tuple[str, str] | None:
    if rank is not None and wanted is not None and rank != wanted:
        shown = f": {dims.text(have)}" if have is not None else ""
        return "T207", f"has {counted(rank, 'dimension')}, not {wanted}{shown}"
    if have is not None and want is not None and any(map(dims.differ, have, want)):
        return "T207", f"has the shape {dims.text(have)}, not {dims.text(want)}"
    return None


def _tuples(have: TupleType, want: TupleType) -> tuple[str, str] | None:
    if len(have.fields) != len(want.fields):
        return "T104", f"has {counted(len(have.fields), 'field')}, not {len(want.fields)}"
    for at, (x, y) in enumerate(zip(have.fields, want.fields, strict=True)):
        found = conflict(x, y)
        if found is not None:
            return found[0], f"differs in field {at}, which {found[1]}"
    return None


def _prims(have: PrimType, want: PrimType) -> tuple[str, str] | None:
    return None if have.dtype is want.dtype else ("T204", f"is {have.dtype}, not {want.dtype}")


def _callables(have: CallableType, want: CallableType) -> tuple[str, str] | None:
    if have.params is not None and want.params is not None and len(have.params) != len(want.params):
        return "T101", f"takes {counted(len(have.params), 'argument')}, not {len(want.params)}"
    return None


_CONFLICTS: dict[type, Callable[[Any, Any], tuple[str, str] | None]] = {
    TensorType: _tensors,
    ShapeType: lambda have, want: _shapes(have.values, want.values, have.rank, want.rank),
    TupleType: _tuples,
    PrimType: _prims,
    CallableType: _callables,
}
