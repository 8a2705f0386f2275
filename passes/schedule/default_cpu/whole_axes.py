"""Loops around a block that were split, fused or reordered become one for each of its axes: the rules make their own.

before:                                                    after:
    for i0, j0, k0, i1, j1, k1 in T.grid(...):                 for i, j, k in T.grid(200, 130, 90):
        with T.block("C"):                                         with T.block("C"):
            vi = T.axis.spatial(200, i0 * 4 + i1)                      vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            ...                                                        C[vi, vj] += A[vi, vk] * B[vk, vj]
            T.where(j0 * 4 + j1 < 130 and k0 * 4 + k1 < 90)
            C[vi, vj] += A[vi, vk] * B[vk, vj]

The loops hold nothing but the block, and run it once for each element of its axes. Functions that say how their loops
run are left alone (`may_schedule`), as are blocks that share loops: someone chose what is done beside each other.
"""

from __future__ import annotations

from collections.abc import Set
from functools import partial

from msgspec import Struct

from tirscript.ir.arith.iter_map import detect
from tirscript.ir.arith.linear import linear
from tirscript.ir.arith.presburger import MappedDomain
from tirscript.ir.effects import has_effect
from tirscript.ir.expr import BufferData, BufferLoad, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import const
from tirscript.ir.rewrite import free_vars, holds, rewrite, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, If, Stmt

from ...statements import conjunction, may_overlap, same_indices
from ..reducers import update_of
from .nests import Nest, stride_of
from .work import Work

_IN_BLOCK_ALONE = (For, Block, AllocBuffer)


def with_whole_axes(func: PrimFunc, *, ordered: bool = False, kept: Set[str] = frozenset()) -> PrimFunc:
    """The function with a loop for each axis of blocks that stand alone in theirs; itself where they have these.

    Sums of floats whose terms are `ordered` stay where the loops would take these in another order, and blocks of names
    in `kept` in any case.
    """
    found = {type(node) for node in walk(func.body)}
    if Block not in found or BufferData in found or may_overlap(func):  # one memory under several names
        return func
    body = rewrite(_without_outer_blocks(func.body), {For: partial(_whole, ordered=ordered, kept=kept)})
    return func if body is func.body else func.replace(body=body)


def counts_otherwise(func: PrimFunc, other: PrimFunc) -> bool:
    """Whether the loops of two functions run so often in another order, those that run once aside."""
    first, second = ([loop.stop for loop in _loops(one) if not is_const(loop.stop, 1)] for one in (func, other))
    return first != second


def _loops(func: PrimFunc) -> list[For]:
    return list(walk(func.body, For))


