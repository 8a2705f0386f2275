"""Whole models: names, shapes that are computed, bad files, and the published architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.ir.graph import GraphFunc
from tirscript.passes.graph import bind_params, quantized_products
from tirscript.passes.graph import dead_code_elimination as dead
from tirscript.script import parse
from tirscript.testing import models


def model(
    nodes: list[Any],
    inputs: dict[str, tuple[int, list[Any] | None]],
    outputs: list[str],
    constants: dict[str, Any],
    opset: int = 17,
) -> Any:
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    kept = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", given, [onnx.ValueInfoProto(name=name) for name in outputs], kept)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 9
    return made


def compare(given: Any, **feeds: Any) -> Module:
    module = tirscript.from_onnx(given)
    wanted = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = tirscript.interpret(module, *feeds.values())
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return module


F = TensorProto.FLOAT


def test_a_quantization_that_undoes_a_dequantization_goes() -> None:
    """Through what only moves bytes, or chooses among them."""
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["m"], kernel_shape=[2, 2]),
        helper.make_node("Reshape", ["m", "shape"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "scale", "zero"], ["y"]),
    ]
    constants = {"scale": np.float32(0.3), "zero": np.uint8(7), "shape": np.array([3, 25])}
    given = model(nodes, {"x": (TensorProto.UINT8, [1, 3, 6, 6])}, ["y"], constants)
    module = compare(given, x=np.random.default_rng(1).integers(0, 256, (1, 3, 6, 6)).astype("uint8"))
    made = dead(quantized_products(module))
    assert isinstance(made, Module) and "quantize(" not in made["main"].script()


def test_names_are_those_of_the_model() -> None:
    nodes = [
        helper.make_node("MatMul", ["in put", "dense/weight"], ["dense/out:0"]),
        helper.make_node("Relu", ["dense/out:0"], ["1st"]),
    ]
    weight = np.arange(6, dtype="float32").reshape(3, 2)
    module = compare(
        model(nodes, {"in put": (F, ["N", 3])}, ["1st"], {"dense/weight": weight}),
        **{"in put": np.ones((4, 3), "float32")},
    )
    text = module.script()
    for name in ('in_put: G.Tensor(("N", 3), "float32")', "dense_weight: ", "dense_out_0: ", "v1st: "):
        assert name in text
    assert isinstance(parse(text), Module)


def test_what_is_computed_of_shapes_is_known() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["rows"]),
        helper.make_node("Mul", ["rows", "two"], ["double"]),
        helper.make_node("Div", ["double", "two"], ["same"]),
        helper.make_node("Sub", ["same", "one"], ["less"]),
        helper.make_node("Add", ["less", "one"], ["again"]),
        helper.make_node("Cast", ["again"], ["narrow"], to=TensorProto.INT32),
        helper.make_node("Cast", ["narrow"], ["wide"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["wide", "axis"], ["u"]),
        helper.make_node("Slice", ["s", "axis", "end"], ["first"]),
        helper.make_node("Concat", ["first", "minus", "u"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
        helper.make_node("ConstantOfShape", ["s"], ["zeros"]),
        helper.make_node("ReduceProd", ["s"], ["count"], keepdims=0),
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Range", ["zero", "rows", "one"], ["r"]),
        helper.make_node("Squeeze", ["u"], ["back"]),
    ]
    constants = {
        "one": np.array(1), "two": np.array(2), "zero": np.array(0), "axis": np.array([0]), "end": np.array([1]), "minus": np.array([-1]),
    }  # fmt: skip
    given = model(nodes, {"x": (F, ["b", "n", 4])}, ["y", "zeros", "s", "count", "size", "r", "back"], constants)
    text = compare(given, x=np.ones((2, 3, 4), "float32")).script()
    assert 'y: G.Tensor((b, 4, n), "float32") = G.reshape(x, (b, 4, n))' in text


def test_sizes_that_are_compared_and_chosen_are_known() -> None:
    """What torch writes for `x.expand(4, x.size(0), -1)`: sizes of -1 are replaced by ones before it expands."""
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Concat", ["four", "sizes"], ["wide"], axis=0),
        helper.make_node("Reshape", ["wide", "flat"], ["wanted"]),
        helper.make_node("Shape", ["wanted"], ["count"]),
        helper.make_node("ConstantOfShape", ["count"], ["ones"], value=numpy_helper.from_array(np.array([1]))),
        helper.make_node("Mul", ["ones", "minus"], ["negative"]),
        helper.make_node("Equal", ["wanted", "negative"], ["left"]),
        helper.make_node("Where", ["left", "ones", "wanted"], ["chosen"]),
        helper.make_node("Expand", ["x", "chosen"], ["y"]),
    ]
    constants = {"four": np.array([4]), "flat": np.array([-1]), "minus": np.array(-1)}
    module = tirscript.from_onnx(model(nodes, {"x": (F, ["n", 3])}, ["y"], constants))
    assert 'y: G.Tensor((4, n, 3), "float32") = G.broadcast_to(x, (4, n, 3))' in str(module)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(tirscript.interpret(module, x), np.broadcast_to(x, (4, 2, 3)))


def test_a_size_of_minus_one_is_what_is_left_of_products() -> None:
    """Heads that were put together with the batch come apart again."""
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "zero"], ["b"], axis=0),
        helper.make_node("Mul", ["b", "four"], ["rows"]),
        helper.make_node("Concat", ["rows", "minus", "thirty"], ["flat"], axis=0),
        helper.make_node("Concat", ["b", "four", "minus", "thirty"], ["apart"], axis=0),
        helper.make_node("Reshape", ["x", "flat"], ["h"]),
        helper.make_node("Reshape", ["h", "apart"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "four": np.array([4]), "minus": np.array([-1]), "thirty": np.array([30])}
    module = tirscript.from_onnx(model(nodes, {"x": (F, ["b", 4, 30])}, ["y"], constants))
    assert "G.reshape(x, (b * 4, 1, 30))" in str(module) and "G.reshape(h, (b, 4, 1, 30))" in str(module)


@pytest.mark.parametrize("op", ["Relu", "Add", "Sum"])
def test_a_node_without_inputs_is_refused(op: str) -> None:
    with pytest.raises(DiagnosticError, match=f"`y` \\({op}\\): it has no input"):
        tirscript.from_onnx(model([helper.make_node(op, [], ["y"])], {"x": (F, [2])}, ["y"], {}))


def test_sizes_are_no_conditions() -> None:
    """One that only the call knows counted as false."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Where", ["s", "a", "b"], ["y"])]
    given = model(nodes, {"x": (F, ["n", 3])}, ["y"], {"a": np.array([1, 2]), "b": np.array([3, 4])})
    with pytest.raises(DiagnosticError, match=r"(?s)a tensor of bools, not of int64.*astype\(\"bool\"\)"):
        tirscript.from_onnx(given)


