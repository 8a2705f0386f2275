"""Random schedules: each accepted step leaves a legal program, and all of them together the results."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings

from tirscript.ir import structural_equal
from tirscript.passes.schedule import Schedule, Trace
from tirscript.script import parse
from tirscript.testing import assert_same_result, schedules

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 200


@pytest.mark.long
@given(schedules())
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_random_schedule_leaves_the_results(case) -> None:
    program, schedule = case
    text = schedule.script()
    assert structural_equal(parse(text), schedule.func), text
    assert parse(text).script() == text
    assert Trace.parse(str(schedule.trace)).replay(Schedule(program)).script() == text, str(schedule.trace)
    assert_same_result(program, schedule.func)
