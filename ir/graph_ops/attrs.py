"""The one form of each kind of attribute, whatever way it was written. Each raises DiagnosticError T032 otherwise.

Sequences are kept as tuples, dtypes as `DType`, numbers as Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import VOID, DType, advice, dtype
from ..expr import Const, Expr
from ..graph_op import REQUIRED, Parameter
from ..index_map import IndexMap
from ..op import fail
from ..words import words


def _plain(value: Any) -> Any:
    """A constant of the tensor language, or a scalar of numpy, as Python's number."""
    if type(value) is Const:
        return value.value
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value


def _shown(value: Any) -> str:
    return f"`{value!r}`" if isinstance(value, (int, float, str, tuple, list)) else words(value)


def integer(value: Any) -> int:
    """An int."""
    number = _plain(value)
    if isinstance(number, bool) or not isinstance(number, int):
        hint = "it is a number that is known before the program runs" if isinstance(value, Expr) else None
        raise fail("T032", f"this is an int, not {_shown(value)}", hint)
    return number


def real(value: Any) -> float:
    """A float; an int becomes one."""
    number = _plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise fail("T032", f"this is a number, not {_shown(value)}")
    return float(number)


def number(value: Any) -> int | float | bool:
    """A number."""
    found = _plain(value)
    if not isinstance(found, (int, float)):
        raise fail("T032", f"this is a number, not {_shown(value)}")
    return found


def boolean(value: Any) -> bool:
    """True or False."""
    found = _plain(value)
    if not isinstance(found, (bool, int)) or found not in (0, 1):
        raise fail("T032", f"this is True or False, not {_shown(value)}")
    return bool(found)


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise fail("T032", f"this is a string, not {_shown(value)}")
    return value


def element_type(value: Any) -> DType:
    """A dtype of numbers."""
    if isinstance(getattr(value, "dtype", None), DType):
        value = value.dtype  # T.float32
    try:
        found = dtype(value)
    except ValueError as problem:
        raise fail("T109", str(problem).partition("; the types are")[0], advice(value)) from None
    if found is VOID or found.is_handle or found.is_vector:
        raise fail("T109", f"a tensor holds numbers, not {found}")
    return found


def told_type(value: Any) -> DType | None:
    """A dtype, or None where none is told, which TVM writes as "void"."""
    return None if value in ("", "void") or value is VOID else element_type(value)


def integers(value: Any) -> tuple[int, ...]:
    """One or more ints."""
    return tuple(map(integer, value)) if isinstance(value, (tuple, list)) else (integer(value),)


def reals(value: Any) -> tuple[float, ...]:
    """One or more numbers."""
    return tuple(map(real, value)) if isinstance(value, (tuple, list)) else (real(value),)


def one_of(*choices: str) -> Callable[[Any], str]:
    """One of some words."""

    def check(value: Any) -> str:
        if value not in choices:
            raise fail("T032", f"this is one of {', '.join(map(repr, choices))}, not {_shown(value)}")
        return str(value)

    return check


def each(count: int) -> Callable[[Any], tuple[int, ...]]:
    """An int for each of `count` dimensions; one stands for all."""

    def normal(value: Any) -> tuple[int, ...]:
        given = integers(value)
        if len(given) == 1:
            given *= count
        if len(given) != count:
            raise fail("T032", f"this is one int or {count}, not {len(given)}")
        return given

    return normal


def borders(count: int) -> Callable[[Any], tuple[int, ...]]:
    """The padding before and after each of `count` dimensions: all befores, then all afters.

    One int is for all, `count` ints are for both sides.
    """

    def normal(value: Any) -> tuple[int, ...]:
        given = integers(value)
        if len(given) == 1:
            given *= 2 * count
        elif len(given) == count:
            given *= 2
        if len(given) != 2 * count:
            raise fail(
                "T032", f"padding is {' or '.join(map(str, sorted({1, count, 2 * count})))} ints, not {len(given)}"
            )
        return given

    return normal


def index_map(value: Any) -> IndexMap:
    """A map of indices."""
    if not isinstance(value, IndexMap):
        raise fail("T032", f"this is an index map, not {_shown(value)}", "`lambda i, j: (j, i)`")
    return value


def optional(normal: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """None, or what `normal` takes."""
    return lambda value: None if value is None else normal(value)


def attr(name: str, normal: Callable[[Any], Any], default: Any = REQUIRED) -> Parameter:
    """An attribute; one whose default is None may be None."""
    return Parameter(name, "attr", default, optional(normal) if default is None else normal)


AXIS = attr("axis", integer)
AXES = attr("axis", integers, None)
KEEPDIMS = attr("keepdims", boolean, False)
DTYPE = attr("dtype", element_type)
DTYPE_OF_ARGUMENT = attr("dtype", told_type, None)
OUT_DTYPE = attr("out_dtype", told_type, None)
TOLD_DTYPES = ("dtype", "out_dtype")  # what TVM may write as "void"
