"""rolling_buffer: a producer in a loop of its readers keeps what one iteration needs, and makes only what is new."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.presburger import MappedDomain
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS, const, get_op
from tirscript.ir.rewrite import definitions, substitute, uses
from tirscript.ir.stmt import Axis, Block, Evaluate, For

from ...access import contains, leaves_early
from ...statements import conjunction, has_effect
from ..blocks import reads_of, writes_of
from ..dataflow import accesses_outside_blocks, allocation, before, loads_of, readers, scope_of, stores_of, writers
from ..edit import Edit, used_in
from ..moving import axes_of_indices, moved_loops, needed, only_store
from ..primitive import BlockAt, primitive
from ..refusal import KINDS
from ..tree import Place
from .cache import check_reachable, chosen
from .transform_layout import Moved


class _Window(Struct, frozen=True, eq=False):
    """A dimension of the buffer of which an iteration of `loop` makes the `size` elements from `low` on.

    The next iteration begins `step` elements further, and makes `size - step` of them again. `axis` is the block's.
    """

    loop: Place
    dim: int
    axis: Axis
    low: Linear
    size: int
    step: int


@primitive
def rolling_buffer(edit: Edit, block: BlockAt, write_buffer_index: int | str) -> None:
    """Keep of a buffer, which a block makes in a loop of its readers, what an iteration needs; make only what is new.

    before:                                    after `rolling_buffer("B", 0)`:
        B = T.alloc_buffer((34,))                  B = T.alloc_buffer((10,))
        for i in range(4):                         for i in range(4):
            for ax0 in range(10):                      for ax0 in range(10):
                with T.block("B"):                         with T.block("B"):
                    vi = T.axis.spatial(34, i * 8 + ax0)       vi = T.axis.scan(34, i * 8 + ax0)
                    B[vi] = A[vi] + 1.0                        T.where(i < 1 or 2 <= ax0)
            for j in range(8):                                 B[vi % 10] = A[vi] + 1.0
                with T.block("C"): ...                 for j in range(8):
                    ... B[vi] + B[vi + 2]                  with T.block("C"): ...
                                                               ... B[vi % 10] + B[(vi + 2) % 10]

    compute_at brings the block into the loop. The outermost loop of which an iteration makes again what the one before
    made is the one that the buffer rolls along: that dimension is stored modulo its window. Elements that the inner
    loops make again are left out as well.
    """
    stmt: Block = block.stmt
    buffer = chosen(edit, block, writes_of(stmt), write_buffer_index, "writes")
    scope = scope_of(edit, block)
    check_reachable(edit, block, buffer)
    consumers = _consumers(edit, block, buffer, scope)
    moved_loops(edit, block, "rolled")
    shared = _shared(edit, block, buffer, consumers)
    windows = _windows(edit, block, buffer, shared)
    rolled = windows[0]
    _check_read(edit, block, buffer, consumers, shared)
    _check_steady(edit, block, shared, rolled, scope, ())
    _check_outputs(edit, block, windows)
    for window in windows:
        _check_predicate(edit, block, window)
    home = allocation(edit, buffer)
    assert home is not None
    if rolled.loop.contains(home):
        edit.refuse(
            f"`{buffer.name}` is allocated in the loop `{rolled.loop.stmt.var.name}`, so each iteration begins anew",
            (home, ""),
            (rolled.loop, "this loop"),
        )
    name = stmt.name
    made = stmt.replace(predicate=_new(edit, block, windows))
    dim = buffer.shape[rolled.dim]
    if type(dim) is not Const or int(dim.value) > rolled.size:
        axes = tuple(axis.replace(kind="scan") if axis is rolled.axis else axis for axis in stmt.axes)
        edit.tree.update(block, made.replace(axes=axes))
        _fold(edit, buffer, rolled)
    else:
        edit.tree.update(block, made)
    assert name in edit.tree.blocks


def _consumers(edit: Edit, block: Place, buffer: Buffer, scope: Place) -> list[Place]:
    """The blocks that read the buffer; refused where anybody else touches it."""
    stmt: Block = block.stmt
    if allocation(edit, buffer) is None:
        edit.refuse(
            f"`{buffer.name}`, which the block `{stmt.name}` writes, is seen outside of the function, where all of it "
            "is wanted",
            block,
            hint="cache_write gives the block a buffer of its own",
        )
    others = [other for other in writers(scope, buffer) if other is not block]
    if others:
        edit.refuse(f"`{buffer.name}` is written by another block too", (block, ""), (others[0], "here"))
    outside = accesses_outside_blocks(scope, buffer)
    if outside is not None:
        edit.refuse(f"`{buffer.name}` is accessed outside of blocks", (block, ""), (outside, "here"))
    if scope.parent is not None:
        around = [other for other in edit.tree.root.below(Block) if not scope.contains(other)]
        touching = [other for other in around if not other.contains(scope) and buffer in used_in(other.stmt)]
        if touching:
            edit.refuse(
                f"`{buffer.name}` is used outside of the block `{scope.stmt.name}` too",
                (block, ""),
                (touching[0], "here"),
            )
    consumers = [other for other in readers(scope, buffer) if other is not block]
    if not consumers:
        edit.refuse(f"nothing reads what the block `{stmt.name}` writes", block)
    return consumers


def _shared(edit: Edit, block: Place, buffer: Buffer, consumers: Sequence[Place]) -> list[Place]:
    """The loops around the block and all its readers, outermost first."""
    name = block.stmt.name
    loops = block.loops()
    shared = [loop for loop in loops if all(loop.contains(consumer) for consumer in consumers)]
    if not shared:
        edit.refuse(
            f"the block `{name}` and the readers of `{buffer.name}` are in no loop together",
            (block, ""),
            *[(consumer, "reads it") for consumer in consumers[:1]],
            hint=f'`sch.compute_at("{name}", loop)` moves the block into a loop of its readers',
        )
    for place in block.above():
        if type(place.stmt) is Block:
            break
        if type(place.stmt) is not For:
            edit.refuse(f"the block `{name}` stands in something else than loops", (block, ""), (place, "this"))
    for consumer in consumers:
        if not before(block, consumer):
            edit.refuse(
                f"`{consumer.stmt.name}` comes before `{name}`, and reads what an earlier iteration made",
                (block, ""),
                (consumer, "read here"),
            )
    for loop in shared:
        stmt: For = loop.stmt
        if stmt.kind not in ("serial", "unroll"):
            edit.refuse(
                f"the loop `{stmt.var.name}` is {KINDS[stmt.kind]}, so an iteration cannot go on with what "
                "the one before it made",
                loop,
            )
        if stmt.step is not None:
            edit.refuse(f"the loop `{stmt.var.name}` counts by a step", loop)
        if leaves_early(stmt.body):
            edit.refuse(f"the loop `{stmt.var.name}` may be left early", loop)
    variables = [loop.stmt.var for loop in shared]
    inner = [place.stmt for place in loops if all(place is not other for other in shared)]
    for ranged in (*inner, *(place.stmt for place in shared)):
        found = next((var for var in variables if uses(ranged.start, var) or uses(ranged.stop, var)), None)
        if found is not None:
            edit.refuse(f"the range of the loop `{ranged.var.name}` depends on `{found.name}`", ranged)
    return shared


def _windows(edit: Edit, block: Place, buffer: Buffer, shared: Sequence[Place]) -> list[_Window]:
    """The dimensions of which iterations make parts again, outermost loop first; refused where there is none."""
    stmt: Block = block.stmt
    store = only_store(edit, block, buffer)
    for load in loads_of((*(stmt.init or ()), *stmt.body), buffer):
        if list(load.indices) != list(store.indices):
            edit.refuse(f"the block `{stmt.name}` reads elements of `{buffer.name}` made before", (block, ""), load)
    named = axes_of_indices(edit, block, store.indices, "store")
    axes = {axis.var: axis for axis in stmt.axes}
    inner = shared[-1]
    area = needed(edit, inner, buffer, write=True, blocks=[block])
    notes: list[str] = []
    found: list[_Window] = []
    for at, loop in enumerate(shared):
        var = loop.stmt.var
        below = [place.stmt.var for place in shared[at + 1 :]]
        moved = [axis for axis in stmt.axes if uses(axis.value, var)]
        reduced = next((axis for axis in moved if axis.kind == "reduce"), None)
        if reduced is not None:
            edit.refuse(
                f"the loop `{var.name}` runs over the reduction axis `{reduced.var.name}` of `{stmt.name}`, so an "
                "iteration of it finishes no element",
                (loop, ""),
                (reduced, "this axis"),
            )
        if len(moved) != 1 or moved[0].var not in named:
            what = f"{len(moved)} axes of `{stmt.name}` depend" if moved else f"no axis of `{stmt.name}` depends"
            notes.append(f"{what} on the loop `{var.name}`")
            continue
        axis, dim = axes[moved[0].var], named.index(moved[0].var)
        extent = area[dim]
        step = 0 if extent is None else extent[0].terms.get(var, 0)
        if (
            extent is None
            or not (extent[1] - extent[0]).is_constant
            or any(uses(atom, other) for atom in extent[0].terms for other in (var, *below) if atom is not var)
            or any(uses(axis.value, other) for other in below)
        ):
            notes.append(f"what an iteration of `{var.name}` makes along dimension {dim} does not move by a step")
            continue
        size = (extent[1] - extent[0]).constant + 1
        if not 0 < step < size:
            notes.append(
                f"an iteration of `{var.name}` makes {size} along dimension {dim} of `{buffer.name}`, and the next one "
                f"begins {step} further: nothing of it is made again"
            )
            continue
        window = _Window(loop, dim, axis, extent[0], size, step)
        problem = _no_interval(edit, block, shared, window)
        if problem is not None:
            notes.append(problem)
            continue
        found.append(window)
    if not found:
        edit.refuse(
            f"no iteration of the loops around `{stmt.name}` and its readers makes a part of `{buffer.name}` again",
            block,
            notes=notes,
        )
    return found


def _offset(window: _Window) -> Linear:
    """Which element of the window an instance of the block makes, as a sum of its own loops."""
    return linear(window.axis.value) - window.low


def _no_interval(edit: Edit, block: Place, shared: Sequence[Place], window: _Window) -> str | None:
    """Why the block's own loops do not make the elements of a window one by one, for each of what else they make."""
    stmt: Block = block.stmt
    axis = window.axis
    what = f"the loops of `{stmt.name}` do not go through the window of `{window.loop.stmt.var.name}` one by one"
    if axis.value.dtype is not window.low.dtype:
        return what
    offset = expression(_offset(window))
    own = [place for place in block.loops() if all(place is not other for other in shared)]
    mine = [place.stmt for place in own if uses(axis.value, place.stmt.var)]
    if any(uses(other.value, loop.var) for other in stmt.axes if other is not axis for loop in mine):
        return what
    known = edit.analyzer(window.loop, inside=True)
    starts = {loop.var: loop.start + loop.var for loop in mine}
    mapping = IndexMap(tuple(loop.var for loop in mine), (substitute(offset, starts),))
    if any(loop.step is not None for loop in mine):
        return what
    domain = MappedDomain(mapping, [loop.extent for loop in mine], dict(known.known))
    return None if domain.is_bijective([window.size]) else what


