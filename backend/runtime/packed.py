"""Calls from native code back into Python: library functions of `T.call_packed`, and `T.print`.

Native code calls one C function, `i32 tirscript_call_packed(i64 module, i32 call, ptr slots)`: `module` tells which
compiled module asks, `call` which of its calls this is, `slots` hold the arguments as 8-byte values from slot 1; a
result goes into slot 0. It returns 0, or 2 where Python raised; slot 0 is then the ticket under which the exception is
kept until the caller of the kernel, which may be another thread, takes it with `take_exception`.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.dtype import DType
from tirscript.ir.span import Span

from .library import call_library, get_library, library_names, own_functions

CALLBACK = "tirscript_call_packed"
MODULE_TOKEN = "tirscript.module"  # the native global that holds the module's token
RAISED = 2
_T_co = TypeVar("_T_co", covariant=True)


class PythonCall(Struct, frozen=True, eq=False):
    """One call back into Python: kind is "packed" or "print".

    Each argument is ("string", text), ("value", dtype), ("handle", dtype), ("pointer", dtype) or ("buffer", Buffer).
    A buffer takes slots for its address, dims and strides in elements, a pointer for its address and the number of
    elements from there, a vector one for each lane, a string none.
    """

    kind: str
    name: str
    args: tuple[tuple[str, Any], ...]
    span: Span | None


class Numbered(Protocol[_T_co]):
    """What native code refers to by number; it may be made when the first one is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> _T_co: ...


# by token: the calls of a module, and the library functions that are its own
_modules: dict[int, tuple[Numbered[PythonCall], dict[str, Callable[..., Any]]]] = {}
_tokens = itertools.count(1)
_raised: dict[int, BaseException] = {}
_tickets = itertools.count(1)


def register_calls(calls: Numbered[PythonCall]) -> int:
    """Make the calls of a compiled module known; returns the token that its native global must hold."""
    token = next(_tokens)
    _modules[token] = calls, own_functions()
    return token


def unregister_calls(token: int) -> None:
    """Forget a module's calls, when its native code is gone."""
    _modules.pop(token, None)


def take_exception(ticket: int) -> BaseException | None:
    """The exception of a ticket, once."""
    return _raised.pop(ticket, None)


def address() -> int:
    """The address of the native side's C function."""
    return ctypes.cast(_callback, ctypes.c_void_p).value or 0


def _call(token: int, number: int, slots: int) -> int:
    try:
        calls, own = _modules[token]
        call = calls[number]
        args = _Reader(slots).all(call)
        if call.kind == "print":
            sys.stdout.write(
                " ".join(_shown(arg, kind, what) for arg, (kind, what) in zip(args, call.args, strict=True)) + "\n"
            )
        else:
            result = call_library(own.get(call.name) or _function(call), args, call.span)
            ctypes.c_int32.from_address(slots).value = _status(call, args, result)
    except BaseException as raised:  # carried through native code to the caller of the kernel
        ticket = next(_tickets)
        _raised[ticket] = raised
        ctypes.c_int64.from_address(slots).value = ticket
        return RAISED
    return 0


def _shown(value: Any, kind: str, what: Any) -> str:
    """A value as the interpreter prints it: floats with the digits of their dtype."""
    if kind != "value":
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(lane, kind, what.element) for lane in value)}]"
    if isinstance(value, float):
        from .arrays import numpy_dtype

        return str(numpy_dtype(what).type(value))
    return str(value)


def _function(call: PythonCall) -> Any:
    function = get_library(call.name)
    if function is None:
        near = suggest(call.name, library_names())
        hint = f"did you mean `{near}`?" if near else "name it with `tirscript.register_library(name, function)`"
        raise DiagnosticError(
            [error("T307", f"no library function is registered as `{call.name}`", call.span, hint=hint)]
        )
    return function


def _status(call: PythonCall, args: list[Any], result: Any) -> int:
    """What the call is worth: 0 where the function gives nothing, or back the array it wrote to, as numpy's do."""
    if result is None or any(result is arg for arg in args):
        return 0
    try:
        return int(result)
    except (TypeError, ValueError):
        raise DiagnosticError(
            [error("T301", f"`{call.name}` returned {result!r} where int32 is expected", call.span)]
        ) from None


class _Reader:
    """Reads the slots of one call."""

    def __init__(self, slots: int) -> None:
        self.at = slots

    def slot(self) -> int:
        self.at += 8
        return ctypes.c_uint64.from_address(self.at).value

    def all(self, call: PythonCall) -> list[Any]:
        return [_READERS[kind](self, what) for kind, what in call.args]

    def string(self, text: str) -> str:
        return text

    def value(self, dtype: DType) -> Any:
        lanes = [_number(self.slot(), dtype.element) for _ in range(dtype.lanes)]
        return lanes[0] if dtype.lanes == 1 else tuple(lanes)

    def handle(self, dtype: DType) -> int:
        return self.slot()

    def pointer(self, dtype: DType) -> Any:
        """The memory from an address to the end of its buffer, as a flat array."""
        import numpy as np

        from .arrays import numpy_dtype

        where, count = self.slot(), self.slot()
        kind = numpy_dtype(dtype)
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(where)
        return np.frombuffer(memoryview(memory), kind)

    def buffer(self, buffer: Buffer) -> Any:
        """An array that shares the program's memory; it must not be kept after the call."""
        import numpy as np

        from .arrays import numpy_dtype

        where = self.slot()
        dims = [self.slot() for _ in buffer.shape]
        strides = [ctypes.c_int64(self.slot()).value for _ in buffer.shape]
        kind = numpy_dtype(buffer.dtype)
        step = kind.itemsize * buffer.dtype.lanes
        if buffer.dtype.lanes > 1:
            dims.append(buffer.dtype.lanes)
        reach = sum((dim - 1) * stride for dim, stride in zip(dims, strides, strict=False)) + 1 if all(dims) else 0
        memory = (ctypes.c_char * max(0, reach * step)).from_address(where)
        byte_strides = [stride * step for stride in strides] + ([kind.itemsize] if buffer.dtype.lanes > 1 else [])
        return np.ndarray(dims, kind, memoryview(memory), strides=byte_strides) if reach > 0 else np.ndarray(dims, kind)


_READERS: dict[str, Any] = {
    "string": _Reader.string,
    "value": _Reader.value,
    "handle": _Reader.handle,
    "pointer": _Reader.pointer,
    "buffer": _Reader.buffer,
}


def _number(bits: int, dtype: DType) -> int | float | bool:
    if dtype.is_float:
        return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if dtype.is_bool:
        return bool(bits & 1)
    return bits - (1 << 64) if dtype.kind == "int" and bits >> 63 else bits


_callback = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p)(_call)


def forget_address() -> int:
    """The address of a C function that takes a ticket whose exception nobody wants."""
    return ctypes.cast(_forget, ctypes.c_void_p).value or 0


def _drop(ticket: int) -> None:
    _raised.pop(ticket, None)


_forget = ctypes.CFUNCTYPE(None, ctypes.c_int64)(_drop)