def test_how_many_are_wanted_may_be_computed_of_a_shape() -> None:
    """As torch sorts: the greatest of all that there are."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["k"]),
        helper.make_node("TopK", ["x", "k"], ["y", "at"]),
    ]
    given = model(nodes, {"x": (F, ["b", 4])}, ["y", "at"], {"one": np.array([1])})
    compare(given, x=np.float32([[1, 3, 2, 0], [5, 6, 4, 7]]))
    compare(
        model(nodes, {"x": (F, [2, "n"])}, ["y", "at"], {"one": np.array([1])}),
        x=np.float32([[1, 3, 2, 0], [5, 6, 4, 7]]),
    )


def test_constants_of_all_forms() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value=numpy_helper.from_array(np.array([1.5, 2.5], "float32"))),
        helper.make_node("Constant", [], ["b"], value_float=2.0),
        helper.make_node("Constant", [], ["c"], value_floats=[1.0, 3.0]),
        helper.make_node("Constant", [], ["d"], value_ints=[1, 2]),
        helper.make_node("Add", ["a", "b"], ["ab"]),
        helper.make_node("Mul", ["ab", "c"], ["abc"]),
        helper.make_node("Add", ["abc", "x"], ["y"]),
        helper.make_node("Reshape", ["y", "d"], ["z"]),
    ]
    compare(model(nodes, {"x": (F, [2])}, ["z"], {}), x=np.ones(2, "float32"))


def test_dimensions_that_are_not_known_to_agree_are_checked() -> None:
    nodes = [helper.make_node("Add", ["x", "y"], ["z"])]
    given = model(nodes, {"x": (F, ["n"]), "y": (F, ["m"])}, ["z"], {})
    module = compare(given, x=np.ones(3, "float32"), y=np.ones(3, "float32"))
    assert "G.match_cast" in module.script()
    with pytest.raises((AssertionError, DiagnosticError)):
        tirscript.build(module)(np.ones(3, "float32"), np.ones(2, "float32"))


@pytest.mark.parametrize(
    ("nodes", "shapes", "feeds", "constants"),
    [
        ([("MatMul", ["x", "z"], {})], (["a", 4, "k"], ["b", "k", 5]), ((2, 4, 3), (2, 3, 5)), {}),
        ([("MatMul", ["x", "z"], {})], (["a", 4, "k"], [2, "m", 5]), ((2, 4, 3), (2, 3, 5)), {}),
        ([("Shape", ["z"], {}), ("Expand", ["x", "h0"], {})], ([3, 1], ["a", "b", "c"]), ((3, 1), (2, 3, 4)), {}),
        ([("Shape", ["z"], {}), ("Expand", ["x", "h0"], {})], (["n", 1], ["a", "b", "c"]), ((3, 1), (2, 3, 4)), {}),
        ([("Shape", ["z"], {}), ("Expand", ["x", "h0"], {})], (["n", 1, 2], ["a", 1]), ((3, 1, 2), (2, 1)), {}),
        ([("Shape", ["z"], {}), ("Tile", ["x", "h0"], {})], ([2, 3], ["a", "b"]), ((2, 3), (2, 4)), {}),
        ([("PRelu", ["x", "s"], {})], (["a", "c", "b"], ["z"]), ((2, 3, 4), (1,)), {"s": np.float32([[2], [3], [4]])}),
        (
            [("BatchNormalization", ["x", "s", "s", "s", "s"], {})],
            (["a", "c", "b"], ["z"]),
            ((2, 3, 4), (1,)),
            {"s": np.float32([2, 3, 4])},
        ),
    ],
)
def test_dimensions_of_other_names_go_together(
    nodes: list[tuple[str, list[str], dict[str, Any]]],
    shapes: tuple[list[Any], list[Any]],
    feeds: tuple[tuple[int, ...], tuple[int, ...]],
    constants: dict[str, Any],
) -> None:
    """As the model says by using them, built as interpreted; of what does not go together the call is refused."""
    outs = [*(f"h{at}" for at in range(len(nodes) - 1)), "y"]
    made = [helper.make_node(op, given, [out], **attrs) for (op, given, attrs), out in zip(nodes, outs, strict=True)]
    given = model(made, {"x": (F, shapes[0]), "z": (F, shapes[1])}, ["y"], constants)
    x, z = (np.random.default_rng(5).uniform(-1, 1, shape).astype("float32") for shape in feeds)
    module = compare(given, x=x, z=z)
    np.testing.assert_allclose(tirscript.build(module)(x, z), tirscript.interpret(module, x, z), rtol=1e-5, atol=1e-6)


def test_shapes_may_be_given() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    given = model(nodes, {"x": (F, None)}, ["y"], {})
    with pytest.raises(DiagnosticError, match="the shape of the input `x` is not known"):
        tirscript.from_onnx(given)
    module = tirscript.from_onnx(given, shapes={"x": (2, "k")})
    assert isinstance(module["main"], GraphFunc) and [var.name for var in module["main"].symbols] == ["k"]
    with pytest.raises(DiagnosticError, match="the model has no input `xx`"):
        tirscript.from_onnx(given, shapes={"x": (2,), "xx": (2,)})
    with pytest.raises(DiagnosticError, match=r"its inputs are x$"):
        tirscript.from_onnx(given, shapes={"weight": (2,)})


def test_bad_models_are_refused(tmp_path: Path) -> None:
    good = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (F, [2])}, ["y"], {})
    data = good.SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert tirscript.from_onnx(path).script() == tirscript.from_onnx(data).script()
    for damaged in (b"", b"\x00" * 50, data[: len(data) // 2], b"not a model"):
        with pytest.raises(DiagnosticError):
            tirscript.from_onnx(damaged)
    with pytest.raises(DiagnosticError, match="cannot be read"):
        tirscript.from_onnx(tmp_path / "missing.onnx")
    with pytest.raises(TypeError, match="takes a path, bytes"):
        tirscript.from_onnx(7)
    old = model([helper.make_node("Reshape", ["x"], ["y"], shape=[2, 1])], {"x": (F, [2])}, ["y"], {}, opset=0)
    with pytest.raises(DiagnosticError, match="version 0 of the operators, which cannot be converted"):
        tirscript.from_onnx(old)
    new = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (F, [2])}, ["y"], {}, opset=99)
    with pytest.raises(DiagnosticError, match="version 99 of the operators; 1 to"):
        tirscript.from_onnx(new)
    foreign = model([helper.make_node("Relux", ["x"], ["y"], name="n7", domain="my.ops")], {"x": (F, [2])}, ["y"], {})
    with pytest.raises(DiagnosticError, match=r"the operator `my.ops.Relux` of the node `n7`"):
        tirscript.from_onnx(foreign)
    lost = model([helper.make_node("Relu", ["q"], ["y"])], {"x": (F, [2])}, ["y"], {})
    with pytest.raises(DiagnosticError, match="uses `q` before anything gives it"):
        tirscript.from_onnx(lost)
    short = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, [2])}, ["y"], {"w": np.ones(2, "float32")})
    short.graph.initializer[0].raw_data = b"1234"
    with pytest.raises(DiagnosticError, match="the data of `w` cannot be read"):
        tirscript.from_onnx(short)
    with pytest.raises(DiagnosticError, match="names in it are not UTF-8"):
        tirscript.from_onnx(data.replace(b"Relu", b"Rel\xff"))
    named = model([helper.make_node("MeanVarianceNormalization", ["x"], ["y"])], {"x": (F, [2])}, ["y"], {})
    named.graph.name = "a_name_of_its_own"
    with pytest.raises(DiagnosticError, match="names in it are not UTF-8"):
        tirscript.from_onnx(named.SerializeToString().replace(b"a_name_of_its_own", b"a_name\xffof_its_own"))
    untyped = model([helper.make_node("Softmax", ["x"], ["y"], axis=0)], {"x": (F, [2])}, ["y"], {})
    untyped.graph.node[0].attribute[0].type = 0
    with pytest.raises(DiagnosticError, match="its attribute `axis` has no type"):
        tirscript.from_onnx(untyped)
    strange = model([helper.make_node("Softmax", ["x"], ["y"], axs=0)], {"x": (F, [2])}, ["y"], {})
    with pytest.raises(DiagnosticError, match="`Softmax` has no attribute `axs`") as caught:
        tirscript.from_onnx(strange)
    assert caught.value.diagnostics[0].hint == "did you mean `axis`?"
    strange.graph.node[0].attribute[0].name = "__note"
    tirscript.from_onnx(strange)
    odd = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (F, [2])}, ["y"], {})
    odd.graph.input[0].type.tensor_type.elem_type = 99
    with pytest.raises(DiagnosticError, match="the input `x` is of the type 99, which ONNX does not have"):
        tirscript.from_onnx(odd)
    wide = model([helper.make_node("Expand", ["x", "s"], ["y"])], {"x": (F, [2])}, ["y"], {"s": np.array([3])})
    with pytest.raises(DiagnosticError, match=r"\(2,\) cannot be expanded to \(3,\)"):
        tirscript.from_onnx(wide)


def test_functions_that_would_never_end_are_refused() -> None:
    """Forty functions that call the next twice are 2**40 nodes."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    made = model([helper.make_node("F0", ["x"], ["y"], domain="my")], {"x": (F, [2])}, ["y"], {})
    made.opset_import.add(domain="my", version=1)
    for at in range(40):
        inner = {"op_type": f"F{at + 1}", "domain": "my"} if at < 39 else {"op_type": "Relu"}
        nodes = [helper.make_node(inputs=["a"], outputs=["t"], **inner)]
        nodes.append(helper.make_node(inputs=["t"], outputs=["b"], **inner))
        made.functions.append(helper.make_function("my", f"F{at}", ["a"], ["b"], nodes, opsets))
    with pytest.raises(DiagnosticError, match="that would be 1,099,511,627,776 nodes"):
        tirscript.from_onnx(made)


