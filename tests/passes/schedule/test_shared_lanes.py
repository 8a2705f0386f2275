"""Sums along rows some operands of which are shared by neighbouring terms, as packed weights and their scales are."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import For
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(512, 1)


def product(columns: int, group: int, index: str = "j // 2", dtype: str = "float32") -> PrimFunc:
    """Four bits a weight, and a scale for each `group` of them."""
    found = parse(f"""
@T.prim_func
def product(W: T.Buffer((5, {columns}), "uint8"), S: T.Buffer((5, {columns}), "float16"),
            x: T.Buffer(({columns},), "{dtype}"), y: T.Buffer((5,), "{dtype}")):
    for i in range(5):
        y[i] = T.{dtype}(0)
        for j in range({columns}):
            weight = T.cast(W[i, {index}] >> T.cast(j % 2 * 4, "uint8") & T.uint8(15), "{dtype}") - T.{dtype}(8)
            y[i] += weight * T.cast(S[i, j // {group}], "{dtype}") * x[j]
""")
    assert isinstance(found, PrimFunc)
    return found


def in_lanes(func: PrimFunc) -> bool:
    made = default_schedule(func, WIDE).func
    return any(type(node) is For and node.kind == "vectorized" for node in walk(made.body))


@pytest.mark.parametrize(
    ("columns", "group", "index", "lanes"),
    [
        (1152, 32, "j // 2", True),
        (256, 16, "j // 2", True),
        (256, 128, "j // 2", True),
        (256, 2, "j // 4 + 3", True),
        (256, 3, "j // 2", False),  # vectors begin within a group
        (256, 24, "j // 2", False),
        (250, 32, "j // 2", False),  # no whole vectors
        (256, 32, "j // 2 * 2", False),  # elements that are apart
        (256, 32, "j // -2 + 128", False),  # backward
    ],
)
def test_which_sums_are_made_in_lanes(columns: int, group: int, index: str, lanes: bool) -> None:
    func = product(columns, group, index)
    assert in_lanes(func) is lanes
    random = np.random.default_rng(1)
    w, s = random.integers(0, 256, (5, columns)).astype("uint8"), random.integers(1, 4, (5, columns)).astype("float16")
    x, found = random.integers(-3, 4, columns).astype("float32"), np.zeros(5, "float32")
    kernel = tirscript.build(func)
    kernel(w, s, x, found)
    j = np.arange(columns)
    weights = (w[:, eval(index, {"j": j})] >> (j % 2 * 4).astype("uint8") & 15).astype("float32") - 8
    assert np.array_equal(found, (weights * s[:, j // group].astype("float32")) @ x)


def test_of_other_floats_and_by_the_interpreter() -> None:
    func, random = product(64, 8, dtype="float64"), np.random.default_rng(2)
    w, s = random.integers(0, 256, (5, 64)).astype("uint8"), random.integers(1, 4, (5, 64)).astype("float16")
    x, found, wanted = random.integers(-3, 4, 64).astype("float64"), np.zeros(5), np.zeros(5)
    assert in_lanes(func)
    tirscript.build(func)(w, s, x, found)
    tirscript.interpret(func, w, s, x, wanted)
    assert np.array_equal(found, wanted)


def test_the_lanes_are_loaded_at_once() -> None:
    code = tirscript.build(product(256, 32)).llvm_ir()
    assert "masked.gather" not in code


@pytest.mark.parametrize(("rows", "again"), [(1, True), (4, True), (5, False)])
def test_few_rows_make_weights_again_that_lie_along_the_sums(rows: int, again: bool) -> None:
    func = parse(f"""
@T.prim_func
def product(A: T.Buffer(({rows}, 256), "float32"), W: T.Buffer((40, 128), "uint8"), C: T.Buffer(({rows}, 40), "float32")):
    for i, j in T.grid({rows}, 40):
        C[i, j] = T.float32(0)
        for k in range(256):
            C[i, j] += A[i, k] * (T.cast(W[j, k // 2] >> T.cast(k % 2 * 4, "uint8") & T.uint8(15), "float32") - 8.0)
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert ("_rf" in made.script()) is again
    random = np.random.default_rng(3)
    a, w = random.integers(-3, 4, (rows, 256)).astype("float32"), random.integers(0, 256, (40, 128)).astype("uint8")
    found = np.zeros((rows, 40), "float32")
    tirscript.build(func)(a, w, found)
    weights = np.stack([w & 15, w >> 4], -1).reshape(40, 256).astype("float32") - 8
    assert np.array_equal(found, a @ weights.T)
