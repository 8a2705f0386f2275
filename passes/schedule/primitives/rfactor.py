"""rfactor: a reduction in two steps, partial results beside each other first."""

from __future__ import annotations

import math

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import substitute, uses
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt
from tirscript.ir.words import counted

from ...statements import conjunction
from ..blocks import inferred, init_of, writes_of
from ..dataflow import check_own_memory
from ..edit import Edit
from ..extremes import Extreme, extreme_of
from ..legality import check_begun_once
from ..loops import check_counted, check_straight
from ..primitive import LoopAt, primitive
from ..reducers import Update, only_update, updates_of
from ..tree import Place


@primitive
def rfactor(edit: Edit, loop: LoopAt, factor_axis: int = 0) -> Place:
    """Give each iteration of a reduction loop a partial result of its own; the block that makes them is returned.

    before:                                     after `rfactor("k0")`:
        for k0, k1 in T.grid(4, 8):                 for k0, k1 in T.grid(4, 8):
            with T.block("C"):                          with T.block("C_rf"):
                vk = T.axis.reduce(32, k0 * 8 + k1)         vk0, vk1 = T.axis.remap("SR", [k0, k1])
                with T.init():                              with T.init():
                    C[()] = 0.0                                 C_rf[vk0] = 0.0
                C[()] += A[vk]                              C_rf[vk0] += A[vk0 * 8 + vk1]
                                                    for k0 in range(4):
                                                        with T.block("C"):
                                                            vk0 = T.axis.reduce(4, k0)
                                                            with T.init():
                                                                C[()] = 0.0
                                                            C[()] += C_rf[vk0]

    The new dimension of the partial results stands at `factor_axis`. The combiner must be known to be commutative and
    associative; sums of floats are rounded in another order. The greatest or least element and where it is are such a
    reduction, too: `better = A[vk] > best[()]`, then `at[()]` and `best[()]` as `T.if_then_else(better, ...)`. Several
    sums beside each other, each of a buffer of its own, are factored together. Of equal elements the one is found that
    the block finds; of nan, where the block keeps the element unless it is the less, the order counts.
    """
    blocks = list(loop.below(Block, nested=False))
    if len(blocks) != 1:
        edit.refuse(f"the loop `{loop.stmt.var.name}` holds {counted(len(blocks), 'block')}, not one", loop)
    block = blocks[0]
    stmt: Block = block.stmt
    loops = _nest(edit, block, loop)
    extreme = extreme_of(stmt, anywhere=True)
    kind = _kind(edit, block, extreme)
    check_own_memory(edit, block, writes_of(stmt))
    rf = _checked(edit, block, loop, loops)
    if extreme is not None and not extreme.ties:
        _check_ascending(edit, block, loops)
    ndim = kind.stores[0].buffer.ndim
    if not -(ndim + 1) <= factor_axis <= ndim:
        edit.wrong(f"`factor_axis` is {factor_axis}, and the partial results have {ndim + 1} dimensions")
    where = factor_axis if factor_axis >= 0 else factor_axis + ndim + 1
    partials = tuple(_partial_buffer(store.buffer, where, rf) for store in kind.stores)
    first = _partial_block(edit, stmt, kind, partials, where, rf, loops)
    nest = _final_block(edit, stmt, kind, partials, where, rf, loops)
    outer: Stmt = first
    for place in reversed(loops):
        outer = place.stmt.replace(body=(outer,))
    edit.replace(loops[0], outer, nest)
    own = kind.place if type(kind) is _Extreme else ()
    for buffer in (*[store.buffer for store in own], *partials):
        edit.allocate(buffer, edit.block(first.name))
    return edit.block(first.name)


class _Sums(Struct, frozen=True, eq=False):
    """Reductions by operators, beside each other: what begins a lane, an iteration in a lane, and the end."""

    updates: tuple[Update, ...]
    init: tuple[Stmt, ...]

    @property
    def stores(self) -> tuple[BufferStore, ...]:
        return tuple(update.store for update in self.updates)

    def begins(self, values: dict[Var, Expr]) -> tuple[Expr, ...]:
        return tuple(update.identity for update in self.updates)

    def step(self, lane: tuple[BufferLoad, ...], values: dict[Var, Expr], held: Expr | None) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for update, mine in zip(self.updates, lane, strict=True):
            value = substitute(update.value, values)
            if held is not None:
                # a lane of which nothing is reduced still begins with the identity
                value = get_op("if_then_else")(held, value, update.identity)
            made.append(_combined(update, mine, value))
        return tuple(made)

    def end(self, results: tuple[BufferLoad, ...], lane: tuple[BufferLoad, ...]) -> tuple[Stmt, ...]:
        return tuple(map(_combined, self.updates, results, lane))


