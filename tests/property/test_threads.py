"""Random programs whose loops run at once: all that is independent is, on 1, 2 and 4 threads, and leaves the same."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from helpers.programs import after, agree, calls
from hypothesis import given, note, settings

import tirscript
from tirscript.backend.llvm import parallel
from tirscript.ir import Break, For, PrimFunc, rewrite, walk
from tirscript.ir.arith.presburger import Dependences, may_parallel
from tirscript.passes import DEFAULT_LOWERING


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every loop is worth threads."""
    monkeypatch.setattr(parallel, "WORK", 0.0)
    monkeypatch.setattr(parallel, "ROUSE", 0.0)
    before = tirscript.get_num_threads()
    yield
    tirscript.set_num_threads(before)


def at_once(program: PrimFunc) -> PrimFunc:
    """The program with all loops parallel whose iterations are proved independent."""

    def settle(loop: For) -> For:
        if loop.kind != "serial" or any(type(node) is Break for node in walk(loop.body)):
            return loop
        return loop.replace(kind="parallel") if may_parallel(Dependences((loop,), within=program), loop) else loop

    changed: PrimFunc = rewrite(program, {For: settle})
    return changed


@settings(max_examples=60)
@given(calls())
def test_threads_leave_what_the_interpreter_leaves(call: tuple[PrimFunc, list[Any]]) -> None:
    program, arguments = call
    lowered = at_once(DEFAULT_LOWERING(program))
    note(lowered.script())
    arrays, result = after(partial(tirscript.interpret, program), arguments)
    function = tirscript.build(lowered, pipeline=None)
    for threads in (1, 2, 4):
        tirscript.set_num_threads(threads)
        found, returned = after(function, arguments)
        for buffer, a, b in zip(program.param_buffers, arrays, found, strict=True):
            assert agree(buffer.name, a, b), f"{threads} threads, {buffer.name}:\n{a!r}\nagainst\n{b!r}"
        assert result is returned or result == returned or (result != result and returned != returned)
