"""The slices of a constant that a loop reads one after the other are kept compressed, each by itself.

before:                                            after:
    W = T.allocate_const(..., "int8", (20, 64))        W_packed = T.allocate_const(..., "uint8", (293,))
    for t in range(3):                                 W_offsets = T.allocate_const([0, 123, 232, 293], "int64", (4,))
        for i in range(T.min(8, 20 - t * 8)):          for t in range(3):
            for j in range(64):                            W = T.alloc_buffer((8, 64), "int8")
                B[t * 8 + i] += W[t * 8 + i, j]            W_bytes = T.decl_buffer((512,), "uint8", data=W.data)
                                                           M.unpack(W_packed[W_offsets[t] : W_offsets[t + 1]], W_bytes)
                                                           for i in range(T.min(8, 20 - t * 8)):
                                                               for j in range(64):
                                                                   B[t * 8 + i] += W[i, j]

Only one slice takes memory at a time, and the loop stays a loop: `slice_constants` and `compress_constants` write it
out, which is for few slices. The table tells where each begins and ends. A last slice that is smaller is filled up with
zeros, which nothing reads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.arith.bounds import linear_bounds
from tirscript.ir.arith.linear import expression
from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant, constants_of
from tirscript.ir.dtype import INT64, VOID, dtype
from tirscript.ir.effects import leaves_loop
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, CallFunction, Const, Expr, Ramp, Range, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs
from tirscript.ir.op import cast
from tirscript.ir.rewrite import map_except_buffers
from tirscript.ir.stmt import AllocateConst, AllocBuffer, DeclBuffer, Evaluate, For, Stmt

from ..access import Access, Accesses, box, constant_extent
from ..pipeline import module_pass
from ..simplify import simplified
from .codecs import CODECS, Codec, get_codec, give_back, packed_by
from .compress_constants import Packing

if TYPE_CHECKING:
    import numpy as np

_UINT8 = dtype("uint8")


class Slices(Struct, frozen=True, eq=False):
    """How a loop reads a constant: in iteration t the box of the extents `shape` at `origins[t]`, of which it reads at
    most up to `ends[t]`; `origin` is where the box begins as expressions of the loop's variable."""

    loop: For
    shape: tuple[int, ...]
    origin: tuple[Expr, ...]
    origins: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[int, ...], ...]

    def cut(self, array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """The slices of an array as bytes, each filled up with zeros."""
        import numpy as np

        found = []
        for low, high in zip(self.origins, self.ends, strict=True):
            part = array[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))]
            whole = np.zeros(self.shape, array.dtype)
            whole[tuple(slice(0, size) for size in part.shape)] = part
            found.append(whole.reshape(-1).view(np.uint8))
        return found


@module_pass(requires=("lower_blocks",))
def compress_slices(module: Module, *, codec: str = "best", least: int = 256, ratio: float = 0.9) -> Module:
    """`W[t * 8 + i]` in a loop over t becomes `W[i]`, unpacked from `W_packed[W_offsets[t] : W_offsets[t + 1]]`.

    `codec` is one of the table, or "best" of all. What stays: constants of fewer than `least` bytes, those that would
    take more than `ratio` of what they take now, and those that are read otherwise than in slices apart.
    """
    codecs = list(CODECS.values()) if codec == "best" else [get_codec(codec)]
    packing = Packing(module, codecs)
    functions = []
    for func in module.functions:
        if isinstance(func, PrimFunc):
            for stmt in constants_of(func):
                func = _compressed(func, stmt, packing, least, ratio)
        functions.append(func)
    return module.replace(functions=(*packing.added, *functions)) if packing.used else module