def _check_read(edit: Edit, block: Place, buffer: Buffer, consumers: Sequence[Place], shared: Sequence[Place]) -> None:
    """Refuse where readers are not proved to read what the same iteration made, so that older parts must stay."""
    inner = shared[-1]
    made = needed(edit, inner, buffer, write=True, blocks=[block])
    for consumer in consumers:
        read = needed(edit, inner, buffer, write=False, blocks=[consumer])
        if not contains(made, read):
            edit.refuse(
                f"it is not proved that `{consumer.stmt.name}` reads of `{buffer.name}` only what `{block.stmt.name}` "
                "makes in the same iteration",
                (block, ""),
                (consumer, "read here"),
                notes=[f"made: {_box(made)}", f"read: {_box(read)}"],
            )


def _box(area: Sequence[tuple[Linear, Linear] | None]) -> str:
    parts = ("?" if one is None else f"{expression(one[0])}:{expression(one[1].shifted(1))}" for one in area)
    return f"[{', '.join(parts)}]"


def _check_steady(
    edit: Edit, block: Place, shared: Sequence[Place], rolled: _Window, scope: Place, above: tuple[Buffer, ...]
) -> None:
    """Refuse where a block is not proved to make the same value of an element each time that it makes it."""
    stmt: Block = block.stmt
    body = (*(stmt.init or ()), *stmt.body)
    if any(type(place.stmt) is Evaluate for place in block.below()) or any(map(has_effect, body)):
        edit.refuse(f"the block `{stmt.name}` has an effect beside its stores", block)
    own = set(definitions(body))
    written = set(writes_of(stmt))
    for buffer in reads_of(stmt):
        if buffer in written or buffer in own or buffer in above:
            continue
        bare = accesses_outside_blocks(scope, buffer)
        if bare is not None and rolled.loop.contains(bare):
            edit.refuse(
                f"`{buffer.name}`, which the block `{stmt.name}` reads, is accessed outside of blocks in the loop",
                (block, ""),
                (bare, "here"),
            )
        makers = writers(scope, buffer)
        inside = [maker for maker in makers if rolled.loop.contains(maker)]
        if not inside:
            continue
        maker: Place = inside[0]
        if len(makers) > 1 or not before(maker, block):
            edit.refuse(
                f"`{buffer.name}`, which the block `{stmt.name}` reads, changes in the loop",
                (block, ""),
                *[(one, "written here") for one in makers[:2]],
            )
        _check_one_value(edit, block, maker, buffer)
        _check_steady(edit, maker, shared, rolled, scope, (*above, buffer))


