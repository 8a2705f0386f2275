"""Traces whose steps name variables and buffers of the program."""

import math
from typing import Any

import numpy as np
import pytest

from tirscript import Schedule
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Var, const
from tirscript.ir.func import PrimFunc
from tirscript.passes.schedule import ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.trace import Trace
from tirscript.script import parse


def transposition(rows: int | str, columns: int | str) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def transpose(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, ({columns}, {rows}), "float32")
    B = T.match_buffer(b, ({rows}, {columns}), "float32")
    for i, j in T.grid({rows}, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(("sizes", "named"), [((64, 256), "T.address_of(B[0, 0])"), ((40, "n"), "n // 16 * 16")])
def test_a_trace_is_replayed_on_another_program(sizes: tuple[int, int | str], named: str) -> None:
    made = default_schedule(transposition(*sizes), CpuFacts(512, 1, cache=1))
    assert named in str(made.trace)
    read = Trace.parse(str(made.trace))
    assert str(read) == str(made.trace)
    for trace in (made.trace, read):
        assert trace.replay(Schedule(transposition(*sizes))).script() == made.script()


@pytest.mark.parametrize(
    ("length", "why"),
    [
        ("m // 2", "`m // 2` in the trace is no value: `m` is not defined"),
        ("m", "the trace uses `m` before it is made"),
        ("n[0] // 2", "`n[0] // 2` in the trace is no value"),
        ("T.min(n, 'a')", "`T.min(n, 'a')` in the trace is no value"),
        ("n // __import__('os').getpid()", "calls something else than functions of T"),
        ("T.min(n, open('x'))", "calls something else than functions of T"),
        ("f'{n}'", "is not a plain value"),
        ("[i for i in n]", "is not a plain value"),
    ],
)
def test_what_is_no_value_is_refused(length: str, why: str) -> None:
    with pytest.raises(DiagnosticError, match="T503") as raised:
        text = f"def apply(sch):\n    sch.loop_partition('j', [{length}, None])\n"
        Trace.parse(text).replay(Schedule(transposition(40, "n")))
    assert why in str(raised.value)


def test_a_number_is_one_that_the_program_names() -> None:
    text = "def apply(sch):\n    sch.loop_partition('j', [T.min(n, 3), None])\n"
    made = Trace.parse(text).replay(Schedule(transposition(40, "n")))
    assert "for j_0 in range(T.min(n, 3)):" in made.script()


TURNED = transposition(8, 8)


def test_floats_without_a_literal_and_numbers_of_numpy_are_read_back() -> None:
    values = [math.inf, [-math.inf, {"a": math.inf}], np.float32(0.5), np.float32("inf"), np.int64(3), np.bool_(True)]
    values += [TURNED.params[2], math.nan]
    schedule = Schedule(TURNED)
    for at, value in enumerate(values):
        schedule.annotate("B", f"a{at}", value)
    again = Schedule(TURNED)
    Trace.parse(str(schedule.trace)).replay(again)
    assert again.func.script() == schedule.func.script()
    assert str(again.trace) == str(schedule.trace)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda s, q: s.split("i", [q, None]), "has no such variable as `q`"),
        (lambda s, q: s.annotate("B", "a", {"b": [q + 1]}), "has no such variable as `q`"),
        (lambda s, q: s.annotate("B", "a", endless()), "in themselves, cannot be an annotation"),
        (lambda s, q: s.annotate("B", "a", 1j), "complex cannot be an annotation"),
        (lambda s, q: s.annotate("B", "a", np.longdouble(1)), "longdouble cannot be an annotation"),
    ],
)
def test_values_that_no_program_holds_are_refused(step: Any, words: str) -> None:
    schedule = Schedule(TURNED)
    with pytest.raises(ScheduleError, match=words):
        step(schedule, Var("q"))
    assert schedule.func is TURNED


def endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "value",
    [const(value, dtype) for dtype in ("int32", "int64", "bool") for value in (0, 1)]
    + [const(value, dtype) for dtype in ("float16", "float32", "float64") for value in (1.5, math.inf, -math.inf)]
    + [2, True, 1.5, math.inf],
)
def test_annotated_numbers_keep_their_dtypes(value: Any) -> None:
    annotated = Schedule(transposition(40, "n"))
    annotated.annotate("B", "value", value)
    read = Trace.parse(str(annotated.trace))
    assert str(read) == str(annotated.trace)
    assert structural_equal(read.replay(Schedule(transposition(40, "n"))).func, annotated.func)
