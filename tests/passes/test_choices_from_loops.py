"""Conditions over a variable as the choice of its value: relu and clamps behind a sum."""

from __future__ import annotations

import pytest

from tirscript.ir import Block, PrimFunc, walk
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

CHOICES = {
    "relu": "if s < 0: s = 0",
    "clamp": "if s < -20:\n    s = -20\nelif s > 20:\n    s = 20",
    "both": "if s > b[j]:\n    s = s - b[j]\nelse:\n    s = b[j]",
    "nested": "if i > 0:\n    if s < b[j]:\n        s = 3\nelse:\n    s += 5",
    "guarded": "if b[j] != 0: s = s // b[j]",
}
LEFT = {
    "two variables": "if s < 0:\n    s = 0\n    t = 1",
    "another in the else": "if s < 0:\n    s = 0\nelse:\n    t = 1",
    "more in the branch": "if s < 0:\n    s = 0\n    C[i, j] = 1",
}


def kernel(choice: str) -> PrimFunc:
    """A product of 6 by 7 and 7 by 33 whose elements a condition changes."""
    lines = "\n        ".join(choice.split("\n"))
    func = parse(
        f"""
@T.prim_func
def f(
    A: T.Buffer((6, 7), "int32"), B: T.Buffer((7, 33), "int32"), b: T.Buffer((33,), "int32"),
    C: T.Buffer((6, 33), "int32"),
):
    for i, j in T.grid(6, 33):
        s: T.int32 = 0
        t: T.int32 = 0
        for k in range(7):
            s = s + A[i, k] * B[k, j]
        s += b[j]
        {lines}
        C[i, j] = s + t
"""
    )
    assert isinstance(func, PrimFunc)
    return func


def blocks(func: PrimFunc) -> int:
    return sum(1 for node in walk(func.body) if type(node) is Block)


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str) -> None:
    func = kernel(CHOICES[name])
    made = with_blocks(func)
    assert blocks(made) > 2
    assert_same_result(func, made)
    scheduled = default_schedule(func, CpuFacts(vector_bits=512, threads=1))
    assert "sch.pad_einsum" in str(scheduled.trace)
    assert_same_result(func, scheduled.func)


@pytest.mark.parametrize("name", LEFT)
def test_other_conditions_stay(name: str) -> None:
    func = kernel(LEFT[name])
    assert with_blocks(func) is func


def test_a_condition_that_gives_the_first_value_stays() -> None:
    """There is no value to keep where the condition is false."""
    func = parse(
        """
@T.prim_func
def f(A: T.Buffer((4, 5), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        s: T.int32
        if A[i, 0] > 0:
            s = 1
        for k in range(5):
            s += A[i, k]
        C[i] = s
"""
    )
    assert isinstance(func, PrimFunc) and with_blocks(func) is func


def product(loops: str, condition: str, begin: str = "0", extent: str = "7") -> PrimFunc:
    """A product whose elements begin in one of the iterations that add to them."""
    func = parse(
        f"""
@T.prim_func
def f(
    A: T.Buffer((6, {extent}), "int32"), B: T.Buffer(({extent}, 33), "int32"), b: T.Buffer((33,), "int32"),
    C: T.Buffer((6, 33), "int32"),
):
    for {loops}:
        if {condition}:
            C[i, j] = {begin}
        C[i, j] += A[i, k] * B[k, j]
"""
    )
    assert isinstance(func, PrimFunc)
    return func


PLAIN = "i, j, k in T.grid(6, 33, 7)"
OUTER = "k, i, j in T.grid(7, 6, 33)"


@pytest.mark.parametrize(
    ("loops", "condition", "begin"),
    [(PLAIN, "k == 0", "0"), (PLAIN, "0 == k", "b[j]"), (OUTER, "k == 0", "A[i, k] + k")],
)
def test_sums_that_begin_in_their_first_iteration(loops: str, condition: str, begin: str) -> None:
    func = product(loops, condition, begin)
    made = with_blocks(func)
    (block,) = (node for node in walk(made.body) if type(node) is Block)
    assert block.init is not None
    assert_same_result(func, made)
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512, threads=1)).func)


@pytest.mark.parametrize(
    ("condition", "begin"),
    [
        ("k == 1", "0"),
        ("k <= 0", "0"),
        ("k == 0 and i == 0", "0"),
        ("j == 0", "0"),
        ("k == 0 or i == 0", "0"),
        ("k == 0", "C[i, j] * 2"),
    ],
)
def test_sums_that_begin_elsewhere(condition: str, begin: str) -> None:
    func = product(PLAIN, condition, begin)
    assert with_blocks(func) is func
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512, threads=1)).func)


def test_a_sum_that_may_never_begin_stays() -> None:
    func = product("i, j, k in T.grid(6, 33, n)", "k == 0", extent='"n"')
    assert with_blocks(func, symbolic=True) is func


def test_both_sides_of_a_condition_that_store_to_one_element_are_a_choice() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((9, 7), "int32"), B: T.Buffer((9, 7), "int32"), C: T.Buffer((9, 7), "int32")):
    for i, j in T.grid(9, 7):
        if A[i, j] > 3:
            B[i, j] = A[i, j]
        elif A[i, j] < -3:
            B[i, j] = -A[i, j]
        else:
            B[i, j] = 0
    for i, j in T.grid(9, 7):
        if A[i, j] > 3:
            C[i, j] = 1
        else:
            C[i, 6 - j] = 2
""")
    assert isinstance(func, PrimFunc)
    made = with_blocks(func)
    assert made.script().count("T.block(") == 1 and "elif" not in made.script()
    assert_same_result(func, made)


FIRST = """
@T.prim_func
def main(A: T.Buffer((9, 31)), B: T.Buffer((31, 37)), C: T.Buffer((9, 37))):
    for i, j, k in T.grid(9, 37, 31):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("{}", [i, j, k])
            if {}:
                C[vi, vj] = {}
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def test_a_block_that_begins_under_a_condition_has_an_init() -> None:
    func = parse(FIRST.format("SSR", "vk == 0", "0.0"))
    assert isinstance(func, PrimFunc)
    made = with_blocks(func)
    assert "T.init()" in made.script() and " if " not in made.script()
    assert_same_result(func, made, tolerance=0.0)
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)


@pytest.mark.parametrize(
    ("kinds", "condition", "value"),
    [
        ("SSR", "vk == 1", "0.0"),
        ("SSR", "vk == 0 and vi == 0", "0.0"),
        ("SSS", "vk == 0", "0.0"),
        ("SSR", "vk == 0", "C[vi, 36 - vj]"),
    ],
)
def test_a_block_that_begins_otherwise_stays(kinds: str, condition: str, value: str) -> None:
    func = parse(FIRST.format(kinds, condition, value))
    assert isinstance(func, PrimFunc)
    assert "T.init()" not in with_blocks(func).script()


@pytest.mark.parametrize("way", ["T.float32", "T.let[T.float32]"])
def test_a_value_taken_before_a_condition_stores_is_the_one_before(way: str) -> None:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer((50,)), B: T.Buffer((50,)), C: T.Buffer((50,))):
    for i in range(50):
        x: {way} = A[i]
        if A[i] > T.float32(0):
            A[i] = T.float32(1)
        else:
            A[i] = T.float32(2)
        B[i] = x
    for i in range(50):
        y: {way} = C[i]
        if y > T.float32(0):
            C[i] = y * y
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)
