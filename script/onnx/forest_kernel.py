"""The tensor function of an ensemble of decision trees: each row walks from each root to a leaf."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module


class Forest(Struct, frozen=True):
    """What decides the function of an ensemble; equal ones have the same.

    `rows` is a number or the name of a symbolic dimension. A row goes to `yes` where its feature compares so to the
    value of the node, and with `missing` where it is nan and the node says so. A leaf is its own `yes`.
    """

    rows: int | str
    columns: int
    nodes: int
    trees: int
    targets: int
    comparison: str
    missing: bool = False
    kind: ClassVar[str] = "Trees"

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function: of rows, and for nodes their features, values, successors, with `missing` where nan goes, the
        roots, and what a leaf adds to each target."""
        from ..entry import parse

        rows = f'"{self.rows}"' if isinstance(self.rows, str) else self.rows
        element = "x[i, feature[at]]"
        condition, nan = f"{element} {self.comparison} value[at]", ""
        if self.missing:
            condition = f"({condition}) or (T.isnan({element}) and nan[at] != 0)"
            nan = f'nan: T.Buffer(({self.nodes},), "int32"),'
        found = parse(
            f"""
@I.ir_module
class Trees:
    @T.prim_func(private=True)
    def {name}(
        x: T.Buffer(({rows}, {self.columns}), "float32"),
        feature: T.Buffer(({self.nodes},), "int32"),
        value: T.Buffer(({self.nodes},), "float32"),
        yes: T.Buffer(({self.nodes},), "int32"),
        no: T.Buffer(({self.nodes},), "int32"),
        {nan}
        root: T.Buffer(({self.trees},), "int32"),
        weight: T.Buffer(({self.nodes}, {self.targets}), "float32"),
        total: T.Buffer(({rows}, {self.targets}), "float32"),
    ):
        for i in range({self.rows}):
            for k in range({self.targets}):
                total[i, k] = 0.0
            for t in range({self.trees}):
                at: T.int32 = root[t]
                while yes[at] != at:
                    at = yes[at] if {condition} else no[at]
                for k in range({self.targets}):
                    total[i, k] = total[i, k] + weight[at, k]
""",
            filename=f"<{name}>",
        )
        assert isinstance(found, Module)
        return tuple(one for one in found.functions if type(one) is PrimFunc)


__all__ = ["Forest"]
