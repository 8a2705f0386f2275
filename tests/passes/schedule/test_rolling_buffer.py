"""rolling_buffer: windows along loops, what of them is made anew, and what cannot roll."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.schedule_kernels import blur
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir.func import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def pool(A: T.Buffer((12, 12), "int8"), C: T.Buffer((8, 8), "int8")):
    B = T.alloc_buffer((10, 10), "int8")
    for i, j, k, l in T.grid(10, 10, 3, 3):
        with T.block("B"):
            vi, vj, vk, vl = T.axis.remap("SSRR", [i, j, k, l])
            with T.init():
                B[vi, vj] = T.int8(-128)
            B[vi, vj] = T.max(B[vi, vj], A[vi + vk, vj + vl])
    for i, j, k, l in T.grid(8, 8, 3, 3):
        with T.block("C"):
            vi, vj, vk, vl = T.axis.remap("SSRR", [i, j, k, l])
            with T.init():
                C[vi, vj] = T.int8(-128)
            C[vi, vj] = T.max(C[vi, vj], B[vi + vk, vj + vl])


@T.prim_func
def cascade(A: T.Buffer((20,), "int32"), D: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((18,), "int32")
    C = T.alloc_buffer((17,), "int32")
    for i in range(18):
        with T.block("B"):
            vi = T.axis.spatial(18, i)
            B[vi] = A[vi] * 3 + A[vi + 2]
    for i in range(17):
        with T.block("C"):
            vi = T.axis.spatial(17, i)
            C[vi] = B[vi] - B[vi + 1]
    for i in range(16):
        with T.block("D"):
            vi = T.axis.spatial(16, i)
            D[vi] = C[vi] * 2 + C[vi + 1]


def blurred(s: Schedule, factor: int = 8) -> Any:
    outer, inner = s.split(s.get_loops("C")[0], [None, factor])
    s.compute_at("B", outer)
    return outer, inner


def pooled(s: Schedule) -> Any:
    i, j, _, _ = s.get_loops("C")
    i0, i1 = s.split(i, [None, 4])
    j0, j1 = s.split(j, [None, 4])
    s.reorder(i0, j0, i1, j1)
    s.compute_at("B", j0)
    return i0, j0


def cascaded(s: Schedule) -> Any:
    outer, _ = s.split(s.get_loops("D")[0], [None, 4])
    s.compute_at("C", outer)
    s.compute_at("B", outer)
    return outer


def rows(s: Schedule) -> None:
    """The windows along the columns alone: those of the rows do not meet."""
    i, j, _, _ = s.get_loops("C")
    j0, j1 = s.split(j, [None, 2])
    s.reorder(j0, i, j1)
    s.compute_at("B", j0)


STEPS: dict[str, tuple[Any, Any, str]] = {
    "one dimension": (blur, lambda s: (blurred(s), s.rolling_buffer("B", 0)), "B = T.alloc_buffer((10,)"),
    "two dimensions": (pool, lambda s: (pooled(s), s.rolling_buffer("B", "B")), "B = T.alloc_buffer((6, 10)"),
    "the inner dimension": (pool, lambda s: (rows(s), s.rolling_buffer("B", 0)), "B = T.alloc_buffer((10, 4)"),
    "an edge that is cut": (blur, lambda s: (blurred(s, 5), s.rolling_buffer("B", 0)), "B = T.alloc_buffer((7,)"),
    "producers of producers": (
        cascade,
        lambda s: (cascaded(s), s.rolling_buffer("C", 0), s.rolling_buffer("B", 0)),
        "B = T.alloc_buffer((6,)",
    ),
    "a window in loops of its own": (
        blur,
        lambda s: (blurred(s), s.split(s.get_loops("B")[1], [2, 5]), s.rolling_buffer("B", 0)),
        "2 <= ax0_0 * 5 + ax0_1",
    ),
    "under an outer loop": (
        blur,
        lambda s: (s.compute_at("B", s.split(s.get_loops("C")[0], [2, None, 4])[1]), s.rolling_buffer("B", 0)),
        "T.where(i_1 < 1 or 2 <= ax0)",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_step(case: str, golden: Any) -> None:
    kernel, step, words = STEPS[case]
    schedule = Schedule(kernel, verify=True)
    step(schedule)
    assert words in schedule.script()
    assert_same_result(kernel, schedule.func)
    golden.check(schedule.func)
    assert Trace.parse(str(schedule.trace)).replay(Schedule(kernel)).script() == schedule.script()


def from_text(body: str) -> PrimFunc:
    head = '@T.prim_func\ndef main(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):\n'
    func = parse(head + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")))
    assert isinstance(func, PrimFunc)
    return func


READ_EARLIER = from_text("""
B = T.alloc_buffer((40,), "int32")
for i in range(4):
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi] + 1
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            vj = T.axis.spatial(8, j)
            C[vi] = B[vj]
""")

CHANGES = from_text("""
B = T.alloc_buffer((34,), "int32")
D = T.alloc_buffer((1,), "int32")
for i in range(4):
    for j in range(1):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[0] = vi
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi] + D[0]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi] + B[vi + 2]
""")

LEFT_OUT = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(4):
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            T.where(i != 1 or j < 9)
            B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            T.where(j < 7)
            C[vi] = B[vi] + B[vi + 2]
""")

INSIDE = from_text("""
for i in range(4):
    B = T.alloc_buffer((34,), "int32")
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi] + B[vi + 2]
""")

