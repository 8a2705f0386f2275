"""Which assigned names are immutable bindings and which are mutable scalars (docs/language.md, "Tensor functions").

One walk over the statements before lowering. An assignment declares a name for the rest of its body; a later one in the
same or a nested body makes the name mutable. Bodies that do not contain each other have names of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tirscript.ir.node import recursion_room


class Names:
    """What the walk found. `mutable` holds the ids of target nodes (`ast.Name`) that declare a mutable scalar;
    `hoisted` maps the id of an `ast.If` to the names to declare before it."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self.mutable: set[int] = set()
        self.hoisted: dict[int, list[str]] = {}
        self._sure: dict[int, list[str]] = {}  # by the id of an `if`: what both its branches assign
        with recursion_room():  # a chain of `elif`s is as deep as it is long
            self._scan(body, [{}])

    def _scan(self, body: list[ast.stmt], scopes: list[dict[str, int]]) -> None:
        last: dict[str, int] = {}  # by name: the last statement of the body that mentions it, found when first asked
        for at, stmt in enumerate(body):
            kind = type(stmt)
            if kind is ast.Assign:
                for target in stmt.targets:  # type: ignore[attr-defined]
                    self._target(target, scopes)
            elif kind is ast.AugAssign:
                self._target(stmt.target, scopes, again=True)  # type: ignore[attr-defined]
            elif kind is ast.AnnAssign:
                self._target(stmt.target, scopes)  # type: ignore[attr-defined]
            elif kind is ast.If:
                if stmt.orelse:  # type: ignore[attr-defined]
                    self._hoist(stmt, scopes, at, body, last)  # type: ignore[arg-type]
                for branch in (stmt.body, stmt.orelse):  # type: ignore[attr-defined]
                    self._scan(branch, [*scopes, {}])
            else:
                inner = getattr(stmt, "body", None)
                if inner:
                    self._scan(inner, [*scopes, {}])

    def _target(self, target: ast.expr, scopes: list[dict[str, int]], again: bool = False) -> None:
        if isinstance(target, ast.Name):
            for scope in reversed(scopes):
                if target.id in scope:
                    self.mutable.add(scope[target.id])
                    return
            if not again:
                scopes[-1][target.id] = id(target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self._target(item, scopes)
        elif isinstance(target, ast.Starred):
            self._target(target.value, scopes)

    def _hoist(
        self, stmt: ast.If, scopes: list[dict[str, int]], at: int, body: list[ast.stmt], last: dict[str, int]
    ) -> None:
        if at + 1 == len(body):
            return  # nothing behind it can use a name
        both = [name for name in self._both(stmt) if not any(name in scope for scope in scopes)]
        if both and not last:
            for place, each in enumerate(body):
                last.update((node.id, place) for node in ast.walk(each) if isinstance(node, ast.Name))
        names = [name for name in dict.fromkeys(both) if last.get(name, -1) > at]
        if names:
            self.hoisted[id(stmt)] = names
            for name in names:
                scopes[-1][name] = -1  # its declaration stands before the `if`

    def _assigned(self, body: list[ast.stmt]) -> list[str]:
        """Names that every run through a body assigns at its own level."""
        found: list[str] = []
        for stmt in body:
            if isinstance(stmt, ast.Assign):
                for target in stmt.targets:
                    found += _names(target)
            elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
                found += _names(stmt.target)
            elif isinstance(stmt, ast.If) and stmt.orelse:
                found += self._both(stmt)
        return found

    def _both(self, stmt: ast.If) -> list[str]:
        """Names that both branches assign, found once; in lists, as generators would recurse on the stack of C."""
        known = self._sure.get(id(stmt))
        if known is None:
            other = set(self._assigned(stmt.orelse))
            known = self._sure[id(stmt)] = [name for name in self._assigned(stmt.body) if name in other]
        return known


def _names(target: ast.expr | None) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _names(item)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def stored_in(body: list[ast.stmt]) -> set[str]:
    """The names that the statements of a body assign, those in their bodies included; not those of `:=`."""
    found: set[str] = set()
    stack = list(body)
    while stack:
        stmt: Any = stack.pop()
        kind = type(stmt)
        if kind is ast.Assign:
            for target in stmt.targets:
                found.update(_names(target))
        elif kind in _ASSIGNING:
            found.update(_names(stmt.target))
        elif kind is ast.With:
            for item in stmt.items:
                found.update(_names(item.optional_vars))
        if kind in _HOLDING:
            stack += stmt.body
            stack += getattr(stmt, "orelse", ())
    return found


_ASSIGNING = (ast.AnnAssign, ast.AugAssign, ast.For)
_HOLDING = (ast.For, ast.If, ast.While, ast.With)


def targets_of(node: ast.stmt) -> list[str]:
    """The names that a statement assigns or defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(item.asname or item.name).partition(".")[0] for item in node.names]
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return [name for target in targets for name in _names(target)]
