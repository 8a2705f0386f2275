"""How often sequences of numbers are in rows of them: what `TfIdfVectorizer` counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from msgspec import Struct

from tirscript.ir.constant import constant
from tirscript.ir.dtype import FLOAT32, INT32, INT64
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphConst, GraphExpr, ShapeExpr, TensorType
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..kernel import functions_in, rows_of
from ..node import Node
from .learning import numbers
from .table import onnx_op

MOST = 1 << 26  # columns of a result


class Counts(Struct, frozen=True):
    """What decides the function: the rows, numbers or names, how long sequences are with how many of each length that
    is looked for, and how many places are skipped between two numbers of one.
    """

    rows: int | str
    length: int | str
    results: int
    grams: tuple[tuple[int, int], ...]
    skips: int
    kind: ClassVar[str] = "Counts"

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function: of rows, and for each length the sequences in their order and the places they have in the
        result.
        """
        pools = "".join(
            f"""
        pool_{size}: T.Buffer(({count}, {size}), "int64"),
        place_{size}: T.Buffer(({count},), "int64"),"""
            for size, count in self.grams
        )
        return functions_in(
            f"""
@I.ir_module
class Sequences:
    @T.prim_func(private=True)
    def {name}(
        x: T.Buffer(({rows_of(self.rows)}, {rows_of(self.length)}), "int64"),
{pools}
        found: T.Buffer(({rows_of(self.rows)}, {self.results}), "float32"),
    ):
        for row in range({self.rows}):
            for at in range({self.results}):
                found[row, at] = 0.0
{"".join(self._counting(size, count) for size, count in self.grams)}
""",
            name,
        )

    def _counting(self, size: int, count: int) -> str:
        """Sequences of one length, each looked for among those that are sorted. Of one number nothing is skipped."""
        steps = "1" if size == 1 else f"T.min({self.skips + 1}, {self.length})"
        return f"""
            for skip in range({steps}):
                for first in range({self.length} - {size - 1} * (skip + 1)):
                    low: T.int64 = 0
                    high: T.int64 = {count}
                    while low < high:
                        middle: T.let[T.int64] = (low + high) // 2
                        order: T.int32 = 0
                        for k in range({size}):
                            if order == 0:
                                if pool_{size}[middle, k] < x[row, first + k * (skip + 1)]:
                                    order = -1
                                elif pool_{size}[middle, k] > x[row, first + k * (skip + 1)]:
                                    order = 1
                        if order == 0:
                            found[row, place_{size}[middle]] = found[row, place_{size}[middle]] + 1.0
                            low = high
                        elif order < 0:
                            low = middle + 1
                        else:
                            high = middle
"""


@onnx_op("TfIdfVectorizer")
def tfidf_vectorizer(node: Node) -> GraphExpr:
    """Counts of sequences, or whether there are any, times their weights."""
    import numpy as np

    x = node.tensor(0)
    if node.dtype(x) not in (INT32, INT64):
        raise node.wrong(f"its input is of {node.dtype(x)}, not of integers of 32 or 64 bits")
    shape, mode = node.shape(x), str(node.attr("mode", ""))
    if len(shape) not in (1, 2):
        raise node.wrong(f"its input has {counted(len(shape), 'dimension')}, not 1 or 2")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise node.wrong(f"its mode is {mode}, none of TF, IDF and TFIDF")
    places = node.attr("ngram_indexes", [])
    grams, results = _grams(node, np.asarray(places, np.int64)), max(places, default=-1) + 1
    if results > MOST:
        raise node.wrong(f"its result of {results} columns is more than is supported")
    rows, length = (dims.ONE, *shape)[-2:]
    known = [dims.number(one) for one in (rows, length)]
    whole = node.op("reshape", x, ShapeExpr((rows, length)))
    if node.dtype(x) is not INT64:
        whole = node.op("astype", whole, "int64")
    kernel = Counts(
        *("rows" if known[0] is None else known[0], "length" if known[1] is None else known[1]),
        results,
        tuple((size, len(places)) for size, (_, places) in grams.items()),
        node.needed("max_skip_count"),
    )
    pools = [GraphConst(constant(np.ascontiguousarray(one))) for pair in grams.values() for one in pair]
    found = node.call(kernel, (whole, *pools), (TensorType((rows, dims.dim(results)), FLOAT32),), "counts")
    if mode == "IDF":
        found = node.op("minimum", found, node.constant(1.0, FLOAT32))
    weights = node.attr("weights", [])
    if weights and mode != "TF":
        found = node.op("multiply", found, numbers(_by_place(node, weights, places, results)))
    return found if len(shape) == 2 else node.last("reshape", found, ShapeExpr((dims.dim(results),)))


def _by_place(node: Node, weights: list[float], places: list[int], results: int) -> list[float]:
    """The weights of sequences at their places in the result, which sequences of one weight may share."""
    if len(weights) != len(places):
        raise node.wrong(f"it has {counted(len(weights), 'weight')} for {counted(len(places), 'sequence')}")
    found = dict(zip(places, weights, strict=True))
    if any(found[place] != weight for place, weight in zip(places, weights, strict=True)):
        raise node.wrong("sequences of different weights have one place in its result, which is not supported")
    return [found.get(place, 0.0) for place in range(results)]


def _grams(node: Node, places: Any) -> dict[int, tuple[Any, Any]]:
    """The sequences by their lengths, sorted, with their places in the result."""
    import numpy as np

    pool, starts = node.attr("pool_int64s", []), node.attr("ngram_counts", [])
    if not pool:
        raise node.wrong("its sequences are of text, which is not supported", "`pool_int64s` are")
    least, most = node.needed("min_gram_length"), node.needed("max_gram_length")
    if not 1 <= least <= most or node.needed("max_skip_count") < 0:
        raise node.wrong("its lengths of sequences are not from 1 up, or it skips less than nothing")
    bounds = list(enumerate(pairwise([*starts, len(pool)]), 1))
    for size, (start, end) in bounds:
        if not 0 <= start <= end <= len(pool) or (end - start) % size:
            raise node.wrong(f"its sequences of {size} are from {start} to {end} of {counted(len(pool), 'number')}")
    whole = sum((end - start) // size for size, (start, end) in bounds)
    if whole != len(places) or (places < 0).any():
        raise node.wrong(f"its {counted(whole, 'sequence')} have the places {places.tolist()}")
    found: dict[int, tuple[Any, Any]] = {}
    done = 0
    for size, (start, end) in bounds:
        own = np.asarray(pool[start:end], np.int64).reshape(-1, size)
        place = places[done : done + len(own)]
        done += len(own)
        if len(own) and least <= size <= most:
            order = np.lexsort(own.T[::-1])
            own, place = own[order], place[order]
            if (own[1:] == own[:-1]).all(axis=1).any():
                raise node.wrong(f"a sequence of {size} is there twice")
            found[size] = own, place
    return found


__all__ = ["tfidf_vectorizer"]
