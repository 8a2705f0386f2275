"""A constant that is read in pieces becomes a constant for each piece.

before:                                            after:
    W = T.allocate_const(..., "int8", (5, 64))         W_0 = T.allocate_const(..., "int8", (2, 64))
    for t in range(3):                                 W_1 = T.allocate_const(..., "int8", (2, 64))
        for i in range(T.min(2, 5 - t * 2)):           W_2 = T.allocate_const(..., "int8", (1, 64))
            for j in range(64):                        for i, j in T.grid(2, 64):
                B[t * 2 + i] += W[t * 2 + i, j]            B[i] += W_0[i, j]
                                                       for i, j in T.grid(2, 64):
                                                           B[i + 2] += W_1[i, j]
                                                       for j in range(64):
                                                           B[4] += W_2[0, j]

A loop that goes from one piece to the next, as the outer loop of a split does, is written out, where it has at most
`unroll` iterations and each reads at least `least` elements of a constant that no other iteration reads. What is never
read of a constant goes away.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.bounds import linear_bounds
from tirscript.ir.constant import constant, constants_of
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferLoad, Const, Expr, Ramp, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import map_except_buffers, rewrite, walk
from tirscript.ir.stmt import AllocateConst, For, Stmt

from ..access import Access, Accesses, box, constant_extent
from ..lower.unroll_loop import unrolled
from ..pipeline import prim_func_pass
from ..simplify import simplified, simplify

# the least and the greatest index of each dimension, both included
Box = tuple[tuple[int, int], ...]
_MARK = "slice_constants"


@prim_func_pass(requires=("lower_blocks",))
def slice_constants(func: PrimFunc, *, unroll: int = 16, least: int = 16) -> PrimFunc:
    """`W`, read as `W[t * 16 + i, j]`, becomes `W_0`, `W_1`, ... where the loop over t is written out."""
    if not constants_of(func):
        return func
    marked = _mark(func, unroll, least)
    if marked is not func:
        func = simplify(rewrite(marked, {For: lambda loop: _written_out(loop, unroll)}))
    for stmt in constants_of(func):
        func = _sliced(func, stmt)
    return func


# -- loops from piece to piece


def _mark(func: PrimFunc, unroll: int, least: int) -> PrimFunc:
    """The loops that go from one piece of a constant to the next, marked by an annotation."""
    found: set[int] = set()
    seen = Accesses(func.body)
    for stmt in constants_of(func):
        accesses = [access for access in seen.found if access.buffer is stmt.buffer]
        if not accesses or any(access.indices is None for access in accesses):
            continue
        depth = min(len(access.loops) for access in accesses)
        for level in range(depth):
            loop = accesses[0].loops[level]
            if any(access.loops[level] is not loop for access in accesses):
                break
            extent = constant_extent(loop)
            if extent is None or not 2 <= extent <= unroll or leaves_loop(loop.body) or loop.kind == "thread_binding":
                continue
            if all(_apart(access, loop, level, seen, least) for access in accesses):
                found.add(id(loop))
    if not found:
        return func

    def visit(node: Any) -> Any:
        new = map_except_buffers(node, visit)
        if id(node) in found:
            return new.replace(annotations=type(new.annotations)({**new.annotations, _MARK: True}))
        return new

    marked: PrimFunc = func.replace(body=tuple([visit(stmt) for stmt in func.body]))
    return marked


def _apart(access: Access, loop: For, level: int, seen: Accesses, least: int) -> bool:
    """Whether each iteration of the loop reads elements, `least` of them or more, that no other iteration reads."""
    inner = Access(access.buffer, False, access.indices, loops=access.loops[level + 1 :])
    names = frozenset(one.var for one in access.loops[level + 1 :])
    area = box(inner, seen, names)
    if area is None:
        return False
    size, apart = 1, False
    for dim, extent in zip(access.buffer.shape, area, strict=True):
        if extent is None:
            size *= int(dim.value) if type(dim) is Const else 1
            continue
        low, high = extent
        width = linear_bounds(high - low, seen.ranges)[1]
        step = low.terms.get(loop.var, 0)
        apart = apart or (step != 0 and step == high.terms.get(loop.var, 0) and abs(step) > width)
        apart = apart or (step != 0 and abs(step) > width and _follows(extent, loop.var))
        size *= max(1, width + 1)
    return apart and size >= least


def _follows(extent: Any, var: Var) -> bool:
    """Whether the end of a piece is cut off by a minimum, as the last tile's is: its beginning moves with the loop."""
    low, high = extent
    return any(var in set(walk(atom)) for atom in high.terms) and set(low.terms) == {var}


