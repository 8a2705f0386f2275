"""annotate, unannotate, add_unit_loop: small changes of one loop or block."""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, DType
from tirscript.ir.expr import CommReducer, Expr
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import Attrs
from tirscript.ir.op import const
from tirscript.ir.stmt import For
from tirscript.ir.target import Target
from tirscript.ir.wellformed.places import MAX_DEPTH
from tirscript.ir.words import words

from ..edit import Edit
from ..primitive import BlockAt, LoopAt, primitive
from ..tree import Place

_VALUES = (str, int, float, bool, Expr, Buffer, DType, IndexMap, CommReducer, Target)


@primitive
def annotate(edit: Edit, block_or_loop: BlockAt | LoopAt, ann_key: str, ann_val: Any) -> None:
    """Set an annotation of a block or loop, in place of one of the same name."""
    stmt = block_or_loop.stmt
    held = _held(edit, block_or_loop, ann_val)
    edit.tree.update(block_or_loop, stmt.replace(annotations=Attrs({**stmt.annotations, ann_key: held})))


def _held(edit: Edit, place: Place, value: Any, depth: int = 0) -> Any:
    """A value as annotations keep it, and as it is read from a text: lists are tuples, numbers of numpy Python's."""
    if depth > MAX_DEPTH:
        edit.refuse(f"values nested over {MAX_DEPTH} deep, or in themselves, cannot be an annotation", place)
    if isinstance(value, (list, tuple)):
        return tuple(_held(edit, place, item, depth + 1) for item in value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _held(edit, place, item, depth + 1) for key, item in value.items()}
    if value is None or isinstance(value, _VALUES):
        return value
    number = value.item() if hasattr(type(value), "__array__") and getattr(value, "shape", None) == () else None
    if not isinstance(number, _VALUES):
        hint = "annotations hold numbers, strings, tuples, dicts with strings as keys, dtypes and expressions"
        edit.refuse(f"{words(value)} cannot be an annotation", place, hint=hint)
    return number


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
