"""Reductions to the greatest or least element and where it is, as blocks write them: argmax and argmin.

better = A[vk] > best[()]
at[()] = vk if better else at[()]
best[()] = A[vk] if better else best[()]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import BOOL
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Expr, Var, is_const
from tirscript.ir.op import OPS, Op, get_op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import rewrite, substitute, uses, walk
from tirscript.ir.stmt import Bind, Block, BufferStore, ScalarDecl, Stmt

from ..statements import is_element

# orders, by what they are without equality
STRICT = {OPS["greater"]: OPS["greater"], OPS["less"]: OPS["less"]}
ORDERS = {**STRICT, OPS["greater_equal"]: OPS["greater"], OPS["less_equal"]: OPS["less"]}
_TURNED = {
    OPS["greater"]: OPS["less"],
    OPS["less"]: OPS["greater"],
    OPS["greater_equal"]: OPS["less_equal"],
    OPS["less_equal"]: OPS["greater_equal"],
}
LOOSE = {OPS["greater"]: OPS["greater_equal"], OPS["less"]: OPS["less_equal"]}
OPPOSITES = {
    OPS["greater"]: OPS["less_equal"],
    OPS["less"]: OPS["greater_equal"],
    OPS["greater_equal"]: OPS["less"],
    OPS["less_equal"]: OPS["greater"],
}


class Extreme(Struct, frozen=True, eq=False):
    """Where `order(value, best)` holds, `best` becomes `value` and `at` becomes `index`, which `grows` as loops run.

    Where the block itself asks for the index of elements that are equal (`ties`), iterations may come in any order.
    A nan is never better than anything, and nothing is better than a nan.
    """

    at: BufferStore
    best: BufferStore
    value: Expr
    index: Expr
    order: Op
    grows: bool = True
    ties: bool = False

    @property
    def first(self) -> bool:
        """Whether the first of several equal elements is found, and not the last."""
        return self.order in STRICT

    def step(
        self,
        at: BufferLoad,
        best: BufferLoad,
        value: Expr,
        index: Expr,
        *,
        held: Expr | None = None,
        ties: bool = False,
        places: Sequence[tuple[BufferLoad, Expr]] = (),
    ) -> tuple[Stmt, ...]:
        """The statements that compare with what `best` and `at` hold, where `held` is true; with `ties` the indices of
        equal values, too, as is needed where iterations come in another order.

        `places` are an element and a value that is chosen for it, which is what grows where the index does not.
        """
        choose = get_op("if_then_else")
        if held is not None:
            value = choose(held, value, best)
        better: Expr = Call(self.order, (value, best), BOOL)
        ties = ties or self.ties
        if ties:
            mine, other = places[0] if places else (at, index)
            before = get_op("less" if self.first else "greater")(other, mine)
            same = get_op("logical_and")(get_op("equal")(value, best), before)
            better = get_op("logical_or")(Call(ORDERS[self.order], (value, best), BOOL), same)
        if held is not None and (ties or not self.first):
            better = get_op("logical_and")(held, better)
        flag, where, most = Var("better", BOOL), Var("where", at.dtype), Var("most", best.dtype)
        return (
            Bind(flag, better),
            Bind(where, choose(flag, index, at)),
            Bind(most, choose(flag, value, best)),
            BufferStore(at.buffer, at.indices, where, span=self.at.span),
            BufferStore(best.buffer, best.indices, most, span=self.best.span),
            *[BufferStore(mine.buffer, mine.indices, choose(flag, other, mine)) for mine, other in places],
        )


def extreme_of(block: Block, *, anywhere: bool = False) -> Extreme | None:
    """The extreme and its place that are the whole body of a reduction block, None where the body is something else.

    What is stored of the place grows as loops run, unless it may be `anywhere`.
    """
    reduced = [axis for axis in block.axes if axis.kind == "reduce"]
    stores = _stores(block.body)
    if len(reduced) != 1 or block.init is None or stores is None:
        return None
    begins = {stmt.buffer: stmt for stmt in block.init if type(stmt) is BufferStore}
    if len(block.init) != 2 or {store.buffer for store in stores} != set(begins):
        return None
    for store in stores:
        same = zip(stores[0].indices, store.indices, begins[store.buffer].indices, strict=False)
        if len({len(one.indices) for one in (*stores, *begins.values())}) > 1 or not all(
            structural_equal(a, other, map_free_vars=False) for a, *others in same for other in others
        ):
            return None
    if anywhere:
        stores = [_turned(store, stores) for store in stores]
    chosen = [_choice(store) for store in stores]
    if any(one is None for one in chosen):
        return None
    (one, first), (other, second) = zip(stores, chosen, strict=True)
    for (best, mine), (at, yours) in (((one, first), (other, second)), ((other, second), (one, first))):
        assert mine is not None and yours is not None
        (condition, value), (again, index) = mine, yours
        order = order_of(condition, value, best)
        var = reduced[0].var
        grows = _grows(index, var)
        tied = _tied(condition, value, best, index, at) if order is None else None
        if tied is not None:
            order = tied
        if order is None or not structural_equal(condition, again, map_free_vars=False):
            continue
        if not (grows or anywhere or tied is not None):
            continue
        if uses((value, index), one.buffer) or uses((value, index), other.buffer):
            continue
        found = Extreme(at, best, value, index, order, grows, tied is not None)
        if found.ties or (not grows and is_const(reduced[0].start, 0)):
            return found
        # an element that equals what is there at the beginning is found by `>=`, whatever index stands there
        begin = begins[at.buffer].value
        if found.first or (is_const(begin) and begin.value < 0 and is_const(reduced[0].start, 0)):  # type: ignore[attr-defined]
            return found
    return None


def _stores(body: tuple[Stmt, ...]) -> list[BufferStore] | None:
    """Two stores to different buffers as what they store in terms of memory before the block; None for other bodies."""
    stores = stores_by_memory(body)
    return stores if stores is not None and len(stores) == 2 else None


def stores_by_memory(body: tuple[Stmt, ...]) -> list[BufferStore] | None:
    """Stores to different buffers as what they store in terms of memory before the block; None for other bodies."""
    values: dict[Any, Expr] = {}
    stores: list[BufferStore] = []

    def use(node: Any) -> Any:
        found = substitute(node, {var: value for var, value in values.items() if type(var) is Var})
        scalars = {var: value for var, value in values.items() if type(var) is Buffer}
        return rewrite(found, {BufferLoad: lambda load: scalars.get(load.buffer, load)}) if scalars else found

    for stmt in body:
        if type(stmt) in (Bind, ScalarDecl) and not stores and stmt.value is not None:  # type: ignore[attr-defined]
            values[stmt.var if type(stmt) is Bind else stmt.buffer] = use(stmt.value)  # type: ignore[attr-defined]
        elif type(stmt) is BufferStore and stmt.predicate is None and stmt.buffer not in values:
            if any(type(node) is BufferLoad and node.buffer is store.buffer for store in stores for node in walk(stmt)):
                return None
            stores.append(use(stmt))
        else:
            return None
    return stores if len({store.buffer for store in stores}) == len(stores) else None


def _turned(store: BufferStore, stores: list[BufferStore]) -> BufferStore:
    """A store that keeps what is there in the first case with its cases turned, as reducers of other compilers are.

    `best > x or best == x and at < vk` is `best >= x` where `vk` goes up. Of nan the turned comparison is another one.
    """
    value = store.value
    if type(value) is not Call or value.op not in CHOICES or not is_element(value.args[1], store):
        return store
    condition, old, new = value.args
    order = _without_ties(condition, stores)
    if type(order) is not Call or order.op not in OPPOSITES:
        return store
    # where the index decides between equal elements, it keeps the first; the elements themselves are the same
    conditions = [other.value.args[0] for other in stores if type(other.value) is Call and other.value.op in CHOICES]
    ties = any(_without_ties(one, stores) is not one for one in conditions)
    op = LOOSE[order.op] if ties and order.op in STRICT else order.op
    return store.replace(value=Call(value.op, (Call(OPPOSITES[op], order.args, BOOL), new, old), value.dtype))


def _without_ties(condition: Expr, stores: list[BufferStore]) -> Expr:
    """A comparison with equality for one that lets the index decide where elements are equal; else what is given."""
    if type(condition) is not Call or condition.op is not OPS["logical_or"]:
        return condition
    strict, tie = condition.args
    if type(strict) is not Call or strict.op not in STRICT or type(tie) is not Call or len(tie.args) != 2:
        return condition
    equal, before = tie.args
    if (
        tie.op is not OPS["logical_and"]
        or type(equal) is not Call
        or equal.op is not OPS["equal"]
        or type(before) is not Call
        or before.op is not OPS["less"]
        or not all(structural_equal(a, b, map_free_vars=False) for a, b in zip(equal.args, strict.args, strict=True))
    ):
        return condition
    # the index that is there, and that of the new element, as the store of the index chooses between them
    for store in stores:
        value = store.value
        if type(value) is Call and value.op in CHOICES and is_element(before.args[0], store):
            same = zip((condition, *before.args), value.args, strict=True)
            if all(structural_equal(a, b, map_free_vars=False) for a, b in same):
                return Call(LOOSE[strict.op], strict.args, BOOL)
    return condition


def _choice(store: BufferStore) -> tuple[Expr, Expr] | None:
    """The condition and the value of a store that keeps what is there otherwise."""
    value = store.value
    if type(value) is not Call or value.op not in CHOICES:
        return None
    condition, new, old = value.args
    return (condition, new) if is_element(old, store) else None


def order_of(condition: Expr, value: Expr, best: BufferStore) -> Op | None:
    """The operator of `order(value, best)`, whichever stands first."""
    if type(condition) is not Call or condition.op not in ORDERS:
        return None
    left, right = condition.args
    if structural_equal(left, value, map_free_vars=False) and is_element(right, best):
        return condition.op
    if structural_equal(right, value, map_free_vars=False) and is_element(left, best):
        return _TURNED[condition.op]
    return None


def _tied(condition: Expr, value: Expr, best: BufferStore, index: Expr, at: BufferStore) -> Op | None:
    """The operator of `order(value, best) or value == best and index < at`, which keeps the first of equal elements
    whatever their order; `index > at` keeps the last, with `>=` as its operator."""
    if type(condition) is not Call or condition.op is not OPS["logical_or"]:
        return None
    strict, tie = condition.args
    order = order_of(strict, value, best)
    if order not in STRICT or type(tie) is not Call or tie.op is not OPS["logical_and"]:
        return None
    equal, before = tie.args
    if type(equal) is not Call or equal.op is not OPS["equal"]:
        return None
    one, other = equal.args if is_element(equal.args[1], best) else equal.args[::-1]
    if not structural_equal(one, value, map_free_vars=False) or not is_element(other, best):
        return None
    chosen = order_of(before, index, at)
    if chosen not in STRICT:
        return None
    return order if chosen is OPS["less"] else LOOSE[order]


def _grows(index: Expr, var: Var) -> bool:
    """Whether an index is larger the larger the variable is."""
    while (
        type(index) is Call
        and index.op is OPS["cast"]
        and index.dtype.is_int
        and index.dtype.bits >= index.args[0].dtype.bits
    ):
        index = index.args[0]
    if not index.dtype.is_int or index.dtype.bits < 32:
        return False
    form = linear(index)
    return form.terms.get(var, 0) > 0 and not any(uses(term, var) for term in form.terms if term is not var)


__all__ = [
    "LOOSE",
    "OPPOSITES",
    "ORDERS",
    "STRICT",
    "Extreme",
    "extreme_of",
    "order_of",
    "stores_by_memory",
]
