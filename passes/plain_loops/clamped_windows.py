"""Windows whose places are brought back into an image at its border go over a copy with a border.

before:                                            after:
    for i, k in T.grid(8, 3):                          A_border = T.alloc_buffer((10,), "float32")
        with T.block("m"):                             for a0 in range(1):
            vi, vk = T.axis.remap("SR", [i, k])            ... A_border[v0] = A[T.max(v0 - 1, 0)]
            ...                                        for a0 in range(8):
            m[vi] = m[vi] + A[                             ... A_border[v0 + 1] = A[v0]
                T.min(T.max(vi + vk - 1, 0), 7)        for a0 in range(1):
            ]                                              ... A_border[v0 + 9] = A[T.min(v0 + 8, 7)]
                                                       for i, k in T.grid(8, 3):
                                                           ... m[vi] = m[vi] + A_border[vi + vk]

So does `(vi + vk - 1) % 8`, of images that go on at their other side. What the window reads are the same numbers in the
same order. Between its borders the copy lies along memory, as the window does in it. Where only other places than the
last are brought back, vectors read memory as it lies anyway.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tirscript.ir.arith.linear import expression
from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, const
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, Stmt

from ..simplify import simplified
from ..statements import may_overlap
from .bordered_windows import READ, are_exact, block_of, ranges_of, with_block
from .places import Place, place_of
from .plain import allocated_before

_MAX, _MIN, _MOD = (OPS[name] for name in ("max", "min", "floormod"))


def with_clamped(func: PrimFunc) -> PrimFunc:
    """The function with copies for windows that are brought back at the border; itself where there are none."""
    if may_overlap(func) or not any(type(node) is Call and node.op in (_MAX, _MIN, _MOD) for node in walk(func.body)):
        return func
    own = {*func.param_buffers, *(stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer)}
    body: list[Stmt] = []
    for stmt in func.body:
        body += _bordered(stmt, own)
    return allocated_before(func, body)


def _bordered(stmt: Stmt, own: set[Buffer]) -> list[Stmt]:
    """A nest behind a copy of what it reads with a border; the statement itself where it is no such nest."""
    found = block_of(stmt, {})
    if found is None or not any(axis.kind == "reduce" for axis in found[0].axes):
        return [stmt]
    block, store = found
    loads = list(walk(store.value, BufferLoad))
    for load in loads:
        places = [place_of(index) for index in load.indices]
        # places in other dimensions are brought back once for a whole vector
        if not places or not places[-1].brings or load.predicate is not None:
            continue
        if load.buffer not in own or load.buffer is store.buffer or load.buffer.dtype.bits < 8:
            return [stmt]
        if not all(structural_equal(load, one) for one in loads if one.buffer is load.buffer):
            return [stmt]
        made = _copied(stmt, block, store, load, places)
        if made is not None:
            return made
    return [stmt]


def _copied(
    stmt: Stmt, block: Block, store: BufferStore, load: BufferLoad, places: Sequence[Place]
) -> list[Stmt] | None:
    """A nest behind a copy of what one of its loads reads; None where it is no window, or reads too little twice."""
    inner = tuple([place.inner for place in places])
    ranges = ranges_of(block, load.replace(indices=inner))
    if ranges is None or not are_exact(block, {}, inner):
        return None
    lows, sizes, forms = ranges
    if not all(size.is_constant for size in sizes):
        return None
    shape = [size.constant for size in sizes]
    extents = [int(axis.extent.value) for axis in block.axes if type(axis.extent) is Const]
    if READ * math.prod(shape) > math.prod(extents):
        return None
    copy = Buffer(
        f"{load.buffer.name}_border", tuple(const(n, i.dtype) for n, i in zip(shape, inner, strict=True)), load.dtype
    )
    parts = [_parts(place, low, size) for place, low, size in zip(places, lows, shape, strict=True)]
    # rows are found one by one anyway
    parts[:-1] = [[(0, size, None)] for size in shape[:-1]]
    nests: list[Stmt] = []
    for chosen in itertools.product(*parts):
        nests.append(_nest(copy, load, places, lows, chosen, len(nests), store))
    there = BufferLoad(copy, tuple([expression(form.shifted(-low)) for form, low in zip(forms, lows, strict=True)]))

    def visit(node: BufferLoad) -> BufferLoad:
        return there if node.buffer is load.buffer else node

    new = block.replace(body=(store.replace(value=rewrite(store.value, {BufferLoad: visit})),), reads=None)
    return [AllocBuffer(copy), *nests, with_block(stmt, new)]


def _parts(place: Place, low: int, size: int) -> list[tuple[int, int, bool | None]]:
    """The numbers from `low` on, so many, in parts that begin somewhere and are so many: those that stay what they are
    (True), and those on both sides of these."""
    first = 0 if place.low is None else min(max(place.low - low, 0), size)
    last = size if place.high is None else min(max(place.high + 1 - low, first), size)
    found = [(0, first, False), (first, last - first, True), (last, size - last, False)]
    return [part for part in found if part[1] > 0]


def _nest(
    copy: Buffer,
    load: BufferLoad,
    places: Sequence[Place],
    lows: Sequence[int],
    parts: Sequence[tuple[int, int, bool | None]],
    number: int,
    store: BufferStore,
) -> For:
    """The loops that make a part of the copy."""
    axes: list[Axis] = []
    to: list[Expr] = []
    read: list[Expr] = []
    for at, (place, low, (start, count, stays)) in enumerate(zip(places, lows, parts, strict=True)):
        kind = place.inner.dtype
        var, loop = Var(f"v{at}", kind), Var(f"a{at}", kind)
        axes.append(Axis(var, "spatial", const(0, kind), const(count, kind), loop))
        to.append(simplified(var + const(start, kind)))
        index = simplified(var + const(start + low, kind))
        read.append(index if stays else place.of(index))
    value = BufferLoad(load.buffer, tuple(read))
    name = f"{copy.name}_{number}" if number else copy.name
    made: Stmt = Block(name, tuple(axes), (BufferStore(copy, tuple(to), value, span=store.span),))
    for axis in reversed(axes):
        assert type(axis.value) is Var
        made = For(axis.value, axis.start, axis.stop, (made,))
    assert type(made) is For
    return made


__all__ = ["with_clamped"]
