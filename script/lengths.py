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
    if type(lower) in (int, Const) and int(getattr(lower, "value", lower)) == 0:
        return vscale_factor(upper)
    if type(upper) is Call and upper.op.name == "add" and upper.args[0] == lower:
        return vscale_factor(upper.args[1])
    return None


def vscale_factor(value: Any) -> int | None:
    """n of `T.vscale() * n`."""
    if type(value) is Call and value.op.name == "mul":
        for factor, vscale in (value.args, value.args[::-1]):
            if type(vscale) is Call and vscale.op.name == "vscale" and type(factor) is Const:
                return int(factor.value)
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
