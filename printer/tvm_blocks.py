"""What TVM has to be told of the reads and writes of a block, because it would find them out wrongly."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, Let, Range, Var, const
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, DeclBuffer, MatchBuffer, ScalarDecl


def indexes_by_let(parts: list[Any]) -> bool:
    """Whether a buffer is loaded at a place that the variable of a `T.Let` says."""
    own = {id(one.var) for one in parts if type(one) is Let}
    return bool(own) and any(
        id(var) in own for one in parts if type(one) is BufferLoad for var in walk(one.indices, Var)
    )


DEFINING = (ScalarDecl, AllocBuffer, DeclBuffer, MatchBuffer)


def accessed(node: Block, own: set[int]) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """The buffers from outside that a block reads and writes, as whole regions."""
    reads: dict[int, BufferRegion] = {}
    writes: dict[int, BufferRegion] = {}
    one: Any
    for one in walk(node.body + (node.init or ())):
        tables = _ACCESSES.get(type(one))
        if tables is None:
            continue
        buffer = one.buffer
        ranges = tuple(Range(const(0, dim.dtype), dim) for dim in buffer.shape)
        for table, holds in zip((reads, writes), tables, strict=True):
            if holds and id(buffer) not in own:
                table.setdefault(id(buffer), BufferRegion(buffer, ranges))
    return tuple(reads.values()), tuple(writes.values())


# whether a use of a buffer reads it, and whether it writes it; an address or the source of a match_buffer may do both
_ACCESSES: dict[type, tuple[bool, bool]] = {
    BufferLoad: (True, False),
    BufferStore: (False, True),
    BufferData: (True, True),
    BufferRegion: (True, True),
}


__all__ = ["DEFINING", "accessed", "indexes_by_let"]
