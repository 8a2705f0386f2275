"""Tuples and lists of values of a graph, which Python's operators join and its loops go over."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse


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


@pytest.mark.parametrize(
    ("kind", "number", "words"),
    [
        ("bool", "4", "4 does not fit bool"),
        ("int8", "-129", "-129 does not fit int8"),
        ("int32", "0.5", "0.5 is not an int32"),
        ("float16", "1e6", "does not fit float16"),
        ("float32x4", "1.0", "float32x4 has no scalar constants"),
        ("handle", "0", "handle has no scalar constants"),
    ],
)
def test_a_number_that_its_annotation_does_not_hold(kind: str, number: str, words: str) -> None:
    with pytest.raises(DiagnosticError, match=words) as caught:
        parse(
            f'@G.graph_func\ndef main(x: G.Tensor((2,), "float32")):\n    y: G.Prim("{kind}") = {number}\n    return x\n'
        )
    (found,) = caught.value.diagnostics
    assert found.code == "T103" and found.span is not None and found.span.text == number
