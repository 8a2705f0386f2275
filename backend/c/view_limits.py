"""In a debug build: accesses of a view that may leave the memory which it is a view of (see ../llvm/view_limits.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir import Buffer, BufferData, DeclBuffer, Expr
from tirscript.ir.dtype import INT64

from ..llvm.state import Limit
from ..llvm.view_limits import leaves, never_leaves
from . import memory
from .code import CHOICE, ORDER, PLUS, TIMES, Code, binary, cast, within

if TYPE_CHECKING:
    from .writer import Writer


def limit_of(w: Writer, stmt: DeclBuffer) -> Limit | None:
    """The memory that a view may leave; None where it cannot, or where that is not known."""
    if type(stmt.data) is not BufferData:
        return None
    source = stmt.data.buffer
    there = memory.place(w, source)
    if there.limit is not None:
        return there.limit
    if never_leaves(stmt.buffer, source):
        return None
    return Limit(there.data, _bytes(w, source, there), source)


def _bytes(w: Writer, buffer: Buffer, at: memory.Place) -> str:
    """How many bytes there are from a buffer's data to behind its last element; none where it has no elements."""
    item, strides = buffer.dtype.itemsize, at.strides
    if all(text.isdigit() for text in (at.offset, *at.dims, *strides)):
        dims = [int(dim) for dim in at.dims]
        last = sum((dim - 1) * int(stride) for dim, stride in zip(dims, strides, strict=True))
        return str((int(at.offset) + last + 1) * item if all(dims) else 0)
    elements = memory.plus(at.offset, "1")
    for dim, stride in zip(at.dims, strides, strict=True):
        elements = memory.plus(elements, memory.times(binary(dim, "-", "1", PLUS), stride))
    some = " && ".join(f"{within(dim, ORDER + 1)} > 0" for dim in at.dims) or "1"
    size = Code(f"{some} ? {within(memory.times(elements, str(item)), CHOICE + 1)} : 0", CHOICE)
    return w.keep(size, INT64, f"{buffer.name}_bytes")


def check_limit(w: Writer, buffer: Buffer, indices: tuple[Expr, ...], verb: str, limit: Limit) -> None:
    """Report an access, one lane of it where it is a vector, that is not within the memory."""
    from .writer import Report

    at, item = memory.place(w, buffer), buffer.dtype.itemsize
    first = memory.times(cast("int64_t", within(memory.offset_of(w, buffer, indices), TIMES + 1)), str(item))
    if at.data != limit.base:
        # as numbers: two pointers are subtracted in C only where both are of one array
        begins, base = (cast("uintptr_t", text) for text in (at.data, limit.base))
        first = memory.plus(cast("int64_t", f"({binary(begins, '-', base, PLUS)})"), first)
    start = w.keep(first, INT64, "start")
    shown = ", ".join(f"{{{k}}}" for k in range(len(indices)))
    values = [*(Report("", w.value(one), one.dtype) for one in indices), Report("bytes", limit.size, INT64)]
    inside = Code(f"{start} >= 0 && {binary(start, '+', str(item), PLUS)} <= {limit.size}", 5)
    w.check(inside, "bounds", leaves(f"{verb} of `{buffer.name}[{shown}]`", limit.owner), lambda: values)


__all__ = ["check_limit", "limit_of"]
