"""Library functions by name, for `T.call_packed` and `G.call_dps_packed`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_functions: dict[str, Callable[..., Any]] = {}
_lock = threading.Lock()


def register_library(name: str, function: Callable[..., Any], *, override: bool = False) -> Callable[..., Any]:
    """Give `function` the name by which programs call it; returns it.

    It is called with numpy arrays that share the program's memory and with Python scalars, and gives an int (0 for
    None, or for one of the arrays that it was given). A name taken by another
    function is an error unless `override`.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"a library function's name is a string, not {name!r}")
    if not callable(function):
        raise TypeError(f"{name} is to be registered, but {function!r} cannot be called")
    with _lock:
        if not override and _functions.get(name, function) is not function:
            raise ValueError(f"library function {name!r} is registered already; pass override=True to replace it")
        _functions[name] = function
    return function


def unregister_library(name: str) -> None:
    """Forget the library function of that name; nothing where there is none."""
    with _lock:
        _functions.pop(name, None)


def get_library(name: str) -> Callable[..., Any] | None:
    """The library function of that name, or None."""
    return _functions.get(name)


def library_names() -> tuple[str, ...]:
    """The names of all registered library functions."""
    return tuple(_functions)
