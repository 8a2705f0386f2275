"""Loops that keep the greatest or least element and where it is become what blocks say of it.

before:                                            after:
    m = A[0]                                           for k in range(100):
    at = 0                                                 with T.block("at"):
    for k in range(100):                                       vk = T.axis.reduce(100, k)
        if A[k] > m:                                           with T.init():
            m = A[k]                                               at = 0
            at = k                                                 m = A[0]
                                                               better: T.bool = A[vk] > m
                                                               where: T.int32 = vk if better else at
                                                               most: T.float32 = A[vk] if better else m
                                                               at = where
                                                               m = most
"""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.dtype import BOOL
from tirscript.ir.expr import BufferLoad, Call, Expr, Var
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses
from tirscript.ir.stmt import Bind, BufferStore, For, If, Stmt


class Search(Struct, frozen=True, eq=False):
    """What a loop does in each iteration: the stores where the condition holds."""

    condition: Expr
    stores: tuple[BufferStore, BufferStore]

    def body(self) -> tuple[Stmt, ...]:
        """The same without a condition."""
        flag = Var("better", BOOL)
        binds: list[Stmt] = [Bind(flag, self.condition)]
        stores: list[Stmt] = []
        for name, store in zip(("where", "most"), self.stores, strict=True):
            mine = BufferLoad(store.buffer, store.indices)
            value = Var(name, store.buffer.dtype)
            binds.append(Bind(value, Call(OPS["if_then_else"], (flag, store.value, mine), value.dtype)))
            stores.append(store.replace(value=value, trivia=None))
        return (*binds, *stores)


def search_of(loop: For, leaf: tuple[Stmt, ...]) -> Search | None:
    """What a loop around the statements `leaf` searches, None where it does something else.

    One store keeps what the condition compares, the other, of the same element, where it is.
    """
    test = leaf[0] if len(leaf) == 1 else None
    if type(test) is not If or test.orelse or len(test.then) != 2:
        return None
    one, other = test.then
    if type(one) is not BufferStore or type(other) is not BufferStore or one.buffer is other.buffer:
        return None
    for best, at in ((one, other), (other, one)):
        if best.predicate is not None or at.predicate is not None or any(uses(at, x.buffer) for x in (best,)):
            continue
        if not uses(test.condition, best.buffer) or uses(test.condition, at.buffer) or uses(best.value, at.buffer):
            continue
        if any(uses(index, loop.var) for index in (*best.indices, *at.indices)):
            continue
        if uses(at.value, at.buffer) or uses(best.value, best.buffer) or not at.buffer.dtype.is_int:
            continue
        return Search(test.condition, (at, best))
    return None


__all__ = ["Search", "search_of"]
