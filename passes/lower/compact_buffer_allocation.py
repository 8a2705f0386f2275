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

from ..access import Accesses, Extent, box, loop_range, union
from ..pipeline import prim_func_pass
from ..simplify import simplified

# a dimension that is not known becomes a box of fewer elements than this, or stays
MOST = 1 << 16


@prim_func_pass(requires=("lower_blocks", "lower_match_buffer"))
def compact_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """`B = T.alloc_buffer((4, 8))`, used as `B[i, j]` inside the loop over i, becomes `B = T.alloc_buffer((1, 8))`."""
    plans: dict[Buffer, tuple[Buffer, tuple[Linear | None, ...]]] = {}

    def body(stmts: tuple[Stmt, ...], ranges: Ranges) -> None:
        for at, stmt in enumerate(stmts):
            if type(stmt) is AllocBuffer:
                plan = _plan(stmt.buffer, stmts[at + 1 :], ranges)
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


def _plan(buffer: Buffer, scope: tuple[Stmt, ...], ranges: Ranges) -> tuple[Buffer, tuple[Linear | None, ...]] | None:
    """The smaller buffer and what to take from each index; None where nothing is gained or known.

    `ranges` are those of the variables around the scope.
    """
    if (
        buffer.strides is not None
        or buffer.elem_offset is not None
        or buffer.is_scalar
        or not buffer.shape
        or _seen_whole(scope, buffer)
    ):
        return None
    accesses = Accesses(scope, known=ranges)
    inner = frozenset(node for node in definitions(scope) if type(node) is Var)
    area: tuple[Extent, ...] | None = None
    first = True
    for access in accesses.found:
        if access.buffer is not buffer:
            continue
        if access.indices is None:
            return None
        mine = box(access, accesses, inner)
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


def _seen_whole(scope: tuple[Stmt, ...], buffer: Buffer) -> bool:
    """Whether an attribute or annotation speaks of `buffer`; addresses, views and arguments count as accesses."""
    for node in walk(scope):
        plan = shape_of(type(node))
        for (_, many), value in zip(plan.children, plan.get_children(node), strict=True):
            if (
                many == 2
                and value is not None
                and type(node) is not CallFunction
                and any(one is buffer for one in nodes_in(value))
            ):
                return True
    return False


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
