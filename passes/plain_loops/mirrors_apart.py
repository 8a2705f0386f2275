"""What a nest stores of each element at another place of the array as well is stored by a nest of its own behind it.

before:                                            after:
    for i in range(64):                                for i in range(64):
        for j in range(i, 64):                             for j in range(i, 64):
            C[i, j] = 0.0                                      C[i, j] = 0.0
            for k in range(96):                                for k in range(96):
                C[i, j] += A[k, i] * A[k, j]                       C[i, j] += A[k, i] * A[k, j]
            C[j, i] = C[i, j]                              for i in range(64):
                                                               for j in range(i, 64):
                                                                   C[j, i] = C[i, j]

Covariances, distances and other symmetric matrices are written so. What is left is a triangle of products.
"""

from __future__ import annotations

from collections.abc import Callable

from tirscript.ir.arith.presburger import Dependences
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import free_vars, holds, refresh, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, Stmt

from ..access import constant_extent
from ..statements import may_overlap, reads_memory

# terms of a product that is worth tiles, half of which are for nothing
FEWEST = 8
# bits of a line that lanes add up as fast
LINE = 1024


def mirrors_apart(func: PrimFunc, pays: Callable[[PrimFunc, For], bool | None]) -> PrimFunc:
    """The function with nests of their own for such stores; itself where nothing gains by it.

    `pays` says of such a function and what is left of its nest whether that is scheduled as products are.
    """
    if may_overlap(func):
        return func
    for nest in func.body:
        if type(nest) is not For or holds(nest, Block):
            continue
        found = _mirror(nest, ()) if _gains(nest) else None
        made = None if found is None else _apart(func, nest, *found)
        if made is None:
            continue
        at = next(place for place, stmt in enumerate(func.body) if stmt is nest)
        new = func.replace(body=(*func.body[:at], *made, *func.body[at + 1 :]))
        if pays(new, made[0]):
            func = new
    return func


def _gains(nest: For) -> bool:
    """Whether a nest has sums that gain by the tiles of products: of several terms, but no long lines along memory,
    each of which lanes add up."""
    from ..schedule.default_cpu.nests import stride_of

    for loop in walk(nest):
        if type(loop) is not For or holds(loop.body, For):
            continue
        extent = constant_extent(loop)
        loads = [node for node in walk(loop.body, BufferLoad) if uses(node.indices, loop.var)]
        if extent is None or extent < FEWEST or not loads:
            continue
        if extent * loads[0].buffer.dtype.bits < LINE or any(stride_of(load, loop.var) != 1 for load in loads):
            return True
    return False


def _mirror(loop: For, around: tuple[For, ...]) -> tuple[tuple[For, ...], BufferStore, BufferLoad] | None:
    """The last statement of the loops in a nest, which stores an element at another place too, with the loops around
    and the element; None where there is none."""
    if loop.kind != "serial" or loop.step is not None or loop.annotations:
        return None
    loops = (*around, loop)
    *before, last = loop.body
    if type(last) is For:
        return _mirror(last, loops)
    if type(last) is not BufferStore or last.predicate is not None or last.buffer.is_scalar or not before:
        return None
    element, behind = last.value, before[-1]
    if type(element) is not BufferLoad or element.buffer is not last.buffer:
        # the same value again
        if type(behind) is not BufferStore or behind.buffer is not last.buffer or behind.predicate is not None:
            return None
        if not structural_equal(last.value, behind.value) or uses(last.value, last.buffer):
            return None
        element = BufferLoad(behind.buffer, behind.indices)
    indices = (*last.indices, *element.indices)
    if element.predicate is not None or any(map(reads_memory, indices)) or not _is_triangle(loops):
        return None
    return (loops, last, element) if {loop.var for loop in loops}.issuperset(free_vars(indices)) else None


def _is_triangle(loops: tuple[For, ...]) -> bool:
    bounds = free_vars((loops[-1].start, loops[-1].stop))
    return any(loop.var in bounds for loop in loops[:-1]) and not any(
        reads_memory(bound) for loop in loops for bound in (loop.start, loop.stop)
    )


def _apart(
    func: PrimFunc, nest: For, loops: tuple[For, ...], mirror: BufferStore, element: BufferLoad
) -> tuple[For, For] | None:
    """A nest without a store that it ends with, and one of that alone; None where something needs it before."""
    stored = mirror.replace(value=element)
    whole = _replaced(nest, mirror, (stored,))
    deps = Dependences((whole,), within=func)
    (mine,) = deps.steps_in(stored)
    for step in deps.steps:
        if step is not mine and any(True for _ in deps.between(mine, step)):
            return None
    alone: Stmt = stored.replace(trivia=None)
    for loop in reversed(loops):
        alone = loop.replace(body=(alone,), trivia=None)
    assert type(alone) is For
    return _replaced(nest, mirror, ()), refresh(alone)


def _replaced(loop: For, old: Stmt, new: tuple[Stmt, ...]) -> For:
    """A nest with other statements in the place of the last one of its loops."""
    *rest, last = loop.body
    if last is old:
        return loop.replace(body=(*rest, *new))
    assert type(last) is For
    return loop.replace(body=(*rest, _replaced(last, old, new)))


__all__ = ["mirrors_apart"]
