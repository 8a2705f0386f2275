"""Long lines, laid out as `ruff format` lays them out.

Only logical lines that overflow come here. A line is read back into brackets and operators (`syntax.py`), made into a
document of texts, groups and possible breaks with ruff's rules, and printed: a group stays on one line where it fits.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from .outline import quick_fit
from .syntax import Syntax, parse_line

# documents: a str, or a tuple of one of these tags and its parts
LINE = "line"  # (LINE, flat text): a break where the surrounding group breaks
GROUP = "group"  # (GROUP, key, parts)
INDENT = "indent"  # (INDENT, key, parts): key None, or the group that must have broken
IF_BREAKS = "if breaks"  # (IF_BREAKS, key, parts): key None for the surrounding group
GROUP_IF = "group if"  # (GROUP_IF, key, parts): a group where the group `key` has broken
EXPANDED = (
    "expanded"  # (EXPANDED, key, parts): may break without breaking what surrounds it, while the group `key` is flat
)
BEST = "best"  # (BEST, text): in parentheses on a line of its own, where that makes it fit
SOFT = (LINE, "")
SPACE = (LINE, " ")

Doc = Any
# the loosest operators of a chain break first; ruff's order of precedence
_RANK = {
    **dict.fromkeys(("and", "or"), 9),
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), 8),
    "|": 7,
    "^": 6,
    "&": 5,
    **dict.fromkeys(("<<", ">>"), 4),
    **dict.fromkeys(("+", "-"), 3),
    **dict.fromkeys(("*", "/", "//", "%"), 2),
    "**": 1,
}
_CONDITIONAL = 10
# where an expression stands: in brackets, or (its key) in parentheses that are added if need be, or in neither
_BRACKETS, _NOWHERE = -1, -2


def text_width(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(line: str, width: int) -> str:
    """A logical line, over several lines where it is wider than `width`."""
    if line.isascii():
        if len(line) <= width:
            return line
        quick = quick_fit(line, width)
        if quick is not None:
            return quick
    elif text_width(line) <= width:
        return line
    code = line.lstrip(" ")
    if code.startswith(("#", '"""')):
        return line
    indent = len(line) - len(code)
    return _Writer(width, indent).write(_Maker(width - indent).statement(parse_line(code)))


def flat(doc: Doc) -> str:
    """A document on one line."""
    out: list[str] = []
    todo = [doc]  # without recursion: Python 3.12 bounds that of C code, such as `map`, whatever the recursion limit is
    while todo:
        part = todo.pop()
        if type(part) is str:
            out.append(part)
        elif type(part) is list:
            todo += reversed(part)
        elif part[0] is LINE or part[0] is BEST:
            out.append(part[1])
        elif part[0] is not IF_BREAKS:
            todo += reversed(part[2])
    return "".join(out)


# --- documents --------------------------------------------------------------------------------------------------------