def _compressed(func: PrimFunc, stmt: AllocateConst, packing: Packing, least: int, ratio: float) -> PrimFunc:
    import numpy as np

    data, buffer = stmt.data, stmt.buffer
    shape = buffer.constant_shape()
    if shape is None or not data.resolved or data.nbytes < max(1, least) or "codec" in stmt.annotations:
        return func
    slices = _slices(func, stmt, shape)
    if slices is None:
        return func
    cut = slices.cut(data.array.reshape(shape))
    best = _packed(cut, packing.codecs, data.dtype.itemsize)
    if best is None:
        return func
    codec, parts = best
    offsets = np.cumsum([0, *(part.nbytes for part in parts)], dtype=np.int64)
    if offsets[-1] + offsets.nbytes > ratio * data.nbytes:
        return func
    give_back(codec, zip(parts, cut, strict=True))
    size = int(offsets[-1])
    notes = {"codec": codec.name, "bytes": data.nbytes, "slices": len(parts), "table": offsets.nbytes}
    packed = AllocateConst(
        Buffer(f"{buffer.name}_packed", (const(size),), _UINT8, span=buffer.span),
        constant(np.concatenate(parts)),
        Attrs({**stmt.annotations, **notes}),
        span=stmt.span,
        trivia=stmt.trivia,
    )
    table = AllocateConst(
        Buffer(f"{buffer.name}_offsets", (const(len(offsets)),), INT64, span=buffer.span), constant(offsets)
    )
    unpack = packing.unpacking(codec)
    return _Rewriting(stmt, slices, packed, table, unpack).function(func)


def _packed(slices: list[Any], codecs: list[Codec], itemsize: int) -> tuple[Codec, list[Any]] | None:
    """The slices as the codec packs them that makes least of all together."""
    best: tuple[int, Codec, list[Any]] | None = None
    for codec in codecs:
        parts = [part for one in slices if (part := packed_by(codec, one, itemsize)) is not None]
        size = sum(part.nbytes for part in parts)
        if len(parts) == len(slices) and (best is None or size < best[0]):
            best = size, codec, parts
    return None if best is None else (best[1], best[2])


# -- what a loop reads


def _slices(func: PrimFunc, stmt: AllocateConst, shape: tuple[int, ...]) -> Slices | None:
    """The slices of a constant, one for each iteration of an outermost loop; None where it is read otherwise."""
    seen = Accesses(func.body)
    accesses = [access for access in seen.found if access.buffer is stmt.buffer]
    if not accesses or not all(_is_load(access) for access in accesses):
        return None
    loop = accesses[0].loops[0]
    extent = constant_extent(loop)
    inside = any(one is loop for one in func.body) and all(access.loops[0] is loop for access in accesses)
    starts = type(loop.start) is Const
    if not inside or extent is None or extent < 2 or not starts or loop.kind == "thread_binding":
        return None
    if leaves_loop(loop.body) or stmt not in func.body:
        return None
    boxes = [_in_iteration(access, seen) for access in accesses]
    first = int(loop.start.value) if type(loop.start) is Const else 0
    dims = []
    for axis, size in enumerate(shape):
        extents = [None if one is None else one[axis] for one in boxes]
        found = _dimension(extents, loop.var, range(first, first + extent), seen, size)
        if found is None:
            return None
        dims.append(found)
    origins = tuple(zip(*(lows for lows, _, _ in dims), strict=True))
    ends = tuple(zip(*(highs for _, highs, _ in dims), strict=True))
    apart = any(_apart(lows, highs) for lows, highs, _ in dims)
    if not apart or any(a > b for low, high in zip(origins, ends, strict=True) for a, b in zip(low, high, strict=True)):
        return None
    sizes = tuple(max(b - a + 1 for a, b in zip(lows, highs, strict=True)) for lows, highs, _ in dims)
    return Slices(loop, sizes, tuple(origin for _, _, origin in dims), origins, ends)


def _is_load(access: Access) -> bool:
    plain = type(access.node) is BufferLoad and access.indices is not None and bool(access.loops)
    return plain and all(not one.dtype.is_vector or type(one) is Ramp for one in access.indices or ())


def _in_iteration(access: Access, seen: Accesses) -> Any:
    """What an access touches in one iteration of the outermost loop around it, in words of its variable."""
    inner = Access(access.buffer, False, access.indices, loops=access.loops[1:])
    return box(inner, seen, frozenset(one.var for one in access.loops[1:]))


