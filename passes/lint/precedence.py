"""Operators that bind more tightly than they look."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir import Call, Diagnostic, Expr, PrimFunc, Span, walk

from .table import lint_check, warning

# the operators on bits, and those that join conditions
_BITWISE = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "!="}
# what messages say of an operand whose text is of several lines, and of the way out
_OVER_LINES = ("its result", "put it in parentheses")


@lint_check("T615")
def precedence(func: PrimFunc) -> Iterator[Diagnostic]:
    """A chain of comparisons with `&`, `|` or `^` between two of them: `0 < i & i < 4`."""
    for node in walk(func):
        if isinstance(node, Call) and node.op.name == "logical_and":
            middle = _between(*node.args)
            if middle is not None and middle.span is not None and not _in_brackets(middle.span):
                span, word = middle.span, _BITWISE[middle.op.name]
                one_line = span.start_line == span.end_line
                operand, written = (f"`{span.text}`", f"write `({span.text})`") if one_line else _OVER_LINES
                message = f"`{middle.op.symbol}` binds more tightly than comparisons: both are with {operand}"
                hint = f"join conditions with `{word}`; if it is meant, {written}"
                yield warning("T615", message, span, hint=hint)


def _between(left: Expr, right: Expr) -> Call | None:
    """The bitwise operator that two comparisons of one chain share; None where there is none."""
    if isinstance(left, Call) and left.op.name == "logical_and":
        left = left.args[1]
    if not (isinstance(left, Call) and isinstance(right, Call) and len(left.args) == len(right.args) == 2):
        return None
    shared = left.args[1]
    in_chain = isinstance(shared, Call) and shared.op.name in _BITWISE and shared.span is right.args[0].span
    return shared if in_chain and isinstance(shared, Call) else None


def _in_brackets(span: Span) -> bool:
    """Whether a bracket closes behind an operand that an operator follows otherwise."""
    behind = span.source.line(span.last_line)[span.end - span.source.indent :]
    for line in (behind, *span.source.text.split("\n")[span.end_line :]):
        code = line.partition("#")[0].strip(" \t\f\r\\")  # a backslash goes on in the next line
        if code:
            return code.startswith(")")
    return False
