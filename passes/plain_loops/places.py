"""Indices that are brought back into a dimension: `T.max(T.min(i + k - 1, 7), 0)`, or `(i + k - 1) % 8`."""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.expr import Call, Const, Expr
from tirscript.ir.op import OPS, const, get_op

_MAX, _MIN, _MOD = (OPS[name] for name in ("max", "min", "floormod"))


class Place(Struct, frozen=True):
    """An index as `inner` brought back to the numbers from `low` to `high`, by their ends or around where it is
    `modulo`; the index itself where there are no such."""

    inner: Expr
    low: int | None = None
    high: int | None = None
    modulo: bool = False

    @property
    def brings(self) -> bool:
        return self.low is not None or self.high is not None

    def of(self, index: Expr) -> Expr:
        """What another number is brought back to."""
        if self.modulo:
            assert self.high is not None
            return get_op("floormod")(index, const(self.high + 1, index.dtype))
        for name, end in (("max", self.low), ("min", self.high)):
            index = index if end is None else get_op(name)(index, const(end, index.dtype))
        return index


def place_of(index: Expr) -> Place:
    """What an index says of the number that it brings back."""
    low: int | None = None
    high: int | None = None
    inner = index
    while type(inner) is Call and inner.op in (_MAX, _MIN) and inner.dtype.kind == "int":
        end = next((arg for arg in inner.args if type(arg) is Const), None)
        if end is None or (low if inner.op is _MAX else high) is not None:
            break
        if inner.op is _MAX:
            low = int(end.value)
        else:
            high = int(end.value)
        inner = inner.args[0] if end is inner.args[1] else inner.args[1]
    if low is not None or high is not None:
        ordered = low is None or high is None or low <= high
        return Place(inner, low, high) if ordered else Place(index)
    if type(inner) is Call and inner.op is _MOD and inner.dtype.kind == "int" and type(inner.args[1]) is Const:
        size = int(inner.args[1].value)
        return Place(inner.args[0], 0, size - 1, modulo=True) if size > 0 else Place(index)
    return Place(index)


__all__ = ["Place", "place_of"]
