"""Where the nodes of a program stand in its text.

Ordinary printing knows nothing of this and pays nothing. Positions are found by printing once more with marks: rules
and names are wrapped so that what they give stands between `$12?` and `$?`, characters that no source text has outside
of strings. That text is not laid out; both texts are then read side by side, as layout adds and removes blanks,
parentheses and commas only.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from tirscript.ir.check import public
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Binder, Node, recursion_room
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from .constants import Constants
from .core import Dialect, Printer
from .func import file_text, fragment
from .names import Names


class Stretch(NamedTuple):
    """A piece of the text, `text[start:end]`, that is a node; `definition` where it is the name of what is defined."""

    start: int
    end: int
    node: Any
    definition: bool = False


class Positions(NamedTuple):
    """A text and the stretches of its nodes, outer ones before those inside of them.

    A node that stands at several places has several stretches. One that the text writes together with others (a loop
    inside of the first of a `T.grid`, an `elif`) has none: its parts have.
    """

    text: str
    stretches: list[Stretch]

    def by_node(self) -> dict[int, list[Stretch]]:
        """The stretches of every node, by the node's id."""
        found: dict[int, list[Stretch]] = {}
        for one in self.stretches:
            found.setdefault(id(one.node), []).append(one)
        return found


@public
def print_with_positions(node: Node | tuple[Node, ...], **options: Any) -> Positions:
    """The text that `script` gives, and where in it every node stands; `options` are those of `script`."""
    from . import dialect_of, script

    text = script(node, **options)
    whole = not options.get("fragment") and type(node) in (PrimFunc, Module)
    with recursion_room():
        file = options.get("constants_file")
        kept = Constants(options.get("constants", "elide"), "" if file is None else os.path.basename(file))
        printer = _MarkingPrinter(dialect_of(options.get("dialect", "tirscript")), node, kept)
        if whole:
            file_text(printer, node, options.get("header", True))  # type: ignore[arg-type]
        else:
            fragment(printer, node)
        binders = {id(one): one for one in walk(node) if isinstance(one, Binder)}
    marked = _COMMENT.sub(lambda match: match[1] or "", "\n".join(printer.out))
    unnamed = _Unnamed(text) if _DEEP.search(text) else None
    joined = text if unnamed is None else unnamed.text
    places = _align(marked, joined, len(printer.marked))
    for number in printer.with_sign:
        start, end = places[number]
        places[number] = max(0, start - 1), end
    closed = _closed(joined)
    places = [
        _whole(joined, closed, *place, isinstance(what, Stmt))
        for place, (what, _) in zip(places, printer.marked, strict=True)
    ]
    if unnamed is not None:
        places = [unnamed.place(*place) for place in places]
    found: dict[tuple[int, int, int], Stretch] = {}
    for (start, end), (what, definition) in zip(places, printer.marked, strict=True):
        if end:
            one = binders.get(what) if type(what) is int else what
            found.setdefault((start, end, id(one)), Stretch(start, end, one, definition))
    return Positions(text, _finished(text, node if whole else None, list(found.values())))


# --- printing with marks ----------------------------------------------------------------------------------------------

_COMMENT = re.compile(r'("""(?:\\.|(?!""").)*"""|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*')|[ ]*#[^\n]*", re.DOTALL)
_MARK = re.compile(r"\$\d*\?")


