"""Each allocation moves to the innermost body that holds all its uses.

before:                                            after:
    B = T.alloc_buffer((4, 8), "float32")              for i in range(4):
    for i in range(4):                                     B = T.alloc_buffer((4, 8), "float32")
        for j in range(8):                                 for j in range(8):
            B[i, j] = A[i, j] + 1.0                            B[i, j] = A[i, j] + 1.0
        for j in range(8):                                 for j in range(8):
            C[i, j] = B[i, j]                                  C[i, j] = B[i, j]

It moves into a loop only where no iteration reads what an earlier one wrote: every read in the loop's body must
provably lie in a box that the body wrote before. So it runs while reductions still have their init, which is such a
write.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from tirscript.ir.arith.bounds import Interval, Ranges
from tirscript.ir.arith.linear import constant_difference
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr, Ramp, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node, nodes_in, shape_of
from tirscript.ir.rewrite import definitions, substitute, uses, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, For, MatchBuffer, Stmt, While

from ..access import (
    Access,
    Accesses,
    Extent,
    box,
    constant_extent,
    contains,
    distance,
    here,
    leaves_early,
    loop_range,
    sum_of,
)
from ..pipeline import prim_func_pass


class _Place(Struct, frozen=True, eq=False):
    """A body: the statement that has it, the name of its field, and the place of that statement."""

    owner: Node
    field: str
    above: _Place | None
    depth: int

    @property
    def body(self) -> tuple[Stmt, ...]:
        return getattr(self.owner, self.field)


@prim_func_pass()
def plan_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """`B = T.alloc_buffer(...); for i in range(4): ...` becomes `for i in range(4): B = T.alloc_buffer(...); ...`."""
    homes: dict[Buffer, tuple[_Place, AllocBuffer]] = {}
    common: dict[Buffer, _Place] = {}
    _survey(func, homes, common)
    moves: dict[int, list[tuple[Buffer, AllocBuffer, str]]] = {}
    gone: set[int] = set()
    for buffer, (home, alloc) in homes.items():
        target = common.get(buffer)
        if target is None:
            continue
        place = _allowed(buffer, home, target)
        if place is not home:
            moves.setdefault(id(place.owner), []).append((buffer, alloc, place.field))
            gone.add(id(alloc))
    if not gone:
        return func
    result: PrimFunc = _rebuild(func, moves, gone)
    return result


def moved_inside(func: PrimFunc, nest: For) -> For:
    """A nest of a function with what is allocated before it for its iterations alone; itself where there is nothing."""
    others = [stmt for stmt in func.body if stmt is not nest]
    allocs = [stmt for stmt in others if type(stmt) is AllocBuffer]
    own = [one for one in allocs if not any(uses(stmt, one.buffer) for stmt in others if stmt is not one)]
    if not own:
        return nest
    moved: PrimFunc = plan_buffer_allocation(func.replace(body=(*own, nest)))
    found = moved.body[-1]
    return found if type(found) is For else nest


def _survey(func: PrimFunc, homes: dict[Buffer, tuple[_Place, AllocBuffer]], common: dict[Buffer, _Place]) -> None:
    """Where each buffer is allocated, and the innermost body around all its uses."""

    def meet(a: _Place, b: _Place) -> _Place:
        while a is not b:
            if a.depth >= b.depth and a.above is not None:
                a = a.above
            elif b.above is not None:
                b = b.above
        return a

    def use(node: Any, place: _Place) -> None:
        if type(node) is Buffer:
            known = common.get(node)
            common[node] = place if known is None else meet(known, place)

    def body(place: _Place) -> None:
        for stmt in place.body:
            if type(stmt) is AllocBuffer:
                homes[stmt.buffer] = (place, stmt)
                for node in walk(tuple(stmt.buffer.shape)):
                    use(node, place)
                continue
            visit(stmt, place)

    def visit(node: Any, place: _Place) -> None:
        plan = shape_of(type(node))
        for (name, many), value in zip(plan.children, plan.get_children(node), strict=True):
            if value is None:
                continue
            if many == 1 and value and isinstance(value[0], Stmt):
                body(_Place(node, name, place, place.depth + 1))
            elif many == 0:
                for child in walk(value):
                    use(child, place)
            elif many == 1:
                for item in value:
                    for child in walk(item):
                        use(child, place)
            else:
                for item in nodes_in(value):
                    for child in walk(item):
                        use(child, place)

    body(_Place(func, "body", None, 0))


# the loops over threads that memory of a scope is not private to
_OUTSIDE = {"global": ("blockIdx", "threadIdx", "vthread"), "shared": ("threadIdx", "vthread"), "local": ()}


def _allowed(buffer: Buffer, home: _Place, target: _Place) -> _Place:
    """The innermost body between `home` and `target` that the allocation may move to."""
    path: list[_Place] = []
    place: _Place | None = target
    while place is not None and place is not home:
        path.append(place)
        place = place.above
    if place is None or not path:
        return home
    path.reverse()
    best, crossed = home, False
    ranges: dict[Var, Interval] = {}
    symbols = set(walk(tuple(buffer.shape), Var))
    if symbols and not symbols.isdisjoint(definitions(tuple(home.body))):
        return home
    for step in path:
        owner = step.owner
        if type(owner) is Block and (step.field == "init" or uses(owner.init or (), buffer)):
            break
        if type(owner) is While:
            crossed = True
        if type(owner) is For:
            threads = _OUTSIDE.get(buffer.scope, ("blockIdx", "threadIdx", "vthread"))
            if owner.kind == "vectorized" or (
                owner.kind == "thread_binding" and (owner.thread or "").startswith(threads)
            ):
                break
            crossed = crossed or owner.kind != "thread_binding"
            around = loop_range(owner, ranges)
            if around is not None:
                ranges[owner.var] = around
        if not crossed or fills_first(step.body, buffer, ranges):
            best = step
            crossed = False
    return best


def fills_first(body: tuple[Stmt, ...], buffer: Buffer, ranges: Ranges | None = None) -> bool:
    """Whether `body` reads of `buffer` only what it wrote before in the same run.

    `ranges` are those of the variables around it.
    """
    inner = frozenset(node for node in definitions(body) if type(node) is Var)
    written: list[tuple[Extent, ...]] = []
    for stmt in body:
        if not uses(stmt, buffer):
            continue
        seen = Accesses((stmt,), known=ranges)
        mine = [access for access in seen.found if access.buffer is buffer]
        local: list[tuple[tuple[For, ...], tuple[Extent, ...]]] = []
        for access in mine:
            if not access.write:
                if _filled(access):
                    continue  # none of it is read through the view
                area = _inside(box(access, seen, inner), buffer)
                if area is None or not (
                    any(contains(known, area) for known in written)
                    or _initialized(access, mine, seen)
                    or _just_written(access, local, seen)
                ):
                    return False
            elif access.certain and access.indices is not None:
                area = box(access, seen, inner)
                if area is not None and not access.init:
                    own = here(access, seen)
                    if own is not None:
                        local.append((access.loops, own))
        for access in mine:
            whole = _covers(access, seen) if access.indices is not None else not access.loops and _filled(access)
            if access.write and access.certain and whole:
                area = box(access, seen, inner)
                if area is not None and (not access.init or _runs_init(access)):
                    _join(written, area)
    return True


def _inside(area: tuple[Extent, ...] | None, buffer: Buffer) -> tuple[Extent, ...] | None:
    """What of a box is in the buffer: a condition keeps the rest from being read."""
    if area is None:
        return None
    found: list[Extent] = []
    for extent, dim in zip(area, buffer.shape, strict=True):
        if extent is None or type(dim) is not Const:
            found.append(extent)
            continue
        low, high = extent
        if low.is_constant and low.constant < 0:
            low = low.shifted(-low.constant)
        if high.is_constant and high.constant >= dim.value:
            high = high.shifted(int(dim.value) - 1 - high.constant)
        found.append((low, high))
    return tuple(found)


def _same(p: Extent, q: Extent) -> bool:
    return contains((p,), (q,)) and contains((q,), (p,))


def _join(written: list[tuple[Extent, ...]], area: tuple[Extent, ...]) -> None:
    """Add a box to what is written: with the one that it continues, in one dimension, it is one box."""
    for at, known in enumerate(written):
        apart = [dim for dim, (p, q) in enumerate(zip(known, area, strict=True)) if not _same(p, q)]
        if len(apart) == 1:
            before, after = known[apart[0]], area[apart[0]]
            if before is not None and after is not None and before[0].dtype is after[0].dtype:
                if distance(after[0], before[1]) == 1:
                    area = (*area[: apart[0]], (before[0], after[1]), *area[apart[0] + 1 :])
                    written[at] = area
                    return
    written.append(area)


def _just_written(read: Access, local: list[tuple[tuple[For, ...], tuple[Extent, ...]]], seen: Accesses) -> bool:
    """Whether the same run of the same loops wrote the very element before."""
    mine = here(read, seen)
    return mine is not None and any(loops == read.loops[: len(loops)] and contains(area, mine) for loops, area in local)


def _initialized(read: Access, accesses: list[Access], seen: Accesses) -> bool:
    """Whether a read in a block is of what the block's init wrote when its reduction began."""
    block = read.block
    if block is None or block.init is None or read.indices is None or block.predicate is not None:
        return False
    for access in accesses:
        if (
            access.init
            and access.block is block
            and access.certain
            and access.indices is not None
            and _runs_init(access)
        ):
            mine, its = here(read, seen), here(access, seen)
            if mine is not None and its is not None and contains(its, mine):
                return True
    return False


