"""What each primitive makes of a kernel, in goldens that were read, checked against the kernel it was."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tirscript.ir.func import PrimFunc
from tirscript.passes.schedule import PRIMITIVES, Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def relu_matmul(A: T.Buffer((30, 32), "int32"), B: T.Buffer((32, 20), "int32"), D: T.Buffer((30, 20), "int32")):
    C = T.alloc_buffer((30, 20), "int32")
    for i, j, k in T.grid(30, 20, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0)


@T.prim_func
def any_matmul(a: T.handle, B: T.Buffer(("k", 20), "int32"), C: T.Buffer(("m", 20), "int32")):
    A = T.match_buffer(a, (m, k), "int32")
    for i, j, p in T.grid(m, 20, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def single(A: T.Buffer((1, 6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((1, 6, 5), "int32")):
    for i, j, p in T.grid(6, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[0, vi, vj] = 0
            C[0, vi, vj] += A[0, vi, vk] * B[vk, vj]


@T.prim_func
def distances(A: T.Buffer((6, 9), "int32"), B: T.Buffer((9, 5), "int32"), C: T.Buffer((6, 5), "int32")):
    for i, j, p in T.grid(6, 5, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.abs(A[vi, vk] * 2 - B[vk, vj]) * (A[vi, vk] * 2)


@T.prim_func
def added(A: T.Buffer((6, "k"), "int32"), B: T.Buffer(("k", 5), "int32"), C: T.Buffer((6, 5), "int32")):
    for i, j, p in T.grid(6, 5, k):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, p])
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@T.prim_func
def corner(A: T.Buffer((30,), "int32"), S: T.Buffer((4,), "int32")):
    for k in range(30):
        with T.block("S"):
            vk = T.axis.reduce(30, k)
            with T.init():
                S[3] = 0
            S[3] += A[vk]


@T.prim_func
def widened(A: T.Buffer((6, 8), "float16"), B: T.Buffer((8, 5), "float16"), C: T.Buffer((6, 5), "float32")):
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")


@T.prim_func
def of_bytes(A: T.Buffer((6, 8), "int8"), B: T.Buffer((8, 5), "int8"), C: T.Buffer((6, 5), "int32")):
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vk, vj], "int32")


@T.prim_func
def narrow(A: T.Buffer((6, 8), "bfloat16"), B: T.Buffer((8, 4), "bfloat16"), D: T.Buffer((6, 4), "float32")):
    C = T.alloc_buffer((6, 4), "float32")
    for i, j, k in T.grid(6, 4, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
    for i, j in T.grid(6, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)


def tiled_apart(s: Schedule, panels: tuple[int, int] = (3, 2)) -> Any:
    """Tiles of three by two, chosen by what is found out of the operands."""
    left, right = (s.cache_read("C", name, "global") for name in "AB")
    i, j, k = s.get_loops("C")
    i, i_1 = s.split(i, [None, 3])
    j, j_1 = s.split(j, [None, 2])
    s.reorder(i, j, k, i_1, j_1)
    s.reverse_compute_at("D", j)
    s.compute_at(left, i)
    return s.denormals_apart(j, s.least_magnitude(left, [panels[0], 0]), s.least_magnitude(right, [0, panels[1]]))


@T.prim_func
def chain(A: T.Buffer((16, 12), "int32"), D: T.Buffer((12, 16), "int32"), E: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16, 12), "int32")
    C = T.alloc_buffer((16, 12), "int32")
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + vi
    for i, j in T.grid(16, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vj, vi] = C[vi, vj] - 1
    for i in range(16):
        E[i] = i


@T.prim_func
def blur(A: T.Buffer((34,), "int32"), C: T.Buffer((32,), "int32")):
    B = T.alloc_buffer((34,), "int32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] + 1
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@T.prim_func
def total(A: T.Buffer((30,), "int32"), S: T.Buffer((1,), "int32")):
    for k in range(30):
        with T.block("S"):
            vk = T.axis.reduce(30, k)
            with T.init():
                S[0] = 0
            S[0] += A[vk]


@T.prim_func
def counted(A: T.Buffer((30,), "int32"), H: T.Buffer((8,), "int32")):
    for i in range(30):
        with T.block("H"):
            vi = T.axis.reduce(30, i)
            if A[vi] >= 0:
                H[A[vi] % 8] += 1


@T.prim_func
def biased(A: T.Buffer((12, 10), "int32"), X: T.Buffer((12,), "int32"), D: T.Buffer((12, 1), "int32")):
    C = T.alloc_buffer((12,), "int32")
    for i, k in T.grid(12, 10):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] += A[vi, vk]
    for i in range(12):
        with T.block("D"):
            vi = T.axis.spatial(12, i)
            D[vi, 0] = X[vi] * 3 + C[vi]


@T.prim_func
def backwards(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]


@T.prim_func
def doubled(A: T.Buffer((8, 4), "int32")):
    for i, j in T.grid(6, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * 2


@T.prim_func
def padded(A: T.Buffer((8, 6), "int32"), P: T.Buffer((10, 6), "int32")):
    for i, j in T.grid(10, 6):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi >= 1 and vi < 9, A[vi - 1, vj], 7)


def tile(s: Schedule) -> None:
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[5, None])
    s.reorder(i0, j0, k, i1, j1)
    s.fuse(i0, j0)


def tiles(s: Schedule) -> Any:
    """The product in tiles of 8 by 4 by 8; the outermost loop of a tile."""
    i, j, k = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, 8])
    j0, j1 = s.split(j, factors=[None, 4])
    k0, k1 = s.split(k, factors=[None, 8])
    s.reorder(i0, j0, k0, i1, j1, k1)
    return i1


def packed(s: Schedule) -> None:
    """B of the product in panels, in the order in which the tiles read it."""
    copy = s.cache_read("C", "B", "global")
    _, j, k = s.get_loops("C")
    _, j1 = s.split(j, factors=[None, 4])
    s.reorder(k, j1)
    s.sequential_buffer_access("C", "B_global")
    s.parallel(s.get_loops(copy)[0])


def rfactor(s: Schedule) -> None:
    k0, _ = s.split("k", factors=[None, 8])
    s.rfactor(k0)


def parallel_tiles(s: Schedule) -> None:
    outer, _ = s.split(s.get_loops("C")[0], [None, 8])
    s.compute_at("B", outer)
    s.parallel(outer)


running = parse("""
@T.prim_func
def running(A: T.Buffer((3, 11), "int32"), B: T.Buffer((3, 11), "int32")):
    for i, k in T.grid(3, 11):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            vk = T.axis.scan(11, k)
            B[vi, vk] = T.if_then_else(vk == 0, 0, B[vi, vk - 1]) + A[vi, vk]
