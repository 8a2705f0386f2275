"""Tiles at the edge of odd sizes: iterations that fill under a condition what they read under the same one run at once,
each with a buffer of its own."""

from __future__ import annotations

import pytest

from tirscript.ir import AllocBuffer, For, PrimFunc, walk
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def product(A: T.Buffer((19, 7), "int32"), B: T.Buffer((7, 21), "int32"), C: T.Buffer((19, 21), "int32")):
    for i, j, k in T.grid(19, 21, 7):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


def within(func: PrimFunc, loop: str) -> set[str]:
    """The names of the buffers that are allocated in a loop."""
    (found,) = (node for node in walk(func.body) if type(node) is For and node.var.name == loop)
    return {node.buffer.name for node in walk(found.body) if type(node) is AllocBuffer}


def test_copies_of_tiles_that_do_not_divide() -> None:
    schedule = Schedule(product)
    i, j, k = schedule.get_loops("C")
    rows, row = schedule.split(i, [None, 4])
    columns, column = schedule.split(j, [None, 8])
    schedule.reorder(rows, columns, k, row, column)
    schedule.compute_at(schedule.cache_read("C", 1, "global"), columns)
    schedule.reverse_compute_at(schedule.cache_write("C", 0, "local"), columns)
    schedule.parallel(rows)
    schedule.annotate(rows, "grain", 1)
    assert within(schedule.func, "i_0") == {"B_global", "C_local"}
    assert_same_result(product, schedule.func, edges=True)


def tiles(fill: str, use: str, *, body: str = "") -> PrimFunc:
    """Five tiles of four elements, of which 18 are filled and used, each under a condition."""
    statements = [
        "for k in range(4):",
        "    with T.block('fill'):",
        "        v = T.axis.spatial(20, i * 4 + k)",
        f"        T.where({fill})",
        "        t[v % 4] = A[v] * 2",
        "for k in range(4):",
        "    with T.block('use'):",
        "        v = T.axis.spatial(20, i * 4 + k)",
        f"        T.where({use})",
        "        B[v] = t[v % 4] + 1",
    ]
    if body == "backward":
        statements = statements[5:] + statements[:5]
    lines = "\n".join("        " + line for line in statements)
    func = parse(
        "@T.prim_func(check_well_formed=False)\n"
        "def f(A: T.Buffer((20,), 'int32'), B: T.Buffer((20,), 'int32')):\n"
        f"    t = T.alloc_buffer((4,), 'int32')\n    for i in range(5):\n{lines}\n"
    )
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize("use", ["i * 4 + k < 18", "i * 4 + k < 17", "i * 4 + k < 18 and k > 1"])
def test_what_is_filled_covers_what_is_read(use: str) -> None:
    func = tiles("i * 4 + k < 18", use)
    schedule = Schedule(func)
    schedule.parallel("i")
    assert within(schedule.func, "i") == {"t"}
    assert_same_result(func, schedule.func, inputs=arguments)


@pytest.mark.parametrize(
    ("fill", "use", "body"),
    [
        ("i * 4 + k < 17", "i * 4 + k < 18", ""),  # the last element is that of another iteration
        ("i * 4 + k < 18 and A[k] > 0", "i * 4 + k < 18", ""),  # filled or not
        ("i * 4 + k < 18", "i * 4 + k < 18", "backward"),
    ],
)
def test_what_is_read_of_other_iterations_is_refused(fill: str, use: str, body: str) -> None:
    schedule = Schedule(tiles(fill, use, body=body))
    before = schedule.func
    with pytest.raises(ScheduleError, match=r"depend on each other|not proved"):
        schedule.parallel("i")
    assert schedule.func is before


def arguments(rng: object) -> list[object]:
    import numpy as np

    return [np.arange(20, dtype="int32"), np.zeros(20, "int32")]