def _without_outer_blocks(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements of a function, those of a block without axes that is around others in its place."""
    inside = {id(stmt): stmt.body for stmt in body if type(stmt) is Block and _is_around(stmt)}
    return tuple([part for stmt in body for part in inside.get(id(stmt), (stmt,))]) if inside else body


def _is_around(block: Block) -> bool:
    """Whether a block is nothing but a name for what stands in it, all of which are loops or blocks."""
    if block.axes or block.annotations or block.init is not None or block.predicate is not None:
        return False
    alone = all(type(stmt) in _IN_BLOCK_ALONE for stmt in block.body)
    return alone and holds(block.body, Block)


def best_in_tiles(work: Work) -> set[str]:
    """The names of blocks that no rule has scheduled and that read across the lines that they write: whoever cut their
    loops has done better."""
    nests = [nest for block in work.blocks() if work.fresh(block.name) and (nest := work.nest(block)) is not None]
    return {nest.name for nest in nests if not nest.reduced and _reads_across(nest)}


def _reads_across(nest: Nest) -> bool:
    column = nest.dim(nest.store.indices[-1]) if nest.store.indices else None
    return column is not None and any(stride_of(load, column.var) not in (0, 1) for load in nest.loads())


class _Nest(Struct, frozen=True, eq=False):
    """Loops, outermost first, the conditions in them, and the block that is all they hold."""

    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    block: Block

    @property
    def is_whole(self) -> bool:
        """Whether the axes are the loops one by one."""
        axes = self.block.axes
        starts = [axis.start for axis in axes] + [loop.start for loop in self.loops]
        if self.conditions or len(axes) != len(self.loops) or not all(is_const(start, 0) for start in starts):
            return False
        return all(any(loop.var is axis.value for axis in axes) for loop in self.loops)

    @property
    def used(self) -> set[Var]:
        """The variables that the axes are made of."""
        return set(free_vars(tuple([axis.value for axis in self.block.axes])))


def _whole(loop: For, *, ordered: bool, kept: Set[str]) -> For:
    """A loop, or one for each axis of the block that it and the loops in it are around."""
    nest = _read(loop)
    # where axes use other variables, loops around take part
    if nest is None or nest.is_whole or not nest.used <= {one.var for one in nest.loops}:
        return loop
    if nest.block.name in kept or not _any_order(nest.block):
        return loop
    nest = _from_zero(nest)
    if any(one.var not in nest.used for one in nest.loops):
        return loop  # the block runs again and again
    loops = _loop_for_each(nest)
    if loops is None or (ordered and not _keeps_order(nest)):
        return loop
    values = tuple([axis.replace(value=one.var) for axis, one in zip(nest.block.axes, loops, strict=True)])
    made: Stmt = nest.block.replace(axes=values, predicate=None)
    for one in reversed(loops):
        made = one.replace(body=(made,))
    assert type(made) is For
    return made.replace(span=loop.span, trivia=loop.trivia)


def _read(loop: For) -> _Nest | None:
    """A loop as a nest; None where it holds anything but one block, or its loops are not between numbers or sizes."""
    loops: list[For] = []
    conditions: list[Expr] = []
    stmt: Stmt = loop
    while type(stmt) is not Block:
        if type(stmt) is For and stmt.kind == "serial" and stmt.step is None and not stmt.annotations:
            loops.append(stmt)
            body = stmt.body
        elif type(stmt) is If and not stmt.orelse:
            conditions.append(stmt.condition)
            body = stmt.then
        else:
            return None
        if len(body) != 1:
            return None
        stmt = body[0]
    if stmt.annotations or not stmt.axes or any(axis.kind not in ("spatial", "reduce") for axis in stmt.axes):
        return None
    if stmt.predicate is not None:
        conditions.append(stmt.predicate)
    return _Nest(tuple(loops), tuple(conditions), stmt)


def _any_order(block: Block) -> bool:
    """Whether a block does nothing but store an element of its own in each instance, or update it in those of a
    reduction."""
    store = block.body[0] if len(block.body) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or has_effect(store.value):
        return False
    reduces = any(axis.kind == "reduce" for axis in block.axes)
    begins = block.init or ()
    if not all(type(one) is BufferStore and _same_element(one, store) for one in begins) or len(begins) > 1:
        return False
    if reduces != (update_of(block) is not None) and (reduces or begins):
        return False
    read = (*store.indices, store.value, *[one.value for one in begins if type(one) is BufferStore])
    loads = [node for node in walk(read, BufferLoad) if node.buffer is store.buffer]
    return all(_same_element(load, store) for load in loads) and _is_own(block, store)


def _same_element(access: BufferLoad | BufferStore, store: BufferStore) -> bool:
    return access.buffer is store.buffer and same_indices(access.indices, store.indices)


def _is_own(block: Block, store: BufferStore) -> bool:
    """Whether no two elements of the spatial axes store to the same place."""
    if any(uses(store.indices, axis.var) for axis in block.axes if axis.kind == "reduce"):
        return False
    spatial = [axis for axis in block.axes if axis.kind == "spatial" and not is_const(axis.extent, 1)]
    if all(any(index is axis.var for index in store.indices) for axis in spatial):
        return True
    shift = {axis.var: axis.var + axis.start for axis in spatial}
    indices = tuple([substitute(index, shift) for index in store.indices])
    places = IndexMap(tuple([axis.var for axis in spatial]), indices)
    return MappedDomain(places, [axis.extent for axis in spatial]).is_injective() is True


def _from_zero(nest: _Nest) -> _Nest:
    """The nest with loops and axes that begin at 0, without loops that run once."""
    starts: dict[Expr, Expr] = {}
    loops: list[For] = []
    for loop in nest.loops:
        count = _count(loop)
        if count == 1:
            starts[loop.var] = const(_number(loop.start), loop.var.dtype)
        elif count is not None and not is_const(loop.start, 0):
            starts[loop.var] = loop.var + const(_number(loop.start), loop.var.dtype)
            loops.append(loop.replace(start=const(0, loop.start.dtype), stop=const(count, loop.stop.dtype)))
        else:
            loops.append(loop)
    shifts: dict[Expr, Expr] = {}
    axes: list[Axis] = []
    for axis in nest.block.axes:
        value, count = substitute(axis.value, starts), _count(axis)
        if count is None or is_const(axis.start, 0):
            axes.append(axis.replace(value=value))
            continue
        shifts[axis.var] = axis.var + axis.start
        value = value - axis.start.astype(value.dtype)
        zero, stop = const(0, axis.start.dtype), const(count, axis.stop.dtype)
        axes.append(axis.replace(start=zero, stop=stop, value=value))
    block = substitute(nest.block.replace(axes=(), predicate=None), shifts).replace(axes=tuple(axes))
    return _Nest(tuple(loops), substitute(nest.conditions, starts), block)


def _loop_for_each(nest: _Nest) -> list[For] | None:
    """A loop for each axis; None where the loops do not run the block once for each element of them."""
    loops = {loop.var: loop for loop in nest.loops}
    alone = {axis.var: loop for axis in nest.block.axes if (loop := _alone(nest, axis)) is not None}
    others = [axis for axis in nest.block.axes if axis.var not in alone]
    counts = [_count(axis) for axis in others]
    sizes = {var: _count(loop) for var, loop in loops.items() if loop not in alone.values()}
    if not all(counts) or not all(sizes.values()):
        return None
    extents = {var: size for var, size in sizes.items() if size is not None}
    if not _is_one_to_one(others, extents, conjunction(nest.conditions)):
        return None
    return [alone.get(axis.var) or _loop_over(axis) for axis in nest.block.axes]


def _alone(nest: _Nest, axis: Axis) -> For | None:
    """The loop that is an axis, and nothing else; None where there is none. It may be of any length."""
    loop = next((loop for loop in nest.loops if loop.var is axis.value), None)
    others = [one.value for one in nest.block.axes if one is not axis]
    if loop is None or uses((*others, *nest.conditions), loop.var) or axis.var.dtype is not loop.var.dtype:
        return None
    begins = is_const(loop.start, 0) and is_const(axis.start, 0)
    same = _count(axis) == _count(loop) is not None or axis.stop == loop.stop
    return loop if begins and same else None


def _is_one_to_one(axes: list[Axis], loops: dict[Var, int], predicate: Expr | None) -> bool:
    """Whether the iterations of loops for which a predicate holds are the elements of axes, each once."""
    values, shape = tuple([axis.value for axis in axes]), tuple([_number(axis.stop) for axis in axes])
    found = detect(values, loops, predicate=predicate)
    if found is not None:
        return found.is_bijective and found.shape == shape
    domain = MappedDomain(IndexMap(tuple(loops), values), tuple(loops.values()), predicate=predicate)
    return domain.is_bijective(shape) is True


def _loop_over(axis: Axis) -> For:
    """A loop over an axis, with a name that tells of it: `vi` is that of `i`."""
    name = axis.var.name
    short = name[1:].lstrip("_") if name.startswith("v") else name
    var = Var(short or name, axis.var.dtype)
    return For(var, const(0, var.dtype), const(_number(axis.stop), var.dtype), ())


def _keeps_order(nest: _Nest) -> bool:
    """Whether one loop for each axis of a reduction takes its terms in the order of the loops, or any will do."""
    store = nest.block.body[0]
    assert type(store) is BufferStore
    axes = [axis for axis in nest.block.axes if axis.kind == "reduce"]
    if not axes or not store.buffer.dtype.is_float:
        return True
    # of each loop the axis that it is a part of, its step there, and the place of its last iteration
    digits: list[tuple[int, int, int]] = []
    terms = [linear(axis.value).terms for axis in axes]
    if any(type(atom) is not Var for one in terms for atom in one):
        return False
    for loop in nest.loops:
        of = [(at, one[loop.var]) for at, one in enumerate(terms) if loop.var in one]
        if len(of) > 1:
            return False
        # a loop of unknown length is an axis alone
        last = (_count(loop) or 1) - 1
        digits += [(at, step, step * last) for at, step in of]
    inside: dict[int, int] = {}
    before = len(axes)
    for at, step, end in reversed(digits):
        if at > before or step <= inside.get(at, 0):
            return False
        inside[at], before = inside.get(at, 0) + end, at
    return True


def _count(one: Axis | For) -> int | None:
    """How many values a loop or an axis has, at least one; None where that is not known, or no number of its dtype."""
    if type(one.start) is not Const or type(one.stop) is not Const:
        return None
    count = int(one.stop.value) - int(one.start.value)
    return count if 0 < count <= one.var.dtype.int_range()[1] else None


def _number(value: Expr) -> int:
    assert type(value) is Const
    return int(value.value)


__all__ = ["best_in_tiles", "counts_otherwise", "with_whole_axes"]
