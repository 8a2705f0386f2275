"""Gradients: each is that of its forward operator, and marks change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.graph_calls import drawn, expected
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript import build, interpret
from tirscript.ir import DiagnosticError, GraphFunc, structural_equal
from tirscript.ir.graph import GraphVar
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.script import parse

FORWARD = {
    "grad.take_backward": "take",
    "grad.max_pool2d_backward": "nn.max_pool2d",
    "grad.avg_pool2d_backward": "nn.avg_pool2d",
    "grad.nll_loss_backward": "nn.nll_loss",
}


@pytest.mark.parametrize("name", FORWARD)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_a_gradient_is_that_of_its_operator(name: str, seed: int) -> None:
    # all of them are linear in their data where they are differentiable: <g, f(x)> = <f'(g), x>
    call, values = drawn(name, seed)
    (found,) = expected(call, values)
    gradient, *args = (values[id(one)] for one in call.args)
    forward = GRAPH_OPS[FORWARD[name]]
    attrs = dict(call.attrs)
    if name == "grad.take_backward":
        attrs["mode"] = "fast"
    assert forward.reference is not None
    result = forward.reference(*args, **attrs)
    if not np.isfinite(result).all():
        return  # a window that lies in the padding
    left, right = (float((a.astype("float64") * b).sum()) for a, b in ((gradient, result), (found, args[0])))
    assert left == pytest.approx(right, rel=1e-4, abs=1e-4)


def test_the_first_of_equal_elements_gets_the_gradient() -> None:
    made = parse(
        '@G.graph_func\ndef f(g: G.Tensor((1, 1, 1, 2), "float32"), x: G.Tensor((1, 1, 2, 4), "float32")):\n'
        "    return G.grad.max_pool2d_backward(g, x, pool_size=[2, 2], strides=[2, 2])\n"
    )
    g, x = np.array([[[[2, 3]]]], "float32"), np.array([[[[5, 1, 0, 7], [5, 5, 7, 7]]]], "float32")
    for found in (interpret(made, g, x), build(made)(g, x)):
        assert found.tolist() == [[[[2, 0, 0, 3], [0, 0, 0, 0]]]]


TRAINING = """
@R.function
def main(p: R.Tensor(("n", 3), "float32"), t: R.Tensor(("n",), "int64")):
    with R.dataflow():
        fixed = R.grad.no_grad(p)
        start = R.grad.start_checkpoint(fixed)
        logs = R.nn.log_softmax(start)
        end = R.grad.end_checkpoint(logs)
        lifted = R.builtin.stop_lift_params(end)
        loss = R.nn.nll_loss(lifted, t)
        ones = R.ones(R.shape([]), dtype="float32")
        gradient = R.grad.nll_loss_backward(ones, lifted, t)
        row = R.take(gradient, t, axis=0, mode="fast")
        back = R.grad.take_backward(row, gradient, t, axis=0, mode="")
        R.output(loss, gradient, back)
    return (loss, gradient, back)
"""


def test_a_step_of_training_runs() -> None:
    made = parse(TRAINING)
    assert isinstance(made, GraphFunc)
    assert structural_equal(parse(made.script(dialect="tvm")), made)
    p, t = np.array([[1, 2, 3], [0, 0, 0], [1, 1, 1]], "float32"), np.array([2, 0, 2])
    logs = p - np.log(np.exp(p).sum(1, keepdims=True))
    for loss, gradient, back in (interpret(made, p, t), build(made)(p, t)):
        np.testing.assert_allclose(loss, -(logs[0, 2] + logs[1, 0] + logs[2, 2]) / 3, rtol=1e-6)
        wanted = np.array([[0, 0, -1], [-1, 0, 0], [0, 0, -1]], "float32") / 3
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6)
        np.testing.assert_allclose(back, [wanted[0], [0, 0, 0], 2 * wanted[2]], rtol=1e-6)


def test_marks_keep_the_type_of_any_value() -> None:
    made = parse(
        "@G.graph_func\ndef f(x: G.Tensor((4,)), n: G.Prim('int64')):\n"
        "    a = G.grad.no_grad((x, x))\n    b = G.grad.no_grad(n)\n    return (a, b)\n"
    )
    assert isinstance(made, GraphFunc)
    types = [bind.var.type for bind in made.body if isinstance(getattr(bind, "var", None), GraphVar)]  # type: ignore[attr-defined]
    assert [type(one).__name__ for one in types] == ["TupleType", "PrimType"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("G.grad.take_backward(x, x, i, axis=0)", r"`output_grad` is \(4, 4\), and the result is \(2, 3, 4\)"),
        ("G.grad.avg_pool2d_backward(x, y, pool_size=[2, 2])", r"is \(4, 4\), and the result is \(1, 1, 4, 4\)"),
        (
            "G.grad.max_pool2d_backward(y, y, pool_size=[2, 2])",
            "dimension 2 of `output_grad` is not that of the result",
        ),
        ("G.grad.take_backward(x, x, x, axis=0)", "`indices` is a tensor of integers"),
        ("G.grad.max_pool2d_backward(x, x)", "`data` must have 4 dimensions, not 2"),
    ],
)
def test_gradients_that_do_not_fit(call: str, message: str) -> None:
    signature = 'x: G.Tensor((4, 4), "float32"), i: G.Tensor((2, 3), "int64"), y: G.Tensor((1, 1, 5, 5), "float32")'
    with pytest.raises(DiagnosticError, match=message):
        parse(f"@G.graph_func\ndef f({signature}):\n    return {call}\n")
