"""prefetch: what is brought near, what is refused, that it changes nothing, and where the default schedule uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.programs import prim_func
from helpers.schedule_kernels import softmax
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.ir import PrimFunc, walk
from tirscript.ir.expr import Call
from tirscript.ir.op import OPS
from tirscript.ir.stmt import For
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.lower import serialize_races
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)


def grown(rows: int = 8, columns: int = 128, dtype: str = "float32", index: str = "vi, vj") -> PrimFunc:
    return prim_func(f"""
@T.prim_func
def grown(A: T.Buffer(({rows}, {columns}), "{dtype}"), B: T.Buffer(({rows}, {columns}), "{dtype}")):
    for i, j in T.grid({rows}, {columns}):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[{index}] + T.{dtype}(1)
""")


def prefetched(func: PrimFunc) -> list[str]:
    """The addresses that are prefetched, and their hints."""
    return [str(node) for node in walk(func.body) if type(node) is Call and node.op is OPS["prefetch"]]


def pieces(func: PrimFunc, piece: int, **options: Any) -> Schedule:
    schedule = Schedule(func)
    _, j = schedule.get_loops("B")
    schedule.split(j, [None, piece])
    schedule.prefetch("B", "A", "i", **options)
    return schedule


def test_the_lines_of_a_piece_of_the_next_row() -> None:
    schedule = pieces(grown(), 32)
    (lines,) = [node for node in walk(schedule.func.body) if type(node) is For and node.var.name == "line"]
    assert lines.stop.value == 2  # type: ignore[attr-defined]
    assert prefetched(schedule.func) == ["T.prefetch(T.address_of(A[T.min(i + 1, 7), j_0 * 32 + line * 16]), 0, 3, 1)"]
    assert_same_result(grown(), schedule.func)
    again = Trace.parse(str(schedule.trace)).replay(Schedule(grown()))
    assert again.script() == schedule.script()


def test_how_far_ahead_and_how_near() -> None:
    assert prefetched(pieces(grown(), 64, ahead=3, locality=1).func) == [
        "T.prefetch(T.address_of(A[T.min(i + 3, 7), j_0 * 64 + line * 16]), 0, 1, 1)"
    ]


@pytest.mark.parametrize(("dtype", "count"), [("float64", 4), ("float16", 1), ("int8", 1)])
def test_a_line_has_64_bytes(dtype: str, count: int) -> None:
    func = pieces(grown(dtype=dtype), 32).func
    (lines,) = [node for node in walk(func.body) if type(node) is For and node.var.name == "line"]
    assert lines.stop.value == count  # type: ignore[attr-defined]


def test_a_piece_that_leaves_the_row_ends_at_its_last_element() -> None:
    assert prefetched(pieces(grown(columns=100), 32).func) == [
        "T.prefetch(T.address_of(A[T.min(i + 1, 7), T.min(j_0 * 32 + line * 16, 99)]), 0, 3, 1)"
    ]
    assert_same_result(grown(columns=100), pieces(grown(columns=100), 32).func)


def test_one_element_where_the_innermost_loop_reads_the_same() -> None:
    schedule = Schedule(grown(index="vi, 5"))
    schedule.prefetch("B", 0, "i")
    assert prefetched(schedule.func) == ["T.prefetch(T.address_of(A[T.min(i + 1, 7), 5]), 0, 3, 1)"]


@pytest.mark.parametrize(
    ("index", "loop", "options", "says"),
    [
        ("vi, vj", "j", {}, "`j` is no loop around the innermost one of the block `B`"),
        ("vj // 16, vj", "i", {}, "each iteration of `i` reads the same"),
        ("vi, vj // 2", "i", {}, "the loop `j` does not read along memory"),
        ("vj // 16, vi", "i", {}, "the loop `j` does not read along memory"),
        ("vi, 127 - vj", "i", {}, "the loop `j` does not read along memory"),
        ("vi, vj] + A[vi, 0", "i", {}, "the places where the block `B` reads `A` differ by more than constants"),
        ("vi, T.Cast('int32', A[vi, vj])", "i", {}, "differ by more than constants"),
        ("vi, vj", "i", {"ahead": 0}, "`ahead` is 0"),
        ("vi, vj", "i", {"locality": 4}, "`locality` is 4"),
    ],
)
def test_refused(index: str, loop: str, options: dict[str, int], says: str) -> None:
    schedule = Schedule(grown(index=index))
    before = schedule.func
    with pytest.raises(ScheduleError, match="`prefetch`") as caught:
        schedule.prefetch("B", "A", loop, **options)
    assert says in str(caught.value)
    assert schedule.func is before


def looked_up(
    value: str = "A[at[vi], vj]", above: str = "pass", loops: str = "i, j in T.grid(8, 32)", at: str = "at"
) -> PrimFunc:
    return prim_func(f"""
