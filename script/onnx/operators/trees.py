"""Ensembles of decision trees of `ai.onnx.ml`: random forests and boosted trees, as exporters of scikit-learn, XGBoost
and LightGBM write them."""

from __future__ import annotations

from typing import Any

from tirscript.ir.dtype import FLOAT32
from tirscript.ir.graph import GraphExpr

from ..node import Node
from .ensembles import COMPARISONS, MOST, Trees, after_totals, totals
from .learning import labels_of, learning_op, numbers, of_one_score, transformed


class _Nodes:
    """The nodes of all trees as arrays, and their roots."""

    def __init__(self, node: Node) -> None:
        import numpy as np

        self.node = node
        self.trees = self.listed("nodes_treeids")
        ids = self.listed("nodes_nodeids")
        self.index = {place: at for at, place in enumerate(zip(self.trees, ids, strict=True))}
        if len(self.index) != len(ids):
            raise node.wrong("two of its nodes have one number")
        if not ids:
            raise node.wrong("it has no nodes")
        self.feature = np.asarray(self.listed("nodes_featureids"), np.int64)
        self.value = _numbers(node, "nodes_values")
        if len(self.value) != len(ids):
            raise node.wrong(f"`nodes_values` has {len(self.value)} entries, and it has {len(ids)} nodes")
        modes = [
            one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in self.listed("nodes_modes")
        ]
        self.leaf = np.array([mode == "LEAF" for mode in modes])
        self.modes = [mode.removeprefix("BRANCH_") for mode in modes]
        unknown = sorted({mode for mode in modes if mode.removeprefix("BRANCH_") not in (*COMPARISONS, "LEAF")})
        if unknown:
            raise node.wrong(
                f"its nodes are of the modes {', '.join(unknown)}", f"{', '.join(COMPARISONS)} are supported"
            )
        missing = node.attr("nodes_missing_value_tracks_true", []) or [0] * len(ids)
        self.nan = (np.asarray(missing, np.int64) != 0).astype(np.int32)
        own = np.arange(len(ids))
        self.yes, self.no = (
            np.where(
                self.leaf,
                own,
                [
                    0 if leaf else self.place(tree, one)
                    for leaf, tree, one in zip(self.leaf, self.trees, given, strict=True)
                ],
            )
            for given in (self.listed("nodes_truenodeids"), self.listed("nodes_falsenodeids"))
        )
        if len(self.nan) != len(ids):
            raise node.wrong(f"`nodes_missing_value_tracks_true` has {len(self.nan)} numbers, not {len(ids)}")
        self.roots = self.rooted()

    def listed(self, name: str) -> list[Any]:
        """An attribute that has one entry for each node."""
        found: list[Any] = self.node.attr(name, [])
        count = len(self.node.attr("nodes_nodeids", []))
        if len(found) != count:
            raise self.node.wrong(f"its attribute `{name}` has {len(found)} entries, and it has {count} nodes")
        return found

    def place(self, tree: int, number: int) -> int:
        found = self.index.get((tree, number))
        if found is None:
            raise self.node.wrong(f"the tree {tree} has no node {number}")
        return found

    def rooted(self) -> list[int]:
        """The root of each tree, from which all its nodes are reached on one way."""
        import numpy as np

        branches = np.flatnonzero(~self.leaf)
        children = [int(side[at]) for at in branches for side in (self.yes, self.no)]
        below = set(children)
        roots = [at for at in range(len(self.leaf)) if at not in below]
        if len(below) != len(children) or len({self.trees[at] for at in roots}) != len(roots):
            raise self.node.wrong("its nodes are no trees: one is reached on two ways, or a tree has two roots")
        reached, waiting = 0, list(roots)
        while waiting:
            at = waiting.pop()
            reached += 1
            waiting += [] if self.leaf[at] else [int(self.yes[at]), int(self.no[at])]
        if reached != len(self.leaf):
            raise self.node.wrong("its nodes are no trees: they go round in a circle")
        return roots


def _totals(node: Node, kind: str, targets: int) -> GraphExpr:
    """What the leaves add up to for each target or class: `kind` is the beginning of their attributes."""
    nodes = _Nodes(node)
    trees = Trees(
        nodes.feature, nodes.value, nodes.yes, nodes.no, nodes.leaf, nodes.modes, nodes.nan, nodes.roots,
        _weights(node, nodes, kind, targets),
    )  # fmt: skip
    return totals(node, trees, str(node.attr("aggregate_function", "SUM")))


