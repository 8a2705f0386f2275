"""Comments and blank lines of a text, found without a tokenizer: the syntax tree says where the statements are."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable

from tirscript.ir.span import Trivia

_STRING_OR_COMMENT = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(#.*)""")


class Comments:
    """The comments and blank lines of one text. `whole` maps a line to (column, text) of a comment that stands alone,
    `beside` a line to the comment behind its code; `blank` holds the blank lines. Lines count from 1."""

    def __init__(self, text: str, tree: ast.AST) -> None:
        self.whole: dict[int, tuple[int, str]] = {}
        self.beside: dict[int, str] = {}
        self.blank: set[int] = set()
        strings = Strings(tree) if '"""' in text or "'''" in text or "\\\n" in text else None
        for number, line in enumerate(text.split("\n"), 1):
            if "#" not in line:
                if not line.strip() and (strings is None or strings.end_of(number) is None):
                    self.blank.add(number)
                continue
            stripped = line.strip()
            end = None if strings is None else strings.end_of(number)
            if end is not None:
                if end >= 0:
                    self._search(number, line, end)
            elif stripped[0] == "#":
                self.whole[number] = (len(line) - len(line.lstrip()), stripped)
            else:
                self._search(number, line, 0)
        self.any = bool(self.whole or self.beside or self.blank)

    def _search(self, number: int, line: str, start: int) -> None:
        for match in _STRING_OR_COMMENT.finditer(line, start):
            if match[1]:
                self.beside[number] = match[1].rstrip()
                return

    def lines(self, first: int, last: int, *, beside: bool = False) -> list[str]:
        """Comments that stand alone, and with `beside` all, and blank lines from line `first` to `last`; at most one
        blank line in a row."""
        found: list[str] = []
        for line in range(first, last + 1):
            if line in self.whole:
                found.append(self.whole[line][1])
            elif beside and line in self.beside:
                found.append(self.beside[line])
            elif line in self.blank and (not found or found[-1]):
                found.append("")
        return found

    def above(self, first: int, last: int) -> list[str]:
        """The comments of lines `first` to `last`, with the blank lines between them: those beside what stands there
        and is no part of the IR, such as an import, too."""
        found = self.lines(first, last, beside=True)
        while found and not found[0]:
            del found[0]
        while found and not found[-1]:
            del found[-1]
        return found

    def moved(self, first: int, last: int) -> Comments:
        """The comments and blank lines of lines `first` to `last`, which are in this no more."""
        made = Comments("", ast.Module([], []))
        for line in range(first, last + 1):
            if line in self.whole:
                made.whole[line] = self.whole.pop(line)
            if line in self.beside:
                made.beside[line] = self.beside.pop(line)
            if line in self.blank:
                self.blank.remove(line)
                made.blank.add(line)
        return made

    def within(self, first: int, last: int) -> tuple[list[str], str]:
        """Comments inside a statement of several lines: those but one, to stand above it, and the one beside it."""
        above: list[str] = []
        beside = ""
        lines: Iterable[int] = range(first, last + 1)
        if last - first > len(self.whole) + len(self.beside):  # data may be very long
            lines = sorted(line for line in (*self.whole, *self.beside) if first <= line <= last)
        for line in lines:
            if line in self.whole:
                above.append(self.whole[line][1])
            elif line in self.beside:
                if beside:
                    above.append(beside)
                beside = self.beside[line]
        return above, beside

    def head(self, stmt: ast.stmt, first: int, last: int) -> tuple[list[str], str]:
        """The comments `within` the lines of a head, and the one beside the `):` that may stand below them."""
        above, beside = self.within(first, last)
        body: list[ast.stmt] = getattr(stmt, "body", [])
        inside = first_line(body[0]) if body else 0
        if inside == last:
            beside = ""  # of the body, which begins on this line
        for line in range(last + 1, inside):
            if line in self.beside:
                above += [beside] * bool(beside)
                beside = self.beside[line]
        return above, beside

    def split_after(self, first: int, last: int, indent: int) -> int:
        """Where the lines after a body's last statement stop belonging to it: the first line in first..last whose
        comment is indented less than the body, or last + 1; blank lines at the end are given back."""
        stop = first
        for line in range(first, last + 1):
            if line in self.whole:
                if self.whole[line][0] < indent:
                    break
                stop = line + 1
        return stop


class Strings:
    """The strings of several lines in a text, which may be very long."""

    def __init__(self, tree: ast.AST) -> None:
        found = []
        for node in ast.walk(tree):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                end = node.end_lineno or node.lineno
                if end > node.lineno and (isinstance(node, ast.JoinedStr) or isinstance(node.value, (str, bytes))):
                    found.append((node.lineno, end, node.end_col_offset or 0))
        self.ranges: list[tuple[int, int, int]] = []  # apart from each other: first line, last line, last column
        for start, end, column in sorted(found, key=lambda one: (one[0], -one[1])):
            if not self.ranges or start >= self.ranges[-1][1]:  # the parts of an f-string lie in it
                self.ranges.append((start, end, column))
        self.starts = [start for start, _, _ in self.ranges]

    def end_of(self, line: int) -> int | None:
        """None for a line outside of all strings (where one begins it is outside), the column at which a string ends
        that comes from above, or -1 where the string goes on below."""
        at = bisect_left(self.starts, line) - 1
        if at < 0:
            return None
        _, end, column = self.ranges[at]
        return -1 if end > line else column if end == line else None


def trivia(before: list[str], beside: str = "", after: list[str] | None = None) -> Trivia | None:
    """The trivia of these lines, or None where there are none."""
    if not before and not beside and not after:
        return None
    return Trivia(tuple(before), beside, tuple(after or ()))


def joined(first: Trivia | None, second: Trivia) -> Trivia:
    """The trivia of two statements that are one in the program."""
    if first is None:
        return second
    above = (first.beside,) if first.beside and second.beside else ()
    before = (*first.before, *above, *second.before)
    return Trivia(before, second.beside or first.beside, (*first.after, *second.after))


def first_line(stmt: ast.stmt) -> int:
    """The line at which a statement begins, its decorators included."""
    decorators = getattr(stmt, "decorator_list", None)
    return decorators[0].lineno if decorators else stmt.lineno


def header_end(stmt: ast.stmt) -> int:
    """The last line of what stands before a compound statement's body (of the statement itself where it is simple), as
    far as the tree tells."""
    body = getattr(stmt, "body", None)
    if not body:
        return stmt.end_lineno or stmt.lineno
    if isinstance(stmt, ast.With):
        last: ast.AST = stmt.items[-1].optional_vars or stmt.items[-1].context_expr
    elif isinstance(stmt, ast.For):
        last = stmt.iter
    elif isinstance(stmt, (ast.If, ast.While)):
        last = stmt.test
    elif isinstance(stmt, ast.FunctionDef):
        parts: list[ast.arg | ast.expr | None] = [*stmt.args.posonlyargs, *stmt.args.args, stmt.returns]
        return max(stmt.lineno, *(part.end_lineno or 0 for part in parts if part is not None), 0)
    else:
        return stmt.lineno
    return last.end_lineno or stmt.lineno  # type: ignore[attr-defined]
