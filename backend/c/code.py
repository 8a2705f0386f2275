"""Pieces of C: expressions with their precedence, and the statements of one function."""

from __future__ import annotations

# precedences, as far as they matter for parentheses
PRIMARY, UNARY, TIMES, PLUS, SHIFT, ORDER, EQUAL, AND, XOR, OR, BOTH, EITHER, CHOICE = range(15, 2, -1)


class Code(str):
    """An expression of C and the precedence of its outermost operator."""

    __slots__ = ("prec",)
    prec: int

    def __new__(cls, text: str, prec: int = PRIMARY) -> Code:
        made = super().__new__(cls, text)
        made.prec = prec
        return made


def within(code: str, prec: int) -> str:
    """The expression with parentheses where its operator binds less than `prec`."""
    return str(code) if getattr(code, "prec", PRIMARY) >= prec else f"({code})"


def binary(a: str, sign: str, b: str, prec: int) -> Code:
    """`a sign b`, which C groups from the left."""
    return Code(f"{within(a, prec)} {sign} {within(b, prec + 1)}", prec)


def cast(kind: str, value: str) -> Code:
    """`(kind)value`"""
    return Code(f"({kind.strip()}){within(value, UNARY)}", UNARY)


def call(name: str, *args: str) -> Code:
    """`name(args)`"""
    return Code(f"{name}({', '.join(args)})")


def choice(condition: str, yes: str, no: str) -> Code:
    """`condition ? yes : no`"""
    return Code(f"{within(condition, EITHER)} ? {within(yes, CHOICE + 1)} : {within(no, CHOICE)}", CHOICE)


class Lines:
    """Lines of a body, indented by blocks."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, text: str) -> None:
        """A line, or several."""
        self.lines += [f"{'  ' * self.depth}{line}" for line in text.split("\n")]

    def open(self, head: str) -> None:
        """A line that begins a block."""
        self.add(f"{head} {{" if head else "{")
        self.depth += 1

    def close(self, after: str = "") -> None:
        """The end of a block, and what follows on its line."""
        self.depth -= 1
        self.add(f"}}{after}")
        if after.endswith("{"):
            self.depth += 1


__all__ = ["Code", "Lines", "binary", "call", "cast", "choice", "within"]
