"""Loads and stores of buffer elements, checked: bounds, what was written, undefined values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir import Buffer, BufferLoad, BufferStore, Call, Expr, Node, Var
from tirscript.ir.words import counted

from .context import Closure, Context
from .errors import UNSET, malformed, never_written, out_of_bounds
from .memory import ANY_VALUE, DERIVED, EMPTY, WRITTEN, Guarded, Pointer, View
from .undef import UNDEF

__all__ = ["compile_address", "compile_load", "compile_store"]


def _check(node: BufferLoad | BufferStore) -> None:
    if len(node.indices) != node.buffer.ndim:
        buffer = node.buffer
        raise malformed(
            node,
            "T111",
            f"`{buffer.name}` has {counted(buffer.ndim, 'dimension')}, but is indexed with {len(node.indices)}",
        )
    if any(index.dtype.is_vector for index in node.indices[:-1]):
        raise malformed(node, "T106", "only the last index may be a vector")


def _is_vector(node: BufferLoad | BufferStore) -> bool:
    return (
        node.buffer.dtype.is_vector
        or node.predicate is not None
        or (bool(node.indices) and node.indices[-1].dtype.is_vector)
    )


def _slots(ctx: Context, indices: tuple[Expr, ...]) -> list[int] | None:
    """The slots of indices that are all plain variables."""
    if all(type(index) is Var for index in indices):
        return [ctx.slot(index, index) for index in indices]  # type: ignore[arg-type]
    return None


class _Failures:
    """How the accesses of one node fail."""

    def __init__(self, ctx: Context, node: BufferLoad | BufferStore, verb: str) -> None:
        self.node: Node = node
        self.buffer = node.buffer
        self.loops = ctx.loops
        self.verb = verb

    def outside(self, f: list[Any], view: View, *indices: Any) -> Exception:
        return out_of_bounds(self.node, self.buffer, view, indices, f, self.loops, self.verb)

    def unready(self, f: list[Any], state: int, *indices: Any) -> Any:
        """What an element gives that holds no plain value."""
        if state == EMPTY:
            raise never_written(self.node, self.buffer, indices, f, self.loops)
        return UNDEF


# -- loads


def compile_load(ctx: Context, node: BufferLoad) -> Closure:
    """The closure of a load."""
    buffer = node.buffer
    _check(node)
    slot = ctx.slot(buffer, node)
    if buffer in ctx.registers:
        return _load_register(ctx, node, slot)
    if _is_vector(node):
        return _load_lanes(ctx, node, slot)
    fail = _Failures(ctx, node, "a read")
    plain = _slots(ctx, node.indices)
    if len(node.indices) == 1:
        return _load_1(fail, slot, ctx.expr(node.indices[0])) if plain is None else _load_1_plain(fail, slot, *plain)
    if len(node.indices) == 2:
        return _load_2(fail, slot, *map(ctx.expr, node.indices)) if plain is None else _load_2_plain(fail, slot, *plain)
    return _load_n(fail, slot, [ctx.expr(index) for index in node.indices])


def _load_register(ctx: Context, node: BufferLoad, slot: int) -> Closure:
    loops = ctx.loops

    def run(f: list[Any]) -> Any:
        value = f[slot]
        if value is UNSET:
            raise never_written(node, node.buffer, (), f, loops)
        return value

    return run


def _load_1(fail: _Failures, slot: int, index: Closure) -> Closure:
    def run(f: list[Any]) -> Any:
        view = f[slot]
        i = index(f)
        if 0 <= i < view.n0:
            at = view.offset + i * view.s0
            state = view.state
            try:
                if state is None or state[at] == 1:
                    return view.mem[at]
                return fail.unready(f, state[at], i)
            except IndexError:
                pass
        raise fail.outside(f, view, i)

    return run


def _load_1_plain(fail: _Failures, slot: int, first: int) -> Closure:
    def run(f: list[Any]) -> Any:
        view = f[slot]
        i = f[first]
        if 0 <= i < view.n0:
            at = view.offset + i * view.s0
            state = view.state
            try:
                if state is None or state[at] == 1:
                    return view.mem[at]
                return fail.unready(f, state[at], i)
            except IndexError:
                pass
        raise fail.outside(f, view, i)

    return run


def _load_2(fail: _Failures, slot: int, row: Closure, column: Closure) -> Closure:
    def run(f: list[Any]) -> Any:
        view = f[slot]
        i, j = row(f), column(f)
        if 0 <= i < view.n0 and 0 <= j < view.n1:
            at = view.offset + i * view.s0 + j * view.s1
            state = view.state
            try:
                if state is None or state[at] == 1:
                    return view.mem[at]
                return fail.unready(f, state[at], i, j)
            except IndexError:
                pass
        raise fail.outside(f, view, i, j)

    return run


def _load_2_plain(fail: _Failures, slot: int, first: int, second: int) -> Closure:
    def run(f: list[Any]) -> Any:
        view = f[slot]
        i, j = f[first], f[second]
        if 0 <= i < view.n0 and 0 <= j < view.n1:
            at = view.offset + i * view.s0 + j * view.s1
            state = view.state
            try:
                if state is None or state[at] == 1:
                    return view.mem[at]
                return fail.unready(f, state[at], i, j)
            except IndexError:
                pass
        raise fail.outside(f, view, i, j)

    return run


def _place(fail: _Failures, indices: list[Closure]) -> Callable[[list[Any], View], int]:
    """The lane at which an element begins; bounds checked."""

    def run(f: list[Any], view: View) -> int:
        at = view.offset
        for index, size, stride in zip(indices, view.shape, view.strides, strict=True):
            i = index(f)
            if not 0 <= i < size:
                raise fail.outside(f, view, *[index(f) for index in indices])
            at += i * stride
        return at

    return run


def _load_n(fail: _Failures, slot: int, indices: list[Closure]) -> Closure:
    place = _place(fail, indices)

    def run(f: list[Any]) -> Any:
        view = f[slot]
        at = place(f, view)
        state = view.state
        try:
            if state is None or state[at] == 1:
                return view.mem[at]
        except IndexError:
            raise fail.outside(f, view, *[index(f) for index in indices]) from None
        return fail.unready(f, state[at], *[index(f) for index in indices])

    return run


def _lanes(
    ctx: Context, fail: _Failures, node: BufferLoad | BufferStore
) -> Callable[[list[Any], View, Any], list[Any]]:
    """The places of all lanes, with their indices: [(lane in memory, indices)], None where the predicate is false."""
    outer = [ctx.expr(index) for index in node.indices[:-1]]
    last = ctx.expr(node.indices[-1]) if node.indices else None
    wide = bool(node.indices) and node.indices[-1].dtype.is_vector
    element = node.buffer.dtype.lanes
    runs_on = wide and node.buffer.strides is None

    def run(f: list[Any], view: View, mask: Any) -> list[Any]:
        values = [index(f) for index in outer]
        base = view.offset
        ends: tuple[Any, ...] = () if last is None else last(f) if wide else (last(f),)
        active = mask is None or True in mask
        for i, size, stride in zip(values, view.shape, view.strides, strict=False):
            if not 0 <= i < size and active:
                raise fail.outside(f, view, *values, ends[0])
            base += i * stride
        if last is None:
            return [(base + lane, ()) for lane in range(element)]
        size, stride = view.shape[-1], view.strides[-1]
        places: list[Any] = []
        for number, i in enumerate(ends):
            if mask is not None and not mask[number * element if len(mask) > len(ends) else number]:
                places += [None] * element
                continue
            at = base + i * stride
            if not 0 <= i < size and not (runs_on and i >= 0 and _in_next_rows(view, at)):
                raise fail.outside(f, view, *values, i)
            indices = (*values, i)
            places += [(at + lane, indices) for lane in range(element)]
        return places

    return run


def _in_next_rows(view: View, at: int) -> bool:
    """Whether a lane behind the end of its row is an element of a later one: vectors run on through rows that follow
    each other without gaps, as TVM's tensor intrinsics have it."""
    size = 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if stride != size and extent != 1:
            return False
        size *= extent
    return at < view.offset + size


