"""Constants that move between graphs and the tensor functions they call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, structural_equal
from tirscript.ir.constant import constants_of
from tirscript.passes.constants import lift_constants, sink_constants
from tirscript.passes.graph import legalize_ops
from tirscript.script import parse

TEXT = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(x: T.Buffer(("n",), "float32"), w: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
        for i in range(n):
            y[i] = x[i] * w[i]

    @G.graph_func
    def main(x: G.Tensor((20,), "float32")):
        with G.dataflow():
            k = G.const(v)
            a = G.call_tir(M.scale, (x, k))
            b = G.call_tir(M.scale, (a, G.const(w)))
            c = G.call_tir(M.scale, (b, G.const(v)))
            G.output(c)
        return c
"""
V, W = np.arange(20, dtype="float32"), np.arange(20, 40, dtype="float32")
X = np.linspace(-1, 1, 20, dtype="float32")


def module(text: str = TEXT, **names: Any) -> Module:
    found = parse(text, names={"v": V, "w": W, **names})
    assert isinstance(found, Module)
    return found


def names(given: Module) -> list[str]:
    return [one.name for one in given.functions]


def held(given: Module) -> list[tuple[str, int]]:
    """How many constants each tensor function holds."""
    return [(one.name, len(constants_of(one))) for one in given.prim_funcs]


def test_each_set_of_constants_gets_a_function() -> None:
    made = sink_constants(module())
    assert names(made) == ["scale", "scale_1", "main"] and held(made) == [("scale", 1), ("scale_1", 1)]
    text = made.script()
    assert "a = G.call_tir(M.scale, (x,)" in text and "b = G.call_tir(M.scale_1, (a,)" in text
    assert "c = G.call_tir(M.scale, (b,)" in text
    assert parse(text, constants=tirscript.ConstantStore(made)).script() == text
    for run in (tirscript.build(made), lambda x: tirscript.interpret(made, x)):
        assert np.array_equal(run(X), X * V * W * V)
    assert sink_constants(made) is made


def test_functions_that_differ_in_constants_alone_become_one() -> None:
    made = lift_constants(sink_constants(module()))
    assert names(made) == ["scale", "main"] and held(made) == [("scale", 0)]
    assert made.script().count("G.constant(") == 4  # `k`, and three arguments
    assert np.array_equal(tirscript.build(made)(X), X * V * W * V)
    assert structural_equal(lift_constants(sink_constants(made)), made)


def test_public_functions_stay_for_others() -> None:
    made = sink_constants(module(TEXT.replace("@T.prim_func(private=True)", "@T.prim_func")))
    assert names(made) == ["scale_1", "scale_2", "scale", "main"]
    assert [one.private for one in made.prim_funcs] == [True, True, False]
    assert np.array_equal(tirscript.interpret(made, X), X * V * W * V)


def test_small_ones_stay_where_that_is_asked() -> None:
    given = module()
    assert sink_constants(given, least=21) is given
    sunk = sink_constants(given, least=20)
    assert sunk is not given and lift_constants(sunk, least=21) is sunk


def test_a_function_that_others_call_stays() -> None:
    caller = """
    @T.prim_func
    def twice(x: T.Buffer((20,), "float32"), w: T.Buffer((20,), "float32"), y: T.Buffer((20,), "float32")):
        t = T.alloc_buffer((20,), "float32")
        M.scale(x, w, t)
        M.scale(t, w, y)

    @G.graph_func"""
    made = sink_constants(module(TEXT.replace("\n    @G.graph_func", caller, 1)))
    assert names(made) == ["scale_1", "scale_2", "scale", "twice", "main"]
    assert np.array_equal(tirscript.interpret(made, X), X * V * W * V)


INPLACE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def add(x: T.Buffer((20,), "float32"), w: T.Buffer((20,), "float32")):
        for i in range(20):
            x[i] = x[i] + w[i]

    @T.prim_func(private=True)
    def grow(x: T.Buffer((20,), "float32")):
        k = T.allocate_const(v, "float32", (20,))
        for i in range(20):
            x[i] = x[i] + k[i]

    @G.graph_func
    def main(x: G.Tensor((20,), "float32")):
        a = G.call_tir_inplace(M.add, (x, G.const(w)), 0, G.Tensor((20,), "float32"))
        b = G.call_tir_inplace(M.grow, (a,), 0, G.Tensor((20,), "float32"))
        return b
"""


def test_calls_that_write_their_arguments() -> None:
    given = module(INPLACE)
    assert sink_constants(given) is given
    made = lift_constants(given)
    assert "(a, G.constant(" in " ".join(made.script().split()).replace("( ", "(")
    assert held(made) == [("add", 0), ("grow", 0)]
    assert np.array_equal(tirscript.interpret(made, X.copy()), X + W + V)


@pytest.mark.parametrize(
    "definition",
    [
        'k = T.allocate_const(v, "float32", (20,), annotations={"a": 1})',
        'k = T.allocate_const(v, "float32", (20,), scope="global.const")',
        'k = T.allocate_const(v, "float32", (20,), align=128)',
    ],
)
def test_constants_with_a_place_of_their_own_stay(definition: str) -> None:
    given = module(INPLACE.replace('k = T.allocate_const(v, "float32", (20,))', definition))
    assert lift_constants(given) is given


def test_data_that_is_not_there_moves_too() -> None:
    given = module()  # the other constant is known as long as something holds it
    text = given.script().replace(tirscript.constant(W).digest, "sha256:" + "0" * 64)
    lost = parse(text)
    made = sink_constants(lost)
    assert [stmt.data.resolved for stmt in constants_of(made)] == [True, False]
    back = lift_constants(made)
    assert "sha256:" + "0" * 64 in back.script()


def test_constants_of_another_shape_are_lifted_in_that_of_the_buffer() -> None:
    given = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(x: T.Buffer((2, 2), "int32"), y: T.Buffer((2, 2), "int32")):
        k = T.allocate_const([1, 2, 3, 4], "int32", (2, 2))
        for i, j in T.grid(2, 2):
            y[i, j] = x[i, j] + k[j, i]

    @G.graph_func
    def main(x: G.Tensor((2, 2), "int32")):
        return G.call_tir(M.f, (x,))
""")
    made = lift_constants(given)
    assert "G.const([[1, 2], [3, 4]]" in made.script()
    assert tirscript.interpret(made, np.zeros((2, 2), np.int32)).tolist() == [[1, 3], [2, 4]]


def test_layouts_of_a_model_are_packed_when_it_is_built() -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((32, 16, 3, 3)).astype("float32")
    given = module(
        """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1, 16, 18, 18), "float32")):
        return G.nn.conv2d(x, G.const(weights))
""",
        weights=weights,
    )
    made = sink_constants(legalize_ops(given))
    (packed,) = constants_of(tirscript.build(made["conv2d"]).lowered)
    assert packed.data.digest != tirscript.constant(weights).digest and packed.data.size == weights.size
    x = rng.standard_normal((1, 16, 18, 18)).astype("float32")
    assert np.allclose(tirscript.build(made)(x), tirscript.interpret(given, x), atol=1e-3)
