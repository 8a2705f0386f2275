"""What each primitive makes of a kernel, in goldens that were read, checked against the kernel it was."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.schedule_kernels import (
    added,
    any_matmul,
    biased,
    blur,
    chain,
    counted,
    distances,
    doubled,
    narrow,
    of_bytes,
    packed,
    padded,
    parallel_tiles,
    relu_matmul,
    rfactor,
    running,
    single,
    tile,
    tiled,
    tiled_apart,
    tiles,
    total,
    widened,
)

from tirscript.ir.func import PrimFunc
from tirscript.passes.schedule import PRIMITIVES, Schedule, ScheduleError, Trace
from tirscript.script import parse
from tirscript.testing import assert_same_result

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
    "write_in_place": (chain, lambda s: s.write_in_place("C", "B")),
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


def test_padding_can_be_asked_about() -> None:
    s = Schedule(padded)
    before = s.script()
    assert s.can_decompose_padding("P", s.get_loops("P")[1]) is True
    assert s.can_decompose_padding("P", s.add_unit_loop(s.get_loops("P")[0])) is True
    assert s.can_decompose_padding("P", s.get_loops("P")[1]) is True
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
    ("begin", "combined"),
    [
        ('-T.infinity("float32")', "T.max(C[vi], A[vi, vk])"),
        ("T.cast(0, 'float32') * 2.0", "C[vi] + A[vi, vk]"),
        ("-0.0", "C[vi] + A[vi, vk]"),
    ],
)
def test_an_identity_as_it_is_written(begin: str, combined: str) -> None:
    op = combined.replace("A[vi, vk]", "B[vi]")
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = {begin}
            C[vi] = {combined}
    for i in range(4):
        with T.block("D"):
            vi = T.axis.spatial(4, i)
            D[vi] = {op}
""")
    assert isinstance(func, PrimFunc)
    s = Schedule(func, verify=True)
    s.fuse_reduction_epilogue("C", "D")
    assert [block.name for block in s.get_child_blocks("root")] == ["C"]
    assert_same_result(func, s.func)


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
