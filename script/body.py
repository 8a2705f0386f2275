"""A body of syntax nodes becomes a tuple of IR statements, with the comments between them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from msgspec.structs import force_setattr

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Stmt

from .assign import AssignLowering
from .context import MAX_MISTAKES, Abort, Poison
from .python import TooLarge
from .read_on import parents, values_beside
from .refused import REFUSED
from .scope import targets_of
from .trivia import Comments, first_line, header_end, joined, trivia


class BodyLowering(AssignLowering):
    """Lowers bodies. `out` is the list that the body being lowered appends to; `stmt_rules` has the method that lowers
    each class of statement."""

    comments: Comments | None = None
    end = 0  # the last line that may belong to the statement being lowered, comments behind it included
    lead: list[str]  # comments that stand above the first statement of the next body
    orphans: list[str]  # comments of a body without statements, for what encloses it
    taken = 0  # the last line whose comments stand in a body already
    begun: ast.stmt | None = None  # the statement that was begun last
    reads_on = 10 * MAX_MISTAKES  # of so many more statements that were left the rest is looked at
    stmt_rules: ClassVar[dict[type, Callable[[Any, Any], None]]] = {}

    def body(self, stmts: list[ast.stmt], opener: int, end: int = 0, elif_: bool = False) -> tuple[Stmt, ...]:
        """The statements of one body in a scope of its own. `opener` is the last line of what opens it, `end` the last
        line before what follows it (0: unknown)."""
        outer, self.out = self.out, []
        self.scopes.append({})
        try:
            self.statements(stmts, opener, end, elif_)
            return tuple(self.out)
        finally:
            self.leave()
            self.out = outer

    def statements(self, stmts: list[ast.stmt], opener: int, end: int = 0, elif_: bool = False) -> None:
        """Lower statements into the current body, with the comments between them."""
        comments = self.comments
        if comments is None:
            for stmt in stmts:
                self.statement(stmt)
            return
        pending, self.lead = self.lead, []
        of_others, self.orphans = self.orphans, []  # of other bodies of the same statement
        last = opener
        made, part = len(self.out), None
        for place, stmt in enumerate(stmts):
            at, part = len(self.out), None
            first = first_line(stmt)
            self.end = first_line(stmts[place + 1]) - 1 if place + 1 < len(stmts) else end
            before = comments.lines(last + 1, first - 1)
            above, beside = comments.head(stmt, first, header_end(stmt))
            if place + 1 < len(stmts) and stmts[place + 1].lineno == stmt.end_lineno:
                beside = ""  # of the last statement of the line
            lines = [*pending, *before, *above]
            self.statement(stmt)
            last = max(stmt.end_lineno or first, self.taken)
            lines += self.orphans
            self.orphans = []
            if len(self.out) > at:
                if lines or beside:
                    self.attach(at, trivia(lines, beside))
                pending = []
            elif (part := self.part) is not None:
                self.keep_said(part, trivia(lines, beside))
                pending = []
            else:
                pending = [*lines, *([beside] if beside else [])]
            self.part = None
        # an `elif` stands where its `if` does: what follows it at that level belongs to the body around both
        if end > last and not elif_:
            stop = comments.split_after(last + 1, end, stmts[0].col_offset)
            pending += comments.lines(last + 1, stop - 1)
            self.taken = max(self.taken, stop - 1)
        if any(pending):
            if part is not None:
                self.keep_said(part, trivia([], "", pending))
            elif len(self.out) > made:
                self.attach(len(self.out) - 1, trivia([], "", pending))
            else:
                self.orphans += filter(None, pending)
        self.orphans = of_others + self.orphans

    def else_line(self, node: ast.If) -> int:
        """The line of an `else:` or `elif`: the first behind the branch that is neither blank nor a comment."""
        line = (node.body[-1].end_lineno or 0) + 1
        if self.comments is not None:
            while line in self.comments.whole or line in self.comments.blank:
                line += 1
        return line

    def open_else(self, node: ast.If, opener: int) -> int:
        """The last line of what opens the branch for `else:`, whose first line stands behind the line `opener`: the
        comments above and beside it stand above the first statement of the branch."""
        self.lead = []
        line = self.else_line(node)
        if self.comments is None or not node.orelse or node.orelse[0].lineno <= line:
            return opener
        beside = self.comments.beside.get(line)
        self.lead = [*self.comments.lines(opener + 1, line - 1), *([beside] if beside else [])]
        return line

    def keep_said(self, part: tuple[dict[Any, Trivia], Any], found: Trivia | None) -> None:
        """Keep comments of a statement that says something of what is around it, beside those that are there."""
        if found is not None:
            heads, key = part
            heads[key] = joined(heads.get(key), found)

    def attach(self, at: int, found: Any) -> None:
        """Give trivia to the statement at a place of the current body, beside what it has."""
        stmt = self.out[at]
        old = stmt.trivia
        if old is not None:
            # beside what a loop that is written out begins with stands one of its own
            above = [found.beside] if old.beside and found.beside else []
            before = [*found.before, *above, *old.before]
            found = trivia(before, old.beside or found.beside, [*old.after, *found.after])
        force_setattr(stmt, "trivia", found)

    def statement(self, node: ast.stmt) -> None:
        """Lower one statement; its mistakes are reported and the next one is read."""
        if self.diagnostics and (len(self.diagnostics) > MAX_MISTAKES or self.budget.left < 0):
            return
        rule = self.stmt_rules.get(type(node))
        self.begun = node
        try:
            if self.copies:
                self.budget.again(node)
            if rule is None:
                code, what, hint = REFUSED.get(
                    type(node), ("T020", f"{type(node).__name__} is not a statement of the language", None)
                )
                raise self.fail(code, what, node, hint=hint)
            rule(self, node)
        except Abort as stop:
            if self.begun is node and rule is not None:
                self.read_on(node, stop)
            for name in targets_of(node):
                if name not in self.scopes[-1]:
                    self.define(name, Poison())
        except DiagnosticError as problem:
            self.located(problem, node)
        except TooLarge as problem:
            self.report("T004", f"this makes {problem}", node)
        except Exception as problem:
            if not self.trusted or not _of_others(problem):
                raise
            self.raised(problem, node)

    def read_on(self, node: ast.stmt, stop: Abort) -> None:
        """Tell what else is wrong with a statement that was left: in the values beside the one that failed, and in the
        bodies if it was left before them. Nothing that is read here becomes a part of the program."""
        if self.budget.left < 0 or not self.reads_on:
            return
        self.reads_on -= 1
        outer, self.out = self.out, []
        try:
            around = parents(node)
            left: list[tuple[ast.AST, ast.AST]] = [(stop.node, node)] if stop.node is not None else []
            while left:
                failed, top = left.pop()
                for value in values_beside(failed, top, around, self.takes_values):
                    if len(self.diagnostics) > MAX_MISTAKES:
                        return
                    try:
                        self.value(value)
                    except Abort as other:
                        if other.node is not None:
                            left.append((other.node, value))
                    except DiagnosticError as problem:
                        self.located(problem, value)
                    except TooLarge as problem:
                        self.report("T004", f"this makes {problem}", value)
            self.read_bodies(node)
        finally:
            self.out = outer

    def takes_values(self, function: ast.expr) -> bool:
        """Whether what is called takes each argument as the value that it is alone."""
        raise AssertionError("given by StmtLowering")

    def read_bodies(self, node: ast.stmt) -> None:
        """Read the bodies of a statement of whose head nothing is known."""
        raise AssertionError("given by StmtLowering")

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current body."""
        self.out.append(stmt)


def _of_others(problem: Exception) -> bool:
    """Whether an exception comes from code that is not ours, such as a method of the user's own class."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    name = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] != __name__.partition(".")[0]
