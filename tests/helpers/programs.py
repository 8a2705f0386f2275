"""Programs for tests: of a text, random ones with arguments and what they leave, and the same at every run."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tirscript.ir import PrimFunc
from tirscript.script import parse
from tirscript.testing import copies, inputs_for, programs

ROUGH = {2: 4e-2, 4: 1e-4, 8: 1e-9}  # of what is stored to `approx`, by the size of the element


def prim_func(text: str) -> PrimFunc:
    """The one function that a text holds."""
    found = parse(text)
    assert isinstance(found, PrimFunc)
    return found


@st.composite
def calls(draw: Any) -> tuple[PrimFunc, list[Any]]:
    """A random program and arguments for it."""
    program = draw(programs())
    return program, draw(inputs_for(program))


def after(function: Any, arguments: list[Any]) -> tuple[list[Any], Any]:
    """The arrays after a call, and what it returned."""
    given_arguments = copies(arguments)
    result = function(*given_arguments)
    return [item for item in given_arguments if isinstance(item, np.ndarray)], result


def agree(name: str, a: Any, b: Any) -> bool:
    """Whether a buffer of that name holds the same bits, or nearly so where what is stored there is rounded freely."""
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    if name == "approx":
        rough = ROUGH[a.dtype.itemsize]
        return bool(np.isclose(wide_a, wide_b, rtol=rough, atol=1e-300 + rough * 1e-3, equal_nan=True).all())
    same = (wide_a == wide_b) & (np.signbit(wide_a) == np.signbit(wide_b))
    return bool((same | (np.isnan(wide_a) & np.isnan(wide_b))).all())


@functools.cache
def random_programs(count: int) -> tuple[PrimFunc, ...]:
    """So many random programs, which need not be runnable."""
    found: list[PrimFunc] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(runnable=False))
    def collect(program: PrimFunc) -> None:
        found.append(program)

    collect()
    return tuple(found)


def random_texts(count: int) -> list[str]:
    """Their texts."""
    return [program.script() for program in random_programs(count)]
