"""Whether values are what the types of graph functions say, and their sizes where a type has dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tirscript.ir import Expr
from tirscript.ir.constant import numpy_dtype
from tirscript.ir.graph import GraphType, PrimType, ShapeType, TensorType, TupleType
from tirscript.ir.words import counted

Problem = tuple[str, str] | None


def problem_of(value: Any, kind: GraphType) -> Problem:
    """The code of the mistake and what is wrong, where a value is not of a type; its dimensions are not compared."""
    rule = _CHECKS.get(type(kind))
    return None if rule is None else rule(value, kind)


def sizes_of(value: Any, kind: GraphType) -> list[tuple[Expr, Any]]:
    """The dimensions that a type names, each with what the value has there."""
    if type(kind) is TensorType and kind.shape is not None:
        return list(zip(kind.shape, np.shape(value), strict=False))
    if type(kind) is ShapeType and kind.values is not None:
        return list(zip(kind.values, value, strict=False))
    if type(kind) is PrimType and kind.value is not None:
        return [(kind.value, value)]
    return []


def _tensor(value: Any, kind: TensorType) -> Problem:
    if not isinstance(value, (np.ndarray, np.generic)):
        return "T207", f"expected a tensor, got {_noun(value)}"
    if kind.dtype is not None and value.dtype != numpy_dtype(kind.dtype):
        order = " in foreign byte order" if not value.dtype.isnative else ""
        return "T105", f"expected a tensor of {kind.dtype}, got one of {value.dtype.name}{order}"
    if kind.rank is not None and value.ndim != kind.rank:
        return "T207", f"expected {counted(kind.rank, 'dimension')}, got the shape {value.shape}"
    return None


def _tuple(value: Any, kind: TupleType) -> Problem:
    if not isinstance(value, tuple):
        return "T207", f"expected a tuple, got {_noun(value)}"
    if len(value) != len(kind.fields):
        return "T207", f"expected a tuple of {len(kind.fields)}, got one of {len(value)}"
    return None


def _shape(value: Any, kind: ShapeType) -> Problem:
    if not isinstance(value, tuple) or not all(isinstance(one, (int, np.integer)) for one in value):
        return "T207", f"expected a shape, which is a tuple of ints, got {_noun(value)}"
    if not all(-(1 << 63) <= one < 1 << 63 for one in value):
        return "T207", "a dimension of the shape does not fit int64"
    if kind.rank is not None and len(value) != kind.rank:
        return "T207", f"expected a shape of {counted(kind.rank, 'dimension')}, got {value}"
    return None


def _prim(value: Any, kind: PrimType) -> Problem:
    if np.ndim(value) or isinstance(value, (tuple, str)) or value is None:
        return "T207", f"expected a scalar, got {_noun(value)}"
    return None


def _noun(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a tensor {value.shape}"
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


_CHECKS: dict[type, Callable[[Any, Any], Problem]] = {
    TensorType: _tensor,
    TupleType: _tuple,
    ShapeType: _shape,
    PrimType: _prim,
}


__all__ = ["problem_of", "sizes_of"]
