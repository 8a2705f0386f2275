"""What a kernel can fail at: the table on Python's side of the numbers that native code reports."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType
from tirscript.ir.span import Span

# an error record is { i32 site; i32 count; i64 values[8] }
VALUES = 8
ERROR_SIZE = 8 + 8 * VALUES
ERROR_TYPE = f"{{ i32, i32, [{VALUES} x i64] }}"

_CODES = {"bounds": "T302", "division": "T304", "shape": "T301", "step": "T301", "memory": "T301"}


class Site(Struct, frozen=True, eq=False):
    """One check: its kind ("assert" or a key of _CODES), what to say, where it stands, and what the reported values are.

    Values come as the bits of an i64; `dtypes` tells how to read them.
    """

    kind: str
    message: str
    function: str
    span: Span | None = None
    names: tuple[str, ...] = ()
    dtypes: tuple[DType, ...] = ()
    hint: str | None = None

    def decode(self, values: Sequence[int]) -> dict[str, int | float | bool]:
        """The reported values by name."""
        return {name: decode(value, kind) for name, kind, value in zip(self.names, self.dtypes, values, strict=False)}

    def exception(self, values: Sequence[int]) -> Exception:
        """What to raise where this check failed with these values: AssertionError for an assert, else a DiagnosticError."""
        known = [f"{name} = {value}" for name, value in self.decode(values).items()]
        if self.kind == "assert":
            lines = [self.message or "assertion failed"]
            if self.span is not None:
                lines.append(f" --> {self.span}")
                text = self.span.source.line(self.span.line).strip()
                if text:
                    lines.append(f"  | {text}")
            lines += [f"  = note: {word}" for word in known]
            return AssertionError("\n".join(lines))
        return DiagnosticError([error(_CODES[self.kind], self.message, self.span, notes=[*known, f"in function `{self.function}`"], hint=self.hint)])


def decode(bits: int, kind: DType) -> int | float | bool:
    """A value of `kind` from the i64 that carries it: floats come as the bits of a double."""
    bits &= (1 << 64) - 1
    if kind.is_float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if kind.is_bool:
        return bool(bits & 1)
    if kind.kind == "int" and bits >> 63:
        return bits - (1 << 64)
    return bits
