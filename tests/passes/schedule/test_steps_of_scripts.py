"""Steps as scripts written for other compilers take them: copies of blocks of blocks, threads that reduce together, maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript import Schedule
from tirscript.passes.schedule import ScheduleError, Trace
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def chain(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((6, 8))
    C = T.alloc_buffer((6, 8))
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(6, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] - B[vi, vj]


@T.prim_func
def gaps(A: T.Buffer((4,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi * 4] = A[vi]


@T.prim_func
def pairs(A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi * 2] = A[vi]
            B[vi * 2 + 1] = A[vi] + T.float32(1)


def test_cache_write_of_a_block_of_blocks() -> None:
    sch = Schedule(matmul)
    i, j, k = sch.get_loops("C")
    (i0, i1), (j0, j1), (k0, k1) = (sch.split(loop, [None, 4]) for loop in (i, j, k))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    outer = sch.blockize(i1)
    copy = sch.cache_write(outer, 0, "local")
    sch.reverse_compute_at(copy, j0)
    sch.decompose_reduction(outer, k0)
    inner = sch.cache_read("C", "A", "local")
    assert [one.name for one in sch.get_producers("C")] == [inner.name]
    assert_same_result(matmul, sch.func)


def test_cache_write_of_several_stores() -> None:
    sch = Schedule(pairs)
    sch.cache_write("B", 0, "local")
    assert_same_result(pairs, sch.func)
    with pytest.raises(ScheduleError, match="is not one of its spatial axes alone"):
        Schedule(gaps).cache_write("B", 0, "local")


def test_cache_read_changes_the_readers_that_are_named() -> None:
    sch = Schedule(chain)
    copy = sch.cache_read("C", "B", "local", consumer_blocks=["D"])
    sch.compute_at(copy, sch.get_loops("D")[0])
    assert [one.name for one in sch.get_consumers(copy)] == ["D"]
    assert_same_result(chain, sch.func)
    with pytest.raises(ScheduleError, match="names no block"):
        sch.cache_read("C", "B", "local", consumer_blocks=[])


def test_threads_reduce_together() -> None:
    sch = Schedule(matmul)
    _, inner = sch.split("k", [None, 8])
    with pytest.raises(ScheduleError, match="runs over the reduction axis"):
        sch.bind(inner, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    assert 'T.thread_binding(8, thread="threadIdx.x")' in sch.script()
    assert tirscript.parse(sch.script()).script() == sch.script()
    assert_same_result(matmul, sch.func, native=False)


@T.prim_func
def prefix(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for k in range(8):
        with T.block("B"):
            vk = T.axis.reduce(8, k)
            B[vk] = (B[vk - 1] if vk > 0 else T.float32(0)) + A[vk]


def test_only_a_reduction_is_bound() -> None:
    with pytest.raises(ScheduleError, match="depend on each other"):
        Schedule(prefix).bind("k", "threadIdx.x")


@T.prim_func
def padded(A: T.Buffer((6,), "float32"), B: T.Buffer((3, 6), "float32")):
    P = T.alloc_buffer((8,))
    for j, i in T.grid(3, 6):
        for p in range(3):
            with T.block("P"):
                vp = T.axis.spatial(8, i + p)
                P[vp] = A[vp - 1] if vp >= 1 and vp < 7 else T.float32(0)
        with T.block("B"):
            vj, vi = T.axis.remap("SS", [j, i])
            B[vj, vi] = P[vi] + P[vi + 2]


def test_decompose_padding_in_loops_that_make_it_again() -> None:
    sch = Schedule(padded)
    assert sch.can_decompose_padding("P", "p")
    sch.decompose_padding("P", "p")
    assert_same_result(padded, sch.func)


def test_compute_inline_of_what_each_iteration_makes() -> None:
    sch = Schedule(chain)
    loop = sch.get_loops("D")[0]
    sch.compute_at("C", loop)
    sch.compute_at("B", loop)
    sch.compute_inline("C")
    assert_same_result(chain, sch.func)


@T.prim_func
def before(A: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((1,))
    C = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("B"):
            vi = T.axis.opaque(6, i)
            B[0] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[0] * T.float32(2)
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = C[T.max(vi - 1, 0)]


def test_compute_inline_not_of_what_the_iteration_before_made() -> None:
    with pytest.raises(ScheduleError, match="may be written again"):
        Schedule(before).compute_inline("C")


def reader(shape: tuple[int, ...], place: Any) -> Any:
    size = int(np.prod(shape))
    axes = [f"v{at}" for at in range(len(shape))]
    text = f"""@T.prim_func
def main(A: T.Buffer(({size},), "float32"), C: T.Buffer({shape}, "float32")):
    B = T.alloc_buffer(({size},))
    for i in range({size}):
        with T.block("B"):
            vi = T.axis.spatial({size}, i)
            B[vi] = A[vi] * T.float32(2)
    for {", ".join(axes).replace("v", "l")} in T.grid({", ".join(map(str, shape))}):
        with T.block("C"):
            {", ".join(axes)} = T.axis.remap("{"S" * len(shape)}", [{", ".join(axes).replace("v", "l")}])
            C[{", ".join(axes)}] = B[{place}] + T.float32(1)
