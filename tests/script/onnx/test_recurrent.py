"""Recurrent layers as loops over their steps, built: sizes that only the call knows, and what onnxruntime does not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError, GraphFunc, Module, PrimFunc
from tirscript.passes import get_pass
from tirscript.passes.constants import pack_constants
from tirscript.passes.graph import bind_params

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
HIDDEN, GIVEN = 20, 6


def arrays(kind: str, directions: int = 1, seed: int = 0) -> dict[str, Any]:
    random, size = np.random.default_rng(seed), GATES[kind] * HIDDEN
    shapes = {"W": (size, GIVEN), "R": (size, HIDDEN), "B": (2 * size,)}
    return {name: random.uniform(-0.5, 0.5, (directions, *shape)).astype("float32") for name, shape in shapes.items()}


def layer(
    kind: str,
    shape: list[Any],
    inputs: tuple[str, ...] = (),
    directions: int = 1,
    dtype: Any = "float32",
    **attrs: Any,
) -> Any:
    """A model of one layer; its inputs are x and those named, which are `sequence_lens` and the states."""
    outputs = ["y", "h", "c"][: 3 if kind == "LSTM" else 2]
    states = ("h0", "c0") if kind == "LSTM" else ("h0",)
    names = ["x", "W", "R", "B", *(one if one in inputs else "" for one in ("lens", *states))]
    node = helper.make_node(kind, names, outputs, hidden_size=HIDDEN, **attrs)
    real = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    batch = shape[0] if attrs.get("layout") else shape[1]
    state = [batch, directions, HIDDEN] if attrs.get("layout") else [directions, batch, HIDDEN]
    known = {"x": (real, shape), "lens": (TensorProto.INT32, [batch]), "h0": (real, state), "c0": (real, state)}
    given = [helper.make_tensor_value_info(name, *known[name]) for name in ("x", *inputs)]
    kept = [numpy_helper.from_array(one.astype(dtype), name) for name, one in arrays(kind, directions).items()]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=name) for name in outputs], kept)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made


def expected(model: Any, *given: Any) -> list[Any]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, dict(zip((one.name for one in session.get_inputs()), given, strict=True)))
    return found


def check(found: Any, wanted: list[Any], rtol: float = 2e-5, atol: float = 2e-6) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_lengths_and_batches_that_only_the_call_knows(kind: str) -> None:
    model = layer(kind, ["steps", "batch", GIVEN], ("lens", "h0"), 2, direction="bidirectional")
    module = tirscript.from_onnx(model)
    built = tirscript.build(module)
    random = np.random.default_rng(1)
    for steps, batch in ((1, 1), (600, 2), (7, 33)):
        x = random.uniform(-1, 1, (steps, batch, GIVEN)).astype("float32")
        lens = random.integers(1, steps + 1, batch).astype("int32")
        state = random.uniform(-1, 1, (2, batch, HIDDEN)).astype("float32")
        wanted = expected(model, x, lens, state)
        check(built(x, lens, state), wanted)
        if steps < 10:
            check(tirscript.interpret(module, x, lens, state), wanted)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_the_batch_may_be_the_first_axis(kind: str) -> None:
    random = np.random.default_rng(2)
    names = ("h0", "c0") if kind == "LSTM" else ("h0",)
    x = random.uniform(-1, 1, (5, 3, GIVEN)).astype("float32")
    states = [random.uniform(-1, 1, (2, 3, HIDDEN)).astype("float32") for _ in names]
    whole, *ends = expected(layer(kind, [5, 3, GIVEN], names, 2, direction="bidirectional"), x, *states)
    model = layer(kind, [3, 5, GIVEN], names, 2, direction="bidirectional", layout=1)
    found = tirscript.build(tirscript.from_onnx(model))(*(one.transpose(1, 0, 2).copy() for one in (x, *states)))
    check(found, [whole.transpose(2, 0, 1, 3), *(one.transpose(1, 0, 2) for one in ends)])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize(("dtype", "bound"), [("float16", 2e-3), ("float64", 1e-6)])
def test_other_floats(kind: str, dtype: str, bound: float) -> None:
    x = np.random.default_rng(3).uniform(-1, 1, (4, 2, GIVEN)).astype("float32")
    wanted = [one.astype(dtype) for one in expected(layer(kind, [4, 2, GIVEN]), x)]
    module = tirscript.from_onnx(layer(kind, [4, 2, GIVEN], dtype=dtype))
    check(tirscript.build(module)(x.astype(dtype)), wanted, bound, bound)


def test_equal_layers_have_the_same_functions() -> None:
    """Those of other sizes or directions have their own."""
    model = layer("LSTM", ["steps", "batch", GIVEN])
    again = model.graph.node.add()
    again.CopyFrom(model.graph.node[0])
    again.output[:] = ["y2", "h2", "c2"]
    turned = model.graph.node.add()
    turned.CopyFrom(again)
    turned.output[:] = ["y3", "h3", "c3"]
    turned.attribute.append(helper.make_attribute("direction", "reverse"))
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in ("y2", "y3"))
    module = tirscript.from_onnx(model)
    names = [one.name for one in module.functions]
    assert names == [f"lstm{end}" for end in ("_product", "_step", "", "_1_product", "_1_step", "_1")] + ["main"]
    x = np.random.default_rng(4).uniform(-1, 1, (3, 2, GIVEN)).astype("float32")
    check(tirscript.build(module)(x), expected(model, x))


@pytest.mark.parametrize("batch", [4, "batch"])
def test_the_weights_of_the_steps_are_packed_once(batch: int | str) -> None:
    """Also where they are bound later: no step copies them."""
    model = layer("GRU", [5, batch, GIVEN])
    bound = bind_params(tirscript.from_onnx(model, keep_params=True), tirscript.onnx_params(model))
    for module in (tirscript.from_onnx(model), bound):
        lowered = pack_constants(get_pass("default_cpu", vector_bits=512, threads=1)(_tensors(module)))
        loop = lowered["gru"]
        assert isinstance(loop, PrimFunc)
        packed = [one.name for one in loop.params if getattr(one, "ndim", 0) == 3 and "packed" in one.name]
        assert packed == ["weights_packed", "weights1_packed"]
        assert not {"weights", "weights1"} & {one.name for one in loop.params}
        x = np.random.default_rng(5).uniform(-1, 1, (5, 4, GIVEN)).astype("float32")
        check(tirscript.build(module)(x), expected(model, x))


def _tensors(module: Any) -> Module:
    from tirscript.passes.lowering import GRAPH_LOWERING

    found = GRAPH_LOWERING(module)
    assert isinstance(found, Module) and not any(isinstance(one, GraphFunc) for one in found.functions)
    return found


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("W", (1, 4 * HIDDEN, GIVEN + 1), r"input 1 \(`W`\) is of the shape \(1, 80, 7\), not \(1, 80, 6\)"),
        ("R", (1, 3 * HIDDEN, HIDDEN), r"input 2 \(`R`\) is of the shape \(1, 60, 20\), not \(1, 80, 20\)"),
        ("B", (2, 8 * HIDDEN), r"input 3 \(`B`\) is of the shape \(2, 160\), not \(1, 160\)"),
        ("c0", (1, 3, HIDDEN + 1), r"input 6 \(`c0`\) is of the shape \(1, 3, 21\), not \(1, 3, 20\)"),
    ],
)
def test_what_does_not_fit_the_state_is_refused(name: str, shape: tuple[int, ...], message: str) -> None:
    """As what torch writes of layers with projections, whose states are of two sizes."""
    model = layer("LSTM", [5, 3, GIVEN], ("c0",))
    for one in (*model.graph.initializer, *model.graph.input):
        if one.name == name and hasattr(one, "dims"):
            one.CopyFrom(numpy_helper.from_array(np.zeros(shape, "float32"), name))
        elif one.name == name:
            one.CopyFrom(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    with pytest.raises(DiagnosticError, match=message):
        tirscript.from_onnx(model)


@pytest.mark.parametrize("kind", list(GATES))
@pytest.mark.parametrize("batch", [3, "b"])
def test_a_known_number_of_rows_reads_weights_in_panels(kind: str, batch: Any) -> None:
    """A batch of unknown size has the matrix, which is packed as its schedule has it."""
    hidden, random = 32, np.random.default_rng(5)
    rows = GATES[kind] * hidden
    kept = {"W": (1, rows, 4), "R": (1, rows, hidden), "B": (1, 2 * rows)}
    arrays = {name: random.uniform(-0.5, 0.5, shape).astype("float32") for name, shape in kept.items()}
    node = helper.make_node(kind, ["x", "W", "R", "B"], ["y"], hidden_size=hidden)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, batch, 4])]
    constants = [numpy_helper.from_array(one, name) for name, one in arrays.items()]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name="y")], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    module, x = tirscript.from_onnx(made), random.random((5, 3, 4), "float32")
    wanted = expected(made, x)
    check((tirscript.interpret(module, x),), wanted)
    check((tirscript.build(module)(x),), wanted)
    product = module[f"{kind.lower()}_product"]
    assert isinstance(product, PrimFunc) and len(product.param_buffers[1].shape) == (3 if batch == 3 else 2)


@pytest.mark.parametrize("name", ["W", "R", "B"])
def test_weights_of_another_type_are_refused(name: str) -> None:
    """They became a program that is not well formed."""
    model = layer("LSTM", [5, 3, GIVEN])
    for one in model.graph.initializer:
        if one.name == name:
            one.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(one).astype("float64"), name))
    with pytest.raises(DiagnosticError, match=rf"\(`{name}`\) is of float64, not of float32"):
        tirscript.from_onnx(model)
