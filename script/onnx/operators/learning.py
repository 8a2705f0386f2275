"""Operators of `ai.onnx.ml` on tensors of numbers, which exporters of pipelines such as scikit-learn's write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir.constant import constant
from tirscript.ir.dtype import dtype
from tirscript.ir.graph import GraphConst, GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

DOMAIN = "ai.onnx.ml"
_FLOAT = dtype("float32")


def learning_op(name: str) -> Callable[[Any], Any]:
    """Register a rule for an operator of this domain."""
    return onnx_op(f"{DOMAIN}.{name}")


def floats(node: Node) -> GraphExpr:
    """The input as float32, which the results are of."""
    x = node.tensor(0)
    return x if node.dtype(x) is _FLOAT else node.op("astype", x, "float32")


def numbers(values: Any, kind: str = "float32") -> GraphExpr:
    """Numbers of an attribute, or an array of them, as a tensor."""
    import numpy as np

    return GraphConst(constant(np.asarray(values, kind)))


def vector(node: Node, name: str, values: Sequence[Any], count: int | None, kind: str = "float32") -> GraphExpr:
    """Numbers for the columns, or one for all of them."""
    if count is not None and len(values) not in (1, count):
        raise node.wrong(f"its attribute `{name}` has {len(values)} numbers, and its input {count} columns")
    return numbers(values, kind)


def columns_of(node: Node, x: GraphExpr) -> int | None:
    shape = node.shape(x)
    if not shape:
        raise node.wrong("its input must have 1 dimension or more, not 0")
    return dims.number(shape[-1])


@learning_op("Scaler")
def scaler(node: Node) -> GraphExpr:
    x = floats(node)
    count = columns_of(node, x)
    offset = vector(node, "offset", node.attr("offset", [0.0]), count)
    scale = vector(node, "scale", node.attr("scale", [1.0]), count)
    return node.last("multiply", node.op("subtract", x, offset), scale)


@learning_op("Binarizer")
def binarizer(node: Node) -> GraphExpr:
    x, threshold = node.tensor(0), float(node.attr("threshold", 0.0))
    kind = node.dtype(x)
    if kind.is_float:
        above = node.op("greater", x, node.constant(threshold, kind))
    else:
        above = _above(node, x, threshold, *kind.int_range())
    return node.last("astype", above, str(kind))


def _above(node: Node, x: GraphExpr, threshold: float, least: int, most: int) -> GraphExpr:
    """Whether integers are above a number, as all are or none where it is beyond them; nothing is above nan."""
    if threshold < least:
        return node.op("greater_equal", x, node.constant(least, node.dtype(x)))
    # an integer is above what it is above the whole part of
    whole = math.floor(threshold) if threshold < most else most
    return node.op("greater", x, node.constant(whole, node.dtype(x)))


@learning_op("Normalizer")
def normalizer(node: Node) -> GraphExpr:
    """Each row divided by its greatest element, the sum of their sizes or the root of that of their squares, unless
    that is 0."""
    x, norm = floats(node), str(node.attr("norm", "MAX"))
    if norm not in ("MAX", "L1", "L2"):
        raise node.wrong(f"the norm {norm} is not supported", "one of MAX, L1, L2 is")
    columns_of(node, x)
    if norm == "MAX":
        size = node.op("max", x, axis=[-1], keepdims=True)
    elif norm == "L1":
        size = node.op("sum", node.op("abs", x), axis=[-1], keepdims=True)
    else:
        size = node.op("sqrt", node.op("sum", node.op("multiply", x, x), axis=[-1], keepdims=True))
    nothing = node.op("equal", size, node.constant(0.0, _FLOAT))
    return node.last("divide", x, node.op("where", nothing, node.constant(1.0, _FLOAT), size))


@learning_op("LinearRegressor")
def linear_regressor(node: Node) -> GraphExpr:
    """Products with a row of numbers for each target."""
    targets, after = int(node.attr("targets", 1)), str(node.attr("post_transform", "NONE"))
    if after != "NONE":
        raise node.wrong(f"the transform {after} of its results is not supported", "`NONE` is")
    return node.last("add", *_products(node, targets))


@learning_op("LinearClassifier")
def linear_classifier(node: Node) -> tuple[GraphExpr, ...]:
    """The label of the class with the greatest score, and the scores; one score is that of the second of two classes,
    as onnxruntime reads it."""
    labels = labels_of(node, "classlabels_ints")
    count = len(node.attr("intercepts", []))
    if count != len(labels) and (count, len(labels)) != (1, 2):
        raise node.wrong(f"its attribute `intercepts` has {count} numbers, not {len(labels)}")
    scores = node.op("add", *_products(node, count))
    if count > 1:
        best = node.op("argmax", scores, axis=1)
        return node.op("take", numbers(labels, "int64"), best, axis=0), transformed(node, scores)
    return of_one_score(node, scores, labels, probable=False, complement=node.attr("post_transform", "NONE") == "NONE")


def of_one_score(
    node: Node, score: GraphExpr, labels: list[int], *, probable: bool, complement: bool
) -> tuple[GraphExpr, ...]:
    """Labels and scores of two classes by one score, a column, which is that of the second: a probability, or positive
    where this is chosen. The score of the first is what is missing to one, the `complement`, or the negative."""
    after = str(node.attr("post_transform", "NONE"))
    if len(labels) != 2:
        raise node.wrong("it has one class, which is not supported", "two and more are")
    if after not in ("NONE", "LOGISTIC"):
        hint = "`NONE` and `LOGISTIC` are for two classes"
        raise node.wrong(f"the transform {after} of one score is not supported", hint)
    positive = node.op("greater", score, node.constant(0.5 if probable else 0.0, _FLOAT))
    chosen = node.op("squeeze", node.op("astype", positive, "int64"), [1])
    if complement:
        other = node.op("subtract", node.constant(1.0, _FLOAT), score)
    else:
        other = node.op("negative", score)
    both = transformed(node, node.op("concat", (other, score), axis=1))
    return node.op("take", numbers(labels, "int64"), chosen, axis=0), both


def _products(node: Node, targets: int) -> tuple[GraphExpr, GraphExpr]:
    """Products with a row of coefficients for each target, and what is to be added to them."""
    import numpy as np

    x = floats(node)
    given = np.asarray(node.attr("coefficients", []), np.float32)
    if len(node.shape(x)) == 1:
        x = node.op("reshape", x, ShapeExpr((dims.ONE, node.shape(x)[0])))
    columns = dims.number(node.shape(x, 2)[1])
    if targets < 1 or given.size % targets or columns not in (None, given.size // targets):
        raise node.wrong(f"its {given.size} coefficients are not {targets} for each column")
    weights = GraphConst(constant(np.ascontiguousarray(given.reshape(targets, -1).T)))
    intercepts = node.attr("intercepts", [0.0] * targets)
    if len(intercepts) != targets:
        raise node.wrong(f"its attribute `intercepts` has {len(intercepts)} numbers, not {targets}")
    return node.op("matmul", x, weights), numbers(intercepts)


def labels_of(node: Node, name: str) -> list[int]:
    """The labels of classes, which are numbers."""
    labels: list[int] = node.attr(name, [])
    if not labels:
        raise node.wrong("the labels of its classes are text, which is not supported", f"`{name}` are")
    return labels


def transformed(node: Node, found: GraphExpr, after: str | None = None) -> GraphExpr:
    """Scores after a transform, that which the node asks for where none is given."""
    after = str(node.attr("post_transform", "NONE")) if after is None else after
    if after == "NONE":
        return found
    if after == "LOGISTIC":
        return node.op("sigmoid", found)
    if after == "SOFTMAX":
        return node.op("nn.softmax", found, axis=-1)
    if after == "SOFTMAX_ZERO":
        return _softmax_of_others(node, found)
    if after == "PROBIT":
        return _probit(node, found)
    raise node.wrong(f"there is no transform {after}", "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT are")


def _softmax_of_others(node: Node, found: GraphExpr) -> GraphExpr:
    """A softmax in which what is about 0 stays so: it is divided by what the greatest is divided by."""
    kind = node.dtype(found)
    most = node.op("max", found, axis=[-1], keepdims=True)
    near = node.op("less_equal", node.op("abs", found), node.constant(1e-7, kind))
    kept = node.op("multiply", found, node.op("exp", node.op("negative", most)))
    parts = node.op("where", near, kept, node.op("exp", node.op("subtract", found, most)))
    whole = node.op("sum", parts, axis=[-1], keepdims=True)
    nothing = node.op("equal", whole, node.constant(0.0, kind))
    one = node.constant(1.0, kind)
    shares = node.op("divide", parts, node.op("where", nothing, one, whole))
    return node.op("where", nothing, node.constant(0.5, kind), shares)


def _probit(node: Node, found: GraphExpr) -> GraphExpr:
    """The deviation of which a normal distribution has this share below it, by the approximation of Winitzki that
    onnxruntime and the reference have.
    """

    def of(op: str, *args: GraphExpr | float) -> GraphExpr:
        return node.op(op, *(node.constant(one, kind) if isinstance(one, float) else one for one in args))

    kind, a = node.dtype(found), 0.147
    x = of("subtract", of("multiply", found, 2.0), 1.0)
    log = of("log", of("multiply", of("subtract", 1.0, x), of("add", 1.0, x)))
    middle = of("add", of("multiply", log, 0.5), 2.0 / (math.pi * a))
    root = of("sqrt", of("subtract", of("multiply", middle, middle), of("divide", log, a)))
    size = of("multiply", of("sqrt", of("subtract", root, middle)), math.sqrt(2.0))
    return of("where", of("less", x, 0.0), of("negative", size), size)


__all__ = [
    "DOMAIN",
    "columns_of",
    "floats",
    "labels_of",
    "learning_op",
    "numbers",
    "of_one_score",
    "transformed",
    "vector",
]
