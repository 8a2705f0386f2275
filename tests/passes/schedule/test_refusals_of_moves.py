"""What the primitives that move, inline and copy blocks refuse, and how they say it."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.refusals import Refusals, check, program

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
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi] + V[vi]
""")

NESTED = program("""
C = T.alloc_buffer((16, 16), "int32")
for i in range(16):
    with T.block("outer"):
        vi = T.axis.spatial(16, i)
        for j in range(16):
            with T.block("C"):
                vj = T.axis.spatial(16, j)
                C[vi, vj] = A[vi, vj]
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vi, vj]
""")

TWICE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i in range(8):
    with T.block("more"):
        vi = T.axis.spatial(8, i)
        C[vi] = 7
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

MADE = """
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
"""
READ = """
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
"""
BARE = program(f"{MADE}C[3] = 5{READ}")
BEHIND = program(f"{MADE}{READ.strip()}\nC[3] = 5")

ALONE = program("""
C = T.alloc_buffer((16,), "int32")
C[3] = 5
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        if vi == 3:
            W[vi] = C[vi]
""")

UNUSED = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
""")

LATE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
""")

VIEWED = program("""
C = T.alloc_buffer((16,), "int32")
D = T.decl_buffer((16,), "int32", data=C.data)
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

CHANGED = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i in range(16):
    with T.block("V"):
        vi = T.axis.spatial(16, i)
        V[vi] = 0
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi] + V[vi]
""")

CHANGED_BARE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
V[0] = 1
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

SEVERAL = program("""
C = T.alloc_buffer((17,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
        C[vi + 1] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

SHIFTED = program("""
C = T.alloc_buffer((17,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi + 1] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi + 1]
""")

WHOLE = program("""
C = T.alloc_buffer((16,), "int32")
with T.block("C"):
    for i in range(16):
        C[i] = V[i]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

REPEATED = program("""
C = T.alloc_buffer((16,), "int32")
for i, j in T.grid(16, 4):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi] = A[vi, vj]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

UPDATE = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = C[vi] + V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = W[vi] + C[vi]
""")

EFFECT = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = T.call_extern("int32", "next_number", vi)
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

PART = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        T.where(i < 12)
        C[vi] = V[vi]
for i in range(12):
    with T.block("W"):
        vi = T.axis.spatial(12, i)
        W[vi] = C[vi]
""")

SCAN = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.scan(16, i)
        C[vi] = V[vi]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi]
""")

SELDOM = program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        if vi < 4:
            W[vi] = V[vi]
""")

READ_FIRST = program("""
for i in range(16):
    with T.block("S"):
        vi = T.axis.spatial(16, i)
        V[vi] = W[15 - vi] + A[vi, 0]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = V[vi]
""")

LOOP = program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = V[vi]
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = W[vj]
    for j in range(16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vj]
""")

