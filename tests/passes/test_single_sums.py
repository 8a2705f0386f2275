"""Reductions over one element: left out where a block has others, and what that lets the default schedule see."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.programs import prim_func

import tirscript
from tirscript.ir import Block, BufferLoad, structural_equal, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.plain_loops.single_sums import without_single_sums
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule

LOOPS = """
@T.prim_func
def main(X: T.Buffer((32, 14, 14), "float32"), W: T.Buffer((64, 32, 1, 1), "float32"), Y: T.Buffer((64, 14, 14), "float32")):
    for f, y, x in T.grid(64, 14, 14):
        Y[f, y, x] = 0.0
        for c, i, j in T.grid(32, 1, 1):
            Y[f, y, x] += X[c, y + i, x + j] * W[f, c, i, j]
"""
BLOCK = """
@T.prim_func
def main(X: T.Buffer((32, 14, 14), "float32"), W: T.Buffer((64, 32, 1, 1), "float32"), Y: T.Buffer((64, 14, 14), "float32")):
    for f, y, x, c, i, j in T.grid(64, 14, 14, 32, 1, 1):
        with T.block("Y"):
            f, y, x, c, i, j = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            T.reads(X[c, y + i, x + j], W[f, c, i, j])
            T.writes(Y[f, y, x])
            with T.init():
                Y[f, y, x] = 0.0
            Y[f, y, x] += X[c, y + i, x + j] * W[f, c, i, j]
"""


@pytest.mark.parametrize("text", [LOOPS, BLOCK])
def test_pointwise_convolutions_are_contractions(text: str) -> None:
    func = prim_func(text)
    made = with_blocks(func)
    (block,) = (node for node in walk(made.body) if type(node) is Block)
    assert [axis.kind[0] for axis in block.axes] == list("sssr")
    assert not any("+ 0" in node.script() for node in walk(block.body) if type(node) is BufferLoad)
    assert structural_equal(tirscript.parse(made.script()), made)
    plain = default_schedule(
        prim_func(
            LOOPS.replace(", i, j in T.grid(32, 1, 1)", " in T.serial(32)")
            .replace("y + i, x + j", "y, x")
            .replace("c, i, j]", "c, 0, 0]")
        ),
        CpuFacts(512, 2),
    )
    steps = [step.primitive for step in default_schedule(func, CpuFacts(512, 2)).trace.steps]
    assert steps == [step.primitive for step in plain.trace.steps]
    rng, results = np.random.default_rng(5), []
    X, W = (rng.integers(-4, 5, shape).astype("float32") for shape in ((32, 14, 14), (64, 32, 1, 1)))
    for pipeline in ("default", DEFAULT_LOWERING):
        Y = np.full((64, 14, 14), np.nan, "float32")
        tirscript.build(func, pipeline=pipeline)(X, W, Y)
        results.append(Y)
    np.testing.assert_array_equal(*results)


def test_one_sum_stays_where_all_are_single() -> None:
    func = prim_func(BLOCK.replace("32,", "1,"))
    made = without_single_sums(func)
    (block,) = (node for node in walk(made.body) if type(node) is Block)
    assert [axis.kind[0] for axis in block.axes] == list("sssr") and made.script().count("T.init") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("14, 14, 32, 1, 1)", "14, 14, 32, 1, 1, annotations={'a': 1})"),
        ("X[c, y + i, x + j] * W[f, c, i, j]\n", "X[c, y + i, x + j] * W[f, c, i, j]\n        T.evaluate(i + j)\n"),
        ('"SSSRRR"', '"SSSRSS"'),
        ("32, 1, 1):", "32, 2, 2):"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = BLOCK.replace(old, new)
    assert text != BLOCK
    if "annotations" in new:
        text = BLOCK.replace(
            "for f, y, x, c, i, j in T.grid(64, 14, 14, 32, 1, 1):",
            "for f, y, x, c in T.grid(64, 14, 14, 32):\n      for i in T.serial(1, annotations={'a': 1}):\n       for j in T.unroll(1):",
        )
    func = prim_func(text)
    assert without_single_sums(func) is func
