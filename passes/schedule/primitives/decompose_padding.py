"""decompose_padding: the padding and the padded, each in a block of its own."""

from __future__ import annotations

from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.op import get_op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import refresh, substitute, uses
from tirscript.ir.stmt import Block, BufferStore, Stmt

from ...statements import conjunction, reads_memory
from ..blocks import inferred
from ..edit import Edit
from ..loops import inner_loops
from ..primitive import BlockAt, LoopAt, primitive, query
from ..refusal import ScheduleError
from ..tree import Place, Tree
from .compute_inline import single_store


@primitive
def decompose_padding(edit: Edit, block: BlockAt, loop: LoopAt) -> Place:
    """Fill a padded buffer with its padding right before a loop, and let the block store the rest; the filling block.

    before:                                    after `decompose_padding("P", "i")`:
        for i in range(10):                        for i in range(10):
            with T.block("P"):                         with T.block("P_pad"):
                vi = T.axis.spatial(10, i)                 vi = T.axis.spatial(10, i)
                P[vi] = T.if_then_else(                    P[vi] = 0.0
                    vi >= 1 and vi < 9,            for i in range(10):
                    A[vi - 1], 0.0)                    with T.block("P"):
                                                           vi = T.axis.spatial(10, i)
                                                           T.where(i >= 1 and i < 9)
                                                           P[vi] = A[vi - 1]

    The block stores `T.if_then_else(condition, value, padding)`, where the padding is a number. The filling can be
    vectorized, and the loop over the rest cut to what is not padded.
    """
    stmt: Block = block.stmt
    store = single_store(edit, block)
    value = store.value
    if type(value) is not Call or value.op not in CHOICES or type(value.args[2]) is not Const:
        edit.refuse(
            f"the block `{stmt.name}` does not store `T.if_then_else(condition, value, number)`",
            (block, ""),
            (store, "here"),
        )
    condition, inner, padding = value.args
    if reads_memory(condition) or condition.dtype.is_vector:
        edit.refuse("the condition reads memory or is a vector", (block, ""), (store, "here"))
    loops = inner_loops(edit, block, loop)
    _check_once(edit, block, loop.loops(), store)
    fill_store = store.replace(value=padding, trivia=None)
    name = edit.fresh_block_name(f"{stmt.name}_pad")
    fill = stmt.replace(name=name, body=(fill_store,), trivia=None, annotations=NO_ATTRS)
    nest: Stmt = inferred(fill)
    for place in reversed(loops):
        nest = place.stmt.replace(body=(nest,), trivia=None)
    values: dict[Var, Expr] = {axis.var: axis.value for axis in stmt.axes}
    held = substitute(condition, values)
    both = held if stmt.predicate is None else conjunction((stmt.predicate, held))
    made = stmt.replace(body=(store.replace(value=inner),), predicate=both)
    edit.replace(block, inferred(made))
    edit.tree.insert(loop, before=(refresh(nest),))
    return edit.block(name)


@query
def can_decompose_padding(edit: Edit, block: BlockAt, loop: LoopAt) -> bool:
    """Whether decompose_padding takes the block and loop. Nothing is changed."""
    trial = Edit(Tree(edit.func), "decompose_padding", edit.function)
    try:
        decompose_padding(trial, trial.block(block.stmt.name), trial.loop(loop.stmt.var))
    except ScheduleError:
        return False
    return True


def _check_once(edit: Edit, block: Place, outside: list[Place], store: BufferStore) -> None:
    """Refuse where the padding would be stored over what another iteration has made."""
    stmt: Block = block.stmt
    known = edit.analyzer(block)
    for axis in stmt.axes:
        if axis.kind != "spatial":
            edit.refuse(f"the axis `{axis.var.name}` is {axis.kind}", (block, ""), axis)
        single = known.can_prove(get_op("equal")(axis.extent, 1))
        if all(index is not axis.var for index in store.indices) and not single:
            edit.refuse(f"the axis `{axis.var.name}` is no index of the store", (block, ""), (axis, "this axis"))
    for place in outside:
        if place.stmt.kind in ("serial", "unroll"):
            continue  # a later iteration leaves the same elements, and nothing reads them before it has
        if not any(uses(axis.value, place.stmt.var) for axis in stmt.axes):
            edit.refuse(
                f"the loop `{place.stmt.var.name}` around it makes the same elements again, at the same time",
                (place, ""),
                (block, ""),
            )
