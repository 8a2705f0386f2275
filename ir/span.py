"""Where a node came from: a text and a stretch of it."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from msgspec import Struct


class Source(Struct, frozen=True, eq=False, weakref=True):
    """A text that was parsed. `first_line` and `indent` place it in its file when it is a piece of one."""

    name: str
    text: str
    first_line: int = 1
    indent: int = 0

    def line(self, number: int) -> str:
        """Line `number` (as in the file) without its newline; empty where the text has no such line."""
        at = number - self.first_line
        lines = _lines.get(self)
        if lines is None:
            # the lines that CPython counts, without form feeds and the like
            lines = _lines[self] = self.text.split("\n")
        return lines[at].rstrip("\r") if 0 <= at < len(lines) else ""


# the lines of the texts in which messages point at places
_lines: WeakKeyDictionary[Source, list[str]] = WeakKeyDictionary()


class Span(Struct, frozen=True, eq=False):
    """A stretch of a source, in the numbers of `ast`: lines of the piece from 1, columns from 0 in UTF-8 bytes."""

    source: Source
    start_line: int
    start_column: int
    end_line: int
    end_column: int

    @property
    def line(self) -> int:
        """The first line, counted from 1 in the file."""
        return self.start_line + self.source.first_line - 1

    @property
    def last_line(self) -> int:
        """The last line, counted from 1 in the file."""
        return self.end_line + self.source.first_line - 1

    @property
    def column(self) -> int:
        """The first column, counted from 0 in characters of the file's line."""
        return self._characters(self.line, self.start_column) + self.source.indent

    @property
    def end(self) -> int:
        """The column after the last, counted from 0 in characters of the file's last line."""
        return self._characters(self.last_line, self.end_column) + self.source.indent

    @property
    def filename(self) -> str:
        return self.source.name

    @property
    def text(self) -> str:
        """The source text of the span (of its first line where it has several)."""
        line = self.source.line(self.line)
        end = self.end - self.source.indent if self.start_line == self.end_line else len(line)
        return line[self.column - self.source.indent : end]

    def _characters(self, line: int, column: int) -> int:
        text = self.source.line(line)
        return column if text.isascii() else len(text.encode(errors="replace")[:column].decode(errors="ignore"))

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column + 1}"

    def __repr__(self) -> str:
        return f"<span {self}>"


class Trivia(Struct, frozen=True, eq=False):
    """Comments and blank lines at a statement: part of the text, not of the meaning.

    `before` holds the lines above it ("" is a blank line), `beside` the comment behind its first line, `after`
    the lines between it and the end of the body whose last statement it is.
    """

    before: tuple[str, ...] = ()
    beside: str = ""
    after: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them, from above to below."""
        return (*self.before, *filter(None, (self.beside,)), *self.after)


# the trivia at lines that are no statements, by what they say: `T.where` of a block, `return` of a graph function
Heads = tuple[tuple[str, Trivia], ...]
