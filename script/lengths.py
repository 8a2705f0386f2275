"""How long a slice is, `A[i * 16 : i * 16 + 16]`, from its ends as they are written."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Call, Const, Expr


def difference(upper: Any, lower: Any) -> int | None:
    """`upper - lower` where it is a known number: of constants, or of one expression plus constants."""
    base_u, off_u = _offset(upper)
    base_l, off_l = _offset(lower)
    if (base_u is None) != (base_l is None) or (base_u is not None and base_u != base_l):
        return None
    return off_u - off_l


def scalable_length(upper: Any, lower: Any) -> int | None:
    """The lanes of `lower : lower + T.vscale() * lanes`, to be multiplied by vscale."""
    start = lower.value if type(lower) is Const else lower
    if start == 0:
        return vscale_factor(upper)
    if type(upper) is not Call or upper.op.name != "add":
        return None
    first = upper.args[0]
    return vscale_factor(upper.args[1]) if (first.value if type(first) is Const else first) == start else None


def vscale_factor(value: Any) -> int | None:
    """n of `T.vscale() * n`, the product of several numbers where they stand there."""
    if type(value) is not Call or value.op.name != "mul":
        return None
    for factor, vscale in (value.args, value.args[::-1]):
        if type(factor) is Const and type(vscale) is Call:
            of = 1 if vscale.op.name == "vscale" else vscale_factor(vscale)
            return None if of is None else of * int(factor.value)
    return None


def _offset(value: Any) -> tuple[Expr | None, int]:
    total = 0
    while type(value) is Call and value.op.name in ("add", "sub") and type(value.args[1]) is Const:
        step = int(value.args[1].value)
        total += step if value.op.name == "add" else -step
        value = value.args[0]
    if type(value) is Const:
        return None, total + int(value.value)
    if isinstance(value, Expr):
        return value, total
    return None, total + int(value)