def _weights(node: Node, nodes: _Nodes, kind: str, targets: int) -> Any:
    """What each node adds to each target: the leaves say it in four attributes."""
    import numpy as np

    count, what = len(nodes.leaf), "target" if kind == "target" else "class"
    if count * targets > MOST:
        raise node.wrong(f"its {count} nodes and {targets} targets are more than is supported")
    weights = _numbers(node, f"{kind}_weights")
    given = [*(node.attr(f"{kind}_{name}", []) for name in ("treeids", "nodeids", "ids")), weights]
    if len({len(one) for one in given}) != 1:
        raise node.wrong(f"its attributes `{kind}_...` are not of one length")
    weight = np.full((count, targets), np.nan, weights.dtype)
    listed = np.zeros((count, targets), bool)
    for tree, number, target, amount in zip(*given, strict=True):
        if not 0 <= target < targets:
            raise node.wrong(f"there is no {what} {target}: it has {targets}")
        place = nodes.place(tree, number), target
        if listed[place]:
            raise node.wrong(f"the node {number} of the tree {tree} has two weights for the {what} {target}")
        weight[place], listed[place] = amount, True
    if kind == "class" and targets > 2:
        _check_every_class(node, nodes, listed)
    return weight


def _check_every_class(node: Node, nodes: _Nodes, listed: Any) -> None:
    """Refuse a class that rows have no score for, which is then no candidate: one of 0 is, and is the greatest where
    others are below it."""
    import numpy as np

    if len(_numbers(node, "base_values")) or min(_numbers(node, "class_weights"), default=0) > 0:
        return
    trees, tree = np.unique(nodes.trees, return_inverse=True)
    lacking = np.zeros((len(trees), listed.shape[1]), bool)
    np.logical_or.at(lacking, tree[nodes.leaf], ~listed[nodes.leaf])
    without = np.flatnonzero(lacking.all(axis=0))
    if len(without):
        hint = "a tree whose leaves all have a weight for it is enough, and so are `base_values`"
        raise node.wrong(f"the class {without[0]} has no score for some rows, which is not supported", hint)


def _numbers(node: Node, name: str) -> Any:
    """An attribute that is a list of numbers of float32, or a tensor of those of another type under a longer name."""
    import numpy as np

    tensor = node.attr(f"{name}_as_tensor")
    return np.asarray(node.attr(name, []), np.float32) if tensor is None else tensor.reshape(-1)


def _with_base(node: Node, found: GraphExpr, count: int) -> GraphExpr:
    """Sums with the values that they begin from, as float32."""
    base = _numbers(node, "base_values")
    if len(base) not in (0, count):
        raise node.wrong(f"its attribute `base_values` has {len(base)} numbers, not {count}")
    if len(base):
        found = node.op("add", found, numbers(base, str(node.dtype(found))))
    return found if node.dtype(found) is FLOAT32 else node.op("astype", found, "float32")


@learning_op("TreeEnsembleRegressor")
def tree_ensemble_regressor(node: Node) -> GraphExpr:
    targets = int(node.attr("n_targets", 1))
    if targets < 1:
        raise node.wrong(f"it has {targets} targets")
    found = _with_base(node, _totals(node, "target", targets), targets)
    return after_totals(node, found, targets, str(node.attr("post_transform", "NONE")))


@learning_op("TreeEnsembleClassifier")
def tree_ensemble_classifier(node: Node) -> tuple[GraphExpr, ...]:
    """The label of the class with the greatest score, and the scores; of two classes, one score may be for both."""
    labels = labels_of(node, "classlabels_int64s")
    count = len(labels)
    scores = _totals(node, "class", count)
    if count < 3:
        return _of_one_score(node, scores, labels)
    scores = _with_base(node, scores, count)
    best = node.op("argmax", scores, axis=1)
    return node.op("take", numbers(labels, "int64"), best, axis=0), transformed(node, scores)


def _of_one_score(node: Node, scores: GraphExpr, labels: list[int]) -> tuple[GraphExpr, ...]:
    """Labels and scores of two classes by one score, that of the second, which is written as that of class 0: it is a
    probability where no leaf has less than 0. This is how onnxruntime reads what XGBoost and LightGBM are exported to.
    """
    if len(labels) == 2 and set(node.attr("class_ids", [])) != {0}:
        raise node.wrong("two classes with scores of their own are not supported", "one score, of class 0, is")
    score = _with_base(node, node.op("take", scores, numbers([0], "int64"), axis=1), 1)
    probable = bool(min(_numbers(node, "class_weights"), default=0.0) >= 0)
    complement = probable and node.attr("post_transform", "NONE") == "NONE"
    return of_one_score(node, score, labels, probable=probable, complement=complement)


__all__ = ["tree_ensemble_classifier", "tree_ensemble_regressor"]
