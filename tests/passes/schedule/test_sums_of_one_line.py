"""Reductions along the same lines: one loop reads what they share."""

from __future__ import annotations

import pytest
from helpers.programs import prim_func

from tirscript.ir import For, PrimFunc, walk
from tirscript.ir.stmt import Block
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.testing import assert_same_result


def moments(
    rows: int, columns: int, first: str = "A[vi, vj]", second: str = "A[vi, vj] * A[vi, vj]", dtype: str = "float32"
) -> PrimFunc:
    return prim_func(f"""
@T.prim_func
def main(
    A: T.Buffer(({rows}, {columns}), "{dtype}"), D: T.Buffer(({rows}, {columns}), "{dtype}"),
    B: T.Buffer(({rows}, {columns}), "{dtype}"),
):
    mean = T.alloc_buffer(({rows},), "{dtype}")
    square = T.alloc_buffer(({rows},), "{dtype}")
    for i, j in T.grid({rows}, {columns}):
        with T.block("mean"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                mean[vi] = T.{dtype}(0)
            mean[vi] += {first}
    for i, j in T.grid({rows}, {columns}):
        with T.block("square"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                square[vi] = T.{dtype}(0)
            square[vi] += {second}
    for i, j in T.grid({rows}, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (A[vi, vj] - mean[vi]) * square[vi]
""")


def shared(func: PrimFunc) -> list[set[str]]:
    """The blocks of each innermost loop over lines of which several are updated."""
    found = []
    for node in walk(func.body):
        if type(node) is For and node.kind == "serial":
            inner = [one for one in node.body if type(one) is For and one.kind == "vectorized"]
            names = {block.name for one in inner for block in walk(one) if type(block) is Block}
            if len(names) > 1:
                found.append({name for name in names if "update" in name})
    return [names for names in found if len(names) > 1]


@pytest.mark.long
@pytest.mark.parametrize("columns", [512, 500, 130])
@pytest.mark.parametrize("bits", [512, 256, 128])
def test_sums_of_the_same_lines_share_a_loop(columns: int, bits: int) -> None:
    func = moments(40, columns)
    made = default_schedule(func, CpuFacts(vector_bits=bits, threads=2)).func
    assert shared(made) == [{"mean_rf_update", "square_rf_update"}]
    assert_same_result(func, made, tolerance=1e-3)


@pytest.mark.parametrize(
    "func",
    [
        moments(40, 512, second="(A[vi, vj] - mean[vi]) * (A[vi, vj] - mean[vi])"),  # needs the other sum
        moments(40, 512, second="D[vi, vj]"),  # nothing is read twice
        moments(40, 512, dtype="int32"),  # LLVM makes vectors of these
    ],
)
def test_other_sums_have_loops_of_their_own(func: PrimFunc) -> None:
    made = default_schedule(func, CpuFacts(vector_bits=512, threads=2)).func
    assert shared(made) == []
    assert_same_result(func, made, tolerance=1e-3)


BETWEEN = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2
    for j in range(8):
        with T.block("C"):
            vj = T.axis.spatial(8, j)
            {between}
    for k in range(8):
        with T.block("D"):
            vk = T.axis.spatial(8, k)
            D[vk] = A[vk] + B[vk]
"""


def test_loops_merge_over_what_does_not_concern_them() -> None:
    func = prim_func(BETWEEN.format(between="C[vj] = A[vj] + B[7 - vj]"))
    s = Schedule(func, verify=True)
    s.merge("i", "k")
    loops = [node for node in s.func.body if type(node) is For]
    assert [len(loop.body) for loop in loops] == [2, 1]
    assert_same_result(func, s.func)


@pytest.mark.parametrize("between", ["A[vj] = B[vj]", "D[vj] = B[vj]", "B[vj] = B[vj] + 1"])
def test_loops_do_not_merge_over_what_they_need(between: str) -> None:
    s = Schedule(prim_func(BETWEEN.format(between=between)))
    with pytest.raises(ScheduleError, match="not known to leave alone what it uses"):
        s.merge("i", "k")


BESIDE = """
@T.prim_func
def main(A: T.Buffer((6, 8), "int32"), B: T.Buffer((6,), "int32"), C: T.Buffer((6, 8), "int32")):
    for i, k in T.grid(6, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] += A[vi, vk]
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = A[vi, vk] + {other}
"""


def test_an_init_leaves_a_loop_with_other_blocks() -> None:
    func = prim_func(BESIDE.format(other="1"))
    s = Schedule(func, verify=True)
    s.decompose_reduction("B", "k")
    assert_same_result(func, s.func)
    with pytest.raises(ScheduleError, match="holds more than the block `B`"):
        Schedule(prim_func(BESIDE.format(other="B[vi]"))).decompose_reduction("B", "k")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("C[vi, vk] =", "T.where(B[i] > 2)\n            C[vi, vk] ="),
        ("with T.init()", "T.where(B[i] > 2)\n            with T.init()"),
        ("for i, k in T.grid(6, 8):", "for i in range(6):\n      for k in range(T.min(T.max(B[i], 1), 8)):"),
    ],
)
def test_an_init_stays_where_its_loop_asks_for_the_result(old: str, new: str) -> None:
    text = BESIDE.format(other="1")
    assert old in text
    with pytest.raises(ScheduleError, match="`B` would begin before what is asked of it here"):
        Schedule(prim_func(text.replace(old, new))).decompose_reduction("B", "k")


def test_a_sum_that_needs_other_sums_of_its_line() -> None:
    """It is begun before its loop, as LLVM likes sums of integers: its block is two then."""
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((9, 200), "int8"), S: T.Buffer((9,), "int8")):
    least = T.alloc_buffer((9,), "int8")
    for i in range(9):
        least[i] = T.max_value("int8")
        for j in range(200):
            least[i] = T.min(least[i], A[i, j])
    for i in range(9):
        S[i] = T.int8(0)
        for j in range(200):
            S[i] += A[i, j] - least[i]
""")
    made = default_schedule(func, CpuFacts(vector_bits=128, threads=2)).func
    assert "S_update" in made.script()
    assert_same_result(func, made)
