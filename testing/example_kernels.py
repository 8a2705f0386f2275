"""The kernels of the examples folder, each with its inputs and its numpy reference."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from tirscript.ir import PrimFunc

from .compare import copies, largest_error, tolerance


class Example(NamedTuple):
    """A kernel, how to make arguments for it, and what does the same in numpy."""

    name: str
    kernel: PrimFunc
    inputs: Callable[..., Sequence[Any]]
    reference: Callable[..., None]


def examples() -> Iterator[Example]:
    """Every example, in the order of the names of their files."""
    import tirscript.examples as folder

    for found in sorted(pkgutil.iter_modules(folder.__path__), key=lambda item: item.name):
        module = import_module(f"{folder.__name__}.{found.name}")
        yield Example(found.name, getattr(module, found.name), module.inputs, module.reference)


def try_example(kernel: PrimFunc, inputs: Callable[..., Sequence[Any]], reference: Callable[..., None]) -> None:
    """Show a kernel, run it natively and in numpy, and raise AssertionError where the results differ."""
    import numpy as np

    import tirscript

    kernel.show()
    given = inputs(np.random.default_rng(0))
    native, expected = copies(given), copies(given)
    tirscript.build(kernel)(*native)
    reference(*expected)
    error = largest_error(native, expected)
    assert error <= tolerance(given), f"{kernel.name} differs from numpy by {error:g}"
    print(f"\n{kernel.name} agrees with numpy (largest error {error:.1g})")
