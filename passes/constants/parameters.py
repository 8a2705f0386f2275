"""Parameters of a tensor function become constants of it.

before:  def f(A: T.Buffer((4,), "int8"), W: T.Buffer(("n",), "int8")): ...
after:   def f(A: T.Buffer((4,), "int8")):
             W = T.constant("sha256:...", (4,), "int8")
"""

from __future__ import annotations

from collections.abc import Mapping

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantTensor
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Node
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import AllocateConst, MatchBuffer, Stmt
from tirscript.ir.words import counted
from tirscript.ir.written import written_params

from ..simplify import simplified


def buffer_at(func: PrimFunc, at: int) -> Buffer | None:
    """The buffer of a parameter by its position, itself or what a handle is matched to; None for a scalar."""
    param = func.params[at]
    if isinstance(param, Buffer):
        return param
    return next((stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer and stmt.source is param), None)


def hindrance(func: PrimFunc, at: int, module: Module | None) -> str | None:
    """Why a parameter cannot be a constant, whatever its data; None where it can."""
    param, buffer = func.params[at], buffer_at(func, at)
    if buffer is None:
        return "is no tensor"
    if param in written_params(func, module):
        return "is written"
    if buffer.strides is not None or buffer.elem_offset is not None:
        return "has strides or an offset"
    if buffer.dtype.lanes != 1:
        return f"is of the vector dtype {buffer.dtype}"
    if isinstance(param, Var) and sum(node is param for stmt in func.body for node in walk(stmt)) != 1:
        return "is used as an address"
    scalars = set(filter(lambda one: isinstance(one, Var), func.params))
    if any(type(node) is Var and node in scalars for dim in buffer.shape for node in walk(dim)):
        return "has a size that another parameter gives"
    return None


def with_constants(func: PrimFunc, given: Mapping[int, ConstantTensor], module: Module | None = None) -> PrimFunc:
    """The function without the parameters at these positions, which are constants at the head of its body.

    A symbolic dimension that a constant decides becomes a number. `module` holds the functions that it calls. Raises
    DiagnosticError T301 for a parameter that cannot be a constant, and for data of another dtype or shape.
    """
    sizes: dict[Var, Expr] = {}
    for at, data in given.items():
        name = (buffer_at(func, at) or func.params[at]).name
        why = hindrance(func, at, module)
        if why is not None:
            raise _wrong(func, f"`{name}` {why}, and cannot be a constant", func.params[at])
        _fit(func, at, data, sizes)
    for at, data in given.items():
        _check_sizes(func, at, data, sizes)
    decided: PrimFunc = substitute(func, sizes)
    made: list[Stmt] = []
    matched: set[Node] = set()
    plain: dict[Buffer, Buffer] = {}
    for at, data in given.items():
        buffer = buffer_at(decided, at)
        assert buffer is not None
        if buffer.constant_shape() is None:  # a sum, say, of what is now known
            sizes_now = tuple(const(size, dim.dtype) for dim, size in zip(buffer.shape, data.shape, strict=True))
            plain[buffer] = buffer = buffer.replace(shape=sizes_now)
        made.append(AllocateConst(buffer, data, span=func.params[at].span))
        matched.add(decided.params[at])
    head = 0
    while head < len(decided.body) and type(decided.body[head]) is MatchBuffer:
        head += 1
    matches = [one for one in decided.body[:head] if type(one) is MatchBuffer and one.source not in matched]
    return decided.replace(
        params=tuple(param for at, param in enumerate(decided.params) if at not in given),
        body=(*matches, *made, *substitute(decided.body[head:], plain)),
    )


def _fit(func: PrimFunc, at: int, data: ConstantTensor, sizes: dict[Var, Expr]) -> None:
    """Refuse data that is not what the parameter holds; finds the dimensions that it decides."""
    buffer = buffer_at(func, at)
    assert buffer is not None
    if buffer.dtype is not data.dtype:
        raise _wrong(func, f"`{buffer.name}` is of {buffer.dtype}, and the data of {data.dtype}", func.params[at])
    if buffer.ndim != data.ndim:
        message = f"`{buffer.name}` has {counted(buffer.ndim, 'dimension')}, and the data {data.ndim}"
        raise _wrong(func, message, func.params[at])
    for dim, size in zip(buffer.shape, data.shape, strict=True):
        if type(dim) is Var and dim not in sizes:
            sizes[dim] = const(size, dim.dtype)


def _check_sizes(func: PrimFunc, at: int, data: ConstantTensor, sizes: dict[Var, Expr]) -> None:
    """Refuse data of another shape than the parameter has with the dimensions that all data decides."""
    buffer = buffer_at(func, at)
    assert buffer is not None
    for axis, (dim, size) in enumerate(zip(buffer.shape, data.shape, strict=True)):
        known = simplified(substitute(dim, sizes))
        if type(known) is not Const:
            raise _wrong(func, f"dimension {axis} of `{buffer.name}` is not known from the data", func.params[at])
        if known.value != size:
            message = f"dimension {axis} of `{buffer.name}` is {known.value}, and that of the data {size}"
            raise _wrong(func, message, func.params[at])


def _wrong(func: PrimFunc, message: str, at: Node) -> DiagnosticError:
    return DiagnosticError([error("T301", f"`{func.name}`: {message}", at.span or func.span)])


__all__ = ["buffer_at", "hindrance", "with_constants"]
