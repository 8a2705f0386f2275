"""What compute_at and reverse_compute_at share: the region that one iteration of a loop needs, and loops over it."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr, Var, is_const
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import definitions, free_vars, refresh, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ..access import Access, Accesses, Extent, box, union
from ..statements import conjunction, same_indices
from .dataflow import allocation, before, scope_of
from .edit import Edit, defined_in, used_in
from .tree import Place

Box = tuple[Extent, ...]


def needed(edit: Edit, loop: Place, buffer: Buffer, *, write: bool, blocks: Sequence[Place]) -> Box:
    """The box of `buffer` that `blocks` read (or write) in one iteration of `loop`, in names known outside of it."""
    known = edit.analyzer(loop, inside=True)
    seen = Accesses(loop.stmt.body, known=known.known)
    own = frozenset(name for name in definitions(loop.stmt.body) if type(name) is Var)
    inside = {id(place.stmt) for block in blocks for place in (block, *block.below(Block))}
    found: list[Access] = [
        access
        for access in seen.found
        if access.buffer is buffer and access.write is write and access.block is not None and id(access.block) in inside
    ]
    result: Box | None = None
    for access in found:
        area = box(access, seen, own)
        if area is None:
            return (None,) * buffer.ndim
        result = area if result is None else union(result, area)
        if result is None:
            return (None,) * buffer.ndim
    if result is None:
        edit.refuse(f"the loop `{loop.stmt.var.name}` does not use `{buffer.name}`", loop)
    return result


def nest(
    edit: Edit, block: Block, ranges: dict[Var, tuple[Linear, Linear] | None], loop: Place, preserve_unit_loops: bool
) -> tuple[Stmt, Var | None]:
    """`block` in loops of its own over `ranges` of its axes, both ends included; an axis without one is whole.

    Parts of a range that may lie outside of the axis get a predicate. The old predicate is dropped: the axes now cover
    exactly what they are asked for.
    """
    known = edit.analyzer(loop, inside=True)
    loops: list[tuple[Var, Expr]] = []
    axes: list[Axis] = []
    conditions: list[Expr] = []
    number = 0
    for axis in block.axes:
        _check_known(edit, axis, loop)
        low, extent = axis.start, known.simplify(axis.extent)
        if extent.dtype is not axis.var.dtype:
            edit.refuse(f"the dtype of `{axis.var.name}` does not hold how many values it takes", (loop, ""), axis)
        clipped = False
        area = ranges.get(axis.var)
        if area is not None:
            low = known.simplify(cast(expression(area[0]), axis.var.dtype))
            extent = known.simplify(cast(expression((area[1] - area[0]).shifted(1)), axis.var.dtype))
            clipped = True
        value: Expr = low
        if preserve_unit_loops or not is_const(extent, 1):
            var = Var(f"ax{number}", axis.var.dtype)
            number += 1
            loops.append((var, extent))
            value = var if is_const(low, 0) else low + var
            known.bind(var, (const(0, var.dtype), extent))
        if clipped:
            for condition in (value >= axis.start, value < axis.stop):
                if not known.can_prove(condition):
                    conditions.append(condition)
        axes.append(_bounded(axis.replace(value=value), loops, loop))
    made: Stmt = block.replace(axes=tuple(axes), predicate=conjunction(conditions))
    for var, extent in reversed(loops):
        made = For(var, const(0, var.dtype), extent, (made,), span=block.span)
    if loops and block.trivia is not None:
        made = made.replace(trivia=block.trivia)
        made = _without_trivia(made, block.name)
    return refresh(made), (loops[0][0] if loops else None)


def _check_known(edit: Edit, axis: Axis, loop: Place) -> None:
    """Refuse an axis whose ends depend on a loop that is not around the new place of its block."""
    for var in free_vars((axis.start, axis.stop)):
        place = edit.tree.loops.get(var)
        if place is not None and not place.contains(loop):
            message = f"the extent of `{axis.var.name}` depends on the loop over `{var.name}`"
            edit.refuse(f"{message}, which is not around `{loop.stmt.var.name}`", (loop, ""), (axis, "this axis"))


def _bounded(axis: Axis, loops: Sequence[tuple[Var, Expr]], loop: Place) -> Axis:
    """An axis that is a loop alone, with the loop's range for its domain: only so much of it is needed."""
    value = axis.value
    if type(value) is not Var:
        return axis
    for var, extent in loops:
        if var is value:
            zero = const(0, axis.var.dtype)
            return axis if extent == axis.stop and axis.start == zero else axis.replace(start=zero, stop=extent)
    for place in (loop, *loop.above()):
        if type(place.stmt) is For and place.stmt.var is value and place.stmt.step is None:
            start, stop = (cast(end, axis.var.dtype) for end in (place.stmt.start, place.stmt.stop))
            return axis if start == axis.start and stop == axis.stop else axis.replace(start=start, stop=stop)
    return axis


def _without_trivia(stmt: Stmt, name: str) -> Stmt:
    """The nest with the block's comments taken off the block: they stand at its first loop."""
    if type(stmt) is Block:
        return stmt.replace(trivia=None)
    assert type(stmt) is For
    return stmt.replace(body=tuple(_without_trivia(inner, name) for inner in stmt.body))