def _predicate(ctx: Context, node: BufferLoad | BufferStore) -> Closure | None:
    if node.predicate is None:
        return None
    value = ctx.expr(node.predicate)
    if node.predicate.dtype.is_vector:
        return value
    return lambda f: (value(f),)


def _load_lanes(ctx: Context, node: BufferLoad, slot: int) -> Closure:
    fail = _Failures(ctx, node, "a read")
    lanes = _lanes(ctx, fail, node)
    predicate = _predicate(ctx, node)
    scalar = not node.dtype.is_vector

    def run(f: list[Any]) -> Any:
        view = f[slot]
        mem, state = view.mem, view.state
        out = []
        for place in lanes(f, view, None if predicate is None else predicate(f)):
            if place is None:
                out.append(UNDEF)  # a lane that is switched off may be anything
                continue
            at, indices = place
            try:
                if state is None or state[at] == 1:
                    out.append(mem[at])
                else:
                    out.append(fail.unready(f, state[at], *indices))
            except IndexError:
                raise fail.outside(f, view, *indices) from None
        return out[0] if scalar else tuple(out)

    return run


# -- stores


def compile_store(ctx: Context, node: BufferStore) -> Closure:
    """The closure of a store; the value is computed before the indices, as Python does."""
    from tirscript.ir.expr import access_dtype

    _check(node)
    buffer = node.buffer
    want = access_dtype(buffer, node.indices)
    have = node.value.dtype
    if have is not want and not (have.is_handle and want.is_handle):
        raise malformed(node, "T204", f"`{buffer.name}` holds {want}, but {have} is stored")
    slot = ctx.slot(buffer, node)
    value = ctx.expr(node.value)
    if buffer in ctx.registers:
        return _store_register(slot, value)
    fail = _Failures(ctx, node, "a write")
    if _is_vector(node) or ctx.undef:
        return _store_lanes(ctx, node, slot, value, fail)
    plain = _slots(ctx, node.indices)
    if len(node.indices) == 1:
        return (
            _store_1(fail, slot, value, ctx.expr(node.indices[0]))
            if plain is None
            else _store_1_plain(fail, slot, value, *plain)
        )
    if len(node.indices) == 2:
        return (
            _store_2(fail, slot, value, *map(ctx.expr, node.indices))
            if plain is None
            else _store_2_plain(fail, slot, value, *plain)
        )
    return _store_n(fail, slot, value, [ctx.expr(index) for index in node.indices])


