"""Index maps as users give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.dtype import DType
from tirscript.ir.index_map import IndexMap

from .edit import Edit
from .refusal import said


def index_map_of(edit: Edit, given: IndexMap | Callable[..., Any], dtype: DType) -> IndexMap:
    """The map that a user gave, on indices of `dtype`; refused where it is none."""
    try:
        if not isinstance(given, IndexMap):
            return IndexMap.of(given, dtype=dtype)
        return given.with_dtype(dtype)
    except Exception as problem:  # a user's function raises what it likes
        edit.wrong(f"the index map cannot be made: {said(problem)}")


__all__ = ["index_map_of"]
