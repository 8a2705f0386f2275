"""Plain loops along memory around other loops become vectors; LLVM makes vectors of innermost loops alone.

before:                                            after:
    for j in range(1024):                              for j_0 in T.parallel(16):
        s: T.float32 = 0.0                                 s: T.float32x64 = T.broadcast(T.float32(0.0), 64)
        for i in range(256):                               for i in range(256):
            s = 0.5 * s + A[i, j]                              s = 0.5 * s + A[i, j_0 * 64 : j_0 * 64 + 64]
            B[i, j] = s                                        B[i, j_0 * 64 : j_0 * 64 + 64] = s

A lane does what an iteration does, in its order: no bit changes. Loops that no rule of the schedule takes come here:
recurrences down columns, substitution with many right sides, sums over as many elements as memory says. Where columns
are read again by each iteration of the loops around, their vectors go outside of these, so that the caches hold them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.presburger import Dependences, is_parallel
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferData, BufferLoad, Expr, Ramp, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node, are_same
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import children, free_buffers, free_vars, holds, refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Bind, Block, BufferStore, DeclBuffer, For, If, ScalarDecl, Stmt, While

from ...access import constant_extent
from ...lower.plan_buffer_allocation import moved_inside
from ...lower.vectorize_loop import in_vectors
from ...plain_loops.variables_from_arrays import variables_from_arrays
from ...plain_loops.variables_from_buffers import variables_from_buffers
from ...simplify import simplified
from ...statements import keep_comments, may_overlap, reads_memory
from ..naming import renamed_apart
from ..tree import body_fields
from .accumulators import with_accumulators
from .facts import CpuFacts
from .jammed_rows import ROWS, jammed, waits, written_out
from .lane_sums import sums_in_lanes
from .nests import TAKEN, UNKNOWN, step_of, stride_of, takes_long
from .records import Records, flattened, with_fields
from .work import worth_threads

# as many lanes as T.vectorized makes at once
MOST = 64
# vectors of a loop at once: where one waits for the one before it, others go on
VECTORS = 4
# loops inside of vectors are written out where all their iterations together have so many nodes: what LLVM would do
# before it makes vectors itself; shifts by counters and tables by number become constants
WRITTEN_OUT = 1000
# bits of elements that processors gather; names in names that an index is made of
GATHERED, MOST_NAMES = 32, 8
# the nearest cache: bytes after which lines share a place, how many of them it holds there, and their bytes
SPAN, WAYS, LINE = 4096, 8, 64
# loops inside of each other that are looked at: each of them is tried with all that are inside of it
DEEPEST = 24


def outer_vectors(
    func: PrimFunc, facts: CpuFacts, schedule: Callable[[PrimFunc, CpuFacts], PrimFunc] | None = None
) -> PrimFunc:
    """The function, which `may_schedule` leaves to us, with vectors of loops that hold others; itself where there are
    none. The bodies of other loops are functions of their own for `schedule`, where it is given."""
    given = variables_from_buffers(func.body)
    small = iter(variables_from_arrays(given))
    outer = _Outer(func.replace(body=given), facts, schedule)
    body: list[Stmt] = []
    without = next(small, None)  # what becomes of a statement without small arrays, whose allocations are gone
    for stmt in given:
        if type(stmt) is AllocBuffer and without is not stmt:
            body.append(stmt)
            continue
        if type(stmt) is For and not holds(stmt, Block) and _depth(stmt) <= DEEPEST:
            body += outer.with_own_memory(stmt, outer.either(stmt, without))
        else:
            body.append(stmt)
        without = next(small, None)
    if are_same(body, given):
        return func
    others = [stmt for stmt in body if type(stmt) is not AllocBuffer]
    inside = {node.buffer for node in walk(tuple(others), AllocBuffer)}
    allocated = [stmt for stmt in body if type(stmt) is AllocBuffer]
    idle = {one for one in allocated if one.buffer in inside or not any(uses(stmt, one.buffer) for stmt in others)}
    return func.replace(body=tuple([stmt for stmt in body if stmt not in idle]))


def has_vectors(stmts: Sequence[Stmt]) -> bool:
    """Whether statements go in vectors, or are to."""
    return any(type(node) is Ramp or (type(node) is For and node.kind == "vectorized") for node in walk(tuple(stmts)))


class _Outer:
    """Makes vectors in a nest of a function."""

    def __init__(
        self, func: PrimFunc, facts: CpuFacts, schedule: Callable[[PrimFunc, CpuFacts], PrimFunc] | None
    ) -> None:
        self.func, self.facts, self.schedule = func, facts, schedule
        self.reassociate = facts.reassociate and func.attrs.get("fastmath") is not False
        self.threads = facts.threads > 1  # whether a loop may become parallel: none around it is
        self.around: list[For] = []  # the loops around what is looked at
        self.blocks = {node.name for node in walk(func.body, Block)}
        self.views = any(type(node) in (DeclBuffer, BufferData) for node in walk(func.body))
        if self.views:
            self.schedule = None  # one memory under several names

    def either(self, stmt: For, without: Stmt | None) -> tuple[Stmt, ...]:
        """A nest with vectors where there may be, or that `without` small arrays where only that has them."""
        if without is not stmt and without is not None and not has_vectors((stmt,)):
            # loops that are written out are too long to be scheduled
            before, self.schedule = self.schedule, None
            found = self.made(without)
            self.schedule = before
            if has_vectors(found):
                return found
        return self.made(stmt)

    def with_own_memory(self, stmt: For, made: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """What was `made` of a nest, or what threads share where each iteration has the memory that it fills first."""
        if not self.threads or any(type(one) is For and one.kind == "parallel" for one in made):
            return made
        own = moved_inside(self.func, stmt)
        if own is stmt or not self.split(own):
            return made
        found = self.made(own)
        return made if has_vectors(made) and not has_vectors(found) else found

    def made(self, stmt: Stmt) -> tuple[Stmt, ...]:
        """A statement with vectors where there may be."""
        if type(stmt) is If:
            then, orelse = self.each(stmt.then), self.each(stmt.orelse)
            return (stmt if then is stmt.then and orelse is stmt.orelse else stmt.replace(then=then, orelse=orelse),)
        if type(stmt) is not For:
            return (stmt,)
        found = self.keeping(stmt)
        if found is not None:
            return found
        inner = [node for node in walk(stmt, For) if self.gains(node)]
        if not holds(stmt.body, For):
            return (stmt.replace(kind="parallel") if self.split(stmt) else stmt,)
        for loop in (self.outward(stmt, inner[0]), stmt if inner[0] is stmt else None) if inner else ():
            made = self.vectors(loop) if loop is not None and self.independent(loop) else None
            if made is not None:
                return made
        waiting = waits(self.func, stmt)
        if waiting is not False and self.independent(stmt):
            gathers = self.gathers(stmt) and not written_out(stmt, self.facts.vector_bits)
            made = self.vectors(stmt) if gathers else None
            if made is not None or waiting:
                return made or self.rows(stmt)
        parallel = self.split(stmt)
        self.threads = self.threads and not parallel
        self.around.append(stmt)
        body, schedule = self.inside(stmt), self.schedule
        if body is None or body is stmt.body:
            self.schedule = schedule if body is None else None  # it has tried all that stands in the loops inside, too
            body, self.schedule = self.each(stmt.body), schedule
        self.around.pop()
        self.threads = self.threads or parallel
        if body is stmt.body and not parallel:
            return (stmt,)
        return (stmt.replace(body=body, kind="parallel" if parallel else stmt.kind),)

    def split(self, loop: For) -> bool:
        """Whether threads share the iterations of a loop that is left as it is, or whose body has changed."""
        if not self.threads or loop.kind != "serial" or not worth_threads(_work(loop)) or leaves_loop(loop.body):
            return False
        return self.independent(loop)

    def keeping(self, loop: For) -> tuple[Stmt, ...] | None:
        """A loop over records as one over vectors that keep what inner loops change; None where there is none."""
        kept = loop if self.views or may_overlap(self.func) else with_accumulators(loop, self.known(loop))
        if kept is loop or not self.gains(kept) or not self.independent(loop):
            return None
        return self.vectors(kept)

    def each(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made = [self.made(stmt) for stmt in stmts]
        same = all(len(one) == 1 and one[0] is stmt for one, stmt in zip(made, stmts, strict=True))
        return stmts if same else tuple(part for one in made for part in one)

    def rows(self, loop: For) -> tuple[Stmt, ...]:
        """A loop over rows, several of them at once."""
        extent, kind = constant_extent(loop), loop.var.dtype
        if loop.step is not None or (extent is not None and extent < 2 * ROWS) or not _has_bounds(loop):
            return (loop,)
        parallel = self.threads and worth_threads(_work(loop))
        if written_out(loop, self.facts.vector_bits):
            return (loop.replace(kind="parallel") if parallel else loop,)
        outer = Var(f"{loop.var.name}_0", kind)
        count = simplified((loop.stop - loop.start) // ROWS) if extent is None else const(extent // ROWS, kind)
        behind = simplified(loop.start + count * ROWS)
        body = jammed(loop, simplified(loop.start + outer * ROWS), ROWS)
        made = loop.replace(var=outer, start=const(0, kind), stop=count, body=body)
        made = made.replace(kind="parallel" if parallel else "serial")
        if extent is None:
            rest = refresh(loop.replace(start=behind, trivia=None))
            rows = If(get_op("less")(loop.start, loop.stop), (made.replace(trivia=None), rest), ())
            return keep_comments(loop, (rows,))
        return (made, *refresh(jammed(loop, behind, extent % ROWS))) if extent % ROWS else (made,)

    def inside(self, loop: For) -> tuple[Stmt, ...] | None:
        """The body of a loop as `schedule` schedules it, itself where that does nothing; None where it may not."""
        body = loop.body
        if self.schedule is None or leaves_loop(body) or loop.kind != "serial":
            return None
        used = free_buffers(body)
        cells = {one: Buffer(one.name, (const(1, INT32),), one.dtype) for one in used if one.is_scalar}
        buffers = [cells.get(one, one) for one in used]
        symbols = set(free_vars(tuple([dim for one in buffers for dim in one.shape])))
        params = [var for var in free_vars(body) if var not in symbols]
        func = PrimFunc(self.func.name, (*params, *buffers), _elements(body, cells), self.func.attrs)
        made = self.schedule(func, self.facts if self.threads else structs.replace(self.facts, threads=1))
        if made is func:
            return body
        found = _elements(made.body, {cell: one for one, cell in cells.items()})
        if any(uses(found, cell) for cell in cells.values()):
            return None  # a vector of it, or where it is
        bound = _bound(found, self.around)
        return None if bound is None else renamed_apart(bound, self.blocks)

    def independent(self, loop: For) -> bool:
        return is_parallel(Dependences((loop,), within=self.func), loop)

    def gains(self, loop: For) -> bool:
        """Whether a loop holds others and goes along memory in all that it does, but for what it does once."""
        nodes = list(walk(loop.body))
        if not any(type(node) is For for node in nodes) or leaves_loop(loop.body) or loop.kind != "serial":
            return False
        if any(isinstance(node, Stmt) and type(node) not in TAKEN for node in nodes):
            return False
        if loop.step is not None or not _has_bounds(loop):
            return False
        found: list[Any] = [node for node in nodes if type(node) in (BufferLoad, BufferStore)]
        if any(node.buffer.dtype.bits < GATHERED and _is_looked_up(node, loop, nodes) for node in found):
            return False
        across = [node for node in found if node.indices and stride_of(node, loop.var) not in (0, 1)]
        if across and self.views:
            return False
        if across and not all(map(Records(loop, self.known(loop)).has, across)):
            return False
        if not any(uses(node.indices, loop.var) for node in found):
            return False
        extent = constant_extent(loop)
        return extent is None or extent >= self.one(nodes)

    def gathers(self, loop: For) -> bool:
        """Whether lanes may take rows in which each step waits for the one before, and gather the elements of a step:
        that is worth it for what is dear, and for sums of rows that do not lie in the same places of the caches."""
        nodes, extent = list(walk(loop.body)), constant_extent(loop)
        inner = [node for one in nodes if type(one) is For for node in walk(one.body)]
        accesses: list[Any] = [node for node in inner if type(node) in (BufferLoad, BufferStore)]
        across = [node for node in accesses if stride_of(node, loop.var) not in (0, 1)]
        if (
            self.views
            or loop.step is not None
            or not _has_bounds(loop)
            or (extent is not None and extent < self.one(nodes))
        ):
            return False
        if any(node.buffer.dtype.bits < GATHERED or uses(node.indices[-1], loop.var) for node in across):
            return False
        if any(node.buffer.dtype.bits < GATHERED and _is_looked_up(node, loop, nodes) for node in accesses):
            return False
        if any(map(takes_long, inner)):
            return self.facts.vector_bits >= 256
        if any(type(node) is BufferStore for node in across) or self.facts.vector_bits < 512:
            return False
        if self.reassociate and sums_in_lanes(loop, self.facts):
            return False  # they need not wait, and lie along memory
        steps = [(step_of(node, loop.var) or 0) * node.buffer.dtype.itemsize for node in across]
        # lines that all lanes read again in the next steps
        return all(MOST * len(steps) <= WAYS * SPAN // max(LINE, math.gcd(step, SPAN)) for step in steps)

    def known(self, loop: For) -> Analyzer:
        """What holds in a loop."""
        known = Analyzer()
        for one in (*self.around, loop):
            known.enter_loop(one)
        return known

    def one(self, nodes: Sequence[Node]) -> int:
        """The lanes of one vector of the widest elements."""
        accesses = [node for node in nodes if type(node) in (BufferLoad, BufferStore, ScalarDecl)]
        return self.facts.lanes(max(node.buffer.dtype.bits for node in accesses))  # type: ignore[attr-defined]

    def outward(self, stmt: For, loop: For) -> For | None:
        """A loop with those that are around it alone inside of it, where these read its columns again."""
        around: list[For] = []
        while stmt is not loop and len(stmt.body) == 1 and type(stmt.body[0]) is For:
            around.append(stmt)
            stmt = stmt.body[0]
        if stmt is not loop or not around or any(uses((loop.start, loop.stop), one.var) for one in around):
            return None
        mine = [node for node in walk(loop.body, BufferLoad) if uses(node.indices, loop.var)]
        if not any(not uses(load.indices, one.var) for load in mine for one in around):
            return None
        body = loop.body
        for one in reversed(around):
            body = (one.replace(body=body, trivia=None),)
        return loop.replace(body=body, trivia=around[0].trivia)

    def vectors(self, loop: For) -> tuple[Stmt, ...] | None:
        """A loop as one over vectors, and what is left of it behind that; None where it has no vector form."""
        loop, fields = with_fields(loop, self.known(loop))
        nodes = list(walk(loop.body))
        values, one = fields + sum(1 for node in nodes if type(node) is ScalarDecl), self.one(nodes)
        lanes = min(MOST, one * max(1, min(VECTORS, self.facts.registers // (4 * (values + 1)))))
        extent, kind = constant_extent(loop), loop.var.dtype
        if extent is None:
            # where it has iterations, their number is none that its dtype does not hold
            count = simplified((loop.stop - loop.start) // lanes)
            behind = simplified(loop.start + count * lanes)
            left = simplified((loop.stop - behind + (one - 1)) // one)
            rest = self.chunks(loop, behind, left, one, whole=False)
            # what all lanes share is not loaded where some are off: where bounds of loops are, the rest stays a loop
            parts = [self.chunks(loop, loop.start, count, lanes), rest or loop.replace(start=behind, trivia=None)]
        else:
            if lanes > extent:  # several registers are whole ones
                lanes = extent if extent < 2 * one else one << ((extent // one).bit_length() - 1)
            parts = [self.chunks(loop, loop.start, const(extent // lanes, kind), lanes)]
            if extent % lanes:
                behind = simplified(loop.start + extent // lanes * lanes)
                rest = self.chunks(loop, behind, const(1, kind), extent % lanes) if extent % lanes > 1 else None
                parts.append(rest or loop.replace(start=behind, trivia=None))
        made = [part for part in parts if part is not None]
        if len(made) < len(parts):
            return None
        body = (made[0], *(refresh(part) for part in made[1:]))
        if extent is None:
            body = (If(get_op("less")(loop.start, loop.stop), body, ()),)
        return keep_comments(loop, body)

    def chunks(self, loop: For, start: Expr, count: Expr, lanes: int, *, whole: bool = True) -> For | None:
        """So many vectors of a loop from an iteration on; where they are not `whole`, lanes behind its end are off."""
        kind = loop.var.dtype
        parallel = whole and self.threads and worth_threads(_work(loop)) and not is_const(count, 1)
        outer = Var(f"{loop.var.name}_0", kind)
        first = simplified(start + outer * lanes)
        # lanes are counted from the first one: behind the end their dtype may have no numbers left
        inside = get_op("less")(loop.var - first, loop.stop - first)
        masked = loop if whole else loop.replace(body=(If(inside, loop.body, ()),))
        flat = flattened(masked)
        made = in_vectors(flat, first, lanes)
        if made is None:
            return None
        if flat is not masked:
            lane = Var(f"{loop.var.name}_1", kind)
            body = substitute(refresh(masked.body), {loop.var: first + lane})
            made = (For(lane, const(0, kind), const(lanes, kind), body, kind="vectorized", span=loop.span),)
        made = rewrite(made, {For: _written_out})
        return For(outer, const(0, kind), count, made, kind="parallel" if parallel else "serial", span=loop.span)


def _has_bounds(loop: For) -> bool:
    """Whether the bounds of a loop are numbers of its variable's dtype that stay while it runs."""
    same = loop.var.dtype is loop.start.dtype is loop.stop.dtype
    return same and not reads_memory(loop.start) and not reads_memory(loop.stop)


