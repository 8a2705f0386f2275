"""merge: loops that stand behind each other become one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

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

    Loops that are nested alone in others, as deep as each other, merge with those, outermost first. Refused where an
    iteration of a later loop would use what an earlier loop has not yet made. The new loop stands where the first did:
    what stands between them may not touch what a later loop uses.
    """
    if len(loops) < 2:
        edit.wrong("it takes two or more loops")
    ways = [_way(edit, loops, loop) for loop in loops]
    for first, second in itertools.pairwise(ways):
        if len(first) != len(second):
            edit.refuse(
                f"the loops `{first[-1].stmt.var.name}` and `{second[-1].stmt.var.name}` are not nested as deep as "
                "each other",
                first[-1],
                second[-1],
            )
    if len(ways[0]) == 1:
        return _merged(edit, loops)
    variables = [[place.stmt.var for place in way] for way in ways]
    made: Place | None = None
    for level in zip(*variables, strict=True):
        made = _merged(edit, [edit.loop(var) for var in level])
    assert made is not None
    return made


def _way(edit: Edit, loops: Sequence[Place], loop: Place) -> list[Place]:
    """The loops that a loop is nested in alone, out to the statement that holds all of the loops, and itself."""
    way = [loop]
    while True:
        parent = way[0].parent
        if parent is None or parent.parent is None or all(parent.contains(other) for other in loops):
            return way
        if type(parent.stmt) is not For or len(parent.stmt.body) != 1:
            edit.refuse(
                f"the loop `{loop.stmt.var.name}` is not nested alone in loops up to where the others stand",
                (loop, ""),
                (parent, "this is between"),
            )
        way.insert(0, parent)


def _merged(edit: Edit, loops: Sequence[Place]) -> Place:
    """One loop of loops that stand behind each other."""
    stmts: list[For] = [plain(edit, loop, "merged") for loop in loops]
    for first, second in itertools.pairwise(loops):
        if first.parent is not second.parent or first.field != second.field or second.index <= first.index:
            edit.refuse(
                f"the loop `{second.stmt.var.name}` does not stand behind `{first.stmt.var.name}`", first, second
            )
    _check_complete(edit, loops)
    known = dict(edit.analyzer(loops[0]).known)
    between = [place for place in loops[0].siblings()[loops[0].index : loops[-1].index] if place not in loops]
    for place in between:
        _check_apart(edit, place, [loop for loop in loops if loop.index > place.index], known)
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
    names = dict.fromkeys(stmt.var.name for stmt in stmts)
    merged = edit.fresh_var("_".join(names) + "_m", head.var.dtype)
    body: tuple[Stmt, ...] = ()
    for stmt in stmts:
        body += substitute(stmt.body, {stmt.var: _as(merged, stmt.var)})
    assert loops[0].parent is not None
    made = head.replace(var=merged, body=body)
    parent, field = loops[0].parent, loops[0].field
    left = [place.stmt for place in between]
    return edit.tree.splice(parent, field, loops[0].index, loops[-1].index + 1, (made, *left))[0]


def _check_apart(edit: Edit, place: Place, loops: Sequence[Place], known: dict[Var, Any]) -> None:
    """Refuse a statement that stands before loops and touches what they use: they run before it from now on."""
    for loop in loops:
        deps = Dependences((place.stmt, loop.stmt), known, within=edit.func)
        pairs = itertools.product(deps.steps_in(place.stmt), deps.steps_in(loop.stmt))
        bare = type(place.stmt) not in (For, Block)
        if bare or any(True for one, other in pairs for _ in deps.between(one, other, None)):
            edit.refuse(
                f"what stands before the loop `{loop.stmt.var.name}` is not known to leave alone what it uses",
                (loop, ""),
                (place, "this is between"),
            )


def _as(var: Var, old: Var) -> object:
    return var if var.dtype is old.dtype else cast(var, old.dtype)


def _check_complete(edit: Edit, loops: Sequence[Place]) -> None:
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
