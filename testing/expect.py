"""Programs that hold what is to be said of them: `# error:` comments at the lines with mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tirscript.ir import Diagnostic, DiagnosticError
from tirscript.ir.check import public

_COMMENT = re.compile(
    r"#(?P<gap>\s*)(?P<carets>\^*)\s*(?P<kind>error|warning):\s*(?:\[(?P<code>\w+)\]\s*)?(?P<text>.*)$"
)


class Expected(Struct, frozen=True, eq=False):
    """One comment: the line it speaks of (0 where none is above it), the columns under which it has carets, and what
    the message holds."""

    line: int
    column: int | None
    width: int
    severity: str
    code: str | None
    text: str
    at: int  # the line of the comment itself

    def is_place(self, found: Diagnostic) -> bool:
        """Whether a diagnostic is where the comment says."""
        span = found.span
        if span is None or self.line == 0:
            return span is None and self.line == 0
        if span.line != self.line or self.column is None:
            return span.line == self.line
        stop = span.end if span.last_line == span.line else len(span.source.line(span.line)) + span.source.indent
        return span.column == self.column and (self.width == 1 or stop - span.column == self.width)

    def fits(self, found: Diagnostic) -> bool:
        """Whether it is the diagnostic that the comment asks for."""
        same = self.severity == found.severity and self.code in (None, found.code)
        return same and self.text in found.message and self.is_place(found)

    def __str__(self) -> str:
        code = f"[{self.code}] " if self.code else ""
        place = "at no place" if self.line == 0 else f"at line {self.line}"
        column = "" if self.column is None else f", column {self.column + 1}"
        return f"line {self.at} expects the {self.severity} {code}{self.text!r} {place}{column}"


def expectations(text: str) -> list[Expected]:
    """The `# error:` and `# warning:` comments of a text."""
    found: list[Expected] = []
    above = 0
    for number, line in enumerate(text.split("\n"), 1):
        match = _COMMENT.search(line)
        alone = match is not None and not line[: match.start()].strip()
        if line.strip() and not alone:
            above = number
        if match is None:
            continue
        if match["carets"] and not alone:
            raise ValueError(f"line {number}: carets stand on a line of their own, below what they point at")
        if not match["code"] and not match["text"].strip():
            raise ValueError(
                f"line {number}: say which {match['kind']} is expected: a code, words of the message, or both"
            )
        column = match.start("carets") if match["carets"] else None
        found.append(
            Expected(above, column, len(match["carets"]), match["kind"], match["code"], match["text"].strip(), number)
        )
    return found


@public
def expect_error(source: str | Path, through: Callable[[Any], Any] | None = None) -> list[Diagnostic]:
    """Check that a program, given as text or as the path of a file, has the mistakes that its comments tell; no other.

    A comment at the end of a line or below it tells a mistake in that line, by its code, by words of its message, or by
    both; with carets it tells the columns, too. One caret is where the mistake begins, several are its extent:

        A[i] = T.exq(B[j])  # error: [T031] is not a function
        #              ^ error: undefined name

    Before any code it tells a mistake without a place. The program is parsed; where that succeeds, every function and
    module goes to `through`, such as a pass or `verify`, which raises DiagnosticError or returns diagnostics.
    `# warning:` expects a diagnostic of that severity.

    Returns the diagnostics. AssertionError with what was expected and not said, and what was said and not expected.
    """
    __tracebackhide__ = True
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    expected = expectations(text)
    if not expected:
        raise ValueError("the program has no `# error:` comment, so there is nothing to expect")
    found = _diagnostics(text, str(source) if isinstance(source, Path) else "<text>", through)
    missing, extra = _match(expected, found)
    if missing or extra:
        lines = [f"not said: {one}" for one in missing]
        for diagnostic in extra:
            lines += ["", "said and not expected:", str(diagnostic)]
        raise AssertionError("\n".join(lines).strip())
    return found


def _diagnostics(text: str, filename: str, through: Callable[[Any], Any] | None) -> list[Diagnostic]:
    from tirscript.script import parse_all

    try:
        programs = parse_all(text, filename=filename)
    except DiagnosticError as problem:
        return list(problem.diagnostics)
    found: list[Diagnostic] = []
    for program in programs.values() if through is not None else ():
        try:
            said = through(program)  # type: ignore[misc]
        except DiagnosticError as problem:
            said = problem.diagnostics
        if isinstance(said, Iterable) and not isinstance(said, str):
            found += [one for one in said if isinstance(one, Diagnostic)]
    return found


def _match(expected: list[Expected], found: list[Diagnostic]) -> tuple[list[Expected], list[Diagnostic]]:
    """The comments without a diagnostic and the diagnostics without a comment, in the greatest matching of both."""
    owner: dict[int, int] = {}  # diagnostic -> comment

    def place(comment: int, tried: set[int]) -> bool:
        for at, diagnostic in enumerate(found):
            if at not in tried and expected[comment].fits(diagnostic):
                tried.add(at)
                if at not in owner or place(owner[at], tried):
                    owner[at] = comment
                    return True
        return False

    missing = [one for at, one in enumerate(expected) if not place(at, set())]
    return missing, [one for at, one in enumerate(found) if at not in owner]


__all__ = ["Expected", "expect_error", "expectations"]