def _combined(update: Update, mine: BufferLoad, other: Expr) -> BufferStore:
    return BufferStore(mine.buffer, mine.indices, update.combine(mine, other), span=update.store.span)


class _Extreme(Struct, frozen=True, eq=False):
    """The greatest or least element and where it is: each lane begins as the whole does.

    Where what is stored of the place does not grow as the loops run, `place` holds what does beside it, which decides
    between equal elements.
    """

    extreme: Extreme
    init: tuple[Stmt, ...]
    place: tuple[BufferStore, ...] = ()

    @property
    def stores(self) -> tuple[BufferStore, ...]:
        return (self.extreme.at, self.extreme.best, *self.place)

    def begins(self, values: dict[Var, Expr]) -> tuple[Expr, ...]:
        inits: dict[Buffer, Expr] = {stmt.buffer: stmt.value for stmt in self.init if type(stmt) is BufferStore}
        return tuple(substitute(inits[store.buffer], values) for store in self.stores)

    def step(self, lane: tuple[BufferLoad, ...], values: dict[Var, Expr], held: Expr | None) -> tuple[Stmt, ...]:
        value, index = substitute(self.extreme.value, values), substitute(self.extreme.index, values)
        places = tuple(
            (mine, substitute(store.value, values)) for mine, store in zip(lane[2:], self.place, strict=True)
        )
        return self.extreme.step(lane[0], lane[1], value, index, held=held, places=places)

    def end(self, results: tuple[BufferLoad, ...], lane: tuple[BufferLoad, ...]) -> tuple[Stmt, ...]:
        places = tuple(zip(results[2:], lane[2:], strict=True))
        return self.extreme.step(results[0], results[1], lane[1], lane[0], ties=True, places=places)


_Kind = _Sums | _Extreme


def _kind(edit: Edit, block: Place, extreme: Extreme | None) -> _Kind:
    """What kind of reduction a block is; refused where it is none that is known."""
    stmt: Block = block.stmt
    init = stmt.init or ()
    if extreme is not None and (extreme.grows or extreme.ties):
        return _Extreme(extreme, init)
    if extreme is not None:
        (axis,) = [axis for axis in stmt.axes if axis.kind == "reduce"]
        shape, none = extreme.at.buffer.shape, const(-1, axis.var.dtype)
        buffer = Buffer(f"{extreme.at.buffer.name}_place", shape, axis.var.dtype, scope=extreme.at.buffer.scope)
        place = BufferStore(buffer, extreme.at.indices, axis.var)
        return _Extreme(extreme, (*init, place.replace(value=none)), (place,))
    updates = updates_of(stmt)
    if updates is None:
        return _Sums((only_update(edit, block),), init)
    return _Sums(updates, init)


def _nest(edit: Edit, block: Place, loop: Place) -> list[Place]:
    """The loops that hold nothing but the block, outermost first; what is around them stays around both blocks."""
    found: list[Place] = []
    for place in block.above():
        if type(place.stmt) is not For or len(place.stmt.body) != 1:
            break
        found.append(place)
    if all(place is not loop for place in found):
        check_straight(edit, block, loop)
        edit.refuse(
            f"beside the block `{block.stmt.name}` other statements stand in the loop `{loop.stmt.var.name}`",
            (loop, ""),
        )
    outside = [place for place in block.loops() if all(place is not one for one in found)]
    for place in outside:
        for axis in block.stmt.axes:
            if axis.kind == "reduce" and uses(axis.value, place.stmt.var):
                edit.refuse(
                    f"the loop `{place.stmt.var.name}` runs over the reduction too, and holds other statements",
                    (place, ""),
                    (axis, "this axis"),
                )
    return found[::-1]


