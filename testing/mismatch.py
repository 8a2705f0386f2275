"""What two programs differ in, for people: every difference with its path and its places, then a diff of the texts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from tirscript.ir import Difference, GraphFunc, Module, Node, PrimFunc, Span, Stmt, differences
from tirscript.ir.diagnostic import DiagnosticError, snippet
from tirscript.ir.node import Binder, recursion_room, shape_of
from tirscript.ir.stmt import Axis
from tirscript.printer.diff import diff
from tirscript.printer.func import docstring_lines

from .places import Text, own_span, printed_text, steps

# differences that are shown with their lines of source; the others of `MOST` take a line each
DETAILED, MOST = 10, 1000


class Side:
    """One of two programs that are compared, and its text where it has one already."""

    def __init__(self, label: str, program: Any, text: Text | None = None) -> None:
        self.label = label
        self.program = program
        self.given = text

    @cached_property
    def printed(self) -> Text | DiagnosticError | None:
        """The text with the places of its parts; the reason where there is none, None for a piece of a program."""
        if self.given is not None:
            return self.given
        if not isinstance(self.program, (PrimFunc, GraphFunc, Module)):
            return None
        try:
            return printed_text(self.program, f"<{self.label}>")
        except DiagnosticError as problem:
            return problem

    def place(self, path: str) -> Span | None:
        """Where the part is in the text."""
        return self.printed.span(path) if isinstance(self.printed, Text) else None

    def origin(self, path: str) -> Span | None:
        """Where the user wrote the part, or the smallest known thing around it."""
        if self.given is not None:
            return None  # the text is what somebody wrote
        found: Span | None = None
        parent: Any = None
        for node, field, _ in steps(self.program, path):
            found = own_span(node, parent, field) or found
            parent = node
        return found


def explain(expected: Side, found: Side, problems: list[Difference], *, names: bool = False) -> str:
    """All differences, the most specific first, and the diff of both texts, in which names are aligned unless `names`
    are compared too."""
    ordered = sorted(problems, key=lambda problem: -_depth(problem))
    count = f"{len(problems)} difference{'s' * (len(problems) != 1)}"
    lines = [f"{count} between what is {expected.label} and what is {found.label}, the most specific first:"]
    for problem in ordered[:DETAILED]:
        lines += ["", *_detail(expected, found, problem)]
    if len(ordered) > DETAILED:
        lines += ["", *(_head(expected, found, problem) for problem in ordered[DETAILED:])]
    if len(problems) >= MOST:
        lines.append(f"(only the first {MOST} are listed)")
    for side in (expected, found):
        if isinstance(side.printed, DiagnosticError):
            said = str(side.printed).strip().partition("\n")[0]
            lines += ["", f"what is {side.label} cannot be read back: {said}"]
    return "\n".join([*lines, "", text_diff(expected, found, names=names).rstrip("\n")])


def _depth(problem: Difference) -> int:
    path = max(problem.path, problem.right_path, key=len)
    return path.count(".") + path.count("[")


def _head(expected: Side, found: Side, problem: Difference) -> str:
    reason = problem.reason
    for word, side in (("left", expected), ("right", found)):
        reason = reason.replace(f"only the {word} has", f"only what is {side.label} has")
    paths = [_path(expected.program, problem.path), _path(found.program, problem.right_path)]
    return f"{' / '.join(dict.fromkeys(paths))}: {reason}"


def _path(program: Any, path: str) -> str:
    """A path that begins with the name of the function."""
    if isinstance(program, (PrimFunc, GraphFunc)):
        return f"{program.name}.{path}" if path and path[0] != "[" else f"{program.name}{path}"
    return path or getattr(program, "name", "") or "."


def _detail(expected: Side, found: Side, problem: Difference) -> list[str]:
    places: list[tuple[str, Span]] = []
    for side, path in ((expected, problem.path), (found, problem.right_path)):
        place = side.place(path)
        if place is not None:
            places.append((side.label, place))
    origins = [(side, side.origin(path)) for side, path in ((expected, problem.path), (found, problem.right_path))]
    written: dict[tuple[str, str], tuple[Span, list[str]]] = {}
    for side, span in origins:
        if span is not None:
            written.setdefault((str(span), span.source.line(span.line)), (span, []))[1].append(side.label)
    places += [(f"{' and '.join(labels)}, as written", span) for span, labels in written.values()]
    width = len(str(max((span.line for _, span in places), default=0)))
    lines = [_head(expected, found, problem)]
    for caption, span in places:
        lines.append(f"{' ' * width}--> {span} ({caption})")
        lines += snippet(span, width)
    return lines


def text_diff(expected: Side, found: Side, *, names: bool = False) -> str:
    """The unified diff of both texts; the names of `found` are those of `expected` unless `names`."""
    if not names:
        return diff(expected.program, found.program)
    left, right = (side.program.script().splitlines() for side in (expected, found))
    return "\n".join(difflib.unified_diff(left, right, expected.label, found.label, lineterm=""))


# --- names and comments -----------------------------------------------------------------------------------------------


def compare(a: Any, b: Any, *, names: bool = False, comments: bool = False, free: bool = False) -> list[Difference]:
    """Every difference of two programs; of those that mean the same, on request, the names and the comments."""
    found = differences(a, b, map_free_vars=free, limit=MOST)
    return found or surface(a, b, names=names, comments=comments)


def surface(a: Any, b: Any, *, names: bool, comments: bool) -> list[Difference]:
    """Where two programs that are structurally equal have other names (which a binder has where it is met first), or
    other comments or docstrings."""
    found: list[Difference] = []
    with recursion_room():
        if names:
            for path, x, y in _twins(a, b, "", set()):
                if isinstance(x, (Binder, Module)) and len(set(_names(x, y))) > 1:
                    found.append(Difference(path, x, y, "named `{}` against `{}`".format(*_names(x, y)), path))
        if comments:
            for (path, x, left), (_, y, right) in zip(_remarks(a), _remarks(b), strict=True):
                if left != right:
                    reason = f"{left or 'no comment'} against {right or 'no comment'}"
                    found.append(Difference(path, x, y, reason, path))
    return found


def _names(*nodes: Any) -> list[str]:
    return [node.name for node in nodes]


def _twins(a: Any, b: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any, Any]]:
    """The nodes of two structurally equal programs in pairs; every binder once."""
    if isinstance(a, Node):
        if isinstance(a, Binder):
            if id(a) in seen:
                return
            seen.add(id(a))
        yield path, a, b
        shape = shape_of(type(a))
        for (name, _), x, y in zip(shape.children, shape.get_children(a), shape.get_children(b), strict=True):
            yield from _twins(x, y, f"{path}.{name}" if path else name, seen)
    elif isinstance(a, dict):
        for key in a:
            yield from _twins(a[key], b[key], f"{path}[{key!r}]", seen)
    elif isinstance(a, (tuple, list)):
        for at, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _twins(x, y, f"{path}[{at}]", seen)


def _remarks(root: Any) -> list[tuple[str, Any, str]]:
    """For every statement, function and module the comments that stand between the one before and its first line; for
    the end those behind the last. To which of two neighbours a comment belongs is not told: text does not say it."""
    found: list[tuple[str, Any, str]] = []
    said: list[str] = []

    def heads(value: Any, wanted: Callable[[str], bool]) -> None:
        for part, trivia in getattr(value, "heads", ()):
            said.extend(trivia.lines if wanted(part) else ())

    def visit(value: Any, path: str) -> None:
        if isinstance(value, (tuple, list)):
            for at, item in enumerate(value):
                visit(item, f"{path}[{at}]")
        elif isinstance(value, (Stmt, Axis, PrimFunc, GraphFunc, Module)):
            trivia = value.trivia
            said.extend(trivia.before if trivia is not None else ())
            said.append(trivia.beside if trivia is not None else "")
            if isinstance(value, (PrimFunc, GraphFunc, Module)) and (lines := docstring_lines(value.docstring)):
                said.append('"""{}"""'.format("\n".join(lines)))
            found.append((path, value, _line(said)))
            said.clear()
            shape = shape_of(type(value))
            fields = zip(shape.children, shape.get_children(value), strict=True)
            # the init of a block stands before its body
            for (name, _), item in sorted(fields, key=lambda field: field[0][0] == "body"):
                if isinstance(item, tuple):
                    visit(item, f"{path}.{name}" if path else name)
                if name in ("axes", "params"):
                    heads(value, lambda part: part != "return")
            heads(value, lambda part: part in ("return", "output"))
            said.extend(trivia.after if trivia is not None else ())

    visit(root, "")
    found.append(("", root, _line(said)))
    return found


def _line(comments: list[str]) -> str:
    """Comments on one line, blank lines left away."""
    words = [line if line[0] == '"' else f"# {line.lstrip('#').strip()}" for line in comments if line.strip()]
    return " ".join(words)


__all__ = ["Side", "compare", "explain", "surface", "text_diff"]
