"""Random programs whose loops run at once: all that is independent is, on 1, 2 and 4 threads, and leaves the same."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import parallel
from tirscript.ir import Break, For, PrimFunc, rewrite, walk
from tirscript.ir.arith.presburger import Dependences, may_parallel
from tirscript.passes import DEFAULT_LOWERING
from tirscript.testing import copies, inputs_for, programs

ROUGH = {2: 4e-2, 4: 1e-4, 8: 1e-9}  # of what is stored to `approx`, by the size of the element


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every loop is worth threads."""
    monkeypatch.setattr(parallel, "WORK", 0.0)
    monkeypatch.setattr(parallel, "ROUSE", 0.0)
    before = tirscript.get_num_threads()
    yield
    tirscript.set_num_threads(before)


@st.composite
def calls(draw: Any) -> tuple[PrimFunc, list[Any]]:
    program = draw(programs())
    return program, draw(inputs_for(program))


def at_once(program: PrimFunc) -> PrimFunc:
    """The program with all loops parallel whose iterations are proved independent."""

    def settle(loop: For) -> For:
        if loop.kind != "serial" or any(type(node) is Break for node in walk(loop.body)):
            return loop
        return loop.replace(kind="parallel") if may_parallel(Dependences((loop,), within=program), loop) else loop

    changed: PrimFunc = rewrite(program, {For: settle})
    return changed


def run(function: Any, arguments: list[Any]) -> tuple[list[Any], Any]:
    given_arguments = copies(arguments)
    result = function(*given_arguments)
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


@settings(max_examples=60)
@given(calls())
def test_threads_leave_what_the_interpreter_leaves(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    lowered = at_once(DEFAULT_LOWERING(program))
    note(lowered.script())
    arrays, result = run(partial(tirscript.interpret, program), arguments)
    function = tirscript.build(lowered, pipeline=None)
    for threads in (1, 2, 4):
        tirscript.set_num_threads(threads)
        found, returned = run(function, arguments)
        for buffer, a, b in zip(program.param_buffers, arrays, found, strict=True):
            assert agree(buffer.name, a, b), f"{threads} threads, {buffer.name}:\n{a!r}\nagainst\n{b!r}"
        assert result is returned or result == returned or (result != result and returned != returned)
