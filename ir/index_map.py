"""Maps of indices: how the elements of one space lie in another, as layouts and their passes use them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from .check import public
from .dtype import INT64, DType
from .expr import Call, Const, Expr, Var
from .node import Node
from .op import as_expr, cast
from .rewrite import free_vars, rewrite, substitute, uses
from .words import call_it, counted

if TYPE_CHECKING:
    from .arith.iter_map import IterMap
    from .arith.presburger import MappedDomain


def _names(function: Callable[..., Any], ndim: int | None) -> list[str]:
    """The names of the indices that a function is called with."""
    given = list(inspect.signature(function).parameters.values())
    names = [parameter.name for parameter in given if parameter.kind is not parameter.VAR_POSITIONAL]
    several = next((parameter for parameter in given if parameter.kind is parameter.VAR_POSITIONAL), None)
    if several is None:
        return names
    if ndim is None:
        raise ValueError(f"of how many indices `*{several.name}` are is not known here: name each of them")
    return names + [f"{several.name}{at}" for at in range(ndim - len(names))]


class IndexMap(Node, frozen=True, eq=False):
    """`T.index_map(lambda i, j: (i // 4, j, i % 4))`: where the element at `params` is found, an index each dimension.

    `inverse`, where it is given, is the map back.
    """

    defines: ClassVar[tuple[str, ...]] = ("params",)

    params: tuple[Var, ...]
    indices: tuple[Expr, ...]
    inverse: IndexMap | None = None

    @staticmethod
    def of(
        function: Callable[..., Any],
        inverse: Callable[..., Any] | None = None,
        dtype: DType = INT64,
        ndim: int | None = None,
    ) -> IndexMap:
        """The map that a Python function computes: `IndexMap.of(lambda i, j: (j, i))`.

        `ndim` says of how many indices: a function of `*indices` takes those that are left.
        """
        params = tuple(Var(name, dtype) for name in _names(function, ndim))
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

    def with_dtypes(self, dtypes: Sequence[DType]) -> IndexMap:
        """The same map on indices of these dtypes; a place has the dtype that its indices share, or that of the map.

        `inverse` is not kept.
        """
        given = tuple(Var(param.name, dtype) for param, dtype in zip(self.params, dtypes, strict=True))
        widened = {param: cast(new, param.dtype) for param, new in zip(self.params, given, strict=True)}
        places: list[Expr] = []
        for index in self.indices:
            inside = set(free_vars(index))
            own = {dtype for param, dtype in zip(self.params, dtypes, strict=True) if param in inside}
            if len(own) == 1 and inside.issubset(self.params) and next(iter(own)).kind == "int":
                one = IndexMap(self.params, (index,)).with_dtype(own.pop())
                places.append(substitute(one.indices[0], dict(zip(one.params, given, strict=True))))
            else:
                places.append(substitute(index, widened))
        return IndexMap(given, tuple(places))

    def odd_place(self) -> DType | None:
        """The dtype of a place that is no integer; None where all are."""
        return next((index.dtype for index in self.indices if not index.dtype.is_int or index.dtype.is_vector), None)

    @public
    def apply(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where the element at `indices` is found."""
        if len(indices) != len(self.params):
            raise ValueError(f"the index map takes {counted(len(self.params), 'index')}, not {len(indices)}")
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
        shape, computed = self._by_name(shape)
        places = self._domain(shape).image_shape()
        return places and substitute(places, computed)

    def is_injective(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether no two elements of `shape` are found at one place; None where it is not known."""
        if self._digits(shape) is not None:
            return True
        return self._domain(self._by_name(shape)[0]).is_injective()

    def is_bijective(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether the elements of `shape` fill all places of `map_shape(shape)` once; None where it is not known."""
        found = self._digits(shape)
        if found is not None:
            return found.is_bijective
        shape, _ = self._by_name(shape)
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
            shape, computed = self._by_name(shape)
            back = self._domain(shape).inverse(self._names())
            return back and substitute(back, computed)
        places = tuple([Var(name, index.dtype) for name, index in zip(self._names(), self.indices, strict=True)])
        values = found.inverse(places)
        return IndexMap(places, tuple([values[param] for param in self.params]))

    def non_surjective_inverse(self, shape: Sequence[Expr | int]) -> tuple[IndexMap, Expr] | None:
        """The map back, and the condition in its params that a place of `map_shape(shape)` is taken by no element."""
        shape, computed = self._by_name(shape)
        back, places = self.inverse_of(shape), self.map_shape(shape)
        if back is None or places is None:
            return None
        found = self._digits(shape)
        if found is not None and all(index.base == 0 and index.step == 1 for index in found.indices):
            return back, found.padding(back.params)
        free = self._domain(shape).padding(places, back.params)
        return None if free is None else substitute((back, free), computed)

    def _by_name(self, shape: Sequence[Expr | int]) -> tuple[list[Expr | int], dict[Var, Expr]]:
        """A shape with names for computed sizes, such as `h // 2`, of params that stay an index of their own, and these
        sizes by name: such indices have nothing to do with the others, and isl need not know how long they are. So have
        products of sizes, which isl does not know."""
        names: dict[Expr, Var] = {}

        def name(size: Expr) -> Var:
            return names.setdefault(size, Var(f"size{len(names)}", size.dtype))

        def call(node: Call) -> Expr:
            products = node.op.name == "mul" and not any(type(arg) is Const for arg in node.args)
            return name(node) if products else node

        named: list[Expr | int] = []
        for param, dim in zip(self.params, shape, strict=True):
            if isinstance(dim, Call):
                apart = not any(index is not param and uses(index, param) for index in self.indices)
                dim = name(dim) if apart else rewrite(dim, {Call: call})
            named.append(dim)
        computed: dict[Var, Expr] = {}
        for size, var in names.items():  # a product may have another one for a factor, which was named before it
            computed[var] = substitute(size, computed)
        return named, computed

    def _names(self) -> list[str]:
        return [index.name if type(index) is Var else f"i{at}" for at, index in enumerate(self.indices)]

    def _digits(self, shape: Sequence[Expr | int]) -> IterMap | None:
        """The map as digits of the params, where all of `shape` is constant and the map is of that kind."""
        if len(shape) != len(self.params):
            raise ValueError(f"the index map takes {counted(len(self.params), 'index')}, the shape has {len(shape)}")
        sizes = [int(dim.value) if type(dim) is Const else dim for dim in shape]
        if not all(type(size) is int and size > 0 for size in sizes):
            return None
        return _digits_of(self.indices, self.params, tuple(sizes))

    def _domain(self, shape: Sequence[Expr | int]) -> MappedDomain:
        """The map as isl sees it."""
        from .arith.presburger import MappedDomain

        return MappedDomain(self, shape)


@lru_cache(64)
def _digits_of(indices: tuple[Expr, ...], params: tuple[Var, ...], sizes: tuple[Any, ...]) -> IterMap | None:
    """The indices as digits of the params, which whoever moves a buffer asks several times."""
    from .arith.iter_map import detect

    return detect(indices, dict(zip(params, sizes, strict=True)))


__all__ = ["IndexMap"]


call_it(IndexMap, "index map")
