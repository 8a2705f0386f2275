"""Operators of `ai.onnx.ml`, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.script.onnx.operators import OPERATORS
from tirscript.script.onnx.operators.learning import DOMAIN

X = np.array([[1, -2, 3], [0, 0, 0], [4, 0.5, -1], [-3, -2, -1]], np.float32)
ONE_SCORE = {"coefficients": [1.0, 2.0, -1.0], "intercepts": [0.5], "classlabels_ints": [5, 7]}
SCORES = {
    "coefficients": [0.1 * at for at in range(-5, 4)],
    "intercepts": [0.0, 0.5, 1.0],
    "classlabels_ints": [2, 1, 0],
}


def machine(classes: int, **more: Any) -> dict[str, Any]:
    """Support vectors of classes, of each another number."""
    random = np.random.default_rng(classes)
    counts = [2 + at % 3 for at in range(classes)]
    pairs = classes * (classes - 1) // 2
    found: dict[str, Any] = {
        "vectors_per_class": counts,
        "support_vectors": random.normal(size=3 * sum(counts)).tolist(),
        "coefficients": random.normal(size=(classes - 1) * sum(counts)).tolist(),
        "rho": (random.normal(size=pairs) / 4).tolist(),
        "classlabels_ints": [7, 3, 5, 9][:classes],
        "kernel_params": [0.25, 0.5, 3.0],
    }
    return {**found, **more}


CASES: dict[str, list[dict[str, Any]]] = {
    "Scaler": [{"offset": [1.0, 2.0, 3.0], "scale": [0.5, 1.0, 2.0]}, {"offset": [1.0], "scale": [2.0]}],
    "Binarizer": [{}, {"threshold": 0.5}],
    "Normalizer": [{"norm": "MAX"}, {"norm": "L1"}, {"norm": "L2"}],
    "LinearRegressor": [
        {"coefficients": [1.0, 2.0, -1.0], "intercepts": [0.5]},
        {"coefficients": [1.0, 2.0, -1.0, 0.0, 1.0, 0.5], "intercepts": [0.5, 1.0], "targets": 2},
    ],
    "LinearClassifier": [
        *({**ONE_SCORE, "post_transform": after} for after in ("NONE", "LOGISTIC")),
        *({**SCORES, "post_transform": after} for after in ("NONE", "LOGISTIC", "SOFTMAX")),
        {"coefficients": [0.1, 0.2, -0.1, 0.0, 0.1, 0.05], "intercepts": [0.5, 1.0], "classlabels_ints": [5, 7]},
    ],
    "SVMRegressor": [
        {
            "kernel_type": kernel,
            "kernel_params": [0.25, 0.5, 3.0],
            "n_supports": 2,
            "support_vectors": [1.0, -0.5, 2.0, 0.0, 0.25, -1.0],
            "coefficients": [0.5, -0.75],
            "rho": [0.25],
        }
        for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")
    ],
    "SVMClassifier": [
        *(machine(2, kernel_type=kernel) for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")),
        machine(2, prob_a=[-1.5], prob_b=[0.25]),
        machine(2, prob_a=[-0.02], prob_b=[0.01]),  # one is as probable as the other, nearly: nothing is changed
        machine(2, prob_a=[-100.0], prob_b=[0.0]),
        *(machine(4, kernel_type="RBF", post_transform=after) for after in ("NONE", "LOGISTIC", "SOFTMAX")),
        machine(4, kernel_type="RBF", prob_a=[-1.0, -2.0, -3.0, -0.5, -9.0, -4.0], prob_b=[0.1] * 6),
    ],
    "Imputer": [
        {"imputed_value_floats": [7.0, 8.0, 9.0], "replaced_value_float": float("nan")},
        {"imputed_value_floats": [7.0, 8.0, 9.0]},
        {"imputed_value_floats": [7.0], "replaced_value_float": -1.0},
    ],
    "OneHotEncoder": [{"cats_int64s": [-1, 0, 4]}],
    "LabelEncoder": [
        {"keys_floats": [-1.0, 0.0, 4.0, 0.0], "values_floats": [1.0, 2.0, 3.0, 4.0], "default_float": 0.5},
        {"keys_floats": [-1.0, 0.0], "values_int64s": [5, 6]},
    ],
}
TWO = ("LinearClassifier", "SVMClassifier")  # those of two outputs


def model_of(op: str, attrs: dict[str, Any], rows: Any = "rows", kind: int = 1, at: Any = None) -> Any:
    """A model of one node, whose second input, if it has one, is `at`."""
    names = ["y", "scores"] if op in TWO else ["y"]
    node = helper.make_node(op, ["x"] if at is None else ["x", "at"], names, domain=DOMAIN, **attrs)
    inputs = [helper.make_tensor_value_info("x", kind, [rows, 3] if rows else [3])]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    weights = [] if at is None else [numpy_helper.from_array(np.asarray(at, np.int64), "at")]
    graph = helper.make_graph([node], "g", inputs, outputs, weights)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def assert_as_onnxruntime(model: Any, x: Any) -> None:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x})
    module = tirscript.from_onnx(model)
    for run in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        for found, one in zip(run if isinstance(run, tuple) else (run,), wanted, strict=True):
            assert found.dtype == one.dtype and found.shape == one.shape
            np.testing.assert_allclose(found, one, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "at"), [(op, at) for op, cases in CASES.items() for at in range(len(cases))])
def test_results(op: str, at: int) -> None:
    x = X.copy()
    if op in ("Imputer", "OneHotEncoder", "LabelEncoder"):
        x[1, 1] = np.nan if op == "Imputer" else 3
    assert_as_onnxruntime(model_of(op, CASES[op][at]), x)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Imputer", {"imputed_value_int64s": [7, 8, 9], "replaced_value_int64": -1}),
        ("OneHotEncoder", {"cats_int64s": [-1, 0, 4]}),
        ("LabelEncoder", {"keys_int64s": [-1, 0, 4], "values_int64s": [5, 6, 7]}),
        ("LabelEncoder", {"keys_int64s": [-1, 0, 4], "values_floats": [5.0, 6.0, 7.0], "default_float": 1.0}),
    ],
)
def test_results_of_integers(op: str, attrs: dict[str, Any]) -> None:
    assert_as_onnxruntime(model_of(op, attrs, kind=7), X.astype("int64"))


@pytest.mark.parametrize("kind", ["float32", "float64", "int64"])
def test_what_is_no_category_has_no_one(kind: str) -> None:
    """nan had the one of category 0."""
    x = np.array([[0, 1, -1], [3, 7, 4]], kind)
    if kind != "int64":
        x[1] = np.nan, 0.7, -0.0
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    assert_as_onnxruntime(model_of("OneHotEncoder", {"cats_int64s": [0, -1, 1 << 40]}, kind=code), x)


def test_columns_that_are_taken() -> None:
    assert_as_onnxruntime(model_of("ArrayFeatureExtractor", {}, at=[[0, 2], [1, 1]]), X)
    assert_as_onnxruntime(model_of("ArrayFeatureExtractor", {}, None, at=[2, 0]), X[0])


@pytest.mark.parametrize("threshold", [-1.5, -0.5, 0.0, 0.5, 2.0, 1e30, -1e30, np.inf, -np.inf, np.nan])
def test_integers_above_a_threshold_between_them(threshold: float) -> None:
    module = tirscript.from_onnx(model_of("Binarizer", {"threshold": threshold}, kind=7))
    x = np.arange(-4, 5).reshape(3, 3)
    np.testing.assert_array_equal(tirscript.build(module)(x), (x > threshold).astype("int64"))


def test_every_operator_is_tried() -> None:
    # above and below, and of test_trees.py and test_tree_ensembles.py
    others = (
        "ArrayFeatureExtractor",
        "FeatureVectorizer",
        "TreeEnsemble",
        "TreeEnsembleClassifier",
        "TreeEnsembleRegressor",
        "ZipMap",
    )
    names = (*CASES, *others)
    assert {name for name in OPERATORS if name.startswith(f"{DOMAIN}.")} == {f"{DOMAIN}.{name}" for name in names}


@pytest.mark.parametrize(
    ("op", "attrs", "words"),
    [
        ("Scaler", {"offset": [1.0, 2.0]}, "its attribute `offset` has 2 numbers, and its input 3 columns"),
        ("Normalizer", {"norm": "L3"}, "the norm L3 is not supported"),
        ("LinearRegressor", {"coefficients": [1.0]}, "its 1 coefficients are not 1 for each column"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "post_transform": "LOGISTIC"}, "the transform LOGISTIC"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "intercepts": [1.0] * 2}, "`intercepts` has 2 numbers, not 1"),
        ("CastMap", {}, "`ai.onnx.ml.CastMap`"),
        ("ZipMap", {"classlabels_int64s": [0, 1]}, "it has 2 labels, and its input 3 columns"),
        ("FeatureVectorizer", {"inputdimensions": [2]}, "an input has 3 columns, not 2"),
        ("LinearClassifier", {"classlabels_strings": ["a", "b"]}, "labels of its classes are text"),
        ("LinearClassifier", {"classlabels_ints": [0, 1, 2], "intercepts": [0.5]}, "has 1 numbers, not 3"),
        (
            "LinearClassifier",
            {"classlabels_ints": [0, 1], "intercepts": [0.5], "coefficients": [1.0] * 3, "post_transform": "SOFTMAX"},
            "the transform SOFTMAX of one score",
        ),
        (
            "LinearClassifier",
            {"classlabels_ints": [7], "intercepts": [0.5], "coefficients": [1.0] * 3},
            "it has one class, which is not supported",
        ),
        ("SVMRegressor", {"n_supports": 2, "support_vectors": [1.0] * 3}, "its 3 numbers are not 2 support vectors"),
        ("SVMRegressor", {"n_supports": 1, "support_vectors": [1.0] * 3}, "it has 0 coefficients and 0 numbers"),
        ("SVMRegressor", {"n_supports": 1, "one_class": 1}, "what becomes of its results is not supported"),
        ("SVMClassifier", {"classlabels_strings": ["a", "b"]}, "classes are text"),
        ("SVMClassifier", {**machine(2), "classlabels_ints": [1]}, "it has one class"),
        ("SVMClassifier", {**machine(2), "classlabels_ints": [1, 2, 3]}, "vectors of 2 classes, and 3 labels"),
        ("SVMClassifier", {**machine(2), "vectors_per_class": [0, 0]}, "it has no support vectors"),
        ("SVMClassifier", {**machine(2), "coefficients": [1.0]}, "it has 1 coefficients, not 1 for each of 5 vectors"),
        ("SVMClassifier", {**machine(2), "rho": [1.0] * 2}, "`rho` has 2 numbers, and it has 1 pairs"),
        ("SVMClassifier", {**machine(2), "prob_a": [1.0]}, "`prob_b` has 0 numbers, and it has 1 pairs"),
        ("SVMClassifier", {**machine(2), "post_transform": "LOGISTIC"}, "the transform LOGISTIC of one score"),
        ("Imputer", {"imputed_value_floats": [1.0] * 2}, "has 2 numbers, and its input 3 columns"),
        ("OneHotEncoder", {"cats_int64s": [1], "zeros": 0}, "ends the program at a category that is not known"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "its categories are text"),
        ("OneHotEncoder", {"cats_int64s": [4, 0, 4]}, "it has the category 4 twice"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "its keys are no numbers"),
        ("LabelEncoder", {"keys_int64s": [1, 2], "values_int64s": [1]}, "it has 2 keys and 1 values"),
        ("LabelEncoder", {"keys_floats": [np.nan], "values_int64s": [1]}, "one of its keys is nan"),
    ],
)
def test_what_is_not_supported(op: str, attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of(op, attrs))


def test_columns_of_several_inputs_beside_each_other() -> None:
    shapes: dict[str, tuple[int, list[Any]]] = {"x": (1, ["n", 3]), "z": (7, ["n", 2])}
    inputs = [helper.make_tensor_value_info(name, *given) for name, given in shapes.items()]
    node = helper.make_node("FeatureVectorizer", list(shapes), ["y"], domain=DOMAIN, inputdimensions=[3, 2])
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    module = tirscript.from_onnx(helper.make_model(graph, opset_imports=versions, ir_version=8))
    z = np.arange(8).reshape(4, 2)
    np.testing.assert_array_equal(tirscript.interpret(module, X, z), np.concatenate([X, z], 1).astype("float32"))


@pytest.mark.parametrize("labels", [{"classlabels_int64s": [0, 1, 2]}, {"classlabels_strings": ["a", "b", "c"]}])
def test_dictionaries_of_columns_are_the_columns(labels: dict[str, Any]) -> None:
    assert tirscript.interpret(tirscript.from_onnx(model_of("ZipMap", labels)), X).tolist() == X.tolist()


def test_columns_that_are_not_there() -> None:
    with pytest.raises(DiagnosticError, match=r"its indices \[0, 3\] are not all of 3 elements"):
        tirscript.from_onnx(model_of("ArrayFeatureExtractor", {}, at=[0, 3]))