def _runs_init(access: Access) -> bool:
    """Whether the init of the access's block runs in the first of the iterations that its reduce axes go through."""
    block = access.block
    if block is None:
        return False
    starts = {loop.var: loop.start for loop in access.loops}
    reduced = [axis for axis in block.axes if axis.kind == "reduce"]
    steps = {node for axis in reduced for node in walk(axis.value) if node in starts}
    for axis in block.axes:
        if axis.kind != "reduce":
            if any(node in steps for node in walk(axis.value)):
                return False  # another element would come up with the reduction under way
        elif constant_difference(substitute(axis.value, starts), axis.start) != 0:
            return False
    return True


def _covers(access: Access, seen: Accesses) -> bool:
    """Whether a store touches every element of its box: each loop moves one index, and the indices leave no gaps."""
    moved: set[Var] = set()
    for index in access.indices or ():
        if index.dtype.is_vector or not index.dtype.is_int:
            return False
        form = sum_of(index, seen)
        moving = []
        for loop in access.loops:
            if loop.var in form.terms:
                if loop.var in moved:
                    return False
                moved.add(loop.var)
                moving.append((abs(form.terms[loop.var]), loop))
        if any(
            type(atom) is not Var and any(loop.var in set(walk(atom)) for loop in access.loops) for atom in form.terms
        ):
            return False
        reach = 1
        for at, (step, loop) in enumerate(sorted(moving, key=lambda pair: pair[0])):
            extent = constant_extent(loop)
            if step > reach or (extent is None and at != len(moving) - 1):
                return False
            reach += step * (max(extent, 1) - 1) if extent is not None else 0
    # a loop that moves no index must run at all for its store to happen
    idle = [loop for loop in access.loops if loop.var not in moved]
    return all((constant_extent(loop) or 0) > 0 for loop in idle)


