"""Who writes a buffer before whom reads it: what moves of blocks ask."""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, CallFunction, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block, BufferStore, DeclBuffer, For, MatchBuffer, While

from .blocks import reads_of, writes_of
from .edit import Edit
from .tree import Place, body_fields


def scope_of(edit: Edit, block: Place) -> Place:
    """The block around a block, or the function."""
    return block.block() or edit.tree.root


def top(scope: Place, place: Place) -> Place:
    """The statement of the body of `scope` that holds `place`."""
    while place.parent is not scope:
        assert place.parent is not None
        place = place.parent
    return place


def allocation(edit: Edit, buffer: Buffer) -> Place | None:
    """The place where a buffer is allocated, None for a parameter or a view."""
    return next((p for p in edit.tree.root.below(AllocBuffer) if p.stmt.buffer is buffer), None)


def accesses_outside_blocks(scope: Place, buffer: Buffer) -> Place | None:
    """A statement in `scope` that stands in no block of it and touches `buffer`, or a block whose axes or predicate do;
    None where there is none."""
    for place in scope.below(nested=False):
        stmt = place.stmt
        if type(stmt) in (AllocBuffer, AllocateConst):
            continue
        if type(stmt) is MatchBuffer and type(stmt.source) is not BufferRegion:
            continue  # what gives a parameter its shape
        if type(stmt) is DeclBuffer and stmt.buffer is buffer and _is_only_view(scope, stmt):
            continue
        own: Any = stmt.replace(**dict.fromkeys(body_fields(type(stmt)), ())) if body_fields(type(stmt)) else stmt
        if type(stmt) is Block:
            own = stmt.axes if stmt.predicate is None else (*stmt.axes, stmt.predicate)
        if uses(own, buffer):
            return place
    return None


def _is_only_view(scope: Place, stmt: DeclBuffer) -> bool:
    """Whether nothing else reaches the memory that a buffer is a view of."""
    while scope.parent is not None:
        scope = scope.parent
    source = stmt.data.buffer if type(stmt.data) is BufferData else None
    return source is not None and sum(1 for node in walk(scope.stmt.body) if node is source) == 1


def writers(scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks of a scope that write a buffer, in program order."""
    return [place for place in scope.below(Block, nested=False) if buffer in writes_of(place.stmt)]


def readers(scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks of a scope that read a buffer, in program order."""
    return [place for place in scope.below(Block, nested=False) if buffer in reads_of(place.stmt)]


def before(first: Place, second: Place) -> bool:
    """Whether `first` stands before `second` in the text of the program, and neither holds the other."""
    path, other = _path(first), _path(second)
    return path < other and other[: len(path)] != path


def _path(place: Place) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while place.parent is not None:
        order = body_fields(type(place.parent.stmt)).index(place.field)
        found.append((order, place.index))
        place = place.parent
    return found[::-1]


def common(first: Place, second: Place) -> Place:
    """The innermost place that holds both."""
    above = {id(place) for place in first.above()}
    for place in second.above():
        if id(place) in above:
            return place
    root = first
    while root.parent is not None:
        root = root.parent
    return root


def left_behind(block: Place, other: Place, target: Place) -> bool:
    """Whether a block that moves to `target` leaves a loop in which another one runs behind it, and before it again."""
    shared = common(block, other)
    loops = (place for place in (shared, *shared.above()) if type(place.stmt) in (For, While))
    return any(not place.contains(target) for place in loops)


def is_viewed(func: PrimFunc, buffer: Buffer) -> bool:
    """Whether a buffer's memory is reached by other ways than loads and stores: views, regions, addresses, calls."""
    return view_of(func, buffer) is not None


def view_of(func: PrimFunc, buffer: Buffer) -> Node | None:
    """Where a buffer's memory is reached by other ways than loads and stores; None where it is not."""
    for node in walk(func.body):
        kind = type(node)
        if kind is BufferData and node.buffer is buffer:  # type: ignore[attr-defined]
            return node
        if kind is MatchBuffer and type(node.source) is BufferRegion and node.source.buffer is buffer:  # type: ignore[attr-defined]
            return node
        if kind is DeclBuffer and any(n is buffer for n in walk(node.data)):  # type: ignore[attr-defined]
            return node
        if kind is CallFunction:
            for arg in node.args:  # type: ignore[attr-defined]
                if arg is buffer or (type(arg) is BufferRegion and arg.buffer is buffer):
                    return node
    return None


def check_not_viewed(edit: Edit, block: Place, buffer: Buffer) -> None:
    """Refuse a buffer whose memory is reached by other ways than loads and stores."""
    found = view_of(edit.func, buffer)
    if found is not None:
        edit.refuse(
            f"the memory of `{buffer.name}` is reached by a view, an address or a call", (block, ""), (found, "here")
        )


def loads_of(root: object, buffer: Buffer) -> list[BufferLoad]:
    """The loads of a buffer in a piece of program."""
    return [node for node in walk(root) if type(node) is BufferLoad and node.buffer is buffer]  # type: ignore[arg-type]


def same_indices(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two accesses are of the same element, as they are written."""
    return len(a) == len(b) and all(structural_equal(one, other, map_free_vars=False) for one, other in zip(a, b))


def stores_of(root: object, buffer: Buffer) -> list[BufferStore]:
    """The stores to a buffer in a piece of program."""
    return [node for node in walk(root) if type(node) is BufferStore and node.buffer is buffer]  # type: ignore[arg-type]


__all__ = [
    "accesses_outside_blocks",
    "allocation",
    "before",
    "check_not_viewed",
    "common",
    "is_viewed",
    "left_behind",
    "loads_of",
    "readers",
    "same_indices",
    "scope_of",
    "stores_of",
    "top",
    "view_of",
    "writers",
]
