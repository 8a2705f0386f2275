"""How threads share products: their tiles, and who copies the panels that these read."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def square(side: int, columns: int) -> PrimFunc:
    """A product of a square matrix, in plain loops."""
    return plain_product(side, columns, side)


def plain_product(rows: int, columns: int, terms: int) -> PrimFunc:
    return with_blocks(
        parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, {terms}), "float32"), B: T.Buffer(({terms}, {columns}), "float32"),
         C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j in T.grid({rows}, {columns}):
        C[i, j] = 0.0
        for k in range({terms}):
            C[i, j] += A[i, k] * B[k, j]
""")
    )


def assert_product(made: Schedule, side: int, columns: int) -> None:
    given = [
        np.random.default_rng(seed).integers(-4, 5, (side, width)).astype("float32")
        for seed, width in ((0, side), (1, columns))
    ]
    found = np.zeros((side, columns), "float32")
    tirscript.build(made.func, pipeline=DEFAULT_LOWERING)(*given, found)
    assert (found == given[0] @ given[1]).all()


def test_all_threads_make_panels_that_all_of_them_read() -> None:
    few, many = (default_schedule(square(640, 640), CpuFacts(512, threads)) for threads in (2, 16))
    outer = few.get(few.get_loops("B_global")[0])
    assert (outer.kind, outer.stop.value) == ("parallel", 10)  # each of two threads makes its own panels
    loops = [many.get(loop) for loop in many.get_loops("B_global")]
    assert (loops[0].kind, loops[0].stop.value) == ("parallel", 10 * 640)  # each of 16 half of one
    assert_product(many, 640, 640)


@pytest.mark.parametrize(("side", "threads", "panels", "groups"), [(256, 16, 8, 2), (160, 2, 5, 2), (192, 12, 3, 4)])
def test_threads_share_small_panels_each_with_a_copy(side: int, threads: int, panels: int, groups: int) -> None:
    """What others have copied would come from their caches."""
    made = default_schedule(square(side, side), CpuFacts(512, threads))
    parts = made.get(made.get_loops("B_global")[0])
    assert (parts.kind, parts.stop.value) == ("parallel", panels * groups)
    assert_product(made, side, side)


def test_a_tile_of_rows_does_all_panels_that_stay_near() -> None:
    """Rows that the second cache does not hold are read once, and the panels are copied once for all threads."""
    made = default_schedule(plain_product(9000, 1088, 30), CpuFacts(512, 2))
    loops = {block: made.get(made.get_loops(block)[0]) for block in ("B_global", "C_update")}
    assert [(loop.kind, loop.stop.value) for loop in loops.values()] == [("parallel", 17), ("parallel", 1500)]


@pytest.mark.parametrize(("side", "columns", "outermost"), [(96, 1500, "j_0_i_0_fused"), (640, 450, "i_0")])
def test_threads_read_all_of_the_lower_operand(side: int, columns: int, outermost: str) -> None:
    """What all of them read comes from the others' caches, so it is the smaller one."""
    made = default_schedule(square(side, columns), CpuFacts(512, 16))
    inside = [made.get(made.get_loops(block)[0]) for block in ("B_pad", "C_init", "C_update")]
    assert [loop.kind for loop in inside] == ["parallel"] * 3
    assert [loop.var.name for loop in inside[1:]] == [outermost] * 2
    assert_product(made, side, columns)


@pytest.mark.long
def test_panels_that_one_tile_reads_are_copied_where_they_are_read() -> None:
    func = with_blocks(
        parse("""
@T.prim_func
def main(A: T.Buffer((10, 20, 30), "float32"), B: T.Buffer((30, 20, 50), "float32"), C: T.Buffer((10, 50), "float32")):
    for i, j in T.grid(10, 50):
        C[i, j] = 0.0
        for k, m in T.grid(20, 30):
            C[i, j] += A[i, k, m] * B[m, k, j]
""")
    )
    made = default_schedule(func, CpuFacts(512, 16))
    assert made.get_loops("B_pad")[0] == made.get_loops("C_update")[0]
    assert_same_result(func, made.func, tolerance=1e-5)
