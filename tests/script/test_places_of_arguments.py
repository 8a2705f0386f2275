"""The caret stands under the argument that a message is about, given by place or by name."""

from __future__ import annotations

import pytest

import tirscript
from tirscript import DiagnosticError

GRAPH = """
@G.graph_func
def f(x: G.Tensor((1, 4, 8, 8), "float32"), w: G.Tensor((2, 4, 3, 3), "float32")):
    return {call}
"""
TENSOR = """
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    A[0:4] = {call}
"""


@pytest.mark.parametrize(
    ("text", "call", "place", "hint"),
    [
        (GRAPH, 'G.nn.conv2d(x, w, strides="a")', '"a"', ""),
        (GRAPH, "G.sum(x, axis=7)", "7", "from -4 to 3"),
        (GRAPH, "G.sum(x, 7)", "7", "from -4 to 3"),
        (GRAPH, "G.sum(x, axis=1, keepdims=3)", "3", ""),
        (GRAPH, 'x.astype("flot32")', '"flot32"', "did you mean `float32`?"),
        (GRAPH, 'G.astype(x, dtype="flot32")', '"flot32"', "did you mean `float32`?"),
        (GRAPH, "G.permute_dims(x, axes=(0, 0, 1, 2))", "(0, 0, 1, 2)", ""),
        (GRAPH, "G.take(x, x, axis=1)", "x", "astype"),
        (GRAPH, "G.sum(*[x, 7])", "G.sum(*[x, 7])", ""),
        (GRAPH, "G.reshape(x, shape=(3,))", "G.reshape(x, shape=(3,))", ""),
        (TENSOR, 'T.ramp(0, 1, lanes="a")', '"a"', ""),
        (TENSOR, "T.ramp(0, stride=1.5, lanes=4)", "1.5", ""),
        (TENSOR, "T.ramp(0, 1.5, 4)", "1.5", ""),
        (TENSOR, "T.broadcast(1.0, lanes=0)", "0", ""),
    ],
)
def test_the_caret_stands_under_the_argument(text: str, call: str, place: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text.format(call=call))
    (one,) = caught.value.diagnostics
    assert one.span is not None and one.span.text == place
    assert hint in str(one.hint)
