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
# of more rows, the terms for each that make up for adding up lanes, where tiles would copy the large tensor first; and
# how many at most
TERMS, MOST = 32, 24


def dot_products(work: Work, nest: Nest) -> bool:
    """Schedule a matrix times a vector, or times few of them; False for other blocks."""
    found = lines_of(work, nest)
    if found is None:
        return False
    lines, many = found
    sch, name = work.sch, nest.name
    (inner,) = nest.reduced
    if nest.dtype.is_int and any(load.dtype.bits < nest.dtype.bits for load in nest.loads()):
        # LLVM knows the instructions that widen, multiply and add
        sch.reorder(*[dim.loop for dim in nest.spatial], inner.loop)
        return one_by_one(work, name, inner.loop, nest.work)
    size = next((size for size in LINES if lines.extent % size == 0), LINES[0])
    lanes = work.facts.lanes(nest.dtype.bits)
    others = [dim for dim in nest.spatial if dim is not lines]
    rows = [dim.loop for dim in others if dim.extent <= ROWS]
    outer = [dim.loop for dim in others if dim.extent > ROWS and dim is not many]
    if many is not None:
        rows = [*sch.split(many.loop, [None, height_of(many.extent)]), *rows]
    sch.reorder(*outer, lines.loop, *rows, inner.loop)
    _, lane = sch.split(inner.loop, [None, lanes])
    partial = sch.rfactor(lane)
    *outer, whole = sch.get_loops(name)[: len(outer) + 1]
    first, line = sch.split(whole, [None, size])
    at = first
    if many is not None:
        at = sch.get_loops(name)[len(outer) + 2]
        sch.reorder(at, line)
    sch.compute_at(partial, at)
    around = len(outer) + (1 if many is None else 2)
    lane, steps, kept = _loops(work, partial, around)
    sch.reorder(steps, *kept, lane)
    given = indices_of(len(nest.store.indices) + 1)
    sch.transform_layout(partial, ("write", 0), IndexMap(given, (*given[1:], given[0])))
    init, parts = sch.decompose_reduction(partial, steps), [steps]
    if inner.extent % lanes:
        parts = sch.loop_partition(steps, [inner.extent // lanes, None])
    updates = [sch.get_child_blocks(part)[0] for part in parts]
    for block in (init, *updates):
        *written, lane = sch.get_loops(block)[-1 - len(kept) :]
        sch.vectorize(lane)
        for loop in written:
            sch.unroll(loop)
    for block in updates:
        work.contract(block.name)
    if lines.extent % size:
        first, rest = sch.loop_partition(first, [lines.extent // size, None])
        work.done |= {block.name for block in sch.get_child_blocks(rest)}
    work.parallel([*outer, first], nest.work)
    work.done |= {name, partial.name, init.name, *(block.name for block in updates)}
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


def height_of(rows: int) -> int:
    """How many of more rows are read beside each other."""
    return max(size for size in range(1, ROWS + 1) if rows % size == 0)


def lines_of(work: Work, nest: Nest) -> tuple[Dim, Dim | None] | None:
    """The dimension over the lines of the large tensor, and that of the small one if it has more rows than are read at
    once; None where the block is no such sum."""
    loads = factors(nest.value) if nest.update is not None and nest.update.op is OPS["add"] else None
    if loads is None or len(loads) != 2 or len(nest.reduced) != 1 or nest.dtype.bits < 16:
        return None
    if nest.dtype.is_float and not work.facts.reassociate:
        return None
    (inner,) = nest.reduced
    lanes = work.facts.lanes(nest.dtype.bits)
    if inner.extent < LONG * lanes:
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
        if lines is None:
            continue
        if few <= ROWS:
            return (lines, None) if lines.extent >= 2 * LINES[0] else None
        large = next(load for load in loads if uses(load.indices, lines.var))
        if (
            len(yours) == 1
            and few * TERMS < inner.extent
            and few <= MOST
            and lines.extent >= 4 * few
            and height_of(few) > 2
            and not work.copied_once(large.buffer)
        ):
            return lines, yours[0]
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
