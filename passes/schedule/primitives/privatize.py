"""privatize: a loop that adds to elements anywhere, such as a histogram, in parts that do not wait for each other."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.op import Op, const, get_op
from tirscript.ir.rewrite import refresh, rewrite, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, If, Stmt

from ..dataflow import check_own_memory, view_of
from ..edit import Edit
from ..loops import leaves, plain, plus, times
from ..primitive import LoopAt, primitive
from ..reducers import neutral
from ..scattered import Obstacle, scattered
from ..tree import Place


@primitive
def privatize(edit: Edit, loop: LoopAt, parts: int, lanes: int = 1, least: int = 0) -> Place:
    """Do the updates of a loop in so many parts, each in a copy of its own, which are combined; the loop of the parts.

    before:                                    after `privatize("i", 4)`:
        for i in range(100):                       for i_0 in range(4):
            H[A[i]] = H[A[i]] + 1                      for h in range(8):
                                                           with T.block("H_begin"):
                                                               H_own[h] = 0
                                                       for i in range(i_0 * 25, (i_0 + 1) * 25):
                                                           H_own[A[i]] = H_own[A[i]] + 1
                                                       for h in range(8):
                                                           with T.block("H_part"):
                                                               H_parts[i_0, h] = H_own[h]
                                                   for i_0, h in T.grid(4, 8):
                                                       with T.block("H_combine"):
                                                           H[h] = H_parts[i_0, h] + H[h]

    In a part, consecutive iterations of the innermost loops take turns with `lanes` copies, so that an update need not
    wait for the one before, which went to the same element. A loop of fewer iterations than `least` is left as it is,
    which is decided when it runs. The loop does nothing else than updates `X[..] = X[..] op value`, of one or several
    buffers, under any conditions and at any places; X keeps what it held before. The combiner must be known to be
    commutative and associative: sums of floats are rounded in another order, which `parts` and `lanes` alone decide,
    and with T.min and T.max of floats it depends on the order what of a nan and a number comes through.
    """
    stmt = plain(edit, loop, "done in parts")
    for name, value, lowest in (("parts", parts, 1), ("lanes", lanes, 1), ("least", least, 0)):
        if value < lowest:
            edit.wrong(f"`{name}` is {value}; it must be at least {lowest}")
    found = scattered(stmt)
    if isinstance(found, Obstacle):
        edit.refuse(
            f"the loop `{stmt.var.name}` does not only update elements: {found.message}",
            (loop, ""),
            (found.node, "here"),
            hint="rfactor takes reductions of blocks with a T.init, blocked_scan scans",
        )
    for buffer, op in found.items():
        _check_buffer(edit, loop, buffer, op)
    count = stmt.extent
    known = int(count.value) if type(count) is Const else None
    if known is not None and known < parts:
        edit.refuse(f"the loop `{stmt.var.name}` has {known} iterations, fewer than {parts} parts", loop)
    if known is not None and least:
        edit.wrong(f"`least` is {least}, and the loop has {known} iterations in each run", hint="leave it out")
    if max(parts, least) > stmt.var.dtype.int_range()[1]:
        edit.wrong(f"the {stmt.var.dtype} of the loop `{stmt.var.name}` does not hold {max(parts, least)}")
    division = _Parts(edit, stmt, found, parts, lanes)
    made = division.made()
    if least:
        made = (If(count >= const(least, count.dtype), made, refresh((stmt,))),)
    edit.replace(loop, *_named_apart(edit, made))
    return edit.loop(division.part)


def _check_buffer(edit: Edit, loop: Place, buffer: Buffer, op: Op) -> None:
    """Refuse a buffer that has no copies, or is reached in other ways."""
    if buffer.dtype.is_vector or buffer.dtype.is_handle:
        edit.refuse(f"the elements of `{buffer.name}` are {buffer.dtype}, of which no copies are made", loop)
    if op.name in ("min", "max") and buffer.dtype.is_float and buffer.dtype.bits < 16:
        edit.refuse(f"{buffer.dtype} has no infinity, with which a copy of `{buffer.name}` would begin", loop)
    view = view_of(edit.func, buffer)
    if view is not None:
        edit.refuse(
            f"the memory of `{buffer.name}` is reached by a view, an address or a call", (loop, ""), (view, "here")
        )
    check_own_memory(edit, loop, (buffer,))  # an update would change what another one adds


class _Private(Struct, frozen=True, eq=False):
    """A buffer with the copies of a part, and the results of all parts."""

    buffer: Buffer
    op: Op
    own: tuple[Buffer, ...]
    results: Buffer

    def combined(self, a: Expr, b: Expr) -> Expr:
        return Call(self.op, (a, b), a.dtype)


class _Parts:
    """The statements that a loop becomes."""

    def __init__(self, edit: Edit, stmt: For, found: dict[Buffer, Op], parts: int, lanes: int) -> None:
        self.edit, self.stmt, self.lanes = edit, stmt, lanes
        self.dtype = stmt.var.dtype
        self.part = Var(f"{stmt.var.name}_0", self.dtype)
        self.parts = const(parts, self.dtype)
        self.privates = [self.private(buffer, op) for buffer, op in found.items()]
        # iterations of each part, and how many of the first parts have one more
        self.size, self.more = _divided(stmt.extent, parts)

    def private(self, buffer: Buffer, op: Op) -> _Private:
        names = [f"{buffer.name}_own", *(f"{buffer.name}_own_{lane}" for lane in range(1, self.lanes))]
        own = tuple(Buffer(name, buffer.shape, buffer.dtype, scope=buffer.scope) for name in names)
        shape = (self.parts, *buffer.shape)
        return _Private(buffer, op, own, Buffer(f"{buffer.name}_parts", shape, buffer.dtype, scope=buffer.scope))

    def made(self) -> tuple[Stmt, ...]:
        inside: list[Stmt] = [AllocBuffer(own) for one in self.privates for own in one.own]
        inside += [self.begun(one, own) for one in self.privates for own in one.own]
        inside += self.iterations()
        inside += [self.kept(one) for one in self.privates]
        zero = const(0, self.dtype)
        return (
            *(AllocBuffer(one.results) for one in self.privates),
            For(self.part, zero, self.parts, tuple(inside), span=self.stmt.span, trivia=self.stmt.trivia),
            *(self.combination(one) for one in self.privates),
        )

    # the parts

    def begin(self, part: Expr) -> Expr:
        """The first iteration of a part; none of the terms is more than the last iteration."""
        found = times(part, self.size)
        if not is_const(self.more, 0):
            found = found + get_op("min")(part, self.more)
        return plus(self.stmt.start, found)

    def iterations(self) -> list[Stmt]:
        """The loops over the iterations of a part."""
        stmt, begin, end = self.stmt, self.begin(self.part), self.begin(self.part + 1)
        body: tuple[Stmt, ...] = substitute(stmt.body, {one.buffer: one.own[0] for one in self.privates})
        if type(self.size) is not Const:
            return self.turns(stmt.replace(start=begin, stop=end, body=body, trivia=None))
        # from 0 to a number: LLVM unrolls a loop of which it sees how often it runs
        var = Var(f"{stmt.var.name}_1", self.dtype)
        first = substitute(body, {stmt.var: plus(begin, var)})
        found = self.turns(For(var, const(0, self.dtype), self.size, first))
        if not is_const(self.more, 0):
            rest: tuple[Stmt, ...] = refresh(substitute(body, {stmt.var: plus(begin, self.size)}))
            found.append(If(self.part < self.more, rest))
        return found

    def turns(self, loop: For) -> list[Stmt]:
        """A loop with the innermost loops in it that update taking turns with the copies; it may be one itself."""
        found: Any = rewrite((loop,), {For: self.turn}) if self.lanes > 1 else (loop,)
        return list(found)

    def turn(self, loop: For) -> Any:
        """One loop: several iterations behind each other, each with another copy; what is left over has the first."""
        if not self.updates(loop) or any(type(node) is For and self.updates(node) for node in walk(loop.body)):
            return loop
        if loop.kind != "serial" or loop.step is not None or loop.annotations or leaves(loop) is not None:
            return loop
        var, dtype, lanes = loop.var, loop.var.dtype, self.lanes
        if loop.extent.dtype is not dtype or lanes > dtype.int_range()[1]:
            return loop
        first, last = (Var(f"{var.name}_{word}", dtype) for word in ("turn", "rest"))
        count, left = _divided(_at_least_none(loop.extent), lanes)
        place = plus(loop.start, times(first, const(lanes, dtype)))
        body: list[Stmt] = []
        for lane in range(lanes):
            values: dict[Any, Any] = {one.own[0]: one.own[lane] for one in self.privates}
            body += refresh(substitute(loop.body, {**values, var: plus(place, const(lane, dtype))}))
        whole = For(first, const(0, dtype), count, tuple(body))
        if is_const(left, 0):
            return whole
        # from 0: an axis need not begin where a loop does, unless it is that loop
        place = plus(plus(loop.start, times(count, const(lanes, dtype))), last)
        return (whole, For(last, const(0, dtype), left, refresh(substitute(loop.body, {var: place}))))

    def updates(self, loop: For) -> bool:
        own = [one.own[0] for one in self.privates]
        return any(type(node) is BufferStore and node.buffer in own for node in walk(loop.body))

    # what is done for each element

    def begun(self, one: _Private, own: Buffer) -> Stmt:
        axes, loops, indices = self.elements(own)
        return self.nest(
            f"{one.buffer.name}_begin", axes, loops, BufferStore(own, indices, neutral(one.op, one.buffer.dtype))
        )

    def kept(self, one: _Private) -> Stmt:
        axes, loops, indices = self.elements(one.buffer)
        value: Expr = BufferLoad(one.own[0], indices)
        for own in one.own[1:]:
            value = one.combined(value, BufferLoad(own, indices))
        part = Var("part", self.dtype)
        first = Axis(part, "spatial", const(0, self.dtype), self.parts, self.part)
        store = BufferStore(one.results, (part, *indices), value)
        return self.nest(f"{one.buffer.name}_part", (first, *axes), loops, store)

    def combination(self, one: _Private) -> Stmt:
        axes, loops, indices = self.elements(one.buffer)
        part, over = Var("part", self.dtype), self.part.replace()
        first = Axis(part, "reduce", const(0, self.dtype), self.parts, over)
        # in this order T.min and T.max leave a nan that no iteration was at
        value = one.combined(BufferLoad(one.results, (part, *indices)), BufferLoad(one.buffer, indices))
        around = For(over, const(0, self.dtype), self.parts, ())
        store = BufferStore(one.buffer, indices, value)
        return self.nest(f"{one.buffer.name}_combine", (first, *axes), [around, *loops], store)

    def elements(self, buffer: Buffer) -> tuple[tuple[Axis, ...], list[For], tuple[Expr, ...]]:
        """Axes, loops and indices over all elements of a buffer."""
        loops = [
            For(Var(f"{self.stmt.var.name}_h{at}", dim.dtype), const(0, dim.dtype), dim, ())
            for at, dim in enumerate(buffer.shape)
        ]
        axes = tuple(
            Axis(Var(f"v{at}", one.var.dtype), "spatial", one.start, one.stop, one.var) for at, one in enumerate(loops)
        )
        return axes, loops, tuple(axis.var for axis in axes)

    def nest(self, base: str, axes: tuple[Axis, ...], loops: list[For], store: BufferStore) -> Stmt:
        stmt: Stmt = Block(self.edit.fresh_block_name(base), axes, (store,), span=store.span)
        for loop in reversed(loops):
            stmt = loop.replace(body=(stmt,))
        return stmt


def _at_least_none(extent: Expr) -> Expr:
    """A number of iterations that may be negative, such as that of `range(3, n)` where n is 2."""
    if type(extent) is Const:
        return const(max(0, int(extent.value)), extent.dtype)
    return get_op("max")(extent, 0)


def _divided(count: Expr, by: int) -> tuple[Expr, Expr]:
    """The quotient and the rest of a number of iterations."""
    if type(count) is Const:
        quotient, rest = divmod(int(count.value), by)
        return const(quotient, count.dtype), const(rest, count.dtype)
    return get_op("floordiv")(count, by), get_op("floormod")(count, by)


def _named_apart(edit: Edit, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements in the place of a loop, with names for the copies of its blocks that no other has."""
    seen: set[str] = set()

    def name(block: Block) -> Block:
        found, number = block.name, 0
        while found in seen or (number and found in edit.tree.blocks):
            number += 1
            found = f"{block.name}_{number}"
        seen.add(found)
        return block if found == block.name else block.replace(name=found)

    made: tuple[Stmt, ...] = rewrite(stmts, {Block: name})
    return made
