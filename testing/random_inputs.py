"""Random arguments for a function."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tirscript.ir import Buffer, MatchBuffer, PrimFunc, Var, walk

from .draw import array, extent
from .values import Chooser


@st.composite
def inputs_for(draw: Any, func: PrimFunc) -> list[Any]:
    """Arguments of a call of `func`: symbolic dimensions are 1 to 4, numbers are often at the edges of their types."""
    import numpy as np

    chooser = Chooser(draw, 0)
    symbols = {var: None for buffer in func.param_buffers for var in walk(buffer, Var)}
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
