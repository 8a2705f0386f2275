"""Statements outside of blocks that read what a moved block reads keep it where it is only if one of them writes it."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result


def program(between: str) -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(V: T.Buffer((16,), "int32"), U: T.Buffer((16,), "int32"), W: T.Buffer((16,), "int32")):
    C = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = V[vi]
    {between}
    for i in range(16):
        with T.block("W"):
            vi = T.axis.spatial(16, i)
            W[vi] = C[vi]
""")
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize("between", ["U[0] = V[3]", "first = V[3]\n    U[0] = first"])
def test_reading_it_leaves_it(between: str) -> None:
    func = program(between)
    for step in ("at", "inline"):
        sch = Schedule(func)
        if step == "at":
            sch.compute_at("C", sch.get_loops("W")[0])
        else:
            sch.compute_inline("C")
        assert_same_result(func, sch.func)


@pytest.mark.parametrize("between", ["V[0] = 1", "first = V[3]\n    V[0] = first", "U[0] = V[3]\n    V[0] = 1"])
def test_writing_it_does_not(between: str) -> None:
    """Also behind a statement that only reads it."""
    sch = Schedule(program(between))
    with pytest.raises(ScheduleError, match="written outside of blocks"):
        sch.compute_at("C", sch.get_loops("W")[0])
    with pytest.raises(ScheduleError, match="written outside of blocks"):
        sch.compute_inline("C")


@pytest.mark.parametrize("between", ["U[0] = C[3]", "C[3] = 7", "U[0] = C[3]\n    C[3] = 7", "V[3] = 1"])
def test_copies_are_made_behind_what_writes(between: str) -> None:
    func = program(between)
    sch = Schedule(func)
    sch.cache_read("W", "C", "local")
    assert_same_result(func, sch.func)


def test_products_of_what_loops_outside_of_blocks_made_have_tiles() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((64, 64)), S: T.Buffer((64,)), C: T.Buffer((64, 64))):
    for j in range(64):
        S[j] = T.sqrt(A[0, j])
        if S[j] <= T.float32(0.1):
            S[j] = 1.0
        A[0, j] = S[j]
    for i in range(63):
        for j in range(i + 1, 64):
            C[i, j] = 0.0
            for k in range(64):
                C[i, j] += A[k, i] * A[k, j]
            C[j, i] = C[i, j]
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, 1))
    assert 'scope="local"' in made.script()
    assert_same_result(func, made, tolerance=1e-4)
