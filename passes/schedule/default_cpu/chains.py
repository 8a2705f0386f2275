"""Chains of blocks: cheap producers stand where they are read, and what a row needs is made row by row.

for i in T.parallel(rows):                   # softmax
    greatest of A[i, :]
    power[:] = exp(A[i, :] - greatest)        # stays in the cache
    total of power[:]
    B[i, :] = power[:] / total
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore

from ...simplify import simplified
from ..blocks import reads_of, writes_of
from ..primitive import BlockHandle, LoopHandle
from . import contraction, convolution, operands, tiles, windows
from .elementwise import own_vectors
from .nests import UNKNOWN, Nest, heavy, is_plain, stride_of
from .prefetching import next_row
from .reductions import UNROLLED, begun_before, lanes_apart, lanes_behind, lanes_together
from .streams import in_vectors
from .work import Work, inline, only_reader

# a cheap value is computed again at most so many times
AGAIN = 3
# the nodes of a value that others are put into
LARGEST = 400
# lines of fewer bits are no lines to reduce along
LINE = 512
# nor are those of fewer elements worth a vector
SHORTEST = 4
# what so many instances make stays in the cache
CACHED = 1 << 14


def inline_producers(work: Work) -> None:
    """Put what is cheap, or read once, where it is read."""
    for name in [block.name for block in work.blocks()]:
        nest = work.nest(name, symbolic=True)
        if nest is not None and not nest.reduced and _worth(work, nest):
            work.attempt(inline, name)


def _worth(work: Work, nest: Nest) -> bool:
    """Whether the readers of a block do no more work when they compute what they read."""
    buffer = nest.store.buffer
    if buffer not in _allocated(work) or len(set(nest.store.indices)) != len(nest.spatial):
        return False
    times, size, readers = 0, sum(1 for _ in walk(nest.value)), _readers(work, buffer)
    for reader in readers:
        other = work.nest(reader, symbolic=True)
        if other is None:
            return False
        if _permutes(nest) and contraction.roles_of(work, other) is not None:
            continue
        if is_product(work, other) and not (other.known and other.instances == nest.instances):
            return False
        loads = [load for load in _loads(other) if load.buffer is buffer]
        count = len(loads)
        if count * size + sum(1 for _ in walk(other.store.value)) > LARGEST:
            return False  # chains of values that are used twice each would double again and again
        # what stands there several times is computed once
        again = other.instances * (count if heavy(nest.value) else len({load.indices for load in loads}))
        if other.reduced and again > nest.instances and _chooses(nest.value):
            return False  # a sum that asks at every step whether it is inside of a border does not become vectors
        times += again
    return bool(readers) and times <= nest.instances * (1 if heavy(nest.value) else AGAIN)


def _permutes(nest: Nest) -> bool:
    """Whether a block puts the dimensions of a tensor in another order: products read them as well as they lie."""
    load, places = nest.store.value, nest.store.indices
    if type(load) is not BufferLoad or len(places) < 2 or not is_plain(nest.store, nest):
        return False
    return sorted(map(id, load.indices)) == sorted(map(id, places))


def _chooses(value: Expr) -> bool:
    """Whether a value depends on a condition."""
    return any(type(node) is Call and node.op in CHOICES for node in walk(value))


def _loads(nest: Nest) -> list[BufferLoad]:
    return list(walk(nest.store.value, BufferLoad))


def _allocated(work: Work) -> set[Buffer]:
    return {stmt.buffer for stmt in work.sch.func.body if type(stmt) is AllocBuffer}


def _readers(work: Work, buffer: Buffer) -> list[BlockHandle]:
    return [block for block in work.blocks() if buffer in reads_of(work.block(block.name))]


def is_product(work: Work, nest: Nest) -> bool:
    """Whether the block is a contraction or a convolution, which has a rule of its own."""
    if contraction.roles_of(work, nest) is not None or convolution.roles_of(work, nest) is not None:
        return True
    return operands.sides_of(nest) is not None or windows.roles_of(work, nest) is not None


def finishing(work: Work) -> tuple[str, ...]:
    """The blocks that alone read the result of a product, another tile or a few terms, an element for each."""
    nests = [work.nest(block, symbolic=True) for block in work.blocks()]
    readers = [only_reader(work, nest) for nest in nests if nest is not None and nest.reduced and _is_tile(work, nest)]
    return tuple(reader.name for reader in readers if reader is not None)


def _is_tile(work: Work, nest: Nest) -> bool:
    """Whether what a block reduces is kept in registers, so that its reader is best done there."""
    if is_product(work, nest):
        return True
    if not nest.known:
        return tiles.is_short(work, nest.name)
    return tiles.tile_of(work, nest) is not None or tiles.line_of_few(work, nest) is not None


def rows(work: Work, nest: Nest) -> bool:
    """Make what a block needs of reductions in the loop over its rows; False where it needs none."""
    if is_product(work, nest):
        return False
    depth = _depth(work, nest)
    if depth == 0:
        return False
    loops: list[LoopHandle] = [dim.loop for dim in nest.dims]
    row = loops[depth - 1]
    inside = [nest.name]
    for name in [block.name for block in reversed(_before(work, nest))]:
        if _feeds(work, name, inside) and work.fresh(name):
            other = work.nest(name, symbolic=True)
            if other is None or is_product(work, other) or _is_down(other):
                continue
            if work.attempt(_move, name, row):
                inside.append(name)
    if len(inside) == 1:
        return False
    if not nest.reduced:
        _without_copies(work, nest)
    instances, vectors = 0.0, False
    left: list[str] = []
    nests = {name: work.nest(name, depth, symbolic=True) for name in inside}
    alike = _along_one_line(work, nests)
    together = {nest.name for nest in alike} if work.attempt(lanes_together, alike) else set()
    for name, inner in nests.items():
        work.done.add(name)
        if inner is not None:
            instances += inner.work
            maker = _maker(inner, nests)
            if maker is not None and work.attempt(lanes_behind, inner, maker):
                vectors = True
                together.add(maker.name)
            elif name in together or work.attempt(lanes_apart if inner.reduced else _line_in_vectors, inner):
                vectors = True
            else:
                left.append(name)
    last = work.sch.get_child_blocks(row)[-1].name  # the block, or what its reduction is updated by
    for dim in nest.dims[:depth]:
        instances *= dim.extent if dim.known else math.inf
    work.parallel(work.sch.get_loops(last)[:depth], instances)
    next_row(work, last)
    for name in left:
        work.attempt(begun_before, name, depth)
    # short rows of what is in the cache anyway gain nothing
    return vectors or instances >= CACHED


def _line_in_vectors(work: Work, nest: Nest) -> bool:
    """Compute a line in vectors where those are better than LLVM's: it writes short loops out and finds no vectors."""
    column, one = nest.dims[-1], work.facts.lanes(nest.dtype.bits)
    if not column.known or not SHORTEST <= column.extent < UNROLLED:
        one = own_vectors(work, nest)
        if not one or (column.known and column.extent < one):
            return False
    elif nest.store.indices[-1] is not column.var:
        return False
    if any(stride_of(load, column.var) not in (0, 1) for load in nest.loads()):
        return False
    in_vectors(work, nest.name, column.loop, min(one, column.extent))
    return True


