"""tile, vectorize_inner, pack: common cases, written with the other primitives."""

from __future__ import annotations

from tirscript.ir.expr import Const, Var
from tirscript.ir.op import const
from tirscript.ir.stmt import Block

from ..edit import Edit
from ..primitive import BlockAt, LoopAt, StorageScope, primitive
from ..tree import Place
from .cache import cache_read
from .compute_at import compute_at
from .kinds import vectorize
from .reorder import reorder
from .sequential_buffer_access import sequential_buffer_access
from .split import split


@primitive
def tile(edit: Edit, block: BlockAt, sizes: dict[str, int]) -> list[Place]:
    """Split the loops of a block by sizes, and put the loops over tiles outside of those in a tile; all the loops.

    before:                                    after `tile("C", {"vi": 8, "vj": 4})`:
        for i, j, k in T.grid(32, 32, 32):         for i_0, j_0, k, i_1, j_1 in T.grid(4, 8, 32, 8, 4):
            with T.block("C"): ...                     with T.block("C"): ...

    `sizes` names axes of the block that are a loop alone, or the loops themselves. Loops that it does not name stay
    between. It is split and reorder.
    """
    stmt: Block = block.stmt
    if not sizes:
        edit.wrong("`sizes` is empty")
    loops = block.loops()
    chosen: dict[Var, int] = {}
    for name, size in sizes.items():
        axis = next((axis for axis in stmt.axes if axis.var.name == name), None)
        if axis is not None and any(place.stmt.var is axis.value for place in loops):
            assert type(axis.value) is Var
            var = axis.value
        else:
            if axis is not None:
                edit.refuse(
                    f"the axis `{name}` is not one loop alone",
                    (block, ""),
                    (axis, "this axis"),
                    hint="`sizes` may name the loops themselves",
                )
            named = [place for place in loops if place.stmt.var.name == name]
            if len(named) != 1:
                names = [axis.var.name for axis in stmt.axes] + [place.stmt.var.name for place in loops]
                edit.wrong(
                    f"`{stmt.name}` has no axis or loop of the name {name!r}",
                    hint=f"its axes and loops are {', '.join(names)}",
                )
            var = named[0].stmt.var
        if var in chosen:
            edit.wrong(f"`sizes` names the loop `{var.name}` twice")
        chosen[var] = size
    outer: list[Var] = []
    between: list[Var] = []
    inner: list[Var] = []
    for var in [place.stmt.var for place in loops]:
        if var in chosen:
            parts = split(edit, edit.loop(var), [None, chosen[var]])
            outer.append(parts[0].stmt.var)
            inner.append(parts[1].stmt.var)
        elif outer:
            between.append(var)
    order = [*outer, *between, *inner]
    reorder(edit, *[edit.loop(var) for var in order])
    return [edit.loop(var) for var in order]


@primitive
def vectorize_inner(edit: Edit, block: BlockAt, lanes: int) -> Place:
    """Run the innermost loop of a block in vectors of so many lanes; the vectorized loop.

    before:                                    after `vectorize_inner("B", 8)`:
        for i in range(64):                        for i_0 in range(8):
            with T.block("B"): ...                     for i_1 in T.vectorized(8):
                                                           with T.block("B"): ...

    A loop of just so many iterations is not split. Refused where the lanes do not divide the iterations. It is split
    and vectorize.
    """
    loops = block.loops()
    if not loops:
        edit.refuse(f"there is no loop around the block `{block.stmt.name}`", block)
    inner = loops[-1]
    extent = edit.analyzer(inner).simplify(inner.stmt.extent)
    if lanes < 1:
        edit.wrong(f"`lanes` is {lanes}, not at least 1")
    if not edit.analyzer(inner).prove_equal(extent % lanes, const(0, extent.dtype)):
        edit.refuse(
            f"{lanes} lanes do not divide the iterations of `{inner.stmt.var.name}`",
            inner,
            hint="split the loop, and vectorize the inner one: it then gets a predicate",
        )
    if not (type(extent) is Const and extent.value == lanes):
        inner = split(edit, inner, [None, lanes])[1]
    var = inner.stmt.var
    vectorize(edit, inner)
    return edit.loop(var)


@primitive
def pack(
    edit: Edit,
    block: BlockAt,
    read_buffer_index: int | str,
    storage_scope: StorageScope = "global",
    loop: LoopAt | None = None,
) -> Place:
    """Copy a buffer that a block reads into the order in which the block goes through it; the block that copies.

    before:                                    after `pack("C", "B")`:
        for i, j_0, k, j_1 in ...:                 for ax0, ax1 in T.grid(64, 64):
            with T.block("C"):                         with T.block("B_global"):
                C[vi, vj] += A[vi, vk] * B[vk, vj]         B_global[v1 // 16, v0, v1 % 16] = B[v0, v1]
                                                   for i, j_0, k, j_1 in ...:
                                                       with T.block("C"):
                                                           C[vi, vj] += A[vi, vk] * B_global[vj // 16, vk, vj % 16]

    The copy is made before all loops, or at the begin of each iteration of `loop`. It is cache_read,
    sequential_buffer_access and compute_at.
    """
    name = block.stmt.name
    copy = cache_read(edit, block, read_buffer_index, storage_scope, [block])
    copied = copy.stmt.name
    cache = copy.stmt.body[0].buffer
    sequential_buffer_access(edit, edit.block(name), cache.name)
    if loop is not None:
        compute_at(edit, edit.block(copied), edit.loop(loop.stmt.var))
    return edit.block(copied)
