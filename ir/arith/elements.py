"""The elements of constants, as passes read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..expr import BufferLoad, Const, is_const
from ..stmt import DeclBuffer

if TYPE_CHECKING:
    import numpy as np


class Elements:
    """The data of a constant, whatever the shapes of the buffers that hold it."""

    __slots__ = ("flat",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.flat = array.reshape(-1)

    def element(self, load: BufferLoad) -> Const | None:
        """What a load gives; None where its indices are not constant and within bounds, or the element is a nan, whose
        bits a number in the text does not keep."""
        shape = load.buffer.constant_shape()
        if shape is None or len(shape) != len(load.indices) or load.predicate is not None:
            return None
        at = 0
        for index, size in zip(load.indices, shape, strict=True):
            if type(index) is not Const or not 0 <= index.value < size:
                return None
            at = at * size + int(index.value)
        if at >= self.flat.size:
            return None
        item = self.flat[at].item()
        if load.buffer.dtype.is_float:
            item = float(item)
            if item != item:
                return None
        return Const(item, load.buffer.dtype, span=load.span)


def is_same_memory(stmt: DeclBuffer) -> bool:
    """Whether a view counts the elements of the buffer it is of, from the first one on without gaps."""
    view, whole = stmt.buffer, stmt.data.buffer  # type: ignore[attr-defined]
    offset = view.elem_offset
    plain = offset is None or is_const(offset, 0)
    return plain and view.strides is None and view.dtype is whole.dtype and whole.elem_offset is None
