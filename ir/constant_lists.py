"""Constants of Python numbers: nested lists to arrays, with the rounding and the bounds of literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .diagnostic import DiagnosticError, error
from .dtype import BOOL, FLOAT32, INT32, DType
from .expr import Const, const, round_float

if TYPE_CHECKING:
    import numpy as np


def array_of(data: Any, kind: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """A number or nested lists of numbers as an array of `kind`; DiagnosticError T114 for ragged lists and other data.

    Without a dtype, ints make int32, floats float32, bools bool.
    """
    shape = _shape(data)
    flat: list[Any] = []
    _flatten(data, shape, 0, flat, ())
    to = kind or _kind(flat)
    return encode(flat, to).reshape(shape), to


def encode(values: list[Any], kind: DType) -> np.ndarray[Any, Any]:
    """Python numbers as a flat array of a dtype, each rounded as a literal is; T114 where one does not fit."""
    import numpy as np

    from .constant import numpy_dtype

    to = numpy_dtype(kind)
    if kind.is_float:
        if not all(type(value) in (float, int, bool) for value in values):
            values = [_number(value, kind) for value in values]
        try:
            if kind.bits < 16 or kind.kind == "bfloat":  # as literals are, whose rounding numpy has not
                values = [round_float(float(value), kind) for value in values]
            with np.errstate(all="ignore"):
                return np.array(values, np.float64).astype(to)
        except OverflowError:  # an int beyond all floats
            message = f"an element of the constant is too large for {kind}"
            raise DiagnosticError([error("T114", message)]) from None
    low, high = kind.int_range()
    if not all((type(value) is int or type(value) is bool) and low <= value <= high for value in values):
        values = [_number(value, kind) for value in values]
    return np.array(values, to)


def _number(value: Any, kind: DType) -> Any:
    if type(value) is Const:
        if value.dtype is not kind:
            message = f"an element of the constant is {value.dtype}, but it is declared {kind}"
            hint = f"write the number without its type, as it is read as {kind}"
            raise DiagnosticError([error("T114", message, value.span, hint=hint)])
        return value.value
    if not isinstance(value, (int, float)) and not _is_scalar(value):
        from .words import words

        raise DiagnosticError([error("T114", f"an element of a constant is a number, not {words(value)}")])
    try:
        return const(value, kind).value
    except (ValueError, TypeError, OverflowError) as problem:
        raise DiagnosticError([error("T114", f"an element of the constant: {problem}")]) from None


def _is_scalar(value: Any) -> bool:
    return getattr(value, "item", None) is not None and getattr(value, "shape", None) == ()


def _kind(flat: list[Any]) -> DType:
    kinds = {value.dtype for value in flat if type(value) is Const}
    if kinds:
        return kinds.pop()
    if any(isinstance(value, float) for value in flat) or not flat:
        return FLOAT32
    return BOOL if all(isinstance(value, bool) for value in flat) else INT32


def _shape(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        if len(shape) > 32:
            raise DiagnosticError([error("T114", "a constant has over 32 dimensions")])
        if not data:
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, flat: list[Any], path: tuple[int, ...]) -> None:
    if depth == len(shape):
        if isinstance(data, (list, tuple)):
            _ragged(path, "a list", "a number")
        flat.append(data)
        return
    if not isinstance(data, (list, tuple)):
        _ragged(path, "a number", f"a list of {shape[depth]}")
    if len(data) != shape[depth]:
        _ragged(path, f"a list of {len(data)}", f"one of {shape[depth]}")
    if depth + 1 == len(shape) and not any(type(item) is list or type(item) is tuple for item in data):
        flat += data
        return
    for at, item in enumerate(data):
        _flatten(item, shape, depth + 1, flat, (*path, at))


def _ragged(path: tuple[int, ...], have: str, want: str) -> None:
    place = "".join(f"[{at}]" for at in path)
    raise DiagnosticError([error("T114", f"the lists of the constant are ragged: item {place} is {have}, not {want}")])
