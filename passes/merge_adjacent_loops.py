"""Loops that stand one behind the other and run over the same range become one.

before:                                            after:
    for i in range(8):                                 for i in range(8):
        B[i] = A[i] * 2.0                                  B[i] = A[i] * 2.0
    for j in range(8):                                     C[i] = B[i] + 1.0
        C[j] = B[j] + 1.0

It is proved that no iteration reads or writes what a later iteration of a loop before it was to write first: a loop
that reads `B[j + 1]` stays where it is. Loops of the same kind are merged, those of threads and vectors are not; of
parallel ones no iteration may then depend on another.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.presburger import Dependences, may_merge
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import substitute
from tirscript.ir.stmt import For, Stmt

from .pipeline import prim_func_pass
from .statements import keep_comments

ROUNDS = 16  # merging loops brings the loops in them together
_KINDS = frozenset(("serial", "unroll", "parallel"))


@prim_func_pass()
def merge_adjacent_loops(func: PrimFunc) -> PrimFunc:
    """`for i in range(8): S` and `for j in range(8): T` become `for i in range(8): S; T` with i for j."""
    for _ in range(ROUNDS):
        new = _Merge(func).function()
        if new is func:
            break
        func = new
    return func


class _Merge:
    """One round: every body is looked at once, with the dependences of the function as it was."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.dependences: Dependences | None = None

    def function(self) -> PrimFunc:
        """The function with the adjacent loops of each of its bodies merged."""
        body = self.body(self.func.body)
        return self.func if body is self.func.body else self.func.replace(body=body)

    def body(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        groups: list[list[Stmt]] = []
        for stmt in stmts:
            if groups and self.joins(groups[-1], stmt):
                groups[-1].append(stmt)
            else:
                groups.append([stmt])
        out = tuple(self.inside(group[0]) if len(group) == 1 else _merged(group) for group in groups)
        return stmts if are_same(out, stmts) else out

    def inside(self, stmt: Stmt) -> Any:
        """A statement with its bodies looked at."""
        changed = {}
        for name in ("body", "then", "orelse", "init"):
            inner = getattr(stmt, name, None)
            if isinstance(inner, tuple):
                new = self.body(inner)
                if new is not inner:
                    changed[name] = new
        return stmt.replace(**changed) if changed else stmt

    def joins(self, group: list[Stmt], stmt: Stmt) -> bool:
        """Whether a loop may run with those before it."""
        first = group[0]
        if type(first) is not For or type(stmt) is not For or first.kind not in _KINDS:
            return False
        if stmt.kind != first.kind or stmt.annotations != first.annotations or stmt.var.dtype is not first.var.dtype:
            return False
        if self.dependences is None:
            self.dependences = Dependences(self.func)
        together = stmt.kind == "parallel"
        return all(may_merge(self.dependences, one, stmt, together=together) for one in group)  # type: ignore[arg-type]


def _merged(group: list[Any]) -> For:
    first = group[0]
    body = list(first.body)
    for loop in group[1:]:
        body += keep_comments(loop, substitute(loop.body, {loop.var: first.var}))
    return first.replace(body=tuple(body))
