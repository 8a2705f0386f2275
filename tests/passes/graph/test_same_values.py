"""Values with two names, and values that are computed twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, differences
from tirscript.ir.graph import GraphFunc, MatchCast, OpCall
from tirscript.ir.rewrite import walk
from tirscript.ir.verify import verify
from tirscript.passes import Sequential
from tirscript.passes.graph import canonicalize_bindings, common_graph_subexpression
from tirscript.script import parse

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def module(body: str, output: str) -> Module:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func(private=True)
    def double(x: G.Tensor(("n", 4), "float32")):
        return G.add(x, x)

    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32"), flag: G.Tensor((), "bool")):
        cls = M
        n = T.int64()
        m = T.int64()
{lines}        return {output}
""")
    assert isinstance(found, Module)
    return found


def after(entry: Any, body: str, output: str) -> list[str]:
    """What `main` still binds in other words than tuples, after a pass that keeps the result."""
    given = module(body, output)
    made = entry(given)
    assert [str(found) for found in verify(made)] == []
    assert [str(found) for found in differences(made, parse(made.script()))] == []
    for flag in (True, False):
        one, other = (tirscript.interpret(program, X, np.array(flag)) for program in (given, made))
        np.testing.assert_equal(one, other)
    assert entry(made) is made
    main = made["main"]
    assert isinstance(main, GraphFunc)
    calls = [node for node in walk(main) if type(node) in (OpCall, MatchCast)]
    return [getattr(getattr(node, "op", None), "name", "match_cast") for node in calls]


DATAFLOW = "with G.dataflow():\n    {}\n    G.output({})"


def dataflow(lines: str, outputs: str) -> str:
    return DATAFLOW.format(lines.replace("; ", "\n    "), outputs)


@pytest.mark.parametrize(
    ("body", "output", "left"),
    [
        (dataflow("a = G.exp(x); b = a; c = G.sin(b)", "c"), "c", ["exp", "sin"]),
        (dataflow("a = G.exp(x); t = (a, x); b = t[0]; c = G.sin(b)", "c"), "c", ["exp", "sin"]),
        (dataflow("a = G.exp(x); t = ((x, a), (a,)); u = t[0]; b = u[1]; c = G.sin(b)", "c"), "c", ["exp", "sin"]),
        # the output is what its alias stands for
        (dataflow("a = G.exp(x); b = a", "b"), "b", ["exp"]),
        (dataflow("a = x", "a"), "a", []),
        # behind the dataflow `a` is not known, so the tuple is asked for it
        (dataflow("a = G.exp(x); t = (a, x)", "t") + "\nb = t[0]\nc = G.sin(b)", "c", ["exp", "sin"]),
        ('a = G.match_cast(x, G.Tensor((n, 4), "float32"))\nb = G.exp(a)', "b", ["exp"]),
        # these can fail, or say what was not known
        ('a = G.match_cast(x, G.Tensor((2, 4), "float32"))\nb = G.exp(a)', "b", ["match_cast", "exp"]),
        ('a = G.match_cast(x, G.Tensor((m, 4), "float32"))\nb = G.exp(a)', "b", ["match_cast", "exp"]),
        ("if flag:\n    a = x\n    b = G.exp(a)\nelse:\n    c = x\n    b = c", "b", ["exp"]),
    ],
)
def test_names_of_a_value(body: str, output: str, left: list[str]) -> None:
    assert after(canonicalize_bindings, body, output) == left


