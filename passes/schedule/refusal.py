"""What a schedule says when it refuses a step: the program as it is now, with the place underlined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, Label
from tirscript.ir.expr import Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Node
from tirscript.ir.span import Source, Span
from tirscript.ir.stmt import For

# what a loop of each kind is
KINDS = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorized": "vectorized",
    "unroll": "unrolled",
    "thread_binding": "bound to a thread",
}
AROUND = 12  # lines of the program shown on each side of a place


class ScheduleError(DiagnosticError):
    """A step of a schedule that was refused. The schedule is as it was before it.

    `diagnostics` hold one diagnostic, whose labels point into the text of the program as it is now. They are made when
    they are asked for: who tries what may be refused needs no more than its `code`.
    """

    _told: tuple[Diagnostic, ...]

    def __init__(
        self, diagnostics: Iterable[Diagnostic], func: PrimFunc | None = None, places: Sequence[tuple[Node, str]] = ()
    ) -> None:
        self._func: PrimFunc | None = None
        super().__init__(diagnostics)
        self._func, self._places = func, places  # from here on `diagnostics` has labels
        self.code = self._told[0].code

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:  # type: ignore[override]
        if self._func is not None and self._places:
            plain, labels = self._told[0], _labels(self._func, self._places)
            notes = (*plain.notes, *(_listing(labels) if labels else ()))
            self._told = (structs.replace(plain, labels=labels, notes=notes),)
            self._func = None
        return self._told

    @diagnostics.setter
    def diagnostics(self, value: tuple[Diagnostic, ...]) -> None:
        self._told = value


def quoted(expr: Expr) -> str:
    """A size in a message: the number, or the expression as source."""
    return str(expr.value) if type(expr) is Const else f"`{expr.script().strip()}`"


def refusal(
    code: str,
    message: str,
    func: PrimFunc | None,
    places: Sequence[tuple[Node, str]] = (),
    *,
    notes: Sequence[str] = (),
    hint: str | None = None,
) -> ScheduleError:
    """The error for a step on `func`; each place is a statement of the function with a word about it."""
    return ScheduleError([Diagnostic(code, message, (), tuple(notes), hint)], func, places)


def _labels(func: PrimFunc, places: Sequence[tuple[Node, str]]) -> tuple[Label, ...]:
    """The places as stretches of the text of the function."""
    from tirscript.printer.positions import print_with_positions

    printed = print_with_positions(func)
    text = printed.text
    source = Source(f"<schedule of {func.name}>", text)
    spans = printed.by_node()
    found: list[Label] = []
    for node, words in places:
        stretch = spans.get(id(node))
        if stretch is None or _of_grid(node, spans):
            stretch = [one for one in spans.get(id(getattr(node, "var", None)), ()) if one.definition]
        if stretch:
            found.append(Label(_span(source, text, stretch[0].start, stretch[0].end), words))
    return tuple(found)


def _of_grid(node: Node, spans: Mapping[int, Any]) -> bool:
    """Whether a loop is printed with those in it as one `T.grid`: what is its own there is its variable."""
    inner = node.body[0] if isinstance(node, For) and len(node.body) == 1 else None
    return isinstance(inner, For) and id(inner) not in spans


def _span(source: Source, text: str, start: int, end: int) -> Span:
    """A stretch of characters as lines and columns, of its first line where it has several."""
    line = text.count("\n", 0, start) + 1
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    end = min(end, len(text) if stop < 0 else stop)

    def column(at: int) -> int:
        return len(text[first:at].encode())

    return Span(source, line, column(start), line, column(end))


def _listing(labels: tuple[Label, ...]) -> tuple[str, ...]:
    """The program around the first place, as a note."""
    source = labels[0].span.source
    lines = source.text.rstrip("\n").split("\n")
    marked: dict[int, Any] = {label.span.line: label.span for label in labels}
    shown = [n for n in range(1, len(lines) + 1) if any(abs(n - line) <= AROUND for line in marked)]
    out: list[str] = ["the program now:"]
    before = 0
    for number in shown:
        if number != before + 1:
            out.append("    ...")
        out.append(f"    {lines[number - 1]}".rstrip())
        span = marked.get(number)
        if span is not None:
            out.append(f"    {' ' * span.column}{'^' * max(1, span.end - span.column)}")
        before = number
    if before != len(lines):
        out.append("    ...")
    return ("\n".join(out),)


def said(problem: Exception) -> str:
    """What an exception says, in one sentence: of a diagnostic its message."""
    return problem.diagnostics[0].message if isinstance(problem, DiagnosticError) else str(problem)


__all__ = ["KINDS", "ScheduleError", "refusal", "said"]
