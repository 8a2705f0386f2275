"""Indices as sums of axes, where they are: what schedules see of how a block goes through memory.

before:                                            after:
    with T.block("C"):                                 with T.block("C"):
        vi = T.axis.spatial(8, i)                          vi = T.axis.spatial(8, i)
        C[vi] = A[vi // 8 * 4 + vi * 1]                    C[vi] = A[vi]
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.arith.simplifier import Simplifier
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import map_except_buffers, walk
from tirscript.ir.stmt import BufferStore

_SUMS = (OPS["add"], OPS["sub"])


def with_plain_indices(func: PrimFunc) -> PrimFunc:
    """The function with simplified indices in its loads and stores; itself where they are sums of multiples already."""
    accesses: Any = (node for node in walk(func.body) if type(node) in (BufferLoad, BufferStore))
    if all(_is_plain(index) for access in accesses for index in access.indices):
        return func
    return _Indices().function(func)


def _is_plain(index: Expr) -> bool:
    """Whether nothing is gained by simplifying an index."""
    while type(index) is Call and index.op in _SUMS and _is_plain(index.args[1]) and not is_const(index.args[1], 0):
        index = index.args[0]
    if type(index) is Call and index.op is OPS["mul"]:
        var, factor = index.args
        return type(var) is Var and type(factor) is Const and not (is_const(factor, 0) or is_const(factor, 1))
    return type(index) in (Var, Const)


class _Indices(Scoped):
    """Simplifies indices where it is known what their variables are."""

    def __init__(self) -> None:
        super().__init__()
        self.expressions = Simplifier(self.analyzer)

    def access(self, node: Any) -> Any:
        """A load or store."""
        new = map_except_buffers(node, self.visit)
        indices = tuple([one if _is_plain(one) else self.expressions.whole(one) for one in new.indices])
        if are_same(indices, new.indices):
            return new
        return self.expressions.legal(new, new.replace(indices=indices))

    rules = {BufferLoad: access, BufferStore: access}  # noqa: RUF012


__all__ = ["with_plain_indices"]
