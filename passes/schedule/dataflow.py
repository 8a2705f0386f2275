"""Who writes a buffer before whom reads it: what moves of blocks ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from tirscript.ir.arith.presburger.memory import Memory, overlap
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, CallFunction, Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Bind,
    Block,
    BufferStore,
    DeclBuffer,
    For,
    MatchBuffer,
    Stmt,
    While,
)

from ..access import Accesses
from ..statements import may_overlap
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


def _root(place: Place) -> Place:
    """The place of the function."""
    while place.parent is not None:
        place = place.parent
    return place


def same_memory(scope: Place, buffer: Buffer) -> Set[Buffer]:
    """The buffers that may be the memory of a buffer: itself, its views, and parameters that may overlap it."""
    root = _root(scope)
    func: PrimFunc = root.stmt
    overlapping = may_overlap(func)
    defined = [place.stmt for place in root.below() if type(place.stmt) in _NAMES]
    if not overlapping and all(type(stmt) in (AllocBuffer, AllocateConst) for stmt in defined):
        return {buffer}
    memory = Memory(not overlapping)
    for param in func.params:
        memory.parameter(param)
    for stmt in defined:
        _NAMES[type(stmt)](memory, stmt)
    own = memory.view(buffer).root
    others = (known for known, view in memory.views.items() if overlap(own, view.root, memory.anywhere))
    return {buffer, *(known for known in others if type(known) is Buffer)}


# what gives memory a name
_NAMES: dict[Any, Any] = {
    AllocBuffer: lambda memory, stmt: memory.allocate(stmt.buffer, 0),
    AllocateConst: lambda memory, stmt: memory.allocate(stmt.buffer, 0),
    MatchBuffer: Memory.match,
    DeclBuffer: Memory.declare,
    Bind: lambda memory, stmt: memory.pointer(stmt.var, stmt.value) if stmt.var.dtype.is_handle else None,
}


def accesses_outside_blocks(scope: Place, buffer: Buffer) -> Place | None:
    """A statement in `scope` that stands in no block of it and touches `buffer`, or a block whose axes or predicate do;
    None where there is none."""
    for place in scope.below(nested=False):
        stmt = place.stmt
        if type(stmt) in (AllocBuffer, AllocateConst) or _counts(stmt):
            continue
        if type(stmt) is MatchBuffer and type(stmt.source) is not BufferRegion:
            continue  # what gives a parameter its shape
        if type(stmt) is DeclBuffer and stmt.buffer is buffer and _is_only_view(_root(scope).stmt, stmt):
            continue
        own: Any = stmt.replace(**dict.fromkeys(body_fields(type(stmt)), ())) if body_fields(type(stmt)) else stmt
        if type(stmt) is Block:
            own = stmt.axes if stmt.predicate is None else (*stmt.axes, stmt.predicate)
        if uses(own, buffer):
            return place
    return None


def stores_outside_blocks(scope: Place, buffer: Buffer) -> Iterator[Place]:
    """The statements in `scope` that stand in no block of it and may write the memory of a buffer."""
    names = same_memory(scope, buffer)
    for place in scope.below(nested=False):
        stmt = place.stmt
        if type(stmt) in (Block, *_NAMES):
            continue
        own: Any = stmt.replace(**dict.fromkeys(body_fields(type(stmt)), ())) if body_fields(type(stmt)) else stmt
        if any(access.write and access.buffer in names for access in Accesses((own,)).found):
            yield place


def check_own_memory(edit: Edit, place: Place, buffers: Sequence[Buffer]) -> None:
    """Refuse where a statement uses the memory of one of its buffers by another name, too."""
    for buffer in buffers:
        for other in same_memory(place, buffer):
            if other is not buffer and uses(place.stmt, other):
                edit.refuse(f"`{other.name}` may be the memory of `{buffer.name}`", place)


def _counts(stmt: Stmt) -> bool:
    """Whether a statement is a loop that itself names nothing but its variable and numbers."""
    if type(stmt) is not For or stmt.step is not None or stmt.annotations:
        return False
    return type(stmt.start) is Const and type(stmt.stop) is Const


def _is_only_view(func: PrimFunc, stmt: DeclBuffer) -> bool:
    """Whether nothing else reaches the memory that a buffer is a view of."""
    source = stmt.data.buffer if type(stmt.data) is BufferData else None
    return source is not None and sum(1 for node in walk(func.body) if node is source) == 1


def writers(scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks of a scope that write the memory of a buffer, in program order."""
    names = same_memory(scope, buffer)
    return [place for place in scope.below(Block, nested=False) if not names.isdisjoint(writes_of(place.stmt))]


def readers(scope: Place, buffer: Buffer) -> list[Place]:
    """The blocks of a scope that read the memory of a buffer, in program order."""
    names = same_memory(scope, buffer)
    return [place for place in scope.below(Block, nested=False) if not names.isdisjoint(reads_of(place.stmt))]


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
    """Whether a buffer's memory is reached by other ways than its own loads and stores: views, addresses, calls."""
    return view_of(func, buffer) is not None


def view_of(func: PrimFunc, buffer: Buffer) -> Node | None:
    """Where a buffer's memory is reached by other ways than its loads and stores; None where it is not."""
    for node in walk(func.body):
        kind = type(node)
        if kind is DeclBuffer and node.buffer is buffer and not _is_only_view(func, node):  # type: ignore[attr-defined,arg-type]
            return node
        if kind is BufferData and node.buffer is buffer:  # type: ignore[attr-defined]
            return node
        if kind is MatchBuffer and type(node.source) is BufferRegion and buffer in (node.buffer, node.source.buffer):  # type: ignore[attr-defined]
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
    if may_overlap(edit.func) and len(same_memory(edit.tree.root, buffer)) > 1:
        edit.refuse(
            f"`{buffer.name}` may overlap other parameters: the function says `noalias` of False",
            block,
        )
    found = view_of(edit.func, buffer)
    if found is not None:
        edit.refuse(
            f"the memory of `{buffer.name}` is reached by a view, an address or a call", (block, ""), (found, "here")
        )


def loads_of(root: Node | tuple[Node, ...], buffer: Buffer) -> list[BufferLoad]:
    """The loads of a buffer in a piece of program."""
    return [node for node in walk(root, BufferLoad) if node.buffer is buffer]


def stores_of(root: Node | tuple[Node, ...], buffer: Buffer) -> list[BufferStore]:
    """The stores to a buffer in a piece of program."""
    return [node for node in walk(root, BufferStore) if node.buffer is buffer]


__all__ = [
    "accesses_outside_blocks",
    "allocation",
    "before",
    "check_not_viewed",
    "check_own_memory",
    "common",
    "is_viewed",
    "left_behind",
    "loads_of",
    "readers",
    "same_memory",
    "scope_of",
    "stores_of",
    "stores_outside_blocks",
    "top",
    "view_of",
    "writers",
]
