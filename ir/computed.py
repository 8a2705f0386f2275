"""Element types that programs may hold and that are not computed (dtype.KEPT): what is run holds none."""

from __future__ import annotations

from typing import Any

from .diagnostic import Diagnostic, DiagnosticError, error
from .dtype import KEPT, DType, any_kept
from .node import Node
from .rewrite import walk
from .span import Span


def kept_dtype(node: Node) -> DType | None:
    """The element type of a node, or of what it points to, where that is one that is not computed."""
    kind: Any = getattr(node, "dtype", None)
    if not isinstance(kind, DType):
        return None
    kind = kind if kind.pointee is None else kind.pointee
    return kind if kind.is_kept else None


def not_computed(kind: DType, code: str, place: Span | None = None) -> Diagnostic:
    """The diagnostic about values of an element type that is kept."""
    name = kind.element.name
    message = f"values of {name} are kept and printed, and not computed"
    hint = "compute in another type, such as int8 or float8_e4m3fn"
    return error(code, message, place, notes=(f"it is {KEPT[name]}",), hint=hint)


def require_computed(program: Node, code: str) -> None:
    """Raise DiagnosticError `code` where a program holds values of an element type that is not computed, once for each
    type."""
    if not any_kept():
        return
    found: dict[str, Any] = {}
    place = None  # types have no place of their own: they stand behind what has them
    for node in walk(program):
        place = place if node.span is None else node.span
        kind = kept_dtype(node)
        if kind is not None and kind.element.name not in found:
            found[kind.element.name] = not_computed(kind, code, place)
    if found:
        raise DiagnosticError(found.values())