@pytest.mark.parametrize(
    ("body", "output", "left"),
    [
        (dataflow("a = G.exp(x); b = G.exp(x); c = G.add(a, b)", "c"), "c", ["exp", "add"]),
        (dataflow("a = G.exp(x); b = G.exp(x); c = G.sin(a); d = G.sin(b)", "c, d"), "(c, d)", ["exp", "sin"]),
        (dataflow("a = G.exp(x); b = G.sin(x); c = G.add(a, b)", "c"), "c", ["exp", "sin", "add"]),
        (dataflow("a = G.sum(x, axis=0); b = G.sum(x, axis=1)", "a, b"), "(a, b)", ["sum", "sum"]),
        # only what a dataflow gives is known behind it
        (dataflow("a = G.exp(x)", "a") + "\nb = G.exp(x)", "(a, b)", ["exp"]),
        (dataflow("a = G.exp(x); c = G.sin(a)", "c") + "\nb = G.exp(x)", "(c, b)", ["exp", "sin", "exp"]),
        # a branch knows what stood before it, and nothing of the other one
        ("a = G.exp(x)\nif flag:\n    b = G.exp(x)\nelse:\n    b = G.sin(x)", "(a, b)", ["exp", "sin"]),
        ("if flag:\n    b = G.exp(x)\nelse:\n    c = G.exp(x)\n    b = G.sin(c)", "b", ["exp", "exp", "sin"]),
        ("if flag:\n    b = G.exp(x)\nelse:\n    b = x\nc = G.exp(x)", "(b, c)", ["exp", "exp"]),
    ],
)
def test_values_that_are_computed_twice(body: str, output: str, left: list[str]) -> None:
    assert after(common_graph_subexpression, body, output) == left


def test_calls_of_pure_functions_are_one() -> None:
    made = common_graph_subexpression(module("a = cls.double(x)\nb = cls.double(x)\nc = G.add(a, b)", "c"))
    assert made["main"].script().count("double(x)") == 1


def test_a_value_that_is_written_in_place_is_one_of_its_own() -> None:
    before = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def double(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + A[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        with G.dataflow():
            a = G.add(x, x)
            b = G.add(x, x)
            c = G.call_tir_inplace(M.double, (b,), inplace_indices=[0], out=G.Tensor((4,), "float32"))
            d = G.add(x, x)
            y = G.add(G.add(a, c), d)
            G.output(y)
        return y
""")
    after = common_graph_subexpression(before)
    # `a` and `d` are one value, `b` is another
    assert after["main"].script().count("= G.add(x, x)") == 2
    x = np.arange(4, dtype=np.float32)
    for run in (lambda: tirscript.interpret(after, x), lambda: tirscript.build(before)(x)):
        np.testing.assert_array_equal(run(), 8 * x)


WRITTEN = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def double(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + A[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        {0}
        c = G.call_tir_inplace(M.double, ({1},), inplace_indices=[0], out=G.Tensor((4,), "float32"))
        {2}
        return {3}
"""


@pytest.mark.parametrize(
    "before, written, behind, result",
    [
        # made of what is written, before and behind it
        ("h = G.add(x, x); a = G.negative(h)", "h", "b = G.negative(h)", "G.add(G.subtract(a, b), c)"),
        ("h = G.add(x, x); t = (h, x); u = t[0]; a = G.negative(h)", "u", "b = G.negative(h)", "(a, b)"),
        # nothing uses the result, but what was written
        ("h = G.add(x, x)", "h", "b = G.negative(h)", "b"),
        # a constant cannot be written
        ("h = G.add(G.const([1.0, 2.0, 3.0, 4.0]), G.const([1.0, 1.0, 1.0, 1.0]))", "h", "b = G.add(c, x)", "b"),
    ],
)
@pytest.mark.parametrize(
    "name", ["common_graph_subexpression", "dead_code_elimination", "fold_graph_constant", "build"]
)
def test_what_is_written_in_place_is_another_value_behind_it(
    before: str, written: str, behind: str, result: str, name: str
) -> None:
    module = parse(WRITTEN.format(before.replace("; ", "\n        "), written, behind, result))
    x = np.arange(4, dtype=np.float32)
    wanted = tirscript.interpret(module, x)
    found = tirscript.build(module)(x) if name == "build" else tirscript.interpret(Sequential([name])(module), x)
    np.testing.assert_array_equal(found, wanted)