class _Maker:
    """Makes documents of syntax."""

    def __init__(self, room: int) -> None:
        self.keys = 0
        self.room = room

    def statement(self, items: list[Any]) -> list[Doc]:
        """The parts of a logical line: plain texts, and syntax with the place it stands in."""
        parts: list[Doc] = []
        for item in items:
            if isinstance(item, str):
                parts.append(item)
                continue
            place, syntax = item
            if place == "plain":
                parts.append(self.expr(syntax, _NOWHERE))
            elif place == "target":
                parts.append((BEST, syntax))
            elif place in ("targets", "names"):
                listed = self.items(syntax)
                if place == "names" and len(syntax) == 1:
                    listed.append((IF_BREAKS, None, [","]))
                parts.append(
                    (
                        GROUP,
                        None,
                        [(IF_BREAKS, None, ["("]), (INDENT, None, [SOFT, *listed]), SOFT, (IF_BREAKS, None, [")"])],
                    )
                )
            elif place == "params":
                parts.append(self.params(syntax))
            elif parts and parts[-1] == " = " and self.crowded(items[0][1], parts, syntax):
                parts += ["(", (INDENT, None, [SOFT, self.expr(syntax, _BRACKETS)]), SOFT, ")"]
            else:
                parts.append(self.value(syntax, place))
        return parts

    def crowded(self, target: Any, before: list[Doc], value: Syntax) -> bool:
        """Whether a stored value begins behind the end of the line, but a parenthesis does not: rather than the target,
        the value then moves to lines of its own."""
        splits = isinstance(target, Syntax) and target.kind == "subscript"
        if (splits and value.kind == "unary") or _needs(value) == "multiline":
            return False
        start = text_width(flat(before))
        text = flat(self.expr(value, _NOWHERE))
        head = min((at for at in (text.find("("), text.find("[")) if at >= 0), default=len(text) - 1)
        width = text_width(text[: head + 1])
        return start + 1 <= self.room < start + width and (splits or width + 4 <= self.room)

    def value(self, node: Syntax, place: str) -> Doc:
        """An expression that is put in parentheses where it would have to break."""
        need = _needs(node)
        if need == "never":
            return self.expr(node, _NOWHERE)
        if need == "best":
            return self.parenthesized_if_breaks(node) if place == "assert" else (BEST, flat(self.expr(node, _NOWHERE)))
        self.keys += 1
        key = self.keys
        if _can_omit(node):
            inner = self.expr(node, key)
            return (
                GROUP,
                key,
                [(IF_BREAKS, None, ["("]), (INDENT, key, [SOFT, inner]), SOFT, (IF_BREAKS, None, [")"])],
            )
        return self.parenthesized_if_breaks(node)

    def parenthesized_if_breaks(self, node: Syntax) -> Doc:
        """An expression in parentheses where it does not fit on the line."""
        inner = self.expr(node, _BRACKETS)
        return (GROUP, None, [(IF_BREAKS, None, ["("]), (INDENT, None, [SOFT, inner]), SOFT, (IF_BREAKS, None, [")"])])

    def expr(self, node: Syntax, where: int) -> Doc:
        """An expression where it stands."""
        return _MAKERS[node.kind](self, node, where)

    def bracketed(self, left: str, parts: list[Doc], right: str, where: int) -> Doc:
        """`left`, the indented parts, `right`; measured apart from optional parentheses around."""
        made = (GROUP, None, [left, (INDENT, None, [SOFT, *parts]), SOFT, right])
        return (EXPANDED, where, [made]) if where >= 0 else made

    def items(self, nodes: list[Syntax]) -> list[Doc]:
        """Items with commas; where each of several gets its own line, one more at the end."""
        parts: list[Doc] = []
        for node in nodes:
            if parts:
                parts += [",", SPACE]
            parts.append(self.expr(node, _BRACKETS))
        return [*parts, (IF_BREAKS, None, [","])] if len(nodes) > 1 else parts

    def atom(self, node: Syntax, where: int) -> Doc:
        return node.text

    def prefix(self, node: Syntax, where: int) -> Doc:
        """`-x`, `not x`, `name=x`, `key: x`."""
        return [node.text, self.expr(node.parts[0], where)]

    def function(self, node: Syntax, where: int) -> Doc:
        """`lambda x: y`."""
        body = node.parts[0]
        if _needs(body) == "best":
            return [node.text, (BEST, flat(self.expr(body, _NOWHERE)))]
        wrapped = body.kind in ("chain", "ternary", "unary")
        return [node.text, self.parenthesized_if_breaks(body) if wrapped else self.expr(body, where)]

    def slice(self, node: Syntax, where: int) -> Doc:
        start, stop = node.parts
        return [self.expr(start, where), node.text, self.expr(stop, where)]

    def paren(self, node: Syntax, where: int) -> Doc:
        return self.bracketed("(", [self.expr(node.parts[0], _BRACKETS)], ")", where)

    def sequence(self, node: Syntax, where: int) -> Doc:
        """A tuple, list or dict."""
        left, right = node.text[0], node.text[1]
        if not node.parts:
            return node.text
        if len(node.parts) == 1 and left == "(":
            return self.bracketed(left, [self.expr(node.parts[0], _BRACKETS), ","], right, where)
        return self.bracketed(left, self.items(node.parts), right, where)

    def params(self, nodes: list[Syntax]) -> Doc:
        """The parameters of a definition."""
        if not nodes:
            return "()"
        parts = self.items(nodes)
        inner = [(GROUP, None, parts)] if len(nodes) > 1 else [*parts, (IF_BREAKS, None, [","])]
        return (GROUP, None, ["(", (INDENT, None, [SOFT, *inner]), SOFT, ")"])

    def call(self, node: Syntax, where: int) -> Doc:
        head = self.expr(node.parts[0], where)
        if len(node.parts) == 1:
            return [head, "()"]
        return [head, self.bracketed("(", [(GROUP, None, self.items(node.parts[1:]))], ")", where)]

    def subscript(self, node: Syntax, where: int) -> Doc:
        head = self.expr(node.parts[0], where)
        return [head, self.bracketed("[", [(GROUP, None, self.items(node.parts[1:]))], "]", where)]

    def attribute(self, node: Syntax, where: int) -> Doc:
        return [self.expr(node.parts[0], where), node.text]

    def ternary(self, node: Syntax, where: int) -> Doc:
        a, test, b = (self.group(self.expr(part, where), where) for part in node.parts)
        return self.group([a, self.line(" ", where), "if ", test, self.line(" ", where), "else ", b], where)

    def chain(self, node: Syntax, where: int) -> Doc:
        operands = [self.expr(part, where) for part in node.parts]
        return self.group(self.flat_chain(operands, node.operators, node.tight, where), where)

    def flat_chain(self, operands: list[Doc], operators: list[str], tight: list[bool], where: int) -> list[Doc]:
        """Operands with breaks before the loosest operators; the stretches between these are groups."""
        if not operators:
            return operands
        loosest = max(_RANK[op] for op in operators)
        parts: list[Doc] = []
        start = 0
        for at, op in enumerate([*operators, ""]):
            if op and _RANK[op] != loosest:
                continue
            inner = self.flat_chain(operands[start : at + 1], operators[start:at], tight[start:at], where)
            parts += inner if at == start else [self.group(inner, where)]
            if op:
                parts.append(self.line("" if tight[at] else " ", where))
                parts += [op, (IF_BREAKS, None, [" "])] if tight[at] else [f"{op} "]
            start = at + 1
        return parts

    def group(self, parts: Doc, where: int) -> Doc:
        """A group, inside of brackets or parentheses only."""
        listed = parts if isinstance(parts, list) else [parts]
        if where == _NOWHERE:
            return listed
        return (GROUP, None, listed) if where == _BRACKETS else (GROUP_IF, where, listed)

    def line(self, flat: str, where: int) -> Doc:
        """A possible break, inside of brackets or parentheses only."""
        if where == _BRACKETS:
            return (LINE, flat)
        if where == _NOWHERE:
            return flat
        return [(IF_BREAKS, where, [(LINE, flat)]), ("if flat", where, [flat])]