def _check_one_value(edit: Edit, block: Place, maker: Place, buffer: Buffer) -> None:
    """Refuse where an element of what another block makes in the loop may hold several values in turn."""
    stmt: Block = maker.stmt
    stores = stores_of(stmt.body, buffer)
    spatial = {axis.var for axis in stmt.axes if axis.kind == "spatial"}
    around = {place.stmt.var for place in maker.loops() if place.contains(block)}
    plain = bool(stores) and all(
        len(set(store.indices)) == store.buffer.ndim
        and all(type(index) is Const or index in spatial for index in store.indices)
        and {index for index in store.indices if type(index) is Var} == spatial
        and list(store.indices) == list(stores[0].indices)
        for store in stores
    )
    again = (
        all(list(load.indices) == list(stores[0].indices) for load in loads_of(stmt.body, buffer)) if stores else False
    )
    whole = not any(uses(axis.value, var) for axis in stmt.axes if axis.kind != "spatial" for var in around)
    if not (plain and again and whole):
        edit.refuse(
            f"`{buffer.name}`, which the block `{block.stmt.name}` reads, is not proved to keep its values in the loop",
            (block, ""),
            (maker, "written here"),
            hint=f"roll what `{block.stmt.name}` makes before `{buffer.name}`: readers first, producers after them",
        )


