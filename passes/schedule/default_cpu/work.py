"""The schedule under work, and what the rules share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Axis, Block, For, Stmt

from ...constants.constant_parameters import is_constant
from ...statements import reads_memory
from ..blocks import reads_of
from ..dataflow import loads_of
from ..primitive import BlockHandle, LoopHandle
from ..refusal import ScheduleError
from ..schedule import Schedule
from ..tree import body_fields
from .facts import CpuFacts
from .nests import Nest, extent_of, is_plain, nest_of

# a loop of less work than this is done before other threads have begun: some microseconds. The code generator decides
# again by what an iteration does (backend/llvm/parallel.py)
PARALLEL_WORK = 1 << 13
# terms of one of a batch of unknown length, which may be of one, that are worth waking threads for it alone
ALONE = 1 << 20

# iterations that may each wake the threads, where only the call knows how many there are inside
FORKS = 2

FEW_VECTORS = 8  # a register tile has no more beside each other


def worth_threads(work: float) -> bool:
    """Whether so many operations are worth other threads."""
    return work >= PARALLEL_WORK


class Work:
    """A schedule and the facts of the processor it is made for.

    `done` holds the names of blocks that are scheduled, `lines` the symbolic lengths of lines that are reduced in
    lanes, with the least length for which that pays; `rows` the symbolic numbers of rows of products for which the
    other operand is copied, which does not pay for one row, and `few` the axes of rows of those blocks for which it
    does not for some; `tiled` the names of convolutions that are done in tiles. `begun` are those of blocks made of
    loops: what these begin with is stored where they have no terms, too. `given` is the function before any step, and
    `moved` says whether its lines were cut or joined, or its loops, so that it is another one than the rules were
    asked for.
    """

    def __init__(self, schedule: Schedule, facts: CpuFacts, begun: Set[str] = frozenset()) -> None:
        self.sch, self.given = schedule, schedule.func
        self.facts = facts
        self.begun = begun
        self.moved = False
        self.done: set[str] = set()
        self.tiled: set[str] = set()
        self.lines: dict[Expr, int] = {}
        self.rows: dict[Expr, None] = {}  # in the order in which they were found: programs show it
        self.few: dict[str, Axis] = {}

    def attempt(self, rule: Callable[..., Any], *args: Any) -> bool:
        """Whether a rule did something; what a refusal leaves half done is taken back."""
        before = self.sch.mark()
        found = set(self.done), set(self.tiled), dict(self.lines), dict(self.rows), dict(self.few)
        try:
            if rule(self, *args) is not False:
                return True
        except ScheduleError as problem:
            if problem.code != "T501":
                raise
        self.sch.reset(before)
        self.done, self.tiled, self.lines, self.rows, self.few = found
        return False

    def nest(self, block: BlockHandle | str, depth: int = 0, *, symbolic: bool = False) -> Nest | None:
        """The block with its loops but `depth` outermost ones as numbers, None where it is not that simple; `symbolic`
        takes other extents too."""
        handle = self.sch.get_block(block) if isinstance(block, str) else block
        return nest_of(self.sch, handle, depth, symbolic=symbolic, begun=self.begun)

    def blocks(self) -> list[BlockHandle]:
        """The blocks that stand in no other, in program order."""
        found: list[BlockHandle] = []
        todo: list[Stmt] = list(reversed(self.sch.func.body))
        while todo:
            stmt = todo.pop()
            if type(stmt) is Block:
                found.append(BlockHandle(self.sch.func.name, stmt.name))
            else:
                for field in body_fields(type(stmt)):
                    todo += reversed(getattr(stmt, field))
        return found

    def extent(self, loop: LoopHandle) -> int | None:
        """The iterations of a serial loop from 0 to a number."""
        return extent_of(self.sch.get(loop))

    def copied_once(self, buffer: Buffer) -> bool:
        """Whether copies of a buffer are made when the program is compiled (`pack_constants`), as plain loops alone:
        those of constants, and of parameters that always are constants."""
        func = self.sch.func
        if any(type(stmt) is AllocateConst and stmt.buffer is buffer for stmt in func.body):
            return True
        return any(param is buffer and is_constant(func, at) for at, param in enumerate(func.params))

    def is_empty(self, loop: LoopHandle) -> bool:
        """Whether a loop from 0 never runs, so that there is nothing to schedule in it."""
        stop = self.sch.get(loop).stop
        return type(stop) is Const and stop.value <= 0

    def vectorize(self, block: str | BlockHandle, lanes: int) -> None:
        """Run the innermost loop of a block in vectors, written out behind each other where they are few."""
        inner: LoopHandle = self.sch.get_loops(block)[-1]
        extent = self.extent(inner)
        if extent is not None and extent > lanes and extent % lanes == 0:
            outer, inner = self.sch.split(inner, [None, lanes])
            if extent // lanes <= FEW_VECTORS:
                self.sch.unroll(outer)
        self.sch.vectorize(inner)

    def parallel(self, loops: Sequence[LoopHandle], work: float) -> None:
        """Run the outermost loops in parallel where there is enough to do; `work` counts operations."""
        if self.facts.threads < 2 or not worth_threads(work) or not loops:
            return
        first, *others = loops
        for other in others:
            extent = self.extent(first)
            if extent is None or extent >= 4 * self.facts.threads or len(self.sch.get(first).body) != 1:
                break
            if type(self.sch.get(first).body[0]) is not For:
                break
            if self.extent(other) is None:  # iterations of what is fused would not be told apart
                first = other if extent <= FORKS and extent < self.facts.threads else first
                break
            first = self.sch.fuse(first, other)
        if (self.extent(first) or 2) > 1:
            self.sch.parallel(first)

    def prefetch(self, block: str, buffer: Buffer, loop: LoopHandle, ahead: int = 1, locality: int = 3) -> None:
        """Prefetch what a block reads of a buffer so many iterations of a loop later.

        Rows that are looked up are left: where nothing else uses the caches, looking them up twice costs what it gains.
        """
        if any(reads_memory(index) for load in loads_of(self.block(block), buffer) for index in load.indices):
            return
        which = [one is buffer for one in reads_of(self.block(block))].index(True)
        self.attempt(_prefetch, block, which, loop, ahead, locality)

    def long_from(self, length: Expr, least: int) -> None:
        """Lines of this symbolic length are reduced in lanes, which pays from so many elements on."""
        self.lines[length] = max(least, self.lines.get(length, 0))

    def contract(self, block: str) -> None:
        """Let a sum of products of floats be rounded once a step, where the processor does so and the user lets sums be
        rounded otherwise."""
        if self.facts.reassociate and self.facts.fuses:
            self.attempt(_contract, block)

    def fresh(self, name: str) -> bool:
        """Whether a block is there still, and not scheduled."""
        return name not in self.done and any(block.name == name for block in self.blocks())

    def block(self, name: str) -> Block:
        """The block of that name as it is now."""
        found: Block = self.sch.get(self.sch.get_block(name))
        return found


def only_reader(work: Work, nest: Nest) -> BlockHandle | None:
    """The block that alone reads what a block makes, an element for each, but for those that it was rounded up to.

    None where there is none.
    """
    buffer = nest.store.buffer
    if not any(type(stmt) is AllocBuffer and stmt.buffer is buffer for stmt in work.sch.func.body):
        return None
    readers = [block for block in work.sch.get_consumers(nest.name) if block.name != nest.name]
    symbolic = not all(dim.known for dim in nest.dims)
    reader = work.nest(readers[0], symbolic=symbolic) if len(readers) == 1 and work.fresh(readers[0].name) else None
    if reader is None or reader.reduced or len(reader.spatial) != len(nest.spatial):
        return None
    made = math.prod(dim.extent for dim in nest.spatial)
    if made != reader.instances and not (made // 2 < reader.instances < made and _cuts(reader, buffer)):
        return None
    return reader.handle


def _cuts(reader: Nest, buffer: Buffer) -> bool:
    """Whether a block reads the first elements of each dimension of a buffer, an element an instance."""
    loads = [load for load in reader.loads() if load.buffer is buffer]
    return all(is_plain(load, reader) for load in loads)


def inline(work: Work, block: str) -> None:
    """Compute what a block makes where it is read."""
    work.sch.compute_inline(block)


def move(work: Work, block: str, loop: LoopHandle) -> None:
    """Compute in a loop what its iterations read of a block."""
    work.sch.compute_at(block, loop)


def _prefetch(work: Work, block: str, which: int, loop: LoopHandle, ahead: int, locality: int) -> None:
    work.sch.prefetch(block, which, loop, ahead=ahead, locality=locality)


def _contract(work: Work, block: str) -> None:
    work.sch.contract(block)


__all__ = ["ALONE", "Work", "inline", "move", "only_reader", "worth_threads"]
