"""Random programs through every pass: legal, readable, and with the same results."""

from __future__ import annotations

from helpers.outcomes import outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirscript.ir import structural_equal
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.script import parse
from tirscript.testing import inputs_for, programs


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