def _checked(edit: Edit, block: Place, loop: Place, loops: list[Place]) -> For:
    """The loop, refused where it cannot be factored."""
    stmt: Block = block.stmt
    rf: For = loop.stmt
    check_counted(edit, loop)
    if stmt.init is None:
        edit.refuse(f"the block `{stmt.name}` has no T.init", block)
    for axis in stmt.axes:
        if axis.kind != "reduce" and uses(axis.value, rf.var):
            edit.refuse(
                f"the loop `{rf.var.name}` runs over the {axis.kind} axis `{axis.var.name}`, not over the reduction",
                (loop, ""),
                (axis, "this axis"),
            )
    if not any(uses(axis.value, rf.var) for axis in stmt.axes):
        edit.refuse(f"the loop `{rf.var.name}` does not run over a reduction axis", loop)
    for place in loops:
        other: For = place.stmt
        if other.step is not None:
            edit.refuse(f"the loop `{other.var.name}` counts by a step", place)
        if other is not rf and (uses((other.start, other.stop), rf.var) or uses((rf.start, rf.stop), other.var)):
            edit.refuse(f"the extents of `{rf.var.name}` and `{other.var.name}` depend on each other", place)
        spatial = any(a.kind != "reduce" and uses(a.value, other.var) for a in stmt.axes)
        reduce = any(a.kind == "reduce" and uses(a.value, other.var) for a in stmt.axes)
        if spatial:
            _check_bounds(edit, place, stmt, loops)
        if spatial and reduce:
            edit.refuse(f"the loop `{other.var.name}` runs over spatial and reduction axes at once", place)
    reduced = [axis for axis in stmt.axes if axis.kind == "reduce"]
    first = next(at for at, place in enumerate(loops) if any(uses(axis.value, place.stmt.var) for axis in reduced))
    check_begun_once(edit, block, loops[first:])
    return rf


def _check_bounds(edit: Edit, place: Place, stmt: Block, loops: list[Place]) -> None:
    """Refuse where a loop over results is as long as one over the reduction says: that is not around the results."""
    for other in loops:
        reduces = any(axis.kind == "reduce" and uses(axis.value, other.stmt.var) for axis in stmt.axes)
        if reduces and uses((place.stmt.start, place.stmt.stop), other.stmt.var):
            message = f"the extent of `{place.stmt.var.name}` depends on `{other.stmt.var.name}`"
            edit.refuse(f"{message}, which runs over the reduction", place)


def _check_ascending(edit: Edit, block: Place, loops: list[Place]) -> None:
    """Refuse where the loops do not run the reduction axis upward, in which order elements that are equal are found."""
    axis = next(axis for axis in block.stmt.axes if axis.kind == "reduce")
    form = linear(axis.value)
    below: float = 0  # how far the loops inside go
    for place in reversed(loops):
        loop: For = place.stmt
        step = form.terms.get(loop.var, 0)
        if not step:
            continue
        if step <= below:
            break
        below += step * (int(loop.extent.value) - 1) if type(loop.extent) is Const else math.inf
    else:
        if all(type(term) is Var for term in form.terms):
            return
    edit.refuse(f"the loops are not proved to run the axis `{axis.var.name}` upward", (block, ""), (axis, "this axis"))


def _partial_buffer(buffer: Buffer, where: int, rf: For) -> Buffer:
    shape = list(buffer.shape)
    shape.insert(where, rf.extent)
    return Buffer(f"{buffer.name}_rf", tuple(shape), buffer.dtype, scope=buffer.scope)


def _partial_block(
    edit: Edit,
    stmt: Block,
    kind: _Kind,
    partials: tuple[Buffer, ...],
    where: int,
    rf: For,
    loops: list[Place],
) -> Block:
    """The block of the partial results: the factored loop is spatial, each other reduction loop an axis of its own."""
    axes, values, lane = _partial_axes(stmt, rf, loops)
    indices = [substitute(index, values) for index in kind.stores[0].indices]
    indices.insert(where, lane if _zero(rf) else lane - rf.start)
    spatial, reducing = _conditions(edit, stmt, loops)
    held = conjunction(substitute(tuple(reducing), values))
    body = kind.step(tuple(BufferLoad(partial, tuple(indices)) for partial in partials), values, held)
    begins = zip(partials, kind.begins(values), kind.stores, strict=True)
    init = tuple(BufferStore(partial, tuple(indices), value, span=store.span) for partial, value, store in begins)
    name = edit.fresh_block_name(f"{stmt.name}_rf")
    made = stmt.replace(name=name, axes=tuple(axes), body=body, init=init, trivia=stmt.trivia)
    return inferred(made.replace(predicate=conjunction(spatial)))


