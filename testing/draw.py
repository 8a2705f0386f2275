"""Random arguments for a function, from a numpy generator; `random_inputs` lets hypothesis choose them."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tirscript.ir import Buffer, Call, Const, DType, Expr, GraphFunc, MatchBuffer, Module, PrimFunc, Var, walk
from tirscript.ir.graph import GraphType, ShapeType, TupleType

from .edges import floats, integers

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "min": min,
    "max": max,
}
GREATEST = 20  # of drawn integers, but for the edges of their type
TRIES = 100


class Arguments:
    """How arguments of a function are drawn: the sizes of its symbols, then an array or a number for each parameter.

    `small` integers are from 0 to 3, as programs need that use them as indices; else from -20 to 20. `edges` mixes in
    numbers at the edges of their types, such as infinities.
    """

    def __init__(self, func: PrimFunc, rng: Any, *, small: bool = False, edges: bool = False) -> None:
        self.rng = rng
        self.small = small
        self.edges = edges
        matched = {stmt.source: stmt.buffer for stmt in func.body if isinstance(stmt, MatchBuffer)}
        self.params = [matched.get(param, param) if isinstance(param, Var) else param for param in func.params]
        buffers = [param for param in self.params if isinstance(param, Buffer)]
        self.symbols = list(dict.fromkeys(var for buffer in buffers for var in walk(buffer, Var)))
        self.buffers = buffers

    def draw(self) -> list[Any]:
        """The arguments of one call. ValueError where the function takes what cannot be drawn."""
        sizes = self.sizes()
        return [
            self.argument(param, sizes) if isinstance(param, Buffer) else self.scalar(param, sizes)
            for param in self.params
        ]

    def argument(self, buffer: Buffer, sizes: dict[Var, int]) -> Any:
        """An array for a parameter."""
        from .compare import laid_out

        made = self.array(shape_of(buffer, sizes), buffer.dtype)
        steps = [int(dim.value) * buffer.dtype.itemsize for dim in buffer.strides or () if type(dim) is Const]
        if not buffer.align and not steps:
            return made
        lanes = [made.itemsize] * buffer.dtype.is_vector  # the last dimension
        return laid_out(made, max(1, buffer.align), [*steps, *lanes] if len(steps) == len(buffer.shape) else None)

    def sizes(self) -> dict[Var, int]:
        """A size for every symbolic dimension, so that no dimension is less than one."""
        for _ in range(TRIES):
            sizes = {symbol: int(self.rng.integers(1, 9)) for symbol in self.symbols}
            with contextlib.suppress(ZeroDivisionError):
                if all(size > 0 for buffer in self.buffers for size in shape_of(buffer, sizes)):
                    return sizes
        raise ValueError("no sizes from 1 to 8 of the symbolic dimensions make every dimension positive")

    def scalar(self, param: Any, sizes: Mapping[Var, int]) -> Any:
        """A number for a scalar parameter."""
        if param in sizes:
            return sizes[param]
        if param.dtype.kind == "handle":
            raise ValueError(f"the parameter `{param.name}` is a pointer to nothing known, which cannot be drawn")
        drawn = self.array((1,), param.dtype, least=0).astype("float64" if param.dtype.is_float else object)
        if param.dtype.is_float:
            return drawn[0].item()
        return bool(drawn[0]) if param.dtype.is_bool else int(drawn[0])

    def array(self, shape: tuple[int, ...], kind: DType, least: int = -GREATEST) -> Any:
        """An array of a shape, with a dimension more for the lanes of vectors."""
        rng = self.rng
        shape, kind = (*shape, kind.lanes) if kind.is_vector else shape, kind.element
        if kind.is_int and not self.edges:
            low = max(kind.int_range()[0], 0 if self.small else least)
            return rng.integers(low, 4 if self.small else GREATEST, shape).astype(kind.name)
        if self.edges or kind.is_bool:
            return array(shape, kind, rng)
        import numpy as np

        return np.round(rng.normal(0, 3, shape), 3).astype(numpy_type(kind))


def graph_arguments(
    func: GraphFunc, program: GraphFunc | Module, rng: Any, *, small: bool = False, edges: bool = False
) -> list[Any]:
    """The arguments of one call of a graph function; those of `Arguments`, put together as its parameters hold them.

    ValueError, or DiagnosticError of a type that does not say enough, where they cannot be drawn.
    """
    from tirscript.passes.graph.graph_to_tensor import signature

    taken = signature(func, program if isinstance(program, Module) else Module((program,)))
    drawn = Arguments(taken, rng, small=small, edges=edges).draw()
    told = [size for param in func.params for size in told_sizes(param.type)]
    values = iter([one if size is None else size for one, size in zip(drawn, told, strict=True)])
    return [together(param.type, values) for param in func.params]


def told_sizes(kind: GraphType) -> list[int | None]:
    """For each array and number of a parameter: the dimension that its type tells it to be, None for all else."""
    if isinstance(kind, TupleType):
        return [size for field in kind.fields for size in told_sizes(field)]
    if isinstance(kind, ShapeType):
        values = kind.values or (None,) * (kind.rank or 0)
        return [int(dim.value) if isinstance(dim, Const) else None for dim in values]
    return [None]


def together(kind: GraphType, values: Iterator[Any]) -> Any:
    """The value of a graph's parameter of the arrays and numbers that it consists of."""
    if isinstance(kind, TupleType):
        return tuple(together(field, values) for field in kind.fields)
    if isinstance(kind, ShapeType):
        return tuple(itertools.islice(values, kind.rank))
    return next(values)


