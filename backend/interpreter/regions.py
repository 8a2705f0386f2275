"""Buffers made at run time: allocations, views of memory, and regions of other buffers matched to a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Buffer,
    BufferRegion,
    Const,
    DeclBuffer,
    DiagnosticError,
    Expr,
    MatchBuffer,
    Node,
    Var,
    error,
)
from tirscript.ir.words import counted, parenthesized

from .context import Closure, Context
from .errors import Loops, loop_values, malformed, null_pointer, unsupported
from .memory import Pointer, View, allocate, compact_strides, constant_storage

# more memory than this is a mistake of the program, not a wish
MOST_BYTES = 1 << 40


def _ints(ctx: Context, exprs: tuple[Expr, ...]) -> Callable[[list[Any]], tuple[int, ...]]:
    if all(type(expr) is Const for expr in exprs):
        values = tuple([int(expr.value) for expr in exprs])  # type: ignore[attr-defined]
        return lambda f: values
    closures = [ctx.expr(expr) for expr in exprs]
    return lambda f: tuple([closure(f) for closure in closures])


def _strides(ctx: Context, buffer: Buffer) -> Callable[[list[Any]], tuple[int, ...] | None]:
    return (lambda f: None) if buffer.strides is None else _ints(ctx, buffer.strides)


def _offset(ctx: Context, buffer: Buffer) -> Closure:
    return (lambda f: 0) if buffer.elem_offset is None else ctx.expr(buffer.elem_offset)


def _check_kind(buffer: Buffer, node: Node) -> None:
    if buffer.dtype.is_handle or buffer.dtype.scalable:
        raise unsupported(node, f"the interpreter has no memory of {buffer.dtype}")


def compile_alloc(ctx: Context, node: AllocBuffer) -> Closure:
    """New memory each time the statement is executed; nothing in it is written."""
    buffer = node.buffer
    _check_kind(buffer, node)
    shape_of, strides_of = _ints(ctx, buffer.shape), _strides(ctx, buffer)
    offset_of = (
        _offset(ctx, buffer) if buffer.elem_offset is not None and _is_known(ctx, buffer.elem_offset) else (lambda f: 0)
    )
    slot = ctx.define(buffer)
    loops = ctx.loops
    span = node.span or buffer.span

    def run(f: list[Any]) -> None:
        shape, strides, offset = shape_of(f), strides_of(f), offset_of(f)
        count = _count(node, buffer, shape, strides, f, loops) + offset
        try:
            storage = allocate(buffer.dtype, count, buffer.name, span)
        except MemoryError:
            raise unsupported(node, f"there is no memory for `{buffer.name}` of shape {parenthesized(shape)}") from None
        f[slot] = View(Pointer(storage, 0, buffer.dtype), buffer.dtype, shape, strides, offset)

    return run


def compile_constant(ctx: Context, node: AllocateConst) -> Closure:
    """The constant's own memory, which is read-only, under a name."""
    buffer = node.buffer
    _check_kind(buffer, node)
    storage = constant_storage(node.data.array, buffer.dtype, buffer.name, node.span or buffer.span)
    shape = buffer.constant_shape()
    assert shape is not None
    view = View(Pointer(storage, 0, buffer.dtype), buffer.dtype, shape, None)
    slot = ctx.define(buffer)

    def run(f: list[Any]) -> None:
        f[slot] = view

    return run


def _is_known(ctx: Context, expr: Expr) -> bool:
    return type(expr) is not Var or ctx.knows(expr)


def _count(
    node: Node, buffer: Buffer, shape: tuple[int, ...], strides: tuple[int, ...] | None, f: list[Any], loops: Loops
) -> int:
    if any(size < 0 for size in shape):
        what = f"`{buffer.name}` has the shape {parenthesized(shape)}: a dimension is negative"
        raise DiagnosticError([error("T302", what, node.span, notes=loop_values(f, loops))])
    if 0 in shape:
        return 0
    steps = compact_strides(shape) if strides is None else strides
    count = 1 + sum([(size - 1) * step for size, step in zip(shape, steps, strict=True)])
    if count * buffer.dtype.itemsize > MOST_BYTES:
        raise unsupported(node, f"there is no memory for `{buffer.name}` of shape {parenthesized(shape)}")
    return max(count, 1)


def compile_decl(ctx: Context, node: DeclBuffer) -> Closure:
    """A view of memory that exists, of any dtype."""
    buffer = node.buffer
    _check_kind(buffer, node)
    data = ctx.expr(node.data)
    shape_of, strides_of = _ints(ctx, buffer.shape), _strides(ctx, buffer)
    # an offset that is a variable of nobody's is the view's own name for zero
    own = buffer.elem_offset if buffer.elem_offset is not None and not _is_known(ctx, buffer.elem_offset) else None
    own_slot = None if own is None else ctx.define(own)  # type: ignore[arg-type]
    offset_of = (lambda f: 0) if own is not None else _offset(ctx, buffer)
    slot = ctx.define(buffer)

    def run(f: list[Any]) -> None:
        pointer = data(f)
        if pointer is None:
            raise null_pointer(node, f"the address of `{buffer.name}`")
        if own_slot is not None:
            f[own_slot] = 0
        f[slot] = View(pointer, buffer.dtype, shape_of(f), strides_of(f), offset_of(f))

    return run


