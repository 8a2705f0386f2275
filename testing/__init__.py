"""Helpers for testing programs: the examples with their references, comparing of results, and random programs.

`programs()` and `inputs_for(func)` are hypothesis strategies; hypothesis is needed by them only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compare import copies, largest_error, tolerance
from .examples import Example, examples, try_example

if TYPE_CHECKING:
    from .random_inputs import inputs_for
    from .random_programs import programs

_LAZY = {"programs": "random_programs", "inputs_for": "random_inputs"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


__all__ = ["Example", "copies", "examples", "inputs_for", "largest_error", "programs", "tolerance", "try_example"]
