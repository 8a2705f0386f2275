"""Convolutions whose filters fall into groups, each of which reads channels of its own.

for g, f in T.grid(4, 16):                               Y_reindex[g, f, y, x] += P[g * 16 + c, y + dy, x + dx]
    Y[g * 16 + f, y, x] += P[g * 16 + c, ...]      ->                             * W_reindex[g, f, c, dy, dx]
                           * W[g * 16 + f, ...]          ... Y[g * 16 + f, y, x] = Y_reindex[g, f, y, x]

With copies that the axes index alone, a group is a convolution. The weights are copied in any case, and the results go
from the registers to where they belong. Where one axis is all filters, and its group `f // 16`, it becomes two.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import walk

from ..primitive import BlockHandle
from .contraction import maker_of, result_of
from .convolution import roles_of, scheduled, with_whole_vectors
from .nests import Dim, Nest, factors, indices_of, is_plain, term
from .work import Work


def groups(work: Work, nest: Nest) -> bool:
    """Schedule a convolution of groups; False where the block is none."""
    if nest.update is None or nest.update.op is not OPS["add"]:
        return False
    loads = factors(term(nest.update.value)[0])
    if loads is None or len(loads) != 2 or loads[0].buffer is loads[1].buffer:
        return False
    found = divided(nest, (*loads[0].indices, *loads[1].indices))
    if found is not None:
        work.sch.transform_block_layout(nest.name, _two_axes(nest, *found))
        made = work.nest(nest.name, symbolic=not nest.known)
        return made is not None and groups(work, made)
    if is_plain(BufferLoad(nest.store.buffer, nest.store.indices), nest) and any(
        is_plain(load, nest) for load in loads
    ):
        return False
    ways = [(load.buffer.name, rounded) for rounded in (False, True) for load in loads]
    return any(work.attempt(_of_axes_alone, nest, *way) for way in ways)


def _of_axes_alone(work: Work, nest: Nest, weights: str, rounded: bool) -> bool:
    """Schedule a convolution whose weights and results are copies by the axes; `rounded` up to whole vectors."""
    result: BlockHandle | None = None
    if not is_plain(BufferLoad(nest.store.buffer, nest.store.indices), nest):
        result = work.sch.reindex(nest.name, ("write", 0))
    packed = work.sch.reindex(nest.name, ("read", weights))
    made = work.nest(nest.name, symbolic=not nest.known)
    if made is None:
        return False
    roles = roles_of(work, made, rounded=rounded)
    if roles is None or roles.weights.buffer.name != f"{weights}_reindex":
        return False
    if rounded:
        found = with_whole_vectors(work, made, roles)
        if found is None:
            return False
        made, roles = found
        work.sch.compute_inline(packed)
        packed = maker_of(work, nest.name, f"{weights}_reindex")
        result = result_of(work, made, result, True)
    scheduled(work, made, roles, None, packed, result)
    return True


def divided(nest: Nest, indices: Sequence[Expr]) -> tuple[Dim, int] | None:
    """An axis whose number over another is an index, and that other; None where there is none, or it leaves a rest."""
    for node in (node for index in indices for node in walk(index)):
        if type(node) is Call and node.op is OPS["floordiv"] and type(node.args[1]) is Const:
            dim, size = nest.dim(node.args[0]), int(node.args[1].value)
            if dim is not None and not dim.reduces and 1 < size < dim.extent and dim.divides(size):
                return dim, size
    return None


def _two_axes(nest: Nest, dim: Dim, size: int) -> IndexMap:
    """All axes of a block, one of them as the groups of so many, and its place in them."""
    given = indices_of(len(nest.block.axes))
    out: list[Expr] = []
    for axis, index in zip(nest.block.axes, given, strict=True):
        out += [index // size, index % size] if axis is dim.axis else [index]
    return IndexMap(given, tuple(out))


__all__ = ["divided", "groups"]
