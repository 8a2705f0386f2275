"""Traces whose steps name variables and buffers of the program."""

import pytest

from tirscript import Schedule
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.func import PrimFunc
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
