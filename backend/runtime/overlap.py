"""Whether the arrays of a call share memory that the function writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from tirscript.ir import Buffer, DiagnosticError, PrimFunc, Var, error

from .arguments import buffer_of
from .arrays import extent_of

Param = Var | Buffer

# effort of numpy's exact answer whether strided arrays share elements; beyond it they are taken to do so
_WORK = 100_000


def check_overlap(
    func: PrimFunc, arrays: Mapping[Param, np.ndarray[Any, Any] | None], written: Collection[Param]
) -> None:
    """A buffer argument that is written may share no element with another one. Raises DiagnosticError."""
    buffers = [
        (param, array) for param, array in arrays.items() if array is not None and buffer_of(func, param) is not None
    ]
    for (first, a), (second, b) in combinations(buffers, 2):
        if (first in written or second in written) and _share(a, b):
            raise _overlap(func, first, second, written)


def _overlap(func: PrimFunc, first: Param, second: Param, written: Collection[Param]) -> DiagnosticError:
    names = [(buffer_of(func, param) or param).name for param in (first, second)]
    changed = [name for name, param in zip(names, (first, second), strict=True) if param in written]
    which = f"`{changed[0]}` is" if len(changed) == 1 else "both are"
    message = f"arguments `{names[0]}` and `{names[1]}` of `{func.name}` overlap in memory, and {which} written"
    hint = 'pass a copy of one, or let the function expect it: `T.func_attr({"noalias": False})`'
    return DiagnosticError([error("T305", message, first.span or func.span, hint=hint)])


def _share(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    (low_a, high_a), (low_b, high_b) = extent_of(a), extent_of(b)
    if not (low_a < high_b and low_b < high_a and low_a < high_a and low_b < high_b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