def _is_looked_up(access: BufferLoad | BufferStore, loop: For, nodes: Sequence[Node]) -> bool:
    """Whether the places of an access in the iterations of a loop are others than one element or neighbours, with the
    names of values in the loop written out."""
    if not access.indices:
        return False
    values = {node.var: node.value for node in nodes if type(node) is Bind}
    indices = access.indices
    for _ in range(MOST_NAMES):
        if values.keys().isdisjoint(free_vars(indices)):
            return stride_of(access.replace(indices=indices), loop.var) not in (0, 1)
        indices = substitute(indices, values)
    return True


def _written_out(loop: For) -> For:
    """A loop of few short iterations as one that is unrolled."""
    extent, nodes = constant_extent(loop), list(walk(loop.body))
    if (
        extent is None
        or loop.kind != "serial"
        or extent * len(nodes) > WRITTEN_OUT
        or any(type(node) is For for node in nodes)
    ):
        return loop
    return loop.replace(kind="unroll")


def _bound(body: tuple[Stmt, ...], around: Sequence[For]) -> tuple[Stmt, ...] | None:
    """Statements whose blocks have axes for the loops around that they use; None where such a loop has no bounds that
    hold for all of it."""
    loops = {loop.var: loop for loop in around}
    fixed = {
        var
        for var, loop in loops.items()
        if loop.step is None
        and loops.keys().isdisjoint(free_vars((loop.start, loop.stop)))
        and not reads_memory(loop.start)
        and not reads_memory(loop.stop)
    }
    varying = False

    def visit(stmt: Stmt) -> Stmt:
        nonlocal varying
        if type(stmt) is not Block:
            fields = body_fields(type(stmt))
            return stmt.replace(**{name: tuple(map(visit, getattr(stmt, name))) for name in fields}) if fields else stmt
        inside = stmt.replace(axes=())
        used = [var for var in free_vars(inside) if var in loops]
        varying = varying or not fixed.issuperset(used)
        # nothing is promised of the order of its steps
        own = {
            var: Axis(Var(f"v{var.name}", var.dtype), "opaque", loops[var].start, loops[var].stop, var) for var in used
        }
        axes = (*stmt.axes, *own.values())
        made: Stmt = substitute(inside, {var: axis.var for var, axis in own.items()}).replace(axes=axes)
        return made

    found = tuple(map(visit, body))
    return None if varying else found


