"""Fields that do not hold what their class declares, as in programs whose nodes are made by hand.

Rules read fields as they are declared, and asking before each would take more time than the rules. So it is looked for
where a rule failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..check import check_fields
from ..diagnostic import Diagnostic, DiagnosticError, error
from ..expr import Const
from ..node import Node
from ..rewrite import children
from ..span import Span
from .signature import bad_constant
from .size import refuse_too_large


def wrong_fields(*roots: Node) -> list[Diagnostic]:
    """A diagnostic for every node with such a field, at the place of the node or of what it stands in."""
    found = []
    seen: set[int] = set()
    stack: list[tuple[Node, Span | None]] = [(root, None) for root in reversed(roots)]
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
    except Exception as problem:  # raised by what the field holds, when it is asked how long it is
        kind = type(node).__name__
        return f"a field of this {kind} holds an object that raises {type(problem).__name__} when it is looked at"
    return bad_constant(node) if type(node) is Const else None


@contextmanager
def telling_unreadable(*programs: Any) -> Iterator[None]:
    """While something is made of programs: where that fails since one cannot be read, that is what is told."""
    try:
        yield
    except DiagnosticError:
        raise
    except Exception:
        refuse_unreadable(*programs)
        raise


def refuse_unreadable(*programs: Any) -> None:
    """Raise DiagnosticError where there are such fields in programs, which are nodes, bodies or attributes, or where
    they have no end: called where they could not be read, to say why."""
    parts = [one for each in programs for one in (each if isinstance(each, tuple) else (each,))]
    found = wrong_fields(*(one for one in parts if isinstance(one, Node)))
    if found:
        raise DiagnosticError(found) from None
    refuse_too_large(*programs)
