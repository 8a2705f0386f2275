"""Ensembles of decision trees, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.script.onnx.operators.learning import DOMAIN

COLUMNS = 4


def forest(
    kind: str, mode: str = "LEQ", *, ids: Any = (0,), share: float | None = None, missing: bool = False
) -> dict[str, Any]:
    """Five random trees as attributes. Each leaf has a number for all of `ids`, with `share` one of 0 to `share`."""
    rng = np.random.default_rng(len(mode) + len(ids))
    nodes: dict[str, list[Any]] = {
        name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    tracks: list[int] = []
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree: int, depth: int) -> int:
        at, number = len(nodes["nodeids"]), nodes["treeids"].count(tree)
        leaf = depth == 0 or (depth < 4 and rng.random() < 0.25)
        value = 0.0 if leaf else float(rng.integers(-4, 5)) / 2
        row = (
            tree,
            number,
            0 if leaf else int(rng.integers(COLUMNS)),
            value,
            "LEAF" if leaf else f"BRANCH_{mode}",
            0,
            0,
        )
        for name, one in zip(nodes, row, strict=True):
            nodes[name].append(one)
        tracks.append(int(missing and rng.random() < 0.5))
        if leaf:
            for one in ids:
                amount = float(np.float32(rng.standard_normal() if share is None else rng.random() * share))
                for name, entry in zip(leaves, (tree, number, one, amount), strict=True):
                    leaves[name].append(entry)
        else:
            nodes["truenodeids"][at] = grow(tree, depth - 1)
            nodes["falsenodeids"][at] = grow(tree, depth - 1)
        return number

    for tree in range(5):
        grow(tree, 4)
    told = {"nodes_missing_value_tracks_true": tracks} if missing else {}
    return {
        **{f"nodes_{name}": one for name, one in nodes.items()},
        **{f"{kind}_{name}": one for name, one in leaves.items()},
        **told,
    }


def model_of(op: str, attrs: dict[str, Any], columns: int | None = COLUMNS) -> Any:
    outputs = {"y": 1} if op == "TreeEnsembleRegressor" else {"label": 7, "scores": 1}
    node = helper.make_node(op, ["x"], list(outputs), domain=DOMAIN, **attrs)
    given = [helper.make_tensor_value_info("x", 1, ["n", columns])]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=versions, ir_version=8)


def rows() -> Any:
    return np.random.default_rng(3).integers(-6, 7, (40, COLUMNS)).astype("float32") / 2


def assert_as_onnxruntime(op: str, attrs: dict[str, Any], x: Any, *, native: bool = False) -> None:
    model = model_of(op, attrs)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x})
    module = tirscript.from_onnx(model)
    runs = [tirscript.interpret(module, x), *([tirscript.build(module)(x)] if native else [])]
    for run in runs:
        for one, other in zip(run if isinstance(run, tuple) else (run,), wanted, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_nodes_that_compare_in_different_ways() -> None:
    attrs = {**forest("target", missing=True), "n_targets": 1}
    modes = [f"BRANCH_{mode}" for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]
    attrs["nodes_modes"] = [
        one if one == "LEAF" else modes[at % len(modes)] for at, one in enumerate(attrs["nodes_modes"])
    ]
    x = rows()
    x[::3, 1] = np.nan
    x[1::5, 2] = np.inf
    assert_as_onnxruntime("TreeEnsembleRegressor", attrs, x, native=True)
    nothing = {**attrs, "nodes_values": [float("nan")] * len(modes) + attrs["nodes_values"][len(modes) :]}
    assert_as_onnxruntime("TreeEnsembleRegressor", nothing, rows())


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("after", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_aggregates_and_transforms(aggregate: str, after: str) -> None:
    attrs = forest("target", ids=(0, 1, 2))
    # of some leaves nothing is added to the third target
    kept = [
        at
        for at, (target, number) in enumerate(zip(attrs["target_ids"], attrs["target_nodeids"], strict=True))
        if target < 2 or number % 4 == 0
    ]
    attrs |= {name: [attrs[name][at] for at in kept] for name in attrs if name.startswith("target_")}
    told = {"aggregate_function": aggregate, "post_transform": after, "n_targets": 3}
    assert_as_onnxruntime("TreeEnsembleRegressor", {**attrs, **told}, rows())


def test_the_deviation_of_one_target() -> None:
    attrs = {**forest("target", share=0.15), "n_targets": 1, "base_values": [0.1], "post_transform": "PROBIT"}
    assert_as_onnxruntime("TreeEnsembleRegressor", attrs, rows())


def test_numbers_of_float64() -> None:
    """A value that no float32 is tells rows apart, and what is added to the totals is of float64, too."""
    given = {"nodes_values": 1 + np.array([1e-12, 0, 0]), "target_weights": np.array([1e-9, 2]), "base_values": [1 / 3]}
    tensors = {
        f"{name}_as_tensor": helper.make_tensor(name, 11, [len(values)], values) for name, values in given.items()
    }
    attrs = {name: one for name, one in STUMP.items() if name not in given} | tensors
    model = model_of("TreeEnsembleRegressor", attrs)
    model.graph.input[0].type.tensor_type.elem_type = 11
    x = np.array([[0, 1, 0, 0], [0, 1 + 2e-12, 0, 0]])
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    module = tirscript.from_onnx(model)
    for found in (tirscript.interpret(module, x), tirscript.build(module)(x)):
        np.testing.assert_array_equal(found, session.run(None, {"x": x})[0])
        assert found.dtype == "float32" and found[0, 0] < 1 < found[1, 0]


@pytest.mark.parametrize("mode", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_one_target(mode: str) -> None:
    assert_as_onnxruntime(
        "TreeEnsembleRegressor", {**forest("target", mode), "n_targets": 1}, rows(), native=mode == "LEQ"
    )


def test_several_targets_averages_and_what_is_missing() -> None:
    attrs = {**forest("target", ids=(0, 1, 2)), "n_targets": 3, "base_values": [0.5, 1.0, -1.0]}
    assert_as_onnxruntime("TreeEnsembleRegressor", {**attrs, "aggregate_function": "AVERAGE"}, rows())
    x = rows()
    x[::3, 1] = np.nan
    attrs = {**forest("target", "LT", missing=True), "n_targets": 1}
    assert_as_onnxruntime("TreeEnsembleRegressor", attrs, x, native=True)


@pytest.mark.parametrize("after", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_classes(after: str) -> None:
    attrs = {**forest("class", ids=(0, 1, 2)), "classlabels_int64s": [5, 7, 9], "post_transform": after}
    assert_as_onnxruntime("TreeEnsembleClassifier", attrs, rows(), native=after == "SOFTMAX")
    assert_as_onnxruntime("TreeEnsembleClassifier", {**attrs, "base_values": [0.5, -0.25, 0.0]}, rows())


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("after", ["NONE", "LOGISTIC"])
def test_two_classes_of_one_score(after: str, share: float | None) -> None:
    attrs = {**forest("class", "LT", share=share), "classlabels_int64s": [3, 1], "post_transform": after}
    for base in ({}, {"base_values": [-0.25]}):
        assert_as_onnxruntime("TreeEnsembleClassifier", {**attrs, **base}, rows())


STUMP = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "n_targets": 1,
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes_falsenodeids": [3, 0, 0]}, "the tree 0 has no node 3"),
        ({"nodes_falsenodeids": [1, 0, 0]}, "one is reached on two ways"),
        ({"nodes_falsenodeids": [0, 0, 0]}, "go round in a circle"),
        ({"nodes_featureids": [4, 0, 0]}, "features beyond the 4 columns of its input"),
        ({"nodes_featureids": [-1, 0, 0]}, "features beyond the 4 columns of its input"),
        ({"nodes_featureids": [1 << 40, 0, 0]}, "features beyond the 4 columns of its input"),
        ({"nodes_modes": [b"\xff", "LEAF", "LEAF"]}, "its nodes are of the modes \ufffd"),
        ({"target_nodeids": [1, 1]}, "the node 1 of the tree 0 has two weights for the target 0"),
        ({"base_values": [1.0, 2.0]}, "`base_values` has 2 numbers, not 1"),
        ({"n_targets": 3, "base_values": [1.0]}, "`base_values` has 1 numbers, not 3"),
        ({"nodes_values": [0.5]}, "`nodes_values` has 1 entries, and it has 3 nodes"),
        ({"nodes_nodeids": [0, 1, 1]}, "two of its nodes have one number"),
        ({"nodes_modes": ["BRANCH_IN", "LEAF", "LEAF"]}, "its nodes are of the modes BRANCH_IN"),
        ({"target_ids": [0, 1]}, "there is no target 1: it has 1"),
        ({"target_weights": [1.0]}, "are not of one length"),
        ({"n_targets": 1 << 30}, "more than is supported"),
        ({"aggregate_function": "MEAN"}, "there is no aggregate function MEAN"),
        ({"post_transform": "SOFTMAX"}, "the transform SOFTMAX of one target"),
        ({"post_transform": "ARGMAX", "n_targets": 2}, "there is no transform ARGMAX"),
    ],
)
def test_what_is_not_supported(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of("TreeEnsembleRegressor", {**STUMP, **change}))


def test_columns_that_only_the_caller_knows() -> None:
    model = model_of("TreeEnsembleRegressor", STUMP, None)
    with pytest.raises(DiagnosticError, match="the number of columns of its input, `x_1`, is not known") as caught:
        tirscript.from_onnx(model)
    assert "`shapes={'x': (None, 8)}`" in str(caught.value)
    found = tirscript.interpret(tirscript.from_onnx(model, shapes={"x": (None, COLUMNS)}), rows())
    np.testing.assert_array_equal(found[:, 0], np.where(rows()[:, 1] <= 0.5, 1, 2))


def test_what_leaves_have_for_a_feature_is_not_looked_at() -> None:
    for other in (-2, 1000, 1 << 40):
        attrs = {**STUMP, "nodes_featureids": [1, other, other]}
        assert_as_onnxruntime("TreeEnsembleRegressor", attrs, rows(), native=True)


def test_a_function_has_a_tensor_for_what_is_missing_only_where_a_node_asks_for_it() -> None:
    for missing in (False, True):
        model = model_of("TreeEnsembleRegressor", forest("target", missing=missing))
        assert ("nan: T.Buffer((" in str(tirscript.from_onnx(model))) is missing


@pytest.mark.parametrize(
    ("ids", "change", "words"),
    [
        ((0, 1), {"classlabels_int64s": [0, 1]}, "two classes with scores of their own"),
        ((1,), {"classlabels_int64s": [0, 1]}, "two classes with scores of their own"),
        ((0,), {"classlabels_int64s": [0]}, "it has one class, which is not supported"),
        ((0,), {"classlabels_int64s": [0, 1], "post_transform": "SOFTMAX"}, "the transform SOFTMAX of one score"),
        ((0,), {"classlabels_int64s": [0, 1], "base_values": [0.5, 0.5]}, "`base_values` has 2 numbers, not 1"),
        ((0, 1), {"classlabels_strings": ["a", "b"]}, "labels of its classes are text"),
        ((0, 2), {"classlabels_int64s": [0, 1, 2]}, "the class 1 has no score for some rows"),
        ((0, 1), {"classlabels_int64s": [0, 1, 2]}, "the class 2 has no score for some rows"),
    ],
)
def test_classes_that_are_not_supported(ids: tuple[int, ...], change: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of("TreeEnsembleClassifier", {**forest("class", ids=ids), **change}))


def test_classes_without_scores_that_are_no_matter() -> None:
    attrs = {**forest("class", ids=(0, 2), share=0.5), "classlabels_int64s": [4, 5, 6]}
    assert_as_onnxruntime("TreeEnsembleClassifier", attrs, rows())
    attrs = {**forest("class", ids=(0, 2)), "classlabels_int64s": [4, 5, 6], "base_values": [0.0, -0.5, 0.5]}
    assert_as_onnxruntime("TreeEnsembleClassifier", attrs, rows())
    # each leaf of a tree has a score of one class, as boosted trees have
    attrs = forest("class", ids=(0,))
    attrs = {**attrs, "class_ids": [tree % 3 for tree in attrs["class_treeids"]], "classlabels_int64s": [4, 5, 6]}
    assert_as_onnxruntime("TreeEnsembleClassifier", attrs, rows())
