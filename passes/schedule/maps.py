"""Index maps as users give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.dtype import DType
from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.rewrite import rewrite

from .edit import Edit
from .refusal import said


def index_map_of(edit: Edit, given: IndexMap | Callable[..., Any], dtype: DType) -> IndexMap:
    """The map that a user gave, on indices of `dtype`; refused where it is none."""
    try:
        if not isinstance(given, IndexMap):
            return IndexMap.of(given, dtype=dtype)
        return _retyped(given, dtype)
    except Exception as problem:  # a user's function raises what it likes
        edit.wrong(f"the index map cannot be made: {said(problem)}")


def _retyped(mapping: IndexMap, dtype: DType) -> IndexMap:
    """The same map on indices of another dtype."""
    if all(param.dtype is dtype for param in mapping.params):
        return mapping
    fresh = {param: Var(param.name, dtype) for param in mapping.params}

    def call(node: Call) -> Expr:
        return node.op(*node.args) if node.dtype.is_int else node

    rules: dict[Any, Any] = {
        Var: lambda var: fresh.get(var, var),
        Const: lambda node: Const(node.value, dtype) if node.dtype.is_int else node,
        Call: call,
    }
    indices = tuple(rewrite(index, rules) for index in mapping.indices)
    return IndexMap(tuple(fresh.values()), indices)


__all__ = ["index_map_of"]
