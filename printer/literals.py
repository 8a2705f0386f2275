"""How strings, numbers, dtypes and plain attribute values are spelled."""

from __future__ import annotations

import math
import re
from typing import Any

from tirscript.ir.dtype import BOOL, INT32, VOID, DType
from tirscript.ir.expr import Const, round_float

_PLAIN = re.compile(r"[ !#-\[\]-~]*")  # printable ASCII without double quotes and backslashes


def quote(text: str) -> str:
    """A string literal with the quotes that `ruff format` would choose."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    mark = "'" if text.count('"') > text.count("'") else '"'
    return mark + "".join(_escape(char, mark) for char in text) + mark


def _escape(char: str, mark: str) -> str:
    if char == mark or char == "\\":
        return "\\" + char
    return char if char.isprintable() else repr(char)[1:-1]


# per dtype, value -> text; zeros and nans are not in it
_FLOATS: dict[DType, dict[float, str]] = {}


def float_text(value: float, kind: DType) -> str | None:
    """The shortest decimal that rounds to `value` in `kind`; None where no literal says it (nan, infinities)."""
    known = _FLOATS.get(kind)
    if known is None:
        known = _FLOATS[kind] = {}
    text = known.get(value)
    if text is not None and value:
        return text
    if value != value or value in (math.inf, -math.inf):
        return None
    text = decimal(value)
    if value and kind.bits != 64:
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if round_float(short, kind) == value and not (kind.bits == 8 and _beyond(short, value, kind)):
                text = decimal(short)
                break
    if len(known) > 1 << 14:
        known.clear()
    if value:
        known[value] = text
    return text


def _beyond(short: float, value: float, kind: DType) -> bool:
    """Whether a decimal lies beyond the greatest number of its dtype, `value`: TVM refuses such literals of 8 bits."""
    return abs(short) > abs(value) and not math.isfinite(round_float(value * 2, kind))


def decimal(value: float) -> str:
    """The shortest decimal of a float64."""
    return repr(value).replace("e+", "e")  # as ruff writes it


def bare(node: Const) -> str | None:
    """A constant as a Python literal, for places that give it its dtype; None where there is no such literal."""
    value = node.value
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return float_text(value, node.dtype)
    return str(value)


def explicit(node: Const) -> str:
    """A constant that says its dtype, `T.float32(0.5)`."""
    value, kind = node.value, node.dtype
    if type(value) is float:
        text = float_text(value, kind)
        if text is None:
            sign = "-" if math.copysign(1.0, value) < 0 else ""
            text = f'"{sign}{"nan" if value != value else "inf"}"'
    else:
        text = str(value)
    return f"T.{kind.name}({text})"


def literal(node: Const, kind: DType) -> str:
    """A constant stored into a place of dtype `kind`."""
    text = bare(node) if node.dtype is kind else None
    return explicit(node) if text is None else text


def alone(node: Const) -> str:
    """A constant where nothing else gives it a dtype: int32 and bool are what a bare literal is."""
    kind = node.dtype
    if kind is INT32 or kind is BOOL:
        return str(node.value)
    return explicit(node)


def dtype_name(kind: DType) -> str:
    """A dtype as an argument: `"float32"`, or `T.handle("float32")` for a typed pointer."""
    return f'"{kind.name}"' if kind.pointee is None else dtype_annotation(kind)


def dtype_annotation(kind: DType) -> str:
    """A dtype as an annotation: `T.float32`, `T.handle("float32", "shared")`."""
    if kind.pointee is None:
        return f"T.{kind.name}"
    if kind.pointee is VOID:
        return f"T.handle(storage_scope={quote(kind.scope)})"
    scope = f", {quote(kind.scope)}" if kind.scope != "global" else ""
    return f"T.handle({dtype_name(kind.pointee)}{scope})"


def plain(value: Any) -> str | None:
    """A plain Python attribute value as a literal; None where it is no such value."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, float):
        return f'float("{value!r}")' if value - value != 0 else decimal(value)
    return None