def _elements(body: tuple[Stmt, ...], places: Mapping[Buffer, Buffer]) -> tuple[Stmt, ...]:
    """Statements with variables for buffers of one element, or these for variables."""

    def access(node: BufferLoad | BufferStore) -> BufferLoad | BufferStore:
        found = places.get(node.buffer)
        if found is None or node.predicate is not None or not all(is_const(index, 0) for index in node.indices):
            return node
        return node.replace(buffer=found, indices=() if found.is_scalar else (const(0, INT32),))

    moved: tuple[Stmt, ...] = rewrite(body, {BufferLoad: access, BufferStore: access}) if places else body
    return moved


def _depth(root: Stmt) -> int:
    """How many loops stand inside of each other."""
    most, todo = 0, [(root, 0)]
    while todo:
        stmt, around = todo.pop()
        around += type(stmt) is For
        most = max(most, around)
        todo += ((inner, around) for inner in children(stmt) if isinstance(inner, Stmt))
    return most


def _work(loop: For) -> int:
    """About how many steps a nest takes."""
    most = 0
    todo: list[tuple[Any, int]] = [(loop, 1)]
    while todo:
        node, count = todo.pop()
        if type(node) is For:
            extent = constant_extent(node)
            count *= UNKNOWN if extent is None else extent
            most = max(most, count)
        elif type(node) is While:
            count *= UNKNOWN
            most = max(most, count)
        if isinstance(node, Stmt):
            todo += ((inner, count) for inner in children(node))
    return most


__all__ = ["has_vectors", "outer_vectors"]