def _store_register(slot: int, value: Closure) -> Closure:
    def run(f: list[Any]) -> None:
        f[slot] = value(f)

    return run


def _store_1(fail: _Failures, slot: int, value: Closure, index: Closure) -> Closure:
    def run(f: list[Any]) -> None:
        stored = value(f)
        view = f[slot]
        i = index(f)
        if 0 <= i < view.n0:
            at = view.offset + i * view.s0
            try:
                view.mem[at] = stored
            except IndexError:
                raise fail.outside(f, view, i) from None
            if view.state is not None:
                view.state[at] = 1
            return
        raise fail.outside(f, view, i)

    return run


def _store_1_plain(fail: _Failures, slot: int, value: Closure, first: int) -> Closure:
    def run(f: list[Any]) -> None:
        view = f[slot]
        i = f[first]
        stored = value(f)
        if 0 <= i < view.n0:
            at = view.offset + i * view.s0
            try:
                view.mem[at] = stored
            except IndexError:
                raise fail.outside(f, view, i) from None
            if view.state is not None:
                view.state[at] = 1
            return
        raise fail.outside(f, view, i)

    return run


def _store_2(fail: _Failures, slot: int, value: Closure, row: Closure, column: Closure) -> Closure:
    def run(f: list[Any]) -> None:
        stored = value(f)
        view = f[slot]
        i, j = row(f), column(f)
        if 0 <= i < view.n0 and 0 <= j < view.n1:
            at = view.offset + i * view.s0 + j * view.s1
            try:
                view.mem[at] = stored
            except IndexError:
                raise fail.outside(f, view, i, j) from None
            if view.state is not None:
                view.state[at] = 1
            return
        raise fail.outside(f, view, i, j)

    return run


