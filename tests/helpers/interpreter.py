"""Short ways to run a program in the interpreter and to catch what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tirscript.backend.interpreter import interpret
from tirscript.ir import DiagnosticError
from tirscript.script import parse

HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"


def program(text: str) -> Any:
    """A function or module from its text, without the header."""
    return parse(HEADER + text.lstrip("\n"))


def unchecked(text: str) -> Any:
    """One that the verifier would refuse."""
    return program(text.replace("@T.prim_func\n", "@T.prim_func(check_well_formed=False)\n"))


def failure(*args: Any, **kwargs: Any) -> Any:
    """The one diagnostic of a run."""
    with pytest.raises(DiagnosticError) as caught:
        interpret(*args, **kwargs)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