def _filled(access: Access) -> bool:
    """Whether an access is a view all of whose elements its block stores, and none of which it reads."""
    view, block = access.node, access.block
    shape = view.buffer.constant_shape() if type(view) is MatchBuffer else None
    if type(view) is not MatchBuffer or block is None or shape is None or leaves_early(block.body):
        return False
    stored: set[tuple[int, ...]] = set()

    def only_stores(stmts: tuple[Stmt, ...], loops: dict[Var, range]) -> bool:
        for stmt in stmts:
            if stmt is view or not uses(stmt, view.buffer):
                continue
            if type(stmt) is For and stmt.step is None and type(stmt.start) is type(stmt.stop) is Const:
                if not only_stores(stmt.body, {**loops, stmt.var: range(int(stmt.start.value), int(stmt.stop.value))}):
                    return False
                continue
            if type(stmt) is not BufferStore or stmt.predicate is not None:
                return False
            moved = [index for index in stmt.indices if index in loops]
            if uses(stmt.value, view.buffer) or len(set(moved)) < len(moved):
                return False
            stored.update(itertools.product(*(loops.get(index) or _values(index) for index in stmt.indices)))  # type: ignore[call-overload]
        return True

    return only_stores(block.body, {}) and len(stored) == math.prod(shape)


def _values(index: Expr) -> Sequence[int]:
    """The values of an index that is written as numbers, none for another."""
    if type(index) is Const:
        return (int(index.value),)
    if type(index) is Ramp and type(index.base) is Const and type(index.stride) is Const:
        return [int(index.base.value) + lane * int(index.stride.value) for lane in range(index.dtype.lanes)]
    return ()


def _rebuild(node: Any, moves: dict[int, list[tuple[Buffer, AllocBuffer, str]]], gone: set[int]) -> Any:
    """Statements with the moved allocations taken out and put in before their first use."""
    plan = shape_of(type(node))
    changed: dict[str, Any] = {}
    for (name, many), value in zip(plan.children, plan.get_children(node), strict=True):
        if many != 1 or not value or not isinstance(value[0], Stmt):
            continue
        arriving = [(buffer, alloc) for buffer, alloc, field in moves.get(id(node), ()) if field == name]
        out: list[Stmt] = []
        for stmt in value:
            for buffer, alloc in list(arriving):
                if uses(stmt, buffer) and stmt is not alloc:
                    out.append(alloc)
                    arriving.remove((buffer, alloc))
            if id(stmt) not in gone:
                out.append(_rebuild(stmt, moves, gone))
        if len(out) != len(value) or any(a is not b for a, b in zip(out, value, strict=True)):
            changed[name] = tuple(out)
    return structs.replace(node, **changed) if changed else node
