"""Who alone reads a product is done in its tiles, on one thread and on several; sums down columns stay whole."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

PRODUCT = """
C = T.alloc_buffer((256, 256), "float32")
for i, j in T.grid(256, 256):
    C[i, j] = 0.0
    for k in range(64):
        C[i, j] += X[i, k] * W[k, j]
for i, j in T.grid(256, 256):
    Y[i, j] = T.max(C[i, j] + b[j], T.float32(0))
"""
SOFTMAX = """
top = T.alloc_buffer((256,), "float32")
total = T.alloc_buffer((256,), "float32")
for i in range(256):
    top[i] = T.min_value("float32")
    for j in range(256):
        top[i] = T.max(top[i], Z[i, j])
for i, j in T.grid(256, 256):
    Y[i, j] = T.exp(Z[i, j] - top[i])
for i in range(256):
    total[i] = 0.0
    for j in range(256):
        total[i] += Y[i, j]
for i, j in T.grid(256, 256):
    Y[i, j] = Y[i, j] / total[i]
"""
MEANS = """
s = T.alloc_buffer((256,), "float32")
for j in range(256):
    s[j] = 0.0
    for i in range(256):
        s[j] += Z[i, j]
for j in range(256):
    b[j] = s[j] / T.float32(256)
"""
# rows that are looked up go along vectors of results
BAGS = """
for i, j in T.grid(256, 256):
    s: T.float32 = 0.0
    for k in range(8):
        s += Z[T.int32(X[i, k]), j]
    Y[i, j] = s / T.float32(8)
"""
CLAMPED = """
for i, j in T.grid(256, 256):
    s: T.float32 = 0.0
    for k in range(7):
        s += Z[T.min(T.max(i + k - 3, 0), 255), j] * X[0, k]
    Y[i, j] = s
"""


def kernel(body: str) -> PrimFunc:
    params = "X: T.Buffer((256, 64)), W: T.Buffer((64, 256)), Z: T.Buffer((256, 256)), b: T.Buffer((256,))"
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({params}, Y: T.Buffer((256, 256))):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def nests(func: PrimFunc) -> list[list[str]]:
    """The blocks of each outermost loop."""
    pieces = re.split(r"\n    (?=for )", func.script())
    return [names for piece in pieces if (names := re.findall(r'T\.block\("(\w+)"\)', piece))]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_is_finished_in_its_tiles(threads: int) -> None:
    made = default_schedule(kernel(PRODUCT), CpuFacts(512, threads)).func
    assert any("C_update" in names and "Y" in names for names in nests(made))
    assert ("T.parallel" in made.script()) == (threads == 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_softmax_in_place_is_made_row_by_row(threads: int) -> None:
    made = default_schedule(kernel(SOFTMAX), CpuFacts(512, threads)).func
    assert len(nests(made)) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_down_columns_are_not_made_one_by_one(threads: int) -> None:
    made = default_schedule(kernel(MEANS), CpuFacts(512, threads)).func
    before = made.script().partition('T.block("s_update")')[0]
    assert re.findall(r"for \w+ in ([\w.]+)", before)[-1] == "T.vectorized"


@pytest.mark.parametrize("body", [BAGS, CLAMPED])
def test_what_a_variable_sums_up_is_stored_where_it_is_made(body: str) -> None:
    func = kernel(body)
    for threads in (1, 2):
        made = default_schedule(func, CpuFacts(512, threads)).func
        assert [set(names) for names in nests(made)] == [{"s_init", "s_update", "Y"}]
    random = np.random.default_rng(0)
    shapes = ((256, 64), (64, 256), (256, 256), 256, (256, 256))
    given = [random.integers(0, 9, shape).astype("float32") for shape in shapes]
    tirscript.build(func)(*given)
    wanted = [*given[:4], np.zeros((256, 256), "float32")]
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(*wanted)
    np.testing.assert_array_equal(given[4], wanted[4])


@pytest.mark.parametrize("body", [PRODUCT, SOFTMAX, MEANS])
def test_results(body: str) -> None:
    random = np.random.default_rng(0)
    X, W, Z, b, Y = (
        random.standard_normal(shape).astype("float32") for shape in ((256, 64), (64, 256), (256, 256), 256, (256, 256))
    )
    tirscript.build(kernel(body))(X, W, Z, given := b.copy(), Y)
    if body is MEANS:
        np.testing.assert_allclose(given, Z.mean(0), rtol=1e-4, atol=1e-5)
    elif body is PRODUCT:
        np.testing.assert_allclose(Y, np.maximum(X @ W + b, 0), rtol=1e-4, atol=1e-4)
    else:
        power = np.exp(Z - Z.max(1, keepdims=True))
        np.testing.assert_allclose(Y, power / power.sum(1, keepdims=True), rtol=1e-5)


def test_products_that_are_summed_to_one_number() -> None:
    """A sum of products without dimensions, which a reader follows, is no convolution."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((64, 64)), W: T.Buffer((64, 64)), Y: T.Buffer(())):
    S = T.alloc_buffer(())
    for i, j in T.grid(64, 64):
        with T.block("sum"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                S[()] = T.float32(0)
            S[()] += X[vi, vj] * W[vi, vj]
    with T.block("mean"):
        Y[()] = S[()] / T.float32(4096)
""")
    assert isinstance(func, PrimFunc)
    x, w = np.random.default_rng(3).uniform(-1, 1, (2, 64, 64)).astype("float32")
    y = np.zeros((), "float32")
    tirscript.build(func)(x, w, y)
    np.testing.assert_allclose(y, (x.astype("float64") * w).mean(), rtol=1e-4)


WINDOWS = """
@T.prim_func
def main(X: T.Buffer(("c", "h", "w")), W: T.Buffer(("c", 3, 3)), Y: T.Buffer(("c", "h - 2", "w - 2"))):
    for k, y, x in T.grid(c, h - 2, w - 2):
        s: T.float32 = 0.0
        for u, v in T.grid(3, 3):
            s += X[k, y + u, x + v] * W[k, u, v]
        Y[k, y, x] = s * T.float32(0.5)
"""


def test_short_sums_of_symbolic_lines_are_stored_where_they_are_made() -> None:
    func = parse(WINDOWS)
    made = default_schedule(func, CpuFacts(512, 2)).func
    assert [set(names) for names in nests(made)] == [{"s_init", "s_update", "Y"}]

    def windows(random: np.random.Generator) -> list[np.ndarray]:
        c, h, w = random.integers(1, 4), random.integers(2, 6), random.integers(2, 40)
        return [random.integers(0, 9, shape).astype("float32") for shape in ((c, h, w), (c, 3, 3), (c, h - 2, w - 2))]

    assert_same_result(func, made, inputs=windows, runs=5)


def test_lanes_go_along_what_all_operands_of_a_sum_lie_along() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((5, 64)), M: T.Buffer((64, 64)), Y: T.Buffer((5,))):
    for i in range(5):
        s: T.float32 = 0.0
        for e, f in T.grid(64, 64):
            s += X[i, e] * M[e, f] * X[i, f]
        Y[i] = s
""")
    made = default_schedule(func, CpuFacts(512, 1)).func
    assert "T.vectorized" in made.script()

    def numbers(random: np.random.Generator) -> list[np.ndarray]:
        return [random.integers(0, 4, shape).astype("float32") for shape in ((5, 64), (64, 64), (5,))]

    assert_same_result(func, made, inputs=numbers, runs=1)
