"""What is taken off step by step is a sum of negatives: `C -= A * B` becomes `C += -A * B`, which `with_blocks` takes.

The results are the same bits: in IEEE arithmetic a difference is the sum with the negative, and the sign of a product
that of its factors.
"""

from __future__ import annotations

from tirscript.ir.expr import BufferLoad, Call, Expr
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import BufferStore, Stmt

from .plain import in_plain_loops


def sums_of_differences(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function with sums for what its plain loops take off; itself where they take nothing off."""
    return in_plain_loops(body, {BufferStore: as_sum})


def as_sum(store: BufferStore) -> BufferStore:
    """A store that takes something off its element as one that adds the negative; other stores as they are."""
    value, buffer = store.value, store.buffer
    if type(value) is not Call or value.op is not OPS["sub"] or not buffer.dtype.is_signed:
        return store
    mine, other = value.args
    if type(mine) is not BufferLoad or mine.buffer is not buffer or uses(other, buffer):
        return store
    return store.replace(value=Call(OPS["add"], (mine, _negative(other)), value.dtype))


def _negative(value: Expr) -> Expr:
    """The negative of a value; of a product that of its first factor, which is computed once for several results."""
    if type(value) is Call and value.op is OPS["mul"]:
        return value.replace(args=(_negative(value.args[0]), value.args[1]))
    return get_op("negative")(value)


__all__ = ["as_sum", "sums_of_differences"]
