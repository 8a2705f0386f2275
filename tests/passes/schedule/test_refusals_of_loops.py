"""What the primitives on loops, reductions and storage refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.refusals import Refusals, check, program

from tirscript.script import tir as T

PAIR = program("""
C = T.alloc_buffer((16, 16), "int32")
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + 1
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vi, vj] * 2
""")

SUM = program("""
for i, k in T.grid(16, 16):
    with T.block("W"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            W[vi] = 0
        W[vi] += A[vi, vk]
""")

TOGETHER = program("""
for i in range(16):
    for j in range(16):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = 1
    for j in range(16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 2
""")

STEPPED = program("""
for i in range(0, 16, 2):
    for j in range(16):
        with T.block("B"):
            vi = T.axis.spatial(15, i)
            vj = T.axis.spatial(16, j)
            B[vi, vj] = A[vi, vj]
""")

TRIANGLE = program("""
for i in range(16):
    for j in range(i + 1):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""")

LEFT = program("""
for i, j in T.grid(16, 16):
    if V[i] > 0:
        break
    B[i, j] = A[i, j]
""")

BRANCH = program("""
for i in range(16):
    if V[i] > 0:
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
""")

NESTED = program("""
for i in range(16):
    with T.block("outer"):
        vi = T.axis.spatial(16, i)
        for j in range(16):
            with T.block("B"):
                vj = T.axis.spatial(16, j)
                B[vi, vj] = A[vi, vj]
""")

SCAN = program("""
for i in range(15):
    with T.block("W"):
        vi = T.axis.scan(15, i)
        W[vi + 1] = W[V[vi]] + 1
""")

SCANS = program("""
for i, j in T.grid(15, 4):
    with T.block("W"):
        vi, vj = T.axis.remap("CC", [i, j])
        W[vi + 1] = W[V[vi]] + vj
""")

RECURRENCE = program("""
for i in range(15):
    with T.block("W"):
        vi = T.axis.opaque(15, i)
        W[vi + 1] = W[vi] + V[vi]
""")

BARE = program("""
for i in range(16):
    W[V[i]] = i
""")

SHARED = program("""
C = T.alloc_buffer((2,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        if V[vi] > 0:
            C[1] = V[vi]
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[1]
""")

DIAGONAL = program("""
for i, j in T.grid(15, 15):
    with T.block("A"):
        vi, vj = T.axis.remap("OO", [i, j])
        A[vi + 1, vj] = A[vi, vj + 1]
""")

SYMBOLIC = program("""
n = S[0]
for i in range(n):
    W[i] = V[i]
""")

LONG = program("""
for i, j in T.grid(65536, 65536):
    W[0] = i + j
""")

NO_INIT = program("""
for i, k in T.grid(16, 16):
    with T.block("W"):
        vi, vk = T.axis.remap("SR", [i, k])
        W[vi] += A[vi, vk]
""")

SUM_OF_PART = program("""
for i, k in T.grid(16, 12):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        vk = T.axis.reduce(16, k + 4)
        with T.init():
            W[vi] = 0
        W[vi] += A[vi, vk]
""")

SUM_AND_SUMS = program("""
for i, k in T.grid(16, 16):
    with T.block("W"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            W[vi] = 0
            V[vi] = 0
        W[vi] += A[vi, vk]
        V[vi] += W[vi]
""")

BESIDE = program("""
for i in range(16):
    for k in range(16):
        with T.block("W"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                W[vi] = 0
            W[vi] += A[vi, vk]
        S[0] = k
""")

PRODUCT = program("""
for i, j, k in T.grid(16, 16, 16):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = 0
        B[vi, vj] += A[vi, vk] * A[vk, vj]
""")

NOT_A_PRODUCT = program("""
for i, k in T.grid(16, 16):
    with T.block("W"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            W[vi] = 0
        W[vi] += T.max(A[vi, vk], V[vk])
""")

FLOATS = program(
    """
for i, j, k in T.grid(16, 16, 16):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = T.float32(0)
        B[vi, vj] += A[vi, vj] * V[vk]
""",
    A="float32",
    B="float32",
    V="float32",
)

PADDED = program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = T.if_then_else(V[vi] > 0, A[vi, 0], 0)
""")

PADDED_AGAIN = program("""
for i, j in T.grid(16, 4):
    with T.block("W"):
        vi, vj = T.axis.remap("SS", [i, j])
        W[vi] = T.if_then_else(vi > 3, A[vi, 0], 0)
""")

LATER = program("""
for i in range(12):
    with T.block("W"):
        vi = T.axis.spatial((4, 16), i + 4)
        W[vi] = V[vi]
""")

STRIDED = program("""
C = T.alloc_buffer((16,), "int32", strides=(2,))
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
""")

VIEWED = program("""
C = T.alloc_buffer((16, 16), "int32")
D = T.decl_buffer((256,), "int32", data=C.data)
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = D[vi]
""")

SPARSE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi // 2] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[3]
""")

LOOPS: dict[str, Refusals] = {
    "plain": {
        "a loop of another kind": (
            PAIR,
            lambda s: (s.unroll(s.get_loops("C")[1]), s.split(s.get_loops("C")[1], [None, 4])),
            "is unrolled; only a serial loop",
        ),
        "annotations that would be lost": (
            SUM,
            lambda s: (s.annotate("i", "pragma", 1), s.split("i", [None, 4])),
            "annotations ('pragma') that would be lost",
        ),
        "a step": (STEPPED, lambda s: s.split("i", [None, 4]), "counts by a step"),
        "a break": (LEFT, lambda s: s.split("j", [None, 4]), "has a `break` of its own"),
    },
    "split": {
        "no factors": (SUM, lambda s: s.split("i", []), "`factors` is empty"),
        "a factor that is too large": (SUM, lambda s: s.split("i", [None, 1 << 40]), "does not fit the int32"),
        "a factor that is no number of iterations": (
            SUM,
            lambda s: s.split("i", [None, T.float32(2)]),
            "a factor is a number of iterations, not a float32",
        ),
        "too many iterations": (SUM, lambda s: s.split("i", [65536, 65536]), "do not fit the int32"),
    },
    "fuse": {
        "no loops": (SUM, lambda s: s.fuse(), "takes the loops to fuse"),
        "loops that are not nested": (
            PAIR,
            lambda s: s.fuse(s.get_loops("C")[1], s.get_loops("B")[1]),
            "are not nested",
        ),
        "a block between": (NESTED, lambda s: s.fuse("i", "j"), "the block `outer` stands between"),
        "a branch between": (BRANCH, lambda s: s.fuse("i", "j"), "something else than loops"),
        "not alone": (TOGETHER, lambda s: s.fuse("i", s.get_loops("A")[1]), "holds 2 statements"),
        "a triangle": (TRIANGLE, lambda s: s.fuse("i", "j"), "together they are no box"),
        "too many iterations": (LONG, lambda s: s.fuse("i", "j"), "do not fit the int32"),
    },
    "reorder": {
        "no loops": (SUM, lambda s: s.reorder(), "takes the loops, outermost first"),
        "a triangle": (TRIANGLE, lambda s: s.reorder("j", "i"), "which must stay outside"),
        "a break": (LEFT, lambda s: s.reorder("j", "i"), "is left by a `break`"),
        "a dependence": (DIAGONAL, lambda s: s.reorder("j", "i"), "depend on each other in this order"),
        "axes in order": (SCANS, lambda s: s.reorder("j", "i"), "its order matters"),
    },
    "kinds": {
        "a recurrence": (RECURRENCE, lambda s: s.parallel("i"), "the opaque axis `vi`"),
        "a scan": (SCAN, lambda s: s.parallel("i"), "the scan axis `vi`"),
        "a buffer that iterations share": (SHARED, lambda s: s.parallel("i"), "not proved to be independent"),
        "stores outside of blocks": (BARE, lambda s: s.parallel("i"), "are not proved to be independent"),
        "lanes that cannot be counted": (SYMBOLIC, lambda s: s.vectorize("i"), "is not a number"),
        "a step": (STEPPED, lambda s: s.parallel("i"), "counts by a step"),
    },
    "loop_partition": {
        "no lengths": (SUM, lambda s: s.loop_partition("i", []), "`factors` is empty"),
        "two open lengths": (SUM, lambda s: s.loop_partition("i", [None, 2, None]), "2 times None"),
        "lengths that wrap": (
            SUM,
            lambda s: s.loop_partition("i", [2147483647, 2147483647, 18]),
            "4294967312 iterations, which do not fit the int32",
        ),
        "a length of nothing": (SUM, lambda s: s.loop_partition("i", [0, None]), "at least 1, not 0"),
    },
    "merge": {
        "one loop": (SUM, lambda s: s.merge("i"), "two or more loops"),
        "axes in order": (
            program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.scan(16, i)
        W[vi] = V[vi]
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi, 0] = W[vi]
"""),
            lambda s: s.merge(s.get_loops("W")[0], s.get_loops("B")[0]),
            "its order matters",
        ),
    },
    "decompose_reduction": {
        "a loop that is not around": (PAIR, lambda s: s.decompose_reduction("C", s.get_loops("B")[0]), "has no T.init"),
        "a loop of another block": (
            BESIDE,
            lambda s: s.decompose_reduction("W", s.get_loops("W")[1]),
            "holds more than the block `W`",
        ),
        "a sum that begins late": (
            SUM_OF_PART,
            lambda s: s.decompose_reduction("W", "k"),
            "is not at its start where its loops begin",
        ),
    },
    "rfactor": {
        "several blocks": (TOGETHER, lambda s: s.rfactor("i"), "holds 2 blocks, not one"),
        "other statements": (BESIDE, lambda s: s.rfactor("k"), "other statements stand in the loop"),
        "no init": (NO_INIT, lambda s: s.rfactor("k"), "has no T.init"),
        "a sum of sums": (SUM_AND_SUMS, lambda s: s.rfactor("k"), "is not an update"),
        "no dimension": (SUM, lambda s: s.rfactor("k", 2), "have 2 dimensions"),
        "no reduction": (SUM, lambda s: s.rfactor(s.add_unit_loop("W")), "does not run over a reduction axis"),
        "a spatial loop": (SUM, lambda s: s.rfactor("i"), "not over the reduction"),
    },
    "blockize": {
        "no blocks": (BARE, lambda s: s.blockize("i"), "there is no block in it"),
        "an empty list": (PAIR, lambda s: s.blockize([]), "an empty list"),
        "blocks of different blocks": (NESTED, lambda s: s.blockize(["outer", "B"]), "do not stand in one block"),
        "other statements": (BESIDE, lambda s: s.blockize("k"), "something else than loops and blocks"),
        "a reduction that comes again": (
            program("""
for k in range(16):
    for i in range(16):
        with T.block("W"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                W[vi] = 0
            W[vi] += A[vi, vk]
    for i in range(16):
        with T.block("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = 0
            V[vi] += A[vk, vi]
"""),
            lambda s: s.blockize(["W", "V"]),
            "init would come again",
        ),
    },
    "pad_einsum": {
        "a factor twice": (PRODUCT, lambda s: s.pad_einsum("B", [1, 1, 5]), "is several of the factors"),
        "no product": (NOT_A_PRODUCT, lambda s: s.pad_einsum("W", [1, 5]), "is not a product of elements"),
        "an axis of some factors": (FLOATS, lambda s: s.pad_einsum("B", [1, 1, 5]), "is not in every factor"),
    },
    "decompose_padding": {
        "a condition in memory": (PADDED, lambda s: s.decompose_padding("W", "i"), "reads memory"),
        "an axis that is no index": (PADDED_AGAIN, lambda s: s.decompose_padding("W", "i"), "is no index of the store"),
    },
    "storage": {
        "no scope": (PAIR, lambda s: s.set_scope("C", 0, ""), "is empty"),
        "no such dimension": (PAIR, lambda s: s.storage_align("C", 0, 2, 8, 1), "has 2 dimensions"),
        "an offset beyond the factor": (PAIR, lambda s: s.storage_align("C", 0, 0, 4, 4), "must be at least 1"),
        "the last dimension": (PAIR, lambda s: s.storage_align("C", 0, 1, 4, 1), "must stay without gaps"),
        "a view": (VIEWED, lambda s: s.storage_align("C", 0, 0, 4, 1), "a view, an address or a call"),
        "the dtype under a view": (
            VIEWED,
            lambda s: s.unsafe_set_dtype("C", 0, "int64"),
            "a view, an address or a call",
        ),
        "a parameter": (PAIR, lambda s: s.unsafe_set_dtype("B", 0, "int64"), "is not allocated in the function"),
    },
    "transform_layout": {
        "a view": (VIEWED, lambda s: s.transform_layout("C", "C", lambda i, j: (j, i)), "a view, an address or a call"),
        "strides": (STRIDED, lambda s: s.transform_layout("C", "C", lambda i: (i // 4, i % 4)), "has strides"),
        "no such buffer": (PAIR, lambda s: s.transform_layout("C", "D", lambda i, j: (j, i)), "does not use `D`"),
        "no such number": (PAIR, lambda s: s.transform_layout("C", 5, lambda i, j: (j, i)), "has no buffer at 5"),
        "neither read nor write": (
            PAIR,
            lambda s: s.transform_layout("C", ("made", 0), lambda i, j: (j, i)),
            "`buffer` names 'made'",
        ),
        "padding of other indices": (
            PAIR,
            lambda s: s.transform_layout("C", "C", lambda i, j: (i // 5, j, i % 5), pad_value=lambda i: 0),
            "is a function of 1 index, and the new buffer has 3",
        ),
        "padding that is no number": (
            PAIR,
            lambda s: s.transform_layout("C", "C", lambda i, j: (i // 5, j, i % 5), pad_value=lambda i, j, k: "x"),
            "cannot be stored as int32",
        ),
    },
    "transform_block_layout": {
        "axes of several kinds": (
            SUM,
            lambda s: s.transform_block_layout("W", lambda i, k: (i * 16 + k,)),
            "of several kinds",
        ),
        "a map of other axes": (PAIR, lambda s: s.transform_block_layout("C", lambda i: i), "takes 1 index"),
        "a map that is not one to one": (
            PAIR,
            lambda s: s.transform_block_layout("C", lambda i, j: (i // 2, j)),
            "one to one",
        ),
        "loops that are split": (
            PAIR,
            lambda s: (s.split(s.get_loops("C")[0], [4, 4]), s.transform_block_layout("C", lambda i, j: (j, i))),
            "are not its loops one by one",
        ),
        "an axis that begins later": (
            LATER,
            lambda s: s.transform_block_layout("W", lambda i: i),
            "not its loops one by",
        ),
    },
    "sequential_buffer_access": {
        "one element": (SPARSE, lambda s: s.sequential_buffer_access("W", "C"), "no loop around the block"),
        "elements several times": (SPARSE, lambda s: s.sequential_buffer_access("C", "C"), "each element of `C` once"),
    },
    "helpers": {
        "a tile of nothing": (PAIR, lambda s: s.tile("C", {}), "`sizes` is empty"),
        "an axis of two loops": (
            PAIR,
            lambda s: (s.split(s.get_loops("C")[0], [4, 4]), s.tile("C", {"vi": 2})),
            "is not one loop alone",
        ),
        "no lanes": (PAIR, lambda s: s.vectorize_inner("C", 0), "not at least 1"),
        "factors of what is no number": (SYMBOLIC, lambda s: s.sample_perfect_tile("i", 2), "is not a number"),
        "nothing to fuse": (PAIR, lambda s: s.contract("C"), "adds no product"),
    },
    "arguments": {
        "a loop for a block": (
            PAIR,
            lambda s: s.compute_inline(s.get_loops("C")[0]),
            "takes a block, not the loop `i`",
        ),
        "a number for a loop": (PAIR, lambda s: s.unroll(3), "takes a loop or the name of one, not an int"),
        "no list of blocks": (PAIR, lambda s: s.cache_read("C", "A", "local", consumer_blocks="C"), "takes a list"),
    },
}


@pytest.mark.parametrize("primitive", LOOPS)
def test_refusals(primitive: str, golden: Any) -> None:
    check(LOOPS[primitive], golden)