def _store_2_plain(fail: _Failures, slot: int, value: Closure, first: int, second: int) -> Closure:
    def run(f: list[Any]) -> None:
        view = f[slot]
        i, j = f[first], f[second]
        stored = value(f)
        if 0 <= i < view.n0 and 0 <= j < view.n1:
            at = view.offset + i * view.s0 + j * view.s1
            try:
                view.mem[at] = stored
            except IndexError:
                raise fail.outside(f, view, i, j) from None
            if view.state is not None:
                view.state[at] = 1
            return
        raise fail.outside(f, view, i, j)

    return run


def _store_n(fail: _Failures, slot: int, value: Closure, indices: list[Closure]) -> Closure:
    place = _place(fail, indices)

    def run(f: list[Any]) -> None:
        stored = value(f)
        view = f[slot]
        at = place(f, view)
        try:
            view.mem[at] = stored
        except IndexError:
            raise fail.outside(f, view, *[index(f) for index in indices]) from None
        if view.state is not None:
            view.state[at] = 1

    return run


def _store_lanes(ctx: Context, node: BufferStore, slot: int, value: Closure, fail: _Failures) -> Closure:
    lanes = _lanes(ctx, fail, node)
    predicate = _predicate(ctx, node)
    scalar = not node.value.dtype.is_vector
    literal = type(node.value) is Call and node.value.op.name == "undef"
    mark = ANY_VALUE if literal else DERIVED

    def run(f: list[Any]) -> None:
        stored = value(f)
        view = f[slot]
        mem, state = view.mem, view.state
        values = (stored,) if scalar else stored
        for one, place in zip(values, lanes(f, view, None if predicate is None else predicate(f)), strict=True):
            if place is None:
                continue
            at, indices = place
            try:
                if one is UNDEF:
                    mem[at]  # storing any value stores nothing, but the element must be there
                    state[at] = mark
                    if mark == DERIVED:
                        view.pointer.storage.blame[byte_of(view, at)] = node
                    continue
                mem[at] = one
            except IndexError:
                raise fail.outside(f, view, *indices) from None
            if state is not None:
                state[at] = WRITTEN

    return run


def byte_of(view: View, at: int) -> int:
    """The byte of its storage at which a lane of a view begins."""
    size = view.kind.element.itemsize
    return view.pointer.offset % size + at * size


# -- addresses


def compile_address(ctx: Context, node: Any) -> Closure:
    """The address of an element."""
    if type(node) is not BufferLoad:
        raise malformed(node, "T104", "`T.address_of` takes an element of a buffer")
    _check(node)
    buffer: Buffer = node.buffer
    slot = ctx.slot(buffer, node)
    fail = _Failures(ctx, node, "the address")
    kind = buffer.dtype
    indices = [_first_lane(ctx, index) for index in node.indices]
    place = _place(fail, indices)

    def run(f: list[Any]) -> Pointer:
        view = f[slot]
        at = place(f, view)
        if type(view.mem) is Guarded and not 0 <= at < view.mem.size:
            raise fail.outside(f, view, *[index(f) for index in indices])
        return Pointer(view.pointer.storage, byte_of(view, at), kind)

    return run


def _first_lane(ctx: Context, index: Expr) -> Closure:
    value = ctx.expr(index)
    return (lambda f: value(f)[0]) if index.dtype.is_vector else value
