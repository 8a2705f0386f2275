"""What a kernel can fail at: the table on Python's side of the numbers that native code reports."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, Label, assertion, error
from tirscript.ir.dtype import DType
from tirscript.ir.func import PrimFunc
from tirscript.ir.span import Span
from tirscript.ir.stmt import If, Return, Stmt

# an error record is { i32 site; i32 count; i64 values[8] }
VALUES = 8
ERROR_SIZE = 8 + 8 * VALUES
ERROR_TYPE = f"{{ i32, i32, [{VALUES} x i64] }}"

_CODES = {
    "bounds": "T302",
    "division": "T304",
    "step": "T304",
    "shape": "T301",
    "memory": "T301",
    "depth": "T309",
    "return": "T311",
}


class Report(Struct, frozen=True, eq=False):
    """A value to report: what to call it, the i64 operand that carries it, and its dtype.

    The name may refer to other values of the record, as in `A[{0}]`; an empty one is not shown.
    """

    name: str
    value: str
    dtype: DType


class Site(Struct, frozen=True, eq=False):
    """One check: its kind ("assert" or a key of _CODES), what to say, where it stands, and what the reported values
    are.

    `message` may refer to the values by their numbers, except that of an assert. The last `loops` values are those
    of the loops around.
    """

    kind: str
    message: str
    function: str
    span: Span | None = None
    names: tuple[str, ...] = ()
    dtypes: tuple[DType, ...] = ()
    loops: int = 0
    hint: str | None = None
    buffer: Buffer | None = None

    def exception(self, values: Sequence[int]) -> Exception:
        """What to raise where this check failed with these values: AssertionError for an assert, else a
        DiagnosticError."""
        known = [decode(value, kind) for value, kind in zip(values, self.dtypes, strict=False)]
        words = [
            f"{name.format(*known)} = {value!s}" if name else "" for name, value in zip(self.names, known, strict=False)
        ]
        split = len(words) - self.loops
        lines = [", ".join(dict.fromkeys(filter(None, part))) for part in (words[:split], words[split:])]
        notes: list[str | Label] = list(dict.fromkeys(line for line in lines if line))
        if self.kind == "assert":
            return assertion(error("T310", self.message, self.span, notes=notes))
        if self.buffer is not None and self.buffer.span is not None:
            notes.append(Label(self.buffer.span, f"`{self.buffer.name}` is declared here"))
        if self.span is None:
            notes.append(f"in function `{self.function}`")
        message = (
            self.message.format(*known, limit=_limit(known[split - 1]))
            if self.kind == "bounds"
            else self.message.format(*known)
        )
        return DiagnosticError([error(_CODES[self.kind], message, self.span, notes=notes, hint=self.hint)])


def nothing_returned(func: PrimFunc) -> str | None:
    """What is told where a function that returns a value comes to its end; None where none comes there."""
    if func.returns is None or func.returns.kind == "void" or not _comes_to_end(func.body):
        return None
    return f"`{func.name}` returns {func.returns}, but its end was reached without `return`"


def _comes_to_end(body: tuple[Stmt, ...]) -> bool:
    """Whether the end of a body may be reached, as far as its last statement tells."""
    last = body[-1] if body else None
    if type(last) is If:
        return _comes_to_end(last.then) or _comes_to_end(last.orelse)
    return type(last) is not Return


def outside(buffer: Buffer, axis: int) -> str:
    """The message of a region that is out of bounds, whose values are where it begins, where it ends, and the size."""
    return f"the region of `{buffer.name}` is out of bounds: {{0}}:{{1}} is not within 0:{{2}}, in dimension {axis}"


def _limit(size: Any) -> str:
    return "an empty dimension" if size <= 0 else f"0 to {size - 1}"


def decode(bits: int, kind: DType) -> Any:
    """A value of `kind` from the i64 that carries it: floats come as the bits of a double and are shown as their
    dtype shows them."""
    bits &= (1 << 64) - 1
    if kind.is_float:
        from tirscript.backend.runtime.arrays import numpy_dtype

        return numpy_dtype(kind).type(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if kind.is_bool:
        return bool(bits & 1)
    if kind.kind == "int" and bits >> 63:
        return bits - (1 << 64)
    return bits