class _MarkingPrinter(Printer):
    """A printer whose rules, names and constants are wrapped in marks. It never finds a line too long."""

    def __init__(self, dialect: Dialect, root: object, constants: Constants) -> None:
        self.with_sign: set[int] = set()  # numbers of the marks behind a sign that belongs to them
        self.marked: list[tuple[Any, bool]] = []  # by the number in the mark: node or id, and whether it is defined
        super().__init__(replace(dialect, decorator=self.wrapped(dialect.decorator, 0)), root, 1 << 60, constants)
        # variables and buffers are marked with their names
        self.exprs = {cls: self.wrapped(rule, 1) for cls, rule in dialect.exprs.items() if not issubclass(cls, Binder)}
        self.indices = {
            cls: self.wrapped(rule, 1) for cls, rule in dialect.indices.items() if not issubclass(cls, Binder)
        }
        for cls in dialect.exprs.keys() - self.exprs.keys():
            self.exprs[cls] = self.indices[cls] = dialect.exprs[cls]
        self.stmts = {cls: self.statement(rule) for cls, rule in dialect.stmts.items()}
        self.first = self.signed(dialect.first)
        self.second = self.signed(dialect.second)
        self.literal = self.wrapped(dialect.literal, 0)

    def start(self, root: object, *rest: Any) -> None:
        super().start(root, *rest)
        self.names = _MarkingNames(self.names, self.mark)
        self.get = self.names.known.get

    def new_names(self, root: object, reserved: Iterable[str]) -> Names:
        return _MarkingNames(super().new_names(root, reserved), self.mark)

    def mark(self, what: Any, text: str, definition: bool = False) -> str:
        """`text` between marks that stand for `what`."""
        self.marked.append((what, definition))
        return f"${len(self.marked) - 1}?{text}$?"

    def wrapped(self, rule: Callable[..., str], at: int) -> Callable[..., str]:
        """A rule whose text is marked with its argument number `at`."""
        return lambda *args: self.mark(args[at], rule(*args))

    def signed(self, rule: Callable[..., str]) -> Callable[..., str]:
        """A rule of constants. A sign stays before the mark, since rules put what begins with one in parentheses."""

        def marking(node: Any, *rest: Any) -> str:
            text = rule(node, *rest)
            if text[0] != "-":
                return self.mark(node, text)
            self.with_sign.add(len(self.marked))
            return f"-{self.mark(node, text[1:])}"

        return marking

    def statement(self, rule: Callable[..., None]) -> Callable[..., None]:
        """A rule of statements, with the marks on lines of their own: lines are moved and added to later."""

        def marking(p: Printer, node: Any, indent: str) -> None:
            self.marked.append((node, False))
            p.out.append(f"${len(self.marked) - 1}?")
            rule(p, node, indent)
            p.out.append("$?")

        return marking


class _MarkingNames(Names):
    """Names that are marked wherever they are given out."""

    __slots__ = ("mark",)

    def __init__(self, names: Names, mark: Callable[..., str]) -> None:
        for name in Names.__slots__:
            setattr(self, name, getattr(names, name))
        self.mark = mark
        self.known = _Known(names.known)
        self.known.mark = mark

    def define(self, binder: Any, hint: str) -> str:
        return self.mark(id(binder), super().define(binder, hint), True)

    def fix(self, binder: Any, hint: str) -> str:
        name = super().define(binder, hint)
        self.stack.pop()
        return self.mark(id(binder), name)


class _Known(dict[int, str]):
    """Names by the id of the binder, marked when they are asked for."""

    mark: Callable[..., str]

    def get(self, key: int, default: Any = None) -> Any:
        text = super().get(key)
        return default if text is None else self.mark(key, text)

    def __setitem__(self, key: int, name: str) -> None:
        super().__setitem__(key, _MARK.sub("", name))

    def __getitem__(self, key: int) -> str:
        return self.mark(key, super().__getitem__(key))


# --- reading two texts side by side -----------------------------------------------------------------------------------

_BLANK = re.compile(r"[ \n]*")


def _align(marked: str, text: str, count: int) -> list[tuple[int, int]]:
    """Where in `text` the stretches are that `marked` marks, by number; (0, 0) for those that were printed in vain."""
    starts, ends = [0] * count, [0] * count
    waiting: list[int] = []  # marks that begin where the next character is found
    opened: list[int] = []
    at = last = done = 0
    blanks = _BLANK.match
    for match in _MARK.finditer(marked):
        if match.start() < done:
            continue
        chunk = marked[done : match.start()]
        if chunk and not chunk.isspace():
            first, at = _skip(chunk, text, at)
            for number in waiting:
                starts[number] = first
            waiting.clear()
            last = at
        token = match[0]
        at = blanks(text, at).end()  # type: ignore[union-attr]
        done = match.end()
        if text.startswith(token, at):
            at += len(token)  # not a mark but part of a string
            last = at
        elif token == "$?":
            ends[opened.pop()] = last
        else:
            number = int(token[1:-1])
            waiting.append(number)
            opened.append(number)
    return list(zip(starts, ends, strict=True))


def _skip(chunk: str, text: str, at: int) -> tuple[int, int]:
    """Where a piece of the marked text stands in `text`, from `at` on: its first character, and behind its last."""
    chunk = chunk.strip(" \n")
    at = _BLANK.match(text, at).end()  # type: ignore[union-attr]
    if text.startswith(chunk, at):
        return at, at + len(chunk)
    first = -1
    for char in chunk:
        if char in " \n":
            continue
        while text[at] != char:
            if text[at] in " \n(),":  # a bracket or a comma that layout added
                at += 1
            elif text[at] == "#":
                at = text.index("\n", at)
            elif char in "()":  # brackets that are not needed around what has lines of its own
                break
            else:
                raise AssertionError(
                    f"printer/positions.py lost its way at {text[at : at + 40]!r}, looking for {chunk!r}"
                )
        else:
            first = at if first < 0 else first
            at += 1
    return first, at


