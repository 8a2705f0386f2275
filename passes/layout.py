"""Where the elements of a buffer lie: strides, sizes and flat offsets."""

from __future__ import annotations

import math

from tirscript.ir.arith.bounds import bounds, whole
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, INT64, DType
from tirscript.ir.expr import Const, Expr, Ramp, is_const
from tirscript.ir.op import cast, const, get_op

from .simplify import simplified


def index_dtype(shape: tuple[Expr, ...]) -> DType:
    """The integer type of a buffer's indices: the widest of its dimensions."""
    found = INT32
    for dim in shape:
        if dim.dtype.is_int and dim.dtype.bits > found.bits:
            found = dim.dtype
    return INT64 if found.kind == "uint" else found


def with_dtype(size: Expr, dtype: DType) -> Expr:
    """A size as a number, or a cast, of another dtype."""
    return const(int(size.value), dtype) if type(size) is Const else cast(size, dtype)


def row_major_strides(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The strides of a row-major buffer without gaps."""
    dtype = index_dtype(shape)
    stride: Expr = Const(1, dtype)
    out: list[Expr] = []
    for dim in reversed(shape):
        out.append(stride)
        stride = simplified(stride * cast(dim, dtype)) if not is_const(stride, 1) else cast(dim, dtype)
    return tuple(reversed(out))


def is_contiguous(buffer: Buffer) -> bool:
    """Whether the elements lie row-major without gaps as far as the declaration tells."""
    if buffer.strides is None:
        return True
    return all(
        type(a) is Const and type(b) is Const and a.value == b.value
        for a, b in zip(buffer.strides, row_major_strides(buffer.shape), strict=True)
    )


def flat_size(buffer: Buffer) -> Expr:
    """The number of elements from the first to behind the last, gaps included."""
    dtype = offset_dtype(buffer)
    if buffer.strides is None:
        size: Expr = Const(1, dtype)
        for dim in buffer.shape:
            size = size * cast(dim, dtype)
        return simplified(size)
    size = Const(1, dtype)
    for dim, stride in zip(buffer.shape, buffer.strides, strict=True):
        size = size + (cast(dim, dtype) - 1) * cast(stride, dtype)
    size = simplified(size)
    return size if type(size) is Const else get_op("max")(size, Const(0, dtype))


def span(buffer: Buffer) -> tuple[Expr, Expr]:
    """How many elements lie from the lowest address of a strided buffer to behind the highest, gaps included, and how
    far the lowest is from the first element: 0, or less where a stride is."""
    assert buffer.strides is not None
    dtype = offset_dtype(buffer)
    zero = Const(0, dtype)
    size: Expr = Const(1, dtype)
    lowest: Expr = zero
    for dim, stride in zip(buffer.shape, buffer.strides, strict=True):
        reach = simplified((cast(dim, dtype) - 1) * cast(stride, dtype))
        down = get_op("min")(reach, zero)
        size, lowest = size + get_op("max")(reach, zero) - down, lowest + down
    return simplified(size), simplified(lowest)


def offset_dtype(buffer: Buffer) -> DType:
    """The type that flat offsets are counted in: int32 only where the size is known and every offset fits."""
    dims = (*buffer.shape, *(buffer.strides or ()))
    if any(dim.dtype.bits > 32 for dim in dims):
        return INT64
    if not all(type(dim) is Const for dim in dims):
        return INT64
    shape = [int(dim.value) for dim in buffer.shape if type(dim) is Const]
    if buffer.strides is None:
        size = math.prod(shape)
    else:
        strides = [int(stride.value) for stride in buffer.strides if type(stride) is Const]
        size = 1 + sum(abs((dim - 1) * stride) for dim, stride in zip(shape, strides, strict=True))
    return INT32 if size < 1 << 31 else INT64


def never_wraps(ramp: Ramp) -> bool:
    """Whether all lanes of an index are in a wider dtype what they are in its own.

    Lanes that are not negative and less than half the range apart do not wrap between; those that a predicate takes out
    may be anything, and where they count down, lane 0 need not be one of the others.
    """
    if type(ramp.stride) is not Const:
        return False
    dtype, reach = ramp.base.dtype, int(ramp.stride.value) * (ramp.lanes - 1)
    if dtype.kind == "int" and 0 <= reach < 1 << (dtype.bits - 1):
        return True
    low, high = bounds(ramp.base, {})
    least, greatest = whole(dtype)
    return least <= low + min(reach, 0) and high + max(reach, 0) <= greatest
