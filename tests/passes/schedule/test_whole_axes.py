"""Loops around a block that were split, fused and reordered: the default schedule sees those of the axes."""

from __future__ import annotations

import random
import re

import pytest
from helpers.programs import prim_func

from tirscript.ir import Attrs, For, PrimFunc, walk
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled, with_whole_axes
from tirscript.passes.schedule.refusal import ScheduleError
from tirscript.testing import assert_same_result

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((37, 18), "{0}"), B: T.Buffer((18, 26), "{0}"), C: T.Buffer((37, 26), "{0}")):
    for i0, j0, k0, i1, j1, k1 in T.grid(10, 7, 5, 4, 4, 4):
        with T.block("C"):
            vi = T.axis.spatial(37, i0 * 4 + i1)
            vj = T.axis.spatial(26, j0 * 4 + j1)
            vk = T.axis.reduce(18, k0 * 4 + k1)
            T.where(i0 * 4 + i1 < 37 and j0 * 4 + j1 < 26 and k0 * 4 + k1 < 18)
            with T.init():
                C[vi, vj] = T.cast(0, "{0}")
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""


def grid(func: PrimFunc) -> list[int]:
    """The numbers of iterations of all loops."""
    return [int(node.stop.value) for node in walk(func.body) if type(node) is For]  # type: ignore[attr-defined]


def rows(binding: str, loops: str = "i0, i1 in T.grid(5, 8)", value: str = "A[vi] + 1.0", where: str = "") -> PrimFunc:
    line = f"\n            T.where({where})" if where else ""
    return prim_func(f"""
@T.prim_func
def main(A: T.Buffer((40,), "float32"), C: T.Buffer((40,), "float32"), at: T.Buffer((40,), "int32")):
    for {loops}:
        with T.block("C"):
            vi = {binding}{line}
            C[vi] = {value}
""")


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8"])
def test_a_tiled_product_is_one(dtype: str) -> None:
    func = prim_func(PRODUCT.format(dtype))
    whole = with_whole_axes(func)
    assert grid(whole) == [37, 26, 18] and "T.where" not in whole.script()
    assert_same_result(func, whole)
    for facts in (CpuFacts(vector_bits=512), CpuFacts(vector_bits=256, threads=2)):
        assert_same_result(func, default_schedule(func, facts).func)
    assert "T.vectorized" in scheduled(func, CpuFacts()).script()


@pytest.mark.parametrize(
    ("binding", "loops", "where"),
    [
        ("T.axis.spatial(40, i0 * 8 + i1)", "i0, i1 in T.grid(5, 8)", ""),
        ("T.axis.spatial(40, i0 * 8 + i1)", "i1, i0 in T.grid(8, 5)", ""),
        (
            "T.axis.spatial(40, i0 * 16 + i1 * 3 + i2)",
            "i0, i1, i2 in T.grid(3, 6, 3)",
            "i0 * 16 + i1 * 3 + i2 < 40 and i1 * 3 + i2 < 16",
        ),
        ("T.axis.spatial(40, i0 * 16 + i1)", "i0, i1 in T.grid(3, 16)", "i0 * 16 + i1 < 40"),
        ("T.axis.spatial(40, i // 8 * 8 + i % 8)", "i in range(40)", ""),
        ("T.axis.spatial(40, 39 - i)", "i in range(40)", ""),
        ("T.axis.spatial(40, u + i)", "u, i in T.grid(1, 40)", ""),
        ("T.axis.spatial(40, i - 2)", "i in range(2, 42)", ""),
        ("T.axis.spatial((8, 40), i0 * 8 + i1 + 8)", "i0, i1 in T.grid(4, 8)", ""),
    ],
)
def test_loops_are_those_of_the_axes(binding: str, loops: str, where: str) -> None:
    func = rows(binding, loops, where=where)
    whole = with_whole_axes(func)
    assert len(grid(whole)) == 1 and "T.where" not in whole.script()
    assert_same_result(func, whole, tolerance=0.0)


@pytest.mark.parametrize(
    "func",
    [
        rows("T.axis.spatial(40, i0 * 7 + i1)"),  # some twice
        rows("T.axis.spatial(40, i0 * 8 + i1)", where="i0 * 8 + i1 < 39"),  # not all
        rows("T.axis.spatial(40, i0 * 8 + i1)", where="at[i0] < 3"),
        rows("T.axis.spatial(40, i0 * 8 + i1)", value="C[39 - vi] + 1.0"),  # what others store
        rows("T.axis.opaque(40, i0 * 8 + i1)"),
        rows("T.axis.spatial(40, i0 * 8 + i1)", "t, i0, i1 in T.grid(2, 5, 8)", "C[vi] + A[vi]"),  # again and again
        rows("T.axis.spatial(40, i)", "i in range(40)"),
    ],
    ids=range(7),
)
def test_other_loops_stay(func: PrimFunc) -> None:
    whole = with_whole_axes(func)
    assert whole is func or (2 in grid(func) and grid(whole) == [2, 40])
    assert_same_result(func, scheduled(func, CpuFacts()))