@T.prim_func
def looked_up(A: T.Buffer((20, 32), "float32"), at: T.Buffer((9,), "int32"), B: T.Buffer((8, 32), "float32"),
              n: T.int32):
    for {loops}:
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            {above}
            B[vi, vj] = {value}
""")


def test_rows_that_are_looked_up() -> None:
    schedule = Schedule(looked_up())
    schedule.prefetch("B", "A", "i", ahead=3)
    assert prefetched(schedule.func) == [
        "T.prefetch(T.address_of(A[T.min(T.max(at[T.min(i + 3, 7)], 0), 19), line * 16]), 0, 3, 1)"
    ]
    arguments = [
        np.random.default_rng(0).random((20, 32), "float32"),
        np.array([3, 19, 0, 0, 7, 2, 19, 1, 99], "int32"),
    ]
    for func in (schedule.func, looked_up()):
        B = np.zeros((8, 32), "float32")
        tirscript.build(func, pipeline=DEFAULT_LOWERING)(*arguments, B, 3)
        np.testing.assert_array_equal(B, arguments[0][arguments[1][:8]])
    # the place is looked up in two steps, and by an axis
    schedule = Schedule(looked_up("A[at[T.min(at[vi], 8)] % 20, vj]"))
    schedule.prefetch("B", "A", "i")
    assert "at[T.min(at[T.min(i + 1, 7)], 8)]" in prefetched(schedule.func)[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"value": "T.if_then_else(vi < n, A[at[vi], vj], T.float32(0))"},
            "not each iteration looks up where `B` reads",
        ),
        ({"value": "T.Select(vi < n, A[at[vi], vj], T.float32(0))"}, "not each iteration"),
        ({"above": "T.where(i < n)"}, "not each iteration"),
        ({"above": "if vi < n:\n                B[vi, vj] = T.float32(1)"}, "not each iteration"),
        ({"above": "at[vi + 1] = 3"}, "not each iteration"),
        ({"value": "A[at[vi], vj] + A[T.call_extern('int32', 'f', vi), vj]"}, "differ by more than constants"),
        ({"value": "A[T.call_extern('int32', 'f', vi), vj]"}, "where `B` reads `A` is known only inside it"),
        ({"value": "A[at[vj], vi]"}, "the loop `j` does not read along memory"),
        ({"value": "A[at[vi], vj + at[vj]]"}, "the loop `j` does not read along memory"),
    ],
)
def test_rows_that_are_not_always_looked_up(options: dict[str, str], says: str) -> None:
    schedule = Schedule(looked_up(**options))
    with pytest.raises(ScheduleError, match="`prefetch`") as caught:
        schedule.prefetch("B", "A", "i")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("at[i + 1] = at[i] + 1\n        {}", "`at`, which says where, changes in the loops"),
        (
            "T.evaluate(T.call_extern('int32', 'f', at.data))\n        {}",
            "`at`, which says where, changes in the loops",
        ),
        ("if at[i] < 0:\n            break\n        {}", "not each iteration looks up"),
        ("if i < n:\n            {}", "not each iteration looks up"),
    ],
)
def test_rows_of_which_later_ones_are_not_known(body: str, says: str) -> None:
    block = """for j in range(32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[at[vi], vj]"""
    func = prim_func(f"""
@T.prim_func
def f(A: T.Buffer((20, 32), "float32"), at: T.Buffer((9,), "int32"), B: T.Buffer((8, 32), "float32"), n: T.int32):
    for i in range(8):
        {body.format(block if not body.startswith("if i") else block.replace(chr(10), chr(10) + "    "))}
""")
    with pytest.raises(ScheduleError) as caught:
        Schedule(func).prefetch("B", "A", "i")
    assert says in str(caught.value)


def test_rows_of_lengths_that_differ_are_not_looked_up_ahead() -> None:
    func = prim_func("""
@T.prim_func
def f(A: T.Buffer((20, 32), "float32"), at: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4, 32), "float32")):
    for i in range(4):
        for j in range(i + 1):
            for k in range(32):
                with T.block("B"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    B[vi, vj, vk] = A[at[vi, vj], vk]
""")
    with pytest.raises(ScheduleError, match="not each iteration looks up"):
        Schedule(func).prefetch("B", "A", "i")
    schedule = Schedule(func)
    schedule.prefetch("B", "A", "j")
    assert "at[i, T.min(j + 1, i)]" in prefetched(schedule.func)[0]
    assert_same_result(func, schedule.func)


def test_of_several_places_the_one_that_is_read_first() -> None:
    func = prim_func("""
@T.prim_func
def stencil(A: T.Buffer((10, 130), "float32"), B: T.Buffer((8, 128), "float32")):
    for i, j in T.grid(8, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2] + A[vi + 2, vj]
""")
    schedule = pieces(func, 32)
    assert prefetched(schedule.func) == [
        "T.prefetch(T.address_of(A[T.min(i + 1, 7) + 2, j_0 * 32 + line * 16 + 1]), 0, 3, 1)"
    ]
    assert_same_result(func, schedule.func)


def test_after_the_last_iteration_comes_the_first_of_the_loop_around() -> None:
    schedule = Schedule(grown())
    _, j = schedule.get_loops("B")
    j_0, _ = schedule.split(j, [None, 16])
    schedule.prefetch("B", "A", j_0, ahead=3)
    (address,) = prefetched(schedule.func)
    assert (
        address == "T.prefetch(T.address_of(A[T.min(i + (j_0 + 3) // 8, 7), (j_0 + 3) % 8 * 16 + line * 16]), 0, 3, 1)"
    )
    assert_same_result(grown(), schedule.func)


@pytest.mark.parametrize(("index", "ahead", "place"), [("0, vj", 3, "T.min(j_0 + 3, 7) * 16"), ("vi, vj", 9, "112")])
def test_the_last_iteration_again_where_nothing_comes_after_it(index: str, ahead: int, place: str) -> None:
    schedule = Schedule(grown(index=index))
    _, j = schedule.get_loops("B")
    j_0, _ = schedule.split(j, [None, 16])
    schedule.prefetch("B", "A", j_0, ahead=ahead)
    (address,) = prefetched(schedule.func)
    assert f", {place} + line * 16]" in address


def test_refused_where_the_index_is_not_known_to_be_in_the_buffer() -> None:
    func = prim_func("""
@T.prim_func
def shifted(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8, 128), "float32")):
    for i, j in T.grid(8, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj - 1] if vj > 0 else T.float32(0)
