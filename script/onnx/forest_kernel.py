"""The tensor function of an ensemble of decision trees: each row walks from each root to a leaf."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from tirscript.ir.func import PrimFunc

from .kernel import functions_in, rows_of

# where an element stands to the value of a node: below it, equal, above it, or neither, as nan is
BELOW, EQUAL, ABOVE, NEITHER = 1, 2, 4, 8


class Forest(Struct, frozen=True):
    """What decides the function of an ensemble; equal ones have the same.

    `rows` is a number or the name of a symbolic dimension. A row goes to `yes` where its feature compares so to the
    value of the node, and with `missing` where it is nan and the node says so; without a comparison each node says
    for which places beside its value it does. A leaf is its own `yes`. The `aggregate` is "sum", or "min" or "max" of
    what leaves have: nan is nothing.
    """

    rows: int | str
    columns: int
    nodes: int
    trees: int
    targets: int
    comparison: str | None
    missing: bool = False
    dtype: str = "float32"
    aggregate: str = "sum"
    kind: ClassVar[str] = "Trees"

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function: of rows, and for nodes their features, values, successors, with `missing` where nan goes or
        without a comparison for which places it is `yes`, the roots, and what a leaf adds to each target.
        """
        rows = rows_of(self.rows)
        element = "x[i, feature[at]]"
        place, condition, told = "", f"{element} {self.comparison} value[at]", ""
        if self.comparison is None:
            sides = f"{BELOW} if {element} < value[at] else {EQUAL} if {element} == value[at] else"
            place = f"side: T.let[T.int32] = {sides} {ABOVE} if {element} > value[at] else {NEITHER}"
            condition, told = "(goes[at] & side) != 0", "goes"
        elif self.missing:
            condition, told = f"({condition}) or (T.isnan({element}) and nan[at] != 0)", "nan"
        more = f'{told}: T.Buffer(({self.nodes},), "int32"),' if told else ""
        return functions_in(
            f"""
@I.ir_module
class Trees:
    @T.prim_func(private=True)
    def {name}(
        x: T.Buffer(({rows}, {self.columns}), "{self.dtype}"),
        feature: T.Buffer(({self.nodes},), "int32"),
        value: T.Buffer(({self.nodes},), "{self.dtype}"),
        yes: T.Buffer(({self.nodes},), "int32"),
        no: T.Buffer(({self.nodes},), "int32"),
        {more}
        root: T.Buffer(({self.trees},), "int32"),
        weight: T.Buffer(({self.nodes}, {self.targets}), "{self.dtype}"),
        total: T.Buffer(({rows}, {self.targets}), "{self.dtype}"),
    ):
        for i in range({self.rows}):
            for k in range({self.targets}):
                total[i, k] = {"0.0" if self.aggregate == "sum" else f'T.{self.dtype}("nan")'}
            for t in range({self.trees}):
                at: T.int32 = root[t]
                while yes[at] != at:
                    {place}
                    at = yes[at] if {condition} else no[at]
                for k in range({self.targets}):
                    {self._added()}
""",
            name,
        )

    def _added(self) -> str:
        if self.aggregate == "sum":
            return "total[i, k] = total[i, k] + weight[at, k]"
        sign = "<" if self.aggregate == "min" else ">"
        return f"""if T.isnan(total[i, k]) or weight[at, k] {sign} total[i, k]:
                        total[i, k] = weight[at, k]"""


__all__ = ["ABOVE", "BELOW", "EQUAL", "NEITHER", "Forest"]
