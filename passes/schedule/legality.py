"""Whether a change of order means the same: what the primitives on loops and moves of blocks ask.

What a block says of its axes is taken for true: instances that differ in a spatial axis do not depend on each other,
instances that differ in a reduction axis may come in any order, one after the other. Statements outside of blocks
promise nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import Block, BufferStore, Evaluate, For

from .edit import Edit
from .moving import axes_of_indices, only_store
from .tree import Place

EFFECTS = (BufferStore, Evaluate)


def check_parallel(edit: Edit, loop: Place, kind: str) -> None:
    """Refuse where an iteration of a loop depends on another."""
    var = loop.stmt.var
    word = kind.replace("_", " ")
    blocks = list(loop.below(Block, nested=False))
    for place in blocks:
        for axis in place.stmt.axes:
            if axis.kind != "spatial" and uses(axis.value, var):
                what = "the reduction axis" if axis.kind == "reduce" else f"the {axis.kind} axis"
                edit.refuse(
                    f"the loop `{var.name}` runs over {what} `{axis.var.name}` of the block `{place.stmt.name}`: its "
                    f"iterations depend on each other and cannot be {word}",
                    (loop, ""),
                    (axis, "this axis"),
                    hint="rfactor gives each iteration a result of its own" if axis.kind == "reduce" else None,
                )
    _check_bare(edit, loop, f"made {word}")


def _check_bare(edit: Edit, loop: Place, what: str) -> None:
    """Refuse where a loop holds statements of effect that stand in no block."""
    for place in loop.below(nested=False):
        if type(place.stmt) in EFFECTS:
            edit.refuse(
                f"the loop `{loop.stmt.var.name}` holds a statement outside of blocks; it is not proved that its "
                f"iterations are independent, so it cannot be {what}",
                (loop, ""),
                (place, "this statement"),
            )


def check_permutation(edit: Edit, old: Sequence[Place], new: Sequence[Place]) -> None:
    """Refuse where loops in another order would run an instance before one that it depends on."""
    for place in old[-1].below(Block, nested=False):
        for axis in place.stmt.axes:
            if axis.kind in ("scan", "opaque") and any(uses(axis.value, loop.stmt.var) for loop in old):
                edit.refuse(
                    f"the axis `{axis.var.name}` of the block `{place.stmt.name}` is {axis.kind}: its order matters",
                    (old[0], ""),
                    (axis, "this axis"),
                )
    _check_bare(edit, old[0], "reordered")


def check_covers(edit: Edit, block: Place) -> None:
    """Refuse where the loops around a block are not proved to run it once for every point of its axes."""
    stmt: Block = block.stmt
    known = edit.analyzer(block)
    loops = {place.stmt.var: place.stmt for place in block.loops()}
    seen: set[Var] = set()
    for axis in stmt.axes:
        value: Expr = axis.value
        if type(value) is Const and known.can_prove(get_op("equal")(axis.stop - axis.start, 1)):
            continue
        if type(value) is Var and value in loops and value not in seen:
            seen.add(value)
            loop: For = loops[value]
            if known.prove_equal(loop.start, axis.start) and known.prove_equal(loop.stop, axis.stop):
                continue
        edit.refuse(
            f"it is not proved that the loops run over all of the axis `{axis.var.name}` of `{stmt.name}` once",
            (block, ""),
            (axis, "this axis"),
        )


def check_writes_all(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse where a block is not proved to write every element of a buffer."""
    stmt: Block = block.stmt
    box = written_box(edit, block, buffer)
    known = edit.analyzer(block)
    for (start, stop), dim in zip(box, buffer.shape, strict=True):
        if not (known.can_prove(get_op("equal")(start, 0)) and known.prove_equal(stop, dim)):
            edit.refuse(f"the block `{stmt.name}` is not proved to write all of `{buffer.name}`", block)


def written_box(edit: Edit, block: Place, buffer: Buffer) -> list[tuple[Expr, Expr]]:
    """The box of a buffer that a block writes, every element of it, as start and stop of each dimension."""
    stmt: Block = block.stmt
    check_covers(edit, block)
    store = only_store(edit, block, buffer)
    axes = {axis.var: axis for axis in stmt.axes}
    found: list[tuple[Expr, Expr]] = []
    for index, var in zip(store.indices, axes_of_indices(edit, block, store.indices, "store"), strict=True):
        if var is None:
            found.append((index, index + 1))
        else:
            found.append((axes[var].start, axes[var].stop))
    return found


__all__ = ["check_covers", "check_parallel", "check_permutation", "check_writes_all", "written_box"]
