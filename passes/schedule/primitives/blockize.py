"""blockize: a piece of program becomes one block."""

from __future__ import annotations

from ..blockizing import blockized
from ..dataflow import common
from ..edit import Edit
from ..primitive import BlockAt, LoopAt, primitive
from ..tree import Place


@primitive
def blockize(edit: Edit, target: LoopAt | list[BlockAt], preserve_unit_iters: bool = True) -> Place:
    """Make one block of a loop and all in it, or of neighbouring blocks; the new block.

    before:                                    after `blockize("i1")`:
        for i0, i1 in T.grid(4, 8):                for i0 in range(4):
            with T.block("B"):                         with T.block("B_o"):
                vi = T.axis.spatial(32, i0 * 8 + i1)       vi_o = T.axis.spatial(4, i0)
                B[vi] = A[vi] + 1                          for i1 in range(8):
                                                               with T.block("B"):
                                                                   vi_i = T.axis.spatial(8, i1)
                                                                   B[vi_o * 8 + vi_i] = A[vi_o * 8 + vi_i] + 1

    Blocks are given as a list; the statements that hold them must follow each other. The init of a reduction becomes
    that of the new block. `preserve_unit_iters` keeps axes of one value for what is all inside.
    """
    if isinstance(target, list):
        return blockized(edit, _pieces(edit, target), preserve_unit_iters)
    return blockized(edit, [target], preserve_unit_iters)


def _pieces(edit: Edit, blocks: list[Place]) -> list[Place]:
    """The neighbouring statements that hold the blocks and no others."""
    if not blocks:
        edit.wrong("`target` is an empty list")
    scope = blocks[0].block()
    for block in blocks[1:]:
        if block.block() is not scope:
            edit.refuse("the blocks do not stand in one block", *blocks)
    if len(blocks) == 1:
        return blocks
    home = blocks[0]
    for block in blocks[1:]:
        home = home if home.contains(block) else common(home, block)
    held = [child for child in home.children.get("body", []) if any(child.contains(block) for block in blocks)]
    inside = [child for child in home.children.get("body", []) if held[0].index <= child.index <= held[-1].index]
    for child in inside:
        if all(child is not one for one in held):
            edit.refuse("another statement stands between the blocks", *[(b, "") for b in blocks], (child, "this"))
    return inside


__all__ = ["blockize"]
