"""T.reads and T.writes of blocks that leave them to be inferred.

before:                                            after:
    with T.block("C"):                                 with T.block("C"):
        vi = T.axis.spatial(4, i)                          vi = T.axis.spatial(4, i)
        for j in range(8):                                 T.reads(A[vi, 0:8])
            C[vi] = C[vi] + A[vi, j]                       T.writes(C[vi])
                                                           ...
"""

from __future__ import annotations

from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import rewrite
from tirscript.ir.stmt import Block

from ..access import access_regions
from ..pipeline import prim_func_pass


@prim_func_pass()
def infer_regions(func: PrimFunc) -> PrimFunc:
    """A block without T.reads or T.writes gets them: `T.reads(A[vi, 0:8])`, boxes in terms of its axes."""
    return rewrite(func, {Block: _infer})


def _infer(block: Block) -> Block:
    if block.reads is not None and block.writes is not None:
        return block
    reads, writes = access_regions(block)
    return block.replace(
        reads=reads if block.reads is None else block.reads, writes=writes if block.writes is None else block.writes
    )
