"""The slow path of a call: what the native entry does not know at once is converted here, or refused."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from tirscript.ir import Buffer, DiagnosticError, DType, PrimFunc, Var, error

from . import exchange, layout
from .arguments import BoundArguments, bind_arguments, buffer_of, scalar_argument
from .arrays import ArrayProblem, address_of, as_array, numpy_dtype
from .failure import Failure, FailureRecord
from .overlap import check_overlap

Param = Var | Buffer


_MISSING = object()


class _EntryRefused(Exception):
    """The native entry did not take arguments that are bound."""


def REFUSE(*args: object) -> NoReturn:
    """The slow path of the last try. The entry knows its address: it stands for "overlap has been looked at" too."""
    raise _EntryRefused


def _unsure(*args: object) -> NoReturn:
    """The slow path of the try with arguments that are converted but not checked."""
    raise _EntryRefused


class SlowPath:
    """Converts the arguments of a call to plain numpy arrays and Python numbers and calls the entry again.

    First each argument alone, since the entry checks the rest in no time; where it refuses, all that is wrong is looked
    for and told.
    """

    __slots__ = ("again", "converters", "direct", "func", "names", "noalias", "written")

    def __init__(
        self, func: PrimFunc, written: Iterable[Param], noalias: bool, retry: Callable[[Callable[..., Any]], Any]
    ) -> None:
        """`retry` makes the function object of the same entry with another slow path."""
        self.func = func
        self.written = frozenset(written)
        self.noalias = noalias
        self.direct = retry(_unsure)
        self.again = retry(REFUSE)
        self.converters = [_converter(func, param, param in self.written) for param in func.params]
        self.names: dict[str, int] = {}
        for at, param in enumerate(func.params):
            self.names[param.name] = at
        for at, param in enumerate(func.params):
            self.names[(buffer_of(func, param) or param).name] = at

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        ordered = self.order(args, kwargs)
        if ordered is not None:
            if kwargs:
                exchange.enable()
            for value in ordered:
                exchange.learn(type(value))
            try:
                return self.direct(*[convert(value) for convert, value in zip(self.converters, ordered, strict=True)])
            except (ArrayProblem, _EntryRefused):
                pass
        bound = self.bind(args, kwargs)
        try:
            return self.again(*[_plain(bound, param) for param in self.func.params])
        except _EntryRefused:
            message = f"the native entry of `{self.func.name}` refuses arguments that are right"
            kinds = ", ".join(type(value).__name__ for value in (*args, *kwargs.values()))
            raise DiagnosticError(
                [error("T499", message, self.func.span, notes=(f"the arguments: {kinds}",), hint="please report this")]
            ) from None

    def order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The arguments in the order of the parameters; None where they do not fit them."""
        ordered = [*args, *[_MISSING] * (len(self.converters) - len(args))]
        for name, value in kwargs.items():
            at = self.names.get(name, -1)
            if at < len(args) or ordered[at] is not _MISSING:
                return None
            ordered[at] = value
        fits = len(ordered) == len(self.converters) and not any(value is _MISSING for value in ordered)
        return ordered if fits else None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundArguments:
        """The arguments, checked: each alone, all together, and for overlap."""
        bound = bind_arguments(self.func, args, kwargs, written=self.written)
        if self.noalias:
            check_overlap(self.func, bound.arrays, self.written)
        return bound


def _converter(func: PrimFunc, param: Param, written: bool) -> Callable[[Any], Any]:
    """What makes an argument for `param` plain, without looking at its shape."""
    buffer = buffer_of(func, param)
    if buffer is not None:
        want = numpy_dtype(buffer.dtype)

        def convert(value: Any) -> Any:
            if type(value) is np.ndarray and value.dtype is want:
                return value
            return _plain_array(as_array(value, buffer, written))

        return convert
    assert isinstance(param, Var)
    if param.dtype.is_handle:
        return lambda value: value
    make, dtype = _PYTHON[param.dtype.kind], param.dtype
    return lambda value: make(scalar_argument(value, dtype))


_PYTHON: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "uint": int,
    "float": float,
    "bfloat": float,
    "float8": float,
}


def _plain(bound: BoundArguments, param: Param) -> Any:
    """The argument in the one form that the entry reads."""
    if param in bound.arrays:
        array = bound.arrays[param]
        return None if array is None else _plain_array(array)
    assert isinstance(param, Var)
    return _PYTHON[param.dtype.kind](bound.scalars[param])


def _plain_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.num == layout.RECORDS:  # records, which hold no objects, as memory for a handle
        return array.reshape(-1).view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    return array.view(_LONG_LONG[array.dtype.char]) if array.dtype.char in _LONG_LONG else array


# two of C's types may be the same integer, and the entry knows each by one number
_LONG_LONG = {char: np.dtype(name) for char, name in (("q", "int64"), ("Q", "uint64")) if np.dtype(name).char != char}


# -- calls without an entry


class PortablePath(SlowPath):
    """Calls a kernel through ctypes, for Pythons whose structs the entries cannot read. Every argument is in an 8-byte
    slot."""

    __slots__ = ("fail", "kernel", "symbols")

    def __init__(
        self,
        func: PrimFunc,
        written: Iterable[Param],
        noalias: bool,
        address: int,
        symbols: tuple[Var, ...],
        fail: Failure,
        release: bool,
    ) -> None:
        super().__init__(func, written, noalias, lambda slow: slow)
        kind = ctypes.CFUNCTYPE if release else ctypes.PYFUNCTYPE
        self.kernel = kind(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)
        self.symbols = symbols
        self.fail = fail

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        bound = self.bind(args, kwargs)
        words = [_word(bound, param) for param in self.func.params]
        values: dict[Var, Any] = {**bound.scalars, **bound.symbols}
        words += [int(values[var]).to_bytes(8, "little", signed=var.dtype.is_signed) for var in self.symbols]
        slots = ctypes.create_string_buffer(b"".join(words), max(8, 8 * len(words)))
        out, record = (ctypes.c_char * 8)(), FailureRecord()
        status = self.kernel(ctypes.addressof(slots), ctypes.addressof(out), ctypes.addressof(record))
        if status:
            self.fail(ctypes.addressof(record))
        returns = self.func.returns
        return None if returns is None else _unpack(bytes(out), returns)


def _word(bound: BoundArguments, param: Param) -> bytes:
    if param in bound.arrays:
        array = bound.arrays[param]
        return (0 if array is None else address_of(array)).to_bytes(8, "little")
    assert isinstance(param, Var)
    return pack(bound.scalars[param], param.dtype)


_FORMATS = {"float16": "<e", "float32": "<f", "float64": "<d"}


def pack(value: int | float | bool, dtype: DType) -> bytes:
    """A scalar of `dtype` as 8 bytes, the value in the lowest."""
    if not dtype.is_float:
        return int(value).to_bytes(8, "little", signed=dtype.is_signed)
    if dtype.name in _FORMATS:
        return struct.pack(_FORMATS[dtype.name], value).ljust(8, b"\0")
    return np.array(value, numpy_dtype(dtype)).tobytes().ljust(8, b"\0")


def _unpack(data: bytes, dtype: DType) -> int | float | bool:
    value = np.frombuffer(data[: dtype.itemsize], numpy_dtype(dtype))[0]
    return float(value) if dtype.is_float else bool(value) if dtype.is_bool else int(value)
