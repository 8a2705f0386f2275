"""The table of checks, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from tirscript.ir import Block, Diagnostic, Label, Node, PrimFunc, Span, Stmt, rewrite
from tirscript.ir.words import documentation

Check = Callable[[PrimFunc], Iterator[Diagnostic]]


class Lint(Struct, frozen=True, eq=False):
    """One check: the code of its warnings, what it looks for, and the function that does."""

    code: str
    doc: str
    check: Check


LINTS: dict[str, Lint] = {}


def lint_check(code: str) -> Callable[[Check], Check]:
    """Register a function from a PrimFunc to warnings of `code`; its docstring says what it looks for."""

    def register(function: Check) -> Check:
        if code in LINTS:
            raise ValueError(f"lint {code} is defined twice")
        LINTS[code] = Lint(code, documentation(function, f"lint {code}"), function)
        return function

    return register


def warning(
    code: str, message: str, span: Span | None, *, notes: Sequence[Label] = (), hint: str | None = None
) -> Diagnostic:
    """A warning at a place."""
    labels = [] if span is None else [Label(span)]
    return Diagnostic(code, message, (*labels, *notes), hint=hint, severity="warning")


def without_regions(func: PrimFunc) -> PrimFunc:
    """The function without T.reads and T.writes, which name buffers and do not use them."""
    return rewrite(func, {Block: lambda block: block.replace(reads=None, writes=None)})


def bodies(node: Node) -> Iterator[tuple[Stmt, ...]]:
    """The bodies that stand directly in a statement or function."""
    for field in ("body", "then", "orelse", "init"):
        value = getattr(node, field, None)
        if isinstance(value, tuple):
            yield value


def meant(name: str) -> bool:
    """Whether a name says that what it names is unused on purpose."""
    return name.startswith("_")
