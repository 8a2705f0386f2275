"""What blocks access, worked out once a block: blocks are immutable, so most of them live through a whole schedule."""

from __future__ import annotations

from functools import lru_cache

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferRegion
from tirscript.ir.op import cast
from tirscript.ir.rewrite import definitions, substitute
from tirscript.ir.stmt import Block, Stmt

from ..access import Accesses, access_regions


class _Key:
    """A block by identity: equality of programs would walk them."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.block is self.block

    def __hash__(self) -> int:
        return id(self.block)


@lru_cache(4096)
def _accesses(key: _Key) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    block = key.block
    seen = Accesses((*(block.init or ()), *block.body), declared=True)
    own = set(definitions(block.body))  # what is there in the block alone
    found: list[tuple[Buffer, ...]] = []
    for regions, write in zip(_regions(key), (False, True), strict=True):
        # counted as T.reads and T.writes have them, or would: what only a reduction reads of its result comes last
        buffers = dict.fromkeys(region.buffer for region in regions)
        buffers.update(dict.fromkeys(access.buffer for access in seen.found if access.write is write))
        found.append(tuple(buffer for buffer in buffers if buffer not in own))
    return found[0], found[1]


@lru_cache(4096)
def _regions(key: _Key) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    block = key.block
    if block.reads is not None and block.writes is not None:
        return block.reads, block.writes
    reads, writes = access_regions(block)
    return (reads if block.reads is None else block.reads, writes if block.writes is None else block.writes)


def reads_of(block: Block) -> tuple[Buffer, ...]:
    """The buffers that a block reads, in the order of its T.reads, said or inferred."""
    return _accesses(_Key(block))[0]


def writes_of(block: Block) -> tuple[Buffer, ...]:
    """The buffers that a block writes, in the order of its T.writes, said or inferred."""
    return _accesses(_Key(block))[1]


def inferred(block: Block) -> Block:
    """`block` with T.reads and T.writes, where it has them, made anew from its body."""
    if block.reads is None and block.writes is None:
        return block
    reads, writes = access_regions(block.replace(reads=None, writes=None))
    return block.replace(reads=None if block.reads is None else reads, writes=None if block.writes is None else writes)


def init_of(block: Block) -> tuple[Stmt, ...]:
    """The T.init of a block with its reduction axes where they begin, as they are when it runs; empty without one."""
    begun = {axis.var: cast(axis.start, axis.var.dtype) for axis in block.axes if axis.kind == "reduce"}
    found: tuple[Stmt, ...] = substitute(block.init or (), begun)
    return found


__all__ = ["inferred", "init_of", "reads_of", "writes_of"]
