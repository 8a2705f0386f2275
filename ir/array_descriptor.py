"""The arrays that TVM hands to libraries: memory seen with a shape, which is what a declared buffer is.

`T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4), 0, 1, T.float32(0), 0)` tells the address, the shape, the
strides (0 for rows without gaps), their number, the dtype by a value of it, and where the first element is.
"""

from __future__ import annotations

from typing import Any

from .buffer import Buffer
from .expr import Call, Expr, is_const
from .op import FOREIGN
from .stmt import DeclBuffer


def declared_array(value: Any) -> DeclBuffer | None:
    """The declaration of the buffer that a descriptor describes; None for anything else."""
    if type(value) is not Call or value.op is not FOREIGN["tvm_stack_make_array"]:
        return None
    data, shape, strides, _, element, offset = value.args
    dims, steps = _listed(shape), _listed(strides)
    if dims is None or not (is_const(strides, 0) or (steps is not None and len(steps) == len(dims))):
        return None
    buffer = Buffer("array", dims, element.dtype, steps, None if is_const(offset, 0) else offset)
    return DeclBuffer(buffer, data, span=value.span)


def _listed(value: Expr) -> tuple[Expr, ...] | None:
    return value.args if type(value) is Call and value.op is FOREIGN["tvm_stack_make_shape"] else None
