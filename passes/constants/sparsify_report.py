"""What constants are made of: how many zeros, how many different values, what they would take in another form.

before:                                            after sparsify_report{threshold=0.5}:
    K = T.allocate_const([0, 0, 0, 7], ...)            K = T.allocate_const([0, 0, 0, 7], ..., annotations={"zeros": 3})
    L = T.allocate_const([1, 2, 3, 4], ...)            L = T.allocate_const([1, 2, 3, 4], ...)
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant_nodes
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphBind, GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocateConst
from tirscript.ir.words import counted

from ..pipeline import prim_func_pass


class ConstantReport(Struct, frozen=True):
    """One constant of a function: the number of its elements, of those that are zero (of either sign), and of different
    values (bit by bit), and the bytes it takes."""

    function: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    zeros: int
    values: int

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.nbytes // max(1, self._itemsize)

    @property
    def _itemsize(self) -> int:
        from tirscript.ir.dtype import dtype

        return dtype(self.dtype).itemsize

    @property
    def sparsity(self) -> float:
        """The part of the elements that are zero, 0 to 1."""
        return self.zeros / self.size if self.size else 0.0

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        name = f"{self.function}.{self.name}" if self.name else self.function
        return (
            f"{name}: {self.dtype} {shape}, {self.nbytes} bytes, {self.sparsity:.1%} zero, "
            f"{counted(self.values, 'value')}"
        )


@public
def constants_report(program: PrimFunc | GraphFunc | Module) -> list[ConstantReport]:
    """What every constant of a program is made of, largest first; unresolved ones are left out.

    A value of a graph has the name that it is bound to, or none.
    """
    functions = program.functions if isinstance(program, Module) else (program,)
    found = []
    for function in functions:
        bound = {id(node.value): node.var.name for node in walk(function, GraphBind)}
        for node in constant_nodes(function):
            if node.data.resolved:
                data = node.data
                name = node.buffer.name if type(node) is AllocateConst else bound.get(id(node), "")
                zeros, values = count_zeros(data), count_values(data)
                row = name, data.dtype.name, data.shape, data.nbytes, zeros, values
                found.append(ConstantReport(function.name, *row))
    return sorted(found, key=lambda one: -one.nbytes)


def count_zeros(data: ConstantTensor) -> int:
    """How many elements are zero."""
    return data.size - int((data.array != 0).sum()) if data.size else 0


def count_values(data: ConstantTensor) -> int:
    """How many different elements there are, bit by bit."""
    import numpy as np

    return int(np.unique(bits_of(data)).size)


def bits_of(data: ConstantTensor) -> Any:
    """The elements as unsigned integers of their bits, flat."""
    return data.array.reshape(-1).view(f"u{data.dtype.itemsize}")


@prim_func_pass()
def sparsify_report(func: PrimFunc, *, threshold: float = 0.5) -> PrimFunc:
    """A constant of which at least `threshold` is zero gets the annotation `{"zeros": count}`."""

    def note(stmt: AllocateConst) -> AllocateConst:
        data = stmt.data
        if not data.resolved or not data.size:
            return stmt
        zeros = count_zeros(data)
        if zeros < threshold * data.size or stmt.annotations.get("zeros") == zeros:
            return stmt
        return stmt.replace(annotations=Attrs({**stmt.annotations, "zeros": zeros}))

    result: PrimFunc = rewrite(func, {AllocateConst: note})
    return result
