"""Random programs through every pass: legal, readable, and with the same results."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.script import parse
from tirscript.testing import copies, inputs_for, programs

STEPS = 200_000


def outcome(func: PrimFunc, inputs: list[Any]) -> tuple[Any, list[bytes]]:
    """What a run returns or raises, and the bytes it leaves in its arguments."""
    args = copies(inputs)
    try:
        result = interpret(func, *args, max_steps=STEPS)
    except AssertionError as problem:
        return ("assert", str(problem)), []
    except DiagnosticError as problem:
        return ("error", problem.diagnostics[0].code), []
    return repr(result), [arg.tobytes() for arg in args if hasattr(arg, "tobytes")]


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_stage_of_a_random_program_means_the_same(data: st.DataObject) -> None:
    func = data.draw(programs())
    inputs = data.draw(inputs_for(func))
    wanted = outcome(func, inputs)
    for entry in (get_pass("infer_regions"), get_pass("simplify"), *DEFAULT_LOWERING):
        before = func
        func = entry(func)
        if func is before:
            continue
        assert verify(func) == [], f"{entry}\n{func.script()}"
        assert structural_equal(parse(func.script(constants="inline")), func), f"{entry}\n{func.script()}"
        if outcome(func, inputs) != wanted and wanted[0][0] != "error":
            raise AssertionError(f"{entry} changed the result of\n{before.script()}\nto\n{func.script()}")
