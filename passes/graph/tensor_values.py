"""What values of graphs are in the tensor language, and the form of those that are tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphType, TupleType


class Shape(Struct, frozen=True, eq=False):
    """The value of a shape."""

    dims: tuple[Expr, ...]


# what a value of the graph is in the tensor language; tuples are of these
Value = Any  # Buffer | Shape | Expr | StringImm | tuple


def flat(types: tuple[GraphType, ...]) -> list[GraphType]:
    """The types of the parts of tuples in their place."""
    return [leaf for kind in types for leaf in (flat(kind.fields) if type(kind) is TupleType else [kind])]


def packed(outs: list[Buffer], types: tuple[GraphType, ...]) -> Value:
    """Results in the form of their types; one alone is no tuple."""
    given = iter(outs)
    made = tuple(formed(kind, given) for kind in types)
    return made[0] if len(made) == 1 else made


def formed(kind: GraphType, outs: Iterator[Buffer]) -> Value:
    """The next results in the form of a type."""
    return tuple(formed(field, outs) for field in kind.fields) if type(kind) is TupleType else next(outs)


def refilled(value: Value, leaves: Iterator[Buffer]) -> Value:
    """A value of the same form with other tensors."""
    return tuple(refilled(field, leaves) for field in value) if isinstance(value, tuple) else next(leaves)


__all__ = ["Shape", "Value", "flat", "formed", "packed", "refilled"]
