"""decompose_reduction: the init of a reduction as a block of its own."""

from __future__ import annotations

from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.expr import Expr, Var
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import refresh, substitute, uses
from tirscript.ir.stmt import Axis, Block, For, Stmt

from ...statements import conjunction
from ..blocks import inferred, init_of, writes_of
from ..dataflow import accesses_outside_blocks, check_own_memory
from ..edit import Edit
from ..legality import check_begun_once
from ..loops import inner_loops
from ..primitive import BlockAt, LoopAt, primitive
from ..tree import Place


@primitive
def decompose_reduction(edit: Edit, block: BlockAt, loop: LoopAt) -> Place:
    """Make the init of a reduction a block of its own, right before a loop around it; the new block.

    before:                                after `decompose_reduction("C", "k")`:
        for i, k in T.grid(4, 8):              for i in range(4):
            with T.block("C"):                     with T.block("C_init"):
                vi, vk = T.axis.remap(...)             vi = T.axis.spatial(4, i)
                with T.init():                         C[vi] = 0.0
                    C[vi] = 0.0                    for k in range(8):
                C[vi] += A[vi, vk]                     with T.block("C_update"):
                                                           vi, vk = T.axis.remap("SR", [i, k])
                                                           C[vi] += A[vi, vk]

    Refused where a loop outside of the given one runs over the reduction, since the init would then come again; where
    the loops inside come to a point of the axes again, since it has to; and where something besides the block touches
    the result: another block in the loop, a condition, how far a loop runs.
    """
    stmt: Block = block.stmt
    if stmt.init is None:
        edit.refuse(f"the block `{stmt.name}` has no T.init", block)
    hint = "the init would come before all of it; move the other blocks out first"
    inner = inner_loops(edit, block, loop, hint, apart=writes_of(stmt))
    check_own_memory(edit, loop, writes_of(stmt))
    for buffer in writes_of(stmt):
        bare = loop if uses(loop.stmt.replace(body=()), buffer) else accesses_outside_blocks(loop, buffer)
        if bare is not None:
            edit.refuse(f"`{buffer.name}` would begin before what is asked of it here", (block, ""), (bare, "here"))
    reduced = [axis for axis in stmt.axes if axis.kind == "reduce"]
    for place in loop.loops():
        for axis in reduced:
            if uses(axis.value, place.stmt.var):
                edit.refuse(
                    f"the loop `{place.stmt.var.name}` runs over the reduction axis `{axis.var.name}` outside of "
                    f"`{loop.stmt.var.name}`: each of its iterations would begin the reduction anew",
                    (loop, ""),
                    (place, "this loop"),
                    hint="reorder the loops, or give an outer one",
                )
    check_begun_once(edit, block, inner)
    spatial = [axis for axis in stmt.axes if axis.kind != "reduce"]
    over = [place.stmt for place in inner if any(uses(axis.value, place.stmt.var) for axis in spatial)]
    starts = {place.stmt.var: place.stmt.start for place in inner if all(place.stmt is not kept for kept in over)}
    known = edit.analyzer(block)
    predicate = _predicate(edit, block, starts, [loop_stmt.var for loop_stmt in over])
    for axis in reduced:
        first = substitute(axis.value, starts)
        if not known.can_prove(get_op("equal")(first, axis.start)):
            edit.refuse(
                f"the reduction axis `{axis.var.name}` is not at its start where its loops begin",
                (block, ""),
                (axis, "this axis"),
            )
    axes = tuple(Axis(a.var, a.kind, a.start, a.stop, substitute(a.value, starts), span=a.span) for a in spatial)
    name = edit.fresh_block_name(f"{stmt.name}_init")
    init = Block(name, axes, init_of(stmt), predicate=predicate, span=stmt.span)
    if stmt.reads is not None or stmt.writes is not None:
        init = inferred(init.replace(reads=(), writes=()))
    nest: Stmt = init
    for outer in reversed(over):
        nest = For(outer.var, outer.start, outer.stop, (nest,), None, outer.kind, outer.thread, span=outer.span)
    update = edit.fresh_block_name(f"{stmt.name}_update")
    edit.tree.update(block, inferred(stmt.replace(init=None, name=update)))
    edit.rename(stmt.name, update)
    edit.tree.insert(loop, before=(refresh(nest),))
    return edit.block(name)


def _predicate(edit: Edit, block: Place, starts: dict[Var, Expr], kept: list[Var]) -> Expr | None:
    """The block's predicate where the reduction begins."""
    if block.stmt.predicate is None:
        return None
    parts: list[Expr] = []
    known = edit.analyzer(block)
    for part in conjuncts(block.stmt.predicate):
        first = substitute(part, starts)
        if not known.can_prove(first) or any(uses(part, var) for var in kept):
            parts.append(known.simplify(first))
    return conjunction(parts)
