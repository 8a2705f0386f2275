"""Loops around loops that only fill or copy memory: `for i: for j: A[i, j + 1] = B[i, j]`.

LLVM makes one call of each line that is filled or copied, takes that for one instruction when it asks whether the loops
around can be written out, and makes vector instructions of it behind: 16 by 56 lines of 57 elements became a block of
3,600 stores, which its scheduler needs 15 seconds for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.expr import Broadcast, BufferLoad, Const
from tirscript.ir.stmt import BufferStore, For, Stmt

from .types import lane_bytes

if TYPE_CHECKING:
    from .builder import ModuleText

MOST = 4096  # bytes that a loop may move in all where LLVM may write it out: what registers of vectors hold, twice


def moves_much(loop: For) -> bool:
    """Whether a loop has others inside, and all that they do is to fill or copy more than `MOST` bytes."""
    moved = _bytes(loop)
    return moved is not None and moved > MOST and any(type(stmt) is For for stmt in loop.body)


def _bytes(stmt: Stmt) -> int | None:
    """How many bytes a statement stores, where it only fills or copies and that is known."""
    if type(stmt) is BufferStore:
        value = stmt.value.value if type(stmt.value) is Broadcast else stmt.value
        moved = type(value) in (Const, BufferLoad)
        return lane_bytes(stmt.value.dtype) * stmt.value.dtype.lanes if moved else None
    if type(stmt) is not For or type(stmt.start) is not Const or type(stmt.stop) is not Const:
        return None
    parts = [_bytes(inside) for inside in stmt.body]
    count = max(0, int(stmt.stop.value) - int(stmt.start.value))
    return None if None in parts else count * sum(part for part in parts if part is not None)


def in_a_loop(text: ModuleText, loop: For) -> list[str]:
    """The metadata that keeps such a loop a loop, none for others."""
    return [text.once('!{!"llvm.loop.unroll.disable"}')] if moves_much(loop) else []


__all__ = ["in_a_loop", "moves_much"]
