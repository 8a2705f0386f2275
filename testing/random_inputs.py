"""Random arguments for a function."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import strategies as st

from tirscript.ir import Buffer, Call, Const, DType, Expr, MatchBuffer, PrimFunc, Var, walk

from .values import Chooser, floats, integers


@st.composite
def inputs_for(draw: Any, func: PrimFunc) -> list[Any]:
    """Arguments of a call of `func`: symbolic dimensions are 1 to 4, numbers are often at the edges of their types."""
    import numpy as np

    chooser = Chooser(draw, 0)
    symbols = {var: None for buffer in func.param_buffers for var in walk(buffer) if type(var) is Var}
    sizes = {symbol: chooser.number(1, 4) for symbol in symbols}
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    arguments: list[Any] = []
    param: Any
    matched = {stmt.source: stmt.buffer for stmt in func.body if isinstance(stmt, MatchBuffer)}
    for param in func.params:
        buffer = matched.get(param) if isinstance(param, Var) else param
        if isinstance(buffer, Buffer):
            shape = tuple(extent(dim, sizes) for dim in buffer.shape)
            arguments.append(array(shape, buffer.dtype, rng))
        else:
            value = chooser.const(param.dtype).value
            arguments.append(sizes.get(param, value))
    return arguments


OPERATIONS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv}


def extent(dim: Expr, sizes: dict[Var, int]) -> int:
    """The value of a dimension where the symbols have these sizes."""
    if isinstance(dim, Const):
        return int(dim.value)
    if isinstance(dim, Var):
        return sizes[dim]
    assert isinstance(dim, Call) and dim.op.name in OPERATIONS, f"a dimension that random inputs do not know: {dim}"
    return OPERATIONS[dim.op.name](*(extent(arg, sizes) for arg in dim.args))


def array(shape: tuple[int, ...], kind: DType, rng: Any) -> Any:
    """An array of small numbers with some from the edges of the type."""
    import numpy as np

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