def _partial_axes(stmt: Block, rf: For, loops: list[Place]) -> tuple[list[Axis], dict[Var, Expr], Var]:
    """The axes of the block of partial results, what loops and old axes are in terms of them, and that of the lanes."""
    axes: list[Axis] = []
    values: dict[Var, Expr] = {}
    lane = Var(f"v{rf.var.name}", rf.var.dtype)
    axes.append(Axis(lane, "spatial", rf.start, rf.stop, rf.var))
    values[rf.var] = lane
    for axis in stmt.axes:
        if axis.kind != "reduce":
            fresh = axis.var.replace()
            axes.append(axis.replace(var=fresh))
            values[axis.var] = fresh
    for place in loops:
        other: For = place.stmt
        if other is rf or not any(a.kind == "reduce" and uses(a.value, other.var) for a in stmt.axes):
            continue
        fresh = Var(f"v{other.var.name}", other.var.dtype)
        axes.append(Axis(fresh, "reduce", other.start, other.stop, other.var))
        values[other.var] = fresh
    loop_values = {var: value for var, value in values.items() if any(place.stmt.var is var for place in loops)}
    for axis in stmt.axes:
        if axis.kind == "reduce":
            values[axis.var] = substitute(axis.value, loop_values)
    return axes, values, lane


def _final_block(
    edit: Edit,
    stmt: Block,
    kind: _Kind,
    partials: tuple[Buffer, ...],
    where: int,
    rf: For,
    loops: list[Place],
) -> Stmt:
    """The block that combines the partial results, in loops of its own."""
    spatial, _ = _conditions(edit, stmt, loops)
    asked = (*[axis.value for axis in stmt.axes if axis.kind != "reduce"], *spatial)
    over = [place.stmt for place in loops if place.stmt is rf or uses(asked, place.stmt.var)]
    fresh = {loop.var: loop.var.replace() for loop in over}
    lane = Var(f"v{rf.var.name}", rf.var.dtype)
    axes = [Axis(lane, "reduce", rf.start, rf.stop, fresh[rf.var])]
    values: dict[Var, Expr] = {}
    for axis in stmt.axes:
        if axis.kind != "reduce":
            var = values[axis.var] = axis.var.replace()
            start, stop, value = (substitute(one, fresh) for one in (axis.start, axis.stop, axis.value))
            axes.append(axis.replace(var=var, start=start, stop=stop, value=value))
    indices = [substitute(index, values) for index in kind.stores[0].indices]
    lanes = list(indices)
    lanes.insert(where, lane if _zero(rf) else lane - rf.start)
    results = tuple(BufferLoad(store.buffer, tuple(indices)) for store in kind.stores)
    body = kind.end(results, tuple(BufferLoad(partial, tuple(lanes)) for partial in partials))
    predicate = conjunction([substitute(part, fresh) for part in spatial])
    made = Block(
        stmt.name,
        tuple(axes),
        body,
        substitute(init_of(stmt.replace(init=kind.init)), values),
        predicate,
        None if stmt.reads is None else (),
        None if stmt.writes is None else (),
        stmt.annotations,
        span=stmt.span,
    )
    nest: Stmt = inferred(made)
    for loop in reversed(over):
        kind_of = "serial" if loop is rf else loop.kind
        start, stop = substitute(loop.start, fresh), substitute(loop.stop, fresh)
        nest = loop.replace(var=fresh[loop.var], start=start, stop=stop, body=(nest,), trivia=None, kind=kind_of)
    return nest


def _conditions(edit: Edit, stmt: Block, loops: list[Place]) -> tuple[list[Expr], list[Expr]]:
    """The parts of the block's predicate on spatial loops alone, and those on reduction loops alone."""
    if stmt.predicate is None:
        return [], []
    reduced = [p.stmt for p in loops if any(a.kind == "reduce" and uses(a.value, p.stmt.var) for a in stmt.axes)]
    others = [p.stmt for p in loops if all(p.stmt is not loop for loop in reduced)]
    spatial: list[Expr] = []
    reducing: list[Expr] = []
    starts = {loop.var: loop.start for loop in reduced}
    known = edit.analyzer(loops[0])
    for loop in reduced:
        known.assume(loop.start < loop.stop)  # where a loop does not run, nothing is reduced
    for part in conjuncts(stmt.predicate):
        if not any(uses(part, loop.var) for loop in reduced):
            spatial.append(part)
            continue
        if any(uses(part, loop.var) for loop in others):
            edit.refuse("the predicate ties spatial loops to reduction loops, so it cannot be taken apart", stmt)
        if not known.can_prove(substitute(part, starts)):
            edit.refuse("the predicate does not hold where the reduction begins", stmt)
        reducing.append(part)
    return spatial, reducing


def _zero(loop: For) -> bool:
    return is_const(loop.start, 0)
