"""Maps of indices: how the elements of one space lie in another, as layouts and their passes use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from .check import public
from .dtype import INT64, DType
from .expr import Expr, Var
from .node import Node
from .op import as_expr
from .rewrite import substitute
from .words import call_it


class IndexMap(Node, frozen=True, eq=False):
    """`T.index_map(lambda i, j: (i // 4, j, i % 4))`: where the element at `params` is found, an index each dimension.

    `inverse`, where it is given, is the map back.
    """

    defines: ClassVar[tuple[str, ...]] = ("params",)

    params: tuple[Var, ...]
    indices: tuple[Expr, ...]
    inverse: IndexMap | None = None

    @staticmethod
    def of(function: Callable[..., Any], inverse: Callable[..., Any] | None = None, dtype: DType = INT64) -> IndexMap:
        """The map that a Python function computes: `IndexMap.of(lambda i, j: (j, i))`."""
        params = tuple(Var(name, dtype) for name in inspect.signature(function).parameters)
        made = function(*params)
        indices = tuple(as_expr(item, dtype) for item in (made if isinstance(made, (tuple, list)) else (made,)))
        return IndexMap(params, indices, None if inverse is None else IndexMap.of(inverse, dtype=dtype))

    @public
    def apply(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where the element at `indices` is found."""
        if len(indices) != len(self.params):
            raise ValueError(f"the index map takes {len(self.params)} indices, not {len(indices)}")
        found: tuple[Expr, ...] = substitute(self.indices, dict(zip(self.params, indices, strict=True)))
        return found


__all__ = ["IndexMap"]


call_it(IndexMap, "index map")
