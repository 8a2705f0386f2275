"""Random numbers, by what they are like: the seeds of onnxruntime make others."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tirscript
from tirscript.ir import DiagnosticError, Module

F = TensorProto.FLOAT


def model_of(nodes: list[Any], inputs: dict[str, Any], outputs: list[str]) -> Any:
    given = [helper.make_tensor_value_info(name, F, shape) for name, shape in inputs.items()]
    graph = helper.make_graph(nodes, "g", given, [onnx.ValueInfoProto(name=name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def of(op: str, inputs: tuple[str, ...] = (), name: str = "y", **attrs: Any) -> Any:
    return helper.make_node(op, inputs, [name], name="tried", **attrs)


def drawn(*nodes: Any) -> tuple[Any, ...]:
    """What nodes give for an input `x` of 40 000 elements, of a size that is not known."""
    model = model_of([*nodes], {"x": ["n", 100]}, [one.output[0] for one in nodes])
    found = tirscript.build(tirscript.from_onnx(model))(np.zeros((400, 100), "float32"))
    return found if isinstance(found, tuple) else (found,)


def test_uniform_numbers() -> None:
    (found,) = drawn(of("RandomUniformLike", ("x",), low=-1.0, high=3.0))
    assert found.shape == (400, 100) and found.dtype == np.float32
    assert found.min() >= -1 and found.max() < 3 and len(np.unique(found)) > 39000
    counts = np.histogram(found, 16, (-1, 3))[0]
    assert abs(counts - 2500).max() < 250


def test_normal_numbers() -> None:
    found, other = drawn(
        of("RandomNormalLike", ("x",), mean=2.0, scale=0.5),
        of("RandomNormalLike", ("x",), "other", dtype=TensorProto.DOUBLE),
    )
    assert other.dtype == np.float64
    for one, mean, scale in ((found, 2.0, 0.5), (other, 0.0, 1.0)):
        z = (one.astype("float64") - mean) / scale
        assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02
        assert abs((z**3).mean()) < 0.05 and abs((z**4).mean() - 3) < 0.15
        assert all(abs(np.corrcoef(z.ravel()[:-lag], z.ravel()[lag:])[0, 1]) < 0.02 for lag in (1, 2, 100))
    assert abs(np.corrcoef(found.ravel(), other.ravel())[0, 1]) < 0.02


def test_a_seed_decides_them_and_else_the_name() -> None:
    one, two, three = drawn(
        of("RandomUniformLike", ("x",), "a", seed=1.0),
        of("RandomUniformLike", ("x",), "b", seed=2.0),
        of("RandomUniformLike", ("x",), "c"),
    )
    assert abs(np.corrcoef([one.ravel(), two.ravel(), three.ravel()]) - np.eye(3)).max() < 0.02
    (again,) = drawn(of("RandomUniformLike", ("x",), "renamed", seed=1.0))
    np.testing.assert_array_equal(one, again)


def test_shapes_that_are_attributes_and_other_dtypes() -> None:
    nodes = [
        of("RandomNormal", shape=[2, 3], seed=3.0),
        of("RandomUniform", name="half", shape=[4], dtype=TensorProto.FLOAT16),
        of("RandomUniform", name="one", shape=[1]),
    ]
    module = tirscript.from_onnx(model_of(nodes, {}, ["y", "half", "one"]))
    built, said = tirscript.build(module)(), tirscript.interpret(module)
    assert [(x.shape, str(x.dtype)) for x in built] == [((2, 3), "float32"), ((4,), "float16"), ((1,), "float32")]
    for one, other in zip(built, said, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_samples_of_classes() -> None:
    chances = np.array([[0.5, 0.25, 0.25, 0.0], [0.05, 0.0, 0.05, 0.9]])
    node = of("Multinomial", ("x",), sample_size=4000, dtype=TensorProto.INT64)
    with np.errstate(divide="ignore"):
        x = np.log(chances).astype("float32")
    found = tirscript.build(tirscript.from_onnx(model_of([node], {"x": ["n", 4]}, ["y"])))(x)
    assert found.shape == (2, 4000) and found.dtype == np.int64
    shares = np.stack([np.bincount(row, minlength=4) / 4000 for row in found])
    assert abs(shares - chances).max() < 0.04
    assert (shares[chances == 0] == 0).all()


def test_ones_as_often_as_is_asked_for() -> None:
    model = model_of([of("Bernoulli", ("x",), dtype=TensorProto.INT64)], {"x": ["n", 100]}, ["y"])
    found = tirscript.build(tirscript.from_onnx(model))(np.full((400, 100), 0.25, "float32"))
    assert found.dtype == np.int64 and set(np.unique(found)) == {0, 1}
    assert abs(found.mean() - 0.25) < 0.02


def rounds_of(count: Any) -> Module:
    """A model that adds a random number to `x` in each round, so many times."""
    vector = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("RandomUniformLike", ["c"], ["r"], seed=5.0),
            helper.make_node("Mul", ["r", "ten"], ["scaled"]),
            helper.make_node("Floor", ["scaled"], ["digit"]),
            helper.make_node("Mul", ["c", "ten"], ["tenfold"]),
            helper.make_node("Add", ["tenfold", "digit"], ["next"]),
            helper.make_node("Identity", ["going"], ["still"]),
        ],
        "body",
        [vector("i", 7, []), vector("going", 9, []), vector("c", F, [8])],
        [vector("still", 9, []), vector("next", F, [8])],
    )
    inputs = [vector("x", F, [8]), vector("count", 7, [])]
    kept = [helper.make_tensor("ten", F, [], [10.0])]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)], "g", inputs, [vector("y", F, [8])], kept
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return tirscript.from_onnx(model, values={} if count is None else {"count": np.array(count)})


@pytest.mark.parametrize("known", [True, False], ids=["written out", "running"])
def test_each_round_of_a_loop_has_its_own(known: bool) -> None:
    """A digit for each: those of one element are not all the same."""
    f, x = tirscript.build(rounds_of(5 if known else None)), np.zeros(8, "float32")
    found = f(x) if known else f(x, np.array(5))
    assert all(len(set(f"{int(one):05}")) > 1 for one in found) and len(set(found.tolist())) == 8


def test_integers_are_not_drawn() -> None:
    with pytest.raises(DiagnosticError, match="random numbers of the type int32 are not supported"):
        tirscript.from_onnx(model_of([of("RandomNormal", shape=[2], dtype=TensorProto.INT32)], {}, ["y"]))


def test_shapes_have_no_numbers_below_zero() -> None:
    with pytest.raises(DiagnosticError, match="its shape has a number below 0"):
        tirscript.from_onnx(model_of([of("RandomNormal", shape=[2, -1])], {}, ["y"]))
