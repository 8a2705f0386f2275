"""Matrices times a vector or few of them: several lines at once, and no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocBuffer, For, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.default_cpu.dot_products import lines_of
from tirscript.passes.schedule.default_cpu.work import Work
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=128, threads=1)


def gemv(n: int, k: int, dtype: str = "int32") -> PrimFunc:
    @T.prim_func
    def gemv(A: T.Buffer((n, k), dtype), x: T.Buffer((k,), dtype), y: T.Buffer((n,), dtype)):
        for i, p in T.grid(n, k):
            with T.block("y"):
                vi, vp = T.axis.remap("SR", [i, p])
                with T.init():
                    y[vi] = T.cast(0, dtype)
                y[vi] += A[vi, vp] * x[vp]

    return gemv


def linear(m: int, n: int, k: int) -> PrimFunc:
    @T.prim_func
    def linear(X: T.Buffer((m, k), "int32"), W: T.Buffer((n, k), "int32"), Y: T.Buffer((m, n), "int32")):
        for i, j in T.grid(m, n):
            total: T.int32 = 0
            for p in range(k):
                total += X[i, p] * W[j, p]
            Y[i, j] = T.max(total, 0)

    return linear


def heads(h: int, n: int, k: int) -> PrimFunc:
    @T.prim_func
    def heads(Q: T.Buffer((h, k), "int32"), K: T.Buffer((h, n, k), "int32"), S: T.Buffer((h, n), "int32")):
        for a, j, p in T.grid(h, n, k):
            with T.block("S"):
                va, vj, vp = T.axis.remap("SSR", [a, j, p])
                with T.init():
                    S[va, vj] = 0
                S[va, vj] += Q[va, vp] * K[va, vj, vp]

    return heads


def taken(kernel: PrimFunc, block: str) -> Any:
    work = Work(Schedule(kernel), FACTS)
    nest = work.nest(block)
    assert nest is not None
    return lines_of(work, nest)


@pytest.mark.parametrize(
    "kernel",
    [
        *(gemv(8, 32), gemv(15, 36), gemv(14, 64), linear(1, 12, 40), linear(3, 8, 32), linear(6, 10, 32)),
        *(heads(7, 9, 32), gemv(8, 33), gemv(11, 32), gemv(11, 35), linear(3, 13, 39), linear(1, 9, 37)),
    ],
    ids=lambda kernel: f"{kernel.name}{kernel.param_buffers[0].constant_shape()}",
)
def test_several_lines_are_summed_at_once(kernel: PrimFunc) -> None:
    made = default_schedule(kernel, FACTS)
    assert_same_result(kernel, made.func, tolerance=0.0)
    assert any("rfactor" in str(step) for step in made.trace.steps)
    unrolled = [node for node in walk(made.func.body) if type(node) is For and node.kind == "unroll"]
    assert unrolled and all(int(node.stop.value) in (1, 2, 3, 4, 5, 6) for node in unrolled)
    # nothing is copied: what is allocated are sums
    lowered = DEFAULT_LOWERING(made.func)
    for node in walk(lowered.body):
        if type(node) is AllocBuffer:
            assert np.prod(node.buffer.constant_shape() or (1 << 20,)) <= 6 * 12 * 5


@pytest.mark.long
@pytest.mark.parametrize("rows", [8, 9, 12])
def test_more_rows_share_the_lines_in_groups(rows: int) -> None:
    kernel = linear(rows, 48, 32 * rows + 32)
    made = default_schedule(kernel, FACTS)
    assert_same_result(kernel, made.func, tolerance=0.0)
    assert any("rfactor" in str(step) for step in made.trace.steps)
    groups = [node.stop.value for node in walk(made.func.body) if type(node) is For and node.kind == "unroll"]
    assert {8: 4, 9: 3, 12: 6}[rows] in groups and rows not in groups


@pytest.mark.long
@pytest.mark.parametrize(("rows", "terms"), [(8, 256), (7, 512)], ids=["few terms", "rows that nothing divides"])
def test_rows_that_are_better_tiled(rows: int, terms: int) -> None:
    made = default_schedule(linear(rows, 48, terms), FACTS)
    assert not any("rfactor" in str(step) for step in made.trace.steps)
    assert_same_result(linear(rows, 48, terms), made.func, tolerance=0.0)


def test_what_is_no_such_sum() -> None:
    assert taken(gemv(8, 32), "y") is not None
    assert taken(gemv(8, 28), "y") is None  # short lines
    assert taken(gemv(7, 32), "y") is None  # few lines
    assert taken(heads(7, 9, 32), "S") is not None

    @T.prim_func
    def product(X: T.Buffer((7, 32), "int32"), W: T.Buffer((8, 32), "int32"), Y: T.Buffer((7, 8), "int32")):
        for i, j, p in T.grid(7, 8, 32):
            with T.block("Y"):
                vi, vj, vp = T.axis.remap("SSR", [i, j, p])
                with T.init():
                    Y[vi, vj] = 0
                Y[vi, vj] += X[vi, vp] * W[vj, vp]

    assert taken(product, "Y") is None  # both are matrices


def test_sums_of_floats_keep_their_order_where_that_is_wanted() -> None:
    kernel = gemv(8, 32, "float32")
    rng = np.random.default_rng(2)
    A, x = rng.standard_normal((8, 32), "float32"), rng.standard_normal(32, "float32")
    in_order = np.zeros(8, "float32")
    for at in range(32):
        in_order += A[:, at] * x[at]
    y = np.zeros(8, "float32")
    made = default_schedule(kernel, CpuFacts(128, 1, reassociate=False)).func
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, x, y)
    assert np.array_equal(y, in_order)
