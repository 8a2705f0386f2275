"""Support vector machines of `ai.onnx.ml`, as exporters of scikit-learn and libsvm write them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.dtype import dtype
from tirscript.ir.graph import GraphConst, GraphExpr, TensorType
from tirscript.ir.graph_ops import dims

from ..coupling_kernel import Coupling
from ..node import Node
from .learning import floats, labels_of, learning_op, numbers, transformed

_FLOAT = dtype("float32")
_SURE = 1e-7  # what a probability of a pair is apart from 0 and 1, at least


@learning_op("SVMClassifier")
def svm_classifier(node: Node) -> tuple[GraphExpr, ...]:
    """The label that most pairs of classes vote for, the first of those, and how sure the pairs are, or with
    probabilities how probable the classes are."""
    import numpy as np

    labels, after = labels_of(node, "classlabels_ints"), str(node.attr("post_transform", "NONE"))
    x, counts = floats(node), [int(one) for one in node.attr("vectors_per_class", [])]
    if len(labels) < 2:
        raise node.wrong("it has one class, which is not supported", "two and more are")
    if not sum(counts):
        raise node.wrong("it has no support vectors, which is not supported", "`LinearClassifier` is such a model")
    if len(counts) != len(labels):
        raise node.wrong(f"it has vectors of {len(counts)} classes, and {len(labels)} labels")
    near = _kernel(node, x, sum(counts), str(node.attr("kernel_type", "LINEAR")))
    pairs = list(combinations(range(len(labels)), 2))
    rho = _of_pairs(node, "rho", len(pairs))
    scores = node.op("add", node.op("matmul", near, numbers(_weights(node, counts, pairs))), rho)
    first, second = (np.eye(len(labels), dtype=np.float32)[[pair[at] for pair in pairs]] for at in (0, 1))
    positive = node.op("astype", node.op("greater", scores, node.constant(0.0, _FLOAT)), "float32")
    votes = node.op("add", node.op("matmul", positive, numbers(first - second)), numbers(second.sum(0)))
    label = node.op("take", numbers(labels, "int64"), node.op("argmax", votes, axis=1), axis=0)
    if node.attr("prob_a", []):
        return label, transformed(node, _probabilities(node, scores, len(labels), len(pairs)))
    if len(labels) > 2:
        return label, transformed(node, scores)
    if after != "NONE":
        raise node.wrong(f"the transform {after} of one score is not supported", "`NONE` is for two classes")
    return label, node.op("concat", (node.op("negative", scores), scores), axis=1)


def _weights(node: Node, counts: list[int], pairs: list[tuple[int, int]]) -> Any:
    """What each vector counts for each pair of classes: those of both have a coefficient for each other class."""
    import numpy as np

    given = np.asarray(node.attr("coefficients", []), np.float32)
    if given.size != (len(counts) - 1) * sum(counts):
        raise node.wrong(f"it has {given.size} coefficients, not {len(counts) - 1} for each of {sum(counts)} vectors")
    rows = given.reshape(len(counts) - 1, sum(counts))
    starts = np.cumsum([0, *counts])
    found = np.zeros((sum(counts), len(pairs)), np.float32)
    for at, (i, j) in enumerate(pairs):
        for own, row in ((i, rows[j - 1]), (j, rows[i])):
            part = slice(starts[own], starts[own + 1])
            found[part, at] = row[part]
    return found


def _of_pairs(node: Node, name: str, count: int) -> GraphExpr:
    """An attribute that has a number for each pair of classes."""
    found = node.attr(name, [])
    if len(found) != count:
        raise node.wrong(f"its attribute `{name}` has {len(found)} numbers, and it has {count} pairs of classes")
    return numbers(found)


def _probabilities(node: Node, scores: GraphExpr, classes: int, pairs: int) -> GraphExpr:
    """How probable classes are by the scores of pairs of them."""
    slope, shift = (_of_pairs(node, name, pairs) for name in ("prob_a", "prob_b"))
    fitted = node.op("add", node.op("multiply", scores, slope), shift)
    first = node.op("sigmoid", node.op("negative", fitted))
    sure = node.op("clip", first, _SURE, 1 - _SURE)
    rows = node.shape(scores)[0]
    size = dims.number(rows)
    kept = TensorType((rows, dims.dim(classes)), _FLOAT)
    return node.call(Coupling("rows" if size is None else size, classes), (sure,), (kept,), "coupled")


@learning_op("SVMRegressor")
def svm_regressor(node: Node) -> GraphExpr:
    """What the kernels of a row with the support vectors add up to."""
    x, count = floats(node), int(node.attr("n_supports", 0))
    after, kind = str(node.attr("post_transform", "NONE")), str(node.attr("kernel_type", "LINEAR"))
    if after != "NONE" or int(node.attr("one_class", 0)):
        raise node.wrong("what becomes of its results is not supported", "sums as they are, with `NONE`, are")
    near = _kernel(node, x, count, kind)
    weights, rho = node.attr("coefficients", []), node.attr("rho", [])
    if len(weights) != count or len(rho) != 1:
        raise node.wrong(f"it has {len(weights)} coefficients and {len(rho)} numbers `rho`, not {count} and 1")
    column = node.op("reshape", numbers(weights), (count, 1))
    return node.last("add", node.op("matmul", near, column), numbers(rho))


def _kernel(node: Node, x: GraphExpr, count: int, kind: str) -> GraphExpr:
    """How near each row is to each of so many support vectors."""
    import numpy as np

    given = np.asarray(node.attr("support_vectors", []), np.float32)
    columns = dims.number(node.shape(x, 2)[1])
    if count < 1 or given.size % count or columns not in (None, given.size // count):
        raise node.wrong(f"its {given.size} numbers are not {count} support vectors of the columns of its input")
    vectors = given.reshape(count, -1)
    gamma, shift, degree = (*node.attr("kernel_params", []), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        apart = node.op("subtract", node.op("expand_dims", x, [1]), GraphConst(constant(vectors)))
        squares = node.op("sum", node.op("multiply", apart, apart), axis=[-1])
        return node.op("exp", node.op("multiply", squares, node.constant(-gamma, _FLOAT)))
    found = node.op("matmul", x, GraphConst(constant(np.ascontiguousarray(vectors.T))))
    if kind == "LINEAR":
        return found
    found = node.op("multiply", found, node.constant(gamma, _FLOAT))
    found = node.op("add", found, node.constant(shift, _FLOAT))
    if kind == "SIGMOID":
        return node.op("tanh", found)
    if kind == "POLY":
        return node.op("power", found, node.constant(degree, _FLOAT))
    raise node.wrong(f"the kernel {kind} is not supported", "one of LINEAR, POLY, RBF, SIGMOID is")


__all__: list[str] = []
