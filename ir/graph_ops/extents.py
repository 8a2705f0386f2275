"""Sizes that only a call knows, where a kernel relies on them: it asks for them before it reads or writes anything.

A product of `(n, m)` and `(k, 4)` has a kernel whether `m` and `k` are known to be equal or not; where they are not, it
would read behind the second factor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..buffer import Buffer
from ..expr import BufferLoad, Call, Const, Expr, Var, is_const
from ..graph import OpCall
from ..node import recursion_room
from ..op import OPS
from ..op_sets import LAZY
from ..rewrite import children, walk
from ..stmt import Assert, Block, BufferStore, For, If, Stmt
from . import dims

# two sizes, and what is said where they differ
Equal = tuple[str, Expr, Expr]


def checks(
    call: OpCall, body: tuple[Stmt, ...], sizes: Collection[Expr], exact: bool, equal: Sequence[Equal] = ()
) -> tuple[Assert, ...]:
    """What asks for the `sizes` that a kernel relies on: that buffers have no fewer elements along an axis than it goes
    over, and no more where it is `exact`; and that others are `equal`."""
    finder = _Finder()
    with recursion_room():
        for stmt in body:
            finder.visit(stmt)
    found = []
    for buffer, axis, extent in finder.found:
        over, size = dims.dim(extent), dims.dim(buffer.shape[axis])
        if not _is_asked(over, size, sizes) or dims.same(over, size) or (not exact and dims.fits(over, size)):
            continue
        name = "the result" if buffer.name == "out" else f"`{buffer.name}`"
        words = _words(extent) if exact else f"{_words(extent)} or more"
        message = f"`{call.op.spelling}`: dimension {axis} of {name} has to be {words}"
        found.append(Assert(OPS["equal" if exact else "less_equal"](over, size), message, span=call.span))
    for what, one, other in equal:
        if not dims.same(one, other):
            found.append(Assert(OPS["equal"](one, other), f"`{call.op.spelling}`: {what}", span=call.span))
    return tuple(found)


def _is_asked(over: Expr, size: Expr, sizes: Collection[Expr]) -> bool:
    """Whether only the call knows if they agree: of numbers, the type of the operator says it."""
    parts = [part for part in walk((over, size)) if isinstance(part, (Var, BufferLoad))]
    return bool(parts) and all(part in sizes for part in parts)


def _words(size: Expr) -> str:
    return str(size.value) if type(size) is Const else f"`{dims.text(size)}`"


def _compared(node: Any) -> set[Var]:
    """The variables of a condition, but for those that only say which element it reads."""
    if type(node) is Var:
        return {node}
    return set() if type(node) is BufferLoad else set().union(*map(_compared, children(node)))


class _Finder:
    """Finds the axes of buffers that loops go over whose sizes are not proved to be those of the loops."""

    def __init__(self) -> None:
        self.extents: dict[Var, Expr] = {}
        self.found: dict[tuple[Buffer, int, Expr], None] = {}

    def visit(self, node: Any) -> None:
        cls = type(node)
        if cls is For:
            self.extent(node.var, node.start, node.stop)
        elif cls is Block:
            for axis in node.axes:
                self.extent(axis.var, axis.start, axis.stop)
        elif cls is BufferLoad or cls is BufferStore:
            for at, index in enumerate(node.indices):
                self.index(node.buffer, at, index)
        if cls is If or (cls is Call and node.op in LAZY) or (cls is Block and node.predicate is not None):
            condition = node.condition if cls is If else node.args[0] if cls is Call else node.predicate
            self.visit(condition)
            self.guarded(node, condition)
        else:
            for part in children(node):
                self.visit(part)

    def guarded(self, node: Any, condition: Expr) -> None:
        """What is reached where a condition allows it, which may say enough of the variables that it compares."""
        outside = self.extents
        compared = _compared(condition)
        self.extents = {var: extent for var, extent in outside.items() if var not in compared}
        for part in children(node):
            if part is not condition:
                self.visit(part)
        self.extents = outside

    def extent(self, var: Var, start: Expr, stop: Expr) -> None:
        if is_const(start, 0):
            self.extents[var] = stop

    def index(self, buffer: Buffer, axis: int, index: Expr) -> None:
        extent = self.extents.get(index) if type(index) is Var else None
        if extent is not None and extent is not buffer.shape[axis]:
            self.found[buffer, axis, extent] = None


__all__ = ["Equal", "checks"]
