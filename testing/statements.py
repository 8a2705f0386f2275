"""Pieces of statements that several rules for random programs share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tirscript.ir import Broadcast, Buffer, BufferLoad, Const, Expr, For, Stmt, Var, const

from .expressions import Expressions, Scope
from .values import INT32


def product(buffer: Buffer) -> int:
    """The number of elements of a buffer of constant shape."""
    shape = buffer.constant_shape()
    assert shape is not None
    return math.prod(shape)


class Statements(Expressions):
    """What the rules for statements, of `Programs`, build upon."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], budget: int) -> None:
        super().__init__(draw, budget)
        self.shared: set[Buffer] = set()  # buffers of which there is a second view
        self.loop_vars: set[Var] = set()  # a block with axes sees no loops around it

    def body(self, scope: Scope, depth: int) -> tuple[Stmt, ...]:
        """A random body."""
        raise NotImplementedError

    def read(self, scalar: Buffer) -> BufferLoad:
        """The value of a mutable scalar."""
        return BufferLoad(scalar, ())

    def four(self, scope: Scope) -> Expr:
        """Four times the same int32."""
        return Broadcast(self.leaf(INT32, scope), 4)

    def aliased(self, scope: Scope) -> bool:
        """Whether two of the buffers are views of the same memory."""
        return any(buffer in self.shared for buffer in scope.buffers)

    def nest(self, buffer: Buffer, inside: Callable[[tuple[Expr, ...]], Sequence[Stmt]]) -> Stmt:
        """Loops over all elements of a buffer of constant shape."""
        variables = [Var(self.pick(("i", "j", "k")), dim.dtype) for dim in buffer.shape]
        body = tuple(inside(tuple(variables)))
        for var, dim in zip(reversed(variables), reversed(buffer.shape), strict=True):
            assert type(dim) is Const
            body = (For(var, const(0, dim.dtype), dim, body),)
        return body[0]