""")
    with pytest.raises(ScheduleError, match="is not proved to be 0 or more"):
        Schedule(func).prefetch("B", "A", "i")


def test_refused_for_what_each_iteration_makes_anew_and_for_unknown_lengths() -> None:
    func = prim_func("""
@T.prim_func
def f(A: T.Buffer((8, "n"), "float32"), B: T.Buffer((8, "n"), "float32")):
    for i in range(8):
        C = T.alloc_buffer((8, 4), "float32")
        for j in range(4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(1)
        for j in range(4):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C[vi, vj] + T.float32(1)
        for j in range(n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
""")
    with pytest.raises(ScheduleError, match="`C` is made anew in each iteration of `i`"):
        Schedule(func).prefetch("D", "C", "i")
    with pytest.raises(ScheduleError, match="how many iterations the loop `j` has is not known"):
        Schedule(func).prefetch("B", "A", "i")


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 9), st.integers(1, 90), st.integers(1, 40), st.integers(1, 4))
def test_results_stay(rows: int, columns: int, piece: int, ahead: int) -> None:
    func = grown(rows, columns)
    schedule = Schedule(func)
    schedule.split("j", [None, piece])
    schedule.prefetch("B", "A", "i", ahead)
    assert_same_result(func, schedule.func)


def test_a_prefetch_neither_reads_nor_writes() -> None:
    """So loops around it may run in parallel, and buffers of which it is told stay as small as they were."""
    func = prim_func("""
@T.prim_func
def f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    C = T.alloc_buffer((8, 16), "float32")
    for i in T.parallel(8):
        for j in range(16):
            T.prefetch(T.address_of(B[T.min(i + 1, 7), j]), 1)
            T.prefetch(T.address_of(C[i, j]), 1)
            C[i, j] = A[i, j] + T.float32(1)
        for j in range(16):
            B[i, j] = C[i, 15 - j]
""")
    assert serialize_races(func) is func
    lowered = DEFAULT_LOWERING(func)
    assert 'C = T.alloc_buffer((16,), "float32")' in lowered.script()
    assert_same_result(func, lowered)


def test_prefetches_take_no_time_that_is_worth_a_thread() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 100), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.parallel(4):
        for j in range(100):
            T.prefetch(T.address_of(A[i, j]))
        B[i] = T.float32(1)
"""
    assert "call i32 @tirscript_parallel" not in emit_ir(prim_func(text))
    assert "call i32 @tirscript_parallel" in emit_ir(prim_func(text.replace("(4", "(40000")))


@pytest.mark.parametrize(
    ("rows", "columns", "read", "written"),
    [
        (1024, 1024, "1023), ax0_0_m * 32 + line * 16]), 0, 3, 1)", "1023), j_0 * 16 + line * 16]), 0, 3, 1)"),
        (64, 50000, "63), ax0_0_m * 16 + line * 16]), 0, 2, 1)", "63), j_0 * 16 + line * 16]), 0, 2, 1)"),
        (600, 1000, "599), ax0_0_0 * 128 + line * 16]), 0, 3, 1)", "599), j_0_0 * 16 + line * 16]), 0, 3, 1)"),
    ],
)
def test_the_default_schedule_brings_the_next_row_near(rows: int, columns: int, read: str, written: str) -> None:
    schedule = default_schedule(softmax(rows, columns), FACTS)
    # of what is read again, and of what is stored, read and stored again
    expected = [f"T.prefetch(T.address_of({name}[T.min(i + 1, {rest}" for name, rest in (("A", read), ("B", written))]
    assert prefetched(schedule.func) == expected
    assert "power" not in DEFAULT_LOWERING(schedule.func).script()


@pytest.mark.parametrize(
    ("columns", "places"),
    [
        (1024, {"A": "ax0_0_m * 32 + line * 16", "B": "j_0 * 16 + line * 16"}),
        ("m", {"A": "ax0_0_m_0 * 32 + line * 16", "B": "j_0_0 * 16 + line * 16"}),
        (200_000, {}),
    ],
)
def test_rows_of_unknown_number_may_be_more_than_the_cache_holds(columns: int | str, places: dict[str, str]) -> None:
    found = prefetched(default_schedule(softmax("n", columns), FACTS).func)
    wanted = [f"T.prefetch(T.address_of({name}[T.min(i + 1, n - 1), {place}" for name, place in places.items()]
    assert [one.partition("]")[0] for one in found] == wanted


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (256, 1000),  # all is in the cache
        (4, 200_000),  # a row is not
    ],
)
def test_the_default_schedule_leaves_rows_alone(rows: int, columns: int) -> None:
    assert not prefetched(default_schedule(softmax(rows, columns), FACTS).func)


