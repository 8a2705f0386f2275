"""Maps of indices: how the elements of one space lie in another, as layouts and their passes use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .check import public
from .dtype import INT64, DType
from .expr import Call, Const, Expr, Var
from .node import Node
from .op import as_expr
from .rewrite import rewrite, substitute
from .words import call_it

if TYPE_CHECKING:
    from .arith.iter_map import IterMap
    from .arith.presburger import MappedDomain


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

    def with_dtype(self, dtype: DType) -> IndexMap:
        """The same map on indices of another dtype; `inverse` is not kept."""
        if all(param.dtype is dtype for param in self.params) and all(index.dtype is dtype for index in self.indices):
            return self
        fresh = {param: Var(param.name, dtype) for param in self.params}

        def call(node: Call) -> Expr:
            if not node.dtype.is_int and not node.dtype.is_bool:
                return node
            return node.args[0] if node.op.name == "cast" else node.op(*node.args)

        rules: dict[Any, Any] = {
            Var: lambda var: fresh.get(var, var),
            Const: lambda node: Const(node.value, dtype) if node.dtype.is_int else node,
            Call: call,
        }
        return IndexMap(tuple(fresh.values()), tuple(rewrite(index, rules) for index in self.indices))

    def odd_place(self) -> DType | None:
        """The dtype of a place that is no integer; None where all are."""
        return next((index.dtype for index in self.indices if not index.dtype.is_int or index.dtype.is_vector), None)

    @public
    def apply(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where the element at `indices` is found."""
        if len(indices) != len(self.params):
            raise ValueError(f"the index map takes {len(self.params)} indices, not {len(indices)}")
        found: tuple[Expr, ...] = substitute(self.indices, dict(zip(self.params, indices, strict=True)))
        return found

    def map_shape(self, shape: Sequence[Expr | int]) -> tuple[Expr, ...] | None:
        """The least shape that holds every place where an element of `shape` is found.

        None where it is not known, or an element is found below 0, which no shape holds.
        """
        found = self._digits(shape)
        if found is not None and all(index.base >= 0 for index in found.indices):
            sizes = [index.base + (index.extent - 1) * index.step + 1 for index in found.indices]
            return tuple([as_expr(size, index.dtype) for size, index in zip(sizes, self.indices, strict=True)])
        return self._domain(shape).image_shape()

    def is_injective(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether no two elements of `shape` are found at one place; None where it is not known."""
        if self._digits(shape) is not None:
            return True
        return self._domain(shape).is_injective()

    def is_bijective(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether the elements of `shape` fill all places of `map_shape(shape)` once; None where it is not known."""
        found = self._digits(shape)
        if found is not None:
            return found.is_bijective
        places = self.map_shape(shape)
        return None if places is None else self._domain(shape).is_bijective(places)

    def inverse_of(self, shape: Sequence[Expr | int]) -> IndexMap | None:
        """The map from places back to the elements of `shape`, for places that are taken.

        It is `inverse` where that is given. None where the map is not injective, or its inverse is not known.
        """
        if self.inverse is not None:
            return self.inverse
        found = self._digits(shape)
        if found is None:
            return self._domain(shape).inverse(self._names())
        places = tuple([Var(name, index.dtype) for name, index in zip(self._names(), self.indices, strict=True)])
        values = found.inverse(places)
        return IndexMap(places, tuple([values[param] for param in self.params]))

    def non_surjective_inverse(self, shape: Sequence[Expr | int]) -> tuple[IndexMap, Expr] | None:
        """The map back, and the condition in its params that a place of `map_shape(shape)` is taken by no element."""
        back, places = self.inverse_of(shape), self.map_shape(shape)
        if back is None or places is None:
            return None
        found = self._digits(shape)
        if found is not None and all(index.base == 0 and index.step == 1 for index in found.indices):
            return back, found.padding(back.params)
        free = self._domain(shape).padding(places, back.params)
        return None if free is None else (back, free)

    def _names(self) -> list[str]:
        return [index.name if type(index) is Var else f"i{at}" for at, index in enumerate(self.indices)]

    def _digits(self, shape: Sequence[Expr | int]) -> IterMap | None:
        """The map as digits of the params, where all of `shape` is constant and the map is of that kind."""
        from .arith.iter_map import detect

        if len(shape) != len(self.params):
            raise ValueError(f"the index map takes {len(self.params)} indices, the shape has {len(shape)}")
        sizes = [int(dim.value) if type(dim) is Const else dim for dim in shape]
        if not all(type(size) is int and size > 0 for size in sizes):
            return None
        return detect(self.indices, dict(zip(self.params, sizes, strict=True)))  # type: ignore[arg-type]

    def _domain(self, shape: Sequence[Expr | int]) -> MappedDomain:
        """The map as isl sees it."""
        from .arith.presburger import MappedDomain

        return MappedDomain(self, shape)


__all__ = ["IndexMap"]


call_it(IndexMap, "index map")
