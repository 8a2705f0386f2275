"""Where the statements of one function stand: what a schedule finds its blocks and loops in, and edits.

Statements are immutable and do not know their parents. A `Tree` keeps a `Place` for every statement, and an edit
rebuilds the statements on the way to the function and nothing else, so that its cost does not grow with what stands
beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room
from tirscript.ir.stmt import Block, For, LaunchThread, Stmt, While

BODIES = ("init", "then", "orelse", "body")


_FIELDS: dict[Any, tuple[str, ...]] = {}


def body_fields(cls: Any) -> tuple[str, ...]:
    """The fields of a class of statements that hold statements, in the order in which they run."""
    found = _FIELDS.get(cls)
    if found is None:
        found = _FIELDS[cls] = tuple(name for name in BODIES if name in getattr(cls, "__struct_fields__", ()))
    return found


class Place:
    """Where a statement stands: the `index`-th of the field `field` of the statement at `parent`.

    The place of the function itself has no parent, and its `stmt` is the function.
    """

    __slots__ = ("children", "field", "index", "parent", "stmt")

    def __init__(self, stmt: Any, parent: Place | None, field: str, index: int) -> None:
        self.stmt = stmt
        self.parent = parent
        self.field = field
        self.index = index
        self.children: dict[str, list[Place]] = {}

    def above(self) -> Iterator[Place]:
        """The places around this one, innermost first, without the function's."""
        place = self.parent
        while place is not None and place.parent is not None:
            yield place
            place = place.parent

    def loops(self) -> list[Place]:
        """The loops between this place and the block around it, outermost first."""
        found: list[Place] = []
        for place in self.above():
            if type(place.stmt) is Block:
                break
            if type(place.stmt) is For:
                found.append(place)
        return found[::-1]

    def in_loop(self, scope: Place) -> bool:
        """Whether a loop is this place, or stands between it and the scope."""
        place: Place | None = self
        while place is not None and place is not scope:
            if type(place.stmt) in (For, While, LaunchThread):
                return True
            place = place.parent
        return False

    def block(self) -> Place | None:
        """The place of the innermost block around this one, None where there is none."""
        return next((place for place in self.above() if type(place.stmt) is Block), None)

    def siblings(self) -> list[Place]:
        """The places of the body that this one stands in, itself among them."""
        assert self.parent is not None
        return self.parent.children[self.field]

    def below(self, cls: type | None = None, *, nested: bool = True) -> Iterator[Place]:
        """The places in this one, in program order, of statements of `cls`; `nested` of False stays out of blocks."""
        stack = [place for name in reversed(body_fields_of(self)) for place in reversed(self.children.get(name, ()))]
        while stack:
            place = stack.pop()
            if cls is None or type(place.stmt) is cls:
                yield place
            if nested or type(place.stmt) is not Block:
                for name in reversed(body_fields_of(place)):
                    stack += reversed(place.children.get(name, ()))

    def contains(self, other: Place) -> bool:
        """Whether `other` is this place or stands in it."""
        return other is self or any(place is self for place in other.above())


def body_fields_of(place: Place) -> tuple[str, ...]:
    return body_fields(type(place.stmt))


class Tree:
    """The places of a function, with its blocks by name and its loops by variable."""

    def __init__(self, func: PrimFunc) -> None:
        self.root = Place(func, None, "", 0)
        self.blocks: dict[str, Place] = {}
        self.loops: dict[Var, Place] = {}
        with recursion_room():
            self._fill(self.root)

    @property
    def func(self) -> PrimFunc:
        """The function as it is now."""
        func: PrimFunc = self.root.stmt
        return func

    def reset(self, func: PrimFunc) -> None:
        """Take another function; all places are made anew."""
        self.__init__(func)  # type: ignore[misc]

    def _fill(self, place: Place) -> None:
        for name in body_fields(type(place.stmt)):
            stmts = getattr(place.stmt, name)
            if stmts:
                place.children[name] = [self._place(stmt, place, name, at) for at, stmt in enumerate(stmts)]

    def _place(self, stmt: Stmt, parent: Place, field: str, index: int) -> Place:
        place = Place(stmt, parent, field, index)
        if type(stmt) is For:
            self.loops[stmt.var] = place
        elif type(stmt) is Block:
            self.blocks[stmt.name] = place
        self._fill(place)
        return place

    def replace(self, place: Place, stmts: Iterable[Stmt]) -> list[Place]:
        """Put statements in the place of one, none to delete it; the places of the new statements.

        Places outside of what was replaced stay valid.
        """
        assert place.parent is not None
        return self.splice(place.parent, place.field, place.index, place.index + 1, stmts)

    def insert(self, place: Place, before: Iterable[Stmt] = (), after: Iterable[Stmt] = ()) -> None:
        """Put statements before and after the one at `place`, which stays valid."""
        assert place.parent is not None
        self.splice(place.parent, place.field, place.index + 1, place.index + 1, after)
        self.splice(place.parent, place.field, place.index, place.index, before)

    def splice(self, parent: Place, field: str, start: int, stop: int, stmts: Iterable[Stmt]) -> list[Place]:
        """Put `stmts` in the place of the statements `start` to `stop` of a body; the places of the new ones."""
        with recursion_room():
            old: list[Place] = parent.children.get(field, [])
            for place in old[start:stop]:
                self._forget(place)
            new = [self._place(stmt, parent, field, at) for at, stmt in enumerate(stmts, start)]
        places = [*old[:start], *new, *old[stop:]]
        for at, place in enumerate(places[start + len(new) :], start + len(new)):
            place.index = at
        parent.children[field] = places
        self._rebuild(parent, field)
        return new

    def update(self, place: Place, stmt: Stmt) -> Place:
        """Put in a statement that differs in its own fields and holds the same statements; its place stays valid."""
        assert place.parent is not None
        same = type(stmt) is type(place.stmt)
        if not same or any(getattr(stmt, f) is not getattr(place.stmt, f) for f in body_fields(type(stmt))):
            return self.replace(place, (stmt,))[0]
        self._forget_name(place)
        place.stmt = stmt
        if type(stmt) is For:
            self.loops[stmt.var] = place
        elif type(stmt) is Block:
            self.blocks[stmt.name] = place
        self._rebuild(place.parent, place.field)
        return place

    def _rebuild(self, place: Place | None, field: str) -> None:
        """Make the statements on the way up again after a body changed."""
        while place is not None:
            children = tuple([child.stmt for child in place.children[field]])
            place.stmt = place.stmt.replace(**{field: children})
            field, place = place.field, place.parent

    def _forget(self, place: Place) -> None:
        self._forget_name(place)
        for children in place.children.values():
            for child in children:
                self._forget(child)

    def _forget_name(self, place: Place) -> None:
        stmt = place.stmt
        if type(stmt) is For:
            if self.loops.get(stmt.var) is place:
                del self.loops[stmt.var]
        elif type(stmt) is Block and self.blocks.get(stmt.name) is place:
            del self.blocks[stmt.name]


__all__ = ["Place", "Tree", "body_fields"]
