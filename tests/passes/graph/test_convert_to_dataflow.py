"""Bindings that are put into dataflow, where kernels are fused."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.graph_modules import TO_FUSED, module
from helpers.results import listed

import tirscript
from tirscript.ir import Module
from tirscript.ir.graph import Dataflow
from tirscript.ir.rewrite import walk
from tirscript.ir.verify import verify
from tirscript.passes.graph import (
    convert_to_dataflow,
)
from tirscript.script import parse


def flows(made: Module) -> list[Dataflow]:
    return [one for one in walk(made["main"]) if type(one) is Dataflow]


X = np.linspace(-2, 2, 24, dtype="float32").reshape(3, 8)


@pytest.mark.parametrize(
    ("body", "value", "sizes"),
    [
        ("a = G.exp(x)\nb = G.add(a, x)", "b", [(2, 1)]),
        ("a = G.exp(x)\nb = G.add(a, x)", "a, b", [(2, 2)]),
        # one binding is not worth it, and what has effects stands between
        ("a = G.exp(x)\ng = G.print(a)\nb = G.sin(a)", "b", []),
        ("a = G.exp(x)\nb = G.sin(a)\ng = G.print(b)\nc = G.cos(b)\nd = G.add(a, c)", "d", [(2, 2), (2, 1)]),
        # dataflow is joined by its neighbours
        (
            "a = G.exp(x)\nwith G.dataflow():\n    b = G.sin(a)\n    c = G.cos(b)\n    G.output(c)\nd = G.add(a, c)",
            "d",
            [(4, 1)],
        ),
        (
            "with G.dataflow():\n    a = G.exp(x)\n    G.output(a)\nwith G.dataflow():\n    b = G.sin(a)\n    G.output(b)",
            "a, b",
            [(2, 2)],
        ),
        # sizes that a check or a scalar tells are known behind it
        ("m = T.int64()\na = G.match_cast(x, G.Tensor((m, 8), 'float32'))\nb = G.exp(a)\nc = G.sin(b)", "c", [(2, 1)]),
        ("a = G.exp(x)\ns = G.shape_of(a)\nb = G.exp(x)\nc = G.reshape(b, s)", "c", [(2, 1)]),
        # what is written in place is read before and after
        (
            "a = G.exp(x)\nb = G.sin(a)\n"
            "c = G.call_tir_inplace(M.grow, (a,), inplace_indices=[0], out=G.Tensor((n, 8), 'float32'))\n"
            "d = G.cos(c)\ne = G.add(b, d)",
            "e",
            [(2, 2), (2, 1)],
        ),
    ],
)
def test_bindings_become_dataflow(body: str, value: str, sizes: list[tuple[int, int]]) -> None:
    given = module(body, value)
    made = convert_to_dataflow(given)
    assert [str(found) for found in verify(made)] == []
    assert [(len(one.body), len(one.outputs)) for one in flows(made)] == sizes
    assert convert_to_dataflow(made) is made
    for one, other in zip(listed(tirscript.interpret(made, X)), listed(tirscript.interpret(given, X)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_branches_have_dataflow_of_their_own() -> None:
    given = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((8,), "float32"), up: G.Tensor((), "bool")):
        a = G.exp(x)
        b = G.sin(a)
        if up:
            c = G.add(b, x)
            d = G.cos(c)
        else:
            d = G.negative(b)
        return d
""")
    assert isinstance(given, Module)
    made = convert_to_dataflow(given)
    assert [len(one.body) for one in flows(made)] == [2, 2]
    for up in (True, False):
        arguments = X[0], np.array(up)
        np.testing.assert_array_equal(tirscript.interpret(made, *arguments), tirscript.interpret(given, *arguments))
        np.testing.assert_allclose(
            tirscript.build(given)(*arguments), tirscript.interpret(given, *arguments), rtol=1e-5
        )


def test_the_least_number_of_bindings() -> None:
    given = module("a = G.exp(x)\nb = G.add(a, x)", "b")
    assert convert_to_dataflow(given, least=3) is given
    assert len(flows(convert_to_dataflow(module("a = G.exp(x)", "a"), least=1))) == 1


def test_kernels_outside_of_dataflow_are_fused() -> None:
    made = TO_FUSED(module("a = G.exp(x)\nb = G.add(a, x)\nc = G.tanh(b)", "c"))
    assert [one.name for one in made.functions] == ["fused_exp_add_tanh", "main"]


def test_comments_of_dataflow_that_is_joined_stay() -> None:
    given = parse(
        """
@G.graph_func
def f(x: G.Tensor((4,), "float32")):
    # first
    with G.dataflow():  # beside
        y = G.exp(x)
        # outputs
        G.output(y)  # of it
        # behind
    # second
    with G.dataflow():
        z = G.sin(y)
        G.output(z)
    return z
"""
    )
    made = convert_to_dataflow(Module((given,)))
    lines = [line.strip() for line in made.script().splitlines()]
    at = lines.index("with G.dataflow():")
    words = ["# first", "# beside", "y", "# outputs", "# of it", "# behind", "# second", "z", "G.output(z)"]
    found = [line.split(":")[0] for line in lines[at + 1 : at + 1 + len(words)]]
    assert found == words
    assert parse(made.script()).script() == made.script()
