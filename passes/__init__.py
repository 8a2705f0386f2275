"""Passes from program to program, and the pipelines of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .access import access_regions
    from .bisection import Broken, bisect
    from .instruments import DumpEach, PrintAfter, PrintBefore, PrintChanged, RoundTripEach, Skip, Timing, VerifyEach
    from .lowering import DEFAULT_LOWERING
    from .pipeline import (
        PASSES,
        Instrument,
        Pass,
        PassContext,
        Sequential,
        get_pass,
        graph_func_pass,
        module_pass,
        prim_func_pass,
    )
    from .simplify import simplified

# public names by the modules that have them; loaded when asked for: code from the cache needs few of them
_MODULES = {
    "access": ("access_regions",),
    "bisection": ("Broken", "bisect"),
    "instruments": (
        *("DumpEach", "PrintAfter", "PrintBefore", "PrintChanged", "RoundTripEach", "Skip", "Timing", "VerifyEach"),
    ),
    "lowering": ("DEFAULT_LOWERING",),
    "pipeline": (
        *("PASSES", "Instrument", "Pass", "PassContext", "Sequential", "get_pass"),
        *("graph_func_pass", "module_pass", "prim_func_pass"),
    ),
    "simplify": ("simplified",),
}
_NAMES = {name: module for module, names in _MODULES.items() for name in names}
_PACKAGES = ("constants", "graph", "layouts", "lint", "lower", "schedule")

__all__ = [
    "DEFAULT_LOWERING",
    "PASSES",
    "Broken",
    "DumpEach",
    "Instrument",
    "Pass",
    "PassContext",
    "PrintAfter",
    "PrintBefore",
    "PrintChanged",
    "RoundTripEach",
    "Sequential",
    "Skip",
    "Timing",
    "VerifyEach",
    "access_regions",
    "bisect",
    "get_pass",
    "graph_func_pass",
    "module_pass",
    "prim_func_pass",
    "simplified",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    where = _NAMES.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{where}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
