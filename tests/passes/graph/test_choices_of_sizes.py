"""`if` whose branches give tensors of other shapes: sizes with names, steps in both branches, built and called."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers.results import same

import tirscript
from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.ir.graph import GraphFunc, GraphIf, MatchCast
from tirscript.ir.graph_ops import dims
from tirscript.passes import Sequential
from tirscript.passes.graph import GRAPH_LOWERING, measure_sizes, split_at_sizes
from tirscript.script import parse

HEAD = "from tirscript.script import graph as G, ir as I, tir as T\n\n@I.ir_module\nclass M:\n"
X = np.array([[0, 1, 2, 0], [3, 0, 0, 4], [5, 6, 0, 7]], "float32")
WORDS = np.array([3, 1, 3, 2], "int64")

PLACES = """
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), c: G.Tensor((), "bool")):
        if c:
            y = G.nonzero(x)
        else:
            y = G.zeros((2, 3), "int64")
        z = G.add(y, G.const(1, "int64"))
        return z
"""
NESTED = """
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), c: G.Tensor((), "bool"), d: G.Tensor((), "bool")):
        w = G.const([[1, 2, 3, 4], [5, 6, 7, 8]], "float32")
        e = G.exp(x)
        if c:
            if d:
                h = G.concat((e, w), axis=0)
            else:
                h = w
            y = (G.negative(h), h)
        else:
            y = (x, w)
        return G.sum(y[0], axis=[1]), G.add(y[1], G.const(1.0, "float32")), e
"""
INSIDE = """
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), c: G.Tensor((), "bool"), d: G.Tensor((), "bool")):
        if c:
            if d:
                p = G.nonzero(x)
            else:
                p = G.ones((2, 5), "int64")
            s = G.sum(G.astype(p, "float32"))
        else:
            s = G.max(x)
        return G.multiply(x, s)
"""
NUMBER = """
    @G.graph_func
    def main(x: G.Tensor((4,), "int64"), k: G.Prim("int64")):
        u = G.unique(x)
        if k > 2:
            y = G.concat((u, x), axis=0)
        else:
            y = u
        if k > 3:
            z = G.flip(y, axis=0)
        else:
            z = G.zeros((1,), "int64")
        return (y, z)
"""


def program(text: str) -> Module:
    made = parse(HEAD + text.removeprefix("\n"))
    assert isinstance(made, Module)
    return made


def choices(count: int) -> list[tuple[Any, ...]]:
    return [tuple(map(np.array, one)) for one in product((True, False), repeat=count)]


CASES: dict[str, tuple[str, Any, list[tuple[Any, ...]]]] = {
    "places": (PLACES, X, choices(1)),
    "nested": (NESTED, X, choices(2)),
    "inside of one shape": (INSIDE, X, choices(2)),
    "by a number": (NUMBER, WORDS, [(1,), (3,), (4,)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_choice_of_shapes_is_built(name: str) -> None:
    text, x, given = CASES[name]
    module = program(text)
    built = tirscript.build(module)
    for rest in given:
        same(built(x, *rest), tirscript.interpret(module, x, *rest))


@pytest.mark.parametrize("name", CASES)
def test_every_stage_of_it_is_printed_read_and_executed(name: str) -> None:
    text, x, given = CASES[name]
    module: Any = program(text)
    wanted = [tirscript.interpret(module, x, *rest) for rest in given]
    for stage in GRAPH_LOWERING.passes:
        module = Sequential((stage,))(module)
        printed = module.script(constants="inline")
        again = parse(printed)
        assert structural_equal(again, module) and again.script(constants="inline") == printed
        if isinstance(module["main"], GraphFunc):
            for rest, result in zip(given, wanted, strict=True):
                same(tirscript.interpret(module, x, *rest), result)


def test_dimensions_that_branches_agree_in_keep_their_names() -> None:
    main = measure_sizes(program(NESTED))["main"]
    cast: Any = next(stmt for stmt in reversed(main.body) if type(stmt) is MatchCast)
    assert [dims.number(field.shape[1]) for field in cast.type.fields] == [4, 4]


def test_choices_of_one_shape_stay_in_their_step() -> None:
    text = PLACES.replace("G.nonzero(x)", "G.astype(x, 'int64')").replace("G.zeros((2, 3)", "G.zeros((3, 4)")
    module = split_at_sizes(measure_sizes(program(text.replace('"n", 4', "3, 4"))))
    assert [one.name for one in module.functions] == ["main"]
    assert any(type(stmt) is GraphIf for stmt in module["main"].body)


def test_branches_of_other_ranks_are_refused() -> None:
    module = program(PLACES.replace("G.zeros((2, 3)", "G.zeros((2, 3, 1)"))
    with pytest.raises(DiagnosticError, match="the branches give tensors of different"):
        tirscript.build(module)
