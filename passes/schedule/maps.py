"""Index maps as users give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import DType
from tirscript.ir.index_map import IndexMap
from tirscript.ir.words import counted

from .edit import Edit
from .refusal import said


def index_map_of(edit: Edit, given: IndexMap | Callable[..., Any], dtype: DType, ndim: int, has: str) -> IndexMap:
    """The map to places that a user gave, on `ndim` indices of `dtype`, the number that `has` tells.

    Refused where it is none, or takes another number of indices.
    """
    found = function_of(edit, given, dtype, ndim)
    if len(found.params) != ndim:
        edit.wrong(f"the index map takes {counted(len(found.params), 'index')}, and {has}")
    odd = found.odd_place()
    if odd is not None:
        edit.wrong(f"the index map cannot be made: a place is an integer, not {odd}")
    return found


def function_of(edit: Edit, given: IndexMap | Callable[..., Any], dtype: DType, ndim: int) -> IndexMap:
    """The function of `ndim` indices of `dtype` that a user gave, to whatever values; refused where it is none."""
    try:
        if not isinstance(given, IndexMap):
            edit.called[given] = IndexMap.of(given, ndim=ndim)
            return IndexMap.of(given, dtype=dtype, ndim=ndim)
        return given.with_dtype(dtype)
    except Exception as problem:  # a user's function raises what it likes
        hint = problem.diagnostics[0].hint if isinstance(problem, DiagnosticError) else None
        edit.wrong(f"the index map cannot be made: {said(problem)}", hint=hint)


__all__ = ["function_of", "index_map_of"]
