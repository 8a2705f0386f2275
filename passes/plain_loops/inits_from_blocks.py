"""A block that only stores what the sum of the block behind it begins with becomes the init of that block.

before:                                            after:
    for i, j in T.grid(64, 80):                        for i, j in T.grid(64, 80):
        with T.block("C_init"):                            for k in range(96):
            vi, vj = T.axis.remap("SS", [i, j])                with T.block("C_update"):
            C[vi, vj] = 0.0                                        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        for k in range(96):                                        with T.init():
            with T.block("C_update"):                                  C[vi, vj] = 0.0
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

That is how reductions are written that somebody has taken apart (`sch.decompose_reduction`), and how the rules of
schedules know them. The loops around the first block may be its own, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import free_vars, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Block, BufferStore, For, Stmt

from ..simplify import simplified
from ..statements import may_overlap


def inits_from_blocks(func: PrimFunc) -> PrimFunc:
    """The function with inits for blocks that do what these do; itself where there are none."""
    if may_overlap(func) or sum(1 for node in walk(func.body, Block)) < 2:
        return func

    def loop(node: For) -> For:
        body = _joined(node.body)
        return node if body is node.body else node.replace(body=body)

    body: tuple[Stmt, ...] = _joined(rewrite(func.body, {For: loop}))
    return func if body is func.body else func.replace(body=body)


def _joined(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Statements with inits for those before the sums that they begin; the same tuple where there are none."""
    out: list[Stmt] = []
    for stmt in stmts:
        made = _begun(out[-1], stmt) if out else None
        if made is None:
            out.append(stmt)
        else:
            out[-1] = made
    return stmts if len(out) == len(stmts) else tuple(out)


def _begun(first: Stmt, second: Stmt) -> Stmt | None:
    """A sum with the init that the statement before it is; None for other statements."""
    from ..schedule.reducers import update_by

    begin, update = _alone(first), _alone(second)
    if begin is None or update is None:
        return None
    (outer, init), (loops, block) = begin, update
    if init.init is not None or block.init is not None or any(axis.kind != "spatial" for axis in init.axes):
        return None
    start, store = _store(init), _store(block)
    if start is None or store is None or start.buffer is not store.buffer or uses(start.value, start.buffer):
        return None
    if update_by(store) is None or store.buffer.dtype.is_vector:
        return None
    mine, yours = _axes(init, start), _axes(block, store)
    if mine is None or yours is None or not _reduces(block, yours, loops):
        return None
    own = {loop.var: loop for loop in loops}
    places: dict[Var, Var] = {}  # the loops of the sum for those of what begins it
    for a, b in zip(mine, yours, strict=True):
        one, other = _value(init, a), _value(block, b)
        theirs = [var for var in free_vars(other) if var in own]
        for loop in [loop for loop in outer if uses(one, loop.var)]:
            if loop.var not in places:
                left = [var for var in theirs if var not in places.values() and _same_range(loop, own[var])]
                if not left:
                    return None
                places[loop.var] = left[0]
        if not structural_equal(substitute(one, places), other):
            return None
    used = {var for b in yours for var in free_vars(_value(block, b)) if var in own}
    if len(places) != len(outer) or used != set(places.values()):
        return None
    value: Any = substitute(start, dict(zip(mine, yours, strict=True)))
    made = block.replace(init=(value.replace(trivia=None),), reads=None, trivia=block.trivia or init.trivia)
    result: Stmt = made
    for loop in reversed(loops):
        result = loop.replace(body=(result,))
    return result


def _alone(stmt: Stmt) -> tuple[list[For], Block] | None:
    """Plain loops in each other alone around a plain block; None for other statements."""
    loops: list[For] = []
    while type(stmt) is For:
        if stmt.kind != "serial" or stmt.step is not None or stmt.annotations or len(stmt.body) != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.predicate is not None or stmt.annotations:
        return None
    return loops, stmt


def _store(block: Block) -> BufferStore | None:
    store = block.body[0] if len(block.body) == 1 else None
    return store if type(store) is BufferStore and store.predicate is None and store.indices else None


def _axes(block: Block, store: BufferStore) -> list[Var] | None:
    """The axes that are the indices of a store, each of them once and all spatial ones among them; None otherwise."""
    spatial = {axis.var for axis in block.axes if axis.kind == "spatial"}
    indices: list[Any] = [index for index in store.indices if not is_const(index, 0)]
    if len(indices) != len(store.indices) or len(set(indices)) != len(indices) or set(indices) != spatial:
        return None
    return indices


def _reduces(block: Block, spatial: Sequence[Var], loops: Sequence[For]) -> bool:
    """Whether a block begins where its other axes do: these reduce, by loops of their own that run at least once."""
    rest = [axis for axis in block.axes if axis.var not in spatial]
    if not rest or any(axis.kind != "reduce" for axis in rest):
        return False
    begins = {loop.var: loop.start for loop in loops}
    for axis in rest:
        if type(axis.start) is not Const or type(axis.stop) is not Const or axis.stop.value <= axis.start.value:
            return False
        if not set(free_vars(axis.value)) <= begins.keys():
            return False
        first = simplified(substitute(axis.value, begins))
        if not is_const(first, int(axis.start.value)):
            return False
        for var in free_vars(axis.value):
            if any(uses(_value(block, other), var) for other in spatial):
                return False
    counts = [loop for loop in loops if any(uses(axis.value, loop.var) for axis in rest)]
    return all(type(one.stop) is Const and type(one.start) is Const for one in counts)


def _value(block: Block, var: Var) -> Expr:
    return next(axis.value for axis in block.axes if axis.var is var)


def _same_range(a: For, b: For) -> bool:
    return structural_equal(a.start, b.start) and structural_equal(a.stop, b.stop)


__all__ = ["inits_from_blocks"]
