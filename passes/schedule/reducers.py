"""Reductions as blocks write them: `C[i] = combine(C[i], value)`, and the identities of the combiners."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, const
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, BufferStore

from .edit import Edit
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


def neutral(op: Op, dtype: DType) -> Const:
    """The identity that keeps every bit of what it is combined with: -0.0 for sums of floats, 0.0 makes 0.0 of -0.0."""
    if op is OPS["add"] and dtype.is_float:
        return const(-0.0, dtype)
    return IDENTITIES[op](dtype)


class Update(Struct, frozen=True, eq=False):
    """`store.buffer[indices] = op(store.buffer[indices], value)`."""

    store: BufferStore
    op: Op
    value: Expr

    @property
    def identity(self) -> Const:
        """The value that the combiner does not change."""
        return IDENTITIES[self.op](self.store.buffer.dtype)

    def combine(self, a: Expr, b: Expr) -> Expr:
        """The two partial results as one."""
        return Call(self.op, (a, b), a.dtype)


def update_of(block: Block) -> Update | None:
    """The update that is the whole body of a reduction block, None where the body is something else."""
    if len(block.body) != 1 or type(block.body[0]) is not BufferStore:
        return None
    return update_by(block.body[0])


def update_by(store: BufferStore) -> Update | None:
    """The update that a store is, None where it is something else."""
    value = store.value
    if type(value) is not Call or value.op not in IDENTITIES or store.predicate is not None:
        return None
    for mine, other in (value.args, value.args[::-1]):
        if _same_element(mine, store) and not _reads(other, store):
            return Update(store, value.op, other)
    return None


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


def _same_element(expr: Expr, store: BufferStore) -> bool:
    return (
        type(expr) is BufferLoad
        and expr.buffer is store.buffer
        and expr.predicate is None
        and all(structural_equal(a, b, map_free_vars=False) for a, b in zip(expr.indices, store.indices))
    )


def _reads(expr: Expr, store: BufferStore) -> bool:
    return any(type(node) is BufferLoad and node.buffer is store.buffer for node in walk(expr))


__all__ = ["IDENTITIES", "Update", "neutral", "only_update", "update_by", "update_of"]
