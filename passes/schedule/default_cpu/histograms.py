"""Histograms: loops that add to elements at places read from memory, in parts that each have a copy of the elements.

for p in T.parallel(64):
    four copies of the elements, each 0; iterations take turns with them: the same element may come again and again
    results[p] = the sum of the four
the elements += results[0], results[1], ...
"""

from __future__ import annotations

import itertools
import math

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, For, While

from ..primitive import LoopHandle
from ..scattered import Obstacle, goes_anywhere, scattered
from .nests import stride_of
from .work import Work

# always the same parts, so that results do not depend on the number of threads; a part of fewer steps is not worth one
PARTS, PART = 64, 1 << 14
# fewer steps are done before other threads are awake: about one takes a nanosecond
APART = 1 << 18
# loops whose number of iterations only the call knows have so many, and so has a loop that is not looked into further
SYMBOLIC = 16
# steps for each element and part: beginning and combining a copy take less than a fiftieth of the time
OFTEN = 64
# bytes that a part updates: copies in the nearest caches, at most that of one in the second
TURNS, NEAR, OWN = 4, 64 << 10, 512 << 10
# iterations between prefetches, so many times as far ahead, of arrays of so many bytes
LINES, AHEAD, LEAST = 64, 16, 1 << 20
# statements and expressions that are written once for each turn
SMALL = 200


def private_copies(work: Work, name: str) -> bool:
    """Schedule a block that adds to elements at places read from memory; False where it does something else.

    Of floats, sums alone, as with scans: products of parts may overflow, and where nan is, the order counts.
    """
    sch, block, loops = work.sch, work.block(name), work.sch.get_loops(name)
    if not loops or any(len(sch.get(loop).body) != 1 for loop in loops):
        return False
    stmt: For = sch.get(loops[0])
    found = scattered(stmt)
    if isinstance(found, Obstacle) or not goes_anywhere(stmt, found) or not _may_reorder(work, found):
        return False
    extents = [_extent(sch.get(loop)) for loop in loops]
    if _apart(work, block, loops, extents):
        return True
    at, shapes = _divided(extents), [buffer.constant_shape() for buffer in found]
    if None in extents[:at] or None in shapes:
        return False
    counts = [math.prod(shape or ()) for shape in shapes]
    size = sum(count * buffer.dtype.itemsize for count, buffer in zip(counts, found, strict=True))
    # a loop over elements beside each other is one for vectors
    jumps = any(axis.value is sch.get(loops[-1]).var and axis.kind == "reduce" for axis in block.axes)
    last = extents[-1] or LINES
    turns = TURNS if jumps and TURNS * size <= NEAR and last >= 2 * TURNS and _is_small(block) else 1
    parts, least = _parts(extents[at], math.prod(extent or 1 for extent in extents[at + 1 :]), sum(counts))
    if (
        parts < 2
        or least > sch.get(loops[at]).var.dtype.int_range()[1]
        or size > OWN
        or (turns == 1 and work.facts.threads < 2)
    ):
        return False
    before = {one.name for one in work.blocks()}
    loop, extent = loops[at], extents[at]
    streamed = _streamed(work, block, loops[-1]) if jumps and (extents[-1] or 0) >= 2 * LINES else []
    if streamed:
        lines = _lines(work, name, streamed, loops[-1], last)
        if at == len(loops) - 1:
            loop, extent = lines, last // LINES
    if extent is not None:
        parts = next((one for one in range(parts, parts // 2, -1) if extent % one == 0), parts)
    part = work.sch.privatize(loop, parts, turns, least)
    work.done |= {name, *({one.name for one in work.blocks()} - before)}
    steps = math.inf if extents[at] is None else math.prod(extent or 1 for extent in extents[at:])
    if work.facts.threads > 1 and steps >= APART:
        work.sch.parallel(part)
    return True


def _extent(loop: For) -> int | None:
    """How many iterations a loop has, from wherever it begins; None where only the call knows."""
    return int(loop.extent.value) if type(loop.extent) is Const else None


def _parts(extent: int | None, inner: int, elements: int) -> tuple[int, int]:
    """How many parts a loop is done in, and the least number of iterations where only the call knows it.

    `inner` counts the iterations of the loops in it.
    """
    if extent is None:
        return SYMBOLIC, -(-max(OFTEN * elements, PART) * SYMBOLIC // inner)
    return min(PARTS, extent, extent * inner // max(PART, OFTEN * elements)), 0


def _streamed(work: Work, block: Block, loop: LoopHandle) -> list[Buffer]:
    """The arrays that a loop reads along memory, where the caches do not hold all of them anyway."""
    axis = next((axis.var for axis in block.axes if axis.value is work.sch.get(loop).var), None)
    found: dict[Buffer, None] = {}
    for node in walk(block.body):
        if axis is not None and type(node) is BufferLoad:
            shape = node.buffer.constant_shape() or (0,)
            if math.prod(shape) * node.buffer.dtype.itemsize >= LEAST and stride_of(node, axis) == 1:
                found[node.buffer] = None
    return list(found)


def _lines(work: Work, name: str, streamed: list[Buffer], loop: LoopHandle, extent: int) -> LoopHandle:
    """Cut the innermost loop into lines, before each of which those to come are prefetched; the loop over them.

    Which element an iteration stores is known when what it reads has come. While memory is waited for, the iterations
    behind it read elements that it may turn out to store, and begin again.
    """
    if extent % LINES:
        loop, rest = work.sch.loop_partition(loop, [extent - extent % LINES, None])
        work.done |= {block.name for block in work.sch.get_child_blocks(rest)}
    lines, _ = work.sch.split(loop, [None, LINES])
    for buffer in streamed:
        work.prefetch(name, buffer, lines, AHEAD)
    return lines


def _may_reorder(work: Work, found: dict[Buffer, Op]) -> bool:
    """Whether the updates may be combined in another order."""
    return all(
        not buffer.dtype.is_float or (work.facts.reassociate and op is OPS["add"]) for buffer, op in found.items()
    )


def _apart(work: Work, block: Block, loops: list[LoopHandle], extents: list[int | None]) -> bool:
    """Run outer loops in parallel whose iterations update elements of their own, where there are enough of them."""
    spatial = {axis.value for axis in block.axes if axis.kind == "spatial"}
    outer = list(itertools.takewhile(lambda loop: work.sch.get(loop).var in spatial, loops))
    first = extents[: len(outer)]
    if not outer or (None not in first and math.prod(extent or 1 for extent in first) < SYMBOLIC):
        return False
    work.parallel(outer, math.inf if None in extents else float(math.prod(extent or 1 for extent in extents)))
    work.done.add(block.name)
    return True


def _divided(extents: list[int | None]) -> int:
    """Which of the loops is done in parts: the outermost of enough iterations, else that of most."""
    enough = (at for at, extent in enumerate(extents) if extent is None or extent >= SYMBOLIC)
    return next(enough, max(range(len(extents)), key=lambda at: extents[at] or 0))


def _is_small(block: Block) -> bool:
    """Whether a body may be written several times, and its iterations follow each other closely."""
    nodes = list(walk(block.body))
    return len(nodes) <= SMALL and not any(type(node) in (For, While) for node in nodes)


__all__ = ["private_copies"]
