"""Reductions as blocks write them: `C[i] = combine(C[i], value)`, and the identities of the combiners."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Broadcast, BufferLoad, Call, Const, Expr, const
from tirscript.ir.op import OPS, Op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, BufferStore

from ..statements import is_element, same_indices
from .edit import Edit
from .extremes import stores_by_memory
from .tree import Place


def _lowest(dtype: DType) -> Const:
    if dtype.is_float:
        return const(float("-inf"), dtype)
    return const(0 if not dtype.is_signed else -(1 << (dtype.bits - 1)), dtype)


def _highest(dtype: DType) -> Const:
    if dtype.is_float:
        return const(float("inf"), dtype)
    return const((1 << (dtype.bits - int(dtype.is_signed))) - 1, dtype)


def _ones(dtype: DType) -> Const:
    return const((1 << dtype.bits) - 1 if not dtype.is_signed else -1, dtype)


# commutative and associative operators (floats: up to rounding), with the value that changes nothing
IDENTITIES: dict[Op, Callable[[DType], Const]] = {
    OPS["add"]: lambda dtype: const(0.0 if dtype.is_float else 0, dtype),
    OPS["mul"]: lambda dtype: const(1.0 if dtype.is_float else 1, dtype),
    OPS["min"]: _highest,
    OPS["max"]: _lowest,
    OPS["logical_and"]: lambda dtype: const(True, dtype),
    OPS["logical_or"]: lambda dtype: const(False, dtype),
    OPS["bitwise_and"]: _ones,
    OPS["bitwise_or"]: lambda dtype: const(0, dtype),
    OPS["bitwise_xor"]: lambda dtype: const(0, dtype),
}


# whether what stands first is the greater one
COMPARISONS = {OPS["greater"]: True, OPS["greater_equal"]: True, OPS["less"]: False, OPS["less_equal"]: False}


def neutral(op: Op, dtype: DType) -> Const:
    """The identity that keeps every bit of what it is combined with: -0.0 for sums of floats, 0.0 makes 0.0 of -0.0."""
    if op is OPS["add"] and dtype.is_float:
        return const(-0.0, dtype)
    return IDENTITIES[op](dtype)


class Update(Struct, frozen=True, eq=False):
    """`store.buffer[indices] = op(store.buffer[indices], value)`, the element behind the value unless it is `first`.

    What the store says may be a choice that means the same: `x if x >= m else m`, or `op(m, x) if c else m`.
    """

    store: BufferStore
    op: Op
    value: Expr
    first: bool = True

    @property
    def identity(self) -> Expr:
        """The value that the combiner does not change, in every lane of a vector."""
        dtype = self.store.buffer.dtype
        one = IDENTITIES[self.op](dtype.element)
        return Broadcast(one, dtype.lanes, dtype.scalable) if dtype.is_vector else one

    def combine(self, mine: Expr, other: Expr) -> Expr:
        """What the element holds and another value or partial result as one: of nan the order counts."""
        return Call(self.op, (mine, other) if self.first else (other, mine), mine.dtype)


def update_of(block: Block) -> Update | None:
    """The update that is the whole body of a reduction block, None where the body is something else."""
    if len(block.body) != 1 or type(block.body[0]) is not BufferStore:
        return None
    return update_by(block.body[0])


def updates_of(block: Block) -> tuple[Update, ...] | None:
    """The updates that are the whole body of a reduction block, each of a buffer of its own, at the same indices; None
    where the body is something else."""
    stores = stores_by_memory(block.body)
    begun = {stmt.buffer for stmt in block.init or () if type(stmt) is BufferStore}
    if not stores or {store.buffer for store in stores} != begun:
        return None
    updates = [update_by(store) for store in stores]
    found = tuple(update for update in updates if update is not None)
    same = all(same_indices(store.indices, stores[0].indices) for store in stores)
    if len(found) != len(stores) or not same or any(_reads(one.value, store) for one in found for store in stores):
        return None
    return found


def update_by(store: BufferStore) -> Update | None:
    """The update that a store is, None where it is something else."""
    return _update(store, store.value) if store.predicate is None else None


def _update(store: BufferStore, value: Expr) -> Update | None:
    """The update that a store of a value is."""
    if type(value) is not Call:
        return None
    if value.op in CHOICES:
        return _chosen(store, value)
    if value.op not in IDENTITIES:
        return None
    for mine, other in (value.args, value.args[::-1]):
        if is_element(mine, store) and not _reads(other, store):
            return Update(store, value.op, other, mine is value.args[0])
    return None


def _chosen(store: BufferStore, value: Call) -> Update | None:
    """The update under a condition, or the greater or less of two, that a choice between the element and another is.

    `x if x > m else m` is `T.max(x, m)` and `m if m > x else x` is `T.max(m, x)`, of nan too.
    """
    if value.dtype.is_vector:
        return None  # what each lane chooses has no constant that changes nothing
    condition, one, other = value.args
    kept = is_element(other, store)
    if not kept and not is_element(one, store):
        return _either(store, value)
    if kept == is_element(one, store):
        return None
    new = one if kept else other
    if not _reads(condition, store):
        made = _update(store, new)
        if made is None:
            return None
        none = neutral(made.op, value.dtype)
        args = (condition, made.value, none) if kept else (condition, none, made.value)
        return Update(store, made.op, Call(OPS["if_then_else"], args, value.dtype), made.first)
    if type(condition) is not Call or condition.op not in COMPARISONS or _reads(new, store):
        return None
    left, right = condition.args
    if is_element(right, store) and structural_equal(left, new, map_free_vars=False):
        greater = COMPARISONS[condition.op]
    elif is_element(left, store) and structural_equal(right, new, map_free_vars=False):
        greater = not COMPARISONS[condition.op]
    else:
        return None
    return Update(store, OPS["max"] if greater == kept else OPS["min"], new, not kept)


def _either(store: BufferStore, value: Call) -> Update | None:
    """The update by one of two values that a choice of two updates is: `m + a if c else m + b`."""
    condition, one, other = value.args
    a, b = _update(store, one), _update(store, other)
    if a is None or b is None or a.op is not b.op or a.first != b.first or _reads(condition, store):
        return None
    return Update(store, a.op, Call(OPS["if_then_else"], (condition, a.value, b.value), value.dtype), a.first)


def only_update(edit: Edit, block: Place) -> Update:
    """The update that is the whole body of a block; refused where the body is something else."""
    update = update_of(block.stmt)
    if update is None:
        edit.refuse(
            f"the body of the block `{block.stmt.name}` is not an update such as `C[vi] = C[vi] + value`",
            block,
            notes=("known combiners are +, *, min, max, and, or, &, |, ^",),
        )
    return update


def _reads(expr: Expr, store: BufferStore) -> bool:
    return any(type(node) is BufferLoad and node.buffer is store.buffer for node in walk(expr))


__all__ = ["IDENTITIES", "Update", "neutral", "only_update", "update_by", "update_of", "updates_of"]
