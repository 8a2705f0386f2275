"""Operators of `ai.onnx.ml` that prepare features: columns that are taken, values put for missing ones, categories."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from tirscript.ir.dtype import FLOAT32, INT64, dtype
from tirscript.ir.graph import GraphExpr, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .learning import columns_of, learning_op, numbers, vector


@learning_op("ZipMap")
def zip_map(node: Node) -> GraphExpr:
    """The columns as they are, of which the operator makes dictionaries by the labels of classes, a row each."""
    x = node.tensor(0)
    labels = node.attr("classlabels_int64s", []) or node.attr("classlabels_strings", [])
    count, columns = len(labels), columns_of(node, x)
    if columns not in (None, count):
        raise node.wrong(f"it has {count} labels, and its input {columns} columns")
    return x


@learning_op("FeatureVectorizer")
def feature_vectorizer(node: Node) -> GraphExpr:
    """The columns of all inputs beside each other."""
    columns = [dims.number(node.shape(one, 2)[1]) for one in node.tensors()]
    said = node.listed("inputdimensions", len(columns))
    for have, wanted in zip(columns, said, strict=True):
        if have not in (None, wanted):
            raise node.wrong(f"an input has {have} columns, not {wanted}", "as many as it says are supported")
    parts = [one if node.dtype(one) is FLOAT32 else node.op("astype", one, "float32") for one in node.tensors()]
    return node.last("concat", parts, axis=1)


@learning_op("ArrayFeatureExtractor")
def array_feature_extractor(node: Node) -> GraphExpr:
    """Elements of the last axis; those of a vector are one row."""
    x, at = node.tensors()
    size = columns_of(node, x)
    data = node.data(1)
    if data is not None and size is not None and not ((data.array >= 0) & (data.array < size)).all():
        raise node.wrong(f"its indices {data.array.reshape(-1).tolist()} are not all of {size} elements")
    found = node.op("take", x, node.op("reshape", at, (-1,)), axis=-1, mode="fast" if size and data else "wrap")
    shape = node.shape(found)
    return found if len(shape) > 1 else node.last("reshape", found, ShapeExpr((dims.ONE, *shape)))


@learning_op("Imputer")
def imputer(node: Node) -> GraphExpr:
    """What is missing becomes the number of its column."""
    x = node.tensor(0)
    kind = node.dtype(x)
    suffix = "float" if kind.is_float else "int64"
    values = node.attr(f"imputed_value_{suffix}s", [])
    replaced = node.attr(f"replaced_value_{suffix}", 0.0 if kind.is_float else 0)
    with_number = vector(node, f"imputed_value_{suffix}s", values, columns_of(node, x), str(kind))
    missing = node.op("isnan", x) if math.isnan(replaced) else node.op("equal", x, node.constant(replaced, kind))
    return node.last("where", missing, with_number, x)


@learning_op("OneHotEncoder")
def one_hot_encoder(node: Node) -> GraphExpr:
    """Ones at the category that an element is of, on a new axis."""
    if not int(node.attr("zeros", 1)):
        raise node.wrong("it ends the program at a category that is not known", "`zeros=1` gives none of them a one")
    categories = node.attr("cats_int64s", [])
    if not categories:
        raise node.wrong("its categories are text, which is not supported", "`cats_int64s` are")
    twice = next((one for one, count in Counter(categories).items() if count > 1), None)
    if twice is not None:
        raise node.wrong(f"it has the category {twice} twice")
    x = node.tensor(0)
    found = x if node.dtype(x) is INT64 else node.op("astype", x, "int64")
    if node.dtype(x).is_float:  # nan is the least integer, as onnxruntime has it, and not 0
        found = node.op("where", node.op("isnan", x), node.constant(INT64.int_range()[0], INT64), found)
    return node.last("astype", _equal(node, found, categories), "float32")


def _equal(node: Node, x: GraphExpr, keys: list[Any]) -> GraphExpr:
    """Whether each element is each of the keys, on a new axis."""
    return node.op("equal", node.op("expand_dims", x, [-1]), numbers(keys, str(node.dtype(x))))


@learning_op("LabelEncoder")
def label_encoder(node: Node) -> GraphExpr:
    """The value of the key that an element is; another number where it is none."""
    x = node.tensor(0)
    keys, values = _listed(node, "keys"), _listed(node, "values")
    if len(keys) != len(values):
        raise node.wrong(f"it has {len(keys)} keys and {len(values)} values")
    if any(key != key for key in keys):
        raise node.wrong("one of its keys is nan, which is not supported", "`Imputer` puts a number for nan")
    table: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        table.setdefault(key, value)  # of keys that are there twice the first counts
    kind = "float32" if "values_floats" in node.attrs else "int64"
    other = node.attr("default_float", -0.0) if kind == "float32" else node.attr("default_int64", -1)
    same = node.op("astype", _equal(node, x, list(table)), "int32")
    found = node.op("take", numbers(list(table.values()), kind), node.op("argmax", same, axis=-1), axis=0)
    known = node.op("astype", node.op("max", same, axis=[-1]), "bool")
    return node.last("where", known, found, node.constant(other, dtype(kind)))


def _listed(node: Node, what: str) -> list[Any]:
    """The keys or values of a table, which are numbers."""
    for name in (f"{what}_int64s", f"{what}_floats"):
        if found := node.attr(name, []):
            return list(found)
    raise node.wrong(f"its {what} are no numbers", f"`{what}_int64s` and `{what}_floats` are supported")


__all__ = [
    "array_feature_extractor",
    "feature_vectorizer",
    "imputer",
    "label_encoder",
    "one_hot_encoder",
    "zip_map",
]
