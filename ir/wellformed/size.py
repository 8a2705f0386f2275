"""How large a program is: nodes may be shared, and most of what reads a program takes them one by one."""

from __future__ import annotations

from math import inf
from typing import Any

from ..diagnostic import Diagnostic, DiagnosticError, error
from ..func import PrimFunc
from ..graph import GraphFunc
from ..module import Module
from ..node import Node
from ..rewrite import children, is_larger
from ..stmt import Stmt

MOST = 1 << 22
FEW = 1 << 16  # nodes with several below them that are looked at before the parts are counted


def too_large(root: Node) -> Diagnostic | None:
    """The diagnostic of a program that is too large to be read: an expression that Python doubled 100 times is made of
    few nodes, and stands for 2**100; a node that holds itself has no end."""
    sizes = _sizes(root)
    if sizes[id(root)] <= MOST:
        return None
    place = root
    if sizes[id(root)] < inf:
        while inside := [one for one in children(place) if isinstance(one, Stmt) and sizes[id(one)] > MOST]:
            place = inside[0]
    name = f"`{root.name}`" if isinstance(root, (PrimFunc, GraphFunc)) else f"this {type(root).__name__}"
    if sizes[id(root)] == inf:
        return error("T004", f"{name} has no end: a node in it holds itself", root.span)
    message = f"{name} has over {MOST:,} parts, of which those that are used several times count as often"
    return error("T004", message, place.span or root.span, hint="bind what is used several times to a name")


def refuse_too_large(*programs: Any) -> None:
    """Raise DiagnosticError where one of some programs (nodes or tuples of them) is too large: called where much of
    them was read already, or before what takes long for each part."""
    for root in _parts(programs):
        problem = too_large(root)
        if problem is not None:
            raise DiagnosticError([problem])


def refuse_endless(*programs: Any) -> None:
    """The same, where most programs are small: they are counted first, which takes less time."""
    for root in _parts(programs):
        if is_larger(root, MOST):
            refuse_too_large(root)


def _parts(programs: Any) -> list[Node]:
    """The functions and other nodes, each of which may be as large."""
    found: list[Node] = []
    for one in programs:
        if isinstance(one, Module):
            found += one.functions
        elif isinstance(one, tuple):
            found += _parts(one)
        elif isinstance(one, Node):
            found.append(one)
    return found


def _sizes(root: Node) -> dict[int, float]:
    """The number of nodes below and with each node, by its id: shared ones are looked at once and counted each time.
    Infinite where a node holds itself."""
    sizes: dict[int, float] = {}
    begun: set[int] = set()  # nodes whose parts are being looked at
    stack = [root]
    while stack:
        node = stack[-1]
        below = [] if id(node) in sizes else list(children(node))
        missing = [one for one in below if id(one) not in sizes]
        if missing and id(node) not in begun:
            begun.add(id(node))
            for one in missing:
                if id(one) in begun:  # and has no size: it stands around
                    sizes[id(one)] = inf
            stack += missing
            continue
        stack.pop()
        sizes.setdefault(id(node), 1 + sum(sizes[id(one)] for one in below))
    return sizes
