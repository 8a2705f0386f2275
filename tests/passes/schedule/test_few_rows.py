"""Products of few rows in the default schedule: sizes that only the call knows, weights, dimensions of one element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, For, PrimFunc, walk
from tirscript.ir.constant import ConstantStore, constant
from tirscript.ir.stmt import AllocateConst
from tirscript.passes import get_pass
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.script import tir as T

WIDE = CpuFacts(vector_bits=512, threads=2)


@T.prim_func
def decoder(
    X: T.Buffer(("m", 1, 40), "float32"),
    W: T.Buffer((40, 70), "float32"),
    b: T.Buffer((70,), "float32"),
    Y: T.Buffer(("m", 1, 70), "float32"),
):
    P = T.alloc_buffer((m, 1, 70))
    for i, o, j, k in T.grid(m, 1, 70, 40):
        with T.block("P"):
            vi, vo, vj, vk = T.axis.remap("SSSR", [i, o, j, k])
            with T.init():
                P[vi, vo, vj] = 0.0
            P[vi, vo, vj] += X[vi, 0, vk] * W[vk, vj]
    for i, o, j in T.grid(m, 1, 70):
        with T.block("Y"):
            vi, vo, vj = T.axis.remap("SSS", [i, o, j])
            Y[vi, vo, vj] = P[vi, vo, vj] + b[vj]


@T.prim_func
def scores(
    Q: T.Buffer((1, 3, 24, 16), "float32"),
    K: T.Buffer((1, 3, 16, 24), "float32"),
    bias: T.Buffer((1, 1, 1, 24), "float32"),
    S: T.Buffer((1, 3, 24, 24), "float32"),
):
    P = T.alloc_buffer((1, 3, 24, 24))
    for n, h, i, j, k in T.grid(1, 3, 24, 24, 16):
        with T.block("P"):
            vn, vh, vi, vj, vk = T.axis.remap("SSSSR", [n, h, i, j, k])
            with T.init():
                P[vn, vh, vi, vj] = 0.0
            P[vn, vh, vi, vj] += Q[0, vh, vi, vk] * K[0, vh, vk, vj]
    for n, h, i, j in T.grid(1, 3, 24, 24):
        with T.block("S"):
            vn, vh, vi, vj = T.axis.remap("SSSS", [n, h, i, j])
            S[vn, vh, vi, vj] = P[vn, vh, vi, vj] * 0.25 + bias[vn, 0, 0, vj]


def steps(schedule: Schedule) -> list[str]:
    return [step.primitive for step in schedule.trace.steps]


def rows_of(func: PrimFunc, name: str) -> list[int]:
    """The iterations of the written-out loops around a block that is not along vectors."""
    (block,) = (node for node in walk(func.body) if type(node) is Block and node.name == name)
    return [
        int(node.stop.value)  # type: ignore[attr-defined]
        for node in walk(func.body)
        if type(node) is For and node.kind == "unroll" and any(one is block for one in walk(node.body))
    ]


def whole(rng: np.random.Generator, *shape: int) -> Any:
    """Small whole numbers: sums of them are exact in any order."""
    return rng.integers(-8, 9, shape).astype("float32")


def test_a_tile_of_one_row_does_the_work_of_one() -> None:
    made = default_schedule(decoder, WIDE)
    assert steps(made).count("specialize") == 1
    # eight rows (or one), the vectors of the panel
    assert rows_of(made.func, "P_update")[0] == 8
    assert rows_of(made.func, "P_1_update")[0] == 1
    assert rows_of(made.func, "P_1_init")[0] == 1


def test_any_number_of_rows_is_right() -> None:
    rng, function = np.random.default_rng(1), tirscript.build(decoder)
    for rows in (0, 1, 2, 7, 8, 9, 10, 17):
        x, w, b = whole(rng, rows, 1, 40), whole(rng, 40, 70), whole(rng, 70)
        y = np.full((rows, 1, 70), np.nan, "float32")
        function(x, w, b, y)
        np.testing.assert_array_equal(y, x @ w + b)


def test_dimensions_of_one_element_are_no_hindrance() -> None:
    """What reads 0 there is a product as any other: its result is not made row by row, term by term."""
    assert {"pad_einsum", "set_scope"} <= set(steps(default_schedule(scores, WIDE)))
    rng = np.random.default_rng(2)
    q, k, bias = whole(rng, 1, 3, 24, 16), whole(rng, 1, 3, 16, 24), whole(rng, 1, 1, 1, 24)
    s = np.zeros((1, 3, 24, 24), "float32")
    tirscript.build(scores)(q, k, bias, s)
    np.testing.assert_array_equal(s, q @ k * 0.25 + bias)


def test_weights_lie_in_panels() -> None:
    """Strips of a constant that lie far apart are read at a third of the speed."""
    data = constant(np.arange(96 * 256, dtype="float32").reshape(96, 256) % 7)
    store = ConstantStore()
    store.add(data)
    func = parse(
        f"""
@T.prim_func
def f(X: T.Buffer((64, 96), "float32"), Y: T.Buffer((64, 256), "float32")):
    W = T.constant("{data.digest}", (96, 256), "float32")
    for i, j, k in T.grid(64, 256, 96):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = 0.0
            Y[vi, vj] += X[vi, vk] * W[vk, vj]
""",
        constants=store,
    )
    assert isinstance(func, PrimFunc)
    made = get_pass("pack_constants")(get_pass("default_cpu", vector_bits=512, threads=1)(func))
    (weights,) = (stmt for stmt in made.body if type(stmt) is AllocateConst)
    assert weights.buffer.constant_shape() == (4, 96, 64)
    x, y = whole(np.random.default_rng(1), 64, 96), np.zeros((64, 256), "float32")
    tirscript.build(func)(x, y)
    np.testing.assert_array_equal(y, x @ data.array)


def product(rows: int, columns: int, terms: int) -> PrimFunc:
    func = parse(f"""
