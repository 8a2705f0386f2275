"""The rules of the default schedule, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Set

from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Attr, Block, For, LaunchThread

from ...statements import may_overlap
from ..schedule import Schedule
from .byte_lanes import byte_lanes
from .byte_windows import byte_windows
from .chains import finishing, inline_producers, rows, shared_rows
from .columns import down_columns
from .contraction import contraction, placed
from .convolution import convolution, filters_along, pointwise, rounded_convolution, unfolded
from .dot_products import dot_products, words
from .elementwise import along, in_memory_order, in_own_vectors, parallel, short_lines, stream, transpose
from .facts import CpuFacts
from .groups import groups
from .histograms import private_copies
from .nests import Nest
from .operands import operands_apart
from .periods import periods
from .reductions import extreme_lanes, lanes_apart
from .scans import pieces
from .streams import past_caches
from .tile_products import tile_product
from .tiles import in_scalars, register_tile
from .transposes import by_squares, tiled_transpose
from .whole_lines import whole_lines
from .windows import windows
from .work import Work

RULES: tuple[Callable[[Work, Nest], object], ...] = (
    rows,
    tile_product,
    periods,
    byte_lanes,
    byte_windows,
    words,
    dot_products,
    filters_along,
    contraction,
    placed,
    unfolded,
    pointwise,
    convolution,
    groups,
    operands_apart,
    rounded_convolution,
    down_columns,
    windows,
    register_tile,
    in_scalars,
    lanes_apart,
    along,
    past_caches,
    tiled_transpose,
    by_squares,
    transpose,
    in_own_vectors,
    short_lines,
    parallel,
)
# those that need no numbers of iterations
SYMBOLIC: tuple[Callable[[Work, Nest], object], ...] = (
    rows,
    periods,
    byte_lanes,
    words,
    filters_along,
    contraction,
    placed,
    pointwise,
    convolution,
    groups,
    operands_apart,
    rounded_convolution,
    windows,
    in_scalars,
    lanes_apart,
    by_squares,
    along,
    in_own_vectors,
    short_lines,
    parallel,
)
# reductions that may go on from what is there; each of these keeps their order, or asks whether it may
ONWARD: tuple[Callable[[Work, Nest], object], ...] = (
    contraction,
    convolution,
    operands_apart,
    register_tile,
    lanes_apart,
)


# blocks of a function; what depends on what is asked of each pair of them
MOST = 40


def may_schedule(func: PrimFunc) -> bool:
    """Whether a function leaves to us how it runs, and no two of its buffers may be the same memory."""
    # where arguments overlap, what is kept in registers or copies would be out of date
    if func.attrs.get("tir.is_scheduled") or may_overlap(func):
        return False
    for node in walk(func.body):
        kind = type(node)
        if kind in (LaunchThread, Attr):
            return False
        if kind is For and (node.kind != "serial" or node.annotations):  # type: ignore[attr-defined]
            return False
        if kind is Block and node.annotations:  # type: ignore[attr-defined]
            return False
    return True


def apply_rules(schedule: Schedule, facts: CpuFacts, begun: Set[str] = frozenset(), *, whole: bool = True) -> Work:
    """Schedule each block of the function by the first rule that takes it; none where there are too many. Lines of
    convolutions are rounded up to `whole` tiles where each of them is done in such. `begun` is what `Work` says."""
    work = Work(schedule, facts, begun)
    if len(work.blocks()) > MOST:
        return work
    before = schedule.mark()
    rounded = whole_lines(work) if whole else []
    inline_producers(work)
    work.done |= {block.name for block in work.blocks() if any(map(work.is_empty, work.sch.get_loops(block)))}
    # from the last block on: a reader may take its producers into its loops; that of a product goes into the product's
    waiting = finishing(work)
    for name in [*[block.name for block in reversed(work.blocks()) if block.name not in waiting], *waiting]:
        nest = in_memory_order(work, name) if work.fresh(name) else None
        if nest is not None:
            any(work.attempt(rule, nest) for rule in (RULES if nest.known else SYMBOLIC))
    for name in [block.name for block in work.blocks()]:
        if work.fresh(name):
            work.attempt(onward, name)
    for name in [block.name for block in work.blocks()]:
        nest = work.nest(name, symbolic=True) if work.fresh(name) else None
        if work.fresh(name) and (nest is None or not nest.known):
            any(work.attempt(rule, name) for rule in (extreme_lanes, pieces, private_copies, shared_rows, stream))
    if not work.tiled.issuperset(rounded):
        schedule.reset(before)
        return apply_rules(schedule, facts, begun, whole=False)
    return work


def onward(work: Work, name: str) -> bool:
    """Schedule a reduction that goes on from what its buffer holds, in a buffer of its own; False for other blocks."""
    block = work.block(name)
    if block.init is not None or all(axis.kind != "reduce" for axis in block.axes):
        return False
    results = work.sch.reduce_apart(name)
    nest = work.nest(name, symbolic=True)
    rules = ONWARD if nest is not None and nest.known else (contraction, operands_apart, lanes_apart)
    if nest is None or not any(work.attempt(rule, nest) for rule in rules):
        return False
    left = work.nest(results, symbolic=True) if work.fresh(results.name) else None
    if left is not None:
        work.attempt(parallel, left)
    return True


__all__ = ["apply_rules", "may_schedule"]
