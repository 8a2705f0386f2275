"""Source text laid out as `ruff format` would, word for word what it was.

The printer makes text of programs, and forgets how the user wrote them: `x += 1`, `0xFF`, constants of the file. Here
the words stay, and only what is between them changes: each logical line is put on one line with the usual blanks, and
broken again where it is too wide. A statement with comments or strings of several lines inside stays as it is.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from itertools import pairwise
from typing import Any, NamedTuple

from tirscript.ir.node import recursion_room

from .layout import fit, text_width

TAB = "    "
_COMPOUND = frozenset(("if", "elif", "else", "for", "while", "with", "def", "class", "try", "except", "finally"))
_OPENING, _CLOSING = "([{", ")]}"
_OPERATORS = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "@",
        "<<",
        ">>",
        "&",
        "|",
        "^",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "->",
        ":=",
        "+=",
        "-=",
        "*=",
        "/=",
        "//=",
        "%=",
        "@=",
        "&=",
        "|=",
        "^=",
        ">>=",
        "<<=",
        "**=",
    ]
)
_UNARY = frozenset(("+", "-", "~", "*", "**"))
_VALUES = frozenset(("None", "True", "False"))
_LAYOUT = (tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.COMMENT)
# f-strings are several tokens since Python 3.12
_FSTRING_START, _FSTRING_END = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)


class Token(NamedTuple):
    """A word: its kind, its text, and where it stands (line from 1, column)."""

    kind: int
    text: str
    start: tuple[int, int]
    end: tuple[int, int]


def reformat(text: str, width: int = 100) -> str:
    """A definition, laid out; its syntax tree and its comments are what they were.

    `width` is in columns. The definition begins in the first column and ends with its last statement.
    Raises SyntaxError where it is no Python.
    """
    with recursion_room():
        before = ast.dump(ast.parse(text))
        made = _Layout(text, width).run()
        if before != ast.dump(ast.parse(made)):
            raise AssertionError("the layout changed the program")
    return made


class _Layout:
    def __init__(self, text: str, width: int) -> None:
        self.lines = text.split("\n")
        self.width = width
        self.out: list[str] = []
        self.pending: list[tuple[int, str]] = []  # comments (column, text) and blank lines (-1, "") above a statement
        self.indents = [0]  # the columns of the blocks that are open
        self.first = True  # at the first statement of a block
        self.decorated = False  # below a decorator
        self.defined = 0  # the level of a definition that has ended right above, from 1

    def run(self) -> str:
        words: list[Token] = []
        before = list(self.indents)
        comment: Token | None = None
        blank = 0
        last = 0  # the last line that was looked at
        opened: list[int] = []  # levels of definitions that are open
        for token in _tokens("\n".join(self.lines) + "\n"):
            kind = token.kind
            if kind == tokenize.INDENT:
                self.indents.append(len(token.text.expandtabs(8)))
                self.first = True
            elif kind == tokenize.DEDENT:
                self.indents.pop()
                if opened and opened[-1] > len(self.indents) - 1:
                    self.defined = opened.pop()
            elif kind == tokenize.COMMENT:
                if words:
                    comment = token
                else:
                    blank = token.start[0] - last - 1
                    self.pending += [(-1, "")] * (blank > 0) + [(token.start[1], _comment(token.text))]
                    last = token.start[0]
            elif kind == tokenize.NEWLINE:
                level = len(self.indents) - 1
                if words[0].start[0] - last > 1:
                    self.pending.append((-1, ""))
                beside = comment is not None and comment.start[0] == words[-1].end[0]
                self.statement(words, comment.text if beside and comment else "", level, before)
                if words[0].text in ("def", "class"):
                    opened.append(level + 1)
                last = max(words[-1].end[0], token.start[0])
                words, comment = [], None
                before = list(self.indents)
            elif kind not in _LAYOUT:
                words.append(token)
        self.above(0, before)
        return "\n".join(self.out)

    def above(self, level: int, before: list[int], apart: bool = False) -> None:
        """Write the comments and blank lines above a statement of a level; `apart` sets it off by a blank line."""
        lines: list[str] = []
        for column, text in self.pending:
            if column < 0:
                lines.append("")
                continue
            at = level
            if len(before) - 1 > level:  # a block has ended: the comment is the last of the one it is indented for
                at = max([level, *(number for number, indent in enumerate(before) if indent <= column)])
            lines.append(TAB * at + text)
        self.pending = []
        if apart and (not lines or lines[0]):
            lines.insert(0, "")
        while self.first and lines and not lines[0]:
            del lines[0]
        self.out += lines

    def statement(self, words: list[Token], comment: str, level: int, before: list[int]) -> None:
        """Write one logical line."""
        definition = words[0].text in ("@", "def", "class")
        apart = (definition and not self.decorated) or self.defined == level + 1
        self.above(level, before, apart and not self.first)
        self.first, self.defined = False, 0
        self.decorated = words[0].text == "@"
        indent = TAB * level
        made = self.kept(words, indent) if comment.endswith("fmt: skip") else self.verbatim(words, indent)
        if made is None:
            made = []
            for deeper, part in _parts(words):
                line = indent + TAB * deeper + _joined(part)
                fitted = _fitted(line, self.width)
                if fitted is None:
                    made = self.kept(words, indent)
                    break
                made += fitted
        if comment:
            made[-1] += f"  {_comment(comment)}"
        self.out += made

    def verbatim(self, words: list[Token], indent: str) -> list[str] | None:
        """The lines of a statement that stays as it is but for its indentation; None where it does not."""
        first, last = words[0].start[0], words[-1].end[0]
        if first == last:
            return None
        if any(word.start[0] != word.end[0] for word in words):
            return self.kept(words, indent)
        inside = self.lines[first - 1 : last]
        commented = any(
            kind == tokenize.COMMENT and place[0] < last
            for kind, _, place, _, _ in tokenize.generate_tokens(io.StringIO(_closed(inside)).readline)
        )
        if commented:
            return self.kept(words, indent)
        magic = any(a.text == "," and b.text in _CLOSING and a.end[0] < b.start[0] for a, b in pairwise(words))
        kept = self.kept(words, indent)
        return kept if magic and max(map(text_width, kept)) <= self.width else None

    def kept(self, words: list[Token], indent: str) -> list[str]:
        """The lines of a statement, moved as far as its first."""
        first, last = words[0].start, words[-1].end
        lines = self.lines[first[0] - 1 : last[0]]
        lines[-1] = lines[-1][: last[1]]
        lines[0] = indent + lines[0][first[1] :].rstrip()
        strings = {at for word in words for at in range(word.start[0] + 1, word.end[0] + 1)}
        shift = len(indent) - first[1]
        for at in range(1, len(lines)):
            if first[0] + at in strings:
                continue
            code = lines[at].strip()
            blanks = len(lines[at]) - len(lines[at].lstrip())
            lines[at] = " " * max(0, blanks + shift) + code if code else ""
        return lines


def _fitted(line: str, width: int) -> list[str] | None:
    """A line broken where it is too wide; None where it is nothing that the printer writes, and has no layout there."""
    try:
        fitted = fit(line, width)
    except (ValueError, IndexError, KeyError, AssertionError):
        return None
    if fitted != line:
        tree = _tree(line)
        if tree is None or _tree(fitted) != tree:
            return None
    return fitted.split("\n")


def _tree(text: str) -> str | None:
    """The syntax tree of a statement, or of the head of a compound one; None where it cannot be told."""
    code = text.strip()
    for before, after in (("", ""), ("", " pass"), ("if x:\n    pass\n", " pass"), ("", "\ndef f():\n    pass")):
        try:
            return ast.dump(ast.parse(f"{before}{code}{after}"))
        except (SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _closed(lines: list[str]) -> str:
    """A statement of several lines as a text of its own."""
    return "\n".join([lines[0].lstrip(), *lines[1:]]) + "\n"


def _tokens(text: str) -> list[Token]:
    """The words of a text, f-strings as one each."""
    found: list[Token] = []
    begun: list[tuple[int, int]] = []
    lines = text.split("\n")
    for kind, word, start, end, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind == _FSTRING_START:
            begun.append(start)
        elif kind == _FSTRING_END:
            start = begun.pop()
            if not begun:
                found.append(Token(tokenize.STRING, _between(lines, start, end), start, end))
        elif not begun:
            found.append(Token(kind, word, start, end))
    return found


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    return "\n".join([lines[start[0] - 1][start[1] :], *lines[start[0] : end[0] - 1], lines[end[0] - 1][: end[1]]])


def _comment(text: str) -> str:
    """A comment with a blank behind its mark."""
    text = text.rstrip()
    if len(text) > 1 and text[1] not in " !:#":
        return f"# {text[1:]}"
    return text


def _parts(words: list[Token]) -> list[tuple[int, list[Token]]]:
    """The statements of a logical line: behind `;` the next, behind the `:` of a compound one its body, one deeper."""
    parts: list[tuple[int, list[Token]]] = []
    deeper, start, depth, lambdas = 0, 0, 0, 0
    compound = words[0].text in _COMPOUND or words[0].text == "async"
    for at, word in enumerate(words):
        if word.text in _OPENING:
            depth += 1
        elif word.text in _CLOSING:
            depth -= 1
        elif depth:
            continue
        elif word.text == "lambda":
            lambdas += 1
        elif word.text == ":" and lambdas:
            lambdas -= 1
        elif word.text == ";":
            parts.append((deeper, words[start:at]))
            start = at + 1
        elif word.text == ":" and compound:
            compound = False
            parts.append((deeper, words[start : at + 1]))
            start, deeper = at + 1, deeper + 1
    if start < len(words):
        parts.append((deeper, words[start:]))
    return [(depth, part) for depth, part in parts if part]


def _joined(words: list[Token]) -> str:
    """A statement on one line, with the blanks that `ruff format` puts between words."""
    words = _without_parentheses(words)
    return _Joiner(words).run()


def _without_parentheses(words: list[Token]) -> list[Token]:
    """A statement without parentheses around the whole of its value."""
    starts = []
    depth = 0
    for at, word in enumerate(words):
        if word.text in _OPENING:
            depth += 1
        elif word.text in _CLOSING:
            depth -= 1
        elif not depth and (
            (word.text in ("=", "return", "in") or (word.text.endswith("=") and word.text[:-1] in _OPERATORS))
            or (at == 0 and word.text in ("if", "elif", "while"))
        ):
            if word.text not in ("==", "<=", ">=", "!="):
                starts.append(at + 1)
    end = len(words) - 1 if words[-1].text == ":" else len(words)
    for start in reversed(starts):
        while _wraps(words, start, end):
            words = [*words[:start], *words[start + 1 : end - 1], *words[end:]]
            end -= 2
    return words


def _wraps(words: list[Token], start: int, end: int) -> bool:
    """Whether the words from start to end are one pair of parentheses around one expression."""
    if end - start < 3 or words[start].text != "(" or words[end - 1].text != ")":
        return False
    depth = 0
    for at in range(start, end):
        text = words[at].text
        if text in _OPENING:
            depth += 1
        elif text in _CLOSING:
            depth -= 1
            if depth == 0 and at < end - 1:
                return False
        elif depth == 1 and text in (",", "for", "yield", ":=", "await"):
            return False
    return True


class _Joiner:
    """Puts words on one line, knowing in which brackets they stand."""

    def __init__(self, words: list[Token]) -> None:
        self.words = words
        self.pairs = _pairs(words)

    def run(self) -> str:
        text = ""
        stack: list[int] = []  # the opening brackets around
        lambdas = [0]
        annotated = False  # a parameter with an annotation: its default has blanks around `=`
        skipped = self.trailing_commas()
        for at, word in enumerate(self.words):
            if at in skipped:
                continue
            if word.text in _CLOSING and stack:
                stack.pop()
                lambdas.pop()
            if text and self.apart(at, stack, lambdas[-1], annotated):
                text += " "
            text += _spelled(word)
            if word.text == "lambda":
                lambdas[-1] += 1
            elif word.text == ":" and lambdas[-1]:
                lambdas[-1] -= 1
            elif word.text == ":" and len(stack) == 1 and self.words[0].text == "def":
                annotated = True
            elif word.text == ",":
                annotated = False
            if word.text in _OPENING:
                stack.append(at)
                lambdas.append(0)
        return text

    def trailing_commas(self) -> set[int]:
        """The commas before closing brackets that mean nothing."""
        found = set()
        for left, right in self.pairs.items():
            if self.words[right - 1].text != "," or right - left < 3:
                continue
            commas = sum(1 for at in self.between(left, right) if self.words[at].text == ",")
            tuples = self.words[left].text == "(" and not self.called(left)
            if commas > 1 or not (tuples or (self.words[left].text == "[" and self.called(left))):
                found.add(right - 1)
        return found

    def between(self, left: int, right: int) -> Any:
        """The words directly within a pair of brackets."""
        at = left + 1
        while at < right:
            yield at
            at = self.pairs.get(at, at) + 1

    def called(self, at: int) -> bool:
        """Whether an opening bracket is a call or a subscript."""
        if at == 0:
            return False
        before = self.words[at - 1]
        if before.kind == tokenize.NAME:
            return before.text in _VALUES or not keyword.iskeyword(before.text)
        return before.kind in (tokenize.STRING, tokenize.NUMBER) or before.text in _CLOSING

    def unary(self, at: int) -> bool:
        """Whether a sign or star stands before its only operand."""
        if self.words[at].text not in _UNARY:
            return False
        if at == 0:
            return True
        before = self.words[at - 1]
        if before.kind == tokenize.NAME:
            return keyword.iskeyword(before.text) and before.text not in _VALUES
        return before.kind == tokenize.OP and before.text not in _CLOSING

    def apart(self, at: int, stack: list[int], lambdas: int, annotated: bool) -> bool:
        """Whether there is a blank before a word."""
        word, before = self.words[at], self.words[at - 1]
        text, left = word.text, before.text
        if left in _OPENING or text in _CLOSING:
            return False
        if text in (",", ".") or left == ".":
            return text not in (",", ".") and left != "."
        if left == ",":
            return True
        inside = self.words[stack[-1]].text if stack else ""
        slicing = inside == "[" and self.called(stack[-1]) and not lambdas
        if text == ":":
            return slicing and self.slice_apart(at, stack[-1], before=True)
        if left == ":":
            return self.slice_apart(at - 1, stack[-1], before=False) if slicing else True
        if text in "([" and word.kind == tokenize.OP:
            if self.called(at):
                return False
        if text == "=" or left == "=":
            return not lambdas and (not stack or annotated)
        if (at == 1 and left == "@") or self.unary(at - 1):
            return False
        if text == "**" and not self.unary(at):
            return not self.tight(at)
        if left == "**":
            return not self.tight(at - 1)
        return True

    def slice_apart(self, at: int, left: int, before: bool) -> bool:
        """Whether the colon of a slice has a blank on a side: where a bound is more than a name or a number."""
        right = self.pairs[left]
        start = stop = at
        inner = list(self.between(left, right))
        tops = {number for number in inner if self.words[number].text == ","}
        start = max([number for number in tops if number < at], default=left)
        stop = min([number for number in tops if number > at], default=right)
        colons = [number for number in inner if start < number < stop and self.words[number].text == ":"]
        bounds = [start, *colons, stop]
        simple = all(self.simple(bounds[n] + 1, bounds[n + 1]) for n in range(len(bounds) - 1))
        if simple:
            return False
        beside = at - 1 if before else at + 1
        if before:
            return beside != start and beside not in colons
        return beside != stop and beside not in colons

    def simple(self, start: int, stop: int) -> bool:
        """Whether the words are nothing, a name or a literal, signs before it allowed."""
        while stop - start > 1 and self.words[start].text in ("-", "+", "~"):
            start += 1
        return stop - start == 0 or (stop - start == 1 and self.words[start].kind != tokenize.OP)

    def tight(self, at: int) -> bool:
        """Whether the operands of `**` are names and numbers."""
        start = at - 1
        if self.words[start].kind == tokenize.OP:
            return False
        while start >= 2 and self.words[start - 1].text == "." and self.words[start - 2].kind == tokenize.NAME:
            start -= 2
        if start >= 1 and self.words[start - 1].text == ".":
            return False
        stop = at + 1
        while stop < len(self.words) and self.words[stop].text in ("-", "+", "~"):
            stop += 1
        if stop >= len(self.words) or self.words[stop].kind == tokenize.OP or self.words[stop].text == "not":
            return False
        while stop + 2 < len(self.words) and self.words[stop + 1].text == ".":
            stop += 2
        return stop + 1 >= len(self.words) or self.words[stop + 1].text not in ("(", "[")


def _pairs(words: list[Token]) -> dict[int, int]:
    """The closing bracket of each opening one."""
    found: dict[int, int] = {}
    stack: list[int] = []
    for at, word in enumerate(words):
        if word.kind == tokenize.OP and word.text in _OPENING:
            stack.append(at)
        elif word.kind == tokenize.OP and word.text in _CLOSING and stack:
            found[stack.pop()] = at
    return found


def _spelled(word: Token) -> str:
    """A word as `ruff format` spells it: double quotes, small prefixes and exponents."""
    text = word.text
    if word.kind == tokenize.STRING:
        long = re.fullmatch(r"([A-Za-z]*)'''((?:[^\"\\\n]|\\[^\n])*)'''", text)
        if long:
            return f'{long[1]}"""{long[2]}"""'
        match = re.fullmatch(r"([A-Za-z]*)'((?:[^'\"\\\n]|\\[^'\"\n])*)'", text)
        return f'{match[1]}"{match[2]}"' if match else text
    if word.kind == tokenize.NUMBER:
        return _number(text)
    return text


def _number(text: str) -> str:
    low = text.lower()
    if low.startswith("0x"):
        return "0x" + low[2:].upper()
    if low.startswith(("0b", "0o")):
        return low
    head, mark, exponent = low.partition("e")
    imaginary = "j" if low.endswith("j") else ""
    head = head.rstrip("j")
    if head.startswith("."):
        head = f"0{head}"
    if head.endswith("."):
        head = f"{head}0"
    return f"{head}{mark}{exponent.rstrip('j').removeprefix('+')}{imaginary}"
