"""Statements outside of blocks that read what a moved block reads keep it where it is only if one of them writes it."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
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
