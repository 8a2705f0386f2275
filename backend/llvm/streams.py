"""Stores past the caches.

A processor gathers the parts of a line of memory before it writes the line, a few lines at a time; a part that comes
late, or by an ordinary store, costs a transfer of its own. So vectors are stored in pieces of 16 bytes in the order of
their addresses, which LLVM would mix. x86 has such stores of vectors at aligned addresses only: elsewhere the pieces
are words.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .types import lane_bytes, memory_scalar, memory_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen
    from .memory import Access

PIECE, WORD, LINE = 16, 8, 64  # bytes


def store(g: Codegen, at: Access, value: str) -> bool:
    """Store lanes that follow each other past the caches; False where that is not asked for, or of no use.

    It is of use for vectors that leave the function. Others see such stores in no order, so the function ends with a
    fence.
    """
    size = lane_bytes(at.dtype.element) * at.dtype.lanes
    if (
        not g.nontemporal
        or size < WORD
        or at.dtype.lanes == 1
        or (at.dtype.bits % 8 and not at.dtype.element.is_bool)
        or at.place.root not in g.func.params
    ):
        return False
    x86 = g.state.target.triple.startswith(("x86_64", "i686"))
    if x86:
        g.b.module.declare("llvm.x86.sse.sfence", "void", [])
    fence = "call void @llvm.x86.sse.sfence()" if x86 else "fence seq_cst"
    if fence not in g.b.before_return:
        g.b.before_return.append(fence)
    if not x86 or at.align >= LINE:
        _piece(g, memory_type(at.dtype), value, at, 0, at.align)
        return True
    if at.align >= PIECE:
        _pieces(g, at, value, size, PIECE)
        return True
    low = g.b.op(f"and i64 {g.b.op(f'ptrtoint ptr {at.pointer} to i64')}, {PIECE - 1}")
    ways = (partial(_pieces, g, at, value, size, width) for width in (PIECE, WORD))
    g.choose(g.b.op(f"icmp eq i64 {low}, 0"), "void", *ways)
    return True


def _pieces(g: Codegen, at: Access, value: str, size: int, widest: int) -> str:
    """The lanes in pieces of at most `widest` bytes, in the order of their addresses.

    Words are integers out of whole pieces: of others, LLVM would make ordinary stores.
    """
    each, scalar, lanes = lane_bytes(at.dtype.element), memory_scalar(at.dtype), at.dtype.lanes
    for begin in range(0, size, PIECE):
        chosen = [begin // each + lane for lane in range(PIECE // each)]
        mask = ", ".join(f"i32 {lane}" if lane < lanes else "i32 poison" for lane in chosen)
        whole = vector(scalar, lanes)
        kind = f"<{PIECE // each} x {scalar}>"
        part = g.b.op(f"shufflevector {whole} {value}, {whole} poison, <{PIECE // each} x i32> <{mask}>")
        if widest == PIECE and begin + PIECE <= size:
            _piece(g, kind, part, at, begin, PIECE)
            continue
        done = begin
        for width in (WORD, WORD // 2, each):
            element = f"i{8 * width}" if width > each or each >= WORD // 2 else scalar
            while width >= each and done + width <= min(size, begin + PIECE):
                words = vector(element, PIECE // width)
                whole_words = part if words == kind else g.b.op(f"bitcast {kind} {part} to {words}")
                one = g.b.op(f"extractelement {words} {whole_words}, i32 {(done - begin) // width}")
                _piece(g, element, one, at, done, at.align)
                done += width
    return ""


def _piece(g: Codegen, kind: str, value: str, at: Access, begin: int, align: int) -> None:
    pointer = at.pointer
    if begin:
        pointer = g.b.op(f"getelementptr inbounds i8, ptr {pointer}, i64 {begin}")
    hint = g.b.module.once("!{i32 1}")
    g.b.do(f"store {kind} {value}, ptr {pointer}, align {align}, !nontemporal {hint}")
