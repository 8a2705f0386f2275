"""Random statements, most of them too long for a line."""

from __future__ import annotations

import random

from tirscript.printer.expr import is_tight, slice_text

_NAMES = ("i", "j", "k", "vi", "vj", "acc", "data_pad", "very_long_variable_name", "Conv2dOutput", "x_1", "n")
_NUMBERS = ("0", "1", "3", "128", "1000", "-3", "0.5", "1e-05", "2.0", "T.float32(0.5)", "T.int64(3)")
_WORDS = ("a message", "something is wrong with this program because ", "x")
_BUFFER = 'T.Buffer((128, 128), "float32")'
_LEVELS = {
    "or": 3,
    "and": 4,
    "<": 6,
    ">=": 6,
    "==": 6,
    "|": 7,
    "^": 8,
    "&": 9,
    "<<": 10,
    "+": 11,
    "-": 11,
    "*": 12,
    "//": 12,
    "%": 12,
    "/": 12,
    "**": 14,
}


class LongLines:
    """Makes statements as the printer writes them, on one line each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def name(self) -> str:
        return self.pick(_NAMES)

    def string(self) -> str:
        return '"' + self.pick(_WORDS) * self.pick((1, 1, 2, 3)) + '"'

    def expressions(self, depth: int, counts: tuple[int, ...]) -> str:
        return ", ".join(self.expression(depth) for _ in range(self.pick(counts)))

    def expression(self, depth: int, level: int = 0) -> str:
        """An expression in parentheses where it is looser than `level`."""
        chance = self.random.random()
        if depth <= 0 or chance < 0.12:
            return self.pick((self.pick(_NAMES), self.pick(_NUMBERS)))
        depth -= 1
        if chance < 0.35:
            return f"{self.pick(('A', 'Conv2dOutput', 'B_shared'))}[{self.expressions(depth, (1, 2, 2, 4))}]"
        if chance < 0.55:
            function = self.pick(("exp", "max", "min", "cast", "Select", "call_extern", "if_then_else"))
            return f"T.{function}({self.expressions(depth, (1, 2, 2, 3))})"
        if chance < 0.57:
            start, stop = self.expression(depth), self.expression(depth)
            return f"A[{slice_text(start, stop)}]"
        text, own = self.operation(depth, chance)
        return f"({text})" if level > own else text

    def operation(self, depth: int, chance: float) -> tuple[str, int]:
        """An operation and how tightly it binds."""
        if chance < 0.63:
            a, test, b = (self.expression(depth, 3) for _ in range(3))
            return f"{a} if {test} else {b}", 2
        if chance < 0.67:
            inner = self.expression(depth, 15)
            return (self.pick("-~") + inner, 13) if inner[0] not in "-0123456789" else (inner, 0)
        if chance < 0.69:
            inner = self.expression(depth, 5)
            return "not " + (self.name() if "**" in inner else inner), 5
        if chance < 0.71:
            return f'T.let("x", {self.expression(depth)}, lambda x: {self.expression(depth)})', 15
        op = self.pick(list(_LEVELS))
        own = _LEVELS[op]
        if op != "**":
            left = self.expression(depth, own + 1 if own == 6 else own)
            return f"{left} {op} {self.expression(depth, own + 1)}", own
        left, right = self.expression(depth, 15), self.expression(depth, 13)
        if left[0] == "-":
            left = f"({left})"
        return f"{left}**{right}" if is_tight(left, right) else f"{left} ** {right}", 14

    def statement(self) -> str:
        """A simple statement, or the head of a compound one."""
        rule = self.random.choices(list(_STATEMENTS), list(_STATEMENTS.values()))[0]
        return rule(self)


def _store(self: LongLines) -> str:
    indices = ", ".join(self.expression(self.pick((0, 1, 2))) for _ in range(self.pick((1, 2, 4))))
    return f"A[{indices}] = {self.expression(self.pick((2, 3, 4)))}"


def _assign(self: LongLines) -> str:
    kind = self.pick(("", "", ": T.float32", ": T.let[T.float32]"))
    return f"{self.name()}{kind} = {self.expression(self.pick((2, 3, 4)))}"


def _call(self: LongLines) -> str:
    return self.pick((f"T.evaluate({self.expression(3)})", f"T.reads({self.expressions(2, (1, 2, 4))})"))


def _assert(self: LongLines) -> str:
    return f"assert {self.expression(self.pick((1, 3)))}{self.pick(('', ', ' + self.string()))}"


def _keyword(self: LongLines) -> str:
    word = self.pick(("return", "if", "while"))
    return f"{word} {self.expression(self.pick((2, 3, 4)))}{'' if word == 'return' else ':'}"


def _for(self: LongLines) -> str:
    names = ", ".join(dict.fromkeys(self.name() for _ in range(3)))
    return f"for {names} in T.grid({self.expressions(2, (1, 3))}):"


def _remap(self: LongLines) -> str:
    names = [f"{self.name()}{at}" for at in range(self.pick((2, 3, 8)))]
    return f'{", ".join(names)} = T.axis.remap("SSRR", [{", ".join(self.name() for _ in names)}])'


def _attributes(self: LongLines) -> str:
    kinds = ("True", "1", "[1, 2, 3]", "(1,)", "{}", self.string(), self.string())
    items = ", ".join(f"{self.string()}: {self.pick(kinds)}" for _ in range(self.pick((1, 2, 4))))
    return f"T.func_attr({{{items}}})"


def _define(self: LongLines) -> str:
    params = [
        f"{self.name()}{at}: {self.pick(('T.int64', 'T.handle', _BUFFER))}" for at in range(self.pick((0, 1, 2, 3, 8)))
    ]
    return f"def {self.name()}({', '.join(params)}){self.pick(('', ' -> T.int32'))}:"


def _with(self: LongLines) -> str:
    return f"with T.attr({self.expression(1)}, {self.string()}, {self.expression(2)}):"


_STATEMENTS = {
    _store: 8,
    _assign: 6,
    _call: 3,
    _assert: 2,
    _keyword: 4,
    _for: 1,
    _remap: 1,
    _attributes: 1,
    _define: 1,
    _with: 1,
}
