"""Blocks of one nest of loops: each store becomes one, with the loops around it as its axes.

Where a nest has no such form (a loop whose length is not known, a statement that is no store), all of it stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.presburger import Dependences, is_parallel, may_merge
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import free_vars, refresh, rewrite, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Bind, Block, BufferStore, For, ScalarDecl, Stmt

from ..statements import may_overlap, reads_memory, same_indices
from .choices_from_loops import begun_at_first, chosen
from .divided_loops import divided, independent_stores, pays_alone, stay_together, totals_of_variables
from .extremes_from_loops import search_of
from .gains import gains_apart
from .names_written_out import Refused, written_out
from .scatters_from_loops import scatter_block
from .scratch_apart import MOST

# loops in each other
DEEPEST = 12
# no memory has sizes that are greater
LONGEST = 1 << 40


class Names:
    """Names for blocks and buffers that no other has."""

    def __init__(self, func: PrimFunc, sizes: frozenset[Var], long_lines: bool = True) -> None:
        self.long_lines = long_lines
        self.blocks = {node.name for node in walk(func.body, Block)}
        self.sizes = sizes  # variables that the bounds of loops may be made of
        self.func = func

    def elements(self, extent: Expr) -> Expr:
        """The elements of a buffer along a loop: none for one that never runs, where a size may be less than that."""
        if type(extent) is not Call:
            return extent
        dims = [dim for buffer in self.func.param_buffers for dim in buffer.shape]
        if any(structural_equal(extent, dim, map_free_vars=False) for dim in dims):
            return extent
        known, zero = Analyzer(), const(0, extent.dtype)
        for size in self.sizes:
            known.bind(size, (0, min(LONGEST, size.dtype.int_range()[1])))
        return extent if known.can_prove(get_op("greater_equal")(extent, zero)) else get_op("max")(extent, zero)

    def block(self, base: str) -> str:
        name, number = base, 0
        while name in self.blocks or name == "root":
            number += 1
            name = f"{base}_{number}"
        self.blocks.add(name)
        return name


def blocks_in(nest: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[tuple[For, ...], Block]]:
    """The blocks of a nest with the loops around them, in program order."""
    if type(nest) is Block:
        yield loops, nest
    elif type(nest) is For:
        for stmt in nest.body:
            yield from blocks_in(stmt, (*loops, nest))


def _scanning(block: Block) -> Block:
    """A block whose innermost axis is a scan, where each element is made of the one before; else the block itself."""
    store: Any = block.body[0]
    if len(block.body) > 1 or not uses(store.value, store.buffer) or any(axis.kind != "spatial" for axis in block.axes):
        return block
    from ..schedule.primitives.blocked_scan import scan_of

    *outer, last = block.axes
    found = block.replace(axes=(*outer, last.replace(kind="scan")))
    return found if scan_of(found) is not None else block


def _around(loops: Sequence[For], body: tuple[Stmt, ...]) -> Stmt:
    for loop in reversed(loops):
        body = (loop.replace(body=body),)
    return body[0]


def _chain(stmt: Stmt) -> tuple[list[For], BufferStore] | None:
    """Loops in each other alone around one store."""
    loops: list[For] = []
    while type(stmt) is For:
        if not _is_plain(stmt) or len(stmt.body) != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body[0]
    return (loops, stmt) if type(stmt) is BufferStore and stmt.predicate is None and loops else None


def _is_plain(loop: For) -> bool:
    return loop.kind == "serial" and loop.step is None and not loop.annotations


def _extent(loop: For, sizes: frozenset[Var]) -> Expr | None:
    """The iterations of a loop from a number to a number, as many as its dtype holds, or from 0 to what `sizes` say."""
    if not _is_plain(loop) or type(loop.start) is not Const:
        return None
    if type(loop.stop) is not Const:
        known = loop.start.value == 0 and all(type(node) in _ARITHMETIC for node in walk(loop.stop))
        return loop.stop if known and sizes.issuperset(free_vars(loop.stop)) else None
    extent = int(loop.stop.value) - int(loop.start.value)
    return const(extent, loop.var.dtype) if 0 < extent <= loop.var.dtype.int_range()[1] else None


_ARITHMETIC = (Var, Const, Call)


def _update(store: BufferStore) -> Any:
    """A store that combines its own element with a value that does not read its buffer."""
    from ..schedule.reducers import update_by

    return update_by(store)


class Nest:
    """Makes blocks of one nest."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.allocations: list[Stmt] = []
        self.begun_with: set[Buffer] = set()  # those of variables that have a value from the beginning

    def convert(self, loop: For) -> list[Stmt] | None:
        """The loop with blocks, None where it stays as it is."""
        try:
            made = self.loop(loop, ())
        except Refused:
            return self.scatter(loop)
        if self.independent(made):
            return self.apart(made)
        return None if stay_together(loop, self.names.long_lines) else self.one_by_one(made)

    def one_by_one(self, nest: For) -> list[Stmt] | None:
        """A loop for each of the statements of a loop, where they may run one after the other: a sum of sums."""
        if len(nest.body) < 2 or may_overlap(self.names.func):
            return None
        parts: list[For] = [nest.replace(body=nest.body[:1])]
        parts += [refresh(nest.replace(body=(stmt,), trivia=None)) for stmt in nest.body[1:]]
        deps = Dependences(tuple(parts))
        if not all(may_merge(deps, a, b).legal for at, a in enumerate(parts) for b in parts[at + 1 :]):
            return None
        return list(parts) if all(map(self.independent, parts)) else None

    def scatter(self, loop: For) -> list[Stmt] | None:
        """The loop with one block, where it adds to elements at places read from memory."""
        self.allocations = []
        if may_overlap(self.names.func):
            return None
        made = scatter_block(
            self.names.func, loop, lambda one: _extent(one, self.names.sizes) is not None, self.names.block
        )
        return None if made is None else [made]

    def apart(self, nest: For) -> list[Stmt]:
        """The nest as one nest for each block where one of them gains by that: scans, sums of columns, products.

        The loops that they share are proved independent, so each block may run all of them before the next.
        """
        blocks = list(blocks_in(nest, ()))
        shared = {id(loop.var) for loops, _ in blocks for loop in loops if len(loop.body) > 1}
        kinds = {axis.kind for _, block in blocks for axis in block.axes if id(axis.value) in shared}
        if not shared or kinds != {"spatial"}:
            return [nest]
        if not any(gains_apart(block) for _, block in blocks):
            return [nest]
        parts = [_around(loops, (block,)) for loops, block in blocks]
        return [parts[0], *(refresh(part) for part in parts[1:])]

    def cleared(self, first: Stmt, second: Stmt) -> list[Stmt] | None:
        """A nest of sums with what is before it, which only clears what is summed, as its init; None for others."""
        if type(first) is BufferStore and type(second) is For:
            return self.begun(first, second)
        clear, sums = _chain(first), _chain(second)
        if clear is None or sums is None:
            return None
        (outer, store), (loops, update) = clear, sums
        if store.buffer is not update.buffer or uses(store.value, store.buffer) or _update(update) is None:
            return None
        if reads_memory(store.value) and may_overlap(self.names.func):
            return None
        ranges = {loop.var: (loop.start, loop.stop) for loop in (*outer, *loops)}
        spatial = [index for index in update.indices if type(index) is Var and index in ranges]
        if len(set(spatial)) != len(update.indices) or not 0 < len(spatial) < len(loops):
            return None
        if len(set(store.indices)) != len(outer) or len(outer) != len(spatial):
            return None
        for mine, yours in zip(store.indices, spatial, strict=True):
            if type(mine) is not Var or mine not in ranges or ranges[mine] != ranges[yours]:
                return None
        if any(_extent(loop, self.names.sizes) is None for loop in loops):
            return None
        init = substitute(store, dict(zip(store.indices, spatial, strict=True)))
        try:
            block = self.block(update, tuple(loops), init)
        except Refused:
            return None
        made = _around(loops, (block,))
        assert type(made) is For
        return [made] if self.independent(made) else None

    def begun(self, first: BufferStore, second: For) -> list[Stmt] | None:
        """A sum in one element with the store before it as its init."""
        try:
            sums = _sums(second, self.names.sizes)
            if len(sums) != 1 or _begin(sums[0][0], sums[0][1], [first]) is None or first.buffer.is_scalar:
                return None
            loops, store = sums[0]
            return [_around(loops, (self.block(store, tuple(loops), first),))]
        except Refused:
            return None

    def searched(self, inits: list[Stmt], loop: For) -> list[Stmt] | None:
        """A search for the greatest or least element, with the two stores before it as its init; None for others."""
        if len(inits) != 2 or any(type(init) is not BufferStore or init.buffer.is_scalar for init in inits):
            return None
        try:
            found = self.search(loop, inits, ())  # type: ignore[arg-type]
        except Refused:
            return None
        return None if found is None else [found]

    def search(self, loop: For, inits: list[BufferStore], around: tuple[For, ...]) -> For | None:
        """A loop that searches the greatest or least element, behind stores of which two begin it; None for others."""
        from ..schedule.extremes import extreme_of

        if _extent(loop, self.names.sizes) is None or any(type(stmt) is For for stmt in loop.body):
            return None
        found = search_of(loop, written_out(loop.body))
        begins = [] if found is None else [init for init in inits if any(init.buffer is s.buffer for s in found.stores)]
        if found is None or len(begins) != 2 or any(uses(a.value, b.buffer) for a in begins for b in inits):
            return None
        loops, taken = (*around, loop), set(self.names.blocks)
        block = self.framed(found.stores, loops, found.body(), tuple(begins))
        if extreme_of(block) is None:
            self.names.blocks = taken
            return None
        return loop.replace(body=(block,))

    def independent(self, nest: For) -> bool:
        """Whether the iterations of the loops that blocks call spatial are proved to be independent."""
        deps = Dependences((nest,))
        for node in walk(nest):
            if type(node) is not For:
                continue
            inside = list(walk(node.body, Block))
            kinds = {axis.kind for block in inside for axis in block.axes if axis.value is node.var}
            if kinds == {"spatial"}:
                if not is_parallel(deps, node):
                    return False
            else:
                # each may reduce in any order where none of them sees how far another one is
                stored = [[stmt.buffer for stmt in block.body if type(stmt) is BufferStore] for block in inside]
                if len({buffer for buffers in stored for buffer in buffers}) != sum(map(len, stored)):
                    return False
                for block, mine in zip(inside, stored, strict=True):
                    others = [buffer for buffers in stored if buffers is not mine for buffer in buffers]
                    if any(uses(block.body, buffer) for buffer in others):
                        return False
        return True

    def loop(self, stmt: For, around: tuple[For, ...]) -> For:
        if _extent(stmt, self.names.sizes) is None or len(around) > DEEPEST:
            raise Refused
        return stmt.replace(body=self.body(stmt.body, (*around, stmt)))

    def body(self, stmts: tuple[Stmt, ...], loops: tuple[For, ...]) -> tuple[Stmt, ...]:
        leaf = not any(type(stmt) is For for stmt in stmts)
        if leaf:
            stmts = written_out(stmts)
            begun = begun_at_first(stmts, loops)
            if begun is not None:
                return (self.block(begun[1], loops, begun[0]),)
            stmts = tuple(chosen(stmt, self.begun_with) for stmt in stmts)
        else:
            elements = not may_overlap(self.names.func)
            stmts = self.expanded(written_out(stmts, only_plain=True, elements=elements), loops)
            long = self.names.long_lines
            stmts = tuple([self.with_elements(stmt, loops) for stmt in stmts])
            stmts = tuple(part for stmt in stmts for part in divided(chosen(stmt, self.begun_with), long, loops))
        out: list[Stmt] = []
        inits: list[BufferStore] = []
        for stmt in stmts:
            kind = type(stmt)
            if kind is BufferStore:
                inits.append(stmt)  # type: ignore[arg-type]
            elif kind is For:
                later = [init for init in inits if _may_wait(init, inits, stmt)]
                out += self.nested(stmt, [init for init in inits if init not in later], loops)  # type: ignore[arg-type]
                inits = later
            else:
                raise Refused
        if leaf and len(inits) > 1 and not independent_stores(inits):
            raise Refused
        return (*out, *(self.block(store, loops, None) for store in inits))

    def with_elements(self, stmt: Stmt, loops: tuple[For, ...]) -> Stmt:
        """A loop with elements of buffers for its variables where it adds these up: that may be done behind it."""
        if type(stmt) is not For or not totals_of_variables(stmt):
            return stmt
        extents = [extent for loop in (*loops, stmt) if type(extent := _extent(loop, self.names.sizes)) is Const]
        if len(extents) <= len(loops) or may_overlap(self.names.func):
            return stmt
        sizes = [inner.buffer.dtype.itemsize for inner in stmt.body if type(inner) is ScalarDecl]
        if max(sizes, default=1) * math.prod([int(extent.value) for extent in extents]) > MOST:
            return stmt
        return stmt.replace(body=self.expanded(written_out(stmt.body, only_plain=True, elements=True), (*loops, stmt)))

    def nested(self, loop: For, inits: list[BufferStore], around: tuple[For, ...]) -> list[Stmt]:
        """A loop behind stores: those that begin its sums become their init, the others blocks before it."""
        found = self.search(loop, inits, around)
        if found is not None:
            mine = {stmt.buffer for node in walk(found) if type(node) is Block for stmt in node.init or ()}  # type: ignore[attr-defined]
            return [*(self.block(store, around, None) for store in inits if store.buffer not in mine), found]
        rest = list(inits)
        made: list[tuple[list[For], BufferStore, BufferStore]] = []
        for loops, store in _sums(loop, self.names.sizes) if inits else ():
            begin = _begin(loops, store, rest)
            if begin is None:
                made = []
                break
            rest.remove(begin)
            made.append((loops, store, begin))
        if not made or (
            len(made) > 1
            and not any(pays_alone(loops, store, self.names.long_lines, around) for loops, store, _ in made)
        ):
            return [*(self.block(store, around, None) for store in inits), self.loop(loop, around)]
        out: list[Stmt] = [self.block(store, around, None) for store in rest]
        for at, (loops, store, begin) in enumerate(made):
            part = _around(loops, (self.block(store, (*around, *loops), begin),))
            out.append(refresh(part) if at else part)
        return out

    def block(self, store: BufferStore, loops: tuple[For, ...], init: BufferStore | None) -> Block:
        """The block of one store: an axis for each loop around it."""
        if not all(any(uses(index, loop.var) for index in store.indices) for loop in loops) and _update(store) is None:
            raise Refused
        return self.framed((store,), loops, (store,), () if init is None else (init,))

    def framed(
        self,
        stores: tuple[BufferStore, ...],
        loops: tuple[For, ...],
        body: tuple[Stmt, ...],
        inits: tuple[BufferStore, ...],
    ) -> Block:
        """The block of `body`, which stores what `stores` do, to the same indices."""
        for store in stores:
            if store.predicate is not None or store.buffer.is_scalar or store.buffer.dtype.is_vector:
                raise Refused
            if any(index.dtype.is_vector or reads_memory(index) for index in store.indices):
                raise Refused
        if any(type(node) is Call and node.op.effect != "pure" for node in walk((*body, *inits))):
            raise Refused
        store = stores[0]
        used = [any(uses(index, loop.var) for index in store.indices) for loop in loops]
        mine = [loop for loop, is_used in zip(loops, used, strict=True) if is_used]
        if not all(_injective(one, mine, self.names.sizes) for one in stores):
            raise Refused
        axes: list[Axis] = []
        values: dict[Any, Any] = {}
        for loop, is_used in zip(loops, used, strict=True):
            var = Var(f"v{loop.var.name}", loop.var.dtype)
            axes.append(Axis(var, "spatial" if is_used else "reduce", loop.start, loop.stop, loop.var))
            values[loop.var] = var
        made: Any = substitute(body, values)
        begin = substitute(inits, values)
        begin = tuple(init.replace(trivia=None) for init in begin) or None
        name = self.names.block(store.buffer.name)
        made = (made[0].replace(trivia=None), *made[1:])
        return _scanning(Block(name, tuple(axes), made, begin, span=store.span, trivia=body[0].trivia))

    def expanded(self, stmts: tuple[Stmt, ...], loops: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements with variables that live through loops as buffers with an element for each iteration."""
        places = tuple(loop.var if loop.start.value == 0 else loop.var - loop.start for loop in loops)  # type: ignore[attr-defined]
        extents = [extent for loop in loops if (extent := _extent(loop, self.names.sizes)) is not None]
        shape = tuple([self.names.elements(extent) for extent in extents])
        out = list(stmts)
        at = 0
        while at < len(out):
            stmt = out[at]
            kind = type(stmt)
            if kind is ScalarDecl or kind is Bind:
                var = stmt.buffer if kind is ScalarDecl else stmt.var  # type: ignore[attr-defined]
                if var.dtype.is_handle or var.dtype.is_vector:
                    raise Refused
                buffer = Buffer(var.name, shape, var.dtype)
                self.allocations.append(AllocBuffer(buffer, NO_ATTRS))
                rest = _moved(tuple(out[at + 1 :]), var, buffer, places)
                if stmt.value is not None:  # type: ignore[attr-defined]
                    self.begun_with.add(buffer)
                begin = () if stmt.value is None else (BufferStore(buffer, places, stmt.value, span=stmt.span),)  # type: ignore[attr-defined]
                out[at:] = [*begin, *rest]
                at += len(begin)
            else:
                at += 1
        return tuple(out)


def _may_wait(init: BufferStore, others: list[BufferStore], stmt: Stmt) -> bool:
    """Whether a store may come behind a statement, and behind other stores, that stand after it."""
    if reads_memory(init.value) or uses(stmt, init.buffer):
        return False
    return not any(uses((other.value, *other.indices), init.buffer) for other in others) and (
        sum(1 for other in others if other.buffer is init.buffer) == 1
    )


def _sums(loop: For, sizes: frozenset[Var]) -> list[tuple[list[For], BufferStore]]:
    """The sums in loops that hold nothing else, each of which could be taken alone; empty for other loops."""
    loops: list[For] = []
    body: tuple[Stmt, ...] = (loop,)
    while len(body) == 1 and type(body[0]) is For:
        if _extent(body[0], sizes) is None:
            return []
        loops.append(body[0])
        body = body[0].body
    try:
        body = written_out(body)
    except Refused:
        return []
    stores = [stmt for stmt in body if type(stmt) is BufferStore]
    updates = [update for store in stores if (update := _update(store)) is not None]
    made = {store.buffer for store in stores}
    if len(updates) != len(body) or len(made) != len(stores):
        return []
    if any(uses(update.value, buffer) for update in updates for buffer in made):
        return []
    return [(loops, store) for store in stores]


def _begin(loops: list[For], store: BufferStore, inits: list[BufferStore]) -> BufferStore | None:
    """The store, the only one to its buffer, that clears the element which loops around an update add to."""
    mine = [init for init in inits if init.buffer is store.buffer]
    if len(mine) != 1 or any(uses(init.value, store.buffer) for init in inits):
        return None
    if any(uses(index, loop.var) for index in store.indices for loop in loops):
        return None
    same = same_indices(mine[0].indices, store.indices)
    # it moves to where the loops begin: no store behind it may change what it reads
    later = inits[inits.index(mine[0]) + 1 :]
    return mine[0] if same and not any(uses(mine[0].value, init.buffer) for init in later) else None


def _moved(stmts: tuple[Stmt, ...], var: Any, buffer: Buffer, places: tuple[Expr, ...]) -> tuple[Stmt, ...]:
    """The statements with a variable as an element of a buffer."""
    element = BufferLoad(buffer, places)
    if type(var) is Var:
        moved: tuple[Stmt, ...] = substitute(stmts, {var: element})
        return moved
    rules: dict[type, Any] = {
        BufferLoad: lambda node: element if node.buffer is var else node,
        BufferStore: lambda node: node.replace(buffer=buffer, indices=places) if node.buffer is var else node,
    }
    found: tuple[Stmt, ...] = rewrite(stmts, rules)
    return found


def _injective(store: BufferStore, loops: Sequence[For], sizes: frozenset[Var]) -> bool:
    """Whether different iterations store different elements."""
    variables = [loop.var for loop in loops]
    plain = [index for index in store.indices if type(index) is Var and any(index is var for var in variables)]
    if len({id(index) for index in plain}) == len(variables):
        return True
    shifted = {loop.var: loop.var + loop.start for loop in loops if loop.start.value != 0}  # type: ignore[attr-defined]
    mapping = IndexMap(tuple(variables), tuple(substitute(store.indices, shifted)))
    extents = [extent for loop in loops if (extent := _extent(loop, sizes)) is not None]
    return len(extents) == len(loops) and bool(mapping.is_injective(extents))


__all__ = ["Names", "Nest", "blocks_in"]
