"""Neighbouring branches on the same condition become one.

before:                                            after:
    if i < 4:                                          if i < 4:
        A[i] = 1.0                                         A[i] = 1.0
    if i < 4:                                              B[i] = 2.0
        B[i] = 2.0                                     else:
    if i >= 4:                                             A[i] = 0.0
        A[i] = 0.0

A condition that reads memory is the same only where nothing between writes what it reads. A branch whose arms are the
same is not one.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.logic import negation
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.effects import has_effect
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import If, Stmt

from .pipeline import prim_func_pass
from .statements import keep_comments
from .trapping import may_trap


@prim_func_pass()
def merge_conditionals(func: PrimFunc) -> PrimFunc:
    """`if c: S` before `if c: R` becomes `if c: S; R`, and `if c: S` before `if not c: R` is `if c: S else: R`."""
    return _Merge().function(func)


class _Merge(Scoped):
    def visit(self, node: Any) -> Any:
        new = self.descend(node)
        if type(new) is If and new.orelse and _same_body(new.then, new.orelse):
            if not has_effect(new.condition) and not may_trap(new.condition):
                return keep_comments(new, new.then)
        return new

    def sequence(self, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in super().sequence(stmts):
            merged = self.merged(out[-1], stmt) if out and type(stmt) is If and type(out[-1]) is If else None
            if merged is not None:
                out[-1] = merged
            else:
                out.append(stmt)
        return stmts if are_same(out, stmts) else tuple(out)

    def merged(self, first: Any, second: Any) -> If | None:
        """Both branches as one, None where the conditions are not the same or may have changed between."""
        condition = first.condition
        if has_effect(condition) or not self.unchanged(second.condition, (*first.then, *first.orelse)):
            return None
        if self.equal(condition, second.condition):
            then, orelse = second.then, second.orelse
        elif self.equal(negation(condition), second.condition):
            then, orelse = second.orelse, second.then
        else:
            return None
        if second.trivia is not None and not (then if then else orelse):
            return None
        if then:
            then = keep_comments(second, then)
        else:
            orelse = keep_comments(second, orelse)
        result: If = first.replace(then=(*first.then, *then), orelse=(*first.orelse, *orelse))
        # an `if` needs a body of its own
        return result if result.then else None

    def unchanged(self, condition: Expr, between: tuple[Stmt, ...]) -> bool:
        """Whether a condition is the same before and behind statements."""
        if has_effect(condition):
            return False
        written = self.storage.written(between)
        return not any(written(node.buffer) for node in walk(condition, BufferLoad))

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether two conditions are the same."""
        return structural_equal(a, b, map_free_vars=False)


def _same_body(a: tuple[Stmt, ...], b: tuple[Stmt, ...]) -> bool:
    return len(a) == len(b) and structural_equal(a, b)
