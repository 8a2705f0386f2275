"""Buffers: named, typed, shaped memory."""

from __future__ import annotations

from typing import ClassVar

from .dtype import FLOAT32, DType
from .expr import BufferData, Const, Expr
from .node import Binder
from .words import call_it


class Buffer(Binder, frozen=True, eq=False):
    """A tensor in memory, equal only to itself; the name is a hint.

    `shape` and `strides` count elements; `strides` of None is row-major without gaps. `elem_offset` is the first
    element's distance from the data pointer (None: zero). `align` is in bytes (0: the element's natural alignment);
    `offset_factor` promises that `elem_offset` is a multiple of it (0: no promise).
    `scope` is the storage: "global", "local", "shared", or "scalar" for a mutable scalar variable (shape ()).
    `allocated_addr` is where in a pool of memory the buffer was placed. `layout` is TVM's word for row-major:
    "default", None where the buffer says to have none, "view" of one that is written as a view of another. It means
    nothing here, but TVM's text needs it back.
    """

    not_compared: ClassVar[tuple[str, ...]] = ("name", "layout")

    name: str
    shape: tuple[Expr, ...]
    dtype: DType = FLOAT32
    strides: tuple[Expr, ...] | None = None
    elem_offset: Expr | None = None
    scope: str = "global"
    align: int = 0
    offset_factor: int = 0
    axis_separators: tuple[int, ...] = ()
    allocated_addr: tuple[Expr, ...] = ()
    layout: str | None = "default"

    @property
    def is_scalar(self) -> bool:
        """Whether this is a mutable scalar variable."""
        return self.scope == "scalar"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def data(self) -> BufferData:
        """The address of the first element."""
        return BufferData(self)

    def constant_shape(self) -> tuple[int, ...] | None:
        """The shape as ints, or None where a dimension is symbolic."""
        if all(type(dim) is Const for dim in self.shape):
            return tuple(int(dim.value) for dim in self.shape)  # type: ignore[attr-defined]
        return None


call_it(Buffer, "whole buffer", lambda buffer: buffer.name)
