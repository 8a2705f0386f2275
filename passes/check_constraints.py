"""The constraints of a program are proved, as far as they have to be.

before:                                            after:
    for i in range(8):                                 for i in range(8):
        T.static_assert(i < 8)                             B[i] = A[i]
        assert i >= 0
        B[i] = A[i]

`T.static_assert` must be proved: it goes away, or is an error that says what is known of each variable, with values
for which it fails where some are found. An `assert` that is proved goes away, and stays to be checked at run time where
it is not. `T.assume` is trusted and stays; one that can never hold is an error.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, error
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocateConst, Assert, Assume, Bind, BufferStore, DeclBuffer, StaticAssert, Stmt

from .knowing import KnowingSimplify
from .pipeline import prim_func_pass
from .statements import keep_comments

_CONSTRAINTS = (Assert, Assume, StaticAssert)


@prim_func_pass()
def check_constraints(func: PrimFunc) -> PrimFunc:
    """`T.static_assert(i < 8)` in `for i in range(8)` becomes nothing; one that is not proved is an error."""
    checked, found = _checked(func)
    if found:
        raise DiagnosticError(found)
    return checked


def constraint_errors(func: PrimFunc) -> list[Diagnostic]:
    """What `check_constraints` would say of a function, as diagnostics, none where it would take it."""
    return _checked(func)[1]


def _checked(func: PrimFunc) -> tuple[PrimFunc, list[Diagnostic]]:
    """A function with its constraints decided, and what is wrong with them. What stands behind the last is not looked
    at: a kernel that asks for its sizes first is known no better by all that it stores."""
    holding = [at for at, stmt in enumerate(func.body) if any(type(node) in _CONSTRAINTS for node in walk(stmt))]
    if not holding:
        return func, []
    end = holding[-1] + 1
    checker = Checker()
    head = func if end == len(func.body) else func.replace(body=func.body[:end])
    checked = checker.function(head)
    return (func if checked is head else checked.replace(body=(*checked.body, *func.body[end:]))), checker.found


class Checker(KnowingSimplify):
    """Decides constraints and leaves everything else as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Diagnostic] = []

    def visit(self, node: Any) -> Any:
        """A constraint decided; what is no statement stays."""
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return Scoped.descend(self, node) if isinstance(node, Stmt) else node

    def folded(self, value: Expr) -> Expr:
        """A value with the elements of constants that it names: what is false of one is no example."""
        constants = self.expressions.constants
        found: Expr = rewrite(value, {BufferLoad: self.expressions.access}) if constants else value
        return found

    def under(self, condition: Expr, stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements where a condition holds."""
        return super().under(self.folded(condition), stmts)

    def after(self, stmt: Stmt) -> None:
        """What is known behind a statement."""
        super().after(stmt.replace(value=self.folded(stmt.value)) if type(stmt) is Bind else stmt)

    def value_stored(self, stmt: BufferStore) -> Expr:
        """What a store stores, with the elements that it reads where their values are known: it stays as it is."""
        valued = {content.buffer for content in self.contents if content.value is not None}
        if not any(type(node) is BufferLoad and node.buffer in valued for node in walk(stmt.value)):
            return stmt.value
        with self.analyzer.scope():
            found: Expr = self.expressions.visit(stmt.value)
        return found

    def truth(self, condition: Expr) -> bool | None:
        """Whether a condition is proved to hold always, or never."""
        known = self.analyzer.decide(condition)
        if known is None:
            with self.analyzer.scope():
                known = self.analyzer.decide(self.expressions.visit(condition))
        return known

    def static(self, stmt: StaticAssert) -> Any:
        condition = self.folded(stmt.condition)
        known = self.truth(condition)
        if known:
            return keep_comments(stmt, ())
        message = "a static_assert is false" if known is False else "a static_assert could not be proved"
        if stmt.message:
            message += f": {stmt.message}"
        notes = self.analyzer.explain(condition).lines()
        hint = None if known is False else "use `assert` to check it at run time, or `T.assume` what is missing"
        self.found.append(error("T403", message, stmt.condition.span or stmt.span, notes=notes, hint=hint))
        return stmt

    def run_time(self, stmt: Assert) -> Any:
        return keep_comments(stmt, ()) if self.truth(self.folded(stmt.condition)) else stmt

    def trusted(self, stmt: Assume) -> Any:
        condition = self.folded(stmt.condition)
        if self.truth(condition) is False and not self.analyzer.facts.unreachable:
            notes = self.analyzer.explain(condition).lines()
            self.found.append(
                error("T403", "an assumption can never hold", stmt.condition.span or stmt.span, notes=notes)
            )
        return stmt


_RULES: dict[type, Any] = {
    StaticAssert: Checker.static,
    Assert: Checker.run_time,
    Assume: Checker.trusted,
    AllocateConst: Checker.constant,
    DeclBuffer: Checker.view,
}
