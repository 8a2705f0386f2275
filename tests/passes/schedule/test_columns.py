"""Reductions down the columns of large matrices: which are read line by line, and that no bit of the results changes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse


def kernel(lines: int = 512, width: int = 1024, update: str = "Y[j] + W[i, j]", begin: str = "0.0") -> PrimFunc:
    found = parse(f"""
@T.prim_func
def main(X: T.Buffer(({lines},)), W: T.Buffer(({lines}, {width})), V: T.Buffer(({lines}, {width})), Y: T.Buffer(({width},))):
    for j in range({width}):
        Y[j] = {begin}
        for i in range({lines}):
            Y[j] = {update}
""")
    assert isinstance(found, PrimFunc)
    return found


def by_lines(func: PrimFunc, threads: int = 1) -> bool:
    """Whether a loop over vectors stands inside the loop over lines, which is cut."""
    text = default_schedule(func, CpuFacts(512, threads)).func.script()
    return "for i_0, j_1 in T.grid(" in text or "for j_1 in range(" in text.partition("for i_0 in range(")[2]


UPDATES = {
    "sum": ("Y[j] + W[i, j]", "0.0"),
    "vector": ("Y[j] + X[i] * W[i, j]", "X[0]"),
    "products": ("Y[j] + V[i, j] * W[i, j]", "0.0"),
    "greatest": ("T.max(Y[j], W[i, j])", 'T.min_value("float32")'),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("threads", [1, 2])
def test_lines_are_read_as_they_lie(name: str, threads: int) -> None:
    func = kernel(520, 1024, *UPDATES[name])
    assert by_lines(func, threads)
    made = default_schedule(func, CpuFacts(512, threads, reassociate=False)).func
    random = np.random.default_rng(0)
    given = [random.standard_normal(shape).astype("float32") for shape in (520, (520, 1024), (520, 1024))]
    results = [np.zeros(1024, "float32") for _ in range(2)]
    for form, result in zip((func, made), results, strict=True):
        tirscript.build(form, pipeline=DEFAULT_LOWERING)(*given, result)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    "func",
    [
        kernel(256, 1024),  # in the second cache
        kernel(8192, 256),  # short lines
        kernel(509, 1024),  # no number of lines at once divides them
        kernel(512, 1030),  # no whole vectors
        kernel(1024, 1024, "Y[j] + W[j, i]"),
        kernel(1024, 1024, "Y[j] + W[i, 1023 - j]"),
    ],
)
def test_others_are_left_to_other_rules(func: PrimFunc) -> None:
    assert not by_lines(func)


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("batch", [1, 3])
def test_lines_that_no_vectors_divide_are_innermost(name: str, batch: int) -> None:
    update, begin = (text.replace("[i, j]", "[i, b, j]").replace("Y[j]", "Y[b, j]") for text in UPDATES[name])
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((40,)), W: T.Buffer((40, {batch}, 1001)), V: T.Buffer((40, {batch}, 1001)), Y: T.Buffer(({batch}, 1001))):
    for b, j in T.grid({batch}, 1001):
        Y[b, j] = {begin}
        for i in range(40):
            Y[b, j] = {update}
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, CpuFacts(512, 2, reassociate=False)).func
    assert re.search(r"for i, j in T\.grid\(40, 1001\)|for i in range\(40\):\s+for j in range\(1001\)", made.script())
    random = np.random.default_rng(0)
    given = [random.standard_normal(shape).astype("float32") for shape in (40, (40, batch, 1001), (40, batch, 1001))]
    results = [np.zeros((batch, 1001), "float32") for _ in range(2)]
    for form, result in zip((func, made), results, strict=True):
        tirscript.build(form, pipeline=DEFAULT_LOWERING)(*given, result)
    np.testing.assert_array_equal(results[0], results[1])
