"""Diagnostics: what a user is told about a mistake, where, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from .codes import CODES
from .span import Span

WIDEST = 500  # characters of a source line that a message shows


class Label(Struct, frozen=True, eq=False):
    """A place in the source with a word about it; the first label of a diagnostic is its place."""

    span: Span
    message: str = ""


class Diagnostic(Struct, frozen=True, eq=False, kw_only=False):
    """One message. `code` is an entry of `CODES`; `labels` are its places, the first one that of the mistake; `notes`
    say what is known beside; `hint` says the way out; `severity` is "error" or "warning"."""

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    hint: str | None = None
    severity: str = "error"

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"diagnostic code {self.code} is not in the table of codes")

    @property
    def span(self) -> Span | None:
        """Where it is, or None."""
        return self.labels[0].span if self.labels else None

    def render(self) -> str:
        """The message as rustc would show it."""
        return render(self)

    def __str__(self) -> str:
        return render(self)


class DiagnosticError(Exception):
    """One or more diagnostics as an exception."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n" + "\n\n".join(render(diagnostic) for diagnostic in self.diagnostics)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.diagnostics,)


def error(
    code: str, message: str, span: Span | None = None, *, notes: Sequence[str | Label] = (), hint: str | None = None
) -> Diagnostic:
    """A diagnostic at `span`; a note that is a Label points at another place."""
    labels = [Label(span)] if span is not None else []
    labels += [note for note in notes if isinstance(note, Label)]
    labels = [label for label in labels if isinstance(label.span, Span)]  # what a node made by hand has may be none
    return Diagnostic(code, message, tuple(labels), tuple(n for n in notes if isinstance(n, str)), hint)


def assertion(diagnostic: Diagnostic) -> AssertionError:
    """A failed `assert` of a program: an AssertionError that reads like a diagnostic and carries it."""
    failure = AssertionError(render(diagnostic).partition(": ")[2])
    failure.diagnostics = (diagnostic,)  # type: ignore[attr-defined]
    return failure


def suggest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word nearest to a misspelt one, or None where none is so like it."""
    import difflib

    names = [name for name in known if not name.startswith("_")]
    near = difflib.get_close_matches(word, names, n=1, cutoff=likeness) if len(word) > 1 else []
    if near:
        return near[0]
    return next((name for name in names if name.casefold() == word.casefold()), None)


def render(diagnostic: Diagnostic) -> str:
    """One diagnostic as text: message, place, source lines with carets, notes, help."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    labels = diagnostic.labels
    width = len(str(max((label.span.line for label in labels), default=0)))
    for number, label in enumerate(labels):
        span = label.span
        if number and label.message:
            lines.append(f"{' ' * width} = note: {label.message}")
        arrow = "-->" if number == 0 else ":::"
        lines.append(f"{' ' * width}{arrow} {span}")
        lines += snippet(span, width, label.message if number == 0 else "")
    if labels and (diagnostic.notes or diagnostic.hint):
        lines.append(f"{' ' * width} |")
    lines += [f"{' ' * width} = note: {note}" for note in diagnostic.notes]
    if diagnostic.hint:
        lines.append(f"{' ' * width} = help: {diagnostic.hint}")
    return "\n".join(line if len(line) <= 4 * WIDEST else f"{line[: 4 * WIDEST]}..." for line in lines)


# what would move the cursor of a terminal, turn the text around, or cannot be written: each shown as one character
_PICTURES = {code: 0x2400 + code for code in range(32) if code != 9} | {127: 0x2421}
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)
_PICTURES |= dict.fromkeys([0x2028, 0x2029, *range(0xD800, 0xE000)], 0xFFFD)


def snippet(span: Span, width: int, beside: str = "") -> list[str]:
    """The source line of a span with carets under it, line numbers `width` columns wide; nothing where the source is
    not known."""
    text = span.source.line(span.line)
    if not text and not span.source.text:
        return []
    start = span.column
    stop = span.end if span.last_line == span.line else span.source.indent + len(text)
    if len(text) > WIDEST:
        # a part of the line that holds the place
        first = max(0, start - span.source.indent - WIDEST // 2)
        text, start, stop = text[first : first + WIDEST], start - first, stop - first
    text = text.translate(_PICTURES)
    carets = "^" * max(1, min(stop - start, 200))
    return [
        f"{' ' * width} |",
        f"{span.line:>{width}} | {' ' * span.source.indent}{text}".rstrip(),
        f"{' ' * width} | {_padding(text, start, span.source.indent)}{carets}{' ' if beside else ''}{beside}",
    ]


def _padding(text: str, column: int, indent: int) -> str:
    """Blanks up to `column` that keep the line's tabs, so that carets stand under their columns."""
    before = text[: max(0, column - indent)]
    return " " * indent + "".join("\t" if char == "\t" else " " for char in before)
