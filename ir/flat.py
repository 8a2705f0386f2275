"""Programs as flat lists of their nodes, which is how they are pickled and deeply copied.

Python's pickle and deepcopy go down from object to object and end at Python's recursion limit: a sum of 500 terms is
500 nodes in one another.
"""

from __future__ import annotations

from typing import Any

from .node import Binder, Node, shape_of
from .rewrite import refuse_too_large

# where a child is: its number, or, of what is not in the list, the node itself; or those of a tuple of children
Link = Any
# a node: its class, its fields in order, and by the place of a field what stands in it where that is in the list
Item = tuple[type, list[Any], list[tuple[int, Link]]]


def flattened(root: Node) -> list[Item]:
    """The nodes of a program, each behind those below it; shared ones stand there once.

    Variables and buffers below the root are left as they are: who copies or pickles several objects keeps them one.
    """
    items: list[Item] = []
    numbers: dict[int, int] = {}
    begun: set[int] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in numbers:
            stack.pop()
            continue
        if id(node) not in begun:
            begun.add(id(node))
            below = [one for one in _below(node) if id(one) not in numbers]
            if any(id(one) in begun for one in below):
                refuse_too_large(root)  # it stands in itself
            stack += reversed(below)
            continue
        stack.pop()
        numbers[id(node)] = len(items)
        items.append(_item(node, numbers))
    return items


def _below(node: Node) -> list[Node]:
    """The children that are put into the list: those in attributes, which are small, stay in these."""
    found: list[Any] = []
    for name, many in shape_of(type(node)).children:
        value = getattr(node, name)
        if many == 1 and type(value) is tuple:
            found += value
        elif many == 0:
            found.append(value)
    return [one for one in found if isinstance(one, Node) and not isinstance(one, Binder)]


def _item(node: Node, numbers: dict[int, int]) -> Item:
    cls = type(node)
    names = cls.__struct_fields__
    values = [getattr(node, name) for name in names]
    links: list[tuple[int, Link]] = []
    for name, many in shape_of(cls).children:
        at = names.index(name)
        value = values[at]
        if many == 0 and id(value) in numbers:
            link: Link = numbers[id(value)]
        elif many == 1 and type(value) is tuple and all(isinstance(one, Node) for one in value):
            link = [numbers.get(id(one), one) for one in value]
        else:
            continue
        values[at] = None
        links.append((at, link))
    return cls, values, links


def restored(items: list[Item]) -> Node:
    """The program of a list of its nodes."""
    made: list[Any] = []
    for cls, values, links in items:
        fields = list(values)
        for at, link in links:
            fields[at] = made[link] if type(link) is int else tuple(made[x] if type(x) is int else x for x in link)
        made.append(cls(**dict(zip(cls.__struct_fields__, fields, strict=True))))  # type: ignore[attr-defined]
    root: Node = made[-1]
    return root
