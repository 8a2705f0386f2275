"""sequential_buffer_access: a buffer laid out in the order in which a block goes through it."""

from __future__ import annotations

from tirscript.ir.arith.presburger import MappedDomain
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import cast, const
from tirscript.ir.rewrite import substitute, uses
from tirscript.ir.stmt import Block, BufferStore

from ..dataflow import check_not_viewed, loads_of, stores_of
from ..edit import Edit
from ..primitive import BlockAt, primitive
from ..tree import Place
from .transform_layout import chosen_buffer, transform_layout


@primitive
def sequential_buffer_access(edit: Edit, block: BlockAt, buffer: str | int | tuple[str, int | str]) -> None:
    """Lay a buffer out so that the loops around a block go through its elements one by one, as they lie in memory.

    before:                                    after `sequential_buffer_access("C", "B")`:
        B = T.alloc_buffer((64, 64))               B = T.alloc_buffer((4, 64, 16))
        for i, j0, k, j1 in ...:                   for i, j0, k, j1 in ...:
            with T.block("C"):                         with T.block("C"):
                ... B[vk, vj]                              ... B[vj // 16, vk, vj % 16]

    It is a transform_layout to a dimension for each loop that the access depends on, outermost first. The block must
    access one element in each instance, and the loops each element once for all others. `buffer` is a name, or
    ("read", 0) or ("write", 0).
    """
    stmt: Block = block.stmt
    target = chosen_buffer(edit, block, buffer)
    check_not_viewed(edit, block, target)
    accesses: list[BufferLoad | BufferStore] = [*loads_of(stmt.body, target), *stores_of(stmt.body, target)]
    values = {axis.var: axis.value for axis in stmt.axes}
    found: list[tuple[Expr, ...]] = [substitute(access.indices, values) for access in accesses]
    known = edit.analyzer(block)
    for other, access in zip(found[1:], accesses[1:], strict=True):
        if not all(known.prove_equal(a, b) for a, b in zip(found[0], other, strict=True)):
            edit.refuse(f"the block accesses `{target.name}` at several elements", (block, ""), (access, "here"))
    loops = [place for place in block.loops() if any(uses(index, place.stmt.var) for index in found[0])]
    for place in loops:
        if place.stmt.step is not None or not known.prove_equal(place.stmt.start, _zero(place)):
            edit.refuse(f"the loop `{place.stmt.var.name}` does not count from 0 by ones", place)
    params = tuple(place.stmt.var for place in loops)
    extents = [place.stmt.extent for place in loops]
    if not loops:
        edit.refuse(f"no loop around the block goes through `{target.name}`", block)
    walk = IndexMap(params, found[0])
    back = walk.inverse_of(extents) if walk.is_injective(extents) else None
    if back is None:
        names = ", ".join(f"`{var.name}`" for var in params)
        collision = MappedDomain(walk, extents, dict(known.known)).collision()
        edit.refuse(
            f"the loops {names} are not proved to access each element of `{target.name}` once",
            block,
            notes=[] if collision is None else [str(collision)],
        )
    domain = walk.map_shape(extents)
    if (
        domain is None
        or not walk.is_bijective(extents)
        or not all(known.prove_equal(cast(a, b.dtype), b) for a, b in zip(domain, target.shape, strict=True))
    ):
        edit.refuse(f"the loops are not proved to access all of `{target.name}`", block)
    transform_layout(edit, block, target.name, IndexMap(back.params, back.indices))


def _zero(place: Place) -> Expr:
    return const(0, place.stmt.var.dtype)
