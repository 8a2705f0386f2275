"""Plain loops that say which of them run in parallel, and no more: how they run is left to us, as of serial ones.

before:                                            after:
    for i in T.parallel(512):                          for i in range(512):
        for j in range(512):                               for j in range(512):
            C[i, j] = 0.0                                      C[i, j] = 0.0
            for k in range(512):                               for k in range(512):
                C[i, j] += A[i, k] * B[k, j]                       C[i, j] += A[i, k] * B[k, j]

That their iterations are independent has to be proved, as the rules prove it again where they run loops in parallel.
Where there are blocks, someone has scheduled them; how often `while` runs nobody knows, so such loops stay parallel.
"""

from __future__ import annotations

from tirscript.ir.arith.presburger import Dependences, is_parallel
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import Block, For, While


def with_serial_loops(func: PrimFunc) -> PrimFunc:
    """The function without the word of parallel loops; itself where it has none, or says more of how it runs."""
    found = [node for node in walk(func.body, For) if node.kind == "parallel"]
    if not found or any(type(node) in (Block, While) for node in walk(func.body)):
        return func
    if not all(is_parallel(Dependences((loop,), within=func), loop) for loop in found):
        return func
    return func.replace(body=rewrite(func.body, {For: _serial}))


def _serial(loop: For) -> For:
    return loop.replace(kind="serial") if loop.kind == "parallel" else loop


__all__ = ["with_serial_loops"]
