"""In a debug build: accesses of a view that may leave the memory which it is a view of.

A view declares its own shape, against which its indices are checked; that its memory has so many elements nothing has
promised. Views that are known to fit, as those that lowering makes, cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferData, Const, Expr
from tirscript.ir.stmt import DeclBuffer
from tirscript.passes.layout import flat_size

from .sites import Report
from .state import Limit, Place

if TYPE_CHECKING:
    from .codegen import Codegen
    from .memory import Access


def limit_of(g: Codegen, stmt: DeclBuffer) -> Limit | None:
    """The memory that a view may leave; None where it cannot, or where that is not known."""
    if type(stmt.data) is not BufferData:
        return None
    source = stmt.data.buffer
    there = g.places[source]
    if there.limit is not None:
        return there.limit
    if never_leaves(stmt.buffer, source):
        return None
    return Limit(there.data, _bytes(g, source, there), source)


def never_leaves(view: Buffer, source: Buffer) -> bool:
    """Whether no access of a view is to be compared with the memory of its source: it is known to fit, or the source
    does not begin at its first element."""
    return _fits(view, source) or not _goes_up(source)


def leaves(what: str, owner: Buffer) -> str:
    """The message of an access, `what` in words, that is not within the memory of `owner`."""
    return f"{what} is out of bounds: the memory of `{owner.name}` has no such element"


def _fits(view: Buffer, source: Buffer) -> bool:
    """Whether a view is known to begin where its source does and to have no more bytes."""
    if view.elem_offset is not None or not (_goes_up(view) and _goes_up(source)):
        return False
    part, whole = flat_size(view), flat_size(source)
    if type(part) is Const and type(whole) is Const:
        return bool(part.value * view.dtype.itemsize <= whole.value * source.dtype.itemsize)
    return view.dtype.itemsize <= source.dtype.itemsize and structural_equal(part, whole, map_free_vars=False)


def _goes_up(buffer: Buffer) -> bool:
    """Whether no element of a buffer is before its first."""
    return all(type(stride) is Const and stride.value >= 0 for stride in buffer.strides or ())


def _bytes(g: Codegen, buffer: Buffer, at: Place) -> str:
    """How many bytes there are from a buffer's data to behind its last element; none where it has no elements."""
    b = g.b
    elements = b.op(f"add i64 {at.offset}, 1")
    some = "true"
    for dim, stride in zip(at.dims, at.strides, strict=True):
        reach = b.op(f"mul i64 {b.op(f'sub i64 {dim}, 1')}, {stride}")
        elements = b.op(f"add i64 {elements}, {reach}")
        some = b.op(f"and i1 {some}, {b.op(f'icmp sgt i64 {dim}, 0')}")
    return b.select(some, "i64", b.op(f"mul i64 {elements}, {buffer.dtype.itemsize}"), "0")


def check_limit(access: Access, limit: Limit, what: str, indices: tuple[Expr, ...]) -> None:
    """Report an access, `what` in words, whose first or last lane is not within the memory."""
    g, b = access.g, access.g.b
    first, base = (b.op(f"ptrtoint ptr {one} to i64") for one in (access.pointer, limit.base))
    starts, size = [b.op(f"sub i64 {first}, {base}")], access.buffer.dtype.itemsize
    if access.contiguous:
        size = access.dtype.itemsize
    elif access.stride is None:
        return  # lanes at places of their own
    else:
        reach = b.op(f"mul i64 {access.stride}, {(access.lanes - 1) * size}")
        starts.append(b.op(f"add i64 {starts[0]}, {reach}"))

    def reports() -> list[Report]:
        return [*access.shown(indices, limit.size, None)[:-1], Report("bytes", limit.size, INT64)]

    for start in starts:
        end = b.op(f"add i64 {start}, {size}")
        inside = b.op(f"and i1 {b.op(f'icmp sge i64 {start}, 0')}, {b.op(f'icmp sle i64 {end}, {limit.size}')}")
        g.check(inside, "bounds", leaves(what, limit.owner), reports, buffer=access.buffer)
