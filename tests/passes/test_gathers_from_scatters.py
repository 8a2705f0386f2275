"""Products that are added to elements here and there: transposed convolutions, as sums element by element."""

from __future__ import annotations

import pytest

from tirscript.ir import Attrs, PrimFunc
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result


def transposed(
    length: int = 16, width: int = 4, step: int = 2, dilation: int = 1, pad: int = 0, dtype: str = "float32"
) -> PrimFunc:
    out = (length - 1) * step + (width - 1) * dilation + 1 - 2 * pad
    at = f"x * {step} + k * {dilation} - {pad}" if pad else f"x * {step} + k * {dilation}"
    condition = f"0 <= {at} and {at} < {out}" if pad else "True"
    found = parse(f"""
@T.prim_func
def main(X: T.Buffer((3, {length}), "{dtype}"), W: T.Buffer((3, 8, {width}), "{dtype}"), Y: T.Buffer((8, {out}), "{dtype}")):
    for f, x in T.grid(8, {out}):
        Y[f, x] = T.cast(0, "{dtype}")
    for c, f, x, k in T.grid(3, 8, {length}, {width}):
        if {condition}:
            Y[f, {at}] += X[c, x] * W[c, f, k]
""")
    assert isinstance(found, PrimFunc)
    return found


CASES = [
    {},
    {"step": 1, "width": 3},
    {"step": 3, "width": 3},
    {"step": 2, "width": 2, "length": 7},
    {"step": 2, "dilation": 3},
    {"step": 2, "pad": 1},
    {"step": 1, "width": 5, "pad": 2},
    {"step": 3, "width": 2},  # some results have no term
    {"length": 1, "width": 5},
    {"dtype": "int32"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_sums(case: dict[str, int]) -> None:
    func = transposed(**case)  # type: ignore[arg-type]
    assert_same_result(func, default_schedule(func, CpuFacts(vector_bits=512)).func)


def test_sums_begin_and_end_in_registers() -> None:
    func = transposed(16, 3, 1, pad=1)
    blocks = with_blocks(func)
    assert blocks.script().count("T.block(") == 1 and "with T.init():" in blocks.script()
    assert "T.vectorized(" in default_schedule(func, CpuFacts(vector_bits=512)).func.script()


@pytest.mark.parametrize(
    ("lengths", "channels", "gathers"),
    [
        ((61, 1000), False, False),  # 22 µs as tiles with masks, 3.4 as it stands
        ((57, 1000), False, False),
        ((1000, 61), False, False),  # results that are no whole vectors
        ((500, 61), False, True),
        ((1000, 17), False, True),
        ((61, 1000), True, True),  # filters share what they read
    ],
)
def test_long_loops_along_the_results_stay(lengths: tuple[int, int], channels: bool, gathers: bool) -> None:
    n, m = lengths
    places, rows, loops = ("c, ", "8, ", "c, i, j in T.grid(8, ") if channels else ("", "", "i, j in T.grid(")
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}{n},), "float32"), B: T.Buffer(({m},), "float32"), C: T.Buffer(({rows}{n + m - 1},), "float32")):
    for {loops}{n}, {m}):
        C[{places}i + j] += A[{places}i] * B[j]
""")
    assert isinstance(func, PrimFunc)
    assert ("T.block(" in with_blocks(func).script()) == gathers


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_order_of_floats_stays_where_it_is_asked_for(dtype: str) -> None:
    func = transposed(dtype=dtype)
    exact = func.replace(attrs=Attrs({"fastmath": False}))
    assert ("T.init" in with_blocks(exact).script()) == (dtype == "int32")
    assert ("T.init" in with_blocks(func, reassociate=False).script()) == (dtype == "int32")


@pytest.mark.parametrize("index", ["x * x + k", "x + at[k]", "k - x + 15", "x * 2 + x"])
def test_other_places_stay(index: str) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((3, 16)), W: T.Buffer((3, 8, 4)), at: T.Buffer((4,), "int32"), Y: T.Buffer((8, 300))):
    for c, f, x, k in T.grid(3, 8, 16, 4):
        Y[f, {index}] += X[c, x] * W[c, f, k]
""")
    assert isinstance(func, PrimFunc)
    assert "//" not in with_blocks(func).script()
    assert f"Y[f, {index}]" in with_blocks(func).script() or "T.block" in with_blocks(func).script()


def test_places_that_begin_anew_at_zero_stay() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3, 100)), W: T.Buffer((3, 8, 4)), Y: T.Buffer((8, 256))):
    for c, f, x, k in T.grid(3, 8, T.uint8(100), T.uint8(4)):
        Y[f, x * T.uint8(4) + k] += X[c, x] * W[c, f, k]
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, with_blocks(func), runs=1)


def test_a_store_beside_its_buffer_is_found() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3, 16)), W: T.Buffer((3, 8, 4)), Y: T.Buffer((8, 33), "float32")):
    for f, x in T.grid(8, 33):
        Y[f, x] = 0.0
    for c, f, x, k in T.grid(3, 8, 16, 4):
        Y[f, x * 2 + k] += X[c, x] * W[c, f, k]
""")
    assert "x * 2" in with_blocks(func).script()


def test_sums_of_elements_of_their_own_stay() -> None:
    """No two slices add to one element, and each reads its own: a gather would look for the one that does."""
    func = parse("""
@T.prim_func
def main(V: T.Buffer((5, 9, 8)), at: T.Buffer((5, 9, 8), "int32"), x: T.Buffer((40,)), Y: T.Buffer((40,))):
    for s in range(5):
        for r in range(8):
            Y[s * 8 + r] = 0.0
        for j, r in T.grid(9, 8):
            Y[s * 8 + r] += V[s, j, r] * x[at[s, j, r]]
""")
    assert isinstance(func, PrimFunc)
    assert "//" not in with_blocks(func).script()
