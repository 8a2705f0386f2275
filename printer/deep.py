"""Expressions that are nested deeper than Python reads, and bodies likewise.

Python takes 200 brackets in one another. Where a line has more than `BRACKETS`, what stands `KEPT` deep is given a
name by lines of its own before it, `deep_1 = T.meta_var(...)`, which the reader puts back where the name stands: the
program is the same. Bodies in one another have no such way out; behind 99 of them printing is a diagnostic.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tirscript.ir.diagnostic import DiagnosticError, error

BRACKETS, KEPT = 150, 100
LEVELS = 99
_SHORT = 2 * BRACKETS  # a line of fewer characters has fewer brackets
_TOKEN = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[(\[{]|[)\]}]|#""")
_HEAD = re.compile(r"\s*(?:def |class |@|#|\"\"\")")
_LAMBDA = re.compile(r"\blambda ([\w, ]*): ")


class _Group(NamedTuple):
    """A pair of brackets in a line."""

    start: int  # the opening bracket
    stop: int  # behind the closing one
    depth: int
    height: int  # how many more there are in one another inside
    parent: int  # the opening bracket of the group around, or -1


def shallow(lines: list[str], tab: int, whole: bool) -> list[str]:
    """The logical lines of a text with no bracket too deep; DiagnosticError where a body of a whole file is."""
    # an item of several lines is laid out already, or is data, which may be very long
    single = [line for line in lines if "\n" not in line]
    if max(map(len, single), default=0) <= _SHORT:
        return lines
    made: list[str] = []
    cuts = _Cuts(single)
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if whole and indent > LEVELS * tab:
            message = f"the program has over {LEVELS} bodies in one another, more than Python reads"
            hint = "merge loops, or move a part into a function of its own"
            raise DiagnosticError([error("T004", message, hint=hint)])
        if len(line) <= _SHORT or "\n" in line or _HEAD.match(line):
            made.append(line)
            continue
        before, line = cuts.apart(line, " " * indent)
        at = len(made)
        if line.startswith("elif ", indent):
            # the names stand before the whole chain
            while not made[at - 1].startswith(" " * indent + "if "):
                at -= 1
            at -= 1
        made[at:at] = before
        made.append(line)
    return made


class _Cuts:
    """Gives names to what is too deep."""

    def __init__(self, lines: list[str]) -> None:
        self.word = "deep"
        text = "\n".join(lines)
        while re.search(rf"\b{self.word}_\d", text):
            self.word += "_"
        self.count = 0

    def apart(self, line: str, indent: str) -> tuple[list[str], str]:
        """The lines that name what is too deep in `line`, and the line with the names."""
        groups = _groups(line)
        if max((group.depth for group in groups), default=0) <= BRACKETS:
            return [], line
        before: list[str] = []
        made = ""
        done = 0
        for start, stop in _pieces(line, groups):
            more, piece = self.apart(line[start:stop], indent)
            if piece[0] == "(" and _groups(piece)[0].stop == len(piece) and not _tuple(piece):
                piece = piece[1:-1]
            self.count += 1
            name = f"{self.word}_{self.count}"
            before += [*more, f"{indent}{name} = T.meta_var({piece})"]
            made += line[done:start] + name
            done = stop
        return before, made + line[done:]


def _groups(line: str) -> list[_Group]:
    """The brackets of a line, in the order in which they open."""
    open_at: list[int] = []
    heights: list[int] = []
    found: list[_Group] = []
    for match in _TOKEN.finditer(line):
        token = match[0]
        if token == "#":
            break
        if token in "([{":
            open_at.append(match.start())
            heights.append(0)
        elif token in ")]}":
            start, height = open_at.pop(), heights.pop()
            if heights and heights[-1] <= height:
                heights[-1] = height + 1
            parent = open_at[-1] if open_at else -1
            found.append(_Group(start, match.end(), len(open_at) + 1, height, parent))
    return sorted(found)


def _pieces(line: str, groups: list[_Group]) -> list[tuple[int, int]]:
    """Where to cut: stretches of the line that are whole expressions and hold all that is too deep."""
    lambdas = [
        (match.end(), _end(line, groups, match.start()), match[1].split(", ")) for match in _LAMBDA.finditer(line)
    ]
    found: list[tuple[int, int]] = []
    for group in groups:
        if group.depth < KEPT or group.depth + group.height <= BRACKETS or (found and group.start < found[-1][1]):
            continue
        start = _start(line, groups, group)
        free = all(
            not (first <= start < last and re.search(rf"\b(?:{'|'.join(names)})\b", line[start : group.stop]))
            for first, last, names in lambdas
        )
        if free and not _region(line, group):
            found.append((start, group.stop))
        elif group.depth == BRACKETS:
            message = "an expression is nested too deeply to be text: what is deep in it uses a variable of `T.let`"
            raise DiagnosticError([error("T004", message, hint="bind parts of the expression to names")])
    return found


def _start(line: str, groups: list[_Group], group: _Group) -> int:
    """Where the expression begins that ends with this group: `T.exp` of `T.exp(x)`."""
    at = group.start
    closing = {one.stop: one.start for one in groups}
    while at:
        if line[at - 1] in ")]":
            at = closing[at]
        elif line[at - 1].isidentifier() or line[at - 1].isdigit() or line[at - 1] == ".":
            at -= 1
        else:
            break
    return at


def _end(line: str, groups: list[_Group], at: int) -> int:
    """The end of the group in which a place is."""
    return min((group.stop for group in groups if group.start < at < group.stop), default=len(line))


def _region(line: str, group: _Group) -> bool:
    """Whether a group may be a region, the argument of a call of another function."""
    if line[group.start] != "[" or group.parent < 0 or line[group.parent] != "(":
        return False
    callee = re.search(r"[\w.]*$", line[: group.parent])
    return callee is not None and bool(callee[0]) and not callee[0].startswith("T.")


def _tuple(piece: str) -> bool:
    depth = 0
    for match in re.finditer(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[(\[{]|[)\]}]|,", piece):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "," and depth == 1:
            return True
    return piece == "()"
