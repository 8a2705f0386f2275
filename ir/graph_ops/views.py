"""`R.memory.view` of TVM's: bytes of a tensor in another shape and dtype.

A view is a value here, as every result is, and whether it shares memory is left to us. Its bytes are those of the
tensor in row-major order from an offset on, the least significant of an element first. The call is kept as TVM writes
it: what it leaves away is an empty tuple or `R.null_value()`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from ..dtype import INT64, DType, dtype
from ..expr import BufferLoad, Expr, const
from ..graph import GraphExpr, GraphType, GraphVar, OpCall, PrimType, PrimValue, ShapeExpr, ShapeType, TensorType
from ..graph_op import GraphOp, Legalized, Parameter
from ..op import OPS, fail
from ..op import cast as cast_to
from ..stmt import Assert
from . import dims
from .attrs import attr, element_type
from .foreign import dtype_of, given, handed_on
from .infer import type_of
from .kernel import T, flat, kernel, size, unflat
from .rules import Types, of_shape
from .table import FOREIGN_GRAPH_OPS

BYTE = 8


def parts(call: OpCall) -> tuple[GraphExpr | None, DType | None, GraphExpr | None]:
    """The shape, dtype and offset of a view; None for each that the call leaves away."""
    shape, begin = given(call, 1, "shape"), given(call, 3, "relative_byte_offset")
    if type(begin) is int:  # by its name
        begin = PrimValue(const(begin, INT64))
    return (
        shape if type(shape) is ShapeExpr or _is(shape, ShapeType) else None,
        dtype_of(given(call, 2, "dtype")),
        begin if type(begin) is PrimValue or _is(begin, PrimType) else None,
    )


def _is(value: Any, kind: type) -> bool:
    return type(value) is GraphVar and type(value.type) is kind


def viewed(call: OpCall, types: Types) -> GraphType:
    """The memory of the first argument in the shape and dtype that the call names, its own where it names none."""
    found = handed_on(call, types)
    shape, kind, begin = parts(call)
    if type(found) is not TensorType:
        return found
    if type(shape) is GraphVar and type(shape.type) is ShapeType:
        made = of_shape(shape.type, kind or found.dtype)
    else:
        values = shape.values if type(shape) is ShapeExpr else found.shape
        made = TensorType(values, kind or found.dtype, found.rank if values is None else None, found.vdevice)
    have, want = _bytes(found), _bytes(made)
    first = begin.value if type(begin) is PrimValue else dims.dim(0)
    if have is not None and want is not None and dims.not_negative(dims.sub(dims.add(first, want), dims.add(have, 1))):
        message = f"bytes {dims.text(first)} to {dims.text(dims.add(first, want))} of {dims.text(have)}"
        raise fail("T207", f"`G.memory.view`: the view ends behind the tensor: {message}")
    return made


def _bytes(kind: TensorType) -> Expr | None:
    if kind.shape is None or kind.dtype is None or kind.dtype.bits % BYTE:
        return None
    return dims.mul(dims.product(kind.shape), kind.dtype.bits // BYTE)


def view_of(x: Any, shape: Sequence[int] | None, kind: Any, begin: int | None) -> Any:
    """The view in numpy; ValueError where the tensor ends before it."""
    import numpy as np

    kind, begin = x.dtype if kind is None else kind, begin or 0
    data = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    sizes = x.shape if shape is None else tuple(shape)
    end = begin + math.prod(sizes) * kind.itemsize
    if begin < 0 or end > data.size:
        raise ValueError(f"the view ends behind the tensor: bytes {begin} to {end} of {data.size}")
    return data[begin:end].copy().view(kind).reshape(sizes)


def _view(x: Any, sizes: Any, begin: Any, out: Any, *, inside: Any) -> None:
    if not inside:
        assert fits(x, out, begin), "`G.memory.view`: the view ends behind the tensor"
    for (*i,) in T.grid(*out.shape):
        with T.block("view"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = element_at(x, out, begin, v)


def fits(x: Any, out: Any, begin: Any) -> Expr:
    """Whether a view ends where its tensor does, or before."""
    have, want = (
        dims.mul(dims.product([cast_to(size, INT64) for size in one.shape]), one.dtype.bits // BYTE) for one in (x, out)
    )
    first = cast_to(dims.dim(begin), INT64)
    end = OPS["less_equal"](OPS["add"](first, want), have)
    return OPS["logical_and"](OPS["greater_equal"](first, const(0, INT64)), end)


def element_at(x: Any, out: Any, begin: Any, place: Sequence[Expr]) -> Expr:
    """The element of a view: one of the tensor where both have elements of one size, else its bytes put together."""
    have, want = x.dtype.bits // BYTE, out.dtype.bits // BYTE
    number = cast_to(dims.dim(flat(place, [size(out, at) for at in range(out.ndim)])), INT64)
    if have == want and isinstance(begin, int) and begin % have == 0:
        return _as(_element(x, number + begin // have), out.dtype)
    unsigned = dtype(f"uint{want * BYTE}")
    found: Expr = const(0, unsigned)
    for at in range(want):
        byte = number * want + begin + at
        word = _as(_element(x, OPS["floordiv"](byte, have)), dtype(f"uint{have * BYTE}"))
        shift = cast_to(OPS["floormod"](byte, have) * BYTE, word.dtype)
        one = OPS["bitwise_and"](OPS["shift_right"](word, shift), const(0xFF, word.dtype))
        found = OPS["bitwise_or"](found, OPS["shift_left"](cast_to(one, unsigned), const(at * BYTE, unsigned)))
    return _as(found, out.dtype)


def _as(value: Expr, kind: DType) -> Expr:
    return value if value.dtype is kind else OPS["reinterpret"](kind, value)


def _element(x: Any, number: Expr) -> Expr:
    return BufferLoad(x, tuple(map(dims.dim, unflat(number, [size(x, at) for at in range(x.ndim)]))))


def _prepare(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    kind, made, begin = types[0], call.op.infer(call, types), call.args[2]
    if type(kind) is not TensorType or type(made) is not TensorType:
        return None
    if any(one is None or one.bits % BYTE or one.is_bool for one in (kind.dtype, made.dtype)):
        return None
    have, want = _bytes(kind), _bytes(made)
    if have is None or want is None:
        return None
    first = begin.value if type(begin) is PrimValue else None
    inside = first is not None and dims.not_negative(first) and dims.not_negative(dims.sub(have, dims.add(first, want)))
    return {"inside": inside}


VIEW = GraphOp(
    "memory.view",
    (
        Parameter("x"),
        Parameter("shape", "shape"),
        Parameter("relative_byte_offset", "prim"),
        attr("dtype", element_type),
    ),
    lambda call, types: TensorType(types[1].values, call.attrs["dtype"]),  # type: ignore[attr-defined]
    "A view, of which all is said.",
)


def _legalize(call: OpCall, types: Types, name: str) -> Legalized | None:
    found = viewed(call, types)
    if type(found) is not TensorType or found.shape is None or found.dtype is None:
        return None
    begin = parts(call)[2]
    whole = VIEW(call.args[0], ShapeExpr(found.shape), begin or PrimValue(const(0, INT64)), dtype=found.dtype)
    made = kernel(_view, _prepare, inline=True)(whole, tuple(map(type_of, whole.args)), name)
    if made is None:
        return None
    checks = (one.replace(span=call.span) if type(one) is Assert else one for one in made.func.body)
    return structs.replace(made, func=made.func.replace(body=tuple(checks)))


FOREIGN_GRAPH_OPS["memory.view"] = GraphOp(
    "memory.view", (), viewed, "Bytes of a tensor in another shape and dtype, from an offset on.", legalize=_legalize
)

__all__ = ["parts", "view_of"]