MOVES: dict[str, Refusals] = {
    "compute_at": {
        "a loop in another block": (NESTED, lambda s: s.compute_at("C", s.get_loops("B")[0]), "in another block"),
        "an output": (SUM, lambda s: s.compute_at("W", s.get_loops("C")[0]), "is seen outside of the function"),
        "another writer": (TWICE, lambda s: s.compute_at("C", s.get_loops("W")[0]), "is written by another block"),
        "a store outside of blocks": (BARE, lambda s: s.compute_at("C", s.get_loops("W")[0]), "outside of blocks"),
        "no reader": (UNUSED, lambda s: s.compute_at("C", s.add_unit_loop("C")), "is in the loop"),
        "a position behind the reader": (
            PAIR,
            lambda s: s.compute_at("C", s.get_loops("B")[0], index=1),
            "at most at 0",
        ),
        "an input that changes": (CHANGED, lambda s: s.compute_at("C", s.get_loops("W")[0]), "may be written again"),
        "an input changed outside of blocks": (
            CHANGED_BARE,
            lambda s: s.compute_at("C", s.get_loops("W")[0]),
            "is written outside of blocks",
        ),
        "several elements": (SEVERAL, lambda s: s.compute_at("C", s.get_loops("W")[0]), "stores to several elements"),
        "an index that is no axis": (SHIFTED, lambda s: s.compute_at("C", s.get_loops("W")[0]), "spatial axes alone"),
        "no axes": (WHOLE, lambda s: s.compute_at("C", s.get_loops("W")[0]), "has no axes"),
        "an axis in order": (SCAN, lambda s: s.compute_at("C", s.get_loops("W")[0]), "is scan"),
        "a part of the axes": (PART, lambda s: s.compute_at("C", s.get_loops("W")[0]), "for every point of its axes"),
    },
    "reverse_compute_at": {
        "a loop in another block": (NESTED, lambda s: s.reverse_compute_at("B", "j"), "2 loops are named `j`"),
        "where it is": (PAIR, lambda s: s.reverse_compute_at("B", s.get_loops("B")[0]), "is in the loop `i` already"),
        "a reduction": (SUM, lambda s: s.reverse_compute_at("C", s.get_loops("W")[0]), "nothing that `C`"),
        "an update": (UPDATE, lambda s: s.reverse_compute_at("W", s.get_loops("C")[0]), "reads what it writes"),
        "no producer": (CHANGED, lambda s: s.reverse_compute_at("V", s.get_loops("C")[0]), "nothing that `V` reads"),
        "an input written behind": (
            CHANGED,
            lambda s: s.reverse_compute_at("W", s.get_loops("C")[0]),
            "behind the loop",
        ),
        "a position before the producer": (
            PAIR,
            lambda s: s.reverse_compute_at("B", s.get_loops("C")[0], index=0),
            "behind its last producer",
        ),
        "a store outside of blocks": (
            BARE,
            lambda s: s.reverse_compute_at("W", s.get_loops("C")[0]),
            "outside of blocks",
        ),
        "another writer": (
            TWICE,
            lambda s: s.reverse_compute_at("W", s.get_loops("more")[0]),
            "outside of the loop too",
        ),
        "an output that is read before": (
            READ_FIRST,
            lambda s: (s.compute_at, s.reverse_compute_at("W", s.get_loops("S")[0])),
            "is used between the loop and the block",
        ),
    },
    "compute_inline": {
        "a view": (VIEWED, lambda s: s.compute_inline("C"), "a view, an address or a call"),
        "another writer": (TWICE, lambda s: s.compute_inline("C"), "is written by another block too"),
        "a store outside of blocks": (BARE, lambda s: s.compute_inline("C"), "is accessed outside of blocks"),
        "no reader": (UNUSED, lambda s: s.compute_inline("C"), "nothing reads `C`"),
        "several stores": (SEVERAL, lambda s: s.compute_inline("C"), "is not one store"),
        "an update": (UPDATE, lambda s: s.compute_inline("C"), "which it writes"),
        "an effect": (EFFECT, lambda s: s.compute_inline("C"), "has an effect"),
        "a reader before": (LATE, lambda s: s.compute_inline("C"), "before the block `C` writes it"),
        "an index that is no axis": (SHIFTED, lambda s: s.compute_inline("C"), "not distinct axes"),
        "an input that changes": (CHANGED, lambda s: s.compute_inline("C"), "may be written again"),
        "an input changed outside of blocks": (CHANGED_BARE, lambda s: s.compute_inline("C"), "outside of blocks"),
        "an axis that is no index": (REPEATED, lambda s: s.compute_inline("C"), "which is no index of the store"),
    },
    "reverse_compute_inline": {
        "a maker that reduces": (SUM, lambda s: s.reverse_compute_inline("W"), "is a reduction or stores several"),
        "a maker that updates": (UPDATE, lambda s: s.reverse_compute_inline("W"), "which it writes"),
        "a body of several stores": (SEVERAL, lambda s: s.reverse_compute_inline("C"), "is not one store"),
        "an effect": (EFFECT, lambda s: s.reverse_compute_inline("C"), "has an effect"),
        "an input that comes behind": (
            CHANGED,
            lambda s: s.reverse_compute_inline("W"),
            "is written behind the block `C`",
        ),
        "more elements": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = V[vi]
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vi]
"""),
            lambda s: s.reverse_compute_inline("B"),
            "it makes more elements",
        ),
    },
    "cache": {
        "a reader that is none": (PAIR, lambda s: s.cache_read("C", "A", "local", ["B"]), "does not read `A`"),
        "a reader in another block": (
            NESTED,
            lambda s: s.cache_read("B", "C", "local", ["B", "outer"]),
            "does not read",
        ),
        "two writers": (TWICE, lambda s: s.cache_read("W", "C", "local"), "is written by 2 blocks"),
        "a view": (VIEWED, lambda s: s.cache_read("W", "C", "local"), "a view, an address or a call"),
        "a store outside of blocks": (
            BEHIND,
            lambda s: s.cache_read("W", "C", "local"),
            "is still written, outside of",
        ),
        "stores outside of blocks alone": (
            ALONE,
            lambda s: s.cache_read("W", "C", "local"),
            "accessed outside of blocks",
        ),
        "a writer behind": (LATE, lambda s: s.cache_read("W", "C", "local"), "is still written"),
        "what is not all written": (PART, lambda s: s.cache_read("W", "C", "local"), "for every point of its axes"),
        "an update": (UPDATE, lambda s: s.cache_write("C", 0, "local"), "reads what the buffer `C` held before"),
        "a reader in the same loops": (LOOP, lambda s: s.cache_write("C", 0, "local"), "in the same loops"),
        "a store under a condition": (SELDOM, lambda s: s.cache_write("W", 0, "local"), "its store is conditional"),
        "another writer of it": (TWICE, lambda s: s.cache_write("C", 0, "local"), "is written by another block too"),
        "a reader of something else": (PAIR, lambda s: s.cache_write("C", 0, "local", ["C"]), "does not read `C`"),
        "a reader before": (READ_FIRST, lambda s: s.cache_write("W", 0, "local"), "is read before it is written"),
        "in place, no writer": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = C[vi] + V[vi]
"""),
            lambda s: s.cache_inplace("C", 0, "local"),
            "nothing is written to `C` before",
        ),
        "in place, other uses": (
            program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = W[vi] + V[vi]
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi, 0] = W[vi]
"""),
            lambda s: s.cache_inplace("W", "W", "local"),
            "is used in the same loops",
        ),
    },
    "reindex": {
        "neither read nor write": (PAIR, lambda s: s.reindex("C", ("reed", 0)), "names 'reed'"),
        "a map of other axes": (
            PAIR,
            lambda s: s.reindex_cache_read("C", 0, "local", lambda i: i),
            "takes 1 index, and the block has 2 axes",
        ),
        "a view": (VIEWED, lambda s: s.reindex("W", "C"), "a view, an address or a call"),
        "no axes": (WHOLE, lambda s: s.reindex("C", "V"), "has no axes"),
        "one element": (
            program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = V[3]
"""),
            lambda s: s.reindex("W", "V"),
            "one element of `V` whatever its axes are",
        ),
        "a gather": (
            program("""
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = A[V[vi], vi]
"""),
            lambda s: s.reindex("W", "A"),
            "a vector or read from memory",
        ),
        "a store under a condition": (SELDOM, lambda s: s.reindex("W", ("write", 0)), "its store is conditional"),
        "an axis that begins later": (
            program("""
for i in range(12):
    with T.block("W"):
        vi = T.axis.spatial((4, 16), i + 4)
        W[vi] = V[vi]
"""),
            lambda s: s.reindex("W", "V"),
            "does not begin at 0",
        ),
        "a map to negative indices": (
            PAIR,
            lambda s: s.reindex_cache_read("C", 0, "local", lambda i, j: (i - 3, j)),
            "not proved to be 0 or more",
        ),
    },
    "fuse_reduction_epilogue": {
        "no update": (PAIR, lambda s: s.fuse_reduction_epilogue("C", "B"), "is not an update"),
        "an output": (
            program("""
for i, k in T.grid(16, 16):
    with T.block("V"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            V[vi] = 0
        V[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = V[vi] + 1
"""),
            lambda s: s.fuse_reduction_epilogue("V", "W"),
            "is seen outside of the function",
        ),
        "another begin": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 1
        C[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi] + V[vi]
"""),
            lambda s: s.fuse_reduction_epilogue("C", "W"),
            "does not begin with 0",
        ),
        "an epilogue that reads something else": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = V[vi]
"""),
            lambda s: s.fuse_reduction_epilogue("C", "W"),
            "does not read `C`",
        ),
        "an epilogue that writes what it reads": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi] + W[vi]
"""),
            lambda s: s.fuse_reduction_epilogue("C", "W"),
            "reads the buffer `W`, which it writes",
        ),
        "another reader": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] += A[vi, vk]
for i in range(16):
    with T.block("W"):
        vi = T.axis.spatial(16, i)
        W[vi] = C[vi] + V[vi]
for i in range(16):
    with T.block("V"):
        vi = T.axis.spatial(16, i)
        V[vi] = C[vi]
"""),
            lambda s: s.fuse_reduction_epilogue("C", "W"),
            "is used by the block `V` too",
        ),
        "elements that are fewer": (
            program("""
C = T.alloc_buffer((16,), "int32")
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] += A[vi, vk]
for i in range(8):
    with T.block("W"):
        vi = T.axis.spatial(8, i)
        W[vi] = C[vi] + V[vi]
"""),
            lambda s: s.fuse_reduction_epilogue("C", "W"),
            "do not make the same elements",
        ),
    },
}


@pytest.mark.parametrize("primitive", MOVES)
def test_refusals(primitive: str, golden: Any) -> None:
    check(MOVES[primitive], golden)