def test_loops_that_their_dtype_cannot_count_from_zero_stay() -> None:
    func = prim_func("""
@T.prim_func
def main(C: T.Buffer((256,), "int32")):
    for i in range(T.int8(-100), T.int8(100)):
        with T.block("C"):
            vi = T.axis.spatial((T.int8(-100), T.int8(100)), i)
            C[T.cast(vi, "int32") + 100] = 1
""")
    assert with_whole_axes(func) is func


def test_what_says_how_it_runs_stays() -> None:
    for word in ("T.parallel(10)", "T.vectorized(10)", "T.unroll(10)", 'T.serial(10, annotations={"a": 1})'):
        source = PRODUCT.format("float32").replace(
            "for i0, j0, k0, i1, j1, k1 in T.grid(10, 7, 5, 4, 4, 4):\n",
            f"for i0 in {word}:\n     for j0, k0, i1, j1, k1 in T.grid(7, 5, 4, 4, 4):\n",
        )
        func = prim_func(source)
        assert scheduled(func, CpuFacts(threads=2)) is func


def test_blocks_that_share_loops_stay() -> None:
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.alloc_buffer((32, 32), "float32")
    for i0, j0 in T.grid(4, 4):
        for i1, j1 in T.grid(8, 8):
            with T.block("B"):
                vi = T.axis.spatial(32, i0 * 8 + i1)
                vj = T.axis.spatial(32, j0 * 8 + j1)
                B[vi, vj] = A[vi, vj] * 2.0
        for i1, j1 in T.grid(8, 8):
            with T.block("C"):
                vi = T.axis.spatial(32, i0 * 8 + i1)
                vj = T.axis.spatial(32, j0 * 8 + j1)
                C[vi, vj] = B[vi, vj] + 1.0
""")
    assert with_whole_axes(func) is func


def test_tiles_stay_where_no_rule_makes_others() -> None:
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((24, 24, 24), "float64"), B: T.Buffer((24, 24), "float64"), C: T.Buffer((24, 24, 24), "float64")):
    for i0, j0, k0, i1, j1, k1 in T.grid(3, 3, 3, 8, 8, 8):
        with T.block("C"):
            vi = T.axis.spatial(24, i0 * 8 + i1)
            vj = T.axis.spatial(24, j0 * 8 + j1)
            vk = T.axis.spatial(24, k0 * 8 + k1)
            C[vi, vj, vk] = A[vk, vj, vi] + B[vi // 2, vk % 7]
""")
    assert grid(with_whole_axes(func)) == [24, 24, 24]
    assert with_whole_axes(func, kept={"C"}) is func
    assert scheduled(func, CpuFacts(vector_bits=256)) is func


def test_the_order_of_floats_stays_where_it_is_asked_for() -> None:
    func = prim_func(PRODUCT.format("float32"))
    assert grid(with_whole_axes(func, ordered=True)) == [37, 26, 18]  # one loop over the terms, from the first on
    assert_same_result(func, with_whole_axes(func, ordered=True), tolerance=0.0)
    other = prim_func(
        PRODUCT.format("float32").replace(
            "k0, i1, j1, k1 in T.grid(10, 7, 5, 4, 4, 4)", "k1, i1, j1, k0 in T.grid(10, 7, 4, 4, 4, 5)"
        )
    )
    assert with_whole_axes(other, ordered=True) is other
    assert grid(with_whole_axes(other)) == [37, 26, 18]
    exact = other.replace(attrs=Attrs({"fastmath": False}))
    assert_same_result(exact, scheduled(exact, CpuFacts(vector_bits=512)), tolerance=0.0)
    whole = prim_func(
        PRODUCT.format("int32").replace(
            "k0, i1, j1, k1 in T.grid(10, 7, 5, 4, 4, 4)", "k1, i1, j1, k0 in T.grid(10, 7, 4, 4, 4, 5)"
        )
    )
    assert grid(with_whole_axes(whole, ordered=True)) == [37, 26, 18]


