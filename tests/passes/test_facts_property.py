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
SHARE = 5  # passes that look at the same programs, which take longer to draw than to check
# each pass sees 20; `make fuzz-proofs` draws TIRSCRIPT_CASES for each pass
PROGRAMS = int(os.environ.get("TIRSCRIPT_CASES", "0")) * SHARE or 20


@pytest.mark.parametrize(
    "names", [PASSES[at : at + SHARE] for at in range(0, len(PASSES), SHARE)], ids=lambda names: names[0]
)
def test_passes_leave_the_results_of_a_program_with_facts(names: tuple[str, ...]) -> None:
    entries = [next(iter(Sequential.parse(name))) for name in names]

    @given(programs_with_facts())
    @settings(max_examples=PROGRAMS, deadline=None, suppress_health_check=list(HealthCheck))
    def hold(case: Case) -> None:
        func = case.func
        wanted = outcome(func, case.arguments)
        assert wanted[0][0] != "error", f"{wanted}\n{func.script()}"
        assert not str(wanted[0][1]).startswith("the assumption"), f"{wanted}\n{func.script()}"
        for entry in entries:
            after = entry(func)
            if after is func:
                continue
            assert verify(after) == [], f"{entry}\n{func.script()}\n{after.script()}"
            assert structural_equal(parse(after.script()), after), f"{entry}\n{after.script()}"
            if outcome(after, case.arguments) != wanted:
                raise AssertionError(f"{entry} changed the result of\n{func.script()}\nto\n{after.script()}")

    hold()


def test_the_programs_give_every_pass_something_to_do() -> None:
    entries = [next(iter(Sequential.parse(name))) for name in PASSES]
    changed: Counter[str] = Counter()

    @given(programs_with_facts())
    @settings(max_examples=40, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def count(case: Case) -> None:
        changed.update(name for name, entry in zip(PASSES, entries, strict=True) if entry(case.func) is not case.func)

    count()
    assert {name for name in PASSES if changed[name] < 2} == set(), changed
