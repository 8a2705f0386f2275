"""`TreeEnsemble`, against what a walk over its trees gives, and where onnxruntime reads the node, against that."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.script.onnx.operators.learning import DOMAIN

COLUMNS = 4
COMPARE = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
MEMBER = 6


class Ensemble:
    """Random trees as attributes, each of whose nodes compares in one of `modes`."""

    def __init__(self, modes: tuple[int, ...], targets: int, *, missing: bool = False) -> None:
        self.random = np.random.default_rng(sum(modes) + targets)
        self.modes, self.targets, self.missing = modes, targets, missing
        self.nodes: list[dict[str, Any]] = []
        self.leaves: list[tuple[int, float]] = []
        self.roots = [self.grow(3) for _ in range(4)]

    def grow(self, depth: int) -> int:
        node: dict[str, Any] = {
            "mode": int(self.random.choice(self.modes)),
            "feature": int(self.random.integers(COLUMNS)),
            "split": float(self.random.integers(-4, 5)) / 2,
            "nan": int(self.missing and self.random.random() < 0.5),
        }
        at = len(self.nodes)
        self.nodes.append(node)
        if node["mode"] == MEMBER:
            node["set"] = np.unique(self.random.integers(1, 6, 3) / 2).tolist()
        for side in ("true", "false"):
            node[f"{side}leaf"] = leaf = int(depth == 0 or self.random.random() < 0.3)
            node[side] = len(self.leaves) if leaf else self.grow(depth - 1)
            if leaf:
                self.leaves.append((int(self.random.integers(self.targets)), float(self.random.standard_normal())))
        return at

    def attrs(self, kind: str) -> dict[str, Any]:
        def listed(name: str) -> list[Any]:
            return [one[name] for one in self.nodes]

        def tensor(values: list[Any], of: str = kind) -> Any:
            return numpy_helper.from_array(np.array(values, of))

        sets = [one for node in self.nodes if "set" in node for one in (*node["set"], math.nan)]
        return {
            "tree_roots": self.roots,
            "nodes_modes": tensor(listed("mode"), "uint8"),
            "nodes_splits": tensor(listed("split")),
            "nodes_featureids": listed("feature"),
            "nodes_truenodeids": listed("true"),
            "nodes_falsenodeids": listed("false"),
            "nodes_trueleafs": listed("trueleaf"),
            "nodes_falseleafs": listed("falseleaf"),
            "leaf_targetids": [one for one, _ in self.leaves],
            "leaf_weights": tensor([one for _, one in self.leaves]),
            "n_targets": self.targets,
            **({"nodes_missing_value_tracks_true": listed("nan")} if self.missing else {}),
            **({"membership_values": tensor(sets)} if sets else {}),
        }

    def leaf(self, at: int, row: Any) -> tuple[int, float]:
        node = self.nodes[at]
        value = row[node["feature"]]
        inside = value in node["set"] if node["mode"] == MEMBER else COMPARE[node["mode"]](value, node["split"])
        side = "true" if inside or (node["nan"] and math.isnan(value)) else "false"
        return self.leaves[node[side]] if node[f"{side}leaf"] else self.leaf(node[side], row)

    def totals(self, x: Any, aggregate: int) -> Any:
        found = np.zeros((len(x), self.targets))
        for row, out in zip(x, found, strict=True):
            leaves = [self.leaf(root, row) for root in self.roots]
            for target in range(self.targets):
                own = [weight for at, weight in leaves if at == target]
                sums = (sum(own) / len(self.roots), sum(own), min(own, default=0), max(own, default=0))
                out[target] = sums[aggregate]
        return found


def model_of(attrs: dict[str, Any], kind: str = "float32") -> Any:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], name="tried", domain=DOMAIN, **attrs)
    given = [helper.make_tensor_value_info("x", code, ["n", COLUMNS])]
    results = [helper.make_tensor_value_info("y", code, None)]
    versions = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 5)]
    return helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=versions, ir_version=10)


def rows(kind: str, missing: bool) -> Any:
    x = np.random.default_rng(3).integers(-6, 7, (30, COLUMNS)).astype(kind) / 2
    x[::3, 1] = math.nan if missing else 0
    return x.astype(kind)


@pytest.mark.parametrize("modes", [(0,), (1,), (0, 1, 2, 3, 4, 5), (6,), (0, 6)])
@pytest.mark.parametrize(
    ("kind", "targets", "aggregate", "missing"),
    [("float32", 1, 1, False), ("float32", 3, 0, True), ("float64", 2, 2, True), ("float16", 3, 3, False)],
)
def test_ensembles(modes: tuple[int, ...], kind: str, targets: int, aggregate: int, missing: bool) -> None:
    trees = Ensemble(modes, targets, missing=missing)
    model, x = model_of({**trees.attrs(kind), "aggregate_function": aggregate}, kind), rows(kind, missing)
    wanted = trees.totals(x, aggregate)
    module = tirscript.from_onnx(model)
    runs = [tirscript.interpret(module, x), *([tirscript.build(module)(x)] if len(modes) > 1 else [])]
    if kind == "float32":
        runs += ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for found in runs:
        assert found.dtype == kind
        tolerance = 1e-2 if kind == "float16" else 1e-5
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_transforms_are_of_the_numbers_that_the_standard_gives_them() -> None:
    """Of onnxruntime 1.32, 1 is the logistic function and 2 the softmax."""
    trees, x = Ensemble((0,), 3), rows("float32", False)
    totals = trees.totals(x, 1)
    powers = np.exp(totals)
    for number, wanted in ((0, totals), (1, powers / powers.sum(1, keepdims=True)), (2, 1 / (1 + np.exp(-totals)))):
        found = tirscript.interpret(
            tirscript.from_onnx(model_of({**trees.attrs("float32"), "post_transform": number})), x
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_tree_that_is_one_leaf() -> None:
    attrs = {**STUMP, "nodes_falsenodeids": [0]}
    found = tirscript.interpret(tirscript.from_onnx(model_of(attrs)), rows("float32", False))
    np.testing.assert_array_equal(found, np.ones((30, 1), "float32"))


STUMP: dict[str, Any] = {
    "tree_roots": [0],
    "nodes_modes": numpy_helper.from_array(np.array([0], "uint8")),
    "nodes_splits": numpy_helper.from_array(np.array([0.5], "float32")),
    "nodes_featureids": [1],
    "nodes_truenodeids": [0],
    "nodes_falsenodeids": [1],
    "nodes_trueleafs": [1],
    "nodes_falseleafs": [1],
    "leaf_targetids": [0, 0],
    "leaf_weights": numpy_helper.from_array(np.array([1.0, 2.0], "float32")),
    "n_targets": 1,
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tree_roots": [1]}, r"its roots are \[1\], of 1 nodes"),
        ({"nodes_modes": numpy_helper.from_array(np.array([7], "uint8"))}, "of which only 0 to 6 are known"),
        ({"nodes_modes": numpy_helper.from_array(np.array([6], "uint8"))}, "has no set for a node that asks for one"),
        ({"membership_values": numpy_helper.from_array(np.array([1, np.nan], "float32"))}, "has more sets than it has"),
        ({"nodes_splits": numpy_helper.from_array(np.zeros(2, "float32"))}, "it has 1 nodes with 2 values"),
        ({"nodes_featureids": [4]}, "features beyond the 4 columns"),
        ({"nodes_featureids": [1, 1]}, "`nodes_featureids` has 2 numbers, not 1"),
        ({"nodes_falsenodeids": [2]}, "there is no leaf 2, to which a node goes"),
        ({"nodes_falseleafs": [0]}, "there is no node 1, to which a node goes"),
        ({"nodes_falseleafs": [0], "nodes_falsenodeids": [0]}, "go round in a circle"),
        ({"leaf_targetids": [0, 1]}, "there is no target 1: it has 1"),
        ({"n_targets": 0}, "are none, or more than is supported"),
        ({"aggregate_function": 4}, "its attribute `aggregate_function` is 4; the numbers are 0 to 3"),
        ({"post_transform": 1}, "the transform SOFTMAX of one target is not supported"),
    ],
)
def test_what_is_not_supported(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        tirscript.from_onnx(model_of({**STUMP, **change}))
