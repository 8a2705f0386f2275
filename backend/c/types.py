"""How the language's element types look in C, and how constants are written."""

from __future__ import annotations

import struct
from typing import Any

from tirscript.ir import DiagnosticError, DType, error
from tirscript.ir.expr import round_float

from ..export.header import C_SCALARS
from ..llvm.types import float_bits
from .code import PRIMARY, UNARY, Code

# the C type of values; narrow floats are their bits, under a name of their own
C_TYPES = {
    **C_SCALARS,
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "handle": "void *",
    "void": "void",
}
NARROW = {"float16": 16, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8}


def c_type(dtype: DType) -> str:
    """The C type of one lane of `dtype`."""
    if dtype.scalable:
        message = f"scalable vectors ({dtype}) are not supported by C"
        raise DiagnosticError([error("T402", message, hint="give the number of lanes")])
    return C_TYPES[dtype.element.name]


def declared(dtype: DType, name: str) -> str:
    """A variable of one lane of `dtype`: its type and its name."""
    kind = c_type(dtype)
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


def pointer(kind: str) -> str:
    """A pointer to a C type."""
    return f"{kind}*" if kind.endswith("*") else f"{kind} *"


def literal(value: Any, dtype: DType) -> str:
    """A constant of a scalar `dtype`."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_float:
        return _float(float(value), dtype)
    number = int(value)
    if dtype.bits < 64:
        if number == -(1 << 31) and dtype.name == "int32":
            return "INT32_MIN"
        return f"{number}u" if dtype.name == "uint32" else str(number)
    if number == -(1 << 63):
        return "INT64_MIN"
    return f"UINT64_C({number})" if dtype.kind == "uint" else f"INT64_C({number})"


def number(value: int, dtype: DType) -> Code:
    """An integer where what is around says its type: digits, unless C has no signed type for them."""
    if abs(value) < 1 << 63:
        return Code(str(value), UNARY if value < 0 else PRIMARY)
    return Code(literal(value, dtype))


def _float(value: float, dtype: DType) -> str:
    if dtype.name in NARROW:
        if dtype.name == "float16":
            return f"0x{struct.unpack('<H', struct.pack('<e', value))[0]:04x}"
        return f"0x{float_bits(value, dtype):0{dtype.bits // 4}x}"
    if value != value:
        return "NAN" if dtype.bits == 32 else "(double)NAN"
    if value in (float("inf"), float("-inf")):
        return ("-" if value < 0 else "") + ("INFINITY" if dtype.bits == 32 else "(double)INFINITY")
    if dtype.bits == 64:
        return repr(value)
    # a value that some digits tell apart is told apart by more
    few, enough = 1, 9
    while few < enough:
        digits = (few + enough) // 2
        if round_float(float(f"{value:.{digits}g}"), dtype) == value:
            enough = digits
        else:
            few = digits + 1
    text = f"{value:.{enough}g}".replace("e+", "e")
    return (text if "." in text or "e" in text else f"{text}.0") + "f"


__all__ = ["C_TYPES", "NARROW", "c_type", "declared", "literal", "number", "pointer"]
