"""Random programs with facts in them through each pass that uses facts: legal, readable, and with the same results."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from helpers.outcomes import outcome
from hypothesis import HealthCheck, given, settings

from tirscript.ir import structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.pipeline import Sequential
from tirscript.script import parse
from tirscript.testing.random_facts import Case, programs_with_facts

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 20
PASSES = (
    "check_constraints",
    "remove_no_op",
    "hoist_expression",
    "reduce_loop_extents",
    "reduce_loop_extents{symbolic=true}",
    "remove_branching_through_overcompute",
    "remove_overcompute_through_branching",
    "remove_assume",
    "remove_undef",
    "common_subexpression",
    "merge_conditionals",
    "merge_adjacent_loops",
    "loop_partition",
    "simplify",
    "simplify{contents=true}",
)
SETTINGS = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_leaves_the_results_of_a_program_with_facts(name: str) -> None:
    (entry,) = Sequential.parse(name)

    @given(programs_with_facts())
    @SETTINGS
    def holds(case: Case) -> None:
        func = case.func
        wanted = outcome(func, case.arguments)
        assert wanted[0][0] != "error", f"{wanted}\n{func.script()}"
        assert not str(wanted[0][1]).startswith("the assumption"), f"{wanted}\n{func.script()}"
        after = entry(func)
        if after is func:
            return
        assert verify(after) == [], f"{entry}\n{func.script()}\n{after.script()}"
        assert structural_equal(parse(after.script()), after), f"{entry}\n{after.script()}"
        if outcome(after, case.arguments) != wanted:
            raise AssertionError(f"{entry} changed the result of\n{func.script()}\nto\n{after.script()}")

    holds()


def test_the_programs_give_every_pass_something_to_do() -> None:
    entries = [next(iter(Sequential.parse(name))) for name in PASSES]
    changed: Counter[str] = Counter()

    @given(programs_with_facts())
    @settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def count(case: Case) -> None:
        changed.update(name for name, entry in zip(PASSES, entries, strict=True) if entry(case.func) is not case.func)

    count()
    assert {name for name in PASSES if changed[name] < 2} == set(), changed