def _maker(nest: Nest, nests: dict[str, Nest | None]) -> Nest | None:
    """The block that makes the line a block reduces, and does so much for each element that a sum beside it is free."""
    if not nest.reduced:
        return None
    read, result = {load.buffer for load in nest.loads()}, nest.store.buffer
    makers = [one for one in nests.values() if one is not None and not one.reduced and one.store.buffer in read]
    makers = [one for one in makers if all(load.buffer is not result for load in one.loads())]
    return makers[0] if len(makers) == 1 and heavy(makers[0].value) else None


def _along_one_line(work: Work, nests: dict[str, Nest | None]) -> list[Nest]:
    """The reductions that need no result of another block, in the order of the program."""
    ordered = [nests.get(block.name) for block in work.blocks()]
    found = [nest for nest in ordered if nest is not None and nest.reduced]
    made = {nest.store.buffer for nest in nests.values() if nest is not None}
    return [nest for nest in found if not made.intersection(load.buffer for load in nest.loads())]


def _without_copies(work: Work, nest: Nest) -> None:
    """Let what is made for the elements of a result lie where these are stored: the memory waits for it only once."""
    for buffer in dict.fromkeys(load.buffer for load in nest.loads()):
        if buffer in _allocated(work):
            work.attempt(_write_in_place, nest.name, buffer.name)


def _write_in_place(work: Work, name: str, buffer: str) -> None:
    work.sch.write_in_place(name, buffer)


def shared_rows(work: Work, name: str) -> bool:
    """Schedule the reductions in loops that several blocks share already, as plain loops are written."""
    outer = work.sch.get_loops(name)[:1]
    if not outer:
        return False
    blocks: list[BlockHandle] = work.sch.get_child_blocks(outer[0])
    instances, before = 0.0, work.sch.func
    left: list[tuple[str, int]] = []
    lines: list[Nest] = []
    maps: list[str | None] = []  # blocks that reduce nothing, None for others
    for block in blocks:
        loops = work.sch.get_loops(block)
        depth = max((at + 1 for at, loop in enumerate(loops) if len(work.sch.get(loop).body) > 1), default=0)
        inner = work.nest(block, depth, symbolic=True)
        extents = [work.extent(loop) for loop in loops]
        if not depth:
            return False
        instances += math.inf if None in extents else math.prod(extent or 1 for extent in extents)
        work.done.add(block.name)
        is_map = depth < len(loops) and all(axis.kind == "spatial" for axis in work.block(block.name).axes)
        maps.append(block.name if is_map else None)
        if inner is not None and not inner.reduced:
            lines.append(inner)
        elif inner is not None and not work.attempt(lanes_apart, inner):
            left.append((block.name, depth))
    if work.sch.func is not before:
        for line in lines:
            work.attempt(_line_in_vectors, line)
    work.attempt(_parallel, outer[0], instances)
    if work.sch.func is not before:  # else the loops stay as they were written
        for one, depth in left:
            if work.attempt(begun_before, one, depth) and tiles.is_short(work, f"{one}_update"):
                work.attempt(tiles.written_out, f"{one}_update")
        for first, second in itertools.pairwise(maps):
            if first is not None and second is not None:
                work.attempt(_together, first, second)
    return True