""")


CASES: dict[str, tuple[Any, Any]] = {
    "split": (relu_matmul, lambda s: s.split(s.get_loops("C")[0], factors=[None, 7])),
    "split_bare": (chain, lambda s: s.split(s.get_loops("B")[0], factors=[2, None, 2])),
    "tile": (relu_matmul, tile),
    "reorder": (relu_matmul, lambda s: s.reorder(*s.get_loops("C")[::-1])),
    "fuse": (relu_matmul, lambda s: s.fuse(*s.get_loops("C"))),
    "parallel": (relu_matmul, lambda s: s.parallel(s.get_loops("C")[0])),
    "parallel_tiles": (blur, parallel_tiles),
    "parallel_nested_tiles": (
        relu_matmul,
        lambda s: (
            s.compute_at(s.cache_read("C", "A", "local"), s.get_loops("C")[1]),
            s.parallel(s.get_loops("C")[0]),
        ),
    ),
    "vectorize": (relu_matmul, lambda s: s.vectorize(s.get_loops("D")[1])),
    "unroll": (relu_matmul, lambda s: s.unroll(s.get_loops("C")[2])),
    "bind": (chain, lambda s: s.bind(s.get_loops("C")[0], "threadIdx.x")),
    "annotate": (chain, lambda s: (s.annotate("B", "pragma", [1, "x"]), s.annotate(s.get_loops("B")[0], "unroll", 4))),
    "unannotate": (chain, lambda s: (s.annotate("B", "one", 1), s.annotate("B", "two", 2), s.unannotate("B", "one"))),
    "add_unit_loop": (chain, lambda s: s.add_unit_loop("B")),
    "decompose_reduction": (relu_matmul, lambda s: s.decompose_reduction("C", s.get_loops("C")[1])),
    "rfactor": (total, rfactor),
    "compute_inline": (chain, lambda s: (s.compute_inline("B"), s.compute_inline("C"))),
    "reverse_compute_inline": (chain, lambda s: s.reverse_compute_inline("D")),
    "compute_at": (relu_matmul, lambda s: s.compute_at("C", s.get_loops("D")[0])),
    "compute_at_halo": (blur, lambda s: s.compute_at("B", s.split(s.get_loops("C")[0], factors=[None, 8])[0])),
    "reverse_compute_at": (relu_matmul, lambda s: s.reverse_compute_at("D", s.get_loops("C")[1])),
    "cache_read": (relu_matmul, lambda s: s.compute_at(s.cache_read("C", "A", "local"), s.get_loops("C")[0])),
    "cache_write": (relu_matmul, lambda s: s.reverse_compute_at(s.cache_write("C", 0, "local"), s.get_loops("C")[1])),
    "set_scope": (chain, lambda s: s.set_scope("B", 0, "local")),
    "storage_align": (chain, lambda s: s.storage_align("B", "B", axis=0, factor=8, offset=1)),
    "unsafe_set_dtype": (chain, lambda s: s.unsafe_set_dtype("B", 0, "int64")),
    "transform_layout": (
        relu_matmul,
        lambda s: s.transform_layout("C", "C", lambda i, j: (i // 8, j, i % 8), pad_value=0),
    ),
    "reindex": (relu_matmul, lambda s: s.reindex("C", ("read", "B"))),
    "reindex_write": (chain, lambda s: s.reindex("D", ("write", "D"))),
    "reorder_block_iter_var": (relu_matmul, lambda s: s.reorder_block_iter_var("C", [2, 0, 1])),
    "loop_partition": (blur, lambda s: s.loop_partition(s.get_loops("C")[0], [2, None, 3])),
    "loop_partition_of_a_reduction": (total, lambda s: s.loop_partition("k", [None, 8])),
    "read_at": (relu_matmul, lambda s: s.read_at(s.get_loops("C")[0], "C", "A", "local")),
    "write_at": (relu_matmul, lambda s: s.write_at(s.get_loops("C")[1], "C", 0, "local")),
    "sequential_buffer_access": (relu_matmul, packed),
    "merge": (chain, lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0], s.get_loops("D")[0])),
    "merge_nested": (chain, lambda s: s.merge(s.get_loops("B")[1], s.get_loops("C")[1], s.get_loops("D")[1])),
    "split_units": (chain, lambda s: s.split(s.get_loops("B")[0], [1, 16, 1], preserve_unit_iters=False)),
    "loop_partition_units": (
        blur,
        lambda s: s.loop_partition(s.get_loops("C")[0], [1, None, 1], preserve_unit_iters=False),
    ),
    "reindex_by_name": (relu_matmul, lambda s: s.reindex("C", "B")),
    "fuse_reduction_epilogue": (biased, lambda s: s.fuse_reduction_epilogue("C", "D")),
    "reindex_cache_read": (
        relu_matmul,
        lambda s: s.reindex_cache_read("C", "B", "local", lambda i, j, k: (j // 4, k, j % 4)),
    ),
    "reindex_cache_write": (chain, lambda s: s.reindex_cache_write("D", 0, "local", lambda i, j: (i + 1, j))),
    "cache_inplace": (doubled, lambda s: s.cache_inplace("A", 0, "local")),
    "tile_of_axes": (relu_matmul, lambda s: s.tile("C", {"vi": 8, "j": 5})),
    "vectorize_inner": (relu_matmul, lambda s: s.vectorize_inner("D", 5)),
    "vectorize_inner_whole": (blur, lambda s: s.vectorize_inner("C", 32)),
    "pack": (relu_matmul, lambda s: (s.tile("C", {"vj": 4}), s.pack("C", "B"))),
    "decompose_padding": (padded, lambda s: s.decompose_padding("P", s.get_loops("P")[1])),
    "decompose_padding_split": (
        padded,
        lambda s: s.decompose_padding("P", s.split(s.get_loops("P")[0], [None, 4])[0]),
    ),
    "pad_einsum": (relu_matmul, lambda s: s.pad_einsum("C", [8, 1, 5])),
    "blockize": (relu_matmul, lambda s: s.blockize(tiles(s))),
    "blockize_block": (total, lambda s: s.blockize(["S"])),
    "blockize_units": (relu_matmul, lambda s: s.blockize(s.get_loops("C")[1], preserve_unit_iters=False)),
    "blockize_blocks": (chain, lambda s: (s.compute_at("B", s.get_loops("C")[0]), s.blockize(["B", "C"]))),
    "blocked_scan": (running, lambda s: s.blocked_scan(s.get_loops("B")[1], 4)),
    "privatize": (counted, lambda s: s.parallel(s.privatize("i", 3))),
    "privatize_lanes": (counted, lambda s: s.privatize("i", 4, 2)),
    "parallel_scan": (running, lambda s: s.parallel_scan(s.get_loops("B")[1], 2, 2, 4)),
    "rolling_buffer": (
        blur,
        lambda s: (s.compute_at("B", s.split(s.get_loops("C")[0], [None, 8])[0]), s.rolling_buffer("B", 0)),
    ),
    "transform_block_layout": (chain, lambda s: s.transform_block_layout("C", lambda i, j: (i * 12 + j,))),
    "transform_block_layout_kinds": (
        relu_matmul,
        lambda s: s.transform_block_layout("C", lambda i, j, k: (k // 8, i * 20 + j, k % 8)),
    ),
    "pad_einsum_units": (single, lambda s: s.pad_einsum("C", [4, 1, 1])),
    "pad_einsum_values": (distances, lambda s: s.pad_einsum("C", [8, 4, 1])),
    "precompute": (distances, lambda s: s.precompute("C", [0, 2])),
    "reduce_apart": (added, lambda s: s.reduce_apart("C")),
    "early_cast": (widened, lambda s: s.early_cast(s.cache_read("C", "A", "local"))),
    "flip_signedness": (of_bytes, lambda s: s.flip_signedness(s.cache_read("C", "B", "local"))),
    "least_magnitude": (narrow, lambda s: s.least_magnitude(s.cache_read("C", "B", "local"), [4, 0])),
    "denormals_apart": (narrow, tiled_apart),
    "specialize": (any_matmul, lambda s: s.specialize(tiled(s), 1)),
    "pad_einsum_symbolic": (any_matmul, lambda s: s.pad_einsum("C", [8, 1, 5])),
}


@pytest.mark.parametrize("case", CASES)
def test_step(case: str, golden: Any) -> None:
    kernel, step = CASES[case]
    schedule = Schedule(kernel, verify=True)
    step(schedule)
    if "threadIdx" not in schedule.script():  # threads run in the interpreter alone
        assert_same_result(kernel, schedule.func)
    golden.check(schedule.func)
    again = Trace.parse(str(schedule.trace)).replay(Schedule(kernel))
    assert again.script() == schedule.script()


def test_buffers_are_counted_as_in_the_text() -> None:
    """The order of T.reads and T.writes, which TVM counts by: text order, and the result of a reduction last."""
    for which, name in enumerate(("A_local", "B_local")):
        assert Schedule(relu_matmul).cache_read("C", which, "local").name == name
    gather = parse("""