def _check_outputs(edit: Edit, block: Place, windows: Sequence[_Window]) -> None:
    """Refuse where the block writes other buffers too, and not each of their elements just once."""
    stmt: Block = block.stmt
    own = set(definitions((*(stmt.init or ()), *stmt.body)))
    scope = scope_of(edit, block)
    for buffer in writes_of(stmt):
        if buffer in own or buffer.is_scalar:
            continue
        axes = axes_of_indices(edit, block, only_store(edit, block, buffer).indices, "store")
        missing = next((window.axis for window in windows if window.axis.var not in axes), None)
        others = [other for other in writers(scope, buffer) if other is not block]
        if missing is not None or others:
            edit.refuse(
                f"the block `{stmt.name}` writes `{buffer.name}` too, which is not proved to stay as it is", block
            )


def _check_predicate(edit: Edit, block: Place, window: _Window) -> None:
    """Refuse where the block's predicate leaves an element out in one iteration and not in another."""
    stmt: Block = block.stmt
    var = window.loop.stmt.var
    value = linear(window.axis.value)
    loops = [place.stmt.var for place in block.loops()]
    mine = [one for one in loops if uses(window.axis.value, one) and not any(uses(a, one) for a in window.low.terms)]
    mine.append(var)
    for part in _conjuncts(stmt.predicate):
        if not any(uses(part, one) for one in mine):
            continue
        if type(part) is Call and part.op.name in _COMPARISONS and part.args[0].dtype is window.axis.value.dtype:
            form = linear(part.args[0]) - linear(part.args[1])
            factor, rest = divmod(form.terms.get(var, 0), window.step)
            left = form - value.scaled(factor)
            if not rest and not any(uses(atom, one) for atom in left.terms for one in mine):
                continue
        edit.refuse(
            f"the predicate of the block `{stmt.name}` is no condition on its axes, so it may leave an element out in "
            f"one iteration of `{var.name}` that another one makes",
            block,
        )


_COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


def _conjuncts(predicate: Expr | None) -> list[Expr]:
    if predicate is None:
        return []
    if type(predicate) is Call and predicate.op is OPS["logical_and"]:
        return [part for arg in predicate.args for part in _conjuncts(arg)]
    return [predicate]


def _new(edit: Edit, block: Place, windows: Sequence[_Window]) -> Expr | None:
    """The predicate of what is made for the first time: in the first iteration, or beyond what the last one made."""
    known = edit.analyzer(block)
    parts: list[Expr] = _conjuncts(block.stmt.predicate)
    for window in windows:
        loop: For = window.loop.stmt
        first = known.simplify(get_op("less")(loop.var, loop.start + 1))
        offset = known.simplify(expression(_offset(window)))
        fresh = get_op("less_equal")(const(window.size - window.step, offset.dtype), offset)
        parts.append(get_op("logical_or")(first, fresh))
    return conjunction(parts)


def _fold(edit: Edit, buffer: Buffer, window: _Window) -> None:
    """Store a dimension of the buffer modulo the size of its window."""
    params = tuple(Var(f"p{at}", dim.dtype) for at, dim in enumerate(buffer.shape))
    size = const(window.size, params[window.dim].dtype)
    indices = tuple(get_op("floormod")(param, size) if at == window.dim else param for at, param in enumerate(params))
    shape = tuple(size if at == window.dim else dim for at, dim in enumerate(buffer.shape))
    new = buffer.replace(shape=shape)
    func = Moved(buffer, new, IndexMap(params, indices)).function(edit.func)
    edit.tree.reset(substitute(func, {buffer: new}))
