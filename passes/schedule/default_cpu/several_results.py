"""A reduction to several results that need each other, in one block, becomes loops: searches are looked for in these.

before:                                            after:
    for i, k in T.grid(8, 100):                        for i in range(8):
        with T.block("at"):                                at[i] = -1
            vi, vk = T.axis.remap("SR", [i, k])            m[i] = T.min_value("float32")
            with T.init():                                 for k in range(100):
                at[vi] = -1                                    if A[i, k] > m[i]:
                m[vi] = T.min_value("float32")                     m[i] = A[i, k]
            keep: T.bool = m[vi] >= A[vi, vk]                      at[i] = k
            where: T.int32 = at[vi] if keep else vk    for i, k in T.grid(8, 100):
            most = m[vi] if keep else A[vi, vk]            with T.block("m_nans"): ... whether an A[i, k] is nan
            at[vi] = where                             for i in range(8):
            m[vi] = most                                   with T.block("at"):
                                                               if m_nans[i] > 0: ... all once more as it is written

Where a block keeps what it has by a comparison, a nan takes its place, and what comes next takes that of the nan. So a
search by `>` finds the same where there is no nan, and lines with one are searched as the block says. What is no search
along memory becomes loops as it is written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferData, BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS, are_same
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.rewrite import free_buffers, refresh, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Bind, Block, BufferStore, DeclBuffer, For, If, ScalarDecl, Stmt

from ...statements import keep_comments, may_overlap
from ..extremes import extreme_of, stores_by_memory
from ..searches import Search, search_in
from .nests import stride_of

# as many elements as are searched apart from their nans at least
LEAST = 64
# where these are several lines, each of them has so many
SHORTEST = 32
_TAKEN = frozenset((Bind, BufferStore, If, ScalarDecl))


def with_several_results(func: PrimFunc) -> PrimFunc:
    """The function with loops for blocks that reduce to several results at once; itself where there are none."""
    if may_overlap(func):
        return func
    body: list[Stmt] = []
    for stmt in func.body:
        site = _site(stmt) if type(stmt) is For else None
        made = None if site is None else site.loops(func, _kept(func, stmt))
        body += (stmt,) if made is None else keep_comments(stmt, made)
    if are_same(body, func.body):
        return func
    return func.replace(body=tuple(body))


class _Site(Struct, frozen=True, eq=False):
    """A block in loops that are its axes: those over results, and those that it reduces."""

    block: Block
    spatial: dict[For, Axis]
    reduced: dict[For, Axis]

    def loops(self, func: PrimFunc, kept: Collection[Buffer]) -> tuple[Stmt, ...] | None:
        """The loops that do what the block does, of which others read the results in the buffers that are `kept`; None
        where the block may stay."""
        found = search_in(self.block, tuple(self.reduced.values()))
        if found is None:
            return self.in_loops(self.written(self.block.body))
        if not self.goes_along(found.value):
            return self.in_loops(self.written(found.step()))
        if extreme_of(self.block) is not None:
            return None
        view, site, searched = self.joined(func, found) or ((), self, found)
        signs = found.by_signs and found.best.buffer in kept
        if not found.keeps and not signs:
            return (*view, *site.in_loops(site.written((searched.without_nan(),))))
        if len(site.reduced) > 1 and _length(list(site.reduced.values())[-1]) < SHORTEST:
            return None
        count = math.prod(map(_length, self.reduced.values()))
        if count < LEAST or type(found.value) is not BufferLoad:
            return self.in_loops(self.written(found.step()))
        return (*view, *site.apart(searched, signs, self.written(found.step())))

    def goes_along(self, value: Expr) -> bool:
        """Whether the innermost loop goes along what is compared as it lies in memory."""
        var = list(self.reduced.values())[-1].var
        strides = {stride_of(node, var) for node in walk(value, BufferLoad) if node.indices}
        return 1 in strides and strides <= {0, 1}

    def written(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """What is done for a result, where `body` is what the block does, in terms of its axes over results."""
        loops = {axis.var: loop.var for loop, axis in self.reduced.items()}
        return (*(self.block.init or ()), *_around(list(self.reduced), substitute(body, loops)))

    def in_loops(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements for a result in the loops over results."""
        loops = {axis.var: loop.var for loop, axis in self.spatial.items()}
        return _around(list(self.spatial), substitute(body, loops))

    def joined(self, func: PrimFunc, found: Search) -> tuple[tuple[Stmt, ...], _Site, Search] | None:
        """The loops that reduce as one, which goes along all of their lines as they lie in memory, with the view of
        memory that it needs; None where they do not, or the index is not their number."""
        load, axes = found.value, list(self.reduced.values())
        if len(axes) < 2 or type(load) is not BufferLoad or load.buffer not in func.param_buffers:
            return None
        if not _lies_whole(load.buffer) or (not self.spatial and _length(axes[-1]) >= LEAST):
            return None  # a search through everything goes by its rows
        before, own = load.indices[: -len(axes)], load.indices[-len(axes) :]
        lengths, sizes = [_length(axis) for axis in axes], load.buffer.shape[-len(axes) :]
        if own != tuple([axis.var for axis in axes]) or any(uses(index, axis.var) for index in before for axis in axes):
            return None
        if any(not is_const(size, length) for size, length in zip(sizes, lengths, strict=True)):
            return None
        index, total, last = found.index, math.prod(lengths), axes[-1]
        while type(index) is Call and index.op is OPS["cast"]:
            index = index.args[0]
        form = linear(index)
        factor = form.terms.get(last.var, 0)
        steps = [factor * math.prod(lengths[at + 1 :]) for at in range(len(axes))]
        if index.dtype is not last.var.dtype or any(
            length > 1 and form.terms.get(axis.var, 0) != step
            for axis, length, step in zip(axes, lengths, steps, strict=True)
        ):
            return None
        var, line = Var(last.var.name, last.var.dtype), next(reversed(self.reduced))
        loop = line.replace(var=Var(line.var.name, line.var.dtype), stop=const(total, line.var.dtype))
        axis = last.replace(var=var, stop=const(total, last.var.dtype), value=loop.var)
        view = Buffer(f"{load.buffer.name}_lines", (*load.buffer.shape[: -len(axes)], const(total, INT32)), load.dtype)
        site = _Site(self.block.replace(axes=(*self.spatial.values(), axis)), self.spatial, {loop: axis})
        number = cast(var * factor + form.constant, found.index.dtype)
        searched = structs.replace(found, value=BufferLoad(view, (*before, var)), index=number)
        return (DeclBuffer(view, BufferData(load.buffer)),), site, searched

    def apart(self, found: Search, signs: bool, written: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A search that passes over nans, and once more, as `written`, the lines with some, or in which the `signs`
        of zeros may be others."""
        sizes = tuple([loop.stop for loop in self.spatial]) or (const(1, INT32),)
        place = tuple([axis.var for axis in self.spatial.values()]) or (const(0, INT32),)
        nans = Buffer(f"{found.best.buffer.name}_nans", sizes, INT32)
        mine, none = BufferLoad(nans, place), const(0, INT32)
        update = get_op("max")(mine, cast(get_op("isnan")(found.value), INT32))
        counted = self.block.replace(
            name=nans.name,
            body=(BufferStore(nans, place, update),),
            init=(BufferStore(nans, place, none),),
            reads=None,
            writes=None,
            trivia=None,
        )
        again = get_op("greater")(mine, none)
        if signs:
            best = BufferLoad(found.best.buffer, found.best.indices)
            again = get_op("logical_or")(again, get_op("equal")(best, const(0, best.dtype)))
        once_more: tuple[Stmt, ...] = (If(again, written, ()),)
        if self.spatial:
            # as a block, so that nothing is made of its loops
            axes = tuple(self.spatial.values())
            block = self.block.replace(axes=axes, body=once_more, init=None, reads=None, writes=None, trivia=None)
            once_more = _around(list(self.spatial), (block,))
        counting = _around([*self.spatial, *self.reduced], (counted,))
        return (
            AllocBuffer(nans, NO_ATTRS),
            *self.in_loops(self.written((found.without_nan(),))),
            *refresh(counting),
            *refresh(once_more),
        )


def _site(nest: For) -> _Site | None:
    """A block of several results that need each other, alone in loops that are its axes; None for other nests."""
    loops: list[For] = []
    stmt: Stmt = nest
    while type(stmt) is For:
        if stmt.kind != "serial" or stmt.step is not None or stmt.annotations or len(stmt.body) != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.init is None or stmt.predicate is not None or stmt.annotations:
        return None
    axes = {loop: axis for loop in loops for axis in stmt.axes if axis.value is loop.var and _same_range(axis, loop)}
    if len(axes) < len(loops) or len(set(axes.values())) < len(stmt.axes):
        return None
    spatial = {loop: axis for loop, axis in axes.items() if axis.kind == "spatial"}
    reduced = {loop: axis for loop, axis in axes.items() if axis.kind == "reduce"}
    if not reduced or len(spatial) + len(reduced) < len(axes) or not _needs_itself(stmt, list(spatial.values())):
        return None
    return _Site(stmt, spatial, reduced)


def _length(axis: Axis) -> int:
    """How many iterations an axis has, which `_same_range` knows."""
    assert type(axis.stop) is Const
    return int(axis.stop.value)


def _lies_whole(buffer: Buffer) -> bool:
    """Whether the elements of a buffer lie one after the other from the beginning of its memory."""
    return (
        buffer.strides is None
        and buffer.elem_offset is None
        and not buffer.axis_separators
        and not buffer.allocated_addr
        and not buffer.dtype.is_vector
        and not buffer.is_scalar
    )


def _same_range(axis: Axis, loop: For) -> bool:
    """Whether an axis has the iterations of a loop, of which there are some."""
    if type(loop.start) is not Const or type(loop.stop) is not Const or loop.start.value != 0 or loop.stop.value < 1:
        return False
    return structural_equal(axis.start, loop.start) and structural_equal(axis.stop, loop.stop)


def _needs_itself(block: Block, spatial: Sequence[Axis]) -> bool:
    """Whether a block reduces to elements of several buffers, at the same place of each, which need each other."""
    if any(isinstance(node, Stmt) and type(node) not in _TAKEN for node in walk(block.body)):
        return False
    begins = [stmt for stmt in block.init or () if type(stmt) is BufferStore]
    results = {store.buffer: store.indices for store in begins}
    stored = {node.buffer for node in walk(block.body, BufferStore) if not node.buffer.is_scalar}
    if len(results) < 2 or not len(results) == len(begins) == len(block.init or ()) or stored != set(results):
        return False
    for node in walk((*begins, *block.body)):
        if type(node) in (BufferLoad, BufferStore) and node.buffer in results:  # type: ignore[attr-defined]
            indices = node.indices  # type: ignore[attr-defined]
            if node.predicate is not None or not structural_equal(indices, begins[0].indices, map_free_vars=False):  # type: ignore[attr-defined]
                return False
    if any(axis.var not in begins[0].indices and axis.stop.value > 1 for axis in spatial):  # type: ignore[attr-defined]
        return False  # several iterations would change the same results
    if any(uses(index, axis.var) for index in begins[0].indices for axis in block.axes if axis not in spatial):
        return False
    if any(uses(store.value, buffer) for store in begins for buffer in results):
        return False
    stores = stores_by_memory(block.body)
    return stores is None or any(
        uses(store.value, buffer) for store in stores for buffer in results if buffer is not store.buffer
    )


def _kept(func: PrimFunc, nest: Stmt) -> set[Buffer]:
    """The buffers that a function has besides those that one of its nests alone uses."""
    others = tuple([stmt for stmt in func.body if stmt is not nest and type(stmt) is not AllocBuffer])
    return {*func.param_buffers, *free_buffers(others)}


def _around(loops: Sequence[For], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    for loop in reversed(loops):
        body = (loop.replace(body=body, trivia=None),)
    return body


__all__ = ["with_several_results"]
