"""Places to point at, words for nodes, and which attribute values can be written as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ..attributes import attribute_problem
from ..buffer import Buffer
from ..diagnostic import Diagnostic, Label
from ..dtype import DType
from ..expr import Broadcast, Call, Const, Expr, Ramp, Var
from ..node import Attrs, Node
from ..rewrite import children, walk
from ..span import Span
from ..stmt import Stmt
from ..words import words

_PLAIN = (str, int, float, bool, type(None), bytes, DType)


def bad_attrs(attrs: Attrs) -> Iterable[tuple[str, str]]:
    """The names of attributes whose values cannot be represented, and why."""
    for name, value in attrs.items():
        why = unrepresentable(value)
        if type(name) is not str:
            why = f"the name {name!r} is no string"
        if why is not None:
            yield f"`{name}`", why


def bad_function_attrs(attrs: Attrs) -> Iterable[tuple[str, str, str | None]]:
    """The same of the attributes of a function, those with a meaning of their own too; and the way out."""
    for name, why in bad_attrs(attrs):
        yield name, why, None
    for name, value in attrs.items():
        problem = attribute_problem(name, value)
        if problem is not None:
            yield f"`{name}`", *problem


MAX_DEPTH = 200  # of values in values; more than a text may hold


def unrepresentable(value: Any, depth: int = 0) -> str | None:
    if depth > MAX_DEPTH:
        return f"values nested over {MAX_DEPTH} deep, or in themselves, cannot be written as text"
    if type(value) in _PLAIN or isinstance(value, (Node, Struct)):
        return None
    if isinstance(value, (tuple, list)):
        return next((why for item in value if (why := unrepresentable(item, depth + 1)) is not None), None)
    if isinstance(value, dict):
        odd = next((key for key in value if type(key) is not str), None)
        if odd is not None:
            return f"the key {odd!r} is no string"
        return unrepresentable(list(value.values()), depth)
    return f"{words(value)} cannot be written as text"


def pointing(span: Span | None, words: str) -> list[Label]:
    return [Label(span, words)] if span is not None else []


def spot(node: Any, else_: Any) -> Any:
    return node if getattr(node, "span", None) is not None else else_


def extent_of(dim: Expr) -> int | None:
    return int(dim.value) if type(dim) is Const else None  # type: ignore[attr-defined]


def named(node: Any) -> str:
    """A node in words: its text in the source, its name, or its class."""
    if getattr(node, "span", None) is not None and type(node) is not Var:
        return node.span.text  # type: ignore[no-any-return]
    return getattr(node, "name", None) or type(node).__name__


def binding_parts(buffer: Buffer) -> Iterable[Expr]:
    """The expressions that can bind a symbol: alone as a dimension, a stride or the offset."""
    yield from buffer.shape
    yield from buffer.strides or ()
    if buffer.elem_offset is not None:
        yield buffer.elem_offset


def is_undef(expr: Any) -> bool:
    """Whether an index depends on an undefined value in every case."""
    if type(expr) is not Call:
        return isinstance(expr, (Ramp, Broadcast)) and any(map(is_undef, children(expr)))
    if expr.op.name == "undef":
        return True
    return expr.op.name not in ("if_then_else", "Select", "mul", "min", "max") and any(map(is_undef, expr.args))


def place_of(stmt: Any, binder: Any) -> Span | None:
    """The narrowest known place in a statement (its nested statements aside) at which `binder` is used."""
    stack: list[tuple[Any, Span | None]] = [(stmt, stmt.span)]
    while stack:
        node, span = stack.pop()
        if node is binder:
            return narrow(span, binder.name)
        below = (
            [child for child in children(node) if not isinstance(child, Stmt)]
            if node is stmt or type(node) is not Buffer
            else []
        )
        stack += [(child, span if child is binder else child.span or span) for child in reversed(below)]
    return stmt.span  # type: ignore[no-any-return]


def narrow(span: Span | None, name: str) -> Span | None:
    """The first place of the word `name` inside of a span of one line; the whole span where it is not there."""
    if span is None or span.start_line != span.end_line:
        return span
    import re

    text = span.text
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    if match is None:
        return span
    start = span.start_column + len(text[: match.start()].encode())
    return Span(span.source, span.start_line, start, span.start_line, start + len(name.encode()))


def first_place(buffers: Iterable[Buffer], var: Var) -> Span | None:
    """Where a parameter's shape uses a symbol."""
    for buffer in buffers:
        for part in binding_parts(buffer):
            if any(node is var for node in walk(part)):
                return part.span or buffer.span
    return None


def in_order(found: list[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics by place, where all have one in the same source; the same one twice is said once."""
    seen: dict[Any, Diagnostic] = {}
    for item in found:
        seen.setdefault((item.code, item.message, str(item.span)), item)
    unique = list(seen.values())
    spans = [item.span for item in unique]
    if len(unique) < 2 or any(span is None or span.source is not spans[0].source for span in spans):  # type: ignore[union-attr]
        return unique
    return sorted(unique, key=lambda item: (item.span.start_line, item.span.start_column))  # type: ignore[union-attr]
