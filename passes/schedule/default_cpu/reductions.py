"""Reductions along the lines of what they read: sums, products, minima and maxima of rows, or of everything.

Each lane of a few vectors has a partial result of its own, and these are combined at the end, so sums of floats are
rounded in another order than that of the loops.

for i in T.parallel(n):
    for k_0 in range(m // 64): 4 vectors of partial results += A[i, k_0 * 64 : k_0 * 64 + 64]
    combine the 64 partial results
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirscript.ir.arith.linear import linear
from tirscript.ir.diagnostic import error
from tirscript.ir.expr import BufferLoad, Call, Const
from tirscript.ir.op import OPS, get_op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import uses, walk

from ..blocks import writes_of
from ..extremes import extreme_of
from ..primitive import BlockHandle, LoopHandle
from ..refusal import ScheduleError
from .nests import Dim, Nest, begins_anyway, by_library, goes_along_fields, heavy, stride_of
from .streams import parameters
from .work import Work

# lanes of numbers that become so many times as long have to be taken apart first
WIDENS = 4
# but it writes out loops of up to so many iterations, before it looks for vectors
UNROLLED = 64
# whole vectors that a line is of where lanes share what they read
SHARED = 4
# partial results are kept in so many vectors, so that one addition need not wait for another
VECTORS = 4
# lines whose length is not known may be short: each vector more has to be combined
SYMBOLIC = 2
# lines of fewer vectors are reduced one by one, and searched
SHORT, SHORT_SEARCH = 2, 4
# vectors of fewer lanes than a register holds are worth it for short lines, down to so many, of so many elements
NARROWEST, FEWEST = 4, 12
# several lines that have so many vectors together are reduced in lanes, however short each is
MANY = 16
# those of symbolic length pay from so many quarters of their vectors on
PAYS = 5
# a reduction of everything is cut into parts for threads, always the same ones so that results do not depend on threads
PARTS, PART = 64, 1 << 16
# such reductions of so many bytes prefetch what they read so many bytes later
LARGE, AHEAD = 1 << 22, 4096


def lanes_together(work: Work, nests: Sequence[Nest]) -> bool:
    """Schedule reductions of one block each along the same lines in one loop, which reads them once; False where they
    are not such."""
    lines = [line_of(work, nest) for nest in nests]
    if len(nests) < 2 or len(nests) * VECTORS * 2 > work.facts.registers or None in lines:
        return False
    first, line = nests[0], lines[0]
    assert line is not None
    for nest in nests:
        if nest.dtype is not first.dtype or not nest.dtype.is_float or len(nest.reduced) > 1:
            return False
        if not nest.reduced[0].known or nest.reduced[0].extent != line.extent:
            return False
    if not set.intersection(*({load.buffer for load in nest.loads()} for nest in nests)):
        return False
    lanes = lanes_of(line.extent, _vector_for(work, first, line), any(map(_chooses, nests)))
    partial = [_partial(work, nest.name, lanes) for nest in nests]
    together = work.sch.merge(*(along for _, along in partial))
    for nest, (block, _) in zip(nests, partial, strict=True):
        _begun(work, nest.name, block, together)
        _combined(work, nest.name, lanes, _vector(work, nest.name))
    return True


def lanes_behind(work: Work, nest: Nest, maker: Nest) -> bool:
    """Schedule a reduction of a line in the loop that makes the line; False where the two do not go along the same.

    for k_0 in range(m // 32):
        power[k_0 * 32 : k_0 * 32 + 32] = exp(...)
        2 vectors of partial results += power[k_0 * 32 : k_0 * 32 + 32]
    """
    line, one = line_of(work, nest), work.facts.lanes(nest.dtype.bits)
    made = maker.dims[-1]
    if line is None or len(nest.reduced) > 1 or line.known != made.known or made.axis.stop != line.axis.stop:
        return False
    if maker.dtype is not nest.dtype or maker.store.indices[-1] is not made.var:
        return False
    # what is computed for each element takes longer than a sum waits for the last one: any number of vectors does
    lanes = next(
        (size * one for size in (2, 1) if line.divides(size * one)), line.extent if line.known else SYMBOLIC * one
    )
    if line.extent < 2 * lanes or not (line.known or work.facts.long_lines):
        return False
    if not line.known:
        work.long_from(line.axis.stop, PAYS * lanes // 4)
    block, along = _partial(work, nest.name, lanes)
    pieces, vector = work.sch.split(made.loop, [None, lanes])
    work.sch.vectorize(vector)
    _begun(work, nest.name, block, work.sch.merge(pieces, along))
    _combined(work, nest.name, lanes, _vector(work, nest.name))
    return True


def _chooses(nest: Nest) -> bool:
    """Whether what a reduction takes depends on conditions, which become masks."""
    return any(type(node) is Call and node.op in CHOICES for node in walk(nest.value))


def line_of(work: Work, nest: Nest) -> Dim | None:
    """The dimension along memory of a reduction that may be done in lanes; None where there is none."""
    if nest.update is None or nest.dtype.bits < 8:
        return None
    if nest.dtype.is_float and not work.facts.reassociate:  # maxima as well: where nan is among them, the order counts
        return None
    one = work.facts.lanes(nest.dtype.bits)
    strides = {id(dim): [_step(load, dim, one) for load in nest.loads()] for dim in nest.reduced}
    inner = next((dim for dim in nest.reduced if 1 in strides[id(dim)] and {0, 1}.issuperset(strides[id(dim)])), None)
    if inner is None:
        inner = next((dim for dim in nest.reduced if _goes_along_fields(nest, dim)), None)
    if inner is None:
        return None
    return inner if _vector_for(work, nest, inner) else None


def _goes_along_fields(nest: Nest, dim: Dim) -> bool:
    """Whether lanes take a dimension along fields of small records: not where they can take the results, as nothing
    that is read is a matter of both."""
    both = any(
        uses(load.indices, dim.var) and any(uses(load.indices, one.var) for one in nest.spatial)
        for load in nest.loads()
    )
    return (both or not nest.spatial) and goes_along_fields(nest.loads(), dim.var)


def _step(load: BufferLoad, dim: Dim, lanes: int) -> int | None:
    """How many elements further a step along a dimension reads; 0 as well where several steps read the same one, as
    those of `W[i, j // 2]`, and whole vectors of a line begin with the first of them."""
    if not dim.known or dim.extent % (SHARED * lanes):
        return stride_of(load, dim.var)
    last = linear(load.indices[-1])
    atom = next((atom for atom in last.terms if uses(atom, dim.var)), None)
    if type(atom) is not Call or atom.op is not OPS["floordiv"] or atom.args[0] is not dim.var:
        return stride_of(load, dim.var)
    count, others = atom.args[1], (*last.without(atom).terms, *load.indices[:-1])
    if type(count) is not Const or count.value < 2 or last.terms[atom] != 1:
        return stride_of(load, dim.var)
    if any(uses(other, dim.var) for other in others):
        return stride_of(load, dim.var)
    fewer, more = sorted((int(count.value), lanes))
    return 0 if more % fewer == 0 else None


def _vector_for(work: Work, nest: Nest, line: Dim) -> int:
    """The lanes of the vectors that a line is reduced in: fewer than a register has where it has no two of these; 0 for
    a line that is too short, so that combining the lanes would take as long as the sum."""
    one = work.facts.lanes(nest.dtype.bits)
    if one <= line.extent and math.prod(dim.extent for dim in nest.reduced) >= MANY * one:
        return one
    while one > NARROWEST and line.extent < SHORT * one:
        one //= 2
    return one if line.extent >= max(FEWEST, SHORT * one) else 0


def lanes_apart(work: Work, nest: Nest) -> bool:
    """Schedule a reduction that reads along its innermost reduction axis; False where it does not."""
    inner = line_of(work, nest)
    if inner is None:
        return False
    one, sch = _vector_for(work, nest, inner), work.sch
    # the reduction innermost, and the axis along the lines last of all
    others = [dim.loop for dim in nest.reduced if dim is not inner]
    sch.reorder(*[dim.loop for dim in nest.spatial], *others, inner.loop)
    # LLVM puts sums of integers into lanes itself, and knows the instructions that widen as they add
    widened = max(nest.dtype.bits // load.dtype.bits for load in nest.loads())
    alike = all(load.dtype.bits == nest.dtype.bits for load in nest.loads())
    itself = widened > 1 or (inner.known and not (alike and inner.extent <= UNROLLED))
    simple = nest.dtype.is_int and (widened > WIDENS or (itself and not others))
    everything = not nest.spatial and not others and inner.known and inner.extent >= 2 * PART
    one_lane = simple or by_library(nest.value)
    if (not inner.known and not work.facts.long_lines) or (one_lane and not everything):
        return one_by_one(work, nest.name, [*others, inner.loop][0], nest.work)
    name, lanes = (
        nest.name,
        lanes_of(inner.extent, one, everything or _chooses(nest)) if inner.known else SYMBOLIC * one,
    )
    if not inner.known:
        # what is begun and combined once for several lines pays from shorter ones on
        work.long_from(sch.get(inner.loop).stop, lanes // 2 if others else PAYS * lanes // 4)
    if everything:
        most = min(PARTS, inner.extent // PART)
        # of integers equal ones: a condition in the last one would keep LLVM from vectors
        equal = next((count for count in range(most, 1, -1) if inner.divides(count)), 0) if simple else 0
        size = -(-inner.extent // most)
        part, _ = sch.split(inner.loop, [equal, None] if equal else [None, -(-size // lanes) * lanes])
        partial = sch.rfactor(part)
        work.done.add(name)
        name = partial.name
        if equal:
            return one_by_one(work, name, sch.get_loops(name)[-1], nest.work)
    whole = len(sch.get_loops(name)) <= len(nest.dims) + 1
    update = lane_results(work, name, lanes)
    if nest.known and heavy(nest.value):
        _ahead(work, update, nest.instances)
    if whole:
        work.parallel(sch.get_loops(name)[:-1], nest.work)
    return True


def extreme_lanes(work: Work, name: str) -> bool:
    """Schedule a search for the greatest or least element along memory; False where the block is none."""
    sch, block = work.sch, work.block(name)
    found, loops = extreme_of(block), work.sch.get_loops(name)
    if found is None or not loops or any(len(sch.get(loop).body) != 1 for loop in loops):
        return False
    axis = next(axis for axis in block.axes if axis.kind == "reduce")
    # what is compared and where it is go through the same lanes
    bits = max(found.best.buffer.dtype.bits, min(found.at.buffer.dtype.bits, 32))
    extent, one = work.extent(loops[-1]), work.facts.lanes(bits)
    loads = [node for node in walk(found.value, BufferLoad) if node.indices]
    if axis.value is not sch.get(loops[-1]).var or any(stride_of(load, axis.var) not in (0, 1) for load in loads):
        return False
    alike = found.best.buffer.dtype.is_int and bits == found.best.buffer.dtype.bits  # LLVM searches these in vectors
    if found.best.buffer.dtype.bits < 8 or (extent is None and not begins_anyway(block, work.begun)):
        return False
    known = all(work.extent(loop) is not None for loop in loops)
    count = math.prod(work.extent(loop) or PART for loop in loops)
    if extent is not None and extent < (2 if alike else 1) * SHORT_SEARCH * one:
        return one_by_one(work, name, loops[-1], float(count))
    if extent is None:
        if not work.facts.long_lines:
            return one_by_one(work, name, loops[-1], float(count))
        work.long_from(sch.get(loops[-1]).stop, PAYS * SYMBOLIC * one // 4)
    if len(loops) == 1 and extent is not None and extent >= 2 * PART:
        size = -(-extent // min(PARTS, extent // PART))
        part, _ = sch.split(loops[0], [None, -(-size // (SYMBOLIC * one)) * SYMBOLIC * one])
        partial = sch.rfactor(part)
        work.done.add(name)
        name = partial.name
    update = _lanes(work, name, SYMBOLIC * one)
    _combined(work, name, SYMBOLIC * one, one)
    if known:
        _ahead(work, update, count)
    work.parallel(sch.get_loops(name)[:-1], float(count))
    return True


def one_by_one(work: Work, name: str, first: LoopHandle, count: float) -> bool:
    """Leave a reduction as it is, with its init before it, which is stored where there are no terms, too."""
    outer = work.sch.get_loops(name)
    outer = outer[: outer.index(first)]
    alone = all(len(work.sch.get(loop).body) == 1 for loop in outer)
    init = work.sch.decompose_reduction(name, first)
    work.done |= {name, init.name, f"{name}_update"}
    if alone:
        work.parallel(outer, count)
    return True


def begun_before(work: Work, name: str, depth: int = 0) -> bool:
    """Store what a reduction begins with before its loops, instead of in the first iteration; False for other blocks.

    The result stays in a register then, as that of plain loops does: LLVM does not see it through a condition.
    """
    nest = work.nest(name, depth, symbolic=True)
    if nest is None or not nest.reduced or nest.block.init is None:
        return False
    first = nest.dims.index(nest.reduced[0])
    if any(not dim.reduces for dim in nest.dims[first:]):
        return False  # the innermost loop goes along the results: the condition stays outside of it
    init = work.sch.decompose_reduction(name, nest.dims[first].loop)
    work.done |= {name, init.name, f"{name}_update"}
    return True


def _ahead(work: Work, name: str, count: int) -> None:
    """Prefetch what a search, or a sum of what is dear, reads of parameters that are large.

    It computes for so long on each vector that memory waits; a plain sum reads as fast as it can anyway.
    """
    *_, along, vector = work.sch.get_loops(name)
    lanes = int(work.sch.get(vector).stop.value)
    loads = list(walk(work.block(name).body, BufferLoad))
    for buffer in {load.buffer: None for load in loads if any(load.buffer is one for one in parameters(work))}:
        if count * buffer.dtype.itemsize >= LARGE:
            work.prefetch(name, buffer, along, max(1, AHEAD // (lanes * buffer.dtype.itemsize)))


def lanes_of(extent: int, one: int, masked: bool = False) -> int:
    """How many partial results: whole vectors that divide the iterations where there are such.

    No three of them where they are or may be `masked`: LLVM would go through these masks lane by lane.
    """
    sizes = [size for size in range(VECTORS, 0, -1) if not (masked and size & (size - 1))]
    wanted = [size for size in sizes if extent % (size * one) == 0 and extent >= 2 * size * one]
    if wanted and (wanted[0] > 1 or extent < 4 * one):
        return wanted[0] * one
    return one * max(size for size in (1, 2, VECTORS) if size == 1 or extent >= 2 * size * one)


def lane_results(work: Work, name: str, lanes: int) -> str:
    """Split the innermost loop of a reduction into lanes with partial results, which are made where they are used.

    The name of the block that reads what is reduced.
    The partial results are combined by vectors, then by quarters of a vector: one by one, each would wait for the last.
    """
    update = _lanes(work, name, lanes)
    _combined(work, name, lanes, _vector(work, name))
    return update


def _vector(work: Work, name: str) -> int:
    """The lanes of a vector of what a block stores."""
    return work.facts.lanes(work.block(name).body[0].buffer.dtype.bits)  # type: ignore[attr-defined]


def _combined(work: Work, name: str, lanes: int, one: int) -> None:
    """Combine partial results in so many lanes, of which a vector holds `one`."""
    for size in (one, one // 4):
        if 2 <= size < lanes and lanes % size == 0:
            _lanes(work, name, size)
            lanes = size


def _lanes(work: Work, name: str, lanes: int) -> str:
    """One step: partial results in vectors of so many lanes. The name of the block that updates them."""
    return _begun(work, name, *_partial(work, name, lanes))


def _partial(work: Work, name: str, lanes: int) -> tuple[BlockHandle, LoopHandle]:
    """The block of partial results in so many lanes, which are its innermost loop, and the outermost of its loops along
    what is reduced."""
    sch = work.sch
    _, lane = sch.split(sch.get_loops(name)[-1], [None, lanes])
    partial = sch.rfactor(lane)
    around = sch.get_loops(name)[:-1]
    if around and sch.get_loops(partial)[: len(around)] != around:
        sch.compute_at(partial, around[-1])
    loops = sch.get_loops(partial)[len(around) :]
    lane = next(loop for loop in loops if not _reduces(work, partial.name, loop))
    rest = [loop for loop in loops if loop != lane]
    if not rest:  # what the loops around it say of a symbolic size makes it no longer than the lanes
        raise ScheduleError([error("T501", f"`{name}` has no more iterations than the lanes it is to have")])
    sch.reorder(*rest, lane)
    return partial, rest[0]


def _begun(work: Work, name: str, partial: BlockHandle, along: LoopHandle) -> str:
    """Let partial results begin before the loop along what is reduced, in vectors; the name of what updates them."""
    sch, results = work.sch, writes_of(work.block(partial.name))
    init, parts = sch.decompose_reduction(partial, along), [along]
    work.attempt(_whole_first, along, parts)
    updates = [
        next(one for one in sch.get_child_blocks(part) if writes_of(work.block(one.name)) == results) for part in parts
    ]
    for block in (init, *updates):
        sch.vectorize(sch.get_loops(block)[-1])
    for block in updates:
        work.contract(block.name)
    update = updates[0]
    work.done |= {name, init.name, *(block.name for block in updates)}
    return str(update.name)


def _whole_first(work: Work, along: LoopHandle, parts: list[LoopHandle]) -> bool:
    """Cut a loop over vectors of unknown number into one over whole ones and one over the last, some lanes of which are
    behind the end; `parts` become these two. False for other loops."""
    stop = work.sch.get(along).stop
    if type(stop) is not Call or stop.op is not OPS["ceildiv"]:
        return False
    parts[:] = work.sch.loop_partition(along, [get_op("floordiv")(*stop.args), None])
    return True


def _reduces(work: Work, name: str, loop: LoopHandle) -> bool:
    var = work.sch.get(loop).var
    return any(axis.kind == "reduce" and uses(axis.value, var) for axis in work.block(name).axes)


__all__ = [
    "begun_before",
    "extreme_lanes",
    "lane_results",
    "lanes_apart",
    "lanes_behind",
    "lanes_of",
    "lanes_together",
    "one_by_one",
]
