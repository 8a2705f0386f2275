"""The quick way to lay out a long line: most break at one bracket or at one level of operators.

What this does not handle it leaves to `layout.py`, whose rules it follows: one scan finds the brackets, commas and
operators at the top of the line, and its pieces are taken from the line as they stand.
"""

from __future__ import annotations

import re
from itertools import pairwise

_SCAN = re.compile(
    r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[(\[{]|[)\]}]|,[ ]|[ ](?:and|or|if|else|in|[-+*/%&|^<>=!]{1,2})[ ]"""
    r"|\*\*|[~:#]|\bnot[ ]|\blambda[ ]"
)
_PLACE = re.compile(r"-?[^\W\d][\w.]*")
_HEADS = ("if ", "elif ", "while ", "with ", "return ", "for ")
_RANK = {
    **dict.fromkeys((" and ", " or "), 9),
    **dict.fromkeys((" < ", " > ", " <= ", " >= ", " == ", " != "), 8),
    " | ": 7,
    " ^ ": 6,
    " & ": 5,
    **dict.fromkeys((" << ", " >> "), 4),
    **dict.fromkeys((" + ", " - "), 3),
    **dict.fromkeys((" * ", " / ", " // ", " % "), 2),
}

Found = list[tuple[str, int]]


def quick_fit(line: str, width: int) -> str | None:
    """The lines of an ASCII logical line wider than `width`, or None where that takes more than one kind of break."""
    indent = len(line) - len(line.lstrip(" "))
    start = indent
    tail = ""
    head = next((word for word in _HEADS if line.startswith(word, indent)), None)
    if head is not None:
        start += len(head)
        if head != "return ":
            tail = ":"
    elif line.startswith(("assert ", "def ", "@", "#", '"""'), indent):
        return None
    stop = len(line) - len(tail)
    scanned = _scan(line, start, stop, head)
    if scanned is None:
        return None
    start, operators, brackets, commas = scanned
    inner = " " * (indent + 4)
    pad = line[:indent]
    if operators:
        if start == indent or start >= width:
            return None
        return _operators(line, start, stop, operators, inner, pad, tail, width)
    if len(brackets) != 1:
        return None
    opening, closing = brackets[0]
    if closing != stop - 1 or opening >= width or not _PLACE.fullmatch(line, start, opening):
        return None
    room = width - indent - 4
    if closing - opening - 1 <= room:
        return f"{line[: opening + 1]}\n{inner}{line[opening + 1 : closing]}\n{pad}{line[closing:]}"
    if not commas:
        return None
    pieces = [line[a:b] for a, b in zip((opening + 1, *(at + 2 for at in commas)), (*commas, closing), strict=True)]
    if max(map(len, pieces)) >= room:
        return None
    return "\n".join([line[: opening + 1], *[f"{inner}{piece}," for piece in pieces], pad + line[closing:]])


def _scan(
    line: str, start: int, stop: int, head: str | None
) -> tuple[int, Found, list[tuple[int, int]], list[int]] | None:
    """Where the value starts, its operators and brackets at the top, and the commas in its only bracket."""
    depth = 0
    opening = 0
    operators: Found = []
    brackets: list[tuple[int, int]] = []
    commas: list[int] = []
    for match in _SCAN.finditer(line, start, stop):
        token = match[0]
        if token in "([{":
            if not depth:
                opening = match.start()
            depth += 1
        elif token in ")]}":
            depth -= 1
            if not depth:
                brackets.append((opening, match.start()))
        elif depth:
            if depth == 1 and token == ", " and not brackets:
                commas.append(match.start())
        elif token == " = ":
            start = match.end()
            if brackets and brackets[-1][1] >= start:
                return None
            brackets.clear()
            commas.clear()
            if operators:
                return None
        elif token == " in ":
            if head != "for ":
                return None
            start = match.end()
            commas.clear()
        elif token == ", ":
            if head != "for " and "T.axis.remap" not in line:
                return None
        elif token[0] == " ":
            operators.append((token, match.start()))
        elif token == ":" and head is None and not operators:
            continue  # an annotation
        elif token[0] not in "\"'":
            return None
    return start, operators, brackets, commas


def _operators(
    line: str,
    start: int,
    stop: int,
    operators: Found,
    inner: str,
    pad: str,
    tail: str,
    width: int,
) -> str | None:
    """A value with operators at its top, in parentheses."""
    if any(token == " if " for token, _ in operators):
        # the parts of `a if test else b`, one in another being in parentheses
        loosest = [(token, at) for token, at in operators if token in (" if ", " else ")]
        if len(loosest) != 2:
            return None
    else:
        ranks = [_RANK.get(token, 0) for token, _ in operators]
        most = max(ranks)
        if not min(ranks):
            return None
        loosest = [found for found, rank in zip(operators, ranks, strict=True) if rank == most]
        if len(loosest) == 1 and (line[stop - 1] in ")}" or line[start] in "([{" or line[stop - 2 : stop] == "()"):
            return None  # may break inside of its first or last bracket
        if len(loosest) == 1 and line[stop - 1] == "]" and _PLACE.match(line, start) is None:
            return None
    room = width - len(inner)
    if stop - start <= room:
        lines = [line[start:stop]]
    else:
        cuts = [start, *(at + 1 for _, at in loosest), stop + 1]
        lines = [line[a : b - 1] for a, b in pairwise(cuts)]
        if max(map(len, lines)) > room:
            return None
    return "\n".join([f"{line[:start]}(", *[inner + one for one in lines], f"{pad}){tail}"])
