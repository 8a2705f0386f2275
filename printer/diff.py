"""Two programs' difference as a unified source diff, with their names aligned first."""

from __future__ import annotations

import difflib
from typing import Any

from tirscript.ir.align import pairs
from tirscript.ir.check import public
from tirscript.ir.expr import Var
from tirscript.ir.node import Binder, Node, recursion_room, shape_of
from tirscript.ir.rewrite import definitions, substitute
from tirscript.ir.wellformed.fields import telling_unreadable


@public
def diff(a: Node | tuple[Node, ...], b: Node | tuple[Node, ...], *, context: int = 3, **options: Any) -> str:
    """The unified diff from the source text of `a` to that of `b`; empty where the texts agree.

    What both define at the same place has the name it has in `a`, so that a renamed variable is no difference.
    `context` is how many lines around a difference are shown; `options` are those of `script`.
    """
    from . import script

    with telling_unreadable(a, b), recursion_room():
        aligned = rename(b, counterparts(a, b))
    left, right = script(a, **options), script(aligned, **options)
    if left == right:
        return ""
    names = [getattr(node, "name", "") or type(node).__name__ for node in (a, b)]
    files = [f"a/{names[0]}", f"b/{names[1]}"]
    lines = difflib.unified_diff(left.splitlines(), right.splitlines(), files[0], files[1], lineterm="", n=context)
    return "\n".join(lines) + "\n"


def counterparts(a: Any, b: Any) -> dict[int, str]:
    """For what `b` defines, by id: the name of what stands in its place in `a`.

    Where `b` was made from `a` and still holds variables and buffers of it, they are their own counterparts, and what
    is new has a name of its own.
    """
    defined = {id(binder) for binder in definitions(b)}
    kept = [binder for binder in definitions(a) if id(binder) in defined]
    if any(type(binder) is Var for binder in kept):
        return {id(binder): binder.name for binder in kept}
    matched: dict[int, str] = {}
    seen: set[int] = set()  # binders of `a` that have a counterpart
    _match(a, b, defined, matched, seen)
    return matched


def _match(a: Any, b: Any, defined: set[int], matched: dict[int, str], seen: set[int]) -> None:
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        for i, j in pairs(a, b):
            _match(a[i], b[j], defined, matched, seen)
        return
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a:
            if key in b:
                _match(a[key], b[key], defined, matched, seen)
        return
    if not isinstance(a, Node) or type(a) is not type(b):
        return
    if isinstance(a, Binder):
        if id(b) in matched or id(a) in seen:
            return
        if id(b) in defined:
            matched[id(b)] = a.name  # type: ignore[attr-defined]
            seen.add(id(a))
    shape = shape_of(type(a))
    for x, y in zip(shape.get_children(a), shape.get_children(b), strict=True):
        _match(x, y, defined, matched, seen)


def rename(node: Any, names: dict[int, str]) -> Any:
    """`node` with other name hints for what it defines, given by id."""
    defined = definitions(node)
    changed: dict[Any, Any] = {}
    for binder in defined:
        if type(binder) is Var and names.get(id(binder), binder.name) != binder.name:
            changed[binder] = binder.replace(name=names[id(binder)])
    variables = dict(changed)
    for binder in defined:  # buffers and values of graphs have sizes, which may be renamed too
        name = names.get(id(binder), binder.name)
        if type(binder) is not Var and name != binder.name:
            sized: Any = substitute(binder, variables) if variables else binder
            changed[binder] = sized.replace(name=name)
    return substitute(node, changed)