@T.prim_func
def main(A: T.Buffer((9, 9), "int32"), K: T.Buffer((9,), "int32"), J: T.Buffer((9,), "int32"),
         X: T.Buffer((9,), "int32"), D: T.Buffer((9, 9), "int32")):
    for i, j in T.grid(9, 9):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            if X[vi] > 0:
                D[K[vi], vj] = A[J[vi], vj] * X[vj]
""")
    assert isinstance(gather, PrimFunc)
    reads = [Schedule(gather).cache_read("D", which, "local").name for which in range(4)]
    assert reads == ["X_local", "A_local", "J_local", "K_local"]
    declared = parse(
        gather.script().replace(
            "            if X",
            """            T.reads(K[vi], X[0:9], J[vi], A[0:9, vj])
            T.writes(D[0:9, vj])
            if X""",
        )
    )
    reads = [Schedule(declared).cache_read("D", which, "local").name for which in range(4)]
    assert reads == ["K_local", "X_local", "J_local", "A_local"]


def test_a_predicate_on_axes_moves_with_its_loops() -> None:
    program = parse("""
@T.prim_func
def main(A: T.Buffer((8, 4), "int32"), B: T.Buffer((8, 4), "int32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(vi < 5)
            B[vi, vj] = A[vi, vj]
""")
    s = Schedule(program, verify=True)
    s.blockize(s.get_loops("B")[1])
    assert "T.where(i < 5)" in s.script()
    assert_same_result(program, s.func)


def test_every_primitive_is_shown() -> None:
    used = {step.primitive for kernel, step_of in CASES.values() for step in _trace(kernel, step_of)}
    free = {"tensorize", "contract", "prefetch", "sample_perfect_tile", "sample_categorical", "sample_compute_location"}
    finders = {name for name, entry in PRIMITIVES.items() if entry.query}
    assert set(PRIMITIVES) - used - free - finders == set()


def _trace(kernel: Any, step: Any) -> Any:
    schedule = Schedule(kernel)
    step(schedule)
    return schedule.trace.steps


def tiled(s: Schedule) -> Any:
    """The loop over the rows of a tile that stores them, where there are so many."""
    s.pad_einsum("C", [4, 1, 1])
    i_0, _ = s.split(s.get_loops("C")[0], [None, 4])
    s.reorder(i_0, "p", "i_1")
    s.reverse_compute_at("C_pad", i_0)
    return s.get_loops("C_pad")[1]


REFUSALS: dict[str, tuple[Any, Any, str]] = {
    "parallel over a reduction": (total, lambda s: s.parallel("k"), "runs over the reduction axis `vk`"),
    "vectorize a reduction": (relu_matmul, lambda s: s.vectorize("k"), "cannot be vectorized"),
    "inline a reduction": (relu_matmul, lambda s: s.compute_inline("C"), "is a reduction"),
    "inline an output": (chain, lambda s: s.compute_inline("D"), "is seen outside of the function"),
    "inline what nothing reads": (chain, lambda s: s.reverse_compute_inline("B"), "nothing that `B` reads"),
    "compute at a loop without the reader": (
        chain,
        lambda s: s.compute_at("B", s.get_loops("D")[0]),
        "is not in the loop",
    ),
    "compute where it is": (chain, lambda s: s.compute_at("B", s.get_loops("B")[0]), "is in the loop `i` already"),
    "finish in the reduction": (relu_matmul, lambda s: s.reverse_compute_at("D", "k"), "finishes no element"),
    "begin in the reduction": (
        relu_matmul,
        lambda s: (s.reorder(*s.get_loops("C")[::-1]), s.decompose_reduction("C", s.get_loops("C")[1])),
        "would begin the reduction anew",
    ),
    "no init": (chain, lambda s: s.decompose_reduction("B", s.get_loops("B")[0]), "has no T.init"),
    "rfactor a spatial loop": (relu_matmul, lambda s: s.rfactor(s.get_loops("C")[0]), "not over the reduction"),
    "map that collides": (
        relu_matmul,
        lambda s: s.transform_layout("C", "C", lambda i, j: (i // 2, j)),
        "both go to (1, 0)",
    ),
    "map of other rank": (relu_matmul, lambda s: s.transform_layout("C", "C", lambda i: i), "takes 1 indices"),
    "cache of what is not read": (chain, lambda s: s.cache_read("B", "C", "local"), "reads no `C`"),
    "scope of a parameter": (chain, lambda s: s.set_scope("D", 0, "local"), "is not allocated in the function"),
    "fuse with a step": (chain, lambda s: s.split("nothing", [1]), "has no loop named `nothing`"),
    "lengths that are too many": (total, lambda s: s.loop_partition("k", [20, 20]), "make 40 iterations"),
    "lengths with none left": (
        total,
        lambda s: s.loop_partition("k", [31, None]),
        "the length -1 is not proved to be 1 or more",
    ),
    "axes that are none": (chain, lambda s: s.reorder_block_iter_var("B", [0, 2]), "has 2 axes"),
    "sequence of what is read again": (
        blur,
        lambda s: s.sequential_buffer_access("C", "B"),
        "accesses `B` at several elements",
    ),
    "sequence of a part": (
        relu_matmul,
        lambda s: (
            s.loop_partition(s.get_loops("D")[0], [10, None]),
            s.sequential_buffer_access("D", "C"),
        ),
        "access all of `C`",
    ),
    "merge what is not yet made": (
        backwards,
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]),
        "is read after it was written",
    ),
    "merge loops of other ranges": (
        blur,
        lambda s: s.merge(s.loop_partition(s.get_loops("B")[0], [2, 32])[1], s.get_loops("C")[0]),
        "cannot be one",
    ),
    "merge a reduction with its reader": (
        relu_matmul,
        lambda s: (s.reorder(*s.get_loops("C")[::-1]), s.merge(s.get_loops("C")[1], s.get_loops("D")[0])),
        "are not nested as deep as each other",
    ),
    "merge loops that others stand between": (
        chain,
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("D")[0]),
        "does not stand right behind",
    ),
    "merge a loop that is not alone": (
        chain,
        lambda s: (s.compute_at("B", s.get_loops("C")[0]), s.merge(s.get_loops("B")[1], s.get_loops("D")[1])),
        "is not nested alone in loops",
    ),
    "epilogue that combines otherwise": (
        relu_matmul,
        lambda s: s.fuse_reduction_epilogue("C", "D"),
        "does not combine the result as `C` does, by `add`",
    ),
    "copy by a map that collides": (
        relu_matmul,
        lambda s: s.reindex_cache_read("C", "B", "local", lambda i, j, k: (j // 4, k)),
        "different axes at different elements",
    ),
    "copy by a map of other axes": (
        relu_matmul,
        lambda s: s.reindex_cache_write("C", 0, "local", lambda i, j, k: (i, j, k)),
        "it is not proved that `C` has different axes at different elements",
    ),
    "copy in place of what is only read": (chain, lambda s: s.cache_inplace("B", "A", "local"), "does not write it"),
    "tile of no axis": (relu_matmul, lambda s: s.tile("C", {"vx": 8}), "no axis or loop of the name 'vx'"),
    "tile of a loop twice": (relu_matmul, lambda s: s.tile("C", {"vi": 8, "i": 8}), "names the loop `i` twice"),
    "early cast of what is read as it is": (
        relu_matmul,
        lambda s: s.early_cast(s.cache_read("C", "A", "local")),
        "`A_local` is read without being converted",
    ),
    "early cast of a parameter": (widened, lambda s: s.early_cast("C"), "`C` is not allocated in the function"),
    "least magnitude of a parameter": (
        narrow,
        lambda s: s.least_magnitude("D", [6, 0]),
        "no buffer of bfloat16 that is",
    ),
    "least magnitude of panels that do not divide": (
        narrow,
        lambda s: s.least_magnitude(s.cache_read("C", "B", "local"), [3, 0]),
        "a panel is a number that divides its dimension",
    ),
    "least magnitude of each number": (
        narrow,
        lambda s: s.least_magnitude(s.cache_read("C", "B", "local"), [1, 1]),
        "that is no panel",
    ),
    "least magnitude of part of a panel": (
        narrow,
        lambda s: (
            s.cache_read("C", "A", "local"),
            s.compute_at("A_local", s.get_loops("C")[0]),
            s.least_magnitude("A_local", [3, 0]),
        ),
        "do not store whole panels of `A_local`",
    ),
    "denormals in panels that are too small": (
        narrow,
        lambda s: tiled_apart(s, (1, 2)),
        "an iteration of `j_0` reads several panels",
    ),
    "denormals of another product": (
        narrow,
        lambda s: s.denormals_apart(s.get_loops("C")[0], "C", "C"),
        "does not stand before the loop",
    ),
    "denormals that were not looked for": (
        narrow,
        lambda s: (
            copy := s.cache_read("C", "A", "local"),
            s.denormals_apart(s.get_loops("C")[1], copy, copy),
        ),
        "is not as `least_magnitude` makes blocks",
    ),
    "specialize without a condition": (
        relu_matmul,
        lambda s: (s.reverse_compute_at("D", s.get_loops("C")[0]), s.specialize(s.get_loops("D")[1], 1)),
        "no condition of the blocks in the loop `ax0` says that none of its iterations from 1 on run",
    ),
    "specialize for all": (
        any_matmul,
        lambda s: s.specialize(tiled(s), 4),
        "it is at least 1 and less than 4, the iterations of the loop",
    ),
    "specialize what stands in no loop": (
        relu_matmul,
        lambda s: s.specialize(s.get_loops("D")[0], 4),
        "stands in no other loop",
    ),
    "lanes that do not divide": (
        relu_matmul,
        lambda s: s.vectorize_inner("D", 8),
        "8 lanes do not divide the iterations of `j`",
    ),
    "lanes of a reduction": (relu_matmul, lambda s: s.vectorize_inner("C", 8), "runs over the reduction axis"),
    "pack what is read again": (blur, lambda s: s.pack("C", "B"), "at several elements"),
    "no padding": (chain, lambda s: s.decompose_padding("B", s.get_loops("B")[0]), "does not store `T.if_then_else"),
    "padding made again": (
        padded,
        lambda s: s.decompose_padding("P", (s.add_unit_loop(s.get_loops("P")[0]), s.get_loops("P")[1])[1]),
        "makes the same elements again",
    ),
    "padding of one factor": (corner, lambda s: s.pad_einsum("S", [8]), "not accessed at plain axes"),
    "padding of what is no sum": (chain, lambda s: s.pad_einsum("B", [8, 8]), "is no sum"),
    "padding of other axes": (relu_matmul, lambda s: s.pad_einsum("C", [8]), "not 3 numbers"),
    "reindex what it reads in part": (
        padded,
        lambda s: s.reindex("P", ("read", "A")),
        "is not proved to lie in it for all values of the axes",
    ),
    "reindex what holds blocks": (
        relu_matmul,
        lambda s: s.reindex(s.blockize(s.get_loops("C")[1]), ("read", "B")),
        "accesses `B` at several elements",
    ),
    "blockize what comes again": (
        blur,
        lambda s: (s.compute_at("B", s.split(s.get_loops("C")[0], [None, 8])[0]), s.blockize(["B", "C"])),
        "takes the same values in several iterations",
    ),
    "blockize blocks apart": (chain, lambda s: s.blockize(["B", "D"]), "stands between the blocks"),
    "dtype that is none": (chain, lambda s: s.unsafe_set_dtype("B", 0, "int33"), "int33"),
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


def test_padding_can_be_asked_about() -> None:
    s = Schedule(padded)
    before = s.script()
    assert s.can_decompose_padding("P", s.get_loops("P")[1]) is True
    assert s.can_decompose_padding("P", s.add_unit_loop(s.get_loops("P")[0])) is True
    assert s.can_decompose_padding("P", s.get_loops("P")[1]) is False
    s.undo()
    assert s.script() == before
    assert Schedule(chain).can_decompose_padding("B", Schedule(chain).get_loops("B")[0]) is False


def test_samplers_repeat() -> None:
    def drawn(seed: int) -> tuple[Any, ...]:
        s = Schedule(relu_matmul, seed=seed)
        factors = s.sample_perfect_tile("k", n=3, max_innermost_factor=4)
        assert factors[0] * factors[1] * factors[2] == 32 and factors[2] <= 4
        s.split("k", factors)
        chosen = s.sample_categorical([8, 16, 32], [0.25, 0.25, 0.5])
        place = s.sample_compute_location("C")
        if place != -1:
            s.compute_at("C", place)
        assert_same_result(relu_matmul, s.func)
        again = Trace.parse(str(s.trace)).replay(Schedule(relu_matmul, seed=seed + 1))
        assert again.script() == s.script()
        return *factors, chosen, s.script()

    assert drawn(3) == drawn(3)
    assert len({drawn(seed)[:4] for seed in range(8)}) > 2


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda s: s.sample_perfect_tile("k", n=0), "at least 1"),
        (lambda s: s.sample_perfect_tile("k", n=2, decision=[3, 3]), "`decision` is [3, 3], not 2 factors"),
        (lambda s: s.sample_categorical([1], [0.5]), "sum is 1"),
        (lambda s: s.sample_categorical([1, 2], [1.0]), "1 probabilities"),
        (lambda s: s.sample_categorical([1, 2], [0.5, 0.5], decision=2), "there are 2 candidates"),
        (lambda s: s.sample_compute_location("C", decision=7), "has 2 loops"),
    ],
)
def test_samplers_refuse(step: Any, words: str) -> None:
    with pytest.raises(ScheduleError, match=re.escape(words)):
        step(Schedule(relu_matmul))
