"""Masks of vector loops: which lanes of consecutive numbers are on one side of a limit.

`ramp(first, 1, n) < broadcast(limit)` holds in the lanes below limit - first. So one subtraction of scalars and one
comparison of small integers make the mask, instead of n comparisons as wide as the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.expr import Broadcast, Call, Expr, Ramp

from .memory import lane_form
from .types import splat, vector

if TYPE_CHECKING:
    from .codegen import Codegen

# which comparison with the operands exchanged is the same
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
_MOST = 128  # lanes whose numbers an i8 holds, with one above them


def lanes_below(g: Codegen, call: Call) -> str | None:
    """The mask of a comparison of consecutive integers with one limit; None where it is no such comparison."""
    name, (a, b) = call.op.name, call.args
    if type(a) is Broadcast:
        name, a, b = _MIRRORED[name], b, a
    if type(b) is not Broadcast or call.dtype.lanes >= _MOST or not _consecutive(g, a):
        return None
    low, high = g.ranges.of(a)
    least, greatest = g.ranges.of(b)
    if max(abs(low), abs(high), abs(least), abs(greatest)) >= 1 << 62:
        return None
    form = lane_form(g, a)
    if form is None or form[1] != "1":
        return None
    lanes = call.dtype.lanes
    limit = g.wide(b.value)
    if name in ("less_equal", "greater"):
        limit = g.b.op(f"add nsw i64 {limit}, 1")
    count = g.b.op(f"sub nsw i64 {limit}, {form[0]}")
    # the lanes that are on are those below the count, which an i8 holds once it is cut
    count = g.b.intrinsic("llvm.smax", ["i64"], "i64", [("i64", count), ("i64", "0")])
    count = g.b.intrinsic("llvm.smin", ["i64"], "i64", [("i64", count), ("i64", str(lanes))])
    small = g.b.broadcast("i8", g.b.op(f"trunc i64 {count} to i8"), lanes)
    numbers = f"<{', '.join(f'i8 {k}' for k in range(lanes))}>"
    below = g.b.op(f"icmp ult {vector('i8', lanes)} {numbers}, {small}")
    if name in ("less", "less_equal"):
        return below
    return g.b.op(f"xor {vector('i1', lanes)} {below}, {splat('i1', 'true', lanes)}")


def _consecutive(g: Codegen, index: Expr) -> bool:
    """Whether no lane of a ramp, or of one moved by a broadcast, wraps around."""
    if type(index) is Ramp:
        return g.ranges.exact(index)
    if type(index) is Call and index.op.name in ("add", "sub") and g.ranges.exact(index):
        return all(type(arg) is Broadcast or _consecutive(g, arg) for arg in index.args)
    return False
