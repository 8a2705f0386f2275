"""The default schedule of what memory bounds: elementwise, reductions, rows; of sizes that are known and that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import For, PrimFunc, Var, walk
from tirscript.ir.stmt import Block
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

SMALL = CpuFacts(vector_bits=128, threads=1)
WIDE = CpuFacts(vector_bits=512, threads=2)


def kinds(func: PrimFunc) -> set[str]:
    return {node.kind for node in walk(func.body) if type(node) is For}


def blocks(func: PrimFunc) -> list[str]:
    return [node.name for node in walk(func.body) if type(node) is Block]


@T.prim_func
def scaled(A: T.Buffer(("n", "m"), "int32"), B: T.Buffer(("m",), "int32"), C: T.Buffer(("n", "m"), "int32")):
    X = T.alloc_buffer((n, m), "int32")
    for i, j in T.grid(n, m):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj] + B[vj]
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = X[vi, vj] * X[vi, vj] - X[vi, vj] * 3


@T.prim_func
def row_sums(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n",), "float32")):
    for i in range(n):
        C[i] = 0.0
        for j in range(m):
            C[i] += A[i, j]


@T.prim_func
def greatest(A: T.Buffer(("n",), "float32"), C: T.Buffer((1,), "float32")):
    C[0] = T.float32("-inf")
    for i in range(n):
        C[0] = T.max(C[0], A[i])


@T.prim_func
def column_sums(A: T.Buffer(("n", "m"), "int32"), C: T.Buffer(("m",), "int32")):
    for j in range(m):
        C[j] = 0
        for i in range(n):
            C[j] += A[i, j]


@T.prim_func
def shares(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    most = T.alloc_buffer((n,), "float32")
    power = T.alloc_buffer((n, m), "float32")
    total = T.alloc_buffer((n,), "float32")
    for i, j in T.grid(n, m):
        with T.block("most"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                most[vi] = T.float32("-inf")
            most[vi] = T.max(most[vi], A[vi, vj])
    for i, j in T.grid(n, m):
        with T.block("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp2(A[vi, vj] - most[vi])
    for i, j in T.grid(n, m):
        with T.block("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] += power[vi, vj]
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = power[vi, vj] / total[vi]


@T.prim_func
def centred(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i in range(n):
        total: T.float32 = 0.0
        for j in range(m):
            total += A[i, j]
        for j in range(m):
            B[i, j] = A[i, j] * T.cast(m, "float32") - total


@T.prim_func
def picked(A: T.Buffer(("n", "m"), "float32"), at: T.Buffer(("n",), "int64")):
    best = T.alloc_buffer((n,), "float32")
    for i, k in T.grid(n, m):
        with T.block("at"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = T.int64(-1)
                best[vi] = T.float32("inf")
            better: T.bool = A[vi, vk] < best[vi]
            where: T.int64 = T.if_then_else(better, vk, at[vi])
            least: T.float32 = T.if_then_else(better, A[vi, vk], best[vi])
            at[vi] = where
            best[vi] = least


def _picked(A: Any, at: Any) -> Any:
    return A.argmin(axis=1) if A.size else -1


def _shares(A: Any, B: Any) -> Any:
    powers = np.exp2(A - A.max(axis=1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=1, keepdims=True)


def _scaled(A: Any, B: Any, C: Any) -> Any:
    return (A + B) ** 2 - 3 * (A + B)


ANY_SIZE: list[tuple[PrimFunc, Callable[..., Any], set[str]]] = [
    (scaled, _scaled, {"parallel"}),
    (row_sums, lambda A, C: A.sum(axis=1), {"parallel", "vectorized"}),
    (greatest, lambda A, C: A.max(initial=-np.inf), {"vectorized"}),
    (column_sums, lambda A, C: A.sum(axis=0), set()),
    (picked, _picked, {"parallel", "vectorized"}),
    (shares, _shares, {"parallel", "vectorized"}),
    (centred, lambda A, B: A * A.shape[1] - A.sum(axis=1, keepdims=True), {"parallel", "vectorized"}),
]
SIZES = [(3, 200), (5, 64), (1, 1), (7, 31), (2, 33), (3, 0), (0, 4), (0, 0), (130, 5)]


@pytest.mark.parametrize(("kernel", "wanted", "expected"), ANY_SIZE, ids=[case[0].name for case in ANY_SIZE])
def test_kernels_of_symbolic_sizes(kernel: PrimFunc, wanted: Callable[..., Any], expected: set[str]) -> None:
    made = default_schedule(kernel, WIDE).func
    assert expected <= kinds(made)
    functions = [
        tirscript.build(func, pipeline=DEFAULT_LOWERING) for func in (made, default_schedule(kernel, SMALL).func)
    ]
    rng = np.random.default_rng(3)
    for n, m in SIZES:
        shapes = [[{"n": n, "m": m}[d.name] if type(d) is Var else 1 for d in b.shape] for b in kernel.param_buffers]
        dtypes = [buffer.dtype.name for buffer in kernel.param_buffers]
        for function in functions:
            given = [rng.integers(-9, 9, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
            result = given[-1]
            with np.errstate(invalid="ignore"):
                right = wanted(*given)
            function(*given)
            np.testing.assert_allclose(result, np.broadcast_to(right, result.shape), rtol=1e-6)


def test_the_tree_of_partial_results_has_vectors_on_each_level() -> None:
    made = default_schedule(row_sums, WIDE).func
    loops = [node for node in walk(made.body) if type(node) is For and node.kind == "vectorized"]
    assert sorted({int(loop.stop.value) for loop in loops}) == [4, 16, 32]  # type: ignore[attr-defined]
    assert_same_result(row_sums, default_schedule(row_sums, CpuFacts(512, 1, reassociate=False)).func)
    ordered = default_schedule(row_sums, CpuFacts(512, 1, reassociate=False)).func
    assert "vectorized" not in kinds(ordered)


def test_a_plain_sum_of_nothing_begins() -> None:
    """Where a loop runs not once, the store before it has to run all the same."""

    @T.prim_func
    def kernel(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("m",), "int32"), C: T.Buffer(("n",), "float32")):
        for i in range(n):
            C[i] = 7.0
            for j in range(m):
                C[i] = C[i] * A[i, B[j]]

    for facts in (SMALL, WIDE):
        C = np.zeros(3, "float32")
        function = tirscript.build(default_schedule(kernel, facts).func, pipeline=DEFAULT_LOWERING)
        function(np.ones((3, 0), "float32"), np.ones(0, "int32"), C)
        assert (C == 7).all()


def test_what_is_read_several_times_at_one_place_is_computed_there() -> None:
    @T.prim_func
    def cubes(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
        X = T.alloc_buffer((4096,), "float32")
        for i in range(4096):
            with T.block("X"):
                vi = T.axis.spatial(4096, i)
                X[vi] = A[vi] * 2.0 + 1.0
        for i in range(4096):
            with T.block("B"):
                vi = T.axis.spatial(4096, i)
                B[vi] = X[vi] * X[vi] * X[vi] * X[vi] * X[vi]

    @T.prim_func
    def apart(A: T.Buffer((4099,), "float32"), B: T.Buffer((4096,), "float32")):
        X = T.alloc_buffer((4099,), "float32")
        for i in range(4099):
            with T.block("X"):
                vi = T.axis.spatial(4099, i)
                X[vi] = A[vi] * 2.0 + 1.0
        for i in range(4096):
            with T.block("B"):
                vi = T.axis.spatial(4096, i)
                B[vi] = X[vi] + X[vi + 1] + X[vi + 2] + X[vi + 3]

    assert blocks(default_schedule(cubes, WIDE).func) == ["B"]
    assert blocks(default_schedule(apart, WIDE).func) == ["X", "B"]
    assert_same_result(cubes, default_schedule(cubes, WIDE).func)


@T.prim_func
def blurred(X: T.Buffer((5, 9, 24), "float32"), W: T.Buffer((5, 3, 3), "float32"), Y: T.Buffer((5, 9, 24), "float32")):
    P = T.alloc_buffer((5, 11, 26), "float32")
    for c, y, x in T.grid(5, 11, 26):
        with T.block("P"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(
                vy > 0 and vy <= 9 and vx > 0 and vx <= 24, X[vc, vy - 1, vx - 1], T.float32(0)
            )
    for c, y, x, dy, dx in T.grid(5, 9, 24, 3, 3):
        with T.block("Y"):
            vc, vy, vx, vdy, vdx = T.axis.remap("SSSRR", [c, y, x, dy, dx])
            with T.init():
                Y[vc, vy, vx] = T.float32(0)
            Y[vc, vy, vx] += P[vc, vy + vdy, vx + vdx] * W[vc, vdy, vdx]


def test_a_depthwise_convolution_makes_the_border_of_a_channel_where_it_is_read() -> None:
    schedule = default_schedule(blurred, WIDE)
    assert schedule.get_loops("P_pad")[0] == schedule.get_loops("Y_update")[0]
    # 24 columns are no vectors of 16 lanes, but of 8
    assert {
        int(loop.stop.value) for loop in map(schedule.get, schedule.get_loops("Y_update")) if loop.kind == "vectorized"
    } == {8}
    assert_same_result(blurred, schedule.func, tolerance=1e-6)


def test_rows_that_lie_apart_are_read_in_vectors() -> None:
    @T.prim_func
    def kernel(a: T.handle, C: T.Buffer((9,), "float32")):
        s = T.int32()
        A = T.match_buffer(a, (9, 300), "float32", strides=(s, 1))
        for i in range(9):
            C[i] = 0.0
            for j in range(300):
                C[i] += A[i, j]

    made = default_schedule(kernel, WIDE).func
    assert "vectorized" in kinds(made)
    wide, C = np.arange(9 * 400, dtype="float32").reshape(9, 400), np.zeros(9, "float32")
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(wide[:, 50:350], C)
    np.testing.assert_allclose(C, wide[:, 50:350].sum(axis=1), rtol=1e-6)


def test_an_init_that_needs_a_term_is_not_taken_out() -> None:
    """Without terms it would read behind the end of the row."""

    @T.prim_func
    def kernel(A: T.Buffer(("n", "m"), "float32"), C: T.Buffer(("n",), "float32")):
        for i, j in T.grid(n, m):
            with T.block("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = A[vi, 0]
                C[vi] = T.max(C[vi], A[vi, vj])

    made = default_schedule(kernel, WIDE).func
    assert [node.name for node in walk(made.body) if type(node) is Block and node.init] == ["C"]
    interpret(made, np.zeros((3, 0), "float32"), np.zeros(3, "float32"))