_MAKERS: dict[str, Any] = {
    "atom": _Maker.atom,
    "prefix": _Maker.prefix,
    "unary": _Maker.prefix,
    "lambda": _Maker.function,
    "slice": _Maker.slice,
    "paren": _Maker.paren,
    "sequence": _Maker.sequence,
    "call": _Maker.call,
    "subscript": _Maker.subscript,
    "attribute": _Maker.attribute,
    "ternary": _Maker.ternary,
    "chain": _Maker.chain,
}


def _needs(node: Syntax) -> str:
    """Whether an expression gets parentheses where it breaks: "multiline", "never", "best" where they make it fit."""
    if node.kind in ("chain", "ternary"):
        return "multiline"
    if node.kind == "unary":
        return "never" if node.parts[0].kind == "paren" else _needs(node.parts[0])
    return "best" if node.kind == "atom" else "never"


class _Omit:
    """What decides whether breaking inside of the brackets of an expression is better than parentheses around it."""

    def __init__(self) -> None:
        self.brackets = False
        self.rank = 0.0
        self.count = 0
        self.first: Any = None
        self.last: Any = None

    def operator(self, rank: float, count: int) -> None:
        if rank > self.rank:
            self.rank, self.count = rank, count
        elif rank == self.rank:
            self.count += count

    def visit(self, node: Syntax) -> None:
        self.last = node
        if node.kind == "paren":
            self.brackets = True
        else:
            self.inside(node)
        if self.first is None:
            self.first = node

    def inside(self, node: Syntax) -> None:
        kind = node.kind
        if kind == "chain":
            for op in node.operators:
                self.operator(_RANK[op], 1)
            for part in node.parts:
                self.visit(part)
        elif kind == "ternary":
            self.operator(_CONDITIONAL, 2)
            for part in node.parts:
                self.visit(part)
        elif kind in ("call", "subscript", "attribute"):
            self.brackets = True
            self.visit(node.parts[0])
            self.last = node
        elif kind == "unary":
            if node.text == "~":
                self.operator(1.5, 1)
            if self.first is None:
                self.first = False
            self.visit(node.parts[0])


def _can_omit(node: Syntax) -> bool:
    found = _Omit()
    found.inside(node)
    if not found.brackets or found.count > 1:
        return False
    if found.rank == 0:
        return True
    return _has_content(found.last) or _has_content(found.first)


def _has_content(node: Any) -> bool:
    """Whether an expression is in brackets with something in them."""
    if not node:
        return False
    if node.kind == "call":
        return len(node.parts) > 1
    return node.kind == "paren"  # type: ignore[no-any-return]


# --- printing documents -----------------------------------------------------------------------------------------------