"""
    return tirscript.parse(text)


@pytest.mark.parametrize(
    ("shape", "place"), [((2, 3, 4), "v0 * 12 + v1 * 4 + v2"), ((4, 6), "v1 * 4 + v0"), ((1, 24), "23 - v1")]
)
def test_reverse_compute_inline_by_a_map(shape: tuple[int, ...], place: str) -> None:
    func = reader(shape, place)
    sch = Schedule(func)
    sch.reverse_compute_inline("C")
    assert "T.alloc_buffer" not in sch.script()
    assert_same_result(func, sch.func)


def test_reverse_compute_inline_by_no_one_to_one_map() -> None:
    with pytest.raises(ScheduleError, match="is not one of its spatial axes alone"):
        Schedule(reader((4, 6), "v0 * 4 + v1")).reverse_compute_inline("C")


@T.prim_func
def moments(A: T.Buffer((4, 16), "int32"), S: T.Buffer((4,), "int32"), Q: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 16):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0
                Q[vi] = 0
            s: T.let[T.int32] = S[vi] + A[vi, vk]
            q: T.let[T.int32] = Q[vi] + A[vi, vk] * A[vi, vk]
            S[vi] = s
            Q[vi] = q


@T.prim_func
def argmax(
    at: T.Buffer((4, 16), "int32"), A: T.Buffer((4, 16), "int8"), P: T.Buffer((4,), "int32"), M: T.Buffer((4,), "int8")
):
    for i, k in T.grid(4, 16):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = -1
                M[vi] = T.int8(-128)
            p: T.let[T.int32] = T.Select(M[vi] >= A[vi, vk], P[vi], at[vi, vk])
            m: T.let[T.int8] = T.Select(M[vi] >= A[vi, vk], M[vi], A[vi, vk])
            P[vi] = p
            M[vi] = m


@T.prim_func
def argmin(A: T.Buffer((4, 16), "int8"), P: T.Buffer((4,), "int64"), M: T.Buffer((4,), "int8")):
    for i, k in T.grid(4, 16):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = T.int64(-1)
                M[vi] = T.int8(127)
            p: T.let[T.int64] = T.Select(
                M[vi] < A[vi, vk] or (M[vi] == A[vi, vk] and P[vi] < T.Cast("int64", vk)), P[vi], T.Cast("int64", vk)
            )
            m: T.let[T.int8] = T.Select(M[vi] < A[vi, vk], M[vi], A[vi, vk])
            P[vi] = p
            M[vi] = m


@pytest.mark.parametrize("func", [moments, argmax, argmin], ids=lambda func: str(func.name))
@pytest.mark.parametrize("which", [0, 1])
def test_rfactor_of_several_results(func: Any, which: int) -> None:
    def few(random: Any) -> list[Any]:
        """Elements of which many are equal: the first of them is found in any case."""
        sizes = [(one, [int(dim.value) for dim in one.shape]) for one in func.param_buffers]
        return [random.integers(-2, 3, shape).astype(str(one.dtype)) for one, shape in sizes]

    sch = Schedule(func)
    block = "S" if func is moments else "M"
    loop = sch.split(sch.get_loops(block)[-1], [None, 4])[which]
    made = sch.rfactor(loop, 1)
    sch.parallel(sch.get_loops(made)[0])
    assert_same_result(func, sch.func, inputs=few, runs=5)
    assert Trace.parse(str(sch.trace)).replay(Schedule(func)).script() == sch.script()


def test_places_that_are_no_loops() -> None:
    sch = Schedule(chain)
    sch.compute_at("B", sch.sample_compute_location("B", decision=-1))
    assert sch.script() == Schedule(chain).script()
    sch.compute_at("C", sch.sample_compute_location("C", decision=-2))
    with pytest.raises(ScheduleError, match="it is -1 or -2"):
        sch.compute_at("B", -3)
    assert [one.name for one in sch.get_child_blocks("root")] == ["B", "D"]
    assert sch.get(sch.sample_categorical([16, 64], [0.5, 0.5], decision=1)) == 64
    assert_same_result(chain, sch.func)


def test_maps_of_however_many_indices() -> None:
    sch = Schedule(chain)
    sch.transform_layout("B", "B", lambda *places: places[::-1])
    sch.transform_layout("C", "C", lambda i, *rest: (i // 4, *rest, i % 4), lambda *places: 0.5)
    sch.transform_block_layout("D", lambda *axes: axes[::-1])
    assert_same_result(chain, sch.func)
    text = str(sch.trace)
    assert "lambda i, rest0: (i // 4, rest0, i % 4), T.float32(0.5))" in text
    assert Trace.parse(text).replay(Schedule(chain)).script() == sch.script()


def test_the_handle_of_a_reduction_is_that_of_its_updates() -> None:
    sch = Schedule(matmul)
    block = sch.get_block("C")
    k = sch.get_loops(block)[-1]
    begin = sch.decompose_reduction(block, k)
    assert sch.get(block).name == "C_update" and sch.get(begin).name == "C_init"
    copy = sch.cache_read(block, "A", "local")
    sch.compute_at(copy, k)
    assert [one.name for one in sch.get_consumers(copy)] == ["C_update"]
    assert_same_result(matmul, sch.func)
    assert Trace.parse(str(sch.trace)).replay(Schedule(matmul)).script() == sch.script()
    other = sch.copy()
    assert other.get(block).name == "C_update"
    with pytest.raises(ScheduleError, match="no block named `C`"):
        sch.get_loops("C")
    for _ in range(3):
        sch.undo()
    assert sch.get(block).name == "C"


def test_cache_read_in_a_loop_of_its_producer() -> None:
    sch = Schedule(chain)
    loop = sch.get_loops("D")[0]
    sch.compute_at("C", loop)
    sch.compute_at("B", loop)
    copy = sch.cache_read("D", "C", "local")
    assert len(sch.get_loops(copy)) == 2 and sch.get_loops(copy)[0] == loop
    sch.reverse_compute_at("D", sch.get_loops(copy)[1])
    assert_same_result(chain, sch.func)


@T.prim_func
def behind(A: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(6):
        with T.block("D"):
            vi = T.axis.spatial(6, i)
            D[vi] = B[vi] if vi > 0 else T.float32(0)
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi + 1] = A[vi]


def test_cache_read_not_before_its_producer() -> None:
    with pytest.raises(ScheduleError, match="still written where the copy would be made"):
        Schedule(behind).cache_read("D", "B", "local")


@T.prim_func
def either(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            if vi < vj:
                B[vi, vj] = A[vi, vj]
            else:
                B[vi, vj] = A[vj, vi] + T.float32(1)


def test_cache_write_of_a_store_in_each_case() -> None:
    sch = Schedule(either)
    sch.cache_write("B", 0, "local")
    assert_same_result(either, sch.func)


@pytest.mark.parametrize(
    ("shape", "place", "part"),
    [
        ((2, 3, 4), "v0 * 12 + v1 * 4 + v2", 2),
        ((2, 3, 4), "v0 * 12 + v1 * 4 + v2", 12),
        ((1, 24), "23 - v1", 4),
        ((1, 24), "23 - v1", 5),
    ],
)
def test_reverse_compute_at_by_a_map(shape: tuple[int, ...], place: str, part: int) -> None:
    func = reader(shape, place)
    sch = Schedule(func)
    outer, _ = sch.split(sch.get_loops("B")[0], [None, part])
    sch.reverse_compute_at("C", outer)
    assert_same_result(func, sch.func)


def test_reverse_compute_at_of_what_an_iteration_makes_in_part() -> None:
    sch = Schedule(reader((2, 3, 4), "v0 * 12 + v1 * 4 + v2"))
    with pytest.raises(ScheduleError, match="not proved to make what `C` would read"):
        sch.reverse_compute_at("C", sch.split(sch.get_loops("B")[0], [None, 5])[0])


def test_reverse_compute_at_of_a_reader_of_tiles() -> None:
    sch = Schedule(chain)
    sch.compute_inline("C")
    sch.transform_layout("B", "B", lambda i, j: (i // 2, j // 4, i % 2, j % 4))
    i, j = sch.get_loops("B")
    (i0, i1), (j0, j1) = sch.split(i, [None, 2]), sch.split(j, [None, 4])
    sch.reorder(i0, j0, i1, j1)
    sch.reverse_compute_at("D", j0)
    assert [sch.get(loop).extent.value for loop in sch.get_loops("D")] == [3, 2, 2, 4]
    assert_same_result(chain, sch.func)


@T.prim_func
def sums_of_vectors(A: T.Buffer((8, 12), "float32x4"), B: T.Buffer((8,), "float32x4")):
    for i, k in T.grid(8, 12):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.broadcast(T.float32(0), 4)
            B[vi] = B[vi] + A[vi, vk]


def test_rfactor_of_vectors() -> None:
    sch = Schedule(sums_of_vectors)
    _, k = sch.get_loops("sum")
    _, inner = sch.split(k, [None, 5])  # so that a condition says which iterations run
    sch.rfactor(inner, 0)
    assert_same_result(sums_of_vectors, sch.func)


@T.prim_func
def sums_of_vectors_used(A: T.Buffer((8, 12), "float32x4"), B: T.Buffer((8,), "float32x4")):
    C = T.alloc_buffer((8,), "float32x4")
    for i, k in T.grid(8, 12):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.broadcast(T.float32(0), 4)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(8):
        with T.block("used"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[vi] + B[vi]


def test_an_epilogue_of_vectors_is_refused() -> None:
    with pytest.raises(ScheduleError, match="the block `sum` reduces vectors, float32x4"):
        Schedule(sums_of_vectors_used).fuse_reduction_epilogue("sum", "used")
