"""Parse-time Python: the few operations on plain values that a text may ask for, each within bounds.

In a decorated function the user's own Python is trusted; in parsed text nothing runs but what stands here.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from typing import Any

MAX_BITS = 1 << 16  # of an integer made by parse-time arithmetic
MAX_ITEMS = 1 << 20  # of a sequence made while parsing


def is_numpy_scalar(value: Any) -> bool:
    """Whether a value is a number of numpy's or of ml_dtypes, or an array without dimensions."""
    return type(value).__module__ in ("numpy", "ml_dtypes") and getattr(value, "shape", None) == ()


def is_numpy_array(value: Any) -> bool:
    """Whether a value is an array of numbers of numpy's own class, whose elements are taken without running Python."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject


class TooLarge(Exception):
    """A parse-time value beyond the bounds."""


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, bytes, list, tuple)) else 0


def _check_number(value: Any) -> Any:
    if _bits(value) > MAX_BITS:
        raise TooLarge(f"an integer of over {MAX_BITS} bits")
    return value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and _bits(a) * b > MAX_BITS:
        raise TooLarge(f"an integer of over {MAX_BITS} bits")
    return a**b


def _shift(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and _bits(a) + b > MAX_BITS:
        raise TooLarge(f"an integer of over {MAX_BITS} bits")
    return a << b


def _multiply(a: Any, b: Any) -> Any:
    for sequence, times in ((a, b), (b, a)):
        if _size(sequence) and isinstance(times, int) and _size(sequence) * times > MAX_ITEMS:
            raise TooLarge(f"a sequence of over {MAX_ITEMS} items")
    return _check_number(a * b)


def _add(a: Any, b: Any) -> Any:
    if _size(a) + _size(b) > MAX_ITEMS:
        raise TooLarge(f"a sequence of over {MAX_ITEMS} items")
    return a + b


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, (str, bytes)):
        raise TypeError("`%` formats no strings here; use an f-string")
    return a % b


BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: _add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
    ast.LShift: _shift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def _range(*args: Any) -> range:
    made = range(*args)
    if len(made) > MAX_ITEMS:
        raise TooLarge(f"a range of over {MAX_ITEMS} items")
    return made


def _int(value: Any = 0) -> int:
    if isinstance(value, str) and len(value) > 4000:
        raise TooLarge("a number of over 4,000 digits")
    return int(value)


def _items(items: Any) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if len(found) == MAX_ITEMS:
            raise TooLarge(f"a sequence of over {MAX_ITEMS} items")
        found.append(item)
    return found


def _list(items: Any = ()) -> list[Any]:
    return _items(items)


def _tuple(items: Any = ()) -> tuple[Any, ...]:
    return tuple(_items(items))


def _zip(*sequences: Any, strict: bool = False) -> list[tuple[Any, ...]]:
    return _items(zip(*sequences, strict=strict))


def _enumerate(items: Any, start: int = 0) -> list[tuple[int, Any]]:
    return _items(enumerate(items, start))


def _round(number: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > 4000:
        raise TooLarge("a number of over 4,000 digits")
    return round(number, digits)


def _sum(items: Any, start: Any = 0) -> Any:
    if not isinstance(start, (list, tuple)):
        return sum(items, start)
    # one sequence after the other, without a copy of the first ones for each
    made: list[Any] = [*start]
    for item in items:
        if not isinstance(item, type(start)):
            raise TypeError(f"a {type(item).__name__} does not continue a {type(start).__name__}")
        if len(made) + len(item) > MAX_ITEMS:
            raise TooLarge(f"a sequence of over {MAX_ITEMS} items")
        made += item
    return made if isinstance(start, list) else tuple(made)


# the builtins that text may call; the names stand for these bounded versions in decorated functions too
BUILTINS: dict[str, Callable[..., Any]] = {
    "range": _range,
    "len": len,
    "min": min,
    "max": max,
    "abs": abs,
    "int": _int,
    "float": float,
    "bool": bool,
    "tuple": _tuple,
    "list": _list,
    "zip": _zip,
    "enumerate": _enumerate,
    "round": _round,
    "sum": _sum,
}
