"""Random programs through each pass that proves something first: legal, readable, and with the same results."""

from __future__ import annotations

import os

import pytest
from helpers.outcomes import outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirscript.ir import structural_equal
from tirscript.ir.verify import verify
from tirscript.passes import get_pass
from tirscript.passes.pipeline import Sequential
from tirscript.script import parse
from tirscript.testing import inputs_for, programs

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 20
PASSES = (
    "check_constraints",
    "remove_no_op",
    "hoist_expression",
    "hoist_expression{largest=10000}",
    "reduce_loop_extents",
    "reduce_loop_extents{symbolic=true}",
    "remove_branching_through_overcompute",
    "remove_overcompute_through_branching",
    "remove_assume",
    "common_subexpression",
    "merge_conditionals",
    "simplify{contents=true}",
)


@pytest.mark.parametrize("name", PASSES)
@given(data=st.data())
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_pass_leaves_the_results_of_a_random_program(name: str, data: st.DataObject) -> None:
    func = data.draw(programs())
    inputs = data.draw(inputs_for(func))
    wanted = outcome(func, inputs)
    (entry,) = Sequential.parse(name)
    after = entry(func)
    if after is func:
        return
    assert verify(after) == [], f"{entry}\n{func.script()}\n{after.script()}"
    assert structural_equal(parse(after.script(constants="inline")), after), f"{entry}\n{after.script()}"
    if wanted[0][0] != "error" and outcome(after, inputs) != wanted:
        raise AssertionError(f"{entry} changed the result of\n{func.script()}\nto\n{after.script()}")


def test_passes_are_there() -> None:
    assert all(get_pass(name.partition("{")[0]) for name in PASSES)
