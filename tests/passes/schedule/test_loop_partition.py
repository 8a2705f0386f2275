"""loop_partition: what is proved to hold throughout a part is not asked there."""

from __future__ import annotations

from helpers.programs import prim_func

from tirscript.passes.schedule import Schedule
from tirscript.testing import assert_same_result

BORDER = """
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            T.where({where})
            B[vi] = T.if_then_else(1 <= vi and vi < 31, A[vi - 1], T.float32(0))
"""


def parts(schedule: Schedule) -> list[str]:
    return schedule.func.script().split("with T.block")[1:]


def test_conditions_of_values_are_left_out_where_they_hold_and_where_they_do_not() -> None:
    func = prim_func(BORDER.format(where="True"))
    schedule = Schedule(func)
    schedule.loop_partition("i", [1, 29, None])
    first, middle, last = parts(schedule)
    assert "B[vi] = 0.0" in first and "B[vi] = A[vi - 1]" in middle
    assert "1 <= vi" not in last and "vi < 31" in last  # the end of the last part has both
    assert_same_result(func, schedule.func)


def test_predicates_of_blocks_are_left_out_where_they_hold() -> None:
    func = prim_func(BORDER.format(where="i < 17"))
    schedule = Schedule(func)
    schedule.loop_partition("i", [16, None])
    first, second = parts(schedule)
    assert "T.where" not in first and "T.where(i_1 < 17)" in second
    assert_same_result(func, schedule.func)


def test_what_is_asked_of_memory_stays() -> None:
    """It may have changed since by another name."""
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((32,), "int32")):
    V = T.decl_buffer((4,), "int32", data=A.data)
    for i in range(32):
        if A[0] > 0:
            V[0] = V[0] - 1
            B[i] = T.if_then_else(A[0] > 0, 1, 2)
""")
    schedule = Schedule(func)
    schedule.loop_partition("i", [16, None])
    assert schedule.func.script().count("if A[0] > 0 else 2") == 2