def axes_of_indices(
    edit: Edit, block: Place, indices: Sequence[Expr], what: str, kinds: Sequence[str] = ("spatial",)
) -> list[Var | None]:
    """The axis that each index is, None for a number; refused where an index is something else."""
    stmt: Block = block.stmt
    named = {axis.var for axis in stmt.axes if axis.kind in kinds}
    word = " or ".join(kinds)
    found: list[Var | None] = []
    for index in indices:
        if type(index) is Const:
            found.append(None)
        elif type(index) is Var and index in named and index not in found:
            found.append(index)
        else:
            edit.refuse(
                f"an index of the {what} of the block `{stmt.name}` is not one of its {word} axes alone",
                (block, ""),
                (index, "this index"),
                hint="transform_block_layout or reindex make the indices plain axes",
            )
    return found


def only_store(edit: Edit, block: Place, buffer: Buffer) -> BufferStore:
    """The store of a block to a buffer; refused where there are several at other indices."""

    from .dataflow import stores_of

    stores = stores_of(block.stmt.body, buffer)
    if not stores:
        edit.refuse(f"the block `{block.stmt.name}` writes `{buffer.name}` by other means than a store", block)
    for other in stores[1:]:
        if not same_indices(stores[0].indices, other.indices):
            edit.refuse(
                f"the block `{block.stmt.name}` stores to several elements of `{buffer.name}`", (block, ""), other
            )
    return stores[0]


def shared_axes(edit: Edit, block: Place, loop: Place) -> dict[Var, tuple[Linear, Linear]]:
    """The spatial axes of a block that only loops around `loop` decide: they stay what they are, wherever it moves."""
    shared = {place.stmt.var for place in loop.above() if type(place.stmt) is For}
    inner = {place.stmt.var for place in block.loops()} - shared
    found: dict[Var, tuple[Linear, Linear]] = {}
    for axis in block.stmt.axes:
        used = set(free_vars(axis.value))
        if used.isdisjoint(shared):
            continue
        if axis.kind != "spatial":
            edit.refuse(
                f"a loop around both runs over the {axis.kind} axis `{axis.var.name}` of `{block.stmt.name}`",
                (block, ""),
                (axis, "this axis"),
            )
        if used.isdisjoint(inner):
            found[axis.var] = (linear(axis.value), linear(axis.value))
    return found


def check_stored_once(edit: Edit, block: Place, named: Sequence[object]) -> None:
    """Refuse where a block stores for several points of a spatial axis at one place: which comes last would change."""
    stmt: Block = block.stmt
    known = edit.analyzer(block)
    for axis in stmt.axes:
        if axis.kind != "spatial" or any(axis.var is var for var in named) or not uses(stmt.body, axis.var):
            continue
        if not known.prove_equal(axis.extent, const(1, axis.extent.dtype)):
            edit.refuse(
                f"the block `{stmt.name}` stores for every value of the axis `{axis.var.name}` at the same place",
                (block, ""),
                (axis, "this axis"),
            )


def scope_to_move_in(edit: Edit, block: Place, loop: Place) -> Place:
    """The block, or the function, in which a block moves into a loop; refused where it cannot go there."""
    stmt: Block = block.stmt
    scope = scope_of(edit, block)
    if scope is not (loop.block() or edit.tree.root):
        edit.refuse(f"the loop `{loop.stmt.var.name}` stands in another block than `{stmt.name}`", (block, ""), loop)
    if loop.contains(block):
        edit.refuse(f"the block `{stmt.name}` is in the loop `{loop.stmt.var.name}` already", (block, ""), loop)
    moved_loops(edit, block, "moved")
    return scope


def moved_loops(edit: Edit, block: Place, what: str) -> list[Place]:
    """The loops that a block leaves behind; refused where its axes are no plain ones."""
    stmt: Block = block.stmt
    for axis in stmt.axes:
        if axis.kind not in ("spatial", "reduce"):
            edit.refuse(f"the axis `{axis.var.name}` is {axis.kind}, so the block cannot be {what}", (block, ""), axis)
    if not stmt.axes:
        edit.refuse(f"the block `{stmt.name}` has no axes, so the elements that it makes are not known", block)
    return block.loops()


def allocate_before(edit: Edit, buffer: Buffer, target: Place) -> None:
    """Let a buffer that is allocated behind the place of what will store it be there by then."""
    home = allocation(edit, buffer)
    if home is None or before(home, target):
        return
    first = target
    while first.parent is not None and first.parent is not home.parent:
        first = first.parent
    between = () if first.parent is None else tuple(place.stmt for place in home.siblings()[first.index : home.index])
    if first.parent is None or first.field != home.field or defined_in(between) & used_in(home.stmt):
        word = "loop" if type(target.stmt) is For else "block"
        edit.refuse(
            f"`{buffer.name}` is allocated behind the {word}, and cannot be before it",
            (target, ""),
            (home, "here"),
        )
    stmt = home.stmt
    edit.replace(home)
    edit.tree.insert(first, before=(stmt,))


__all__ = [
    "Box",
    "allocate_before",
    "axes_of_indices",
    "check_stored_once",
    "moved_loops",
    "needed",
    "nest",
    "only_store",
    "shared_axes",
]
