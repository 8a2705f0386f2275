"""What live Python around a decorated definition knows: its frame, its names, its class."""

from __future__ import annotations

import functools
import sys
from types import FrameType, FunctionType
from typing import Any, NoReturn

from tirscript.ir.words import words

# modules whose functions decorate, or stand around those that do: what they decorate stands in the frame above theirs
_OURS = (__name__, f"{__package__}.entry", "tirscript.backend.build", "tirscript.ir.check")


def caller() -> FrameType | None:
    """The frame in which a decorator is called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in _OURS:
        frame = frame.f_back
    return frame


def in_class(function: FunctionType) -> bool:
    """Whether a function is a method of a class that `I.ir_module` decorates, which is being executed now."""
    frame = caller()
    return (
        frame is not None
        and "__qualname__" in frame.f_locals
        and function.__qualname__.startswith(f"{frame.f_locals['__qualname__']}.")
    )


def method_of_module(function: FunctionType) -> Any:
    """What stands for a method until `I.ir_module` reads its class: not called, since Python would run its text."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> NoReturn:
        cls = function.__qualname__.rpartition(".")[0]
        raise TypeError(f"`{function.__name__}` is a function of the class `{cls}`: decorate that with `@I.ir_module`")

    # tools find the source of a class by where its methods were compiled
    here = {"co_filename": function.__code__.co_filename, "co_firstlineno": function.__code__.co_firstlineno}
    method.__code__ = method.__code__.replace(**here)  # type: ignore[attr-defined, arg-type]
    return method


def wrongly_decorated(decorator: str, wanted: str, given: Any) -> TypeError:
    """What `decorator`, which reads the source of a function or of a class, is to raise for something else."""
    what, way = words(given), ""
    if isinstance(given, type):
        what, way = f"the class `{given.__name__}`", "; a class is a module, under `@I.ir_module`"
    elif isinstance(given, FunctionType):
        what, way = f"the function `{given.__name__}`", "; a function is under `@T.prim_func` or `@G.graph_func`"
    else:
        inner = getattr(given, "__wrapped__", None) or getattr(given, "fget", None)
        if isinstance(inner, FunctionType) and wanted == "function":
            what = f"what another decorator made of `{inner.__name__}`"
            way = f"; write `@{decorator}` directly above `def`, and that decorator above it"
    return TypeError(f"{decorator} decorates a {wanted}, not {what}{way}")


def locals_of(function: FunctionType) -> dict[str, Any]:
    """What the place that defines a nested function calls its own, whose names need not be free in that function."""
    frame = caller()
    if frame is not None and frame.f_code.co_name != "<module>" and frame.f_globals is function.__globals__:
        return dict(frame.f_locals)
    return {}


def names_of(function: FunctionType, local: dict[str, Any] | None = None) -> dict[str, Any]:
    """The globals and the closure of a function, and, for a nested one, what its body uses of the caller's locals."""
    # annotations are evaluated in the enclosing function, so their names are no free variables of this one
    names = {**function.__globals__, **(locals_of(function) if local is None else local)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    return names
