"""Where numbers lose more than is probably meant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tirscript.ir import (
    Block,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Diagnostic,
    DType,
    For,
    PrimFunc,
    Stmt,
    Var,
    While,
    walk,
)

from .table import bodies, lint_check, warning


@lint_check("T607")
def precision(func: PrimFunc) -> Iterator[Diagnostic]:
    """A long sum in 16 bits or less, a value narrowed and widened again, floats compared for equality."""
    yield from _sums(func.body, [], {})
    for node in walk(func):
        if isinstance(node, Call):
            yield from _widened(node)
            yield from _equality(node)


def _sums(body: tuple[Stmt, ...], around: list[tuple[Any, int | None]], axes: dict[Any, Any]) -> Iterator[Diagnostic]:
    """Sums that many iterations add up; `around` are the loops (variable, iterations where known) and `axes` maps the
    variables of blocks to what they are bound to."""
    for stmt in body:
        inner, bound = around, axes
        if isinstance(stmt, For):
            extent = stmt.extent
            inner = [*around, (stmt.var, int(extent.value) if type(extent) is Const and stmt.step is None else None)]
        elif isinstance(stmt, While):
            inner = [*around, (None, None)]
        elif isinstance(stmt, Block):
            bound = {**axes, **{axis.var: axis.value for axis in stmt.axes}}
        elif isinstance(stmt, BufferStore):
            yield from _sum(stmt, around, axes)
        for part in bodies(stmt):
            yield from _sums(part, inner, bound)


def _sum(stmt: BufferStore, around: list[tuple[Any, int | None]], axes: dict[Any, Any]) -> Iterator[Diagnostic]:
    kind: DType = stmt.buffer.dtype.element
    value = stmt.value
    if not isinstance(value, Call) or value.op.name != "add" or not (kind.is_float or kind.is_int):
        return
    if not any(isinstance(a, BufferLoad) and a.buffer is stmt.buffer and a.indices == stmt.indices for a in value.args):
        return
    # a sum of two bytes in a byte wraps soon; halves have 8 to 11 bits, so that some hundred ones are all they count
    if kind.bits > (8 if kind.is_int else 16):
        return
    used: set[int] = set()
    pending = list(stmt.indices)
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Var) and id(node) not in used:
                used.add(id(node))
                if node in axes:
                    pending.append(axes[node])
    count = 1
    for var, extent in around:
        if var is None or id(var) not in used:
            count = count * extent if extent is not None and count else 0
    if count and count < 128:
        return
    words = f"{count} values" if count else "a number of values that is not known"
    hint = f"add up in a variable of {'int32' if kind.is_int else 'float32'} and cast the result"
    yield warning("T607", f"`{stmt.buffer.name}` adds up {words} in {kind}", stmt.span, hint=hint)


def _widened(node: Call) -> Iterator[Diagnostic]:
    inner = node.args[0] if node.op.name == "cast" else None
    if not isinstance(inner, Call) or inner.op.name != "cast":
        return
    first, middle, last = inner.args[0].dtype.element, inner.dtype.element, node.dtype.element
    floats = first.is_float and middle.is_float and last.is_float
    ints = first.is_int and middle.is_int and last.is_int
    if (floats or ints) and middle.bits < first.bits and middle.bits < last.bits:
        message = f"a value of {first} is narrowed to {middle} and widened to {last} again"
        yield warning("T607", message, node.span, hint=f"leave the cast to {middle} out, unless the loss is meant")


def _equality(node: Call) -> Iterator[Diagnostic]:
    if node.op.name not in ("equal", "not_equal") or not node.args[0].dtype.element.is_float:
        return
    a, b = node.args
    if a == b or not (_rounded(a) or _rounded(b)):
        return  # a test for nan, or of values as they were stored
    if any(isinstance(side, Const) and _exact(side.value) for side in (a, b)):
        return
    message = f"floats are compared with `{node.op.symbol}`, which rounding makes uncertain"
    yield warning("T607", message, node.span, hint="compare the difference: `T.abs(a - b) < epsilon`")


def _rounded(side: Any) -> bool:
    """Whether a float is computed here, or a constant that is rounded."""
    if isinstance(side, Const):
        return not _exact(side.value)
    return any(isinstance(part, Call) and part.dtype.element.is_float and part.op.name != "cast" for part in walk(side))


def _exact(value: Any) -> bool:
    """Whether a constant is a number that sums of whole numbers reach, or infinite."""
    return not math.isfinite(value) or value == int(value)
