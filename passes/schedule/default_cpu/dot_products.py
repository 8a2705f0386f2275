"""Sums of products along the lines of both tensors where one of them is small: matrix times vector, few rows at a time.

Several lines are read at once, each with a vector of partial sums, so that what is small is loaded once for all of them
and more of memory is on its way. The lanes are added up at the end, so sums are rounded in another order.

for i_0 in T.parallel(n // 4):
    for k_0 in range(K // 16): 4 vectors of partial sums += A[i, k_0 * 16 : k_0 * 16 + 16] * x[k_0 * 16 : k_0 * 16 + 16]
    add up the lanes of each
"""

from __future__ import annotations

from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses

from ..primitive import BlockHandle, LoopHandle
from .nests import Dim, Nest, factors, indices_of, stride_of
from .reductions import one_by_one
from .work import Work

# lines at once, the most first; rows of the small tensor; vectors of a line that are worth it
LINES, ROWS, LONG = (4, 5, 3, 2), 6, 8


def dot_products(work: Work, nest: Nest) -> bool:
    """Schedule a matrix times a vector, or times few of them; False for other blocks."""
    lines = lines_of(work, nest)
    if lines is None:
        return False
    sch, name = work.sch, nest.name
    (inner,) = nest.reduced
    if nest.dtype.is_int and any(load.dtype.bits < nest.dtype.bits for load in nest.loads()):
        # LLVM knows the instructions that widen, multiply and add
        sch.reorder(*[dim.loop for dim in nest.spatial], inner.loop)
        return one_by_one(work, name, inner.loop, nest.work)
    size = next(size for size in LINES if lines.extent % size == 0)
    lanes = work.facts.lanes(nest.dtype.bits)
    others = [dim for dim in nest.spatial if dim is not lines]
    rows = [dim for dim in others if dim.extent <= ROWS]
    outer = [dim.loop for dim in others if dim.extent > ROWS]
    sch.reorder(*outer, lines.loop, *[dim.loop for dim in rows], inner.loop)
    _, lane = sch.split(inner.loop, [None, lanes])
    partial = sch.rfactor(lane)
    *outer, whole = sch.get_loops(name)[: len(outer) + 1]
    first, _ = sch.split(whole, [None, size])
    sch.compute_at(partial, first)
    around = len(outer) + 1
    lane, steps, kept = _loops(work, partial, around)
    sch.reorder(steps, *kept, lane)
    given = indices_of(len(nest.store.indices) + 1)
    sch.transform_layout(partial, ("write", 0), IndexMap(given, (*given[1:], given[0])))
    sch.decompose_reduction(partial, steps)
    for part in (f"{partial.name}_init", f"{partial.name}_update"):
        *written, lane = sch.get_loops(part)[-1 - len(kept) :]
        sch.vectorize(lane)
        for loop in written:
            sch.unroll(loop)
    work.contract(f"{partial.name}_update")
    work.parallel([*outer, first], nest.work)
    work.done |= {name, partial.name, f"{partial.name}_init", f"{partial.name}_update"}
    return True


def words(work: Work, nest: Nest) -> bool:
    """Leave sums of products of 16 bits along the lines of both tensors to LLVM; False for other blocks.

    It knows the instruction that multiplies such and adds up neighbours: tiles would widen each element first.
    """
    loads = factors(nest.value) if nest.update is not None and nest.update.op is OPS["add"] else None
    if loads is None or len(loads) != 2 or len(nest.reduced) != 1 or str(nest.dtype) != "int32":
        return False
    (inner,) = nest.reduced
    if any(str(load.dtype) != "int16" or stride_of(load, inner.var) != 1 for load in loads):
        return False
    if inner.extent < 2 * work.facts.lanes(16):
        return False
    work.sch.reorder(*[dim.loop for dim in nest.spatial], inner.loop)
    return one_by_one(work, nest.name, inner.loop, nest.work)


def lines_of(work: Work, nest: Nest) -> Dim | None:
    """The dimension over the lines of the large tensor; None where the block is no such sum."""
    loads = factors(nest.value) if nest.update is not None and nest.update.op is OPS["add"] else None
    if loads is None or len(loads) != 2 or len(nest.reduced) != 1 or nest.dtype.bits < 16:
        return None
    if nest.dtype.is_float and not work.facts.reassociate:
        return None
    (inner,) = nest.reduced
    lanes = work.facts.lanes(nest.dtype.bits)
    if inner.extent < LONG * lanes or inner.extent % lanes:
        return None
    if any(stride_of(load, inner.var) != 1 for load in loads):
        return None
    alone = [
        [dim for dim in nest.spatial if uses(one.indices, dim.var) and not uses(other.indices, dim.var)]
        for one, other in (loads, loads[::-1])
    ]
    for mine, yours in (alone, alone[::-1]):
        few = 1
        for dim in yours:
            few *= dim.extent
        lines = max(mine, key=lambda dim: dim.extent, default=None)
        if lines is not None and few <= ROWS and any(lines.extent % size == 0 for size in LINES):
            return lines if lines.extent >= 2 * LINES[0] else None
    return None


def _loops(work: Work, partial: BlockHandle, around: int) -> tuple[LoopHandle, LoopHandle, list[LoopHandle]]:
    """The loops of the partial sums inside of `around` others: over the lanes, the steps, and the sums beside."""
    block = work.block(partial.name)
    axes = {axis.var: axis for axis in block.axes}
    lane_axis = block.body[0].indices[0]  # type: ignore[attr-defined]
    lane: list[LoopHandle] = []
    steps: list[LoopHandle] = []
    kept: list[LoopHandle] = []
    for loop in work.sch.get_loops(partial)[around:]:
        var = work.sch.get(loop).var
        mine = next(axis for axis in axes.values() if uses(axis.value, var))
        (lane if mine.var is lane_axis else steps if mine.kind == "reduce" else kept).append(loop)
    return lane[0], steps[0], kept


__all__ = ["dot_products", "lines_of", "words"]
