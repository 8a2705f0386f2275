"""Splits that become slices, which are read where they are used."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.graph_modules import TO_FUSED, module
from helpers.results import listed

import tirscript
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import verify
from tirscript.passes.graph import (
    canonicalize_bindings,
    dead_code_elimination,
    split_to_slices,
)

X = np.linspace(-2, 2, 24, dtype="float32").reshape(3, 8)


@pytest.mark.parametrize(
    ("split", "shape"),
    [
        ("G.split(x, 2, axis=1)", '("n", 8)'),
        ("G.split(x, 2, axis=-1)", '("n", "m")'),
        ("G.split(x, [3, 5], axis=1)", '("n", 8)'),
        ("G.split(x, 3, axis=1)", '("n", 8)'),  # the last part is smaller
        ("G.split(x, 2)", '("n", 8)'),
        ("G.split(x, [2])", '("n", 8)'),
    ],
)
def test_splits_become_slices(split: str, shape: str) -> None:
    given = module(f"t = {split}\na = G.sigmoid(t[0])\nb = G.exp(t[1])", "a, b", f'x: G.Tensor({shape}, "float32")')
    made = dead_code_elimination(split_to_slices(canonicalize_bindings(given)))
    assert [str(found) for found in verify(made)] == []
    text = made["main"].script()
    assert "G.split" not in text and text.count("G.strided_slice") == 2
    for run in (tirscript.interpret(made, X), tirscript.build(given)(X)):
        for one, other in zip(run, tirscript.interpret(given, X), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("t = G.split(x, 2, axis=1)\na = G.sigmoid(t[0])", "a, t"),  # the tuple is needed in any case
        # the parts are those before the tensor is written
        (
            "h = G.exp(x)\nt = G.split(h, 2, axis=1)\n"
            "c = G.call_tir_inplace(M.grow, (h,), inplace_indices=[0], out=G.Tensor((n, 8), 'float32'))\n"
            "a = t[0]\nb = G.exp(a)",
            "b, c",
        ),
        ("t = G.split(x, 3, axis=0)\na = G.sigmoid(t[2])", "a"),  # the size of the last part is not known
    ],
)
def test_splits_that_stay(body: str, value: str) -> None:
    given = module(body, value)
    made = dead_code_elimination(split_to_slices(given))
    assert "G.split" in made["main"].script()
    for one, other in zip(listed(tirscript.interpret(made, X)), listed(tirscript.interpret(given, X)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_parts_of_a_split_are_read_where_they_are_used() -> None:
    made = TO_FUSED(module("t = G.split(x, 2, axis=1)\na = G.multiply(G.sigmoid(t[0]), t[1])", "a"))
    graph = made["main"]
    assert isinstance(graph, GraphFunc) and len(made.functions) == 2
    assert made.functions[0].name == "fused_strided_slice_sigmoid_strided_slice_1_multiply"
