"""pad_einsum: the axes of a sum of products rounded up to multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import free_vars, rewrite, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ...statements import conjunction, same_indices
from ...trapping import may_trap
from ..blocks import inferred
from ..dataflow import check_not_viewed, scope_of, top, writers
from ..edit import Edit
from ..legality import check_covers
from ..loops import axis_loops
from ..moving import only_store
from ..primitive import BlockAt, primitive
from ..reducers import Update, update_of
from ..tree import Place
from .cache import check_copied_behind, written_to

CASTS = frozenset((OPS["cast"], OPS["negative"]))


@primitive
def pad_einsum(edit: Edit, block: BlockAt, padding: list[int]) -> None:
    """Round the axes of a sum of products up to multiples of numbers, one for each axis, with zeros in padded copies.

    before:                                    after `pad_einsum("C", [1, 1, 8])` where k was 30:
        for i, j, k in T.grid(32, 32, 30):         with T.block("A_pad"):
            with T.block("C"):                         A_pad[v0, v1] = T.if_then_else(v1 < 30, A[v0, v1], 0.0)
                vi, vj, vk = ...                   with T.block("B_pad"): ...
                C[vi, vj] += A[vi, vk] * B[vk, vj] for i, j, k in T.grid(32, 32, 32):
                                                       with T.block("C"):
                                                           C[vi, vj] += A_pad[vi, vk] * B_pad[vk, vj]

    The factors are elements at plain axes of the block, cast or not; those that no padded axis has to do with may be
    anywhere, and an index such as `x * 2 + u` may step along a padded axis: the copy then holds as much more as the
    steps beyond its end reach. A result with padded axes is made in a copy, which is cut to its size behind the block.
    Refused where a padded reduction axis of floats is not in every factor, since what is there may be infinite, and 0
    times infinity is no zero. Where no reduction axis is padded, the block may reduce any values of such elements, in
    any way.
    """
    stmt: Block = block.stmt
    if len(padding) != len(stmt.axes) or any(size < 1 for size in padding):
        edit.wrong(f"`padding` is {padding}, not {len(stmt.axes)} numbers of at least 1, one for each axis")
    update, loads, strange = _reduction(edit, block, padding)
    loops = axis_loops(edit, block, "padded")
    check_covers(edit, block)
    new: dict[Var, Expr] = {}
    for axis, size in zip(stmt.axes, padding, strict=True):
        if not is_const(axis.start, 0):
            edit.refuse(f"the axis `{axis.var.name}` does not begin at 0", (block, ""), (axis, "this axis"))
        padded = _rounded(edit, block, axis, size)
        if padded is not None:
            new[axis.var] = padded
            if axis.kind == "reduce":
                _check_adds_nothing(edit, block, axis, update, loads, strange)
    if not new:
        return
    target = update.store.buffer
    home = top(scope_of(edit, block), block)
    copies = _copies(edit, block, home, [*loads, update.store], new)
    if target in copies:
        check_copied_behind(edit, block, target)

    ends = [(axis.var, cast(axis.stop, axis.var.dtype)) for axis in stmt.axes if axis.var in new]
    body = stmt.replace(axes=(), init=_kept_inside(stmt.init or (), ends))
    body = written_to(body, {old: copy.buffer for old, copy in copies.items()})
    axes = tuple(axis.replace(stop=new.get(axis.var, axis.stop)) for axis in stmt.axes)
    nest: Stmt = inferred(body.replace(axes=axes))
    for place, axis in reversed(list(zip(loops, axes, strict=True))):
        stop = cast(axis.stop, place.stmt.var.dtype)
        nest = place.stmt.replace(stop=stop, body=(nest,))
    before = [copy.stmt for old, copy in copies.items() if old is not target]
    after = [copy.stmt for old, copy in copies.items() if old is target]
    edit.tree.insert(home, before=before, after=after)
    edit.replace(loops[0], nest)
    for copy in copies.values():
        edit.allocate(copy.buffer, edit.block(copy.name))


class _Copy(NamedTuple):
    """A copy of a buffer with padded dimensions, and the nest and name of the block that fills it, or takes from it."""

    buffer: Buffer
    name: str
    stmt: Stmt


def _copies(
    edit: Edit, block: Place, home: Place, accesses: list[BufferLoad | BufferStore], new: Mapping[Var, Expr]
) -> dict[Buffer, _Copy]:
    """Padded copies of the buffers that are indexed by padded axes; the last access is the store of the result."""
    target = accesses[-1].buffer
    sizes = {axis.var: axis.stop for axis in block.stmt.axes}
    made: dict[Buffer, _Copy] = {}
    for access in accesses:
        old = access.buffer
        if old in made or new.keys().isdisjoint(free_vars(access.indices)):
            continue
        pairs = list(zip(access.indices, old.shape, strict=True))
        shape = tuple(_grown(edit, block, index, dim, sizes, new) for index, dim in pairs)
        copy = Buffer(f"{old.name}_pad", shape, old.dtype, scope=old.scope)
        name = edit.fresh_block_name(copy.name)
        while any(name == one.name for one in made.values()):
            name += "_1"
        if old is target:
            stmt = _copied(name, copy, old, old.shape, ())
        else:
            _check_unchanged(edit, block, home, old)
            limits = [(at, dim) for at, (index, dim) in enumerate(pairs) if not new.keys().isdisjoint(free_vars(index))]
            stmt = _copied(name, old, copy, shape, limits)
        made[old] = _Copy(copy, name, stmt)
    return made


def _check_adds_nothing(
    edit: Edit, block: Place, axis: Axis, update: Update, loads: list[BufferLoad], strange: Expr | None
) -> None:
    """Refuse where what the padding of a reduction axis adds is not known to be 0."""
    if strange is not None:
        edit.refuse(
            f"what `{block.stmt.name}` adds up is not a product of elements",
            (block, ""),
            (strange, "this is no element"),
        )
    within = [any(index is axis.var for index in load.indices) for load in loads]
    if not all(within) and (update.store.buffer.dtype.is_float or not any(within)):
        edit.refuse(
            f"the axis `{axis.var.name}` is not in every factor, so the products in the padding are not known to be 0",
            (block, ""),
            (axis, "this axis"),
        )


def _kept_inside(init: tuple[Stmt, ...], limits: list[tuple[Var, Expr]]) -> tuple[Stmt, ...]:
    """The init of the padded block: what it reads at padded axes, such as a bias, is not there in the padding."""

    def store(node: BufferStore) -> BufferStore:
        used = free_vars(node.value)
        inside = conjunction(var < stop for var, stop in limits if var in used)
        if inside is None:
            return node
        dtype = node.value.dtype
        zero = const(0.0 if dtype.is_float else 0, dtype)
        return node.replace(value=get_op("if_then_else")(inside, node.value, zero))

    return tuple(rewrite(part, {BufferStore: store}) for part in init)


def _rounded(edit: Edit, block: Place, axis: Axis, size: int) -> Expr | None:
    """The end of an axis rounded up to a multiple; None where it is one."""
    dtype = axis.var.dtype
    # no memory has a size in 32 bits that cannot be rounded up
    most = int(axis.stop.value) if type(axis.stop) is Const else 0 if dtype.bits >= 32 else dtype.int_range()[1]
    if most > dtype.int_range()[1] // size * size:
        edit.refuse(f"the {dtype} of the axis `{axis.var.name}` does not hold it rounded up to {size}", block, axis)
    whole = get_op("ceildiv")(axis.stop, const(size, axis.stop.dtype)) * const(size, axis.stop.dtype)
    known = edit.analyzer(block)
    if known.prove_equal(whole, axis.stop):
        return None
    return cast(known.simplify(whole), axis.var.dtype)


def _reduction(edit: Edit, block: Place, padding: Sequence[int]) -> tuple[Update, list[BufferLoad], Expr | None]:
    """The update of the block, the elements that it reads, and where it is no sum of products of them, what is none."""
    stmt: Block = block.stmt
    update = update_of(stmt)
    if update is None or stmt.init is None:
        edit.refuse(f"the block `{stmt.name}` is no sum with a T.init such as `C[vi] = C[vi] + value`", block)
    loads: list[BufferLoad] = []
    strange: Expr | None = None if update.op is OPS["add"] else update.store.value
    stack: list[Expr] = [update.value]
    while stack:
        node = stack.pop()
        if type(node) is Call and (node.op is OPS["mul"] or node.op in CASTS):
            stack += reversed(node.args)
        elif type(node) is BufferLoad and node.predicate is None:
            loads.append(node)
        else:
            strange = node
            break
    if strange is not None:
        if has_effect(update.value) or may_trap(update.value):
            edit.refuse(
                f"what `{stmt.name}` does is not known to be harmless in the padding",
                (block, ""),
                (update.value, "here"),
            )
        every = list(walk(update.value, BufferLoad))
        if any(load.predicate is not None or load.buffer.is_scalar for load in every):
            edit.refuse(f"`{stmt.name}` reads variables, or under predicates", block)
        loads = []
        for load in every:
            if not any(load.buffer is one.buffer and same_indices(load.indices, one.indices) for one in loads):
                loads.append(load)
    only_store(edit, block, update.store.buffer)
    axes = {axis.var: axis for axis in stmt.axes}
    padded = {axis.var for axis, size in zip(stmt.axes, padding, strict=True) if size > 1}
    accesses: list[BufferLoad | BufferStore] = [*loads, update.store]
    for access in accesses:
        check_not_viewed(edit, block, access.buffer)
        if access is not update.store and padded.isdisjoint(free_vars(access.indices)):
            continue
        pairs = list(zip(access.indices, access.buffer.shape, strict=True))
        through = [(index, dim) for index, dim in pairs if not (is_const(index, 0) and is_const(dim, 1))]
        known = edit.analyzer(block)
        steps = access is not update.store and not _chooses(update.value)
        if len({index for index, _ in through}) != len(through) or not all(
            known.prove_equal(cast(axes[index].stop, dim.dtype), dim)
            if type(index) is Var and index in axes
            else steps and _steps_of(index, padded) is not None
            for index, dim in through
        ):
            edit.refuse(f"`{access.buffer.name}` is not accessed at plain axes that go through all of it", block)
    buffers = [access.buffer for access in loads]
    for buffer in buffers:
        if buffers.count(buffer) > 1:
            edit.refuse(f"`{buffer.name}` is several of the factors", block)
    return update, loads, strange


def _chooses(value: Expr) -> bool:
    """Whether it depends on a condition which elements a value reads."""
    return any(type(node) is Call and node.op in LAZY for node in walk(value))


def _steps_of(index: Expr, padded: set[Var]) -> dict[Var, int] | None:
    """How far an index goes with a step of each padded axis; None where it does not go forward by a number."""
    terms = linear(index).terms
    steps = {var: terms.get(var, 0) for var in padded & set(free_vars(index))}
    others = tuple([term for term in terms if term not in steps])
    return None if min(steps.values(), default=1) < 1 or padded & set(free_vars(others)) else steps


def _grown(
    edit: Edit, block: Place, index: Expr, dim: Expr, sizes: Mapping[Var, Expr], new: Mapping[Var, Expr]
) -> Expr:
    """The size of a dimension of a copy: as much more as an index goes beyond the last one of before."""
    if type(index) is Var:
        return new.get(index, dim)
    steps = _steps_of(index, set(new)) or {}
    more = [cast(new[var] - cast(sizes[var], var.dtype), dim.dtype) * step for var, step in steps.items()]
    return edit.analyzer(block).simplify(sum(more, dim))


def _check_unchanged(edit: Edit, block: Place, home: Place, buffer: Buffer) -> None:
    scope = scope_of(edit, block)
    for writer in writers(scope, buffer):
        if top(scope, writer).index >= home.index:
            edit.refuse(f"`{buffer.name}` is written where the copy would be made", (block, ""), (writer, "here"))


def _copied(
    name: str,
    source: Buffer,
    target: Buffer,
    shape: tuple[Expr, ...],
    limits: list[tuple[int, Expr]] | tuple[()],
) -> Stmt:
    """Loops and a block that copy a buffer; zeros beyond the limits of its dimensions."""
    loops = [Var(f"ax{at}", dim.dtype) for at, dim in enumerate(shape)]
    axes = tuple(
        Axis(Var(f"v{at}", dim.dtype), "spatial", const(0, dim.dtype), dim, loop)
        for at, (dim, loop) in enumerate(zip(shape, loops, strict=True))
    )
    indices = tuple(axis.var for axis in axes)
    value: Expr = BufferLoad(source, indices)
    inside = conjunction(axes[at].var < cast(limit, axes[at].var.dtype) for at, limit in limits)
    if inside is not None:
        zero = const(0.0 if source.dtype.is_float else 0, source.dtype)
        value = get_op("if_then_else")(inside, value, zero)
    stmt: Stmt = Block(name, axes, (BufferStore(target, indices, value),))
    for loop, dim in reversed(list(zip(loops, shape, strict=True))):
        stmt = For(loop, const(0, dim.dtype), dim, (stmt,))
    return stmt