def test_native_code_with_prefetches() -> None:
    rows, columns = 280, 1000
    built = tirscript.build(softmax(rows, columns))
    assert "T.prefetch" in built.lowered.script()
    a = np.random.default_rng(1).normal(size=(rows, columns)).astype("float32")
    b = np.empty_like(a)
    built(a, b)
    power = np.exp(a.astype("float64") - a.max(1, keepdims=True))
    np.testing.assert_allclose(b, power / power.sum(1, keepdims=True), rtol=1e-5)


SEARCH = """
            with T.init():
                at[0] = T.int64(-1)
                best[0] = T.min_value("float32")
            better: T.bool = A[vk] > best[0]
            at[0] = T.if_then_else(better, T.int64(vk), at[0])
            best[0] = T.if_then_else(better, A[vk], best[0])"""
SUM = """
            with T.init():
                best[0] = T.float32(0)
            best[0] += {value}"""


@pytest.mark.parametrize(
    ("body", "n", "lanes"),
    [
        (SEARCH, 1 << 20, 32),
        (SEARCH, (1 << 20) - 1, 0),
        (SUM.format(value="T.exp(A[vk])"), 1 << 20, 64),
        (SUM.format(value="T.exp(A[vk])"), 1 << 19, 0),
        (SUM.format(value="A[vk]"), 1 << 20, 0),  # reads as fast as it can anyway
    ],
)
def test_large_searches_and_sums_of_what_is_dear_prefetch(body: str, n: int, lanes: int) -> None:
    func = prim_func(f"""
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), at: T.Buffer((1,), "int64"), best: T.Buffer((1,), "float32")):
    for k in range({n}):
        with T.block("S"):
            vk = T.axis.reduce({n}, k){body}
""")
    made = default_schedule(func, FACTS)
    if lanes:
        assert f"ahead={4096 // (4 * lanes)}, locality=3)" in str(made.trace)
    else:
        assert prefetched(made.func) == []
    given = np.random.default_rng(5).standard_normal(n).astype("float32")
    at, best = np.zeros(1, "int64"), np.zeros(1, "float32")
    tirscript.build(made.func, pipeline=DEFAULT_LOWERING)(given, at, best)
    if body is SEARCH:
        assert at[0] == given.argmax() and best[0] == given.max()
    else:
        value = np.exp(given.astype("float64")) if "exp" in body else given.astype("float64")
        assert abs(best[0] - value.sum()) < 1e-3 * np.abs(value).sum() ** 0.5


