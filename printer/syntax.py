"""One logical line of printed source read back into brackets and operators, for its layout.

This is no Python parser: it reads what the printer wrote, and keeps parentheses, which Python's tree forgets.
"""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<number>\d[\w]*(?:\.\d*)?(?:(?<=[eE])[-+]\d+)?(?:[eE][-+]?\d+)?)"""
    r"""|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<op>\*\*|//|<<|>>|<=|>=|==|!=|->|[^\s\w]))"""
)
_BINARY = frozenset(
    ("and", "or", "<", ">", "<=", ">=", "==", "!=", "|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//", "%", "**")
)
_CLOSE = {"(": ")", "[": "]", "{": "}"}


class Syntax:
    """A piece of an expression. `kind` says what; `text` is an atom's text or a prefix; a chain has `operators` between
    its parts, `tight` where they are written without blanks."""

    __slots__ = ("kind", "operators", "parts", "text", "tight")

    def __init__(
        self,
        kind: str,
        text: str,
        parts: list[Syntax],
        operators: list[str] | None = None,
        tight: list[bool] | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.parts = parts
        self.operators = operators or []
        self.tight = tight or []


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        self.spaced: list[bool] = []  # whether a blank stands before the token
        for match in _TOKEN.finditer(text):
            token = match[match.lastgroup or 0]
            self.tokens.append(token)
            self.spaced.append(match.end() - len(token) > match.start())
        self.tokens.append("")
        self.spaced.append(True)
        self.at = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, token: str) -> bool:
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expression(self) -> Syntax:
        """A ternary, a lambda, or a chain of operators."""
        if self.skip("lambda"):
            names = []
            while not self.skip(":"):
                names.append(self.take())
                self.skip(",")
            head = f"lambda {', '.join(names)}: " if names else "lambda: "
            return Syntax("lambda", head, [self.expression()])
        first = self.chain()
        if not self.skip("if"):
            return first
        test = self.chain()
        self.skip("else")
        return Syntax("ternary", "", [first, test, self.expression()])

    def chain(self, above: frozenset[str] = _BINARY) -> Syntax:
        """Operands with binary operators between them, all levels of precedence in one."""
        parts = [self.unary()]
        operators: list[str] = []
        tight: list[bool] = []
        while self.token in above:
            tight.append(not self.spaced[self.at])
            operators.append(self.take())
            parts.append(self.unary())
        return Syntax("chain", "", parts, operators, tight) if operators else parts[0]

    def unary(self) -> Syntax:
        if self.skip("not"):
            return Syntax("unary", "not ", [self.chain(_BINARY - {"and", "or"})])
        if self.token in ("-", "~", "+"):
            sign = self.take()
            if sign == "-" and self.token[:1].isdigit() and self.tokens[self.at + 1] != "**":
                return Syntax("unary", "-", [Syntax("atom", self.take(), [])])
            return Syntax("unary", sign, [self.chain(frozenset(("**",)))])
        return self.postfix()

    def postfix(self) -> Syntax:
        token = self.take()
        if token == "(":
            node = self.parenthesized()
        elif token in _CLOSE:
            node = Syntax("sequence", token + _CLOSE[token], self.items(_CLOSE[token]))
        else:
            node = Syntax("atom", token, [])
        while True:
            if self.skip("."):
                name = f".{self.take()}"
                node = (
                    Syntax("atom", node.text + name, []) if node.kind == "atom" else Syntax("attribute", name, [node])
                )
            elif self.skip("("):
                node = Syntax("call", "", [node, *self.items(")")])
            elif self.skip("["):
                node = Syntax("subscript", "", [node, *self.items("]")])
            else:
                return node

    def parenthesized(self) -> Syntax:
        if self.skip(")"):
            return Syntax("sequence", "()", [])
        first = self.item()
        if self.skip(")"):
            return Syntax("paren", "", [first])
        self.skip(",")
        return Syntax("sequence", "()", [first, *self.items(")")])

    def items(self, close: str) -> list[Syntax]:
        found = []
        while not self.skip(close):
            found.append(self.item())
            self.skip(",")
        return found

    def item(self) -> Syntax:
        """An item in brackets: an expression, `name=value`, `key: value`, `start:stop`."""
        first = self.expression()
        if self.skip("="):
            return Syntax("prefix", f"{first.text}=", [self.expression()])
        if self.token != ":":
            return first
        blank = " " if self.spaced[self.at] else ""
        self.take()
        if first.kind == "atom" and not blank and self.spaced[self.at]:
            return Syntax("prefix", f"{first.text}: ", [self.expression()])
        return Syntax("slice", f"{blank}:{blank}", [first, self.expression()])


