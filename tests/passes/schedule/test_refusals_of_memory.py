"""What is refused of memory with several names, of what is made later, and of what is there in one iteration alone."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.refusals import Refusals, check, program

from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.passes.schedule import Schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

OVERLAPPING = program("""
T.func_attr({"noalias": False})
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[15 - vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
for i, k in T.grid(16, 16):
    with T.block("V"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            V[vi] = 0
        V[vi] += A[vi, vk]
""")

VIEWED = program("""
C = T.alloc_buffer((16,), "int32")
D = T.decl_buffer((4, 4), "int32", data=V.data)
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i, j in T.grid(4, 4):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = 0
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

STORED = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
if V[0] > 0:
    V[1] = 0
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

MATCHED = program("""
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        R = T.match_buffer(A[vi, 0:16], (1, 16), "int32", offset_factor=1)
        for j in range(16):
            B[vi, j] = R[0, j] + 1
""")

ONLY_VIEW = program("""
D = T.decl_buffer((4, 4), "int32", data=V.data)
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = D[vi, vj]
""")

MEMORY: Refusals = {
    "a reader that may be overwritten": (
        OVERLAPPING,
        lambda s: s.compute_inline("C"),
        "`V`, which the block `C` reads, may be written again",
    ),
    "a sum that may be begun too early": (
        OVERLAPPING,
        lambda s: s.decompose_reduction("V", s.get_loops("V")[0]),
        "`A` may be the memory of `V`",
    ),
    "parts of a sum": (OVERLAPPING, lambda s: s.rfactor(s.get_loops("V")[1]), "`A` may be the memory of `V`"),
    "a copy of what may change": (
        OVERLAPPING,
        lambda s: s.cache_read("C", "V", "local"),
        "`V` may overlap other parameters",
    ),
    "another layout of what is another's": (
        OVERLAPPING,
        lambda s: s.transform_layout("V", "V", lambda i: (i // 4, i % 4), keep_interface=True),
        "`V` may overlap other parameters",
    ),
    "a view written behind": (
        VIEWED,
        lambda s: s.compute_at("C", s.get_loops("W")[0]),
        "`V`, which the block `C` reads, may be written again",
    ),
    "the layout of a view": (
        VIEWED,
        lambda s: s.transform_layout("D", "D", lambda i, j: (j, i)),
        "the memory of `D` is reached by a view",
    ),
    "the layout of the only view": (
        ONLY_VIEW,
        lambda s: s.transform_layout("B", "D", lambda i, j: (j, i)),
        "`D` is a view of other memory",
    ),
    "the order of a view": (
        VIEWED,
        lambda s: s.sequential_buffer_access("D", "D"),
        "the memory of `D` is reached by a view",
    ),
    "a store in a branch": (STORED, lambda s: s.compute_inline("C"), "`V`, which the block `C` reads, is written"),
    "a copy of a region of the block's own": (
        MATCHED,
        lambda s: s.cache_read("B", "R", "local"),
        "the block `B` reads no `R`",
    ),
    "the order of a region": (
        MATCHED,
        lambda s: s.sequential_buffer_access("B", "R"),
        "the block `B` does not use `R`",
    ),
}

# what these read and write may be the same memory
PRODUCT_OF_BYTES = program(
    """
T.func_attr({"noalias": False})
C = T.alloc_buffer((16, 16), "int8")
for k, j in T.grid(16, 16):
    with T.block("C"):
        vk, vj = T.axis.remap("SS", [k, j])
        C[vk, vj] = B[vk, vj]
for i, k in T.grid(16, 16):
    with T.block("V"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            V[vi] = 0
        V[vi] += T.cast(A[vi, vk], "int32") * T.cast(C[vk, 0], "int32")
""",
    A="int8",
    B="int8",
)

UPDATES = program("""
T.func_attr({"noalias": False})
for i in range(16):
    with T.block("W"):
        vi = T.axis.reduce(16, i)
        W[V[vi] % 16] = W[V[vi] % 16] + 1
""")

SCAN = program("""
T.func_attr({"noalias": False})
for k in range(16):
    with T.block("W"):
        vk = T.axis.scan(16, k)
        W[vk] = T.if_then_else(vk == 0, 0, W[vk - 1]) + V[vk]
""")

OVERLAPS: Refusals = {
    "a sum made before a product": (
        PRODUCT_OF_BYTES,
        lambda s: s.flip_signedness("C"),
        "`A` may be written in the loops of the product",
    ),
    "updates in parts": (UPDATES, lambda s: s.privatize("i", 4), "`V` may be the memory of `W`"),
    "pieces of a scan": (SCAN, lambda s: s.blocked_scan("k", 4), "`V` may be the memory of `W`"),
    "blocks of a scan": (SCAN, lambda s: s.parallel_scan("k", 4, 2, 8), "`V` may be the memory of `W`"),
}

LATER = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[3]
for i in range(16):
    with T.block("V"):
        vi = T.axis.spatial(16, i)
        V[vi] = A[vi, 0]
""")

INTERLEAVED = program("""
for i1, i0 in T.grid(4, 4):
    with T.block("W"):
        vi = T.axis.spatial(16, i0 * 4 + i1)
        W[vi] = V[vi]
""")

IN_LOOP = program("""
for i in range(16):
    L = T.alloc_buffer((16,), "int32")
    for j in range(16):
        with T.block("L"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vj] = A[vj, vi]
    for j in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(16, j)
            B[vi, vj] = L[vj] + 1
""")

SHIFTED = program("""
for i in range(16):
    L = T.alloc_buffer((16,), "int32")
    for j in range(16):
        with T.block("L"):
            vi, vj = T.axis.remap("SS", [i, j])
            L[vj] = A[vj, vi]
    for j0, j1 in T.grid(16, 1):
        with T.block("B"):
            vi = T.axis.spatial(16, i + j1)
            vj = T.axis.spatial(16, j0)
            B[vi, vj] = L[vj] + 1
""")

OVER_SUM = program("""
C = T.alloc_buffer((16,), "int32")
for k in range(16):
    for i in range(16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] += A[vi, vk]
    for i in range(16):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = C[vi]
""")

LAST_WINS = program("""
C = T.alloc_buffer((1,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[0] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[0]
""")

MADE_BEFORE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi] + 1
for t in range(1):
    L = T.alloc_buffer((16,), "int32")
    for i in range(16):
        with T.block("L"):
            vi = T.axis.spatial(16, i)
            L[vi] = C[vi] * 2
    for i in range(16):
        with T.block("W"):
            vi = T.axis.spatial(16, i)
            W[vi] = L[15 - vi]
""")

ALLOCATED_LATE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi] + 1
L = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("L"):
        vi = T.axis.spatial(16, i)
        L[vi] = C[vi] * 2
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = L[15 - vi]
""")

ITERATIONS: Refusals = {
    "one element that a later iteration makes": (
        LATER,
        lambda s: s.reverse_compute_at("W", s.get_loops("C")[0]),
        "may not have made `C` at 3 yet",
    ),
    "gaps that later iterations fill": (
        INTERLEAVED,
        lambda s: s.write_at(s.get_loops("W")[0], "W", 0, "local"),
        "an iteration of the loop `i1` makes `W_local` with gaps that others fill",
    ),
    "what is made behind": (
        LATER,
        lambda s: s.reverse_compute_at("C", s.get_loops("V")[0]),
        "`V`, which the block `C` reads, is written behind the block",
    ),
    "points of other iterations": (
        SHIFTED,
        lambda s: s.reverse_compute_at("B", s.get_loops("L")[1]),
        "that another iteration of a loop around both has now",
    ),
    "a sum of which a loop around makes a part": (
        OVER_SUM,
        lambda s: s.compute_at("C", s.get_loops("B")[1]),
        "a loop around both runs over the reduce axis `vk` of `C`",
    ),
    "several stores at one place": (
        LAST_WINS,
        lambda s: s.compute_at("C", s.get_loops("W")[0]),
        "stores for every value of the axis `vi` at the same place",
    ),
    "memory of one iteration for what is made before": (
        MADE_BEFORE,
        lambda s: s.reverse_compute_inline("L"),
        "`L` is allocated behind the block",
    ),
    "a copy of memory of one iteration": (
        IN_LOOP,
        lambda s: s.reindex("L", ("write", 0)),
        "`L` is allocated in a loop around the block",
    ),
}

RANGES = program("""
for i in range(S[0]):
    for j in range(W[0]):
        with T.block("B"):
            vi = T.axis.opaque(16, i)
            vj = T.axis.opaque(16, j)
            B[vi, vj] = B[vi, vj] + 1
            W[vi] = V[vi]
""")

READ_RANGE = program("""
for i in range(16):
    for j in range(T.min(S[0], 16)):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(16, j)
            B[vi, vj] = A[vi, vj]
""")

LANES = program("""
C = T.alloc_buffer((4, 8), "int32")
for i, j in T.grid(4, 2):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj * 4:vj * 4 + 4] = A[vi, vj * 4:vj * 4 + 4]
for i, j in T.grid(4, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vi, vj]
""")

GREATEST = program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.reduce(16, i)
        with T.init():
            S[0] = T.min_value("int32")
            W[0] = -1
        better = V[vi] > S[0]
        W[0] = T.if_then_else(better, vi, W[0])
        S[0] = T.if_then_else(better, V[vi], S[0])
""")

COUNTED = program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        total: T.int32 = 0
        for k in range(1):
            total = total + V[vi]
        W[vi] = total
""")

OTHERS: Refusals = {
    "a range that the body changes, split": (
        RANGES,
        lambda s: s.split("j", [None, 4]),
        "how far the loop `j` runs is read from `W`, which it changes",
    ),
    "a range that the body changes, fused": (
        RANGES,
        lambda s: s.fuse("i", "j"),
        "how far the loop `j` runs is read from `W`, which it changes",
    ),
    "a range from memory between the loops": (
        READ_RANGE,
        lambda s: s.reorder("j", "i"),
        "how far a loop runs is read from memory between the loops",
    ),
    "vectors taken apart": (
        LANES,
        lambda s: s.transform_layout("C", "C", lambda i, j: (j, i)),
        "is accessed by vectors, whose elements the map takes apart",
    ),
    "the first of equal ones": (
        GREATEST,
        lambda s: s.transform_block_layout("W", lambda i: (15 - i,)),
        "may depend on the order of its reduction",
    ),
    "a scalar in one iteration": (COUNTED, lambda s: s.parallel("k"), "assigns to the scalar `total`"),
    "an intrinsic that is not there": (
        COUNTED,
        lambda s: s.tensorize("i", "dot_16x4_vnn1"),
        "there is no tensor intrinsic `dot_16x4_vnn1`",
    ),
}


@pytest.mark.parametrize(
    "refusals", [MEMORY, OVERLAPS, ITERATIONS, OTHERS], ids=["memory", "overlaps", "iterations", "others"]
)
def test_refusals(refusals: Refusals, golden: Any) -> None:
    check(refusals, golden)


def test_an_axis_of_a_loop_around_both_stays_what_it_is() -> None:
    """Its whole range would run with the memory of the last iteration."""
    schedule = Schedule(IN_LOOP)
    schedule.compute_at("L", schedule.get_loops("B")[1])
    assert_same_result(IN_LOOP, schedule.func)
    schedule = Schedule(IN_LOOP)
    schedule.reverse_compute_at("B", schedule.get_loops("L")[1])
    assert_same_result(IN_LOOP, schedule.func)


def test_what_only_one_name_reaches_is_copied() -> None:
    schedule = Schedule(ONLY_VIEW, verify=True)
    schedule.cache_read("B", "D", "local")
    assert_same_result(ONLY_VIEW, schedule.func)


def test_memory_is_there_when_it_is_stored_earlier() -> None:
    schedule = Schedule(ALLOCATED_LATE, verify=True)
    schedule.reverse_compute_inline("L")
    assert_same_result(ALLOCATED_LATE, schedule.func)


def test_a_sum_of_unknown_length_makes_all_of_its_rows() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8, "n"), "int32"), B: T.Buffer((8, 8), "int32")):
    C = T.alloc_buffer((8, 8), "int32")
    for i, j, k in T.grid(8, 8, T.ceildiv(n, 4) * 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.if_then_else(vk < n, A[vi, vk], 0)
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj]
""")
    assert isinstance(func, PrimFunc)
    schedule = Schedule(func, verify=True)
    outer, _ = schedule.split(schedule.get_loops("C")[0], [None, 4])
    schedule.reverse_compute_at("B", outer)
    assert_same_result(func, schedule.func)


def test_padding_is_stored_where_its_memory_is() -> None:
    schedule = Schedule(IN_LOOP, verify=True)
    schedule.transform_layout("L", "L", lambda i: (i // 5, i % 5), pad_value=7)
    assert_same_result(IN_LOOP, schedule.func)


def test_vectors_stay_whole_where_the_last_index_does() -> None:
    schedule = Schedule(LANES, verify=True)
    schedule.transform_layout("C", "C", lambda i, j: (i % 2, i // 2, j))
    assert_same_result(LANES, schedule.func)


def test_a_reduction_whose_order_stays_gets_other_axes() -> None:
    schedule = Schedule(GREATEST, verify=True)
    schedule.transform_block_layout("W", lambda i: (i // 4, i % 4))
    assert_same_result(GREATEST, schedule.func)


def test_a_block_of_blocks_copies_what_is_made_by_then() -> None:
    func = program("""
C = T.alloc_buffer((16, 16), "int32")
for i in range(16):
    for j in range(16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]
    with T.block("outer"):
        vi = T.axis.spatial(16, i)
        for j in range(16):
            with T.block("B"):
                vj = T.axis.spatial(16, j)
                B[vi, vj] = C[vi, 15 - vj]
""")
    schedule = Schedule(func, verify=True)
    copy = schedule.cache_read("B", "C", "local")
    assert len(schedule.get_loops(copy)) == 2
    assert_same_result(func, schedule.func)


def test_a_size_that_only_the_parameter_tells_is_kept() -> None:
    """The function had no text that could be read, and no build knew the size."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32")):
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + 1
""")
    assert isinstance(func, PrimFunc)
    sch = Schedule(func)
    tiles = lambda i: (i // 4, i % 4)
    sch.transform_layout("B", "A", tiles, 0)
    with pytest.raises(DiagnosticError, match="no other parameter than `B` tells `n`"):
        sch.transform_layout("B", "B", tiles, 0)
    sch.transform_layout("B", "B", tiles, 0, keep_interface=True)
    assert parse(sch.func.script()).script() == sch.func.script()
