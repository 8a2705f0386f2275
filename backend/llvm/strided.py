"""Vectors whose lanes lie at a small constant distance in memory, and reversed ones: whole registers and shuffles.

A gather takes time for each lane. Lanes two to four elements apart are picked from as many registers
as their stretch of memory fills. Only memory between the first lane and the last is read, and through masks where lanes
are off; a store writes through masks, and so touches none but its own elements.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tirscript.ir.arith.linear import linear
from tirscript.ir.expr import Broadcast, Call, Const, Expr, Ramp, is_const
from tirscript.ir.op import OPS, const, get_op

from .builder import mangle
from .types import memory_scalar, memory_type, vector

if TYPE_CHECKING:
    from .codegen import Codegen
    from .memory import Access

FARTHEST_LOAD, FARTHEST_STORE = 4, 3  # beyond, a gather or scatter of AVX-512 takes as long


class _Group(Struct, frozen=True):
    """Lanes `first` to `first + width` of an access, which lie in `chunks` registers from the element `low` on."""

    first: int
    width: int
    stride: int

    @property
    def low(self) -> int:
        return min(self.first * self.stride, (self.first + self.width - 1) * self.stride)

    @property
    def span(self) -> int:
        return (self.width - 1) * abs(self.stride) + 1

    @property
    def chunks(self) -> int:
        return -(-self.span // self.width)

    def place(self, lane: int) -> int:
        """How far from `low` a lane of the group lies."""
        return (self.first + lane) * self.stride - self.low


def _groups(g: Codegen, at: Access, farthest: int) -> list[_Group]:
    """The access cut into registers; none where it is of another kind."""
    if at.predicate is not None and not g.state.target.masks(at.dtype.bits):
        return []
    if at.stride is None or at.stride.startswith("%") or at.buffer.dtype.lanes > 1:
        return []
    stride, lanes = int(at.stride), at.lanes
    width = min(lanes, max(1, g.state.target.register_bits // max(8, at.dtype.bits)))
    if stride in (0, 1) or abs(stride) > farthest or width < 4:
        return []
    starts = list(range(0, lanes, width))
    if lanes % width == 1:
        starts[-1] -= 1  # one lane is no vector
    return [_Group(one, next_one - one, stride) for one, next_one in itertools.pairwise([*starts, lanes])]


def shared(g: Codegen, at: Access, there: bool) -> str:
    """The value of a load of the same element in all lanes; where it is not known to be there, some lane asks for it.

    A gather would load it once for each lane.
    """
    scalar, kind, lanes = memory_scalar(at.dtype), memory_type(at.dtype), vector("i1", at.lanes)

    def loaded() -> str:
        return g.b.op(f"load {scalar}, ptr {at.pointer}, align {at.align}")

    mask = "" if at.predicate is None else at.mask()
    if there:
        value = loaded()
    else:
        some = g.b.intrinsic("llvm.vector.reduce.or", [lanes], "i1", [(lanes, mask)])
        value = g.choose(some, scalar, loaded, lambda: "zeroinitializer")
    value = g.b.broadcast(scalar, value, at.lanes)
    return g.b.op(f"select {lanes} {mask}, {kind} {value}, {kind} zeroinitializer") if mask else value


def repeated(g: Codegen, at: Access) -> str | None:
    """The value of a load that several lanes beside each other share, as of `A[ramp // 2]`, whose lanes lie in memory
    as they are repeated; None of others."""
    found = _shared_by(g, at.vector) if at.predicate is None and at.buffer.dtype.lanes == 1 else None
    if found is None or at.place.strides[-1] != "1":
        return None
    before, base, count = found
    step, form = min(count, at.lanes), linear(base)
    if max(count, at.lanes) % step or any(number % step for number in (*form.terms.values(), form.constant)):
        return None
    first = g.b.op(f"add i64 {g.wide(before)}, {g.wide(get_op('floordiv')(base, const(count, base.dtype)))}")
    scalar, width = memory_scalar(at.dtype), at.lanes // step
    address = g.b.op(f"getelementptr inbounds {scalar}, ptr {at.pointer}, i64 {first}")
    value = g.b.op(f"load {vector(scalar, width)}, ptr {address}, align {at.align}")
    if width == 1:
        return g.b.broadcast(scalar, value, at.lanes)
    return _shuffle(g, scalar, width, value, "poison", [lane // step for lane in range(at.lanes)])


def _shared_by(g: Codegen, index: Expr | None) -> tuple[Expr, Expr, int] | None:
    """(a, b, count) of an index `a + (b + lane) // count` of lanes."""
    if type(index) is not Call or len(index.args) != 2:
        return None
    one, other = index.args
    if index.op is OPS["add"]:
        whole, same = (other, one) if type(one) is Broadcast else (one, other)
        found = _shared_by(g, whole) if type(same) is Broadcast and g.ranges.exact(index) else None
        return None if found is None else (get_op("add")(found[0], same.value), *found[1:])  # type: ignore[attr-defined]
    if index.op is not OPS["floordiv"] or type(one) is not Ramp or type(other) is not Broadcast:
        return None
    count = other.value
    if not is_const(one.stride, 1) or type(count) is not Const or count.value < 2 or not g.ranges.exact(one):
        return None
    return const(0, one.base.dtype), one.base, int(count.value)


def load(g: Codegen, at: Access) -> str | None:
    """The value of a load; None where a gather has to do it."""
    groups = _groups(g, at, FARTHEST_LOAD)
    mask = "" if at.predicate is None or not groups else at.mask()
    parts = [(group.width, _picked(g, at, group, mask)) for group in groups]
    scalar = memory_scalar(at.dtype)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [_beside(g, scalar, *pair) for pair in pairs] + (parts[-1:] if len(parts) % 2 else [])
    return parts[0][1] if parts else None


def _beside(g: Codegen, scalar: str, one: tuple[int, str], other: tuple[int, str]) -> tuple[int, str]:
    """The lanes of two vectors, the first of which has no fewer, as those of one, with how many there are."""
    (width, first), (rest, second) = one, other
    if rest < width:
        second = _shuffle(g, scalar, rest, second, "poison", [lane if lane < rest else -1 for lane in range(width)])
    return width + rest, _shuffle(g, scalar, width, first, second, list(range(width + rest)))


def _picked(g: Codegen, at: Access, group: _Group, mask: str) -> str:
    width, scalar = group.width, memory_scalar(at.dtype)
    # the last register ends where the last lane does
    starts = [chunk * width for chunk in range(group.chunks - 1)] + [group.span - width]
    homes = [min(group.place(lane) // width, len(starts) - 1) for lane in range(width)]
    inside = [group.place(lane) - starts[home] for lane, home in enumerate(homes)]
    loaded = []
    for chunk, start in enumerate(starts):
        wanted = [-1] * width
        for lane in range(width):
            if homes[lane] == chunk:
                wanted[inside[lane]] = group.first + lane
        loaded.append(_loaded(g, at, group.low + start, mask, wanted))
    found = loaded[0]
    if len(loaded) == 1:
        return _shuffle(g, scalar, width, found, "poison", inside)
    for chunk in range(1, len(loaded)):
        chosen = [
            width + inside[lane] if homes[lane] == chunk else inside[lane] if chunk == 1 else lane
            for lane in range(width)
        ]
        chosen = [
            -1 if homes[lane] > chunk else index for lane, index in enumerate(chosen)
        ]  # which a later register gives
        found = _shuffle(g, scalar, width, found, loaded[chunk], chosen)
    return found


def _loaded(g: Codegen, at: Access, distance: int, mask: str, wanted: Sequence[int]) -> str:
    """A register from memory: whole where there is no mask, else the elements of the lanes that are on."""
    kind, address = vector(memory_scalar(at.dtype), len(wanted)), _address(g, at, distance)
    if not mask:
        return g.b.op(f"load {kind}, ptr {address}, align {at.align}")
    there = vector("i1", len(wanted))
    args = [
        ("ptr", address),
        ("i32", str(at.align)),
        (there, _of_lanes(g, at, mask, wanted)),
        (kind, "zeroinitializer"),
    ]
    return g.b.intrinsic("llvm.masked.load", [kind, "ptr"], kind, args)


def _of_lanes(g: Codegen, at: Access, mask: str, lanes: Sequence[int]) -> str:
    """The bits of a mask in the order of `lanes`, and 0 where there is none (-1)."""
    kind = vector("i1", at.lanes)
    chosen = ", ".join(f"i32 {at.lanes if lane < 0 else lane}" for lane in lanes)
    return g.b.op(f"shufflevector {kind} {mask}, {kind} zeroinitializer, <{len(lanes)} x i32> <{chosen}>")


def store(g: Codegen, at: Access, value: str) -> bool:
    """Store a vector; False where a scatter has to do it."""
    groups = _groups(g, at, FARTHEST_STORE)
    given = "" if at.predicate is None or not groups else at.mask()
    scalar = memory_scalar(at.dtype)
    for group in groups:
        width = group.width
        for chunk in range(group.chunks):
            chosen = [-1] * width
            for lane in range(width):
                if group.place(lane) // width == chunk:
                    chosen[group.place(lane) % width] = group.first + lane
            part = _shuffle(g, scalar, at.lanes, value, "poison", chosen)
            address, kind = _address(g, at, group.low + chunk * width), vector(scalar, width)
            if -1 not in chosen and not given:
                g.b.do(f"store {kind} {part}, ptr {address}, align {at.align}")
                continue
            mask = f"<{', '.join(f'i1 {str(index >= 0).lower()}' for index in chosen)}>"
            if given:
                mask = _of_lanes(g, at, given, chosen)
            symbol = g.b.module.declare(
                f"llvm.masked.store.{mangle(kind)}.p0", "void", [kind, "ptr", "i32", vector("i1", width)]
            )
            args = [(kind, part), ("ptr", address), ("i32", str(at.align)), (vector("i1", width), mask)]
            g.b.call("void", symbol, args)
    return bool(groups)


def _address(g: Codegen, at: Access, distance: int) -> str:
    if distance == 0:
        return at.pointer
    # lanes that are off may lie outside of the buffer
    inside = " inbounds" if at.predicate is None else ""
    return g.b.op(f"getelementptr{inside} {memory_scalar(at.dtype)}, ptr {at.pointer}, i64 {distance}")


def _shuffle(g: Codegen, scalar: str, width: int, first: str, second: str, chosen: Sequence[int]) -> str:
    kind = vector(scalar, width)
    mask = ", ".join("i32 poison" if index < 0 else f"i32 {index}" for index in chosen)
    return g.b.op(f"shufflevector {kind} {first}, {kind} {second}, <{len(chosen)} x i32> <{mask}>")