def shape_of(buffer: Buffer, sizes: Mapping[Var, int]) -> tuple[int, ...]:
    """The shape of a buffer where the symbols have these sizes."""
    return tuple(extent(dim, sizes) for dim in buffer.shape)


def extent(dim: Expr, sizes: Mapping[Var, int]) -> int:
    """The value of a dimension where the symbols have these sizes.

    ValueError of operations it does not know, ZeroDivisionError where these sizes make no dimension.
    """
    if isinstance(dim, Const):
        return int(dim.value)
    if isinstance(dim, Var):
        return sizes[dim]
    if isinstance(dim, Call) and dim.op.name == "cast":
        return extent(dim.args[0], sizes)
    if not isinstance(dim, Call) or dim.op.name not in OPERATIONS:
        raise ValueError(f"arguments cannot be drawn for the dimension `{dim.script(fragment=True)}`")
    return int(OPERATIONS[dim.op.name](*(extent(arg, sizes) for arg in dim.args)))


def array(shape: tuple[int, ...], kind: DType, rng: Any) -> Any:
    """An array of small numbers with some from the edges of the type; its last dimension are the lanes of vectors."""
    import numpy as np

    shape, kind = (*shape, kind.lanes) if kind.is_vector else shape, kind.element

    if kind.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.is_int:
        low = kind.int_range()[0]
        small = rng.integers(max(low, -20), 20, shape)
        edges = np.array(integers(kind.name), dtype=object)
        values = np.where(rng.random(shape) < 0.2, edges[rng.integers(0, len(edges), shape)], small)
        return values.astype(kind.name)
    small = np.round(rng.normal(0, 3, shape), 3)
    edges = np.array(floats(kind.name))
    values = np.where(rng.random(shape) < 0.15, edges[rng.integers(0, len(edges), shape)], small)
    return values.astype(numpy_type(kind))


def numpy_type(kind: DType) -> Any:
    """The numpy type of a float type; numpy itself has no bfloat16 and no float8."""
    import numpy as np

    try:
        return np.dtype(kind.name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, kind.name))


__all__ = ["Arguments", "array", "extent", "graph_arguments", "numpy_type", "together", "told_sizes"]
