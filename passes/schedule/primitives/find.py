"""Primitives that find blocks and loops and change nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.buffer import Buffer
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block

from ..blocks import reads_of, writes_of
from ..edit import Edit
from ..primitive import BlockAt, LoopAt, ScopeAt, query
from ..tree import Place


@query
def get_block(edit: Edit, name: ScopeAt, func_name: str | None = None) -> Place:
    """The block of that name; "root" is the function itself where no block is called so."""
    return name


@query
def get_sblock(edit: Edit, name: ScopeAt, func_name: str | None = None) -> Place:
    """The block of that name: get_block as TVM 0.27 calls it."""
    return name


@query
def get_loops(edit: Edit, block: BlockAt) -> list[Place]:
    """The loops around a block, outermost first, out to the block or function around them."""
    return block.loops()


@query
def get_child_blocks(edit: Edit, block_or_loop: ScopeAt | LoopAt) -> list[Place]:
    """The blocks in a block or loop that stand in no other block of it, in program order."""
    return list(block_or_loop.below(Block, nested=False))


@query
def get_producers(edit: Edit, block: BlockAt) -> list[Place]:
    """The blocks of the same block or function that write what this one reads."""
    wanted = set(reads_of(block.stmt))
    return [other for other in neighbours(edit, block) if wanted & set(writes_of(other.stmt))]


@query
def get_consumers(edit: Edit, block: BlockAt) -> list[Place]:
    """The blocks of the same block or function that read what this one writes."""
    written = set(writes_of(block.stmt))
    return [other for other in neighbours(edit, block) if written & set(reads_of(other.stmt))]


@query
def get_output_blocks(edit: Edit, scope_block: ScopeAt) -> list[Place]:
    """The blocks in a block or function that write what outlives it."""
    own = set(_allocated(scope_block))
    return [place for place in scope_block.below(Block, nested=False) if set(writes_of(place.stmt)) - own]


def neighbours(edit: Edit, block: Place) -> list[Place]:
    """The other blocks of the block or function that this one stands in."""
    scope = block.block() or edit.tree.root
    return [place for place in scope.below(Block, nested=False) if place is not block]


def _allocated(scope: Place) -> Iterator[Buffer]:
    for place in scope.below(nested=False):
        if type(place.stmt) in (AllocBuffer, AllocateConst):
            yield place.stmt.buffer


__all__ = ["neighbours"]
