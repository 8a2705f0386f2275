"""Random programs in C leave what the interpreter leaves."""

from __future__ import annotations

import shutil
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import PrimFunc
from tirscript.testing import copies, inputs_for, programs

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
ROUGH = {2: 4e-2, 4: 1e-4, 8: 1e-9}  # of what is stored to `approx`, by the size of the element


@st.composite
def calls(draw: Any) -> tuple[PrimFunc, list[Any]]:
    program = draw(programs())
    return program, draw(inputs_for(program))


def run(function: Any, arguments: list[Any]) -> tuple[list[Any], Any]:
    """The arrays after a call, and what it returned; of a call that fails, nothing but how."""
    given_arguments = copies(arguments)
    try:
        result = function(*given_arguments)
    except AssertionError:
        return [], "an assertion"
    return [item for item in given_arguments if isinstance(item, np.ndarray)], result


def agree(name: str, a: Any, b: Any) -> bool:
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    if name == "approx":
        rough = ROUGH[a.dtype.itemsize]
        return bool(np.isclose(wide_a, wide_b, rtol=rough, atol=1e-300 + rough * 1e-3, equal_nan=True).all())
    same = (wide_a == wide_b) & (np.signbit(wide_a) == np.signbit(wide_b))
    return bool((same | (np.isnan(wide_a) & np.isnan(wide_b))).all())


@settings(max_examples=12, deadline=None)
@given(calls(), st.booleans())
def test_c_leaves_what_the_interpreter_leaves(call: tuple[PrimFunc, list[Any]], debug: bool) -> None:
    program, arguments = call
    note(program.script())
    arrays, result = run(partial(tirscript.interpret, program), arguments)
    function = tirscript.build(program, target="c", opt_level=0, debug=debug)
    note(function.source()[-6000:])
    found, returned = run(function, arguments)
    assert isinstance(result, str) == isinstance(returned, str)
    if program.returns is not None and not isinstance(result, str):
        assert agree(program.name, np.array(result), np.array(returned).astype(np.array(result).dtype))
    for buffer, a, b in zip(program.param_buffers, arrays, found, strict=False):
        assert agree(buffer.name, a, b), f"{buffer.name}:\n{a!r}\nagainst\n{b!r}"