def parse_line(code: str) -> list[Any]:
    """The parts of a logical line: plain texts, and (place, syntax) pairs. The place says how the expression breaks:
    "value" in parentheses where need be, "assert" likewise, names and strings always, "plain" in its own brackets only;
    "targets", "params" and "names" are lists of them, "target" is the name of a loop's one variable."""
    reader = _Reader(code)
    word = reader.token
    rule = _STATEMENTS.get(word)
    parts = rule(reader) if rule is not None else _simple(reader)
    is_read = reader.tokens[reader.at :] in ([""], [":", ""])
    return parts if is_read else [code]  # no word may be lost


def _simple(reader: _Reader) -> list[Any]:
    """`target = value`, `target: annotation = value`, or an expression."""
    targets = [reader.expression()]
    while reader.skip(","):
        targets.append(reader.expression())
    parts: list[Any] = [("plain", targets[0]) if len(targets) == 1 else ("targets", targets)]
    if reader.skip(":"):
        parts += [": ", ("plain", reader.expression())]
    if reader.skip("="):
        parts += [" = ", ("value", reader.expression())]
    return parts


def _keyword(reader: _Reader) -> list[Any]:
    """`return value`, `if condition:`, `while`, `elif`, `with`; a bare `return`."""
    word = reader.take()
    if not reader.token:
        return [word]
    parts: list[Any] = [f"{word} ", ("value", reader.expression())]
    if reader.skip("as"):
        parts.append(f" as {reader.take()}")
    return [*parts, *([":"] if word != "return" else [])]


def _else(reader: _Reader) -> list[Any]:
    return [f"{reader.take()}:"]


def _for(reader: _Reader) -> list[Any]:
    reader.take()
    names = [Syntax("atom", reader.take(), [])]
    while reader.skip(","):
        names.append(Syntax("atom", reader.take(), []))
    reader.take()
    target = ("target", names[0].text) if len(names) == 1 else ("targets", names)
    return ["for ", target, " in ", ("value", reader.expression()), ":"]


def _assert(reader: _Reader) -> list[Any]:
    reader.take()
    parts: list[Any] = ["assert ", ("assert", reader.expression())]
    if reader.skip(","):
        parts += [", ", ("assert", reader.expression())]
    return parts


def _def(reader: _Reader) -> list[Any]:
    reader.take()
    name = reader.take()
    reader.take()
    params = []
    while not reader.skip(")"):
        param = reader.take()
        reader.take()
        params.append(Syntax("prefix", f"{param}: ", [reader.expression()]))
        reader.skip(",")
    parts: list[Any] = [f"def {name}", ("params", params)]
    if reader.skip("->"):
        parts += [" -> ", ("plain", reader.expression())]
    return [*parts, ":"]


def _decorator(reader: _Reader) -> list[Any]:
    reader.take()
    return ["@", ("plain", reader.expression())]


def _import(reader: _Reader) -> list[Any]:
    """`from package import name as short, ...`."""
    reader.take()
    package = [reader.take()]
    while not reader.skip("import"):
        package.append(reader.take())
    names: list[Syntax] = []
    while not names or reader.skip(","):
        name = reader.take()
        names.append(Syntax("atom", f"{name} as {reader.take()}" if reader.skip("as") else name, []))
    return [f"from {''.join(package)} import ", ("names", names)]


_STATEMENTS: dict[str, Any] = {
    **dict.fromkeys(("return", "if", "elif", "while", "with"), _keyword),
    "else": _else,
    "for": _for,
    "assert": _assert,
    "def": _def,
    "from": _import,
    "@": _decorator,
}
