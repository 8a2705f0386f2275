"""What a refused step says, and when that is worked out."""

from __future__ import annotations

import pickle
import traceback
from typing import Any

import pytest

from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.printer import positions
from tirscript.script import tir as T


@T.prim_func
def copied(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


def refused(sch: Schedule) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        sch.contract("copy")
    return caught.value


def test_it_shows_the_program_as_it_was_when_it_was_refused() -> None:
    sch = Schedule(copied)
    problem = refused(sch)
    sch.fuse(*sch.get_loops("copy"))
    (told,) = problem.diagnostics
    assert told.span is not None and told.span.source.text == str(copied)
    assert "T.grid(8, 8)" in str(problem) and "^" in str(problem)
    assert problem.diagnostics[0] is told  # once
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


def test_who_only_tries_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(*args: object, **options: object) -> object:
        raise AssertionError("printed for nobody")

    monkeypatch.setattr(positions, "print_with_positions", printed)
    assert refused(Schedule(copied)).code == "T501"
    default_schedule(copied, CpuFacts(vector_bits=512, threads=2))


@pytest.mark.parametrize(
    ("step", "message", "hint"),
    [
        (lambda sch: sch.split("i", factor=[None, 4]), "there is no argument `factor`", "did you mean `factors`?"),
        (lambda sch: sch.split("i", 4), "`factors` takes a sequence", "write `[None, 4]`"),
        (lambda sch: sch.reorder(sch.get_loops("copy")), "`loops` stands in brackets", "take them away"),
    ],
)
def test_wrong_arguments_are_told_with_the_way_out(step: Any, message: str, hint: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        step(Schedule(copied))
    (told,) = caught.value.diagnostics
    assert told.code == "T503" and message in told.message and hint in (told.hint or "")


def test_a_refusal_tells_nothing_of_how_it_was_found() -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule(copied).transform_layout("copy", "A", lambda i, j: (i / 2, j))
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("owner", "name", "near"), [(Schedule(copied), "splt", "split"), (T, "Bufer", "T.Buffer")])
def test_a_name_is_suggested_once(owner: Any, name: str, near: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    lines = traceback.format_exception(caught.value)
    assert lines[-1].count("id you mean") == 1 and f"did you mean `{near}`?" in lines[-1]
