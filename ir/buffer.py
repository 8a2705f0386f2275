"""Buffers: named, typed, shaped memory."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from .dtype import FLOAT32, DType
from .expr import BufferData, BufferLoad, Const, Expr
from .node import Binder
from .words import call_it, counted


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
    def is_plain(self) -> bool:
        """Whether the elements lie one after the other from the beginning of ordinary memory."""
        return self.strides is None and self.elem_offset is None and self.scope == "global"

    @property
    def data(self) -> BufferData:
        """The address of the first element."""
        return BufferData(self)

    def __getitem__(self, indices: Any) -> BufferLoad:
        """An element, `A[i, j]`, in a Python function that a kernel calls while it is read.

        Raises DiagnosticError where these are not as many integers as there are dimensions.
        """
        from .op import as_expr, fail

        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) != self.ndim:
            has = f"`{self.name}` has {counted(self.ndim, 'dimension')}"
            raise fail("T111", f"{has}, but {counted(len(given), 'index')} stand here")
        for item in given:
            if isinstance(item, slice):
                hint = "read the elements one by one, or make the function a `@T.macro`"
                raise fail("T112", f"Python that runs while parsing takes no slice of `{self.name}`", hint)
        found = tuple(map(as_expr, given))
        for index in found:
            if not index.dtype.is_int:
                raise fail("T112", f"the index is {index.dtype}, not an integer")
        return BufferLoad(self, found)

    def __iter__(self) -> NoReturn:
        raise TypeError(f"the elements of the buffer `{self.name}` are read one by one: `{self.name}[...]`")

    def constant_shape(self) -> tuple[int, ...] | None:
        """The shape as ints, or None where a dimension is symbolic."""
        if all(type(dim) is Const for dim in self.shape):
            return tuple(int(dim.value) for dim in self.shape)  # type: ignore[attr-defined]
        return None


call_it(Buffer, "whole buffer", lambda buffer: buffer.name)
