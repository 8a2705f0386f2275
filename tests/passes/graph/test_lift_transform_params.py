"""What is computed of weights alone, in a function of its own."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.results import listed

import tirscript
from tirscript.ir import Module
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import verify
from tirscript.passes.graph import lift_transform_params
from tirscript.script import parse

PARAMS = 'x: G.Tensor(("n", 4), "float32"), w: G.Tensor(("m", 4), "float32"), b: G.Tensor(("m",), "float32")'


def module(body: str, value: str, inputs: int = 1) -> Module:
    lines = "".join(f"            {line}\n" for line in body.split("\n"))
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main({PARAMS}):
        G.func_attr({{"num_input": {inputs}}})
        n = T.int64()
        m = T.int64()
        with G.dataflow():
{lines}            G.output({value})
        return {value}
""")
    assert isinstance(found, Module)
    return found


def params(made: Module) -> list[str]:
    func = made["main"]
    assert isinstance(func, GraphFunc)
    return [one.name for one in func.params]


RANDOM = np.random.default_rng(0)
ARRAYS = [RANDOM.random(shape, dtype=np.float32) for shape in ((2, 4), (3, 4), (3,))]


@pytest.mark.parametrize(
    ("body", "value", "wanted"),
    [
        ("t = G.permute_dims(w)\ny = G.add(G.matmul(x, t), b)", "y", ["x", "b", "t"]),
        # what is needed of a chain, and weights that are used as they are
        ("a = G.exp(b)\nc = G.add(a, b)\ny = G.add(G.matmul(x, G.permute_dims(w)), c)", "y", ["x", "c", "lv_1"]),
        # constants alone stay, and are there for the weights, too
        ('k = G.ones((1,), "float32")\na = G.add(b, k)\ny = G.add(G.exp(x), G.add(k, G.sum(a)))', "y", ["x", "lv_1"]),
        ("s = G.split(w, 2, axis=1)\nt = G.concat([s[1], s[0]], axis=1)\ny = G.add(x, G.sum(t))", "y", ["x", "lv_2"]),
        # a size that only the weight tells
        (
            'c = G.exp(G.sum(w))\ny = G.add(x, c)\nz = G.add(G.ones((m, 2), "float32"), G.sum(x))',
            "y, z",
            ["x", "w", "c"],
        ),
        # sizes of the inputs are not known before
        ('c = G.add(G.sum(b), G.ones((n, 4), "float32"))\ny = G.add(x, c)', "y", ["x", "lv"]),
    ],
)
def test_what_moves(body: str, value: str, wanted: list[str]) -> None:
    given = module(body, value)
    made = lift_transform_params(given)
    assert [str(found) for found in verify(made)] == []
    assert len(made.functions) == 2 and len(params(made)) == len(wanted)
    assert params(made)[0] == "x" and set(wanted) & {"w", "b"} == set(params(made)) & {"w", "b"}
    assert lift_transform_params(made) is made
    library = tirscript.build(made)
    prepared = library["main_transform_params"](tuple(ARRAYS[1:]))
    for one, other in zip(
        listed(library["main"](ARRAYS[0], *prepared)), listed(tirscript.interpret(given, *ARRAYS)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    again = tirscript.interpret(made["main_transform_params"], tuple(ARRAYS[1:]))
    for one, other in zip(prepared, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("y = G.add(G.matmul(x, x), b)", 0),
        ("y = G.add(x, G.sum(x))", 1),
        ("t = G.builtin.stop_lift_params(b)\ny = G.add(x, G.sum(t))", 1),
        ("t = G.permute_dims(w)\ny = G.matmul(x, t)", 3),
    ],
)
def test_what_stays(body: str, inputs: int) -> None:
    given = module(body.replace("G.matmul(x, x)", "G.multiply(x, x)").replace(", b)", ", G.sum(b))"), "y", inputs)
    assert lift_transform_params(given) is given
