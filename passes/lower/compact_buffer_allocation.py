"""Allocations shrink to the box that is really accessed in their scope.

before:                                            after:
    for i in range(4):                                 for i in range(4):
        B = T.alloc_buffer((4, 8), "float32")              B = T.alloc_buffer((1, 8), "float32")
        for j in range(8):                                 for j in range(8):
            B[i, j] = A[i, j]                                  B[0, j] = A[i, j]
        ...                                                ...

A buffer whose address is taken, or that is viewed, passed or strided, stays as it is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tirscript.ir.arith.bounds import Ranges
from tirscript.ir.arith.linear import Linear, expression
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Broadcast, BufferLoad, CallFunction, Const, Expr, Ramp, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import nodes_in, shape_of
from tirscript.ir.op import cast
from tirscript.ir.rewrite import definitions, rewrite, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, For, Stmt

from ..access import Access, Accesses, Extent, box, loop_range, union
from ..pipeline import prim_func_pass
from ..simplify import simplified

# a dimension that is not known becomes a box of fewer elements than this, or stays
MOST = 1 << 16


@prim_func_pass(requires=("lower_blocks", "lower_match_buffer"))
def compact_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """`B = T.alloc_buffer((4, 8))`, used as `B[i, j]` inside the loop over i, becomes `B = T.alloc_buffer((1, 8))`."""
    plans: dict[Buffer, tuple[Buffer, tuple[Linear | None, ...]]] = {}
    whole = _seen_whole(func)

    def body(stmts: tuple[Stmt, ...], ranges: Ranges) -> None:
        scope: _Scope | None = None
        for at, stmt in enumerate(stmts):
            if type(stmt) is AllocBuffer and stmt.buffer not in whole:
                scope = scope or _Scope(stmts, at + 1, ranges)
                plan = _plan(stmt.buffer, scope, scope.inner(at + 1))
                if plan is not None:
                    plans[stmt.buffer] = plan
            around = loop_range(stmt, ranges) if type(stmt) is For else None
            known = ranges if around is None else {**ranges, stmt.var: around}  # type: ignore[attr-defined]
            for name in ("body", "then", "orelse"):
                inner = getattr(stmt, name, None)
                if isinstance(inner, tuple):
                    body(inner, known)

    body(func.body, {})
    if not plans:
        return func
    result: PrimFunc = rewrite(
        func,
        {
            AllocBuffer: lambda s: _swap(s, plans),
            BufferLoad: lambda e: _move(e, plans),
            BufferStore: lambda s: _move(s, plans),
        },
    )
    return result


class _Scope:
    """The statements of a body from the `start`-th on, in which all the buffers that it allocates are used.

    `ranges` are those of the variables around it.
    """

    def __init__(self, stmts: tuple[Stmt, ...], start: int, ranges: Ranges) -> None:
        self.stmts, self.start, self.ranges = stmts, start, ranges

    @cached_property
    def accesses(self) -> Accesses:
        """What they read and write."""
        return Accesses(self.stmts[self.start :], known=self.ranges)

    @cached_property
    def by_buffer(self) -> dict[Buffer, list[Access]]:
        """The accesses of each buffer."""
        found: dict[Buffer, list[Access]] = {}
        for access in self.accesses.found:
            found.setdefault(access.buffer, []).append(access)
        return found

    @cached_property
    def defined(self) -> list[frozenset[Var]]:
        """The variables that each statement of the body defines."""
        return [frozenset(node for node in definitions((stmt,)) if type(node) is Var) for stmt in self.stmts]

    def inner(self, at: int) -> frozenset[Var]:
        """The variables that the statements from the `at`-th on define."""
        return frozenset().union(*self.defined[at:])


def _plan(buffer: Buffer, scope: _Scope, inner: frozenset[Var]) -> tuple[Buffer, tuple[Linear | None, ...]] | None:
    """The smaller buffer and what to take from each index; None where nothing is gained or known."""
    if buffer.strides is not None or buffer.elem_offset is not None or buffer.is_scalar or not buffer.shape:
        return None
    area: tuple[Extent, ...] | None = None
    first = True
    for access in scope.by_buffer.get(buffer, ()):
        if access.indices is None:
            return None
        mine = box(access, scope.accesses, inner)
        area, first = (mine, False) if first else (union(area, mine), False)
    if area is None:
        return None
    shape: list[Expr] = []
    lows: list[Linear | None] = []
    for dim, extent in zip(buffer.shape, area, strict=True):
        new, low = _shrink(dim, extent)
        shape.append(new)
        lows.append(low)
    if all(low is None for low in lows):
        return None
    return buffer.replace(shape=tuple(shape)), tuple(lows)


def _shrink(dim: Expr, extent: Extent) -> tuple[Expr, Linear | None]:
    """A dimension's new size and what its indices lose."""
    if extent is None:
        return dim, None
    low, high = extent
    if low.is_constant and high.is_constant:
        # what a condition keeps out of the buffer may be in the box
        top = int(dim.value) - 1 if type(dim) is Const else high.constant
        low, high = Linear({}, max(0, low.constant), low.dtype), Linear({}, min(top, high.constant), low.dtype)
    width = high - low
    if not width.is_constant or width.constant < 0:
        return dim, None
    size = width.constant + 1
    if size >= (int(dim.value) if type(dim) is Const else MOST):
        return dim, None
    return Const(size, dim.dtype), low


def _seen_whole(func: PrimFunc) -> set[Buffer]:
    """The buffers that attributes and annotations speak of; addresses, views and arguments count as accesses."""
    found: set[Buffer] = set()
    for node in walk(func.body):
        if type(node) is CallFunction:
            continue
        plan = shape_of(type(node))
        for (_, many), value in zip(plan.children, plan.get_children(node), strict=True):
            if many == 2 and value is not None:
                found.update(one for one in nodes_in(value) if type(one) is Buffer)
    return found


def _swap(stmt: AllocBuffer, plans: dict[Buffer, Any]) -> AllocBuffer:
    plan = plans.get(stmt.buffer)
    return stmt if plan is None else stmt.replace(buffer=plan[0])


def _move(node: Any, plans: dict[Buffer, Any]) -> Any:
    plan = plans.get(node.buffer)
    if plan is None:
        return node
    new, lows = plan
    return node.replace(
        buffer=new, indices=tuple(_less(index, low) for index, low in zip(node.indices, lows, strict=True))
    )


def _less(index: Expr, low: Linear | None) -> Expr:
    if low is None or (low.is_constant and low.constant == 0):
        return index
    if index.dtype.is_vector:
        if type(index) is Ramp:
            return index.replace(base=_less(index.base, low))
        if type(index) is Broadcast:
            return index.replace(value=_less(index.value, low))
    return simplified(index - cast(expression(low), index.dtype))
