"""Operators of `ai.onnx.ml`, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.script.onnx.operators import OPERATORS
from tirscript.script.onnx.operators.learning import DOMAIN

X = np.float32([[1, -2, 3], [0, 0, 0], [4, 0.5, -1], [-3, -2, -1]])
CASES: dict[str, list[dict[str, Any]]] = {
    "Scaler": [{"offset": [1.0, 2.0, 3.0], "scale": [0.5, 1.0, 2.0]}, {"offset": [1.0], "scale": [2.0]}],
    "Binarizer": [{}, {"threshold": 0.5}],
    "Normalizer": [{"norm": "MAX"}, {"norm": "L1"}, {"norm": "L2"}],
    "LinearRegressor": [
        {"coefficients": [1.0, 2.0, -1.0], "intercepts": [0.5]},
        {"coefficients": [1.0, 2.0, -1.0, 0.0, 1.0, 0.5], "intercepts": [0.5, 1.0], "targets": 2},
    ],
}


def model_of(op: str, attrs: dict[str, Any], rows: Any = "rows", kind: int = 1) -> Any:
    node = helper.make_node(op, ["x"], ["y"], domain=DOMAIN, **attrs)
    inputs = [helper.make_tensor_value_info("x", kind, [rows, 3])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, None)])
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


@pytest.mark.parametrize(("op", "at"), [(op, at) for op, cases in CASES.items() for at in range(len(cases))])
def test_results(op: str, at: int) -> None:
    model = model_of(op, CASES[op][at])
    (wanted,) = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": X})
    module = tirscript.from_onnx(model)
    for found in (tirscript.interpret(module, X), tirscript.build(module)(X)):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threshold", [-1.5, -0.5, 0.0, 0.5, 2.0])
def test_integers_above_a_threshold_between_them(threshold: float) -> None:
    module = tirscript.from_onnx(model_of("Binarizer", {"threshold": threshold}, kind=7))
    x = np.arange(-4, 5).reshape(3, 3)
    np.testing.assert_array_equal(tirscript.build(module)(x), (x > threshold).astype("int64"))


def test_every_operator_is_tried() -> None:
    names = (*CASES, "TreeEnsembleClassifier", "TreeEnsembleRegressor")  # of test_trees.py
    assert {name for name in OPERATORS if name.startswith(f"{DOMAIN}.")} == {f"{DOMAIN}.{name}" for name in names}


@pytest.mark.parametrize(
    ("op", "attrs", "words"),
    [
        ("Scaler", {"offset": [1.0, 2.0]}, "its attribute `offset` has 2 numbers, and its input 3 columns"),
        ("Normalizer", {"norm": "L3"}, "the norm L3 is not supported"),
        ("LinearRegressor", {"coefficients": [1.0]}, "its 1 coefficients are not 1 for each column"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "post_transform": "LOGISTIC"}, "the transform LOGISTIC"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "intercepts": [1.0] * 2}, "`intercepts` has 2 numbers, not 1"),
        ("ZipMap", {}, "`ai.onnx.ml.ZipMap`"),
    ],
)
def test_what_is_not_supported(op: str, attrs: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of(op, attrs))
