"""Divisions under a condition that no iteration of a loop changes, ahead of the loop.

before:                                            as if it were:
    for j in range(m):                                 row = (i + 1) % n
        if M[j] > 0:                                   for j in range(m):
            B[i, j] = A[(i + 1) % n, j]                    if M[j] > 0:
                                                               B[i, j] = A[row, j]

LLVM moves no division out of a condition, as it might trap; ours never does. Where LLVM 22 makes vectors of such a
loop, it divides if the condition holds for the first lane, and uses a number for all lanes that nothing computed where
it does not hold. What cannot be moved, as memory or a short loop inside says what is divided, keeps its loop from
becoming vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tirscript.ir.effects import reads_memory
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const
from tirscript.ir.node import Node
from tirscript.ir.op_sets import DIVISIONS, LAZY
from tirscript.ir.rewrite import children, definitions, uses, walk
from tirscript.ir.stmt import Bind, Break, BufferStore, Continue, For, If, Return, While

if TYPE_CHECKING:
    from .codegen import Codegen

_LEAVES = (Break, Continue, Return)


@contextmanager
def ahead(g: Codegen, loop: For | While) -> Iterator[None]:
    """While a loop is written, the divisions that may stand ahead of it are known there."""
    before = g.divisions
    if not g.debug:  # which tells where a divisor is zero
        moving = {*definitions(loop.body), *([loop.var] if isinstance(loop, For) else [])}
        for call in _conditional(loop):
            if call not in g.divisions and not reads_memory(call) and not any(node in moving for node in walk(call)):
                g.divisions = {**g.divisions, call: g.value(call)}
    yield
    g.divisions = before


def without_vectors(g: Codegen, loop: For) -> list[str]:
    """The metadata that keeps a loop from becoming vectors, where a division under a condition may stay the same in it
    and is not known ahead of it; none for other loops."""
    left = [call for call in _conditional(loop) if call not in g.divisions]
    called = _called_to_divide(g, loop)
    if not (left or called) or any(
        type(node) is While or (type(node) is For and not _runs(node)) for node in walk(loop.body)
    ):
        return []  # LLVM makes vectors of innermost loops, when it has written out short ones
    varying = _varying(loop)
    if not called and all(_reads(call, varying) for call in left):
        return []
    return [g.b.module.once('!{!"llvm.loop.vectorize.enable", i1 false}')]


def _conditional(loop: For | While) -> Iterator[Call]:
    """The divisions of integers by what is not known in a loop that some iterations may leave out."""
    if not any(_divides(node) for node in walk(loop.body)):
        return
    leaves = any(type(node) in _LEAVES for node in walk(loop.body))
    todo: list[tuple[Node, bool]] = [(stmt, leaves) for stmt in reversed(loop.body)]
    while todo:
        node, under = todo.pop()
        if under and _divides(node):
            yield node  # type: ignore[misc]
        kind = type(node)
        parts = list(children(node))
        asked = len(parts)
        if kind is If:
            asked = 1
        elif kind is While or (kind is For and not _runs(node)):
            asked = 0
        elif kind is Call and node.op in LAZY:  # type: ignore[attr-defined]
            asked = 1
        todo += [(part, under or at >= asked) for at, part in reversed([*enumerate(parts)])]


def _called_to_divide(g: Codegen, loop: For) -> bool:
    """Whether functions that are called in a loop divide, which LLVM may write in place of the calls."""
    functions = g.state.functions
    seen: set[str] = set()
    todo = [node.function for node in walk(loop.body, CallFunction)]
    while todo:
        name = todo.pop()
        if name in functions and name not in seen:
            seen.add(name)
            inside = [*walk(functions[name].body)]
            if any(map(_divides, inside)):
                return True
            todo += [node.function for node in inside if type(node) is CallFunction]
    return False


def _divides(node: Node) -> bool:
    """Whether a node is a division of LLVM that might trap, were it not ours."""
    if type(node) is not Call or node.op not in DIVISIONS or not node.dtype.is_int or node.dtype.is_vector:
        return False
    divisor = node.args[1]
    return type(divisor) is not Const or divisor.value in (0, -1)


def _runs(loop: Any) -> bool:
    """Whether a loop certainly has iterations, which LLVM may write out."""
    return type(loop.start) is type(loop.stop) is Const and loop.start.value != loop.stop.value


def _varying(loop: For) -> set[Any]:
    """The variables and buffers that surely hold something else in each iteration."""
    found: set[Any] = {loop.var}
    before = 0
    while before != len(found):
        before = len(found)
        for node in walk(loop.body):
            if type(node) is Bind and _reads(node.value, found):
                found.add(node.var)
            elif type(node) is BufferStore and (uses(node.value, node.buffer) or _reads(node.value, found)):
                found.add(node.buffer)
    return found


def _reads(node: Node, varying: set[Any]) -> bool:
    """Whether what varies stands in an expression."""
    return any((one.buffer if type(one) is BufferLoad else one) in varying for one in walk(node))


__all__ = ["ahead", "without_vectors"]
