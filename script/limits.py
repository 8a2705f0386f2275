"""The least and the greatest values of dtypes, and those that are written by name: nan and the infinities."""

from __future__ import annotations

import math

from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const, const, literal

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}


def limit(name: str, to: DType) -> Const:
    """`T.min_value`, `T.max_value` or `T.infinity` of a dtype; ValueError where it has none."""
    if to.is_vector:
        raise ValueError(f"{to} has one value for each lane; `T.broadcast(T.{name}(...), lanes)` makes it")
    if name == "infinity" or to.is_float:
        if not to.is_float:
            raise ValueError(f"{to} has no infinity")
        return const(_infinity(to) if name == "infinity" else _limit_of_float(name, to), to)
    if not (to.is_int or to.is_bool):
        raise ValueError(f"{to} has no least or greatest value")
    low, high = to.int_range()
    return const(low if name == "min_value" else high, to)


def _limit_of_float(name: str, to: DType) -> float:
    if to.name in _LARGEST:
        return -_LARGEST[to.name] if name == "min_value" else _LARGEST[to.name]
    import ml_dtypes

    known = ml_dtypes.finfo(to.name)
    return float(known.min if name == "min_value" else known.max)


def special_float(text: str, to: DType) -> float:
    """nan and the infinities by name; ValueError for other text, and for infinities that `to` does not have."""
    if text.lower().lstrip("+-") not in ("nan", "inf", "infinity"):
        raise ValueError(f'{text!r} is not "nan", "inf" or "-inf"')
    value = float(text)
    return math.copysign(_infinity(to.element), value) if math.isinf(value) else value


def tvm_literal(value: float, to: DType) -> Const:
    """The constant of a number in TVM's dialect: its least bfloat16, the first value of a maximum, is that of float32,
    which rounds to an infinity. ValueError for what does not fit otherwise."""
    rounds = to.name == "bfloat16" and abs(value) <= _LARGEST["float32"]
    return const(value, to).replace(told=float(value)) if rounds else literal(value, to)


def _infinity(to: DType) -> float:
    if to.is_float and const(math.inf, to).value != math.inf:
        raise ValueError(f'{to} has no infinity; its greatest value is `T.max_value("{to}")`')
    return math.inf


__all__ = ["limit", "special_float", "tvm_literal"]
