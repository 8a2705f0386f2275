"""How the language's element types look in LLVM: as values, in memory and across calls, and how constants are
written."""

from __future__ import annotations

import struct
from typing import Any

from tirscript.ir.computed import not_computed
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType

# bfloat16 and float8 are carried as their bits: LLVM converts bfloat through library calls on many machines, and
# through instructions that flush denormals on others; ours are exact everywhere
_VALUES = {
    "bool": "i1",
    "float16": "half",
    "bfloat16": "i16",
    "float8_e4m3fn": "i8",
    "float8_e5m2": "i8",
    "float32": "float",
    "float64": "double",
    "handle": "ptr",
    "void": "void",
}
for _bits in (8, 16, 32, 64):
    _VALUES[f"int{_bits}"] = _VALUES[f"uint{_bits}"] = f"i{_bits}"


def vector(scalar: str, lanes: int) -> str:
    """`lanes` of the LLVM type `scalar`."""
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def value_type(dtype: DType) -> str:
    """The LLVM type of a value of `dtype`."""
    if dtype.scalable:
        raise DiagnosticError(
            [
                error(
                    "T402",
                    f"scalable vectors ({dtype}) are not supported on this machine",
                    hint="give the number of lanes",
                )
            ]
        )
    return vector(scalar_type(dtype), dtype.lanes)


def scalar_type(dtype: DType) -> str:
    """The LLVM type of one lane of a value of `dtype`. Raises DiagnosticError T402 for one that is not computed."""
    found = _VALUES.get(dtype.element.name)
    if found is None:
        raise DiagnosticError([not_computed(dtype, "T402")])
    return found


def memory_type(dtype: DType) -> str:
    """The LLVM type of a value of `dtype` in memory, where a bool takes a byte."""
    return vector("i8", dtype.lanes) if dtype.element.is_bool else value_type(dtype)


def memory_scalar(dtype: DType) -> str:
    """The LLVM type of one lane of `dtype` in memory."""
    return "i8" if dtype.element.is_bool else scalar_type(dtype)


# scalars cross the boundary of a kernel as their bits, so that callers need no half type
_CROSSING = {"bool": "i8", "float16": "i16"}


def call_type(dtype: DType) -> str:
    """The LLVM type of a scalar parameter of a kernel: bool is i8, float16, bfloat16 and float8 are their bits."""
    return _CROSSING.get(dtype.name) or value_type(dtype)


def lane_bytes(dtype: DType) -> int:
    """Bytes one lane takes in memory."""
    return max(1, dtype.bits // 8)


def splat(scalar: str, literal: str, lanes: int) -> str:
    """The constant `literal` in every lane."""
    return literal if lanes == 1 else f"splat ({scalar} {literal})"


def literal(value: Any, dtype: DType) -> str:
    """A constant of a scalar `dtype` as LLVM writes it."""
    name = dtype.name
    if dtype.is_bool:
        return "true" if value else "false"
    if name in ("float32", "float64"):
        return "0x" + struct.pack(">d", float(value)).hex().upper()
    if name == "float16":
        return "0xH" + struct.pack(">e", float(value)).hex().upper()
    if dtype.is_float:
        return str(float_bits(float(value), dtype))
    return str(int(value))


def float_literal(value: float, type_: str) -> str:
    """A constant of LLVM's float or double."""
    if type_ == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return "0x" + struct.pack(">d", value).hex().upper()


def float_bits(value: float, dtype: DType) -> int:
    """The bits of `value` in a float type that numpy does not have."""
    import ml_dtypes
    import numpy

    unsigned = numpy.uint16 if dtype.bits == 16 else numpy.uint8
    return int(numpy.array(value, dtype=getattr(ml_dtypes, dtype.name)).view(unsigned))