@T.prim_func
def product(A: T.Buffer(({rows}, {terms}), "float32"), B: T.Buffer(({terms}, {columns}), "float32"),
            C: T.Buffer(({rows}, {columns}), "float32")):
    for i, j, k in T.grid({rows}, {columns}, {terms}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]
""")
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize(
    ("shape", "lines"),
    [
        ((1, 544, 500), [1, 25, 17, 1, 5, 4, 1, 2, 16]),
        ((5, 544, 500), [1, 25, 17, 1, 5, 4, 5, 2, 16]),
        ((16, 576, 512), [2, 16, 9, 2, 8, 4, 8, 2, 16]),
    ],
)
def test_a_large_matrix_is_read_some_lines_at_a_time(shape: tuple[int, int, int], lines: list[int]) -> None:
    """As it lies, line by line: no copy, no strips that are pages apart, and whatever the threads, in order."""
    func = product(*shape)
    made = default_schedule(func, WIDE)
    assert not {"cache_read", "pad_einsum"} & set(steps(made))
    loops = [made.get(loop) for loop in made.get_loops("C_update")]
    assert [int(loop.stop.value) for loop in loops] == lines
    rng = np.random.default_rng(3)
    a, b = whole(rng, shape[0], shape[2]), whole(rng, shape[2], shape[1])
    c = np.full((shape[0], shape[1]), np.nan, "float32")
    tirscript.build(func)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("shape", [(5, 544, 509), (5, 541, 500), (25, 544, 500), (5, 64, 500)])
def test_other_products_are_not(shape: tuple[int, int, int]) -> None:
    """Lines or columns that nothing divides, many rows, and a matrix that the cache holds."""
    made = default_schedule(product(*shape), WIDE)
    assert {"pad_einsum", "cache_write"} & set(steps(made)), made.trace


@pytest.mark.parametrize("reader", ["product", "window"])
def test_a_matrix_that_is_transposed_for_a_product_is_read_as_it_lies(reader: str) -> None:
    """Windows and whatever is no product read copies along their lines."""
    value = "turned[vk, vj]" if reader == "product" else "turned[vk, (vj + vk) % 64]"
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((5, 64), "float32"), W: T.Buffer((64, 64), "float32"), C: T.Buffer((5, 64), "float32")):
    turned = T.alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.block("turned"):
            vi, vj = T.axis.remap("SS", [i, j])
            turned[vi, vj] = W[vj, vi]
    for i, j, k in T.grid(5, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * {value}
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert ('"turned' in made.script()) is (reader == "window")
    a, w = (np.random.default_rng(1).integers(-4, 5, shape).astype("float32") for shape in ((5, 64), (64, 64)))
    found, wanted = np.zeros((5, 64), "float32"), np.zeros((5, 64), "float32")
    tirscript.build(made)(a, w, found)
    tirscript.interpret(func, a, w, wanted)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("rows", [1, 4, 40])
def test_heads_that_are_brought_to_the_front_for_products_are_read_as_they_lie(rows: int) -> None:
    func = parse(f"""
@T.prim_func
def main(Q: T.Buffer(({rows}, 3, 20)), K: T.Buffer((70, 3, 20)), S: T.Buffer((3, {rows}, 70))):
    q = T.alloc_buffer((3, {rows}, 20))
    k = T.alloc_buffer((3, 20, 70))
    for h, i, d in T.grid(3, {rows}, 20):
        with T.block("q"):
            vh, vi, vd = T.axis.remap("SSS", [h, i, d])
            q[vh, vi, vd] = Q[vi, vh, vd]
    for h, d, j in T.grid(3, 20, 70):
        with T.block("k"):
            vh, vd, vj = T.axis.remap("SSS", [h, d, j])
            k[vh, vd, vj] = K[vj, vh, vd]
    for h, i, j, d in T.grid(3, {rows}, 70, 20):
        with T.block("S"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                S[vh, vi, vj] = 0.0
            S[vh, vi, vj] += q[vh, vi, vd] * k[vh, vd, vj]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert not any(f'T.block("{name}' in made.script() for name in "qk")
    random = np.random.default_rng(rows)
    q, k = (random.integers(-4, 5, (size, 3, 20)).astype("float32") for size in (rows, 70))
    found = np.zeros((3, rows, 70), "float32")
    tirscript.build(made)(q, k, found)
    np.testing.assert_array_equal(found, np.einsum("ihd,jhd->hij", q, k))


@pytest.mark.parametrize(("rows", "apart"), [(1, False), (2, True)])
@pytest.mark.parametrize("turned", [False, True])
def test_weights_are_computed_where_one_row_reads_them(rows: int, apart: bool, turned: bool) -> None:
    """They would go through memory, and are read once; several rows would compute them again."""
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer(({rows}, 64)), W: T.Buffer((64, 64), "int8"), C: T.Buffer(({rows}, 64))):
    weights = T.alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.block("weights"):
            vi, vj = T.axis.remap("SS", [i, j])
            weights[vi, vj] = T.cast(W[vi, vj], "float32") - 3.0
    for i, j, k in T.grid({rows}, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * weights[{"vj, vk" if turned else "vk, vj"}]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert ('T.block("weights' in made.script()) is apart
    random = np.random.default_rng(rows)
    a, w = random.integers(-4, 5, (rows, 64)).astype("float32"), random.integers(-9, 9, (64, 64)).astype("int8")
    found = np.zeros((rows, 64), "float32")
    tirscript.build(made)(a, w, found)
    np.testing.assert_array_equal(found, a @ ((w.T if turned else w) - np.float32(3)))
