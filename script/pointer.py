"""TVM's methods of buffers that make addresses and offsets.

| text | reads as |
|---|---|
| `A.access_ptr("r", offset=4)` | `T.tvm_access_ptr(T.type_annotation("float32"), A.data, 4, 12, 1)` |
| `A.offset_of([1, 2])` | `[6]`, how far the element is from the first |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import force_setattr

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, const, is_const
from tirscript.ir.op import FOREIGN, OPS, as_expr, fail
from tirscript.ir.words import counted


def elem_offset(buffer: Buffer) -> Expr:
    """`A.elem_offset`: TVM gives a matched buffer that promises a multiple, `offset_factor`, a variable of its own."""
    if buffer.elem_offset is None and buffer.offset_factor:
        force_setattr(buffer, "elem_offset", Var(f"{buffer.name}_elem_offset", INT32))
    return const(0) if buffer.elem_offset is None else buffer.elem_offset


def _times(a: Expr, b: Expr) -> Expr:
    return b if is_const(a, 1) else a if is_const(b, 1) else _folded("mul", a, b)


def _folded(name: str, a: Expr, b: Expr) -> Expr:
    if type(a) is Const and type(b) is Const:
        return const({"add": a.value + b.value, "sub": a.value - b.value, "mul": a.value * b.value}[name], a.dtype)
    if is_const(b, 0) and name != "mul":
        return a
    return b if is_const(a, 0) and name == "add" else OPS[name](a, b)


def access_ptr(
    buffer: Buffer,
    access_mask: Any,
    ptr_type: Any = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> Expr:
    """`A.access_ptr("rw")`: an address with what is done there; `offset` and `extent` count elements."""
    if isinstance(access_mask, str) and access_mask and not set(access_mask) - set("rw"):
        access_mask = ("r" in access_mask) | ("w" in access_mask) << 1
    if type(access_mask) is not int or content_lanes != 1:
        raise fail("T032", '`access_ptr` takes "r", "w" or "rw", and one lane')
    start = as_expr(offset)
    if extent is None:
        size: Expr = const(1)
        if buffer.strides:
            size = _times(buffer.strides[0], buffer.shape[0])
        else:
            for dim in buffer.shape:
                size = _times(size, dim)
        extent = _folded("sub", size, start)
    kind = Call(FOREIGN["type_annotation"], (), buffer.dtype)
    place = _folded("add", elem_offset(buffer), start)
    return FOREIGN["tvm_access_ptr"](kind, buffer.data, place, as_expr(extent), const(access_mask))


def offset_of(buffer: Buffer, indices: Any) -> list[Expr]:
    """`A.offset_of([i, j])`: the distance of an element from the data pointer, in elements."""
    if not isinstance(indices, (list, tuple)) or len(indices) != len(buffer.shape):
        raise fail(
            "T111", f"`{buffer.name}` has {counted(len(buffer.shape), 'dimension')}: `offset_of` takes as many indices"
        )
    total: Expr = const(0)
    for at, index in enumerate(indices):
        if buffer.strides:
            total = _folded("add", total, _times(as_expr(index), buffer.strides[at]))
        else:
            total = _folded("add", _folded("mul", total, buffer.shape[at]), as_expr(index))
    return [_folded("add", total, elem_offset(buffer))]


def first_element(buffer: Buffer) -> Expr:
    """The element at 0, whose address TVM's `T.address_of(A)` is."""
    return BufferLoad(buffer, tuple(const(0, dim.dtype) for dim in buffer.shape))


def array_of(buffer: Buffer) -> Expr:
    """What TVM passes for a whole buffer to a packed function: a descriptor of it on the stack."""
    shape = FOREIGN["tvm_stack_make_shape"](*buffer.shape)
    strides = FOREIGN["tvm_stack_make_shape"](*buffer.strides) if buffer.strides else const(0)
    zero = const(0, buffer.dtype)
    return FOREIGN["tvm_stack_make_array"](
        buffer.data, shape, strides, const(len(buffer.shape)), zero, elem_offset(buffer)
    )


METHODS: dict[str, Callable[..., Any]] = {"access_ptr": access_ptr, "offset_of": offset_of}
