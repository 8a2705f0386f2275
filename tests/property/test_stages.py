"""Every stage of lowering is a program: it prints, parses, and is well formed."""

from __future__ import annotations

from hypothesis import given, note

from tirscript.ir import PrimFunc, differences
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse
from tirscript.testing import programs


@given(programs())
def test_every_stage_is_a_program(program: PrimFunc) -> None:
    note(program.script())
    stage = program
    for step in DEFAULT_LOWERING.passes:
        stage = step(stage)
        text = stage.script()
        note(f"after {step.name}:\n{text}")
        assert [str(found) for found in verify(stage)] == []
        again = parse(text)
        assert [str(found) for found in differences(stage, again)] == []
        assert again.script() == text
