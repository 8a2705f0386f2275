"""Values inside of values of a graph, in their order; tuples and lists of them, which Python's operators join."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError, structural_equal
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
        ("a, y = G.exp(x), G.sin(G.cos(x))", ["exp", "cos", "sin"]),
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


@pytest.mark.parametrize("start", ["[]", "()", "[x]", "(x,)"])
@pytest.mark.parametrize("step", ["outs = [*outs, y]", "outs = (*outs, y)", "outs += LIST", "outs = outs + LIST"])
def test_what_a_loop_that_is_written_out_gathers(start: str, step: str) -> None:
    """Lists and tuples of values become longer as Python's do, also those that the graph has as tuples already."""
    step = step.replace("LIST", "[y]" if start[0] == "[" else "(y,)")
    text = f"""
@G.graph_func
def main(x: G.Tensor((2,), "float32")):
    y = x
    outs = {start}
    for at in range(3):
        y = y * 2.0
        {step}
    return G.stack(outs, axis=0)
"""
    x = np.array([1, 3], "float32")
    wanted = np.stack([x * 2**at for at in range(0 if "x" in start else 1, 4)])
    program = parse(text)
    assert structural_equal(program, parse(program.script()))
    np.testing.assert_array_equal(tirscript.interpret(program, x), wanted)


def test_a_loop_over_a_tuple_of_the_graph() -> None:
    program = parse(
        """
@G.graph_func
def main(x: G.Tensor((2, 4), "float32")):
    ends = ()
    for part in G.split(x, 2, axis=1):
        ends += (part * 2.0,)
    return G.concat(ends + (x,), axis=1)
"""
    )
    x = np.arange(8, dtype="float32").reshape(2, 4)
    np.testing.assert_array_equal(tirscript.interpret(program, x), np.concatenate([x * 2, x], axis=1))
    with pytest.raises(DiagnosticError, match="this is a tensor"):
        parse('@G.graph_func\ndef main(x: G.Tensor((2,), "float32")):\n    return x + (x,)\n')
