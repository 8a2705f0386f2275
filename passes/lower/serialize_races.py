"""Parallel loops whose iterations cannot run at once become serial.

before:                                            after:
    for i in T.parallel(15):                           for i in range(15):
        A[i + 1] = A[i]                                    A[i + 1] = A[i]

A parallel loop is its author's word that the iterations may run at once, and is taken for that where nothing is known.
But the meaning of a program is that of its iterations in order, so a loop is serial where that is certainly not the
same: two iterations touch the same element and one of them writes it; every iteration that writes, writes the same
element, under whatever conditions; iterations add to elements at indices that are read from memory, as a histogram
does; an iteration returns from the function, prints, or writes a scalar variable of the function. The linter and the
verifier tell of most of these.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, Call, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import definitions, rewrite, walk
from tirscript.ir.stmt import Bind, BufferStore, For, Return

from ..pipeline import prim_func_pass

MOST_STORES = 40  # in a loop that is looked at; the work grows with their square


@prim_func_pass()
def serialize_races(func: PrimFunc) -> PrimFunc:
    """`for i in T.parallel(15): A[i + 1] = A[i]` becomes `for i in range(15): A[i + 1] = A[i]`."""
    if not any(type(node) is For and node.kind == "parallel" for node in walk(func.body)):
        return func

    def settle(loop: For) -> For:
        if loop.kind == "parallel" and needs_order(loop, func):
            return loop.replace(kind="serial")
        return loop

    changed: PrimFunc = rewrite(func, {For: settle})
    return changed


def needs_order(loop: For, func: PrimFunc) -> bool:
    """Whether the iterations of a loop in a function certainly mean something else when they run at once."""
    inside = set(definitions(loop))
    stores = 0
    for node in walk(loop.body):
        rule = _RULES.get(type(node))
        if rule is not None and rule(node, inside):
            return True
        stores += type(node) is BufferStore
    return stores <= MOST_STORES and _conflict(loop, func, inside)


def _changes_scalar(node: BufferStore | BufferData, inside: set[Var | Buffer]) -> bool:
    """Whether a scalar of all iterations is written, or its address given to somebody who may write there."""
    return node.buffer.is_scalar and node.buffer not in inside


def _ordered_call(node: Call, inside: set[Var | Buffer]) -> bool:
    if node.op.name == "address_of":
        return any(type(arg) is BufferLoad and arg.buffer.is_scalar and arg.buffer not in inside for arg in node.args)
    return node.op.name in ("print", "breakpoint")


_RULES: dict[type, Any] = {
    Return: lambda node, inside: True,
    BufferStore: _changes_scalar,
    BufferData: _changes_scalar,
    Call: _ordered_call,
}


def _conflict(loop: For, func: PrimFunc, inside: set[Var | Buffer]) -> bool:
    from tirscript.ir.arith.presburger import Dependences, carried

    read: set[Var] = set()
    for node in walk(loop.body):
        if type(node) is Bind and _is_read(node.value, read):
            read.add(node.var)
    for one in carried(Dependences((loop,), within=func), loop, perhaps=False):
        if one.exact:
            return True
        node = one.source.node
        if node is one.sink.node and type(node) is BufferStore and node.buffer not in inside:
            if one.reduction and any(_is_read(index, read) for index in node.indices):
                return True
            if not any(_is_read(index, inside) for index in node.indices):  # when is not known, but where
                return True
    return False


def _is_read(value: Expr, variables: Set[Any]) -> bool:
    """Whether a value comes from memory, or from one of the variables."""
    return any(type(node) is BufferLoad or (type(node) is Var and node in variables) for node in walk(value))
