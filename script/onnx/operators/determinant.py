"""Determinants of square matrices."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphExpr, ShapeExpr, TensorType
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..kernel import functions_in, rows_of
from ..node import Node
from .table import onnx_op


class Elimination(Struct, frozen=True):
    """What decides the function: how many matrices of how many rows there are, numbers or names, and of what."""

    count: int | str
    rows: int | str
    dtype: str
    kind: ClassVar[str] = "Determinant"

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function: rows are taken off those below them, that with the greatest element first, as LAPACK does."""
        count, rows = rows_of(self.count), rows_of(self.rows)
        return functions_in(
            f"""
@I.ir_module
class Determinants:
    @T.prim_func(private=True)
    def {name}(
        x: T.Buffer(({count}, {rows}, {rows}), "{self.dtype}"),
        found: T.Buffer(({count},), "{self.dtype}"),
    ):
        a = T.alloc_buffer(({self.rows}, {self.rows}), "{self.dtype}")
        for b in range({self.count}):
            for i, j in T.grid({self.rows}, {self.rows}):
                a[i, j] = x[b, i, j]
            product: T.{self.dtype} = 1.0
            for k in range({self.rows}):
                top: T.int64 = T.int64(k)
                for i in range(k + 1, {self.rows}):
                    if T.abs(a[i, k]) > T.abs(a[top, k]):
                        top = T.int64(i)
                if top != k:
                    product = -product
                    for j in range(k, {self.rows}):
                        other: T.let[T.{self.dtype}] = a[top, j]
                        a[top, j] = a[k, j]
                        a[k, j] = other
                product = product * a[k, k]
                if a[k, k] != 0.0:
                    for i in range(k + 1, {self.rows}):
                        times: T.let[T.{self.dtype}] = a[i, k] / a[k, k]
                        for j in range(k + 1, {self.rows}):
                            a[i, j] = a[i, j] - times * a[k, j]
            found[b] = product
""",
            name,
        )


@onnx_op("Det")
def determinant(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape, kind = node.shape(x), node.dtype(x)
    if len(shape) < 2:
        raise node.wrong(f"its input has {counted(len(shape), 'dimension')}; matrices have 2 or more")
    *batch, rows, columns = shape
    if dims.differ(rows, columns):
        raise node.wrong(f"its matrices have {dims.text(rows)} rows and {dims.text(columns)} columns")
    if not dims.same(rows, columns):
        x = node.importer.match_cast(x, TensorType((*batch, rows, rows), kind), f"{node.output}_checked")
    wide = kind if kind.bits >= 32 else dtype("float32")
    count = dims.product(batch)
    whole = node.op("reshape", x, ShapeExpr((count, rows, rows)))
    if wide is not kind:
        whole = node.op("astype", whole, str(wide))
    kernel = Elimination(_size(count, "count"), _size(rows, "rows"), str(wide))
    found = node.call(kernel, (whole,), (TensorType((count,), wide),), "each")
    if wide is not kind:
        found = node.op("astype", found, str(kind))
    return node.last("reshape", found, ShapeExpr(tuple(batch)))


def _size(dim: Expr, name: str) -> int | str:
    """A dimension of the function: its number, or the name that it has there."""
    found = dims.number(dim)
    return name if found is None else found


__all__ = ["determinant"]
