"""Fields that do not hold what their class declares, as in programs whose nodes are made by hand.

Rules read fields as they are declared, and asking before each would take more time than the rules. So it is looked for
where a rule failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..check import check_fields
from ..diagnostic import Diagnostic, DiagnosticError, error
from ..expr import Const
from ..node import Node
from ..rewrite import children
from ..span import Span
from .signature import bad_constant


def wrong_fields(root: Node) -> list[Diagnostic]:
    """A diagnostic for every node with such a field, at the place of the node or of what it stands in."""
    found = []
    seen: set[int] = set()
    stack: list[tuple[Node, Span | None]] = [(root, None)]
    while stack:
        node, place = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node.span, Span):
            place = node.span
        why = _wrong(node)
        if why is not None:
            found.append(error("T210", why, place))
            continue
        stack += [(child, place) for child in reversed(list(children(node)))]
    return found


def _wrong(node: Node) -> str | None:
    try:
        check_fields(node)
    except TypeError as problem:
        return str(problem)
    return bad_constant(node) if type(node) is Const else None


@contextmanager
def telling_wrong_fields(root: Node) -> Iterator[None]:
    """While something is made of a program: where that fails with such fields in it, they are what is told."""
    try:
        yield
    except DiagnosticError:
        raise
    except Exception:
        refuse_wrong_fields(root)
        raise


def refuse_wrong_fields(root: Node) -> None:
    """Raise DiagnosticError where there are such fields: called where the program could not be read, to say why."""
    found = wrong_fields(root)
    if found:
        raise DiagnosticError(found) from None
