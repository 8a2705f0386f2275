"""Library functions by name, for `T.call_packed` and `G.call_dps_packed`."""

from __future__ import annotations

import ctypes
import threading
from _ctypes import CFuncPtr
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from tirscript.ir.forks import renew_in_children

if TYPE_CHECKING:
    from pathlib import Path

    from tirscript.ir.dtype import DType

    from .c_library import CFunction

_functions: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()
renew_in_children(globals(), "_lock", threading.Lock)
_own = threading.local()


class linked:
    """Inside of a `with`, names of library functions mean first of all these, which belong to the program at hand."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.functions = functions

    def __enter__(self) -> None:
        self.before = own_functions()
        _own.functions = {**self.before, **self.functions}

    def __exit__(self, *exception: object) -> None:
        _own.functions = self.before


def own_functions() -> dict[str, Callable[..., Any]]:
    """The functions of the innermost `linked` of this thread."""
    found: dict[str, Callable[..., Any]] = getattr(_own, "functions", {})
    return found


def register_library(
    name: str,
    function: Callable[..., Any] | EllipsisType | None = ...,
    *,
    symbol: str | None = None,
    library: str | Path | ctypes.CDLL | None = None,
    signature: Sequence[str] | None = None,
    returns: str | None = None,
    override: bool = False,
) -> Callable[..., Any]:
    """Give a function the name by which programs call it; returns what stands for it.

    A Python function is called with numpy arrays that share the program's memory and with Python scalars, and gives an
    int (0 for None, or for one of the arrays that it was given).

    A C function is the `symbol` of a shared library (a path, or what ctypes loaded; without one it is looked for in
    this process) with its `signature` (`backend/runtime/c_library.py`), or a function of ctypes that has `argtypes`.
    Native code calls it without Python, and without the GIL; `returns` is None, or "int32" for a status. A built
    function keeps the C function that it was built with.

    With the name alone it is a decorator: `@register_library("my.function")`.

    A name taken by another function is an error unless `override`. Raises ValueError for that and for signatures that
    cannot be read, OSError and AttributeError for libraries and symbols that are not there, TypeError for arguments
    that do not go together.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"a library function's name is a string, not {name!r}")
    told = (symbol, library, signature, returns)
    if function is ...:
        if told == (None,) * 4:
            return partial(register_library, name, override=override)
        function = None
    if isinstance(function, CFuncPtr) or any(part is not None for part in told):
        from .c_library import c_function

        function = c_function(name, function, symbol, library, signature, returns)
    from tirscript.ir.node import Node

    if not callable(function) or isinstance(function, Node):
        why = f"but {function!r} cannot be called; a function of C has `symbol=` and `signature=`"
        raise TypeError(f"{name} is to be registered, {why}")
    with _lock:
        if not override and not _same(_functions.get(name, function), function):
            raise ValueError(f"library function {name!r} is registered already; pass override=True to replace it")
        _functions[name] = function
    return function


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other) or not _is_c(one):
        return False
    return bool(one.address == other.address and one.described == other.described)


def _is_c(function: Any) -> bool:
    from .c_library import CFunction

    return type(function) is CFunction


def unregister_library(name: str) -> None:
    """Forget the library function of that name; nothing where there is none."""
    with _lock:
        _functions.pop(name, None)


def get_library(name: str) -> Callable[..., Any] | None:
    """The library function of that name, or None."""
    own = own_functions()
    return own[name] if name in own else _functions.get(name)


def library_names() -> tuple[str, ...]:
    """The names of all registered library functions, and of those that belong to the program at hand."""
    return (*own_functions(), *_functions)


def c_library(name: str) -> CFunction | None:
    """The C function of that name, or None where there is none, or it is one of Python."""
    found: Any = get_library(name)
    return found if found is not None and _is_c(found) else None


def call_library(
    function: Callable[..., Any], args: Sequence[Any], span: Any, kinds: Sequence[DType | None] = ()
) -> Any:
    """Call a library function; what a C function does not take is told at `span`. `kinds` are dtypes of scalars."""
    found: Any = function
    return found.call(args, span, kinds) if _is_c(found) else function(*args)