def test_axes_of_symbolic_length_are_left_to_their_loops() -> None:
    func = prim_func("""
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 40), "float32")
    C = T.match_buffer(c, (n, 40), "float32")
    for i, f0, f1 in T.grid(n, T.int64(5), T.int64(8)):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(T.int64(40), f0 * T.int64(8) + f1)
            C[vi, vj] = A[vi, vj] + T.float32(1)
""")
    whole = with_whole_axes(func)
    assert whole.script().count("T.grid(n, T.int64(40))") == 1
    assert_same_result(func, scheduled(func, CpuFacts()))
    split = prim_func("""
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i0, i1 in T.grid((n + 7) // 8, T.int64(8)):
        with T.block("C"):
            vi = T.axis.spatial(n, i0 * T.int64(8) + i1)
            T.where(i0 * T.int64(8) + i1 < n)
            C[vi] = A[vi] + T.float32(1)
""")
    assert with_whole_axes(split) is split


def test_a_block_around_all_and_axes_that_are_numbers() -> None:
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((1, 40, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((1, 40, 32), "float32")):
    with T.block("root"):
        T.reads()
        T.writes()
        D = T.alloc_buffer((1, 40, 32), "float32")
        for i, j, k in T.grid(40, 32, 24):
            with T.block("D"):
                vb = T.axis.spatial(1, 0)
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vb, vi, vj] = 0.0
                D[vb, vi, vj] += A[vb, vi, vk] * B[vk, vj]
        for u, i, j in T.grid(1, 40, 32):
            with T.block("C"):
                vb, vi, vj = T.axis.remap("SSS", [u, i, j])
                C[vb, vi, vj] = T.max(D[vb, vi, vj], 0.0)
""")
    assert 'T.block("root")' not in with_whole_axes(func).script()
    done = scheduled(func, CpuFacts(vector_bits=512))
    assert "T.vectorized" in done.script()
    assert_same_result(func, done)


def test_what_is_not_scheduled_stays_the_same() -> None:
    func = prim_func("""
@T.prim_func
def main(A: T.Buffer((4096,), "int32"), C: T.Buffer((4096,), "int32")):
    with T.block("root"):
        for i in range(4096):
            with T.block("C"):
                vu = T.axis.spatial(1, 0)
                vi = T.axis.spatial(4096, i)
                C[vi] = A[vi] + 1
""")
    assert scheduled(func, CpuFacts(vector_bits=512)) is func


KERNELS = {
    "add": ("C[v0, v1] = A[v0, v1, 0] + 1.0", None, "SS"),
    "in place": ("C[v0, v1] = C[v0, v1] * A[v0, v1, 2]", None, "SS"),
    "across": ("C[v0, v1] = A[v1, v0, 1]", None, "SS"),
    "sum": ("C[v0, 3] += A[v0, v1, v2]", "C[v0, 3] = 0.0", "SRR"),
    "greatest": ("C[v1, v0] = T.max(C[v1, v0], A[v0, v1, v2])", "C[v1, v0] = -1.0", "SSR"),
    "onward": ("C[v0, v2] += A[v0, v1, v2] * A[v1, v0, v2]", None, "SRS"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_schedule_did_is_undone(name: str, seed: int) -> None:
    body, init, kinds = KERNELS[name]
    sizes, names = (9, 9, 7)[: len(kinds)], ["v0", "v1", "v2"][: len(kinds)]
    lines = ["with T.init():", f"    {init}"] if init else []
    text = "\n            ".join([*lines, body])
    func = prim_func(f"""
@T.prim_func
def main(A: T.Buffer((9, 9, 7), "float32"), C: T.Buffer((9, 9), "float32")):
    for {", ".join(f"l{name}" for name in names)} in T.grid({", ".join(map(str, sizes))}):
        with T.block("C"):
            {", ".join(names)} = T.axis.remap("{kinds}", [{", ".join(f"l{name}" for name in names)}])
            {text}
""")
    pick, sch = random.Random(f"{name} {seed}"), Schedule(func)
    for _ in range(4):
        loops, before = sch.get_loops("C"), sch.mark()
        at = pick.randrange(len(loops))
        try:
            match pick.choice(("split", "fuse", "reorder")):
                case "split":
                    sch.split(loops[at], [None, pick.choice((2, 3, 4, 8))])
                case "fuse":
                    sch.fuse(*loops[max(0, at - 1) : at + 1])
                case _:
                    sch.reorder(*pick.sample(loops, len(loops)))
        except ScheduleError:
            sch.reset(before)
    whole = with_whole_axes(sch.func)
    assert sorted(grid(whole)) == sorted(sizes)
    assert not re.search(r"T\.where|//|%", whole.script())
    assert_same_result(sch.func, whole)
    assert_same_result(sch.func, scheduled(sch.func, CpuFacts(threads=2)))
