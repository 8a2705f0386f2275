"""Tensor functions that are executed while a program is compiled, as native code with all checks.

Only what surely ends and touches nothing but its arguments is run: loops of constant bounds, no calls of functions or
of libraries, no addresses and views. What fails then is left to the program's own run, with its message.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import numpy_dtype, require_constants
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.expr import Call, CallFunction, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, DeclBuffer, For, MatchBuffer, Stmt, While

from ..access import constant_extent
from ..pipeline import PassContext

if TYPE_CHECKING:
    import numpy as np

STEPS = 1 << 30  # innermost statements: seconds, at most
# statements that give memory another form, which no check of an index sees
_VIEWS = frozenset((DeclBuffer, MatchBuffer))


def results_of(func: PrimFunc, limit: int) -> list[np.ndarray[Any, Any]] | None:
    """What a function whose parameters are all results writes into them.

    None where they take over `limit` bytes, or it may not end soon, may do something else, or fails.
    """
    import numpy as np

    outs = []
    for param in func.params:
        shape = param.constant_shape() if isinstance(param, Buffer) else None
        if not isinstance(param, Buffer) or shape is None or param.dtype.lanes != 1 or param.strides is not None:
            return None
        outs.append((shape, numpy_dtype(param.dtype)))
    size = sum(math.prod(shape) * kind.itemsize for shape, kind in outs)
    count = steps(func.body)
    if size > limit or count is None or count > STEPS or not _is_harmless(func, limit):
        return None
    arrays = [np.zeros(shape, kind) for shape, kind in outs]
    from tirscript.backend.build import build

    try:
        require_constants(func)
        with PassContext():  # nobody watches these passes
            build(func, debug=True)(*arrays)
    except (DiagnosticError, AssertionError):
        return None
    return arrays


def _is_harmless(func: PrimFunc, limit: int) -> bool:
    """Whether a function does nothing but write its parameters, and its own memory of at most `limit` bytes."""
    for node in walk(func.body):
        cls = type(node)
        if cls is CallFunction or cls in _VIEWS or (isinstance(node, Expr) and node.dtype.is_handle):
            return False
        if type(node) is Call and node.op.effect != "pure":
            return False
        if type(node) is AllocBuffer:
            shape = node.buffer.constant_shape()
            if shape is None or math.prod(shape) * node.buffer.dtype.itemsize > limit:
                return False
    return True


def steps(body: Iterable[Stmt]) -> int | None:
    """How many innermost statements a body executes at most; None where its loops do not say it."""
    total = 0
    for stmt in body:
        count = 1
        if type(stmt) is While:
            return None
        if type(stmt) is For:
            extent = constant_extent(stmt)
            if extent is None:
                return None
            count = extent
        for name in ("body", "then", "orelse", "init"):
            inner = getattr(stmt, name, None)
            if inner:
                inside = steps(inner)
                if inside is None:
                    return None
                total += count * inside
        total += 1
    return total


__all__ = ["STEPS", "results_of", "steps"]
