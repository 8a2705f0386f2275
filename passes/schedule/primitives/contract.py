"""contract: fused multiply-adds in a block."""

from __future__ import annotations

from tirscript.ir.stmt import Block

from ...contract import contracted
from ..edit import Edit
from ..primitive import BlockAt, primitive


@primitive
def contract(edit: Edit, block: BlockAt) -> None:
    """Fuse the products in a block with the sums they go into, so that they are rounded once.

    before:                                    after `contract("C_update")`:
        C[vi] = C[vi] + A[vi] * B[vi]              C[vi] = T.fma(A[vi], B[vi], C[vi])

    A sum of two products goes into the result one by one. The results change in their last bits, in the interpreter as
    in native code. A reduction is no longer seen as a sum afterwards: `rfactor`, `decompose_reduction` and `tensorize`
    come first. Refused where there is nothing to fuse.
    """
    stmt: Block = block.stmt
    fused = contracted(stmt)
    if fused is stmt:
        edit.refuse(
            f"the block `{stmt.name}` adds no product of float32 or float64 to anything",
            block,
            hint="leave the step away; sums of float16 and bfloat16 are computed in float32 and rounded each time",
        )
    edit.tree.update(block, fused)
