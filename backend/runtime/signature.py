"""How a built function is called, as Python shows it."""

from __future__ import annotations

import inspect

from tirscript.ir import Buffer, MatchBuffer, PrimFunc
from tirscript.ir.graph import GraphFunc


def signature(func: PrimFunc) -> inspect.Signature:
    """The parameters by the names that a call may give them, annotated with the program's types."""
    matched = {stmt.source: stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer}
    parameters = []
    for param in func.params:
        buffer = param if isinstance(param, Buffer) else matched.get(param)
        words = _buffer_words(buffer) if buffer is not None else f"T.{param.dtype}"
        parameters.append(inspect.Parameter(_identifier((buffer or param).name), _POSITION, annotation=_Words(words)))
    returns = None if func.returns is None else _Words(f"T.{func.returns}")
    return inspect.Signature(parameters, return_annotation=returns)


def graph_signature(func: GraphFunc) -> inspect.Signature:
    """The parameters of a graph function, and what it gives, with the program's types."""
    parameters = [
        inspect.Parameter(_identifier(param.name), _POSITION, annotation=_Words(param.type.script()))
        for param in func.params
    ]
    return inspect.Signature(parameters, return_annotation=_Words(func.result.script()))


_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD


class _Words(str):
    """An annotation that shows as it was written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "_"


def _buffer_words(buffer: Buffer) -> str:
    from .arguments import shape_words  # loads numpy

    return f'T.Buffer({shape_words(buffer)}, "{buffer.dtype}")'
