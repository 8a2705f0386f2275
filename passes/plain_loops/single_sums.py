"""Reductions over one element are left out: what schedules see of pointwise convolutions.

before:                                                after:
    for f, y, c, i in T.grid(64, 56, 256, 1):              for f, y, c in T.grid(64, 56, 256):
        with T.block("C"):                                     with T.block("C"):
            ...                                                    ...
            C[f, y] += A[c, y + i] * W[f, c, i]                    C[f, y] += A[c, y + 0] * W[f, c, 0]
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import const
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import Axis, Block, For


def without_single_sums(func: PrimFunc) -> PrimFunc:
    """The function without loops of one iteration that are reductions, where a block has others; itself where there are
    none."""
    gone = _single_loops(func)
    if not gone:
        return func

    def block(node: Block) -> Block:
        axes = [axis for axis in node.axes if _is_single(axis) and axis.value in gone]
        if not axes:
            return node
        kept = tuple(axis for axis in node.axes if axis not in axes)
        found: Block = substitute(node.replace(axes=kept), {axis.var: const(0, axis.var.dtype) for axis in axes})
        return found

    def loop(node: For) -> Any:
        return node.body if node.var in gone else node

    made: PrimFunc = rewrite(func, {Block: block, For: loop})
    return made


def _single_loops(func: PrimFunc) -> set[Var]:
    """The variables of loops of one iteration that are a reduction of one block, which has others, and nothing else."""
    uses: dict[Var, int] = {}
    found: set[Var] = set()
    loops: set[Var] = set()
    for node in walk(func.body):
        if type(node) is Var:
            uses[node] = uses.get(node, 0) + 1
        elif type(node) is For and _once(node):
            loops.add(node.var)
        elif type(node) is Block:
            single = [axis.value for axis in node.axes if _is_single(axis)]
            if len(single) == sum(axis.kind == "reduce" for axis in node.axes):
                single = single[1:]  # a block that sums goes on to
            found.update(var for var in single if type(var) is Var)
    # one use is where the loop defines it, the other the axis
    return {var for var in found & loops if uses[var] == 2}


def _is_single(axis: Axis) -> bool:
    return axis.kind == "reduce" and type(axis.value) is Var and is_const(axis.start, 0) and is_const(axis.stop, 1)


def _once(loop: For) -> bool:
    plain = loop.kind == "serial" and loop.step is None and not loop.annotations
    return plain and is_const(loop.start, 0) and is_const(loop.stop, 1)


__all__ = ["without_single_sums"]