_FLAT, _BROKEN = 0, 1


class _Writer:
    """Prints a document: each group flat where that fits up to the next break, else broken."""

    def __init__(self, width: int, indent: int) -> None:
        self.width = width
        self.indent = indent
        self.modes: dict[int, int] = {}
        self.measured = False

    def write(self, doc: list[Doc]) -> str:
        """The text of a document that starts at the indentation."""
        out: list[str] = [" " * self.indent]
        column = self.indent
        # (document, mode, indentation), the next one last
        stack: list[tuple[Doc, int, int]] = [(part, _BROKEN, self.indent) for part in reversed(doc)]
        while stack:
            part, mode, indent = stack.pop()
            if type(part) is str:
                out.append(part)
                column += text_width(part)
                continue
            if type(part) is list:
                stack += [(one, mode, indent) for one in reversed(part)]
                continue
            tag = part[0]
            if tag is LINE:
                if mode == _FLAT:
                    out.append(part[1])
                    column += len(part[1])
                else:
                    self.measured = False
                    out.append("\n" + " " * indent)
                    column = indent
                continue
            if tag is BEST:
                stack += [(one, mode, indent) for one in reversed(self.best(part[1], column, indent, stack))]
                continue
            key, parts = part[1], part[2]
            if tag is GROUP or (tag is GROUP_IF and self.modes[key] == _BROKEN):
                mode = self.group_mode(part, mode, indent, column, stack)
            elif tag is EXPANDED:
                if self.modes[key] == _FLAT:
                    self.measured = False
            elif tag is INDENT:
                if key is None or self.modes[key] == _BROKEN:
                    indent += 4
            elif tag is IF_BREAKS:
                if (mode if key is None else self.modes[key]) == _FLAT:
                    continue
            elif tag == "if flat" and self.modes[key] == _BROKEN:
                continue
            stack += [(one, mode, indent) for one in reversed(parts)]
        return "".join(out)

    def group_mode(self, part: Doc, mode: int, indent: int, column: int, stack: list[tuple[Doc, int, int]]) -> int:
        """Flat or broken, and remembered under the group's key."""
        key = part[1] if part[0] is GROUP else None
        if not (mode == _FLAT and self.measured):
            self.measured = True
            if key is not None:
                self.modes[key] = _FLAT
            mode = _FLAT if self.fits(part[2], indent, column, stack) else _BROKEN
        if key is not None:
            self.modes[key] = mode
        return mode

    def best(self, text: str, column: int, indent: int, stack: list[tuple[Doc, int, int]]) -> list[Doc]:
        """A name or string as it is, or in parentheses where only these make it fit."""
        if self.fits([text], indent, column, stack) or max(column + 1, indent + 4 + text_width(text)) > self.width:
            return [text]
        return ["(", (INDENT, None, [SOFT, text]), SOFT, ")"]

    def fits(self, parts: list[Doc], indent: int, column: int, stack: list[tuple[Doc, int, int]]) -> bool:
        """Whether the parts, flat, and what follows them up to the next break fit on the line."""
        # mode, indentation, and whether all lines are measured
        todo = [(one, _FLAT, indent, False) for one in reversed(parts)]
        rest = len(stack)
        width, modes = self.width, self.modes
        while True:
            if not todo:
                if not rest:
                    return True
                rest -= 1
                one, one_mode, one_indent = stack[rest]
                todo.append((one, one_mode, one_indent, False))
            part, mode, indent, all_lines = todo.pop()
            if type(part) is str:
                column += text_width(part)
                if column > width:
                    return False
                continue
            if type(part) is list:
                todo += [(one, mode, indent, all_lines) for one in reversed(part)]
                continue
            tag = part[0]
            if tag is LINE:
                if mode == _FLAT:
                    column += len(part[1])
                elif all_lines:
                    column = indent
                else:
                    return True
                continue
            if tag is BEST:
                todo.append((part[1], mode, indent, all_lines))
                continue
            key = part[1]
            if tag is INDENT:
                if key is None or modes.get(key, _BROKEN) == _BROKEN:
                    indent += 4
            elif tag is IF_BREAKS:
                if (mode if key is None else modes[key]) == _FLAT:
                    continue
            elif tag is EXPANDED:
                if mode == _FLAT and modes[key] == _FLAT:
                    mode, all_lines = _BROKEN, True
            elif tag == "if flat":
                if modes[key] == _BROKEN:
                    continue
            elif tag is GROUP and key is not None:
                modes[key] = mode
            todo += [(one, mode, indent, all_lines) for one in reversed(part[2])]