DISPLACED = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(4):
    if i < 3:
        for j in range(10):
            with T.block("B"):
                vi = T.axis.spatial(34, i * 8 + j)
                B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi] + B[vi + 2]
""")

BACKWARDS = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(4):
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi] + B[vi + 2]
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi]
""")

APART = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(4):
    for j in range(8):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi]
""")

AT_ONCE = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in T.parallel(4):
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 8 + j)
            B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 8 + j)
            C[vi] = B[vi] + B[vi + 2]
""")

STEPPED = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(0, 32, 8):
    for j in range(10):
        with T.block("B"):
            vi = T.axis.spatial(34, i + j)
            B[vi] = A[vi]
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(32, i + j)
            C[vi] = B[vi] + B[vi + 2]
""")

TRIANGLE = from_text("""
B = T.alloc_buffer((34,), "int32")
for i in range(4):
    for j in range(i * 2 + 3):
        with T.block("B"):
            vi = T.axis.spatial(34, i * 2 + j)
            B[vi] = A[vi]
    for j in range(2):
        with T.block("C"):
            vi = T.axis.spatial(32, i * 2 + j)
            C[vi] = B[vi]
""")

REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "no loop together": (blur, lambda s: s.rolling_buffer("B", 0), "in no loop together"),
    "no buffer": (blur, lambda s: s.rolling_buffer("B", 1), "writes 1 buffer, none at 1"),
    "an output": (blur, lambda s: s.rolling_buffer("C", 0), "is seen outside of the function"),
    "windows that do not meet": (APART, lambda s: s.rolling_buffer("B", 0), "makes a part of `B` again"),
    "a loop that runs at once": (AT_ONCE, lambda s: s.rolling_buffer("B", 0), "is parallel"),
    "twice": (
        blur,
        lambda s: (blurred(s), s.rolling_buffer("B", 0), s.rolling_buffer("B", 0)),
        "the axis `vi` is scan",
    ),
    "a producer before its reader": (
        cascade,
        lambda s: (cascaded(s), s.rolling_buffer("B", 0), s.rolling_buffer("C", 0)),
        "is not proved to keep its values",
    ),
    "what was made earlier": (READ_EARLIER, lambda s: s.rolling_buffer("B", 0), "makes in the same iteration"),
    "a value that changes": (CHANGES, lambda s: s.rolling_buffer("B", 0), "`D`, which the block `B` reads"),
    "a predicate of one iteration": (LEFT_OUT, lambda s: s.rolling_buffer("B", 0), "no condition on its axes"),
    "a buffer of each iteration": (INSIDE, lambda s: s.rolling_buffer("B", 0), "each iteration begins anew"),
    "a producer in a branch": (DISPLACED, lambda s: s.rolling_buffer("B", 0), "stands in something else than loops"),
    "a reader before": (BACKWARDS, lambda s: s.rolling_buffer("B", 0), "comes before `B`"),
    "a loop that counts by a step": (STEPPED, lambda s: s.rolling_buffer("B", 0), "counts by a step"),
    "a window that grows": (TRIANGLE, lambda s: s.rolling_buffer("B", 0), "depends on `i`"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusal(case: str, golden: Any) -> None:
    kernel, step, words = REFUSALS[case]
    schedule = Schedule(kernel)
    with pytest.raises(ScheduleError) as caught:
        step(schedule)
    text = str(caught.value).strip()
    assert words in text
    golden.check_text(re.sub(r"schedule of \w+", "schedule", text) + "\n")


def test_no_step_after_it_is_wrong_code() -> None:
    s = Schedule(pool, verify=True)
    i0, j0 = pooled(s)
    s.rolling_buffer("B", 0)
    for step in (
        lambda: s.parallel(i0),
        lambda: s.parallel(j0),
        lambda: s.reorder(j0, i0),
        lambda: s.vectorize(j0),
        lambda: s.cache_read("C", "B", "local"),
        lambda: s.cache_write("B", 0, "local"),
        lambda: s.compute_inline("B"),
    ):
        with pytest.raises(ScheduleError):
            step()
    s.transform_layout("B", "B", lambda i, j: (i // 2, j, i % 2))
    s.parallel(s.get_loops("B")[-3])
    assert_same_result(pool, s.func)


@given(
    taps=st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True),
    rows=st.integers(1, 20),
    factor=st.integers(1, 9),
    inner=st.none() | st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_windows_of_any_size(taps: list[int], rows: int, factor: int, inner: int | None) -> None:
    reach = max(taps)
    program = parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows + reach}, 3), "int32"), C: T.Buffer(({rows}, 3), "int32")):
    B = T.alloc_buffer(({rows + reach}, 3), "int32")
    for i, j in T.grid({rows + reach}, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2 - vi
    for i, j in T.grid({rows}, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = {" - ".join(f"B[vi + {tap}, vj]" for tap in taps)}
""")
    s = Schedule(program, verify=True)
    outer, _ = s.split(s.get_loops("C")[0], [None, factor])
    s.compute_at("B", outer, preserve_unit_loops=True)
    if inner is not None:
        s.split(s.get_loops("B")[1], [None, inner])
    window = factor + max(taps) - min(taps)
    try:
        s.rolling_buffer("B", 0)
    except ScheduleError as refused:
        # an edge that the split of the window cuts is none of a box, nor is there more than one window
        assert window == factor or rows <= factor or (inner is not None and window % inner) or rows % factor, str(
            refused
        )
        return
    assert window > factor
    assert f"B = T.alloc_buffer(({min(window, rows + reach)}, 3)" in s.script()
    assert_same_result(program, s.func)
