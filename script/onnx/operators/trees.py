"""Ensembles of decision trees of `ai.onnx.ml`: random forests and boosted trees, as exporters of scikit-learn, XGBoost
and LightGBM write them."""

from __future__ import annotations

from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.dtype import dtype
from tirscript.ir.graph import FunctionRef, GraphConst, GraphExpr, OpCall, TensorType, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.calls import CALL_TIR

from ..forest_kernel import Forest
from ..node import Node
from .learning import floats, labels_of, learning_op, numbers, of_one_score, transformed

COMPARISONS = {"LEQ": "<=", "LT": "<", "GTE": ">=", "GT": ">", "EQ": "==", "NEQ": "!="}
MOST = 1 << 26  # what leaves add to targets, which is a table of both
_FLOAT = dtype("float32")


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
        self.value = np.asarray(self.listed("nodes_values"), np.float32)
        modes = [
            one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in self.listed("nodes_modes")
        ]
        self.leaf = np.array([mode == "LEAF" for mode in modes])
        self.comparison = self.comparison_of({mode for mode in modes if mode != "LEAF"})
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

    def comparison_of(self, modes: set[str]) -> str:
        """How all of them compare."""
        names = {mode.removeprefix("BRANCH_") for mode in modes}
        if len(names) > 1 or not names <= COMPARISONS.keys():
            says = ", ".join(sorted(modes))
            raise self.node.wrong(
                f"its nodes are of the modes {says}", "nodes that all compare in one way are supported"
            )
        return COMPARISONS[names.pop()] if names else "<="

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
    import numpy as np

    if "nodes_values_as_tensor" in node.attrs or str(node.dtype(node.tensor(0))) == "float64":
        raise node.wrong("it is computed in float64, which is not supported", "float32 is")
    x = floats(node)
    rows, columns = node.shape(x, 2)
    width, size = dims.number(columns), dims.number(rows)
    if width is None:
        name = next((one.name for one in node.importer.graph.input), "x")
        hint = f"say the shapes of the inputs of the model to `from_onnx`, such as `shapes={{{name!r}: (None, 8)}}`"
        raise node.wrong(f"the number of columns of its input, `{dims.text(columns)}`, is not known", hint)
    nodes = _Nodes(node)
    used = nodes.feature[~nodes.leaf]  # leaves have any number there, of scikit-learn -2
    if ((used < 0) | (used >= width)).any():
        raise node.wrong(f"its nodes have features beyond the {width} columns of its input")
    missing = bool(nodes.nan.any())
    count, trees = len(nodes.leaf), len(nodes.roots)
    forest = Forest("rows" if size is None else size, width, count, trees, targets, nodes.comparison, missing)
    arrays = (
        np.where(nodes.leaf, 0, nodes.feature).astype(np.int32),
        nodes.value,
        nodes.yes.astype(np.int32),
        nodes.no.astype(np.int32),
        *((nodes.nan,) if missing else ()),
        np.asarray(nodes.roots, np.int32),
        _weights(node, nodes, kind, targets),
    )
    args = TupleExpr((x, *(GraphConst(constant(np.ascontiguousarray(one))) for one in arrays)))
    kept = TensorType((rows, dims.dim(targets)), _FLOAT)
    called = OpCall(CALL_TIR, (FunctionRef(node.importer.function(forest)), args), types=(kept,))
    found = node.importer.emit(called, f"{node.output}_totals")
    aggregate = str(node.attr("aggregate_function", "SUM"))
    if aggregate not in ("SUM", "AVERAGE"):
        raise node.wrong(f"the aggregate function {aggregate} is not supported", "`SUM` and `AVERAGE` are")
    if aggregate == "AVERAGE":
        found = node.op("divide", found, node.constant(float(trees), _FLOAT))
    return found


def _weights(node: Node, nodes: _Nodes, kind: str, targets: int) -> Any:
    """What each node adds to each target: the leaves say it in four attributes."""
    import numpy as np

    count, what = len(nodes.leaf), "target" if kind == "target" else "class"
    if count * targets > MOST:
        raise node.wrong(f"its {count} nodes and {targets} targets are more than is supported")
    given = [node.attr(f"{kind}_{name}", []) for name in ("treeids", "nodeids", "ids", "weights")]
    if len({len(one) for one in given}) != 1:
        raise node.wrong(f"its attributes `{kind}_...` are not of one length")
    weight = np.zeros((count, targets), np.float32)
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

    if node.attr("base_values", []) or min(node.attr("class_weights", []), default=0) > 0:
        return
    trees, tree = np.unique(nodes.trees, return_inverse=True)
    lacking = np.zeros((len(trees), listed.shape[1]), bool)
    np.logical_or.at(lacking, tree[nodes.leaf], ~listed[nodes.leaf])
    without = np.flatnonzero(lacking.all(axis=0))
    if len(without):
        hint = "a tree whose leaves all have a weight for it is enough, and so are `base_values`"
        raise node.wrong(f"the class {without[0]} has no score for some rows, which is not supported", hint)


def _with_base(node: Node, found: GraphExpr, count: int) -> GraphExpr:
    """Sums with the values that they begin from."""
    base = node.attr("base_values", [])
    if not base:
        return found
    if len(base) != count:
        raise node.wrong(f"its attribute `base_values` has {len(base)} numbers, not {count}")
    return node.op("add", found, numbers(base))


@learning_op("TreeEnsembleRegressor")
def tree_ensemble_regressor(node: Node) -> GraphExpr:
    targets = int(node.attr("n_targets", 1))
    if targets < 1:
        raise node.wrong(f"it has {targets} targets")
    after = str(node.attr("post_transform", "NONE"))
    if after != "NONE":  # onnxruntime leaves single targets as they are
        raise node.wrong(f"the transform {after} of its results is not supported", "`NONE` is")
    return _with_base(node, _totals(node, "target", targets), targets)


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
    probable = min(node.attr("class_weights", [0.0])) >= 0
    complement = probable and node.attr("post_transform", "NONE") == "NONE"
    return of_one_score(node, score, labels, probable=probable, complement=complement)


__all__ = ["tree_ensemble_classifier", "tree_ensemble_regressor"]
