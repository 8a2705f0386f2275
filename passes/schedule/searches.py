"""Searches for the greatest or least element in blocks as they are written, one after the other: argmax of any form.

where = at[vi] if m[vi] > x or (m[vi] == x and at[vi] < vk) else vk
most = m[vi] if m[vi] > x else x
at[vi] = where
m[vi] = most

That takes `x` unless `m >= x` holds, as `vk` goes up. So does a comparison that says when to take it, `x > m`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.dtype import BOOL
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr
from tirscript.ir.op import OPS, Op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import Axis, Block, BufferStore, If, Stmt

from ..statements import is_element
from .extremes import LOOSE, OPPOSITES, ORDERS, STRICT, order_of, stores_by_memory


class Search(Struct, frozen=True, eq=False):
    """Where `order(value, best)` holds, `at` becomes `index`, and `best` becomes `value`, in the order of iterations.

    Where it `keeps`, a nan is taken as well, and whatever comes behind it. `most` is the order by which `best` becomes
    `value`: another one where one of them takes what is equal, such as a zero of the other sign.
    """

    at: BufferStore
    best: BufferStore
    value: Expr
    index: Expr
    order: Op
    most: Op
    keeps: bool

    def step(self) -> tuple[Stmt, ...]:
        """What the block does, as comparisons of the value with what is there alone."""
        return (self._chosen(self.at, self.index, self.order), self._chosen(self.best, self.value, self.most))

    def _chosen(self, store: BufferStore, new: Expr, order: Op) -> Stmt:
        best, mine = BufferLoad(self.best.buffer, self.best.indices), BufferLoad(store.buffer, store.indices)
        condition = Call(OPPOSITES[order] if self.keeps else order, (self.value, best), BOOL)
        sides = (mine, new) if self.keeps else (new, mine)
        return store.replace(value=Call(OPS["Select"], (condition, *sides), new.dtype), trivia=None)

    def without_nan(self) -> Stmt:
        """The same where nothing that is compared is nan, but for the signs of zeros."""
        best = BufferLoad(self.best.buffer, self.best.indices)
        stores = [
            store.replace(value=value, trivia=None) for store, value in ((self.best, self.value), (self.at, self.index))
        ]
        return If(Call(self.order, (self.value, best), BOOL), tuple(stores), ())

    @property
    def by_signs(self) -> bool:
        """Whether `best` becomes another zero than that whose index is kept."""
        return self.best.buffer.dtype.is_float and self.most is not self.order


class _Choice(Struct, frozen=True, eq=False):
    """A store of `value` where `condition` holds, or, where it `keeps`, where that does not hold."""

    store: BufferStore
    condition: Expr
    value: Expr
    keeps: bool


def search_in(block: Block, reduced: Sequence[Axis]) -> Search | None:
    """The search that is the body of a block which goes through the axes that it reduces in this order, the last one
    fastest; None where the body is something else."""
    stores = stores_by_memory(block.body)
    if stores is None or len(stores) != 2 or block.init is None:
        return None
    begins = {stmt.buffer: stmt.value for stmt in block.init if type(stmt) is BufferStore}
    chosen = [_choice(store) for store in stores]
    one, other = chosen
    if one is None or other is None or one.keeps is not other.keeps or len(begins) != 2 or len(block.init) != 2:
        return None
    for best, at in ((one, other), (other, one)):
        buffers = (best.store.buffer, at.store.buffer)
        if not at.store.buffer.dtype.is_int or any(uses((best.value, at.value), buffer) for buffer in buffers):
            continue
        if not goes_up(at.value, reduced, begins.get(at.store.buffer)):
            continue
        where, most = [_decided(choice.condition, best, at) for choice in (at, best)]
        if where is None or most is None or ORDERS[where] is not ORDERS[most]:
            continue
        if best.keeps:
            where, most = OPPOSITES[where], OPPOSITES[most]
        keeps, begin = best.keeps and best.store.buffer.dtype.is_float, begins.get(best.store.buffer)
        if keeps and not (type(begin) is Const and begin.value == begin.value):
            continue  # what it begins with may be nan
        return Search(at.store, best.store, best.value, at.value, where, most, keeps)
    return None


def goes_up(index: Expr, reduced: Sequence[Axis], begin: Expr | None) -> bool:
    """Whether an index is larger in each iteration than in those before, and than the number it begins with."""
    bits = index.dtype.bits
    while type(index) is Call and index.op is OPS["cast"] and index.dtype.is_int:
        index = index.args[0]
        bits = min(bits, index.dtype.bits)
    if not index.dtype.is_int or type(begin) is not Const:
        return False
    form, span, first = linear(index), 0, 0
    if not form.terms.keys() <= {axis.var for axis in reduced}:
        return False
    for axis in reversed(reduced):
        factor, low, count = form.terms.get(axis.var, 0), int(axis.start.value), int(axis.stop.value - axis.start.value)  # type: ignore[attr-defined]
        if count > 1 and factor <= span:
            return False
        span, first = span + factor * (count - 1), first + factor * low
    first += form.constant
    return begin.value < first and first + span < 1 << (bits - 1)


def _choice(store: BufferStore) -> _Choice | None:
    """A store that chooses between a new value and what is there; None for others."""
    value = store.value
    if type(value) is not Call or value.op not in CHOICES:
        return None
    condition, one, other = value.args
    keeps = is_element(one, store)
    if keeps is is_element(other, store):
        return None
    return _Choice(store, condition, other if keeps else one, keeps)


def _decided(condition: Expr, best: _Choice, at: _Choice) -> Op | None:
    """The operator of `order(value, best)` that a condition is, where the index grows; None for other conditions."""
    order = order_of(condition, best.value, best.store)
    if order is not None or type(condition) is not Call or condition.op is not OPS["logical_or"]:
        return order
    strict, tie = condition.args
    order = order_of(strict, best.value, best.store)
    if order not in STRICT or type(tie) is not Call or tie.op is not OPS["logical_and"]:
        return None
    equal, before = tie.args
    if type(equal) is not Call or equal.op is not OPS["equal"]:
        return None
    here, there = equal.args if is_element(equal.args[1], best.store) else equal.args[::-1]
    if not structural_equal(here, best.value, map_free_vars=False) or not is_element(there, best.store):
        return None
    # whether the new index is less than that of an iteration before, which it never is, or greater, which it is
    chosen = order_of(before, at.value, at.store)
    return None if chosen is None else order if ORDERS[chosen] is OPS["less"] else LOOSE[order]


__all__ = ["Search", "goes_up", "search_in"]