_TOKEN = re.compile(
    r'"""(?:\\.|(?!""").)*"""|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'|#[^\n]*|[(\[{]|[)\]}]|\bdeep_*_\d+\b",
    re.DOTALL,
)
_TAIL = re.compile(r"(?:[ \n]*[),])*")


def _closed(text: str) -> dict[int, int]:
    """For every parenthesis at the end of a line, the one that closes it."""
    if "(\n" not in text:
        return {}
    open_at: list[int] = []
    found: dict[int, int] = {}
    for match in _TOKEN.finditer(text):
        if match[0] in _OPEN:
            open_at.append(match.start())
        elif match[0] in _CLOSE:
            start = open_at.pop()
            if text.startswith("(\n", start):
                found[start] = match.start()
    return found


_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")


def _whole(text: str, closed: dict[int, int], start: int, end: int, statement: bool) -> tuple[int, int]:
    """A stretch with the brackets that layout put around what is in it, without those around more than it."""
    if statement and end:
        return start, _TAIL.match(text, end).end()  # type: ignore[union-attr]
    while closed.get(start, 0) >= end > 0:
        start = _BLANK.match(text, start + 1).end()  # type: ignore[union-attr]
    return start, end


def _finished(text: str, root: Any, found: list[Stretch]) -> list[Stretch]:
    """The stretches in order, with those of whole functions and modules."""
    found.sort(key=lambda one: (one.start, -one.end))
    functions = [at for at, one in enumerate(found) if type(one.node) is PrimFunc]
    declared = {id(one.node) for one in found if one.definition}
    for at, stop in pairwise([*functions, len(found)]):
        behind = found[stop].start if stop < len(found) else len(text)
        found[at] = found[at]._replace(end=len(text[:behind].rstrip()))
        params = {id(param) for param in (*found[at].node.params, *found[at].node.symbols)} - declared
        for inner in range(at, stop):
            if id(found[inner].node) in params:
                params.discard(id(found[inner].node))
                found[inner] = found[inner]._replace(definition=True)
    if type(root) is Module:
        found.insert(0, Stretch(0, len(text), root))
    return found


# --- names for what is too deep ---------------------------------------------------------------------------------------

_DEEP = re.compile(r"^ *(deep_*_\d+) = T\.meta_var\(", re.MULTILINE)


class _Unnamed:
    """A text with what has lines of its own (see `deep.py`) put back into the places of the names."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts: list[str] = []
        self.begins: list[int] = []  # of each part, in the text that is made
        self.origins: list[tuple[int, int]] = []  # of each part: where it begins in the source, and the name's number
        self.names: list[tuple[int, int, int]] = [(0, 0, -1)]  # where each name stands, and the name it stands in
        self.made = 0
        self.bodies: dict[str, tuple[int, int]] = {}
        done = 0
        kept = []
        for match in _DEEP.finditer(source):
            start = match.end()
            stop = self.closing(start)
            self.bodies[match[1]] = (start, stop)
            kept.append((done, match.start()))
            done = stop + 1
        for start, stop in [*kept, (done, len(source))]:
            self.put(start, stop, 0)
        self.text = "".join(self.parts)

    def closing(self, at: int) -> int:
        """The bracket that closes the one before `at`."""
        depth = 1
        for match in _TOKEN.finditer(self.source, at):
            depth += (match[0] in "([{") - (match[0] in ")]}")
            if not depth:
                return match.start()
        raise AssertionError("a bracket is not closed")

    def put(self, start: int, stop: int, name: int) -> None:
        """A stretch of the source, within the name of that number (0: none)."""
        for match in _TOKEN.finditer(self.source, start, stop):
            if match[0] in self.bodies:
                self.add(start, match.start(), name)
                self.names.append((match.start(), match.end(), name))
                self.put(*self.bodies[match[0]], len(self.names) - 1)
                start = match.end()
        self.add(start, stop, name)

    def add(self, start: int, stop: int, name: int) -> None:
        """A part without names."""
        self.parts.append(self.source[start:stop])
        self.begins.append(self.made)
        self.origins.append((start, name))
        self.made += stop - start

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text that was made stands in the source, with names for what is not on its line."""
        if not end:
            return 0, 0
        first, last = self.origin(start), self.origin(end - 1)
        around = {name: at for at, _, name in first}
        return next((around[name], to) for _, to, name in last if name in around)

    def origin(self, at: int) -> list[tuple[int, int, int]]:
        """The character at `at`, and the names in which it stands from the inside out: start, end, name around."""
        part = bisect_right(self.begins, at) - 1
        start, name = self.origins[part]
        place = start + at - self.begins[part]
        found = [(place, place + 1, name)]
        while name:
            found.append(self.names[name])
            name = self.names[name][2]
        return found
