"""The init of a reduction becomes an `if` at the start of its reduce axes.

before:                                            after:
    with T.block("C"):                                 with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])                vi, vk = T.axis.remap("SR", [i, k])
        with T.init():                                     if vk == 0:
            C[vi] = 0.0                                        C[vi] = 0.0
        C[vi] = C[vi] + A[vi, vk]                          C[vi] = C[vi] + A[vi, vk]

Where there may be nothing to reduce, the init stands for that case before the loops (`empty_reductions.py`).
"""

from __future__ import annotations

from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.rewrite import rewrite, uses
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Bind, Block, DeclBuffer, If, MatchBuffer, Stmt

from ..pipeline import prim_func_pass
from ..statements import conjunction, equal
from .empty_reductions import init_empty_reductions


def _has_init(node: Node) -> bool:
    return type(node) is Block and node.init is not None


@prim_func_pass(removes=(_has_init, "blocks that have an init"))
def lower_init_block(func: PrimFunc) -> PrimFunc:
    """`with T.init(): C[vi] = 0.0` becomes `if vk == 0: C[vi] = 0.0` before the rest of the block."""
    return rewrite(init_empty_reductions(func), {Block: _lower})


def _lower(block: Block) -> Block:
    if block.init is None:
        return block
    starts = [equal(axis.var, axis.start) for axis in block.axes if axis.kind == "reduce"]
    condition = conjunction(starts)
    first: tuple[Stmt, ...] = block.init
    if condition is not None:
        span = block.init[0].span if block.init else block.span
        first = (If(condition, block.init, span=span),)
    at = _place(block)
    return block.replace(init=None, body=(*block.body[:at], *first, *block.body[at:]))


def _place(block: Block) -> int:
    """Behind the last of the leading definitions that the init uses."""
    at = 0
    for index, stmt in enumerate(block.body):
        if type(stmt) in (AllocBuffer, AllocateConst, MatchBuffer, DeclBuffer):
            if uses(block.init or (), stmt.buffer):  # type: ignore[attr-defined]
                at = index + 1
        elif type(stmt) is Bind:
            if uses(block.init or (), stmt.var):
                at = index + 1
        else:
            break
    return at
