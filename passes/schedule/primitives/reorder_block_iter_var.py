"""reorder_block_iter_var: the axes of a block in another order."""

from __future__ import annotations

from tirscript.ir.words import counted

from ..edit import Edit
from ..primitive import BlockAt, primitive


@primitive
def reorder_block_iter_var(edit: Edit, block: BlockAt, new_order: list[int]) -> None:
    """Write the axes of a block in another order; `new_order` says which of the old ones each is.

    before:                                    after `reorder_block_iter_var("B", [1, 0])`:
        with T.block("B"):                         with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])        vj, vi = T.axis.remap("SS", [j, i])
            B[vi, vj] = A[vi, vj]                      B[vi, vj] = A[vi, vj]

    The loops stay as they are, and so does what runs when.
    """
    axes = block.stmt.axes
    if sorted(new_order) != list(range(len(axes))):
        edit.wrong(
            f"`new_order` is {new_order}, and the block `{block.stmt.name}` has {counted(len(axes), 'axis')}",
            hint=f"it holds each of the numbers 0 to {len(axes) - 1} once" if axes else None,
        )
    edit.tree.update(block, block.stmt.replace(axes=tuple(axes[at] for at in new_order)))
