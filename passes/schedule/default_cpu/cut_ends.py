"""Innermost plain loops of which only the first and last iterations differ are cut there, so that vectors need not ask.

before:                                            after:
    for x in range(400):                               m: T.uint8 = A[0]
        m: T.uint8 = A[x]                              B[0] = T.min(m, A[1])
        if x > 0:                                      for x in range(1, 399):
            m = T.min(m, A[x - 1])                         m: T.uint8 = A[x]
        if x < 399:                                        m = T.min(m, A[x - 1])
            m = T.min(m, A[x + 1])                         m = T.min(m, A[x + 1])
        B[x] = m                                           B[x] = m
                                                       ...

LLVM does so where it sees where a loop begins, and may find no vectors in what is left. What a number brought back into
the image, `A[T.max(x - 1, 0)]`, is, is asked in the same way. Blocks are cut by `clamped_lines.py`.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Call, Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import rewrite, uses, walk
from tirscript.ir.stmt import Block, For, Stmt, While

from ...access import constant_extent
from ...loop_partition import Partition
from ...simplify import simplified
from ...statements import keep_comments, reads_memory
from .clamped_lines import SHORTEST, TIMES

# statements of a loop that may be there three times; iterations of loops inside of it
LARGEST, INSIDE = 48, 16
_MAX, _MIN, _CHOICE = (OPS[name] for name in ("max", "min", "if_then_else"))
_ORDERS = {OPS["less_equal"]: _MIN, OPS["greater_equal"]: _MAX}


def cut_ends(func: PrimFunc) -> PrimFunc:
    """The function, which `may_schedule` leaves to us, with the ends of its innermost plain loops cut off where they
    differ from what is between; itself where there are none."""
    return _Ends(3, LARGEST, False).function(func)


class _Ends(Partition):
    """Cuts innermost loops of known length; what is left between the ends is most of it."""

    def visit(self, node: Any) -> Any:
        return node if type(node) is Block else super().visit(node)

    def partition(self, loop: For) -> Any:
        if not _is_innermost(loop):
            return self.descend(loop)
        asked = loop.replace(body=rewrite(loop.body, {Call: lambda call: _as_choice(call, loop)}))
        pieces = self.pieces(asked, self.parts)
        if len(pieces) == 1:
            return loop
        return keep_comments(loop, tuple([one for piece in pieces for one in _finished(piece)]))

    def may_cut(self, loop: For, ends: list[tuple[Expr, Expr]]) -> bool:
        lengths = [simplified(high - low) for low, high in ends]
        if not all(type(length) is Const for length in lengths):
            return False
        before, between, behind = (int(length.value) for length in lengths)  # type: ignore[attr-defined]
        longest = max(before, between, behind)
        rest = before + between + behind - longest
        # an end of what is left of a loop that is cut already has what the loop itself had
        return rest <= SHORTEST // TIMES and longest >= max(SHORTEST, TIMES * rest)


def _is_innermost(loop: For) -> bool:
    """Whether a loop holds none but short ones, nor anything that is a block or in vectors, and is long enough."""
    extent = constant_extent(loop)
    if extent is None or extent < SHORTEST or loop.annotations:
        return False
    inside = 1
    for node in walk(loop.body):
        if type(node) is For:
            inside *= (node.kind == "serial" and constant_extent(node)) or INSIDE + 1
        if type(node) in (Block, While) or (isinstance(node, Expr) and node.dtype.lanes > 1):
            return False
    return inside <= INSIDE


def _as_choice(call: Call, loop: For) -> Expr:
    """`T.max(i - 1, 0)` as a choice, which it is, so that it is decided as others are."""
    if call.op not in (_MAX, _MIN) or call.dtype.kind != "int" or not uses(call, loop.var) or reads_memory(call):
        return call
    order = next(order for order, op in _ORDERS.items() if op is call.op)
    return get_op("if_then_else")(order(*call.args), *call.args)


def _as_bound(call: Call) -> Expr:
    """`a if a <= b else b` as `T.min(a, b)`, where it is asked still."""
    asked = call.args[0] if call.op is _CHOICE else None
    if type(asked) is Call and asked.op in _ORDERS and asked.args == call.args[1:] and call.dtype.kind == "int":
        return get_op(_ORDERS[asked.op].name)(*asked.args)
    return call


def _finished(piece: For) -> tuple[Stmt, ...]:
    """A part of a loop; an end stays in this thread."""
    made = piece.replace(body=rewrite(piece.body, {Call: _as_bound}), trivia=None)
    extent = constant_extent(made)
    return (made if extent is None or extent >= SHORTEST else made.replace(kind="serial"),)


__all__ = ["cut_ends"]