def test_a_block_that_reads_by_a_view_alone_is_refused() -> None:
    sch = Schedule(
        prim_func("""
@T.prim_func
def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
    for io, jo in T.grid(2, 4):
        with T.block("outer"):
            vio, vjo = T.axis.remap("SS", [io, jo])
            M = T.match_buffer(A[vio * 4 : vio * 4 + 4, vjo * 2 : vjo * 2 + 2], (4, 2), "int32", strides=(8, 1))
            for ii, ji in T.grid(4, 2):
                with T.block("inner"):
                    vi, vj = T.axis.remap("SS", [ii, ji])
                    B[vio * 4 + vi, vjo * 2 + vj] = M[3 - vi, vj]
""")
    )
    with pytest.raises(ScheduleError, match="reads `A` by a view or a call alone"):
        sch.prefetch("outer", "A", "io")


def test_streaming_blocks_prefetch_each_array_as_far_as_there_are_few() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((16, 512), "float32"), B: T.Buffer((16, 512), "float32"), C: T.Buffer((16, 512), "float32"),
         row: T.Buffer((512,), "float32"), D: T.Buffer((16, 512), "float32")):
    for i, j in T.grid(16, 512):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = {value}
"""
    streaming = CpuFacts(512, 2, cache=1)
    for value, distances in (
        ("A[vi, vj]", [32]),
        ("A[vi, vj] + row[vj]", [32]),  # each row reads the same
        ("A[vi, vj] + B[vi, vj]", [16, 16]),
        ("A[vi, vj] + B[vi, vj] * C[vi, vj] + A[vi, vj]", [10, 10, 10]),
    ):
        func = prim_func(text.format(value=value))
        made = default_schedule(func, streaming)
        found = [line for line in str(made.trace).splitlines() if ".prefetch(" in line]
        assert [int(line.partition("ahead=")[2].partition(",")[0]) for line in found] == distances
        assert_same_result(func, made.func)
        assert prefetched(default_schedule(func, FACTS).func) == []


@pytest.mark.parametrize("n", [1, 15, 16, 17, 64, 100, 129])
def test_a_few_vectors_past_the_caches(n: int) -> None:
    func = prim_func(f"""
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        B[i] = A[i] + T.float32(1)
""")
    assert_same_result(func, default_schedule(func, CpuFacts(512, 2, cache=1)).func)
