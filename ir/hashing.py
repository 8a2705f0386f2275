"""Hashes of programs that agree with their equality (equal.py), exact or up to the renaming of what they define."""

from __future__ import annotations

from functools import cache
from typing import Any

from .equal import defined_by, telling_unreadable
from .node import Node, shape_of
from .rewrite import MANY, refuse_too_large

DEEP = 4  # levels of nodes that a hash looks at, so that it is quick for what dictionaries are asked


def exact_hash(node: Node) -> int:
    """A hash that agrees with `exactly_equal`; it looks at the upper levels only."""
    return _upper_hash(node, DEEP)


def _upper_hash(node: Any, depth: int) -> int:
    cls: Any = type(node)
    binder, scalars, get, _ = _hash_plan(cls)
    if binder:
        return id(node)
    parts: list[Any] = [cls]
    if scalars is not None:
        parts.append(scalars(node))
    if get is not None and depth:
        for child in get(node):
            if isinstance(child, Node):
                parts.append(_upper_hash(child, depth - 1))
            elif type(child) is tuple:
                parts += [_upper_hash(one, depth - 1) if isinstance(one, Node) else None for one in child]
    return hash(tuple(parts))


@telling_unreadable
def structural_hash(node: Any) -> int:
    """A hash that agrees with `structural_equal`: the same for programs that differ in names only."""
    return hash(tuple(_tokens(node, alpha=True)))


def _tokens(root: Any, *, alpha: bool) -> list[Any]:
    """What counts in a program, flat: two programs have the same tokens where they are equal."""
    out: list[Any] = []
    stack: list[Any] = [root]
    numbers: dict[int, int | None] = {}  # of what is defined, in the order of first meeting
    count, most = 0, MANY
    while stack:
        node = stack.pop()
        cls: Any = type(node)
        if not isinstance(node, Node):
            if isinstance(node, (tuple, list)):
                out.append(len(node))
                stack.extend(reversed(node))
            elif isinstance(node, dict):
                names = sorted(node, key=str)
                out += names
                stack += [node[name] for name in names]
            else:
                out.append(_plain_token(node))
            continue
        binder, scalars, get, defines = _hash_plan(cls)
        if len(out) > most:
            refuse_too_large(root)
            most *= 4
        out.append(cls)
        if binder:
            number = numbers.get(id(node), 0)
            if number == 0 or not alpha:  # free: only itself
                out.append(node)
                continue
            if number is not None:
                out.append(number)
                continue
            count += 1
            numbers[id(node)] = count
        elif alpha and defines:
            for defined in defined_by(node):
                numbers.setdefault(id(defined), None)
        if scalars is not None:
            out.append(scalars(node))
        if get is not None:
            stack.extend(reversed(get(node)))
    return out


@cache
def _hash_plan(cls: Any) -> tuple[bool, Any, Any, bool]:
    shape = shape_of(cls)
    scalars = getattr(cls, "scalar_key", None) or shape.get_scalars
    children = shape.get_children if shape.children else None
    return shape.binder, scalars if shape.scalars else None, children, bool(cls.defines)


def _plain_token(value: Any) -> Any:
    if value != value:
        return "nan"
    try:
        hash(value)
    except TypeError:
        return type(value)
    return value


__all__ = ["exact_hash", "structural_hash"]