def _together(work: Work, first: str, second: str) -> bool:
    """Compute two blocks behind each other in one loop, as it likely was before each got a loop of its own: memory is
    read once for both. False where they share none, or where an iteration of one loop would need what the other has
    made in an iteration before: no vectors could be made of that."""
    one, two = work.block(first), work.block(second)
    if not {*reads_of(one), *writes_of(one)}.intersection((*reads_of(two), *writes_of(two))):
        return False
    loops = [work.sch.get_loops(name)[-1] for name in (first, second)]
    along: Var = work.sch.get(loops[0]).var
    places = [_places(block, {work.sch.get(loop).var: along}) for block, loop in zip((one, two), loops, strict=True)]
    made = {*writes_of(one), *writes_of(two)}.intersection(*places)
    if any(len({*places[0][buffer], *places[1][buffer]}) > 1 for buffer in made):
        return False
    work.sch.merge(*loops)
    return True


def _places(block: Block, loops: Mapping[Var, Var]) -> dict[Buffer, set[tuple[Expr, ...]]]:
    """The elements of buffers that a block uses in an iteration of the loops around it, which get other variables."""
    at = {axis.var: axis.value for axis in block.axes}
    found: dict[Buffer, set[tuple[Expr, ...]]] = {}
    for node in walk(block.body):
        if type(node) in (BufferLoad, BufferStore):
            indices = substitute(substitute(node.indices, at), loops)  # type: ignore[attr-defined]
            found.setdefault(node.buffer, set()).add(tuple(map(simplified, indices)))  # type: ignore[attr-defined]
    return found


def _parallel(work: Work, loop: LoopHandle, instances: float) -> None:
    work.parallel([loop], instances)


def _move(work: Work, name: str, row: LoopHandle) -> bool:
    """Move a block into the loop over rows; False where each of several rows would make again what they share."""
    before = _times(work, name)
    work.sch.compute_at(name, row)
    return _times(work, name) <= before


def _times(work: Work, name: str) -> int:
    """How often a block runs."""
    return math.prod(work.extent(loop) or UNKNOWN for loop in work.sch.get_loops(name))


def _is_down(nest: Nest) -> bool:
    """Whether the results of a reduction lie along memory as what it reads does, and no lines to reduce along do."""
    if not nest.reduced or not nest.spatial:
        return False
    line = nest.reduced[-1]
    short = line.known and line.extent * nest.dtype.bits < LINE
    strides = [(stride_of(load, line.var), stride_of(load, nest.spatial[-1].var)) for load in nest.loads()]
    return any((along not in (0, 1) or short) and across == 1 for along, across in strides)


def _before(work: Work, nest: Nest) -> list[BlockHandle]:
    blocks = work.blocks()
    return blocks[: [block.name for block in blocks].index(nest.name)]


def _feeds(work: Work, name: str, inside: list[str]) -> bool:
    """Whether a block makes what the blocks `inside` alone read."""
    made = set(writes_of(work.block(name)))
    if not made <= _allocated(work):
        return False
    readers = {reader.name for buffer in made for reader in _readers(work, buffer)} - {name}
    return bool(readers) and readers <= set(inside)


def _depth(work: Work, nest: Nest) -> int:
    """How many of the outermost loops of a block run over the rows of the reductions that it reads."""
    found = 0
    own = _allocated(work)
    todo, seen = [nest], {nest.name}
    while todo:
        reader = todo.pop()
        for load in reader.loads():
            if load.buffer not in own:
                continue
            makers = [b for b in work.blocks() if load.buffer in writes_of(work.block(b.name)) and b.name not in seen]
            for maker in makers:
                seen.add(maker.name)
                other = work.nest(maker, symbolic=True)
                if other is None or is_product(work, other):
                    continue
                todo.append(other)
                if other.reduced and other.spatial:
                    found = max(found, len(other.spatial))
    dims = nest.dims[:found]
    return found if len(dims) == found and not any(dim.reduces for dim in dims) else 0


__all__ = ["inline_producers", "is_product", "rows", "shared_rows"]