def _written_out(loop: For, limit: int) -> Any:
    if _MARK not in loop.annotations:
        return loop
    return unrolled(loop.replace(kind="unroll", annotations=loop.annotations.without(_MARK)), limit)


# -- pieces


def _sliced(func: PrimFunc, stmt: AllocateConst) -> PrimFunc:
    """The function with one constant in its pieces."""
    buffer, data = stmt.buffer, stmt.data
    shape = buffer.constant_shape()
    if shape is None or not data.resolved or not data.size:
        return func
    seen = Accesses(func.body)
    areas: dict[int, Box] = {}  # by the id of a load
    for access in seen.found:
        if access.buffer is not buffer:
            continue
        area = _constant_box(access, seen, shape)
        if area is None or type(access.node) is not BufferLoad:
            return func
        known = areas.get(id(access.node))
        areas[id(access.node)] = area if known is None else _around(known, area)
    pieces = _disjoint(list(areas.values()))
    if not pieces or (len(pieces) == 1 and pieces[0] == tuple((0, size - 1) for size in shape)):
        return func
    array = data.array.reshape(shape)
    made: list[AllocateConst] = []
    for number, piece in enumerate(pieces):
        part = array[tuple(slice(low, high + 1) for low, high in piece)]
        dims = tuple(Const(high - low + 1, dim.dtype) for (low, high), dim in zip(piece, buffer.shape, strict=True))
        name = buffer.name if len(pieces) == 1 else f"{buffer.name}_{number}"
        made.append(
            stmt.replace(
                buffer=buffer.replace(name=name, shape=dims),
                data=constant(part.copy()),
                trivia=stmt.trivia if not number else None,
            )
        )
    places = {key: _home(area, pieces) for key, area in areas.items()}
    return _Replacing(stmt, made, pieces, places).function(func)


class _Replacing:
    """Puts the pieces of a constant in its place."""

    def __init__(
        self, stmt: AllocateConst, made: list[AllocateConst], pieces: list[Box], places: dict[int, int]
    ) -> None:
        self.stmt, self.made, self.pieces, self.places = stmt, made, pieces, places

    def function(self, func: PrimFunc) -> PrimFunc:
        return func.replace(body=self.body(func.body))

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in stmts:
            if stmt is self.stmt:
                out += self.made
            else:
                out.append(self.visit(stmt))
        return tuple(out)

    def visit(self, node: Any) -> Any:
        if node is self.stmt:
            return tuple(self.made)
        place = self.places.get(id(node)) if type(node) is BufferLoad else None
        if place is not None:
            piece = self.pieces[place]
            indices = [_less(self.visit(index), low) for index, (low, _) in zip(node.indices, piece, strict=True)]
            return node.replace(buffer=self.made[place].buffer, indices=tuple(indices))
        return map_except_buffers(node, self.visit)


def _less(index: Expr, low: int) -> Expr:
    if not low:
        return index
    if type(index) is Ramp:
        return index.replace(base=_less(index.base, low))
    return simplified(index - Const(low, index.dtype))


def _constant_box(access: Access, seen: Accesses, shape: tuple[int, ...]) -> Box | None:
    """What an access reads, in numbers; None where it is opaque."""
    if access.indices is None or any(index.dtype.is_vector and type(index) is not Ramp for index in access.indices):
        return None
    area = box(access, seen)
    if area is None:
        return None
    found = []
    for size, extent in zip(shape, area, strict=True):
        low, high = (0, size - 1)
        if extent is not None:
            low = max(low, linear_bounds(extent[0], seen.ranges)[0])
            high = min(high, linear_bounds(extent[1], seen.ranges)[1])
        if low > high:
            return None
        found.append((low, high))
    return tuple(found)


def _around(a: Box, b: Box) -> Box:
    return tuple((min(p[0], q[0]), max(p[1], q[1])) for p, q in zip(a, b, strict=True))


def _meet(a: Box, b: Box) -> bool:
    return all(p[0] <= q[1] and q[0] <= p[1] for p, q in zip(a, b, strict=True))


def _disjoint(boxes: list[Box]) -> list[Box]:
    """The least boxes around what overlaps, in order."""
    pieces: list[Box] = []
    for one in boxes:
        while True:
            other = next((piece for piece in pieces if _meet(piece, one)), None)
            if other is None:
                break
            pieces.remove(other)
            one = _around(one, other)
        pieces.append(one)
    return sorted(pieces)


def _home(area: Box, pieces: list[Box]) -> int:
    return next(number for number, piece in enumerate(pieces) if _meet(area, piece))


__all__ = ["slice_constants"]
