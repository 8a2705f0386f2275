"""merge: loops that stand behind each other become one."""

from __future__ import annotations

import itertools

from tirscript.ir.arith.presburger import Dependences, may_merge
from tirscript.ir.expr import Var
from tirscript.ir.op import cast
from tirscript.ir.rewrite import substitute, uses
from tirscript.ir.stmt import Block, For, Stmt

from ..edit import Edit
from ..loops import plain
from ..primitive import LoopAt, primitive
from ..tree import Place


@primitive
def merge(edit: Edit, *loops: LoopAt) -> Place:
    """Make one loop of loops of one range that stand behind each other: each iteration does one of each; the new loop.

    before:                            after `merge("i", "j")`:
        for i in range(8):                 for i_j_m in range(8):
            with T.block("B"): ...             with T.block("B"): ...
        for j in range(8):                     with T.block("C"): ...
            with T.block("C"): ...

    Refused where an iteration of a later loop would use what an earlier loop has not yet made.
    """
    if len(loops) < 2:
        edit.wrong("it takes two or more loops")
    stmts: list[For] = [plain(edit, loop, "merged") for loop in loops]
    for first, second in itertools.pairwise(loops):
        if first.parent is not second.parent or first.field != second.field or second.index != first.index + 1:
            edit.refuse(
                f"the loop `{second.stmt.var.name}` does not stand right behind `{first.stmt.var.name}`", first, second
            )
    _check_complete(edit, loops)
    known = dict(edit.analyzer(loops[0]).known)
    for at, first in enumerate(loops):
        for second in loops[at + 1 :]:
            deps = Dependences((first.stmt, second.stmt), known, within=edit.func)
            verdict = may_merge(deps, first.stmt, second.stmt)
            if verdict.legal is not True:
                word = "cannot" if verdict.legal is False else "are not proved to be such that they can"
                edit.refuse(
                    f"the loops `{first.stmt.var.name}` and `{second.stmt.var.name}` {word} be one",
                    (first, ""),
                    (second, ""),
                    notes=[verdict.reason] if verdict.reason else [str(one) for one in verdict.violations[:3]],
                )
    head = stmts[0]
    merged = edit.fresh_var("_".join(stmt.var.name for stmt in stmts) + "_m", head.var.dtype)
    body: tuple[Stmt, ...] = ()
    for stmt in stmts:
        body += substitute(stmt.body, {stmt.var: _as(merged, stmt.var)})
    assert loops[0].parent is not None
    made = head.replace(var=merged, body=body)
    parent, field = loops[0].parent, loops[0].field
    return edit.tree.splice(parent, field, loops[0].index, loops[-1].index + 1, (made,))[0]


def _as(var: Var, old: Var) -> object:
    return var if var.dtype is old.dtype else cast(var, old.dtype)


def _check_complete(edit: Edit, loops: tuple[Place, ...]) -> None:
    """Refuse loops that are not spatial: what they reduce is complete behind them only."""
    for loop in loops:
        for block in loop.below(Block, nested=False):
            for axis in block.stmt.axes:
                if axis.kind in ("scan", "opaque") and uses(axis.value, loop.stmt.var):
                    edit.refuse(
                        f"the axis `{axis.var.name}` of `{block.stmt.name}` is {axis.kind}: its order matters",
                        (loop, ""),
                        (axis, "this axis"),
                    )
