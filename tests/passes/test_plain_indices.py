"""Indices as schedules see them: simplified by what is known of axes and loops, and legal still."""

from __future__ import annotations

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.plain_indices import with_plain_indices
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def program(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(
        f'@T.prim_func\ndef main(A: T.Buffer((64, 64)), at: T.Buffer((64,), "int32"), B: T.Buffer((64, 64))):\n{lines}\n'
    )
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("index", "plain"),
    [
        ("i // 64 * 64 + j", "vj"),
        ("i * 1", "vi"),
        ("j + 0 * i", "vj"),
        ("(i * 64 + j) // 64", "vi"),
        ("(i * 64 + j) % 64", "vj"),
        ("T.min(i, 63)", "vi"),
        ("at[i // 64 + j]", "at[vj]"),
        ("(i + j) % 64", "(vi + vj) % 64"),
    ],
)
def test_what_loops_say_of_an_index_is_used(index: str, plain: str) -> None:
    func = program(f"for i, j in T.grid(64, 64):\n    B[i, j] = A[i, {index}]")
    made = with_blocks(func)
    assert f"B[vi, vj] = A[vi, {plain}]" in made.script()
    assert_same_result(func, made)
    given = program(f"""
for i, j in T.grid(64, 64):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, {index.replace("i", "vi").replace("j", "vj").replace("mvin", "min")}]
""")
    assert f"B[vi, vj] = A[vi, {plain}]" in with_blocks(given).script()


def test_plain_ones_stay_the_same_objects() -> None:
    func = with_blocks(program("for i, j in T.grid(64, 64):\n    B[i, j] = A[j, i] + A[63 - i, 2 * j - j] + A[3, i]"))
    assert with_plain_indices(func) is func


def test_what_is_never_reached_stays_as_it_is_written() -> None:
    func = program(
        "for i in range(64):\n    if i > 70:\n        B[i * 0 + 64 + i // 64, 0] = A[0, 0]\n    B[i, 0] = T.float32(1)"
    )
    made = with_plain_indices(func)
    assert "B[64" not in made.script()
    assert_same_result(func, made)


def test_a_product_is_seen_through_them() -> None:
    """A convolution as generators of code write it, for any stride and number of groups."""
    func = parse("""
@T.prim_func
def conv(X: T.Buffer((32, 30, 30)), W: T.Buffer((32, 32, 3, 3)), Y: T.Buffer((32, 28, 28))):
    for f, y, x in T.grid(32, 28, 28):
        Y[f, y, x] = 0.0
        for c, i, j in T.grid(32, 3, 3):
            Y[f, y, x] += X[f // 32 * 32 + c, y * 1 + i * 1, x * 1 + j * 1] * W[f, c, i, j]
""")
    assert isinstance(func, PrimFunc)
    plain = parse(
        func.script()
        .replace("f // 32 * 32 + c", "c")
        .replace("y * 1 + i * 1", "y + i")
        .replace("x * 1 + j * 1", "x + j")
    )
    facts = CpuFacts(vector_bits=512)
    assert default_schedule(func, facts).script() == default_schedule(plain, facts).script()
    assert "T.vectorized(16)" in default_schedule(func, facts).script()
