"""Helpers for testing programs and passes: golden files, asserts, the examples with their references, random programs.

The fixture `golden` comes with the pytest plugin `tirscript.testing.plugin`. `programs()`, `inputs_for(func)`,
`schedules()` and `graphs()` are hypothesis strategies; hypothesis is needed by them only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asserts import assert_round_trip, assert_structural_equal
    from .compare import copies, largest_error, tolerance
    from .example_kernels import Example, examples, try_example
    from .expect import expect_error
    from .golden import Golden, GoldenMismatch
    from .random_graphs import graphs
    from .random_inputs import inputs_for
    from .random_programs import programs
    from .random_schedules import schedules
    from .results import assert_same_result

# where the names are; loaded when asked for, since every run of pytest loads this package
_NAMES = {
    "Example": "example_kernels",
    "Golden": "golden",
    "GoldenMismatch": "golden",
    "assert_round_trip": "asserts",
    "assert_same_result": "results",
    "assert_structural_equal": "asserts",
    "copies": "compare",
    "examples": "example_kernels",
    "expect_error": "expect",
    "graphs": "random_graphs",
    "inputs_for": "random_inputs",
    "largest_error": "compare",
    "programs": "random_programs",
    "schedules": "random_schedules",
    "tolerance": "compare",
    "try_example": "example_kernels",
}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "Example",
    "Golden",
    "GoldenMismatch",
    "assert_round_trip",
    "assert_same_result",
    "assert_structural_equal",
    "copies",
    "examples",
    "expect_error",
    "graphs",
    "inputs_for",
    "largest_error",
    "programs",
    "schedules",
    "tolerance",
    "try_example",
]
