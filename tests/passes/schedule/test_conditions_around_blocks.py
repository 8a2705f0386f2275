"""An `if` or a `while` between loops and a block decides whether the block runs: no step leaves it out of account."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import get_pass
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse

BLOCK = """
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 1
        B[vi] = B[vi] + A[vi, vk]
"""
READER = """
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2
"""
LOOPS = {"i": "for i in range(8):", "k": "for k in range(40):"}


def program(order: str, depth: int, condition: str) -> PrimFunc:
    """A sum over `k` with a condition inside of so many of its loops, and a block that reads the sums."""
    lines = [LOOPS[name] for name in order]
    lines.insert(depth, condition)
    nest = [f"{'    ' * (at + 1)}{line}" for at, line in enumerate(lines)]
    block = re.sub("^", "    " * 3, BLOCK.strip("\n"), flags=re.MULTILINE)
    params = 'A: T.Buffer((8, 40), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")'
    func = parse("\n".join([f"@T.prim_func\ndef main({params}):", *nest, block, READER.strip("\n")]))
    assert isinstance(func, PrimFunc)
    return func


def left(func: Callable[..., Any]) -> list[list[int]]:
    """What the outputs hold after calls, of which one does not meet the conditions on memory."""
    found = []
    for first in (-1, 1):
        array = np.random.default_rng(3).integers(-9, 9, (8, 40), "int32")
        array[0, 0] = first
        sums, doubled = np.arange(8, dtype="int32") - 3, np.arange(8, dtype="int32")
        func(array, sums, doubled)
        found += [sums.tolist(), doubled.tolist()]
    return found


def interpreted(func: PrimFunc) -> list[list[int]]:
    return left(lambda *arrays: tirscript.interpret(func, *arrays))


PROGRAMS = {
    f"{condition} inside {depth} of {order}": program(order, depth, f"if {condition}:")
    for order in ("ik", "ki")
    for depth, conditions in enumerate(
        (["A[0, 0] > 0"], [f"{order[0]} % 2 == 0", f"{order[0]} > 2"], ["i + k < 9", "k > 2", "i % 2 == 0"])
    )
    for condition in conditions
}


def reader_to(schedule: Schedule) -> None:
    schedule.reverse_compute_at("C", schedule.get_loops("B")[0])


STEPS: dict[str, Callable[[Schedule], Any]] = {
    "decompose at the outer loop": lambda s: s.decompose_reduction("B", s.get_loops("B")[0]),
    "decompose at the inner loop": lambda s: s.decompose_reduction("B", s.get_loops("B")[1]),
    "rfactor": lambda s: s.rfactor("k"),
    "rfactor of lanes": lambda s: s.rfactor(s.split("k", [None, 8])[1]),
    "pad_einsum": lambda s: s.pad_einsum("B", [16, 16]),
    "transform_block_layout": lambda s: s.transform_block_layout("B", lambda i, k: (k, i)),
    "cache_write": lambda s: s.cache_write("B", 0, "global"),
    "cache_read of what it makes": lambda s: s.cache_read("C", "B", "global"),
    "cache_read": lambda s: s.cache_read("B", "A", "global"),
    "reverse_compute_at": reader_to,
    "reverse_compute_inline": lambda s: s.reverse_compute_inline("C"),
    "reorder": lambda s: s.reorder(*reversed(s.get_loops("B"))),
    "blockize": lambda s: s.blockize(s.get_loops("B")[1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_step_changes_the_results(name: str) -> None:
    func = PROGRAMS[name]
    wanted = interpreted(func)
    done = 0
    for step, move in STEPS.items():
        schedule = Schedule(func)
        try:
            move(schedule)
        except ScheduleError:
            continue
        done += 1
        assert interpreted(schedule.func) == wanted, f"{step}:\n{schedule}"
    assert done


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_default_schedule_keeps_the_results(name: str) -> None:
    wanted = interpreted(PROGRAMS[name])
    assert interpreted(get_pass("default_cpu")(PROGRAMS[name])) == wanted
    assert left(tirscript.build(PROGRAMS[name])) == wanted


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("decompose at the outer loop", "between the loop `i` and the block `B` stands an `if`"),
        ("rfactor", "between the loop `k` and the block `B` stands an `if`"),
        ("pad_einsum", "between the loop `i` and the block `B` stands an `if`"),
        ("cache_write", "an `if` decides whether the block `B` runs"),
    ],
)
def test_refusals_say_what_stands_there(step: str, words: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        STEPS[step](Schedule(PROGRAMS["k > 2 inside 2 of ik"]))
    (problem,) = caught.value.diagnostics
    assert words in problem.message
    assert "T.where" in (problem.hint or "")
    assert any(label.message == "here" for label in problem.labels)


def test_a_block_is_not_moved_under_a_condition() -> None:
    with pytest.raises(ScheduleError, match="an `if` decides whether the block `C` would run in the loop `i`"):
        reader_to(Schedule(PROGRAMS["A[0, 0] > 0 inside 0 of ik"]))


def test_what_a_condition_holds_alone_is_split_as_before() -> None:
    func = PROGRAMS["i % 2 == 0 inside 1 of ik"]
    schedule = Schedule(func)
    schedule.decompose_reduction("B", "k")  # inside of the condition
    assert interpreted(schedule.func) == interpreted(func)


def test_a_while_stands_between_too() -> None:
    func = parse(
        "@T.prim_func\n"
        'def main(A: T.Buffer((8, 40), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):\n'
        "    for k in range(40):\n"
        "        C[0] = 0\n"
        "        while C[0] < k % 3:\n"
        "            C[0] = C[0] + 1\n"
        "            for i in range(8):\n" + re.sub("^", "    " * 3, BLOCK.strip("\n"), flags=re.MULTILINE)
    )
    assert isinstance(func, PrimFunc)
    for step in ("decompose at the outer loop", "rfactor", "pad_einsum", "cache_write"):
        with pytest.raises(ScheduleError):
            STEPS[step](Schedule(func))
    assert left(tirscript.build(func)) == interpreted(func)
