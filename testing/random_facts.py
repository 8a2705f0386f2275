"""Random functions for the passes that prove something, and arguments that fulfil what the functions assume.

They hold what these passes look for: paddings under an assumption or stored, with conditions that leave them out; loops
whose conditions narrow them; stores that are overwritten or store what is there; sums and extremes over paddings;
neighbouring branches on the same condition; values computed twice. Each is drawn with details that make a rewrite wrong
now and then.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from tirscript.ir import PrimFunc

HEAD = """@T.prim_func
def main(
    A: T.Buffer((4, 4), "{dtype}"),
    B: T.Buffer((16,), "{dtype}"),
    C: T.Buffer((16,), "{dtype}"),
    P: T.Buffer((16,), "int32"),
    n: T.int32,
    m: T.int32,
):
"""


class Case(Struct, frozen=True):
    """A function and one list of arguments for it."""

    func: PrimFunc
    arguments: list[Any]


class _Draw:
    """Pieces of programs as lines of text."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.dtype = self.pick(("float32", "int32", "int8", "float64"))
        self.valid = self.number(9, 16)  # what is not padding
        self.names = 0
        self.pad = self.pick(self.paddings())

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(tuple(choices)))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def chance(self, of: int) -> bool:
        return self.number(1, of) == 1

    def name(self) -> str:
        self.names += 1
        return f"x{self.names}"

    @property
    def floats(self) -> bool:
        return self.dtype.startswith("float")  # type: ignore[no-any-return]

    def paddings(self) -> tuple[str, ...]:
        if self.floats:
            return (self.const("0.0"), self.const("0.0"), self.const("0.0"), self.const("-inf"), self.const("1.5"))
        return (self.const("0"), self.const("0"), f'T.min_value("{self.dtype}")', self.const("3"))

    def const(self, text: str) -> str:
        text = text if not self.floats or "." in text or "inf" in text else f"{text}.0"
        return f"T.{self.dtype}({text!r})" if "inf" in text else f"T.{self.dtype}({text})"

    def value(self) -> str:
        return self.const(self.pick(("0", "1", "2", "-0.0" if self.floats else "-1")))

    def scalar(self) -> str:
        """An integer that is the same everywhere."""
        return self.pick(("n", "m", "n + 1", "n * 2", "n // 3", "m % 4", "n % 5 + m"))  # type: ignore[no-any-return]

    def index(self, *loops: str) -> str:
        """An index of 16 elements."""
        return self.pick(
            (*loops, str(self.number(0, 15)), "n % 16", "(n + m) % 16", "15 - " + (loops[0] if loops else "3"))
        )  # type: ignore[no-any-return]

    def condition(self, *loops: str) -> str:
        plain = [f"n > {self.number(-1, 6)}", f"m < {self.number(0, 5)}", "n < m", "n % 2 == 0"]
        moving = [f"{i} < {self.number(1, 16)}" for i in loops] + [f"{i} >= {self.number(0, 6)}" for i in loops]
        moving += [f"{loops[0]} * 2 + 1 < {self.number(4, 30)}", f"{loops[0]} < n"] if loops else []
        one = self.pick((*plain, *moving, *moving))
        return f"{one} and {self.pick((*plain, *moving))}" if self.chance(3) else one  # type: ignore[no-any-return]

    # patterns: each a list of lines

    def store(self, *loops: str) -> list[str]:
        target = self.pick("BC")
        at = self.index(*loops)
        other = self.index(*loops)
        kinds = (
            f"{target}[{at}] = {self.value()}",
            f"{target}[{at}] = {self.pick('BC')}[{other}]",
            f"{target}[{at}] = {target}[{at}] + {self.pick('BC')}[{other}]",
            f"{target}[{at}] = {target}[{at}] {self.pick('+-')} {self.const('0')}",
            f"P[{at}] = {self.scalar()} + {self.scalar()}",
            f"{target}[{at}] = T.undef({self.dtype!r}) * {self.const('0')}",
        )
        return [self.pick(kinds)]

    def overwritten(self, *loops: str) -> list[str]:
        target, at = self.pick("BC"), self.index(*loops)
        # what is undefined must not be left in an output
        first = self.pick((self.value(), self.value(), f"T.undef({self.dtype!r})"))
        second = self.pick(("P", self.pick("BC"))) if "undef" not in first else "B" if target == "C" else "C"
        value = f"{second}[{self.index(*loops)}]" if second != "P" else self.value()
        lines = [f"{target}[{at}] = {first}", f"{target}[{at}] = {value}"]
        if self.chance(3):
            lines.insert(1, f"{self.pick('BC')}[{self.index(*loops)}] = {self.value()}")
        if self.chance(3):
            lines.append(f"{target}[{at}] = {target}[{at}]")
        if self.chance(3):
            lines = [lines[0], *lines]
        return lines

    def twins(self, *loops: str) -> list[str]:
        """Two loops beside each other, of which the second may need what the first stores."""
        i, j, size = self.name(), self.name(), self.pick((16, 16, "n"))
        other = size if not self.chance(4) else 4
        return [
            f"for {i} in range({size}):",
            *indented(self.store(i)),
            f"for {j} in range({other}):",
            *indented(self.store(j)),
        ]

    def asserted(self, *loops: str) -> list[str]:
        """Conditions that are always true, and some that are not."""
        i, x = self.name(), self.name()
        return self.pick(
            (
                ["T.static_assert(n < 16)"],
                [f"for {i} in range(16):", f"    assert {i} * 2 + n < {self.pick((46, 46, 40))}, 'sum'"],
                [
                    f"{x} = n + {self.number(0, 9)}",
                    f"T.static_assert({x} > n)",
                    f"assert {x} < {self.number(15, 30)}, 'x'",
                ],
                [f"assert A[3, 3] == {self.pad}, 'last'"],
                [f"if {self.condition(*loops)}:", *indented(self.asserted(*loops))],
            )
        )

    def padding(self, *loops: str) -> list[str]:
        """A reduction over the padded array that leaves the padding out, or does not."""
        i, j, at = self.name(), self.name(), self.index(*loops[:1])
        place = f"4 * {i} + {j}"
        target = self.pick("BC")
        element, here = f"A[{i}, {j}]", f"{target}[{at}]"
        value = self.pick(
            (
                f"{here} + {element}",
                f"{here} + {element}",
                f"{here} - {element}",
                f"{element} + {here}",
                f"T.max({element}, {here})",
                f"T.max({here}, {element})",
                f"{here} + {element} * {element}",
                f"{here} + {element} * {self.const('2')}",
            )
        )
        bound = self.pick((self.valid, self.valid, self.valid, self.valid - 1, self.number(9, 16)))
        lines = [f"for {i}, {j} in T.grid(4, 4):"]
        kind = self.number(1, 4)
        if kind <= 2:
            lines += [f"    if {place} < {bound}:", f"        {here} = {value}"]
        elif kind == 3:
            lines += [f"    {here} = {here} + T.if_then_else({place} < {bound}, {element}, {self.const('0')})"]
        else:
            lines += [f"    {here} = {value}"]
        start = self.pick((self.const("0"), self.const("0"), self.pad))
        if self.chance(3):
            lines.insert(0, f"A[{self.number(0, 3)}, {self.number(0, 3)}] = {self.value()}")
        return [f"{here} = {start}", *lines] if not self.chance(4) else lines

    def narrowed(self, *loops: str) -> list[str]:
        i = self.name()
        body = self.block(1, i)
        return [f"for {i} in range({self.pick((16, 16, 8))}):", f"    if {self.condition(i)}:", *indented(body, 2)]

    def neighbours(self, *loops: str) -> list[str]:
        one = self.condition(*loops)
        other = one if self.chance(2) else self.pick((f"not ({one})", self.condition(*loops)))
        return [f"if {one}:", *indented(self.store(*loops)), f"if {other}:", *indented(self.store(*loops))]

    def arms(self, *loops: str) -> list[str]:
        then = self.store(*loops)
        orelse = then if self.chance(3) else self.store(*loops)
        return [f"if {self.condition(*loops)}:", *indented(then), "else:", *indented(orelse)]

    def invariant(self, *loops: str) -> list[str]:
        i, x = self.name(), self.name()
        lines = [f"{x} = {self.scalar()}", f"P[{i}] = {x} + {self.scalar()}"]
        if self.chance(2):
            lines += [f"if {self.condition()}:", *indented(self.store(i))]
        if self.chance(4):
            lines += [f"if {self.condition(i)}:", f"    {self.pick(('break', 'continue'))}", *self.store(i)]
        return [f"for {i} in range({self.pick((16, 4, 1))}):", *indented(lines)]

    def known(self, *loops: str) -> list[str]:
        """Elements that are stored and read again."""
        i, target, other = self.name(), self.pick("BC"), self.pick("BC")
        filled = self.pick((f"{target}[{i}] = {self.value()}", f"{target}[15 - {i}] = {self.value()}"))
        lines = [f"for {i} in range({self.pick((16, 16, 5))}):", f"    {filled}"]
        if self.chance(2):
            lines += self.store(*loops)
        return [*lines, f"{other}[{self.index(*loops)}] = {target}[{self.index(*loops)}]", *self.check(target)]

    def check(self, target: str) -> list[str]:
        at = self.number(0, 15)
        return [f'assert {target}[{at}] == {target}[{at}] or n > {self.number(0, 3)}, "same"'] if self.chance(3) else []

    def temporary(self, *loops: str) -> list[str]:
        buffer, i = self.name().upper(), self.name()
        return [
            f"{buffer} = T.alloc_buffer((16,), {self.dtype!r})",
            f"for {i} in range(16):",
            f"    {buffer}[{i}] = {self.pick(('B', 'C'))}[{i}]",
            *([f"{buffer}[{self.index(*loops)}] = {self.value()}"] if self.chance(2) else []),
            *([f"B[{self.index(*loops)}] = {buffer}[{self.index(*loops)}]"] if self.chance(2) else []),
        ]

    def loop(self, *loops: str) -> list[str]:
        i = self.name()
        return [f"for {i} in range({self.pick((16, 4, 'n'))}):", *indented(self.block(2, i))] if len(loops) < 2 else []

    def block(self, most: int, *loops: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.number(1, most)):
            rules = (_Draw.store, _Draw.overwritten, _Draw.padding, _Draw.neighbours, _Draw.arms, _Draw.known)
            lines += self.pick(rules)(self, *loops)
        return lines

    def function(self) -> str:
        lines = [
            "for i, j in T.grid(4, 4):",
            f"    T.assume(4 * i + j < {self.valid} or A[i, j] == {self.pad})",
            f"T.assume(n >= {self.number(-1, 0)} and n < 16 and m >= 0)",
        ]
        rules = (
            _Draw.padding,
            _Draw.padding,
            _Draw.overwritten,
            _Draw.narrowed,
            _Draw.neighbours,
            _Draw.arms,
            _Draw.invariant,
            _Draw.known,
            _Draw.temporary,
            _Draw.twins,
            _Draw.asserted,
            _Draw.loop,
        )
        for _ in range(self.number(2, 5)):
            lines += self.pick(rules)(self)
        return HEAD.format(dtype=self.dtype) + "\n".join(indented(lines)) + "\n"

    def arguments(self) -> list[Any]:
        import numpy as np

        rng = np.random.default_rng(self.number(0, 2**16))
        choices = [-0.0, 0.0, 1.0, -2.0, np.inf, -np.inf, np.nan] if self.floats else [0, 1, -2, 100, -128]
        arrays = [rng.choice(choices, 16).astype(self.dtype) for _ in range(3)]
        pad: float | None = {"T.min": -128 if self.dtype == "int8" else -(2**31)}.get(self.pad[:5])
        if pad is None:
            pad = float(self.pad.split("(")[1].strip(")'"))
        arrays[0][self.valid :] = -0.0 if pad == 0 and self.floats and self.chance(2) else pad
        numbers = rng.integers(-5, 5, 16).astype("int32")
        return [arrays[0].reshape(4, 4), arrays[1], arrays[2], numbers, self.number(0, 15), self.number(0, 20)]


def indented(lines: list[str], by: int = 1) -> list[str]:
    """Lines moved to the right."""
    return ["    " * by + line for line in lines]


@st.composite
def programs_with_facts(draw: Any) -> Case:
    """A function with assumptions, and arguments that fulfil them."""
    from tirscript.script import parse

    made = _Draw(draw)
    func = parse(made.function())
    assert isinstance(func, PrimFunc)
    return Case(func, made.arguments())
