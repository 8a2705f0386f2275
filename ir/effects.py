"""What evaluating a piece of program does besides giving a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .expr import BufferLoad, Call, CallFunction, Const, Expr, Ramp, Var
from .node import Node
from .op import OPS
from .rewrite import MANY, children, refuse_too_large, walk
from .stmt import (
    Break,
    BufferStore,
    Continue,
    Evaluate,
    For,
    LaunchThread,
    Stmt,
    While,
)

_ADDRESS = OPS["address_of"]


def _evaluated(root: Node) -> Iterator[Node]:
    """What is evaluated with an expression, itself among it; not variables, numbers, or the sizes of what is read."""
    stack: list[Any] = [root]
    left = MANY
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Const or kind is Var:
            continue
        yield node
        left -= 1
        if not left:
            refuse_too_large(root)
        if kind is Call:
            # where an element lies is no read of it
            args = node.args
            stack += args[0].indices if node.op is _ADDRESS and type(args[0]) is BufferLoad else args
        elif kind is BufferLoad:
            stack += node.indices
            if node.predicate is not None:
                stack.append(node.predicate)
        else:
            stack += children(node)


def reads_memory(expr: Node) -> bool:
    """Whether an expression's value may change when memory does, or its evaluation has an effect."""
    for node in _evaluated(expr):
        kind = type(node)
        if kind is BufferLoad or kind is CallFunction:
            return True
        if kind is Call and (node.op.effect != "pure" or node.op is OPS["undef"]):  # type: ignore[attr-defined]
            return True
    return False


def has_effect(expr: Node) -> bool:
    """Whether evaluating an expression does more than read."""
    for node in _evaluated(expr):
        kind = type(node)
        if kind is CallFunction or (kind is Call and node.op.effect in _WRITES):  # type: ignore[attr-defined]
            return True
    return False


_WRITES = frozenset(("write", "opaque"))


def is_prefetch(stmt: Node) -> bool:
    """Whether a statement does nothing but ask for memory that is read later."""
    return type(stmt) is Evaluate and type(stmt.value) is Call and stmt.value.op is OPS["prefetch"]


def out_of_bounds(root: Node | tuple[Node, ...]) -> bool:
    """Whether a constant index lies outside of its buffer: illegal even where it is never reached."""
    return any(type(node) in (BufferLoad, BufferStore) and misses(node) for node in walk(root))  # type: ignore[arg-type]


def misses(access: BufferLoad | BufferStore) -> bool:
    """Whether a constant index of a load or store itself lies outside of its buffer."""
    return any(map(_misses, access.indices, access.buffer.shape))


def _misses(index: Expr, dim: Expr) -> bool:
    if type(index) is Const:
        low = high = int(index.value)
    elif type(index) is Ramp and type(index.base) is Const and type(index.stride) is Const and not index.scalable:
        last = int(index.base.value) + int(index.stride.value) * (index.lanes - 1)
        low, high = sorted((int(index.base.value), last))
    else:
        return False
    return low < 0 or (type(dim) is Const and high >= int(dim.value))


def exits(body: Iterable[Stmt]) -> Iterable[type]:
    """The breaks and continues that leave the loop of this body."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        if type(node) is Break or type(node) is Continue:
            yield type(node)
        elif isinstance(node, Stmt) and type(node) not in (For, While, LaunchThread):
            stack += [child for child in children(node) if isinstance(child, Stmt)]


def leaves_loop(body: Iterable[Stmt]) -> bool:
    """Whether a break or continue in `body` belongs to the loop around it."""
    return any(True for _ in exits(body))
