"""Layers as they are at inference, also where a dataflow ends between a layer and the item of its result."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module
from tirscript.ir.verify import verify
from tirscript.passes.graph import dead_code_elimination, decompose_for_inference
from tirscript.script import parse

NORM = "G.nn.batch_norm({}, w, w, w, w, axis=1, training=False)"
DROPOUT = "G.nn.dropout({}, rate=0.5)"


def module(*body: str) -> Module:
    lines = "".join(f"        {line}\n" for line in body)
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 3), "float32"), w: G.Tensor((3,), "float32")):
{lines}        return c
""")
    assert isinstance(found, Module)
    return found


@pytest.mark.parametrize("layer", [NORM, DROPOUT])
@pytest.mark.parametrize(
    ("before", "between", "argument", "gone"),
    [
        ("pass_ = G.abs(x)", None, "x", True),
        ("a = G.exp(x)", None, "a", True),
        # what a layer is applied to is not known behind the dataflow: it stays
        ("a = G.exp(x)", "G.output(t)", "a", False),
        ("a = G.exp(x)", "G.output(t, a)", "a", True),
        ("pass_ = G.abs(x)", "G.output(t)", "x", True),
    ],
)
def test_layers(layer: str, before: str, between: str | None, argument: str, gone: bool) -> None:
    middle = [f"    {between}", "with G.dataflow():"] if between else []
    given = module(
        "with G.dataflow():", f"    {before}", f"    t = {layer.format(argument)}", *middle, "    b = t[0]",
        "    c = G.sin(b)", "    G.output(c)",
    )  # fmt: skip
    made = dead_code_elimination(decompose_for_inference(given))
    assert [str(found) for found in verify(made)] == []
    name = layer.partition("(")[0]
    assert (name not in made["main"].script()) == gone
    x, w = np.arange(6, dtype=np.float32).reshape(2, 3) / 4, np.array([1, 2, 4], np.float32)
    np.testing.assert_allclose(tirscript.interpret(made, x, w), tirscript.interpret(given, x, w), rtol=1e-5)


def test_the_statistics_of_a_norm_stay_what_they_are() -> None:
    given = parse(
        """
@G.graph_func
def main(x: G.Tensor(("n", 3), "float32"), w: G.Tensor((3,), "float32"), v: G.Tensor((3,), "float32")):
    with G.dataflow():
        t = G.nn.batch_norm(x, w, w, w, v, axis=1, training=False)
        a = t[1]
        b = t[2]
        G.output(a, b)
    return (a, b)
"""
    )
    made = dead_code_elimination(decompose_for_inference(given))
    assert "batch_norm" not in made.script()
    x, w, v = np.zeros((2, 3), np.float32), np.array([1, 2, 4], np.float32), np.array([3, 5, 6], np.float32)
    for one, other in zip(tirscript.interpret(made, x, w, v), (w, v), strict=True):
        np.testing.assert_array_equal(one, other)
