"""One function at one stage as the page needs it: text, names with what is known of them, and places in the source."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

from tirscript.ir import Buffer, Const, Expr, GraphFunc, Module, PrimFunc, Stmt, Var, walk
from tirscript.ir.graph import GraphVar
from tirscript.ir.node import Node, recursion_room
from tirscript.ir.rewrite import children
from tirscript.ir.stmt import Axis
from tirscript.printer.positions import Positions, Stretch, print_with_positions

from .facts import symbols
from .graphs import Keys, drawn, graph_symbols

TAB = 4
_BINDERS = (Var, Buffer, GraphVar)
_SYMBOLS: dict[type, Any] = {PrimFunc: symbols, GraphFunc: graph_symbols}


class Listing(NamedTuple):
    """`data` is what the page shows; `numbers` are the lines (from 1) of the function and its statements, by id."""

    data: dict[str, Any]
    numbers: dict[int, int]


def listing(func: PrimFunc | GraphFunc, module: Module | None, filename: str, keys: Keys | None = None) -> Listing:
    """A function, as it stands in `module`; places in `filename` are told. With `keys` a graph function is drawn."""
    text, stretches = _positions(func, module)
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    numbers: dict[int, int] = {}
    for one in stretches:
        if isinstance(one.node, (Stmt, PrimFunc)):
            numbers.setdefault(id(one.node), bisect_right(starts, one.start))
    numbers[id(func)] = _head(text, starts, stretches)
    _add_joined(func, numbers, starts, stretches)
    data = {
        "text": text,
        **_names(func, text, stretches),
        "source": _source_lines(starts, stretches, filename),
    }
    if type(func) is GraphFunc and keys is not None:
        data["drawing"] = _drawing(func, module, keys, text, starts, stretches)
    return Listing(data, numbers)


def _drawing(
    func: GraphFunc, module: Module | None, keys: Keys, text: str, starts: list[int], stretches: list[Stretch]
) -> dict[str, Any]:
    """The drawing of a graph function, whose variables are called as in its text."""
    names: dict[int, str] = {}
    lines: dict[int, int] = {}
    for one in stretches:
        if type(one.node) is GraphVar:
            names.setdefault(id(one.node), text[one.start : one.end])
            if one.definition:
                lines.setdefault(id(one.node), bisect_right(starts, one.start) - 1)
    with recursion_room():
        return drawn(func, module, keys, names, lines)


def _positions(func: PrimFunc | GraphFunc, module: Module | None) -> Positions:
    """The text of a function, which calls others as those of its module, and the stretches in it."""
    if module is None:
        return print_with_positions(func, header=False)
    alone = module.replace(functions=(func,), attrs=type(module.attrs)(), docstring=None, trivia=None)
    text, stretches = print_with_positions(alone, header=False)
    start = text.index("\n", text.index("\nclass ") + 1) + 1
    lines = text[start:].split("\n")
    cut = [min(TAB, len(line) - len(line.lstrip(" "))) for line in lines]
    begins = list(accumulate((len(line) + 1 for line in lines), initial=start))
    removed = list(accumulate(cut, initial=start))

    def place(at: int) -> int:
        return at - removed[bisect_right(begins, at)]

    moved = [one._replace(start=place(one.start), end=place(one.end)) for one in stretches if one.start >= start]
    return Positions("\n".join(line[count:] for line, count in zip(lines, cut, strict=True)), moved)


def _head(text: str, starts: list[int], stretches: list[Stretch]) -> int:
    """The line of `def`."""
    at = next((one.start for one in stretches if type(one.node) is PrimFunc), 0)
    found = text.find("\ndef ", max(0, at - 1))
    return bisect_right(starts, found + 1) if found >= 0 else 1


def _add_joined(
    func: PrimFunc | GraphFunc, numbers: dict[int, int], starts: list[int], stretches: list[Stretch]
) -> None:
    """The lines of statements that the text writes together with others: an `elif`, the inner loops of a `T.grid`."""
    places: dict[int, int] = {}
    for one in stretches:
        places.setdefault(id(one.node), one.start)
    for node in walk(func):
        if isinstance(node, Stmt) and id(node) not in numbers:
            found = [places[id(part)] for part in children(node) if id(part) in places and isinstance(part, Expr)]
            if found:
                numbers[id(node)] = bisect_right(starts, found[0])


def _names(func: PrimFunc | GraphFunc, text: str, stretches: list[Stretch]) -> dict[str, Any]:
    """The places of names: flat numbers (distance from the place before, length, 2 * symbol + definition)."""
    words: dict[int, str] = {}
    names: dict[int, str] = {}
    for one in stretches:
        piece = text[one.start : one.end]
        words.setdefault(id(one.node), piece)
        if isinstance(one.node, _BINDERS):
            names.setdefault(id(one.node), piece)

    def spelled(node: Node) -> str:
        if type(node) is Const and type(node.value) is int:
            return str(node.value)
        found = words.get(id(node))
        if found is None:
            found = words[id(node)] = node.script(fragment=True)
        return " ".join(found.split())

    with recursion_room():
        known = _SYMBOLS[type(func)](func, names, spelled)
    order = {key: at for at, key in enumerate(known)}
    units = _units(text)
    places: list[int] = []
    last = 0
    for one in stretches:
        number = order.get(id(one.node))
        if number is not None:
            start, end = units(one.start), units(one.end)
            places += [start - last, end - start, 2 * number + one.definition]
            last = start
    return {"places": places, "symbols": [list(one) for one in known.values()]}


def _units(text: str) -> Any:
    """Offsets in UTF-16 units, in which browsers count, of offsets in characters."""
    if text.isascii():
        return lambda at: at
    wide = [at for at, char in enumerate(text) if char > "\uffff"]
    return lambda at: at + bisect_right(wide, at - 1)


def _source_lines(starts: list[int], stretches: list[Stretch], filename: str) -> list[int]:
    """For each line, the line of the source that it came from; 0 where that is not known.

    It is that of the first statement that begins on the line, else that of the first expression, or definition.
    """
    found = [0] * len(starts)
    ranks = [9] * len(starts)
    for one in stretches:
        span = one.node.span
        if span is None or span.filename != filename or isinstance(one.node, Module):
            continue
        rank = 0 if isinstance(one.node, (Stmt, PrimFunc, Axis)) else 1 if not isinstance(one.node, _BINDERS) else 2
        if rank == 2 and not one.definition:
            continue
        line = bisect_right(starts, one.start) - 1
        if rank < ranks[line]:
            found[line], ranks[line] = span.line, rank
    return found