def test_models_of_the_first_versions_are_converted() -> None:
    """Broadcasting was asked for, and a slope was one for each channel."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"], broadcast=1, axis=2),
        helper.make_node("PRelu", ["a", "s"], ["y"]),
    ]
    slope, w = np.array([0.1, 0.2, 0.3], "float32"), np.array([1, 2, 3, 4], "float32")
    given = model(nodes, {"x": (F, [2, 3, 4])}, ["y"], {"w": w, "s": slope}, opset=6)
    x = np.linspace(-8, 8, 24, dtype="float32").reshape(2, 3, 4)
    wanted = np.where(x + w < 0, (x + w) * slope[:, None], x + w)
    np.testing.assert_allclose(tirscript.interpret(tirscript.from_onnx(given), x), wanted, rtol=1e-6)


def test_values_make_inputs_constants() -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    given = model(nodes, {"x": (F, [6]), "shape": (TensorProto.INT64, [2])}, ["y"], {})
    assert "tensor_to_shape" in tirscript.from_onnx(given).script()
    module = tirscript.from_onnx(given, values={"shape": np.array([2, 3])})
    assert tirscript.interpret(module, np.zeros(6, "float32")).shape == (2, 3)
    for values, words in (
        ({"shap": np.array([2, 3])}, "no input `shap`"),
        ({"shape": np.array([2.0, 3.0])}, "`values` have float64 for the input `shape`, which is int64"),
        ({"shape": np.array(6)}, "`values` have 0 axes for the input `shape`, which has 1"),
    ):
        with pytest.raises(DiagnosticError, match=words):
            tirscript.from_onnx(given, values=values)


def test_functions_of_the_model_are_written_out() -> None:
    body = [helper.make_node("Mul", ["a", "a"], ["b"]), helper.make_node("Add", ["b", "a"], ["c"])]
    own = helper.make_function("my.ops", "Poly", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    nodes = [
        helper.make_node("Poly", ["x"], ["h"], domain="my.ops"),
        helper.make_node("Poly", ["h"], ["y"], domain="my.ops"),
    ]
    given = model(nodes, {"x": (F, [3])}, ["y"], {})
    given.functions.append(own)
    given.opset_import.append(helper.make_opsetid("my.ops", 1))
    x = np.array([1, -2, 3], "float32")
    once = x * x + x
    np.testing.assert_allclose(tirscript.interpret(tirscript.from_onnx(given), x), once * once + once)


def softmax(x: Any) -> Any:
    """As before version 13: along all axes from the first on."""
    flat = np.exp(x.reshape(len(x), -1))
    return (flat / flat.sum(1, keepdims=True)).reshape(x.shape)


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
@pytest.mark.parametrize(
    ("op", "version", "attrs", "wanted"),
    [
        ("Sub", 16, {}, lambda x: x - 2),
        ("Tanh", 12, {}, np.tanh),
        ("ReduceSum", 12, {"axes": [1], "keepdims": 0}, lambda x: x.sum(1)),
        ("Softmax", 12, {"axis": 1}, softmax),
    ],
)
def test_functions_of_other_versions_than_the_model(
    op: str, version: int, attrs: dict[str, Any], wanted: Any, domain: str
) -> None:
    """What is the same operator in both is taken as it is, though no type is known in a function; else it is converted.

    onnxruntime reads it as one of the model's version.
    """
    two = ["a", "k"] if op == "Sub" else ["a"]
    inner = helper.make_function(
        "my", "Inner", two, ["b"], [helper.make_node(op, two, ["b"], **attrs)], [helper.make_opsetid(domain, version)]
    )
    body = [helper.make_node("Inner", two, ["b"], domain="my")]
    if op == "Sub":
        body.insert(0, helper.make_node("Constant", [], ["k"], value_float=2.0))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    outer = helper.make_function("my", "Outer", ["a"], ["b"], body, opsets)
    given = model([helper.make_node("Outer", ["x"], ["y"], domain="my")], {"x": (F, [2, 3, 4])}, ["y"], {})
    given.functions.extend([inner, outer])
    given.opset_import[0].domain = opsets[0].domain = domain
    given.opset_import.append(opsets[1])
    x = np.arange(24, dtype="float32").reshape(2, 3, 4) / 8
    np.testing.assert_allclose(tirscript.interpret(tirscript.from_onnx(given), x), wanted(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "given", "attrs"),
    [
        ("NegativeLogLikelihoodLoss", [(3, 5), np.array([1, 0, 4])], {"reduction": "mean"}),
        ("SoftmaxCrossEntropyLoss", [(3, 5), np.array([1, 0, 4])], {}),
        ("MeanVarianceNormalization", [(2, 3, 4, 4)], {}),
        ("Attention", [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 8)], {}),
        ("Attention", [(1, 2, 4, 8), (1, 1, 6, 8), (1, 1, 6, 8), None, (1, 1, 3, 8), (1, 1, 3, 8)], {"is_causal": 1}),
        ("CausalConvWithState", [(1, 3, 6), (3, 1, 4), None, (1, 3, 3)], {}),
        ("RotaryEmbedding", [(1, 2, 4, 8), (4, 4), (4, 4), np.arange(4).reshape(1, 4)], {}),
        ("DynamicQuantizeLinear", [(3, 5)], {}),
    ],
)
def test_operators_that_the_standard_defines_by_others(op: str, given: list[Any], attrs: dict[str, Any]) -> None:
    """Against the standard's own reference, as no rule is for them."""
    from onnx.reference import ReferenceEvaluator

    from tirscript.script.onnx.operators import OPERATORS

    assert op not in OPERATORS
    random = np.random.default_rng(3)
    arrays = [
        random.random(one, "float32") if isinstance(one, tuple) else one.astype("int64")
        for one in given
        if one is not None
    ]
    places = [f"x{at}" if one is not None else "" for at, one in enumerate(given)]
    names = [name for name in places if name]
    kinds = {
        name: (helper.np_dtype_to_tensor_dtype(one.dtype), list(one.shape))
        for name, one in zip(names, arrays, strict=True)
    }
    outputs = ["y0", "y1", "y2"] if op == "DynamicQuantizeLinear" or "" in places else ["y"]
    outputs = outputs[:2] if op == "CausalConvWithState" else outputs
    version = 27 if op == "CausalConvWithState" else 23
    made = model([helper.make_node(op, places, outputs, **attrs)], kinds, outputs, {}, opset=version)
    wanted = ReferenceEvaluator(made).run(None, dict(zip(names, arrays, strict=True)))
    found = tirscript.interpret(tirscript.from_onnx(made), *arrays)
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_running_products() -> None:
    axis = np.array(1)
    given = model(
        [helper.make_node("CumProd", ["x", "axis"], ["y"], exclusive=1)],
        {"x": (F, [2, 3])},
        ["y"],
        {"axis": axis},
        opset=26,
    )
    x = np.array([[2, 3, 4], [5, 6, 7]], "float32")
    found = tirscript.interpret(tirscript.from_onnx(given), x)
    assert found.tolist() == [[1, 2, 6], [1, 5, 30]]


