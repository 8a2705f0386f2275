"""reduce_apart: a reduction that goes on from what its buffer holds, in a buffer of its own that begins with it."""

from __future__ import annotations

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.rewrite import substitute, uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, Stmt

from ...statements import conjunction, reads_memory
from ..blocks import inferred
from ..dataflow import check_not_viewed, scope_of, top
from ..edit import Edit
from ..legality import check_covers
from ..primitive import BlockAt, primitive
from ..reducers import Update, neutral, only_update
from ..tree import Place, body_fields


@primitive
def reduce_apart(edit: Edit, block: BlockAt) -> Place:
    """Let a reduction without a T.init work in a buffer of its own, which begins with what is there; the block that
    stores the results.

    before:                                    after `reduce_apart("C")`:
        for i, k in T.grid(4, 8):                  for i, k in T.grid(4, 8):
            with T.block("C"):                         with T.block("C"):
                vi, vk = ...                               vi, vk = ...
                C[vi] = C[vi] + A[vi, vk]                  with T.init():
                                                               C_own[vi] = C[vi]
                                                           C_own[vi] = C_own[vi] + A[vi, vk]
                                                   for i in range(4):
                                                       with T.block("C_own"):
                                                           C[v0] = C_own[v0]

    A choice in each term of a sum that the axes of the reduction have no part in, `T.Select(vi < n, A[vi, vk], -0.0)`,
    is made once for the result instead. The results are the same bits. Refused where the result is not indexed by each
    of the block's spatial axes, to which a number may be added.
    """
    stmt: Block = block.stmt
    update = only_update(edit, block)
    store, buffer = update.store, update.store.buffer
    if stmt.init is not None:
        edit.refuse(f"the block `{stmt.name}` has a T.init", block)
    spatial = [axis for axis in stmt.axes if axis.kind == "spatial"]
    reduced = [axis for axis in stmt.axes if axis.kind == "reduce"]
    if not reduced or len(spatial) + len(reduced) != len(stmt.axes):
        edit.refuse(f"the axes of the block `{stmt.name}` are not spatial ones and some of a reduction", block)
    if buffer.is_scalar or buffer.dtype.is_vector:
        edit.refuse(f"`{buffer.name}` is a variable", block)
    for axis in spatial:
        if sum(1 for index in store.indices if _axis_of(index) is axis.var) != 1:
            edit.refuse(f"the axis `{axis.var.name}` is no index of `{buffer.name}`", (block, ""), axis)
    if any(_axis_of(index) is None and type(index) is not Const for index in store.indices):
        edit.refuse(
            f"an index of `{buffer.name}` is neither an axis, with a number or without, nor a number",
            (block, ""),
            store,
        )
    if any(uses(store.indices, axis.var) for axis in reduced):
        edit.refuse(f"`{buffer.name}` is indexed by an axis of the reduction", (block, ""), store)
    if any(type(axis.start) is not Const or axis.start.value != 0 for axis in stmt.axes):
        edit.refuse(f"an axis of the block `{stmt.name}` does not begin at 0", block)
    check_covers(edit, block)
    check_not_viewed(edit, block, buffer)
    scope = scope_of(edit, block)
    home = top(scope, block)
    for place in home.below():
        if not block.contains(place) and any(node is buffer for node in walk(_alone(place.stmt))):
            edit.refuse(f"`{buffer.name}` is used by something else in the same loops", (block, ""), (place, "here"))
    own = Buffer(f"{buffer.name}_own", tuple(axis.stop for axis in spatial), buffer.dtype)
    mine = BufferLoad(own, tuple(axis.var for axis in spatial))
    begin = BufferStore(own, mine.indices, BufferLoad(buffer, store.indices))
    chosen, value = _chosen(update, reduced)
    new = BufferStore(own, mine.indices, update.combine(mine, value), span=store.span)
    name = edit.fresh_block_name(own.name)
    edit.replace(block, inferred(stmt.replace(init=(begin,), body=(new,))))
    edit.tree.insert(home, after=(_results(name, spatial, reduced, store, mine, chosen),))
    edit.allocate(own, edit.block(name))
    return edit.block(name)


def _chosen(update: Update, reduced: list[Axis]) -> tuple[Expr | None, Expr]:
    """The condition without which all terms of an update leave the result as it is, None where there is none, and the
    terms with it."""
    value = update.value
    if type(value) is not Call or value.op is not OPS["Select"] or update.op is not OPS["add"]:
        return None, value  # of nan and -inf a maximum may keep either
    condition, term, other = value.args
    steady = not any(uses(condition, axis.var) for axis in reduced) and not reads_memory(condition)
    nothing = neutral(update.op, value.dtype)
    if not steady or type(other) is not Const or repr(other.value) != repr(nothing.value):
        return None, value
    return condition, term


def _axis_of(index: Expr) -> Var | None:
    """The variable that an index is, or to which it adds a number; None where it is something else."""
    if type(index) is Var:
        return index
    terms = linear(index).terms
    (term, factor), *more = [*terms.items()] or [(index, 0)]
    return term if type(term) is Var and factor == 1 and not more and term.dtype is index.dtype else None


def _alone(stmt: Stmt) -> Stmt:
    """A statement without those in it."""
    return stmt.replace(**dict.fromkeys(body_fields(type(stmt)), ()))


def _results(
    name: str,
    spatial: list[Axis],
    reduced: list[Axis],
    store: BufferStore,
    mine: BufferLoad,
    chosen: Expr | None,
) -> Stmt:
    """Loops and a block that store the results; what was there stays where the reduction has no terms, or those that it
    has are not `chosen`."""
    loops = [Var(f"ax{at}", axis.var.dtype) for at, axis in enumerate(spatial)]
    axes = tuple(
        Axis(Var(f"v{at}", axis.var.dtype), "spatial", axis.start, axis.stop, loop)
        for at, (axis, loop) in enumerate(zip(spatial, loops, strict=True))
    )
    element: Expr = BufferLoad(store.buffer, store.indices)
    ends = [axis.stop for axis in reduced if type(axis.stop) is not Const]
    some = conjunction(get_op("greater")(end, const(0, end.dtype)) for end in ends)
    value: Expr = mine if chosen is None else get_op("Select")(chosen, mine, element)
    value = value if some is None else get_op("if_then_else")(some, value, element)
    values = {old.var: cast(new.var, old.var.dtype) for old, new in zip(spatial, axes, strict=True)}
    stmt: Stmt = Block(name, axes, (substitute(store.replace(value=value), values),))
    for loop, axis in reversed(list(zip(loops, spatial, strict=True))):
        stmt = For(loop, axis.start, axis.stop, (stmt,))
    return stmt
