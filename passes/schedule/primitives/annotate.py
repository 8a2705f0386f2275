"""annotate, unannotate, add_unit_loop: small changes of one loop or block."""

from __future__ import annotations

from typing import Any

from tirscript.ir.dtype import INT32
from tirscript.ir.node import Attrs
from tirscript.ir.op import const
from tirscript.ir.stmt import For

from ..edit import Edit
from ..primitive import BlockAt, LoopAt, primitive
from ..tree import Place


@primitive
def annotate(edit: Edit, block_or_loop: BlockAt | LoopAt, ann_key: str, ann_val: Any) -> None:
    """Set an annotation of a block or loop, in place of one of the same name."""
    stmt = block_or_loop.stmt
    edit.tree.update(block_or_loop, stmt.replace(annotations=Attrs({**stmt.annotations, ann_key: ann_val})))


@primitive
def unannotate(edit: Edit, block_or_loop: BlockAt | LoopAt, ann_key: str) -> None:
    """Take an annotation of a block or loop away."""
    stmt = block_or_loop.stmt
    if ann_key not in stmt.annotations:
        known = ", ".join(map(repr, stmt.annotations)) or "none"
        edit.refuse(f"there is no annotation {ann_key!r} here", block_or_loop, hint=f"its annotations are {known}")
    edit.tree.update(block_or_loop, stmt.replace(annotations=stmt.annotations.without(ann_key)))


@primitive
def add_unit_loop(edit: Edit, block_or_loop: BlockAt | LoopAt) -> Place:
    """Put a loop of one iteration around a block or loop; the new loop."""
    stmt = block_or_loop.stmt
    dtype = stmt.var.dtype if type(stmt) is For else INT32
    unit = For(edit.fresh_var("u", dtype), const(0, dtype), const(1, dtype), (stmt,), trivia=stmt.trivia)
    unit = unit.replace(body=(stmt.replace(trivia=None),))
    return edit.replace(block_or_loop, unit)[0]
