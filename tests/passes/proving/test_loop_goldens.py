"""What the passes on loops, bounds and index types make of a program, in golden files that were read."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.passes.pipeline import Sequential
from tirscript.script import parse

HEAD = "@T.prim_func\ndef main({params}):\n{body}"
ARRAYS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "int32"), n: T.int32'
SYMBOLIC = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), n: T.int64'
WIDE = 'A: T.Buffer((T.int64(1024),), "float32"), B: T.Buffer((T.int64(1024),), "float32"), n: T.int64'


def program(body: str, params: str = ARRAYS) -> Any:
    lines = body.strip("\n").split("\n")
    return parse(HEAD.format(params=params, body="".join(f"    {line}\n" if line else "\n" for line in lines)))


CASES: dict[str, tuple[str, Any]] = {
    "merge": (
        "merge_adjacent_loops",
        program(
            """
# doubled
for i in range(16):
    B[i] = A[i] * 2.0
# and one more
for j in range(16):
    B[j] = B[j] + 1.0
for k in range(16):
    A[k] = B[15 - k]
for i in range(4):
    for j in range(4):
        A[i * 4 + j] = 1.0
for i in range(4):
    for j in range(4):
        B[i * 4 + j] = A[i * 4 + j]
for i in T.parallel(15):
    A[i] = 1.0
for i in T.parallel(15):
    B[i] = A[i + 1]
"""
        ),
    ),
    "partition": (
        "loop_partition",
        program(
            """
# ragged tiles
for i in range(4):
    for j in range(4):
        if i * 4 + j < 14:  # the last tile is not full
            B[i * 4 + j] = A[i * 4 + j]
for i in range(16):
    A[i] = T.if_then_else(i >= 2 and i < 14, B[i - 2], 0.0)
for i in range(18):
    with T.block("moved"):
        vi = T.axis.spatial(16, i - 1)
        T.where(i >= 1 and i < 17)
        B[vi] = A[vi]
"""
        ),
    ),
    "partition_symbolic": (
        "loop_partition",
        program(
            """
for i in range((n + 3) // 4):
    for j in range(T.int64(4)):
        if i * 4 + j < n:
            B[i * 4 + j] = A[i * 4 + j]
""",
            SYMBOLIC,
        ),
    ),
    "partition_stays": (
        "loop_partition{likely=true}",
        program(
            """
for i in range(16):
    k = C[i]
    if i < k:
        B[i] = 1.0
for i in range(16):
    if i == 3:
        break
    B[i] = 2.0
for i in range(16):
    if T.likely(i < n):
        A[i] = 2.0
    if i < 7:
        B[i] = 2.0
"""
        ),
    ),
    "bounds": (
        "bounds_check",
        program(
            """
for i in range(16):
    B[i] = A[i + n]
    A[i + 1] = T.if_then_else(i >= 1, A[i - 1], A[C[i]])
    A[T.ramp(i * 2, 1, 4)] = T.broadcast(T.float32(1.0), 4)
x: T.int32 = 0
while A[x] > 0.0:
    x = x + 1
if n >= 0 and n < 16:
    B[n] = 0.0
"""
        ),
    ),
    "narrow": (
        "narrow_index_types",
        program(
            """
for i in range(T.int64(128)):
    B[i * 4] = A[i * 4 + 1] + T.float32(i)
    for j in range(i, n):
        if i * 4 + j < 14:
            B[i + j] = A[T.min(i, j)]
    k = i * 3
    h = i * 33554432
    with T.block("b"):
        vi = T.axis.spatial(T.int64(128), i)
        T.where(vi < 3)
        A[vi] = B[k + h // 33554432]
""",
            WIDE,
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pass(case: str, golden: Any) -> None:
    name, before = CASES[case]
    (entry,) = Sequential.parse(name)
    golden.check_pass(before, entry)
