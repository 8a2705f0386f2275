"""Temporaries that lie where the result is stored."""

from __future__ import annotations

import pytest
from helpers.programs import prim_func

from tirscript.ir import PrimFunc
from tirscript.ir.stmt import Block, DeclBuffer
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.testing import assert_same_result

SHARES = """
@T.prim_func
def main(A: T.Buffer((6, 9)), B: T.Buffer((6, 9){kind})):
    power = T.alloc_buffer((6, 9))
    total = T.alloc_buffer((6,))
    for i, j in T.grid(6, 9):
        with T.block("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(A[vi, vj])
    for i, j in T.grid(6, 9):
        with T.block("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = 0.0
            total[vi] += power[vi, vj]
    for i, j in T.grid(6, 9):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = power[{read}] / total[vi]
"""
IN_ONE_LOOP = """
@T.prim_func
def main(A: T.Buffer((6, 9)), B: T.Buffer((6, 9))):
    power = T.alloc_buffer((6, 9))
    total = T.alloc_buffer((6,))
    for {loop} in {kind}(6):
        for j in range(9):
            with T.block("power"):
                vi, vj = T.axis.remap("SS", [i, j])
                power[vi, vj] = T.exp(A[vi, vj])
        for j in range(9):
            with T.block("total"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    total[vi] = 0.0
                total[vi] += power[vi, vj]
        for j in range(9):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = power[vi, vj] / total[vi]
"""


def shares(kind: str = "", read: str = "vi, vj", **changes: str) -> PrimFunc:
    text = SHARES.format(kind=kind, read=read)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return prim_func(text)


def inside(func: PrimFunc) -> PrimFunc:
    """All that a function does in one block, behind the views that it has."""
    views = tuple(stmt for stmt in func.body if type(stmt) is DeclBuffer)
    return func.replace(body=(*views, Block("all", (), tuple(stmt for stmt in func.body if stmt not in views))))


@pytest.mark.parametrize(
    "func",
    [
        shares(),
        inside(shares()),
        *(prim_func(IN_ONE_LOOP.format(loop="i", kind=kind)) for kind in ("range", "T.parallel", "T.unroll")),
    ],
)
@pytest.mark.parametrize("which", [0, "power"])
def test_a_temporary_lies_in_the_result(func: PrimFunc, which: int | str) -> None:
    s = Schedule(func, verify=True)
    s.write_in_place("B", which)
    assert "power = " not in s.script() and "B[vi, vj] = B[vi, vj] / total[vi]" in s.script()
    assert_same_result(func, s.func)
    assert Trace.parse(str(s.trace)).replay(Schedule(func)).script() == s.script()


def test_the_result_may_be_read_behind() -> None:
    func = shares(change=(STORE, STORE + BESIDE))
    s = Schedule(func, verify=True)
    s.write_in_place("B", "power")
    assert_same_result(func, s.func)


LATER = """
    for i, j in T.grid(6, 9):
        with T.block("later"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = power[vi, vj]
"""
BESIDE = LATER.replace("A[vi, vj] = power[vi, vj]", "A[vi, vj] = B[vi, vj]")
IF = "            if vj < 4:\n                B[vi, vj] = power[vi, vj] / total[vi]"
AGAIN = """    for i, j, k in T.grid(6, 9, 2):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj] = power[vi, vj] / total[vi]"""
VIEW = "    V = T.decl_buffer((6, 9), data=B.data)\n"
BARE = "\n    A[0, 0] = B[0, 0]"
ASKED = LATER.replace("A[vi, vj] = power[vi, vj]", "T.where(B[i, j] > 0.0)\n            A[vi, vj] = 1.0")
CROSSED = IN_ONE_LOOP.format(loop="i", kind="range").replace(
    'vi, vj = T.axis.remap("SR", [i, j])',
    "vi = T.axis.spatial(6, 5 - i)\n                vj = T.axis.reduce(9, j)",
)
TOTAL = "    total = T.alloc_buffer((6,))"
STORE = "            B[vi, vj] = power[vi, vj] / total[vi]"
WHOLE = SHARES[SHARES.rindex("    for i, j") :].format(read="vi, vj").rstrip()


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (shares(', "float64"', read="vi, vj"), "differ in shape, dtype or scope"),
        (shares(read="vi, 8 - vj"), "it reads another element than it writes"),
        (shares(change=(STORE, STORE + LATER)), "`power` is used behind the block `B`"),
        (shares(change=(TOTAL, TOTAL + BESIDE)), "`B` is used besides"),
        (shares(change=(TOTAL, TOTAL + BARE)), "`B` is accessed outside of blocks"),
        (inside(shares(change=(TOTAL, TOTAL + BARE))), "`B` is accessed outside of blocks"),
        (shares(change=(TOTAL, TOTAL + ASKED)), "`B` is accessed outside of blocks"),
        (
            inside(shares(change=(TOTAL, VIEW + TOTAL + BESIDE), view=(STORE, STORE.replace("B[", "V[")))),
            "reached by a view",
        ),
        (shares(change=(STORE, IF)), "since its store is conditional"),
        (shares(change=(WHOLE, AGAIN)), "it may write an element more than once"),
        (shares(change=(WHOLE, WHOLE.replace("T.grid(6, 9)", "T.grid(3, 9)"))), "not proved"),
        (shares(change=("    power = ", '    T.func_attr({"noalias": False})\n    power = ')), "may overlap"),
        (
            prim_func(IN_ONE_LOOP.format(loop="i", kind="T.vectorized")),
            "the loop `i`, which both are in, is vectorized",
        ),
        (prim_func(CROSSED), "not known to use elements of `power` of their own"),
    ],
)
def test_what_would_be_overwritten_too_early_is_refused(func: PrimFunc, message: str) -> None:
    s = Schedule(func)
    with pytest.raises(ScheduleError, match=message):
        s.write_in_place("B", "power")
    assert s.script() == Schedule(func).script()


def test_parameters_and_other_names_are_refused() -> None:
    for which, message in (("A", "reads no `A`"), ("total", "differ in shape"), (5, "none at 5")):
        with pytest.raises(ScheduleError, match=message):
            Schedule(shares()).write_in_place("B", which)
    with pytest.raises(ScheduleError, match="`A` is not allocated beside the block"):
        Schedule(shares()).write_in_place("power", "A")


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_made_where_they_are_stored(threads: int) -> None:
    func = prim_func(shares().script().replace("(6, 9)", "(60, 90)").replace("(6,)", "(60,)"))
    made = default_schedule(func, CpuFacts(vector_bits=128, threads=threads)).func
    assert "power = " not in made.script()
    assert_same_result(func, made, tolerance=1e-4)
