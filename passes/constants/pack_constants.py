"""Copies of constants in another layout become constants in that layout.

before:                                            after:
    W = T.constant("sha256:...", (64, 32))             P = T.constant("sha256:...", (2, 64, 16))
    P = T.alloc_buffer((2, 64, 16))                    for ...:
    for i, j in T.grid(64, 32):                            ... P[...]
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vj // 16, vi, vj % 16] = W[vi, vj]
    for ...:
        ... P[...]

What schedules copy for speed at every call is so copied once, when the function is compiled. Copies of over `limit`
elements stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant
from tirscript.ir.expr import BufferData, BufferLoad, Call, CallFunction, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, Op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block, BufferStore, For, Stmt

from ..pipeline import prim_func_pass
from ..statements import keep_comments

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LIMIT = 1 << 28


@prim_func_pass()
def pack_constants(func: PrimFunc, *, limit: int = LIMIT) -> PrimFunc:
    """`P[j // 16, i, j % 16] = W[i, j]` for all of a constant `W` becomes a constant `P`."""
    known = {stmt.buffer: stmt for stmt in func.body if type(stmt) is AllocateConst and stmt.data.resolved}
    if not known:
        return func
    allocated = {stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer and _is_plain(stmt)}
    packed: dict[Buffer, AllocateConst] = {}
    gone: dict[int, Buffer] = {}
    for stmt in func.body:
        copy = _copy(stmt)
        if copy is None or copy.target not in allocated or copy.target in packed or copy.source not in known:
            continue
        if _writers(func, copy.target) == 1 and not _is_viewed(func, copy.target):
            data = copy.run(known[copy.source].data.array, limit)
            if data is not None:
                packed[copy.target] = AllocateConst(copy.target, constant(data), span=stmt.span)
                gone[id(stmt)] = copy.target
    if not packed:
        return func
    body: list[Stmt] = []
    waiting: Stmt | None = None
    for stmt in func.body:
        if id(stmt) in gone:
            waiting = stmt
            continue
        made = stmt
        if type(stmt) is AllocBuffer and stmt.buffer in packed:
            made = packed[stmt.buffer].replace(trivia=stmt.trivia)
        body += (made,) if waiting is None else keep_comments(waiting, (made,))
        waiting = None
    sources = {copy.source for copy in map(_copy, func.body) if copy is not None and copy.target in packed}
    kept = [stmt for stmt in body if type(stmt) is not AllocateConst or stmt.buffer not in sources or _used(stmt, body)]
    return func.replace(body=tuple(kept))


class _Copy:
    """A nest of loops around one block that stores elements of one buffer into another."""

    def __init__(self, loops: list[For], block: Block, store: BufferStore, load: BufferLoad) -> None:
        self.loops, self.block, self.store, self.load = loops, block, store, load

    @property
    def target(self) -> Buffer:
        return self.store.buffer

    @property
    def source(self) -> Buffer:
        return self.load.buffer

    def run(self, source: Array, limit: int) -> Array | None:
        """The target after the copy; None where it is too large, not of known indices, or not all of the target."""
        import numpy as np

        shape = self.target.constant_shape()
        given = self.source.constant_shape()
        values: dict[Var, Any] = {}
        count = 1
        for at, loop in enumerate(self.loops):
            if type(loop.start) is not Const or type(loop.stop) is not Const or loop.step is not None:
                return None
            axis = np.arange(int(loop.start.value), int(loop.stop.value))
            count *= len(axis)
            values[loop.var] = axis.reshape([-1 if place == at else 1 for place in range(len(self.loops))])
        if shape is None or given is None or count > limit or count == 0:
            return None
        try:
            for one in self.block.axes:
                values[one.var] = _value(one.value, values)
            there = tuple(_value(index, values) for index in self.store.indices)
            here = tuple(_value(index, values) for index in self.load.indices)
        except LookupError:
            return None
        if not _inside(there, shape) or not _inside(here, given):
            return None
        made = np.empty(shape, source.dtype)
        filled = np.zeros(shape, bool)
        made[there] = source.reshape(given)[here]
        filled[there] = True
        return made if filled.all() else None


def _copy(stmt: Stmt) -> _Copy | None:
    loops: list[For] = []
    while type(stmt) is For and len(stmt.body) == 1 and stmt.kind != "thread_binding":
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.init is not None or stmt.predicate is not None or len(stmt.body) != 1:
        return None
    store = stmt.body[0]
    if type(store) is not BufferStore or store.predicate is not None or type(store.value) is not BufferLoad:
        return None
    load = store.value
    plain = load.predicate is None and load.buffer.dtype is store.buffer.dtype
    if not plain or any(axis.kind != "spatial" for axis in stmt.axes):
        return None
    return _Copy(loops, stmt, store, load)


def _value(expr: Expr, values: dict[Var, Any]) -> Any:
    """An index for all iterations at once; LookupError where it is not one of their variables alone."""
    if type(expr) is Const:
        return int(expr.value)
    if type(expr) is Var:
        return values[expr]
    if type(expr) is Call and expr.op in _RULES and expr.dtype.is_int:
        return _RULES[expr.op](*(_value(arg, values) for arg in expr.args))
    raise LookupError


def _inside(indices: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    import numpy as np

    return all(
        int(np.min(index)) >= 0 and int(np.max(index)) < size for index, size in zip(indices, shape, strict=True)
    )


_RULES: dict[Op, Callable[..., Any]] = {
    OPS["add"]: lambda a, b: a + b,
    OPS["sub"]: lambda a, b: a - b,
    OPS["mul"]: lambda a, b: a * b,
    OPS["floordiv"]: lambda a, b: a // b,
    OPS["floormod"]: lambda a, b: a % b,
    OPS["cast"]: lambda a: a,
}


def _is_plain(stmt: AllocBuffer) -> bool:
    buffer = stmt.buffer
    return (
        buffer.strides is None
        and buffer.elem_offset is None
        and buffer.scope == "global"
        and buffer.dtype.lanes == 1
        and not stmt.annotations
    )


def _writers(func: PrimFunc, buffer: Buffer) -> int:
    return sum(type(node) is BufferStore and node.buffer is buffer for node in walk(func.body))


def _is_viewed(func: PrimFunc, buffer: Buffer) -> bool:
    """Whether the memory of a buffer is reached otherwise than by loads and stores of its elements."""
    for node in walk(func.body):
        if type(node) is BufferData and node.buffer is buffer:
            return True
        if type(node) is CallFunction and any(getattr(arg, "buffer", arg) is buffer for arg in node.args):
            return True
        if type(node) is Call and node.op is OPS["address_of"] and any(part is buffer for part in walk(node)):
            return True
    return False


def _used(stmt: AllocateConst, body: list[Stmt]) -> bool:
    """Whether anything but the statement itself names its buffer."""
    return any(node is stmt.buffer for other in body if other is not stmt for node in walk(other))


__all__ = ["LIMIT", "pack_constants"]
