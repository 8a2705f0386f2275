"""The order of the steps that values of a graph need: what stands inside of a value is done from left to right."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import structural_equal
from tirscript.ir.graph import OpCall
from tirscript.ir.rewrite import walk
from tirscript.script import parse


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("y = G.add(G.exp(x), G.multiply(G.sin(x), x))", ["exp", "sin", "multiply", "add"]),
        ("y = G.exp(x) + G.sin(x) * G.cos(x) - G.tan(x)", "exp sin cos multiply add tan subtract".split()),
        ("y = G.exp(x) < G.sin(G.cos(x))", ["exp", "cos", "sin", "less"]),
        ("y = G.concat((G.exp(x), G.sin(G.cos(x))), axis=0)", ["exp", "cos", "sin", "concat"]),
        ('y = G.call_dps_packed("k", (G.exp(x), G.sin(G.cos(x))), out=x.ty)', ["exp", "cos", "sin", "call_dps_packed"]),
        ("y = G.add(x1=G.exp(x), x2=G.sin(G.cos(x)))", ["exp", "cos", "sin", "add"]),
        ("y = G.concat((G.exp(x), *[G.sin(G.cos(x))]), axis=0)", ["exp", "cos", "sin", "concat"]),
        ("y = G.add(G.exp(x), **{'x2': G.sin(G.cos(x))})", ["exp", "cos", "sin", "add"]),
        ("d = {'a': G.exp(x), 'b': G.sin(G.cos(x))}; y = G.add(d['a'], d['b'])", ["exp", "cos", "sin", "add"]),
        ("d = {'a': G.exp(x)}; y = G.add(d['a'], d['a'])", ["exp", "add"]),
        ("a, y = G.exp(x), G.sin(G.cos(x))", ["exp", "cos", "sin"]),
        ("y = (G.exp(x), G.sin(x))[1]", ["exp", "sin"]),
        ("y = G.split(G.exp(x), 2)[0] * G.split(G.sin(x), 2)[1]", ["exp", "split", "sin", "split", "multiply"]),
    ],
)
def test_what_stands_inside_of_values_is_done_from_left_to_right(line: str, order: list[str]) -> None:
    for place in ("    {}\n    return y\n", "    with G.dataflow():\n        {}\n        G.output(y)\n    return y\n"):
        body = place.format(line.replace("x.ty", 'G.Tensor((4,), "float32")'))
        made = parse(f'@G.graph_func\ndef main(x: G.Tensor((4,), "float32")):\n{body}')
        called = [node.op.name for stmt in made.body for node in walk(stmt) if type(node) is OpCall]
        assert called == order and structural_equal(parse(made.script()), made)


def test_effects_inside_of_values_come_from_left_to_right() -> None:
    said: list[str] = []
    names = ("first", "second", "third")
    for name in names:
        tirscript.register_library(name, lambda x, name=name: (said.append(name), x)[1])
    try:
        calls = [f'G.call_packed("{name}", x, ty_args=G.Tensor((4,), "float32"))' for name in names]
        made = parse(
            '@G.graph_func(pure=False)\ndef main(x: G.Tensor((4,), "float32")):\n'
            f"    return {calls[0]} + ({calls[1]} - {calls[2]})\n"
        )
        tirscript.interpret(made, np.ones(4, "float32"))
    finally:
        for name in names:
            unregister_library(name)
    assert tuple(said) == names
