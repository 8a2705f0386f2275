"""Trees as arrays of their nodes, however an operator writes them, and what their leaves add up to for each row."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.ir.constant import constant
from tirscript.ir.dtype import FLOAT32, FLOAT64
from tirscript.ir.graph import GraphConst, GraphExpr, TensorType
from tirscript.ir.graph_ops import dims

from ..forest_kernel import ABOVE, BELOW, EQUAL, NEITHER, Forest
from ..node import Node
from .learning import transformed

COMPARISONS = {"LEQ": "<=", "LT": "<", "GTE": ">=", "GT": ">", "EQ": "==", "NEQ": "!="}
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")  # by their numbers
_SIDES = {
    "LEQ": BELOW | EQUAL,
    "LT": BELOW,
    "GTE": ABOVE | EQUAL,
    "GT": ABOVE,
    "EQ": EQUAL,
    "NEQ": BELOW | ABOVE | NEITHER,
}
MOST = 1 << 26  # what leaves add to targets, which is a table of both


class Trees(Struct):
    """The nodes of all trees as arrays, their roots, and what each node adds to each target, nan where that is nothing.

    A leaf is its own `yes` and its own `no`. `nan` says whether a node goes to `yes` where its feature is nan.
    """

    feature: Any
    value: Any
    yes: Any
    no: Any
    leaf: Any
    modes: list[str]
    nan: Any
    roots: list[int]
    weight: Any

    def comparison(self) -> str | None:
        """How all nodes compare; None where they differ."""
        modes = set(self.modes) - {"LEAF"}
        return None if len(modes) > 1 else COMPARISONS[modes.pop()] if modes else "<="

    def sides(self) -> Any:
        """For which places beside its value each node goes to `yes`. Nothing is beside nan, which only `NEQ` takes."""
        import numpy as np

        sides = [_SIDES.get(mode, 0) | (NEITHER if nan else 0) for mode, nan in zip(self.modes, self.nan, strict=True)]
        beside = [(BELOW | EQUAL | ABOVE if mode == "NEQ" else 0) for mode in self.modes]
        return np.where(np.isnan(self.value), np.bitwise_and(sides, NEITHER) | beside, sides).astype(np.int32)


def wide(*given: Any) -> Any:
    """The type that an ensemble is computed in: float64 where it, or an array of it, is of that."""
    return FLOAT64 if any(str(one) == "float64" for one in given) else FLOAT32


def totals(node: Node, trees: Trees, aggregate: str) -> GraphExpr:
    """What the leaves come to for each row and target."""
    import numpy as np

    if aggregate not in AGGREGATES:
        raise node.wrong(f"there is no aggregate function {aggregate}", f"{', '.join(AGGREGATES)} are")
    rows, width = _rows(node)
    used = trees.feature[~trees.leaf]  # leaves have any number there, of scikit-learn -2
    if ((used < 0) | (used >= width)).any():
        raise node.wrong(f"its nodes have features beyond the {width} columns of its input")
    kind = wide(node.dtype(node.tensor(0)), trees.value.dtype, trees.weight.dtype)
    numpy_kind, (count, targets), size = str(kind), trees.weight.shape, dims.number(rows)
    summed, comparison = aggregate in ("SUM", "AVERAGE"), trees.comparison()
    value = trees.value.astype(numpy_kind)
    missing = bool(trees.nan.any()) and comparison is not None
    told = () if comparison is not None and not missing else (trees.nan if missing else trees.sides(),)
    if comparison is None:
        value = np.where(np.isnan(value), 0, value)
    forest = Forest(
        "rows" if size is None else size, width, count, len(trees.roots), targets, comparison, missing, numpy_kind,
        "sum" if summed else aggregate.lower(),
    )  # fmt: skip
    arrays = (
        np.where(trees.leaf, 0, trees.feature).astype(np.int32),
        value,
        trees.yes.astype(np.int32),
        trees.no.astype(np.int32),
        *(one.astype(np.int32) for one in told),
        np.asarray(trees.roots, np.int32),
        np.nan_to_num(trees.weight, nan=0.0, posinf=np.inf, neginf=-np.inf) if summed else trees.weight,
    )
    arrays = (*arrays[:-1], arrays[-1].astype(numpy_kind))
    x = node.tensor(0)
    x = x if node.dtype(x) is kind else node.op("astype", x, numpy_kind)
    kept = TensorType((rows, dims.dim(targets)), kind)
    given = (x, *(GraphConst(constant(np.ascontiguousarray(one))) for one in arrays))
    found = node.call(forest, given, (kept,), "totals")
    if aggregate == "AVERAGE":
        return node.op("divide", found, node.constant(float(len(trees.roots)), kind))
    if not summed and np.isnan(trees.weight[trees.leaf]).any():  # a target that no leaf of a row is of has 0
        return node.op("where", node.op("isnan", found), node.constant(0.0, kind), found)
    return found


def after_totals(node: Node, found: GraphExpr, targets: int, after: str) -> GraphExpr:
    """The totals of targets after a transform."""
    if targets == 1 and after not in ("NONE", "PROBIT"):  # onnxruntime leaves single targets as they are
        raise node.wrong(f"the transform {after} of one target is not supported", "`NONE` and `PROBIT` are")
    return transformed(node, found, after)


def _rows(node: Node) -> tuple[Any, int]:
    """How many rows the input has, and its columns, whose number is known."""
    rows, columns = node.shape(node.tensor(0), 2)
    width = dims.number(columns)
    if width is None:
        name = next((one.name for one in node.importer.graph.input), "x")
        hint = f"say the shapes of the inputs of the model to `from_onnx`, such as `shapes={{{name!r}: (None, 8)}}`"
        raise node.wrong(f"the number of columns of its input, `{dims.text(columns)}`, is not known", hint)
    return rows, width


__all__ = ["AGGREGATES", "COMPARISONS", "MOST", "Trees", "after_totals", "totals", "wide"]
