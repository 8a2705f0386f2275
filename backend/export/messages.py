"""The words of failing checks as native code: a function of the tensor language that writes them with snprintf."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import PurePath

from msgspec import Struct

from tirscript.ir import (
    Buffer,
    BufferLoad,
    Call,
    DeclBuffer,
    DType,
    Evaluate,
    Expr,
    If,
    PrimFunc,
    Return,
    Stmt,
    StringImm,
    Var,
)
from tirscript.ir.dtype import HANDLE, INT32, INT64, dtype
from tirscript.ir.expr import const
from tirscript.ir.op import OPS, get_op

from ..llvm.sites import VALUES, Site
from .entries import ENTRY
from .plan import ARGUMENT, ASSERTION, BOUNDS, DEPTH, DIVISION, MEMORY

MESSAGE = "c message"
TEXT_BYTES = 1024
_CODES = {
    "assert": ASSERTION,
    "return": ASSERTION,
    "bounds": BOUNDS,
    "division": DIVISION,
    "step": DIVISION,
    "shape": ARGUMENT,
    "memory": MEMORY,
    "depth": DEPTH,
}


def message_function(sites: Sequence[Site], pointer: int) -> PrimFunc:
    """`int32 message(record, text)`: writes what the record of a failed check says, and returns its code."""
    record, text = Var("record", HANDLE), Var("text", HANDLE)
    words = Buffer("words", (const(2, INT64),), INT32)
    values = Buffer("values", (const(1 + VALUES, INT64),), INT64)
    number = BufferLoad(words, (const(0, INT64),))
    body: list[Stmt] = [DeclBuffer(words, record), DeclBuffer(values, record)]
    for at, site in enumerate(sites):
        shown, pieces = told(site)
        args = [_carried(BufferLoad(values, (const(1 + piece.at, INT64),)), piece) for piece in pieces]
        size = const(TEXT_BYTES, dtype(f"uint{8 * pointer}"))
        call = get_op("call_extern")("int32", "snprintf", text, size, StringImm(shown), *args)
        answer = Return(const(code_of(site), INT32))
        body.append(If(OPS["equal"](number, const(at, INT32)), (Evaluate(call), answer)))
    body.append(Return(const(ARGUMENT, INT32)))
    return PrimFunc(MESSAGE, (record, text), tuple(body), returns=INT32, private=True)


class Piece(Struct, frozen=True):
    """A value in a message: its number in the record, what is added to it, and its dtype."""

    at: int
    plus: int
    dtype: DType


def told(site: Site) -> tuple[str, list[Piece]]:
    """The message of a site as a format of printf, and the values that it shows."""
    pieces: list[Piece] = []

    def value(at: int, plus: int = 0) -> str:
        pieces.append(Piece(at, plus, site.dtypes[at]))
        return form(site.dtypes[at])

    def filled(template: str) -> str:
        parts = []
        for literal, field, _, _ in string.Formatter().parse(template):
            parts.append(literal.replace("%", "%%"))
            if field == "limit":
                parts.append("0 to " + value(len(site.names) - site.loops - 1, -1))
            elif field is not None:
                parts.append(value(int(field)))
        return "".join(parts)

    place = ""
    if site.span is not None:
        place = f"{PurePath(site.span.source.name).name}:{site.span.line}: ".replace("%", "%%")
    message = site.message.replace("%", "%%") if site.kind == "assert" else filled(site.message)
    notes = [f"{filled(name)} = {value(at)}" for at, name in enumerate(site.names) if name]
    return place + message + (f" ({', '.join(notes)})" if notes else ""), pieces


def form(kind: DType) -> str:
    """How printf shows a value that a record carries."""
    if kind.is_float:
        return f"%.{ {64: 17, 32: 9}.get(kind.bits, 5) }g"
    return "%llu" if kind.kind == "uint" or kind.is_handle else "%lld"


def code_of(site: Site) -> int:
    """What a function returns whose check fails there."""
    return ARGUMENT if site.function.startswith(ENTRY) else _CODES[site.kind]


def _carried(value: Expr, piece: Piece) -> Expr:
    """An int64 of a record as printf takes it."""
    kind = piece.dtype
    if kind.is_float:
        return Call(OPS["reinterpret"], (value,), dtype("float64"))
    if kind.kind == "uint" or kind.is_handle:
        return Call(OPS["reinterpret"], (value,), dtype("uint64"))
    return value + const(piece.plus, INT64) if piece.plus else value


__all__ = ["MESSAGE", "TEXT_BYTES", "code_of", "form", "message_function", "told"]