@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand", "Tile"])
def test_large_results_of_small_constants_are_not_computed(op: str) -> None:
    """Eight terabytes of it would be."""
    sizes = np.array([1 << 20, 1 << 20])
    one = [] if op == "ConstantOfShape" else ["one"]
    nodes = [helper.make_node(op, [*one, "sizes"], ["big"]), helper.make_node("Shape", ["big"], ["y"])]
    given = model(nodes, {"x": (F, [1])}, ["y"], {"sizes": sizes, "one": np.ones((1, 1))})
    assert tirscript.interpret(dead(tirscript.from_onnx(given)), np.zeros(1, "float32")).tolist() == [1 << 20, 1 << 20]


@pytest.mark.parametrize("saturate", [0, 1])
def test_casts_to_eight_bits_give_the_largest_where_asked(saturate: int) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN, saturate=saturate)]
    given = model(nodes, {"x": (F, [4])}, ["y"], {}, opset=19)
    x = np.array([1.0, 1e9, -1e9, np.nan], "float32")
    found = tirscript.interpret(tirscript.from_onnx(given), x).astype("float32")
    np.testing.assert_array_equal(found, [1, 448, -448, np.nan] if saturate else [1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(("op", "wanted"), [("ReduceMax", False), ("ReduceMin", True)])
def test_extremes_of_no_truth(op: str, wanted: bool) -> None:
    nodes = [helper.make_node(op, ["x", "axes"], ["y"], keepdims=0)]
    given = model(nodes, {"x": (TensorProto.BOOL, [3, 0])}, ["y"], {"axes": np.array([1])}, opset=20)
    assert tirscript.build(tirscript.from_onnx(given))(np.zeros((3, 0), bool)).tolist() == [wanted] * 3


def test_external_data_stays_beside_the_model(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    given = model(nodes, {"x": (F, [300])}, ["y"], {"w": np.ones(300, "float32")})
    onnx.save_model(given, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    module = tirscript.from_onnx(tmp_path / "m.onnx")
    np.testing.assert_array_equal(tirscript.interpret(module, np.ones(300, "float32")), np.full(300, 2, "float32"))
    (tmp_path / "m.data").unlink()
    with pytest.raises(DiagnosticError, match="cannot be read"):
        tirscript.from_onnx(tmp_path / "m.onnx")


TINY = {"layers": 1, "hidden": 16, "heads": 2, "vocabulary": 20, "longest": 12}


def small(name: str) -> tuple[Any, dict[str, Any]]:
    random = np.random.default_rng(5)
    if name == "resnet18":
        return models.resnet18(size=32, width=2, classes=3), {
            "image": random.standard_normal((1, 3, 32, 32)).astype("float32")
        }
    if name == "bert":
        mask = np.array([[1] * 7, [1] * 4 + [0] * 3], "float32")
        return models.bert(**TINY), {"tokens": random.integers(0, 20, (2, 7)), "mask": mask}
    past = {f"past_{part}_0": random.standard_normal((1, 2, 5, 8)).astype("float32") for part in ("key", "value")}
    return models.gpt2(**TINY), {"token": np.array([[3]]), **past}


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet18", "bert", "gpt2"])
def test_published_architectures(name: str) -> None:
    given, feeds = small(name)
    module = compare(given, **feeds)
    text = module.script()
    assert parse(text, constants=tirscript.ConstantStore(module)).script() == text
    wanted = ort.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = tirscript.build(module, opt_level=1)(**feeds)
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * float(np.abs(other).max()))


def test_weights_stay_parameters_and_are_bound() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "fc.weight"], ["a"]),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.full(2, 3, "float32"))),
        helper.make_node("Add", ["a", "c"], ["b"]),
        helper.make_node("Reshape", ["b", "shape"], ["y"]),
    ]
    weight, x = np.arange(6, dtype="float32").reshape(3, 2), np.ones((4, 3), "float32")
    given = model(nodes, {"x": (F, [4, 3])}, ["y"], {"fc.weight": weight, "shape": np.array([2, 4])})
    assert [(name, one.shape) for name, one in tirscript.onnx_params(given).items()] == [
        ("fc.weight", (3, 2)),
        ("shape", (2,)),
    ]
    kept = tirscript.from_onnx(given, keep_params=True)
    main = kept["main"]
    assert isinstance(main, GraphFunc) and [param.name for param in main.params] == ["x", "fc_weight"]
    expected = compare(given, x=x)
    bound = bind_params(kept, tirscript.onnx_params(given), strict=False)
    assert np.array_equal(tirscript.interpret(bound, x), tirscript.interpret(expected, x))
    assert np.array_equal(tirscript.interpret(kept, x, weight), tirscript.interpret(expected, x))
