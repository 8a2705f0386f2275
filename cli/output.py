"""What the commands write: coloured on a terminal, plain in a pipe, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from tirscript.ir import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from rich.console import Console

_SEVERITY = {"error": "bold red", "warning": "bold yellow"}


def coloured(stream: IO[str]) -> bool:
    """Whether a stream takes colours: a terminal does, unless NO_COLOR is set; FORCE_COLOR makes any stream one."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def console(stream: IO[str]) -> Console:
    """A console that writes to a stream in colours."""
    from rich.console import Console

    return Console(file=stream, force_terminal=True, soft_wrap=True, highlight=False, color_system="standard")


def write(text: str) -> None:
    """Write a text to standard output as it is."""
    sys.stdout.write(text)


def source(text: str, lexer: str = "python") -> None:
    """Write a program or a diff to standard output, highlighted on a terminal."""
    if not coloured(sys.stdout):
        sys.stdout.write(text)
        return
    from rich.syntax import Syntax

    shown = Syntax(text, lexer, theme="ansi_dark", background_color="default").highlight(text)
    if not text.endswith("\n"):
        shown.rstrip()
    console(sys.stdout).print(shown, end="")


def difference(text: str) -> None:
    """Write a unified diff."""
    source(text, "diff")


def machine(value: Any) -> None:
    """Write a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def note(text: str) -> None:
    """Tell something on standard error."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def report(problem: DiagnosticError | Iterable[Diagnostic], stream: IO[str] | None = None) -> None:
    """Tell diagnostics, on standard error unless a stream is given."""
    sys.stdout.flush()
    to = sys.stderr if stream is None else stream
    found = problem.diagnostics if isinstance(problem, DiagnosticError) else tuple(problem)
    for number, diagnostic in enumerate(found):
        if number:
            print(file=to)
        text = diagnostic.render()
        if not coloured(to):
            print(text, file=to)
            continue
        from rich.text import Text

        shown = Text(text)
        head = text.partition(":")[0]
        shown.stylize(_SEVERITY.get(diagnostic.severity, "bold"), 0, len(head))
        shown.stylize("bold", len(head), len(text.partition("\n")[0]))
        shown.highlight_regex(r"(?m)^ *\| +(\^+)", "bold red")
        shown.highlight_regex(r"(?m)^ +(= (?:help|note):)", "bold cyan")
        console(to).print(shown)


def described(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as JSON has it: lines from 1, columns from 1, the end column behind the last character."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **place(diagnostic.span),
        "notes": [
            *diagnostic.notes,
            *({"message": label.message, **place(label.span)} for label in diagnostic.labels[1:]),
        ],
        "hint": diagnostic.hint,
    }


def place(span: Any) -> dict[str, Any]:
    """A span as JSON has it."""
    if span is None:
        return {"file": None, "line": None, "column": None, "end_line": None, "end_column": None}
    return {
        "file": span.filename,
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.last_line,
        "end_column": span.end + 1,
    }


def duration(seconds: float) -> str:
    """A time with its unit, three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
