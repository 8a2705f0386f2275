"""Intrinsics of TVM that plain operators write out: multiplications of fixed-point numbers, and marks of conditions.

They stay calls in programs, so that TVM's text gets them back; whoever executes or compiles one asks for its meaning.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dtype import INT32, INT64
from ..expr import Broadcast, Call, Const, Expr, const
from ..op import OPS, cast


def written_out(call: Call) -> Expr | None:
    """What a call means by other operators; None where there is nothing else to say."""
    rule = _MEANINGS.get(call.op.name)
    return None if rule is None or not _fits(call) else rule(*call.args)


def _fits(call: Call) -> bool:
    """Whether the numbers are those that TVM takes, of 32 bits."""
    return call.op.name == "ignore_loop_partition" or all(
        arg.dtype.element is INT32 or arg.dtype.is_bool for arg in call.args
    )


def _multiplied(x: Expr, y: Expr, q: Expr, left: Expr | None, right: Expr) -> Expr:
    """`x << left` times `y`, and of that the bits above the last `q + right`, rounded to nearest, halves up."""

    def wide(value: Expr) -> Expr:
        kind = value.dtype
        made = cast(value, INT64.with_lanes(kind.lanes, kind.scalable) if kind.is_vector else INT64)
        return Broadcast(made, x.dtype.lanes, x.dtype.scalable) if x.dtype.is_vector and not kind.is_vector else made

    value = wide(x)
    if left is not None:
        value = OPS["shift_left"](value, wide(left))
    value = value * wide(y)
    bits = wide(right) + wide(q)
    half = OPS["shift_left"](wide(const(1, INT64)), bits - 1)
    return cast(OPS["shift_right"](value + half, bits), x.dtype)


def _shifted(x: Expr, y: Expr, q: Expr, s: Expr) -> Expr:
    """To the left by `s` where it is positive, and to the right otherwise."""
    if type(s) is Const:
        by = int(s.value)
        left = const(by, s.dtype) if by > 0 else None
        return _multiplied(x, y, q, left, const(max(0, -by), s.dtype))
    return _multiplied(x, y, q, OPS["max"](s, 0), OPS["max"](0 - s, 0))


def _shifted_both(x: Expr, y: Expr, left: Expr, right: Expr, q: Expr, to_left: Expr, to_right: Expr) -> Expr:
    """By both shifts; the first only where it is asked for."""
    return _multiplied(x, y, q, OPS["Select"](OPS["not_equal"](to_left, 0), left, 0), right)


def _same(x: Expr) -> Expr:
    return x


_MEANINGS: dict[str, Callable[..., Expr]] = {
    "q_multiply_shift": _shifted,
    "q_multiply_shift_per_axis": _shifted_both,
    "ignore_loop_partition": _same,
}