def _dimension(
    extents: list[Any], var: Var, iterations: range, seen: Accesses, size: int
) -> tuple[tuple[int, ...], tuple[int, ...], Expr] | None:
    """The first and the last index along one dimension, for each iteration; and where a slice begins, as an expression.

    None where that is no multiple of the loop's variable with a constant beside it.
    """
    if any(one is None for one in extents):
        return (0,) * len(iterations), (size - 1,) * len(iterations), const(0)
    steps = {low.terms.get(var, 0) if set(low.terms) <= {var} else None for low, _ in extents}
    step = steps.pop()
    if steps or step is None:
        return None
    form = min((low for low, _ in extents), key=lambda low: int(low.constant))
    lows, highs = [], []
    for value in iterations:
        known = {**seen.ranges, var: (value, value)}
        lows.append(step * value + form.constant)
        highs.append(min(size - 1, max(linear_bounds(high, known)[1] for _, high in extents)))
    if min(lows) < 0 or max(lows) >= size:
        return None
    return tuple(lows), tuple(highs), expression(form)


def _apart(lows: tuple[int, ...], highs: tuple[int, ...]) -> bool:
    """Whether no two iterations read the same indices."""
    order = pairwise(sorted(zip(lows, highs, strict=True)))
    return all(before[1] < behind[0] for before, behind in order)


# -- rewriting


class _Rewriting:
    """Puts a packed constant and its table in the place of a constant, and the unpacking into the loop."""

    def __init__(
        self, stmt: AllocateConst, slices: Slices, packed: AllocateConst, table: AllocateConst, unpack: str
    ) -> None:
        self.stmt, self.slices, self.packed, self.table, self.unpack = stmt, slices, packed, table, unpack
        buffer = stmt.buffer
        scope = buffer.scope if buffer.scope in ("global", "local") else "global"
        shape = tuple(const(size, dim.dtype) for size, dim in zip(slices.shape, buffer.shape, strict=True))
        self.tile = buffer.replace(shape=shape, scope=scope)

    def function(self, func: PrimFunc) -> PrimFunc:
        body: list[Stmt] = []
        for one in func.body:
            if one is self.stmt:
                body += (self.packed, self.table)
            elif one is self.slices.loop:
                loop: For = self.slices.loop
                inner = tuple(self.visit(stmt) for stmt in loop.body)
                body.append(loop.replace(body=(*self.head(), *inner)))
            else:
                body.append(one)
        return func.replace(body=tuple(body))

    def head(self) -> tuple[Stmt, ...]:
        loop, span = self.slices.loop, self.stmt.span
        at = simplified(loop.var - loop.start)
        offsets = self.table.buffer
        part = Range(BufferLoad(offsets, (at,)), BufferLoad(offsets, (simplified(at + const(1, at.dtype)),)))
        size = self.stmt.data.dtype.itemsize
        for one in self.slices.shape:
            size *= one
        whole = Buffer(f"{self.stmt.buffer.name}_bytes", (const(size),), _UINT8, scope=self.tile.scope)
        call = CallFunction(self.unpack, (BufferRegion(self.packed.buffer, (part,)), whole), VOID, span=span)
        return (
            AllocBuffer(self.tile, span=span),
            DeclBuffer(whole, BufferData(self.tile), span=span),
            Evaluate(call, span=span),
        )

    def visit(self, node: Any) -> Any:
        if type(node) is BufferLoad and node.buffer is self.stmt.buffer:
            moved = zip(node.indices, self.slices.origin, strict=True)
            indices = tuple(_less(self.visit(index), origin) for index, origin in moved)
            return node.replace(buffer=self.tile, indices=indices)
        return map_except_buffers(node, self.visit)


def _less(index: Expr, origin: Expr) -> Expr:
    if type(index) is Ramp:
        return index.replace(base=_less(index.base, origin))
    return simplified(index - cast(origin, index.dtype))


__all__ = ["Slices", "compress_slices"]
