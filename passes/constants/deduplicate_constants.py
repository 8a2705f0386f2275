"""Constants that hold the same data become one.

before:                                            after:
    K = T.allocate_const([1, 2], "int8", (2,))         K = T.allocate_const([1, 2], "int8", (2,))
    L = T.allocate_const([1, 2], "int8", (2,))         for i in range(2):
    for i in range(2):                                     B[i] = K[i] + K[i]
        B[i] = K[i] + L[i]

The one that is left stands where the first did, or at the head of the function where not all uses would see it there.
Constants of the same bytes in other shapes keep their buffers, and get one array: their data is then flat.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantTensor, constant, constants_of
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import rewrite, substitute
from tirscript.ir.stmt import AllocateConst, MatchBuffer, Stmt

from ..pipeline import prim_func_pass


@prim_func_pass()
def deduplicate_constants(func: PrimFunc) -> PrimFunc:
    """`K` and `L`, both `T.allocate_const([1, 2], "int8", (2,))`, become one `K`."""
    found: list[AllocateConst] = constants_of(func)
    if len(found) < 2:
        return func
    func = _share_bytes(func, found)
    groups: dict[Any, list[AllocateConst]] = {}
    for stmt in constants_of(func):
        buffer = stmt.buffer
        key = (stmt.data, buffer.shape, buffer.scope, stmt.annotations)
        groups.setdefault(key, []).append(stmt)
    changed = [group for group in groups.values() if len(group) > 1]
    for group in changed:
        func = _merge(func, group)
    return func


def _merge(func: PrimFunc, group: list[AllocateConst]) -> PrimFunc:
    """One definition for all of the group."""
    first = group[0]
    align = max(stmt.buffer.align for stmt in group)
    kept = first.buffer if align == first.buffer.align else first.buffer.replace(align=align)
    stays = any(stmt is first for stmt in func.body)
    gone = {id(stmt.buffer) for stmt in group}
    seen: list[Buffer] = []

    def drop(stmt: AllocateConst) -> Any:
        if id(stmt.buffer) not in gone:
            return stmt
        seen.append(stmt.buffer)
        return stmt if stays and len(seen) == 1 else ()

    body = rewrite(func.body, {AllocateConst: drop})
    if not stays:
        at = _leading(body)
        body = (*body[:at], first.replace(trivia=None), *body[at:])
    body = substitute(body, {stmt.buffer: kept for stmt in group if stmt.buffer is not kept})
    return func.replace(body=body)


def _share_bytes(func: PrimFunc, found: list[AllocateConst]) -> PrimFunc:
    """Constants of the same dtype and bytes, but of several shapes, get the same flat data."""
    by_size: dict[Any, dict[str, ConstantTensor]] = {}
    for stmt in found:
        if stmt.data.resolved:
            by_size.setdefault((stmt.data.dtype, stmt.data.size), {})[stmt.data.digest] = stmt.data
    flat: dict[str, ConstantTensor] = {}
    for values in by_size.values():
        left = list(values.values()) if len(values) > 1 else []
        while left:
            first = left.pop(0)
            same = [other for other in left if same_bytes(other, first)]
            if same:
                left = [other for other in left if other not in same]
                data = constant(first.array.reshape(-1))
                flat.update({one.digest: data for one in (first, *same)})
    if not flat:
        return func
    rules: dict[type, Any] = {
        AllocateConst: lambda s: s.replace(data=flat[s.data.digest]) if s.data.digest in flat else s
    }
    result: PrimFunc = rewrite(func, rules)
    return result


def same_bytes(a: ConstantTensor, b: ConstantTensor) -> bool:
    """Whether two constants of one dtype hold the same bytes, whatever their shapes."""
    import numpy as np

    return bool(np.array_equal(a.array.reshape(-1).view(np.uint8), b.array.reshape(-1).view(np.uint8)))


def _leading(body: tuple[Stmt, ...]) -> int:
    """How many statements at the head of a body name the parameters."""
    count = 0
    for stmt in body:
        if type(stmt) is not MatchBuffer:
            break
        count += 1
    return count
