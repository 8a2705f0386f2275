"""Random programs run: the interpreter, native code, and every stage of lowering leave the same in the arguments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Buffer, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.testing import copies, inputs_for, programs

# of what is stored to `approx`, by the size of the element
ROUGH = {2: 4e-2, 4: 1e-4, 8: 1e-9}


@st.composite
def calls(draw: Any) -> tuple[PrimFunc, list[Any]]:
    """A program and arguments for it."""
    program = draw(programs())
    return program, draw(inputs_for(program))


def run(function: Any, arguments: list[Any]) -> tuple[list[Any], Any]:
    given_arguments = copies(arguments)
    result = function(*given_arguments)
    return [item for item in given_arguments if isinstance(item, np.ndarray)], result


def same_result(left: Any, right: Any) -> bool:
    return left is right or left == right or (left != left and right != right)


def check_same(program: PrimFunc, left: tuple[list[Any], Any], right: tuple[list[Any], Any]) -> None:
    buffers = program.param_buffers
    for buffer, a, b in zip(buffers, left[0], right[0], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert agree(buffer, a, b), f"{buffer.name}:\n{a!r}\nagainst\n{b!r}"
    assert same_result(left[1], right[1]), f"returned {left[1]!r} against {right[1]!r}"


def agree(buffer: Buffer, a: Any, b: Any) -> bool:
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    wide_a, wide_b = a.astype("float64"), b.astype("float64")
    if buffer.name != "approx":
        same = (wide_a == wide_b) & (np.signbit(wide_a) == np.signbit(wide_b))
        return bool((same | (np.isnan(wide_a) & np.isnan(wide_b))).all())
    rough = ROUGH[a.dtype.itemsize]
    return bool(np.isclose(wide_a, wide_b, rtol=rough, atol=1e-300 + rough * 1e-3, equal_nan=True).all())


@given(calls())
def test_interpreter_is_native(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    note(program.script())
    function = tirscript.build(program)
    interpreted = run(partial(tirscript.interpret, program), arguments)
    check_same(program, interpreted, run(function, arguments))


@pytest.mark.long
@given(calls())
def test_lowering_keeps_the_results(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    note(program.script())
    expected = run(partial(tirscript.interpret, program), arguments)
    stage = program
    for step in DEFAULT_LOWERING.passes:
        stage = step(stage)
        note(f"after {step.name}:\n{stage.script()}")
        check_same(program, expected, run(partial(tirscript.interpret, stage), arguments))
