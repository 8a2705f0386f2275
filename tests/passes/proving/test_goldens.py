"""What each pass that proves something makes of a program, in golden files that were read."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.passes.pipeline import Sequential
from tirscript.script import parse

HEAD = "@T.prim_func\ndef main({params}):\n{body}"


def program(body: str, params: str = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32') -> Any:
    lines = body.strip("\n").split("\n")
    return parse(HEAD.format(params=params, body="".join(f"    {line}\n" if line else "\n" for line in lines)))


PADDED = 'A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")'
ASSUME = """
for i, io, ii in T.grid(16, 4, 4):
    T.assume(4 * io + ii < 14 or A[i, io, ii] == 0.0)
"""
CASES: dict[str, tuple[str, Any]] = {
    "constraints": (
        "check_constraints",
        program(
            """
for i in range(16):
    T.static_assert(i < 16, "in range")
    assert i >= 0, "goes away"
    assert n > i, "stays"
    B[i] = A[i]
T.static_assert(n // 4 * 4 <= n)
"""
        ),
    ),
    "stored_facts": (
        "check_constraints",
        program(
            """
for i in range(16):
    A[i] = 1.0
T.static_assert(A[n % 16] == 1.0)
A[3] = 2.0
T.static_assert(A[4] == 1.0)
assert A[n % 16] == 1.0, "A[3] may be meant, so this stays"
if n == 3:
    B[0] = 5.0
assert n != 3 or B[0] == 5.0, "goes away"
"""
        ),
    ),
    "row_sums": (
        "remove_branching_through_overcompute",
        program(
            ASSUME
            + """
for i in range(16):
    B[i] = 0.0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[i] = B[i] + A[i, io, ii]
""",
            PADDED,
        ),
    ),
    "row_sums_back": (
        "remove_overcompute_through_branching",
        program(
            ASSUME
            + """
for i in range(16):
    B[i] = 0.0
    for io, ii in T.grid(4, 4):
        B[i] = B[i] + A[i, io, ii]
""",
            PADDED,
        ),
    ),
    "padding_stored_here": (
        "remove_branching_through_overcompute",
        program(
            """
P = T.alloc_buffer((4, 4), "int32")
for io, ii in T.grid(4, 4):
    P[io, ii] = T.if_then_else(4 * io + ii < 14, C[4 * io + ii], 0)
for io, ii in T.grid(4, 4):
    T.assume(4 * io + ii < 14 or P[io, ii] == 0)
D[0] = 0
for io, ii in T.grid(4, 4):
    if 4 * io + ii < 14:
        D[0] += P[io, ii]
""",
            'C: T.Buffer((14,), "int32"), D: T.Buffer((1,), "int32")',
        ),
    ),
    "branch_that_must_stay": (
        "remove_branching_through_overcompute",
        program(
            ASSUME
            + """
for i in range(16):
    # B may hold -0.0, which adding 0.0 would change
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            B[i] = B[i] + A[i, io, ii]
    B[i] = 0.0
    A[i, 3, 2] = 1.0
    for io, ii in T.grid(4, 4):
        # the assumption does not hold any more
        if 4 * io + ii < 14:
            B[i] = B[i] + A[i, io, ii]
""",
            PADDED,
        ),
    ),
    "no_op": (
        "remove_no_op",
        program(
            """
unused = n * 2
S = T.alloc_buffer((16,), "float32")
for i in range(16):
    S[i] = A[i]
    B[i] = 0.0
    B[i] = A[i] + 1.0
    B[i] = B[i]
for i in range(16):
    pass
if n > 3:
    T.evaluate(0)
for i in range(4):
    A[i] = 2.0
A[2] = 2.0
"""
        ),
    ),
    "no_op_stays": (
        "remove_no_op",
        program(
            """
x = 7 // n
B[0] = 0.0
B[1] = B[0]
B[0] = 1.0
for i in range(16):
    A[i] = 2.0
if n > 3:
    A[2] = 1.0
A[2] = 2.0
"""
        ),
    ),
    "hoist": (
        "hoist_expression",
        program(
            """
for i in range(16):
    x = n * 4
    if n > 4 and i < 9:
        A[i] = A[i] + T.cast(x, "float32")
for i in range(16):
    B[i] = 0.0
    if n > 7:
        B[i] = A[i]
    else:
        B[i] = 1.0
"""
        ),
    ),
    "loop_extents": (
        "reduce_loop_extents",
        program(
            """
for i in range(16):
    if i >= 2 and i < 14 and n > i:
        B[i] = A[i]
for i in range(16):
    if 3 * i < 20:
        B[i] = A[i]
for io, ii in T.grid(4, 4):
    with T.block("B"):
        vi = T.axis.spatial(14, io * 4 + ii)
        T.where(io * 4 + ii < 14 and ii < 3)
        B[vi] = A[vi]
"""
        ),
    ),
    "loop_extents_symbolic": (
        "reduce_loop_extents{symbolic=true}",
        program(
            """
for i in range(16):
    if i < n:
        B[i] = A[i]
"""
        ),
    ),
    "assume": ("remove_assume", program(ASSUME + "B[0] = A[0, 0, 0]\n", PADDED)),
    "undef": (
        "remove_undef",
        program(
            """
A[0] = T.undef("float32")
for i in range(16):
    B[i] = T.Select(i < 4, A[i], T.undef("float32"))
A[1] = T.undef("float32") * 0.0
A[2] = T.undef("float32") + 1.0
"""
        ),
    ),
    "common": (
        "common_subexpression",
        program(
            """
B[n % 4] = A[n % 4 + 4] + T.cast(n % 4, "float32")
for i in range(4):
    if i * 2 + 1 < n:
        B[i * 2 + 1] = A[i * 2 + 1]
"""
        ),
    ),
    "conditionals": (
        "merge_conditionals",
        program(
            """
if n < 4:
    A[0] = 1.0
# beside the second
if n < 4:
    B[0] = 2.0
if n >= 4:
    A[0] = 0.0
if n < 9:
    A[1] = 1.0
else:
    A[1] = 1.0
if A[0] == 1.0:
    A[0] = 3.0
if A[0] == 1.0:
    A[2] = 3.0
"""
        ),
    ),
    "contents": (
        "simplify{contents=true}",
        program(
            """
for i in range(8):
    A[i] = 3.0
B[0] = A[n % 8] + 1.0
A[n % 16] = 0.0
B[1] = A[2]
"""
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pass(case: str, golden: Any) -> None:
    name, before = CASES[case]
    (entry,) = Sequential.parse(name)
    golden.check_pass(before, entry)