# -- regions


def compile_region(ctx: Context, region: BufferRegion, count: int, node: Node) -> Callable[[list[Any]], View]:
    """A region as a view of `count` dimensions: those of a single element are dropped, the written ones first."""
    source = region.buffer
    slot = ctx.slot(source, node)
    rank = len(region.ranges)
    if rank != source.ndim:
        raise malformed(
            node, "T111", f"`{source.name}` has {counted(source.ndim, 'dimension')}, but the region has {rank}"
        )
    starts = [ctx.expr(one.start) for one in region.ranges]
    stops = [None if one.stop is None else ctx.expr(one.stop) for one in region.ranges]
    several = tuple([dim for dim in range(rank) if stops[dim] is not None])
    loops = ctx.loops
    if count > rank:
        raise malformed(node, "T207", f"a region of {counted(rank, 'dimension')} cannot be a buffer of {count}")

    def run(f: list[Any]) -> View:
        view = f[slot]
        first = tuple([start(f) for start in starts])
        sizes = [1 if stop is None else stop(f) - start for start, stop in zip(first, stops, strict=True)]
        for dim, (start, size, whole) in enumerate(zip(first, sizes, view.shape, strict=True)):
            if size < 0 or start < 0 or start + size > whole:
                part = f"{start}:{start + size} is not within 0:{whole}, in dimension {dim}"
                what = f"the region of `{source.name}` is out of bounds: {part}"
                raise DiagnosticError([error("T302", what, region.span or node.span, notes=loop_values(f, loops))])
        kept = several
        if len(several) != count:
            ones = [dim for dim in range(rank) if sizes[dim] == 1][: rank - count]
            kept = tuple([dim for dim in range(rank) if dim not in ones])
        if len(kept) != count:
            raise malformed(
                node,
                "T207",
                f"a region of shape {parenthesized(sizes)} cannot be a buffer of {counted(count, 'dimension')}",
            )
        return view.region(first, tuple([sizes[dim] for dim in kept]), kept)

    return run


def compile_match(ctx: Context, node: MatchBuffer) -> Closure:
    """At the head of a function: the handle's array, or memory at its address. In a block: a region under another
    name."""
    _check_kind(node.buffer, node)
    if isinstance(node.source, BufferRegion):
        return _match_region(ctx, node, node.source)
    buffer = node.buffer
    source = ctx.slot(node.source, node)
    shape_of, strides_of = _ints(ctx, buffer.shape), _strides(ctx, buffer)
    offset_of = _offset(ctx, buffer)
    slot = ctx.define(buffer)

    def run(f: list[Any]) -> None:
        given = f[source]
        if type(given) is View:  # bound and checked at the call
            f[slot] = given
            f[source] = given.pointer
            return
        if given is None:
            raise null_pointer(node, f"the address of `{buffer.name}`")
        f[slot] = View(given, buffer.dtype, shape_of(f), strides_of(f), offset_of(f))

    return run


def _match_region(ctx: Context, node: MatchBuffer, region: BufferRegion) -> Closure:
    buffer = node.buffer
    if buffer.dtype is not region.buffer.dtype:
        raise malformed(
            node, "T204", f"`{buffer.name}` is {buffer.dtype}, but `{region.buffer.name}` holds {region.buffer.dtype}"
        )
    view_of = compile_region(ctx, region, buffer.ndim, node)
    own_pointer = type(buffer.elem_offset) is not Var
    bound: list[tuple[Callable[[View], int], int]] = []
    checks: list[tuple[Callable[[View], int], Expr, str]] = []

    def bind(expr: Expr, actual: Callable[[View], int], what: str) -> None:
        if type(expr) is Var and not ctx.knows(expr):
            bound.append((actual, ctx.define(expr)))
        else:
            checks.append((actual, expr, what))

    for dim, expr in enumerate(buffer.shape):
        bind(expr, lambda view, dim=dim: view.shape[dim], f"dimension {dim}")  # type: ignore[misc]
    for dim, expr in enumerate(buffer.strides or ()):
        bind(expr, lambda view, dim=dim: view.element_strides()[dim], f"stride {dim}")  # type: ignore[misc]
    if buffer.elem_offset is not None and not own_pointer:
        bind(buffer.elem_offset, View.start, "the offset")
    tests = [(actual, ctx.expr(expr), what) for actual, expr, what in checks]
    slot = ctx.define(buffer)
    loops = ctx.loops

    def run(f: list[Any]) -> None:
        view = view_of(f)
        for actual, into in bound:
            f[into] = actual(view)
        for actual, expected, what in tests:
            want, have = expected(f), actual(view)
            if want != have:
                skip = what.startswith("stride") and view.shape[int(what[7:])] <= 1
                if not skip:
                    other = f"the region of `{region.buffer.name}` has {have}"
                    message = f"`{buffer.name}` does not match: {what} is {want}, but {other}"
                    raise DiagnosticError([error("T207", message, node.span, notes=loop_values(f, loops))])
        if own_pointer:  # `.data` is then the address of the region's first element
            size = buffer.dtype.element.itemsize
            pointer = Pointer(view.pointer.storage, view.pointer.offset % size + view.offset * size, buffer.dtype)
            view = View(pointer, buffer.dtype, view.shape, view.element_strides())
        f[slot] = view

    return run
