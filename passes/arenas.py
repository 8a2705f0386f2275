"""Pieces of memory that lie one after the other in a buffer of bytes."""

from __future__ import annotations

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, INT64
from tirscript.ir.expr import BufferData, BufferLoad, Expr, const
from tirscript.ir.op import get_op

ALIGN = 64  # bytes: a line of the caches, and the widest vector


def aligned(size: int) -> int:
    """How many bytes a piece takes, with those up to the next."""
    return -(-size // ALIGN) * ALIGN


def number_of(count: int) -> Expr:
    """A number of bytes."""
    return const(count, INT32 if count < 1 << 31 else INT64)


def address_in(arena: Buffer, offset: int) -> Expr:
    """Where `offset` bytes of an arena end. A view's own offset would be lost by views of it."""
    return get_op("address_of")(BufferLoad(arena, (number_of(offset),))) if offset else BufferData(arena)


__all__ = ["ALIGN", "address_in", "aligned", "number_of"]
