"""Loops that look up bytes and words in tables, `B[i] = L[A[i]]`: one element after the other, four in turn.

No processor gathers elements of 8 or 16 bits. LLVM makes vectors of such loops all the same, and takes them apart to
load each lane and put it in its place, which is worth it only where much is computed of what was looked up: bytes by
bytes take 0.20 ns each one by one and 0.57 by lanes, with a product and a sum 0.22 and 0.61, with exp 1.5 and 0.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.expr import BufferLoad, Call
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import For, While

if TYPE_CHECKING:
    from .builder import ModuleText

NARROW = (8, 16)
TURNS = 4
MOST = 12  # operators besides those of indices: vectors make up for looking up where there are more
_CHEAP = frozenset(
    OPS[name]
    for name in (
        *("add", "sub", "mul", "cast", "min", "max", "abs", "negative", "if_then_else", "Select"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or"),
    )
)


def looks_up(loop: For) -> bool:
    """Whether a loop does little but look up narrow elements at places that it reads."""
    apart: set[int] = set()  # what belongs to indices
    found = False
    operators = 0
    for node in walk(loop.body):  # what is around comes first
        kind = type(node)
        if kind is For or kind is While:
            return False
        if id(node) not in apart and kind is Call:
            if node.op not in _CHEAP or node.dtype.is_vector:  # type: ignore[attr-defined]
                return False
            operators += 1
        if kind is BufferLoad:
            inside = [one for index in node.indices for one in walk(index)]  # type: ignore[attr-defined]
            apart.update(map(id, inside))
            reads = [one for one in inside if type(one) is BufferLoad and uses(one.indices, loop.var)]
            found |= bool(reads) and node.dtype.bits in NARROW and not node.dtype.is_vector  # type: ignore[attr-defined]
    return found and operators <= MOST


def one_by_one(text: ModuleText, loop: For) -> list[str]:
    """The metadata that says so, none for other loops."""
    if not looks_up(loop):
        return []
    return [
        text.once('!{!"llvm.loop.vectorize.width", i32 1}'),
        text.once(f'!{{!"llvm.loop.interleave.count", i32 {TURNS}}}'),
    ]


__all__ = ["looks_up", "one_by_one"]
