"""A reduction over nothing gives its init: in the interpreter, natively, and in the program that is lowered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.passes import rewrites

import tirscript
from tirscript.ir import If, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.lower import lower_init_block
from tirscript.script import tir as T
from tirscript.testing import Golden


@T.prim_func
def rows(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m",), "float32")):
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk]


@T.prim_func
def columns(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("m",), "float32")):
    for k in range(n):
        for i in range(m):
            with T.block("B"):
                vk, vi = T.axis.remap("RS", [k, i])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] += A[vk, vi]


@T.prim_func
def tiles(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m",), "float32")):
    for i, k_0, k_1 in T.grid(m, (n + 3) // 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(m, i)
            vk = T.axis.reduce(n, k_0 * 4 + k_1)
            T.where(k_0 * 4 + k_1 < n)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk]


@T.prim_func
def two_axes(A: T.Buffer(("m", "n", 3), "float32"), B: T.Buffer(("m",), "float32")):
    for i, k, l in T.grid(m, n, 3):
        with T.block("B"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk, vl]


KERNELS = [
    (rows, lambda m: (m, 0)),
    (columns, lambda m: (0, m)),
    (tiles, lambda m: (m, 0)),
    (two_axes, lambda m: (m, 0, 3)),
]
WAYS: dict[str, Any] = {
    "interpreted": lambda f, *args: tirscript.interpret(f, *args),
    "scheduled": lambda f, *args: tirscript.build(f)(*args),
    "lowered": lambda f, *args: tirscript.build(f, pipeline=DEFAULT_LOWERING)(*args),
    "lowered, interpreted": lambda f, *args: tirscript.interpret(DEFAULT_LOWERING(f), *args),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("kernel", "shape"), KERNELS, ids=lambda one: getattr(one, "name", ""))
def test_a_sum_of_nothing_is_zero(kernel: Any, shape: Any, way: str) -> None:
    B = np.full(5, 7, "float32")
    WAYS[way](kernel, np.zeros(shape(5), "float32"), B)
    assert B.tolist() == [0] * 5


@pytest.mark.parametrize("way", WAYS)
def test_terms_that_are_there_are_summed_once(way: str) -> None:
    for kernel, shape in KERNELS:
        some = tuple(size or 6 for size in shape(5))
        A, B = np.random.default_rng(0).random(some, "float32"), np.full(5, 7, "float32")
        WAYS[way](kernel, A, B)
        axes = tuple(at for at, size in enumerate(some) if size != 5)
        np.testing.assert_allclose(B, A.sum(axis=axes), rtol=1e-5)


def test_no_element_of_a_static_shape() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((3, 0), "int32"), bias: T.Buffer((3,), "int32"), B: T.Buffer((3,), "int32")):
        for i, k in T.grid(3, 0):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = bias[vi]
                B[vi] += A[vi, vk]

    for way in WAYS.values():
        B = np.full(3, 7, "int32")
        way(kernel, np.zeros((3, 0), "int32"), np.array([1, 2, 3], "int32"), B)
        assert B.tolist() == [1, 2, 3]


def test_what_surrounds_the_loops_holds_for_the_init_too(golden: Golden) -> None:
    rewrites(
        golden,
        lower_init_block,
        """
        def f(A: T.Buffer(("m", "n"), "int32"), B: T.Buffer(("m",), "int32")):
            for k in range(n):
                for i in range(m):
                    if i % 2 == 0:
                        with T.block("B"):
                            vk, vi = T.axis.remap("RS", [k, i])
                            with T.init():
                                B[vi] = 1
                            B[vi] = B[vi] * A[vi, vk]
        """,
    )


def test_lengths_that_are_numbers_need_nothing() -> None:
    @T.prim_func
    def kernel(A: T.Buffer(("m", 4), "int32"), B: T.Buffer(("m",), "int32")):
        for i, k in T.grid(m, 4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] += A[vi, vk]

    assert sum(type(node) is If for node in walk(lower_init_block(kernel))) == 1
