"""How large a function is: the nodes of a program may be shared, and most of what reads it takes them one by one."""

from __future__ import annotations

from ..diagnostic import Diagnostic, error
from ..func import PrimFunc
from ..node import Node
from ..rewrite import children
from ..stmt import Stmt

MOST = 1 << 22
FEW = 1 << 16  # nodes with several below them that are looked at before the parts are counted


def too_large(func: PrimFunc) -> Diagnostic | None:
    """The diagnostic of a function that is too large to be read: an expression that Python doubled 100 times is made of
    few nodes, and stands for 2**100."""
    sizes = _sizes(func)
    if sizes[id(func)] <= MOST:
        return None
    place: Node = func
    while inside := [one for one in children(place) if isinstance(one, Stmt) and sizes[id(one)] > MOST]:
        place = inside[0]
    message = f"`{func.name}` has over {MOST:,} parts, of which those that are used several times count as often"
    return error("T004", message, place.span or func.span, hint="bind what is used several times to a name")


def _sizes(root: Node) -> dict[int, int]:
    """The number of nodes below and with each node, by its id: shared ones are looked at once and counted each time."""
    sizes: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        below = [] if id(node) in sizes else list(children(node))
        missing = [one for one in below if id(one) not in sizes]
        if missing:
            stack += missing
            continue
        stack.pop()
        sizes.setdefault(id(node), 1 + sum(sizes[id(one)] for one in below))
    return sizes
