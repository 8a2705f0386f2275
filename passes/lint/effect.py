"""Statements and comparisons that do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir import BufferLoad, BufferStore, Call, Const, Diagnostic, PrimFunc, walk

from .table import lint_check, warning

_COMPARING = {"less": False, "greater": False, "less_equal": True, "greater_equal": True}


@lint_check("T608")
def without_effect(func: PrimFunc) -> Iterator[Diagnostic]:
    """A store of what is there already, an operand that changes nothing, a comparison of a value with itself."""
    for node in walk(func):
        if isinstance(node, BufferStore):
            value = node.value
            if isinstance(value, BufferLoad) and value.buffer is node.buffer and value.indices == node.indices:
                message = f"`{node.buffer.name}` is given the value that it has"
                yield warning("T608", message, node.span, hint="leave it out")
        elif isinstance(node, Call) and len(node.args) == 2:
            yield from _compared(node)


def _compared(node: Call) -> Iterator[Diagnostic]:
    a, b = node.args
    name = node.op.name
    if name in _COMPARING and a == b and not isinstance(a, Const) and not a.dtype.element.is_float:
        message = f"a value is compared with itself: this is always {_COMPARING[name]}"
        yield warning("T608", message, node.span, hint="compare with another value")
    elif name in ("logical_and", "logical_or", "min", "max", "sub") and a == b and not isinstance(a, Const):
        if name == "sub" and a.dtype.element.is_float:
            return  # nan where the value is
        spelled = node.op.symbol or f"T.{name}"
        yield warning("T608", f"both operands of `{spelled}` are the same", node.span, hint="one of them is enough")
