"""Random programs in C leave what the interpreter leaves."""

from __future__ import annotations

import shutil
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.programs import agree, calls
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import PrimFunc
from tirscript.testing import copies

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def run(function: Any, arguments: list[Any]) -> tuple[list[Any], Any]:
    """The arrays after a call, and what it returned; of a call that fails, nothing but how."""
    given_arguments = copies(arguments)
    try:
        result = function(*given_arguments)
    except AssertionError:
        return [], "an assertion"
    return [item for item in given_arguments if isinstance(item, np.ndarray)], result


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
