"""Local functions become functions of the module."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import walk
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import verify
from tirscript.passes.graph import lambda_lift
from tirscript.script import parse

NESTED = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), w: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
        k = G.exp(w)

        @G.graph_func
        def scaled(a: G.Tensor((n, 4), "float32")):
            @G.graph_func
            def wide(b: G.Tensor((4,), "float32")):
                z = G.add(b, k)
                s = G.broadcast_to(z, (n, 4))
                return s

            q = wide(w)
            y = G.multiply(a, q)
            return y

        y = scaled(x)
        if c:
            z = scaled(y)
        else:
            z = G.multiply(y, G.const(2.0, "float32"))
        return z
"""


def arguments(flag=True):
    rng = np.random.default_rng(0)
    return [rng.random((3, 4), "float32"), rng.random(4, "float32"), np.array(flag)]


def assert_kept(before, after):
    assert verify(after) == []
    assert parse(after.script()).script() == after.script()
    for flag in (True, False):
        given = arguments(flag)
        np.testing.assert_array_equal(tirscript.interpret(after, *given), tirscript.interpret(before, *given))


def test_functions_in_functions():
    before = parse(NESTED)
    after = lambda_lift(before)
    assert [one.name for one in after.functions] == ["wide", "scaled", "main"]
    assert all(one.private for one in after.functions if one.name != "main")
    heads = {one.name: [param.name for param in one.params] for one in after.functions}
    # what they take from around them comes first; a dimension that no tensor has is a number
    assert heads == {"wide": ["n", "k", "b"], "scaled": ["k", "w", "a"], "main": ["x", "w", "c"]}
    assert "M.scaled(k, w, x)" in after.script() and "M.wide(G.prim_value(n), k, w)" in after.script()
    assert not any(type(node) is GraphFunc for one in after.functions for stmt in one.body for node in walk(stmt))
    assert_kept(before, after)
    np.testing.assert_allclose(tirscript.build(before)(*arguments()), tirscript.interpret(before, *arguments()), 1e-5)


def test_a_name_that_the_module_has():
    other = """
    @G.graph_func(private=True)
    def scaled(a: G.Tensor((4,), "float32")):
        return a
"""
    before = parse(NESTED.rstrip() + "\n" + other)
    after = lambda_lift(before)
    assert "scaled_1" in after and "M.scaled_1(k, w, x)" in after.script()
    assert_kept(before, after)


@pytest.mark.parametrize(
    "text",
    [
        # the function is a value
        NESTED.replace("        y = scaled(x)\n", "        t = (scaled, x)\n        y = scaled(x)\n"),
        # it leaves its dataflow, and what it takes does not
        """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), w: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
        with G.dataflow():
            k = G.exp(w)

            @G.graph_func
            def scaled(a: G.Tensor((n, 4), "float32")):
                y = G.multiply(a, k)
                return y

            G.output(scaled)
        y = scaled(x)
        return y
""",
    ],
)
def test_what_is_more_than_called_is_a_closure(text):
    before = parse(text)
    after = lambda_lift(before)
    shown = after["main"].script()
    assert "G.make_closure(scaled, (k" in shown and "G.invoke_pure_closure(" in shown
    assert_kept(before, after)


def test_without_local_functions_nothing_changes():
    module = parse(NESTED)
    lifted = lambda_lift(module)
    assert lambda_lift(lifted) is lifted


@pytest.mark.parametrize("call", ["go(d, j)", "pair[0](d, j)"])
def test_a_local_function_that_calls_itself_calls_that_of_the_module(call):
    """As it may in TVM's text: it was a parameter of itself, which nothing defined where it was called."""
    before = parse(f"""
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")):
        n = T.int64()

        @R.function
        def go(a: R.Tensor((n,), "float32"), i: R.Tensor((), "int32")) -> R.Tensor((n,), "float32"):
            c = R.less(i, R.const(3, "int32"))
            if c:
                pair = {"(go, w)" if "pair" in call else "(a, w)"}
                d = R.add(a, w)
                j = R.add(i, R.const(1, "int32"))
                r: R.Tensor((n,), "float32") = {call}
            else:
                r = a
            return r

        y = go(x, R.const(0, "int32"))
        return y
""")
    after = lambda_lift(before)
    assert not any(isinstance(node, GraphFunc) for func in after.functions for stmt in func.body for node in walk(stmt))
    again = parse(after.script())
    assert again.script() == after.script()
    x, w = np.arange(4, dtype="float32"), np.ones(4, "float32")
    for one in (before, after, again):
        assert (tirscript.interpret(one, x, w) == x + 3).all()


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_results_of_local_functions_are_as_long_as_scalars_around_them(kind: str) -> None:
    module = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1, 2), "float32"), q: G.Prim("{kind}")):
        @G.graph_func
        def part(p: G.Tensor((1, 2), "float32")):
            y = G.add(p, G.full((q, 2), G.const(1.0, "float32"), "float32"))
            return y

        z = part(x)
        return z
""")
    text = module.script()
    assert "ndim=2" not in text and parse(text).script() == text
    x = np.array([[1, 2]], "float32")
    np.testing.assert_array_equal(tirscript.interpret(lambda_lift(module), x, 3), [[2, 3]] * 3)
    np.testing.assert_array_equal(tirscript.build(module)(x, 3), [[2, 3]] * 3)
