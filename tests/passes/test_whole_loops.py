"""Loops over tiles become whole ones, and one loop over a matrix those over its lines and columns."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes import get_pass
from tirscript.passes.plain_loops import whole_loops as module
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.whole_loops import whole_loops
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
UPDATE = "C[io * 8 + ii, jo * 4 + ji] += A[io * 8 + ii, ko * 2 + ki] * B[ko * 2 + ki, jo * 4 + ji]"
PARAMS = "A: T.Buffer((24, 12)), B: T.Buffer((12, 20)), C: T.Buffer((24, 20)), X: T.Buffer((480,))"


def kernel(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    found = parse(f"@T.prim_func\ndef main({PARAMS}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


PRODUCTS = {
    "tiles": f"""
for i, j in T.grid(24, 20):
    C[i, j] = 0.0
for io, jo, ko, ii, ji, ki in T.grid(3, 5, 6, 8, 4, 2):
    {UPDATE}
""",
    "names": """
for i, j in T.grid(24, 20):
    C[i, j] = 0.0
for io, jo, ko, ii, ji, ki in T.grid(3, 5, 6, 8, 4, 2):
    i = ii + io * 8
    j = jo * 4 + ji
    k = ko * 2 + ki
    C[i, j] = C[i, j] + A[i, k] * B[k, j]
""",
    "begun in the tile": f"""
for io, jo in T.grid(3, 5):
    for ii, ji in T.grid(8, 4):
        C[io * 8 + ii, jo * 4 + ji] = 0.0
    for ko in range(6):
        for ii, ji, ki in T.grid(8, 4, 2):
            {UPDATE}
""",
    "a variable": """
for io, jo, ii, ji in T.grid(3, 5, 8, 4):
    s: T.float32 = 0.0
    for ko, ki in T.grid(6, 2):
        s += A[io * 8 + ii, ko * 2 + ki] * B[ko * 2 + ki, jo * 4 + ji]
    C[io * 8 + ii, jo * 4 + ji] = s
""",
    "one loop": """
for t in range(480):
    i = t // 20
    j = t % 20
    C[i, j] = 0.0
    for k in range(12):
        C[i, j] += A[i, k] * B[k, j]
""",
    "one loop, a flat result": """
for t in range(480):
    s: T.float32 = 0.0
    for k in range(12):
        s += A[t // 20, k] * B[k, t % 20]
    X[t] = s
""",
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_products_of_whole_axes(name: str) -> None:
    func = kernel(PRODUCTS[name])
    made = default_schedule(func, FACTS)
    assert "sch.contract(" in str(made.trace) and "pad_einsum" in str(made.trace)
    assert_same_result(func, whole_loops(func), tolerance=0.0)
    assert_same_result(func, made.func)


def loops_of(func: PrimFunc) -> str:
    return "".join(line for line in whole_loops(func).script().splitlines() if "for " in line)


def test_digits_of_one_loop() -> None:
    func = kernel("""
for t in range(480):
    for k in range(2):
        X[t] = A[t // 40, t // 4 % 10] + T.cast(t % 40 // 4 + t % 4 + k, "float32")
""")
    assert "T.grid(12, 10, 4, 2)" in loops_of(func)
    assert_same_result(func, whole_loops(func), tolerance=0.0)


@pytest.mark.parametrize(
    "body",
    [
        "for t in range(480):\n    X[t] = A[t // 20, t % 12]",  # 20 and 12 do not divide each other
        "for t in range(475):\n    X[t] = A[t // 20, 0]",  # the last line is no whole one
        "for t in range(480):\n    X[t] = A[t // 20, t % 4]",  # vectors would be short
        "for t in range(480):\n    if X[t] > T.float32(3):\n        break\n    X[t] = A[t // 40, 0]\n",
        "for t in T.parallel(480):\n    X[t] = A[t // 40, 0]",
        "for io, ii in T.grid(3, 8):\n    C[io * 8 + ii, 0] = A[io, ii]",  # used apart
        "for io, ii in T.grid(3, 8):\n    C[io * 7 + ii, 0] = T.float32(1)",  # tiles that overlap
        "for ii, io in T.grid(8, 3):\n    C[io * 8 + ii, 0] = T.float32(1)",
    ],
)
def test_loops_that_stay(body: str) -> None:
    func = kernel(body)
    assert whole_loops(func) is func


@pytest.mark.parametrize(
    "store",
    [
        "X[io * 8 + ii] = X[io * 8 + ii] * T.float32(0.5) + X[jo]",  # what other iterations store
        "X[io * 8 + ii] = T.cast(jo, 'float32')",  # the last one stays
        "X[(io * 8 + ii) // 2] += T.cast(jo, 'float32')",
        "X[io * 8 + ii] = X[io * 8 + ii] * T.float32(0.5) + T.cast(jo, 'float32')",
    ],
)
def test_iterations_that_depend_on_their_order_keep_it(store: str) -> None:
    func = kernel(f"for io, jo, ii in T.grid(3, 5, 8):\n    {store}")
    assert whole_loops(func) is func


def test_the_terms_of_a_sum_keep_their_order() -> None:
    func = kernel("""
for ko, ji, ki in T.grid(6, 20, 2):
    X[ji] = X[ji] * T.float32(0.5) + A[0, ko * 2 + ki]
""")
    assert whole_loops(func) is func
    sums = kernel("for ko, po, ki, pi in T.grid(3, 5, 2, 4):\n    X[0] += A[ko * 2 + ki, 0] * C[0, po * 4 + pi]")
    assert whole_loops(sums) is sums


def test_tiles_that_share_loops_with_what_needs_their_order() -> None:
    func = kernel("""
for io, jo in T.grid(3, 5):
    for ii, ji in T.grid(8, 4):
        C[io * 8 + ii, jo * 4 + ji] = X[0]
    for ii, ji in T.grid(8, 4):
        X[ii * 4 + ji] = C[io * 8 + ii, jo * 4 + ji] + T.float32(1)
""")
    assert whole_loops(func) is func
    assert_same_result(func, with_blocks(func), tolerance=0.0)


@pytest.mark.parametrize("divisor", ["T.infinity('float32')", "T.float32(float('nan'))", "T.float32(0.5)"])
def test_floats_that_are_divided_beside_the_variable_are_left(divisor: str) -> None:
    text = (
        "@T.prim_func\ndef f(A: T.Buffer((37,), 'float32'), B: T.Buffer((37,), 'float32')):\n    for i in range(37):\n"
        f"        B[36 - i] = T.exp(A[i]) // {divisor} + T.cast(i % 5, 'float32')\n"
    )
    func = parse(text)
    assert isinstance(func, PrimFunc)
    assert_same_result(func, get_pass("blocks_from_loops")(func))


def test_only_loops_whose_variables_are_divided_are_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is in each loop of a nest was: the time grew with the square of its depth."""
    looked: list[str] = []

    def divided(loop: Any) -> Any:
        looked.append(loop.var.name)
        return divided_itself(loop)

    divided_itself = module._divided
    monkeypatch.setattr(module, "_divided", divided)
    names = ", ".join(f"i{at}" for at in range(50))
    text = f"for {names} in T.grid({', '.join('1' * 50)}):\n    for t, u in T.grid(480, 2):\n"
    whole_loops(kernel(text + "        C[t // 20, t % 20] = X[t] + T.float32(u)"))
    assert looked == ["t"]
