"""Random programs run: the interpreter, native code, and every stage of lowering leave the same in the arguments."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from helpers.programs import after, agree, calls
from hypothesis import given, note

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING


def same_result(left: Any, right: Any) -> bool:
    return left is right or left == right or (left != left and right != right)


def check_same(program: PrimFunc, left: tuple[list[Any], Any], right: tuple[list[Any], Any]) -> None:
    buffers = program.param_buffers
    for buffer, a, b in zip(buffers, left[0], right[0], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert agree(buffer.name, a, b), f"{buffer.name}:\n{a!r}\nagainst\n{b!r}"
    assert same_result(left[1], right[1]), f"returned {left[1]!r} against {right[1]!r}"


@given(calls())
def test_interpreter_is_native(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    note(program.script())
    function = tirscript.build(program)
    interpreted = after(partial(tirscript.interpret, program), arguments)
    check_same(program, interpreted, after(function, arguments))


@pytest.mark.long
@given(calls())
def test_lowering_keeps_the_results(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    note(program.script())
    expected = after(partial(tirscript.interpret, program), arguments)
    stage = program
    for step in DEFAULT_LOWERING.passes:
        stage = step(stage)
        note(f"after {step.name}:\n{stage.script()}")
        check_same(program, expected, after(partial(tirscript.interpret, stage), arguments))
