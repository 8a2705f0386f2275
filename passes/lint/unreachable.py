"""Statements that are never executed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tirscript.ir import Break, Const, Continue, Diagnostic, For, If, Label, PrimFunc, Return, Stmt, While, walk

from .table import bodies, lint_check, warning

_WORDS: dict[type, str] = {Return: "return", Break: "break", Continue: "continue"}


@lint_check("T605")
def unreachable(func: PrimFunc) -> Iterator[Diagnostic]:
    """A statement behind `return`, `break`, `continue` or an endless loop, or in a branch or loop never entered."""
    for node in walk(func):
        for body in bodies(node):
            for before, stmt in pairwise(body):
                word = _ends(before)
                if word is None:
                    continue
                notes = [] if before.span is None else [Label(before.span, f"{word} here")]
                yield warning("T605", "this is never executed", stmt.span, notes=notes, hint="leave it out")
                break
        yield from _never(node)
    from .flow import never_run  # which takes from this module

    for store in never_run(func):
        message = "this is never executed: the conditions around it never hold together"
        yield warning("T605", message, store.span, hint="leave it out, or change the conditions")


def _ends(stmt: Stmt) -> str | None:
    """Why nothing behind a statement is executed; None where it is."""
    if type(stmt) in _WORDS:
        return f"the body ends with `{_WORDS[type(stmt)]}`"
    if isinstance(stmt, If) and stmt.then and stmt.orelse and _ends(stmt.then[-1]) and _ends(stmt.orelse[-1]):
        return "both branches end"
    if isinstance(stmt, While) and type(stmt.condition) is Const and stmt.condition.value and not _leaves(stmt.body):
        return "the loop never ends"
    return None


def _leaves(body: tuple[Stmt, ...]) -> bool:
    """Whether a `break` in a body leaves the loop around it."""
    for stmt in body:
        if isinstance(stmt, Break):
            return True
        if not isinstance(stmt, (For, While)) and any(map(_leaves, bodies(stmt))):
            return True
    return False


def empty(loop: For) -> bool:
    """Whether a loop certainly has no iterations."""
    first, last, step = loop.start, loop.stop, loop.step
    if type(first) is not Const or type(last) is not Const or not (step is None or type(step) is Const):
        return False
    return bool(first.value >= last.value if step is None or step.value > 0 else first.value <= last.value)


def _never(node: object) -> Iterator[Diagnostic]:
    if isinstance(node, For):
        if empty(node):
            message = f"the loop over `{node.var.name}` has no iterations"
            yield warning("T605", message, node.span, hint="leave it out, or give it a range")
    elif isinstance(node, While) and type(node.condition) is Const and not node.condition.value:
        yield warning("T605", "the loop is never entered", node.span, hint="leave it out")
    elif isinstance(node, If) and type(node.condition) is Const:
        which = "else" if node.condition.value else "if"
        if which == "if" or node.orelse:
            message = f"the condition is always {bool(node.condition.value)}, so the `{which}` branch is never taken"
            yield warning("T605", message, node.span, hint="leave the branch out")
