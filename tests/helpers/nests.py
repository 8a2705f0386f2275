"""Random nests of loops with affine accesses, as text that is parsed."""

from __future__ import annotations

from hypothesis import strategies as st

from tirscript.ir import PrimFunc
from tirscript.script import parse

HEADER = "from tirscript.script import tir as T\n\n\n@T.prim_func(check_well_formed=False)\n"
PARAMS = 'A: T.Buffer((6, 6), "float32"), B: T.Buffer((6,), "float32")'


def func_of(lines: list[str], params: str = PARAMS) -> PrimFunc:
    found = parse(HEADER + f"def f({params}):\n" + "".join(f"    {line}\n" for line in lines))
    assert isinstance(found, PrimFunc)
    return found


class Writer:
    """Writes a random program of nested loops, guards, private buffers and affine accesses."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.names = 0

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def index(self, loops: list[str]) -> str:
        draw = self.draw
        if not loops or draw(st.integers(0, 5)) == 0:
            return str(draw(st.integers(0, 5)))
        var = draw(st.sampled_from(loops))
        other = draw(st.sampled_from(loops))
        return draw(
            st.sampled_from(
                (
                    var,
                    var,
                    f"({var} + 1) % 6",
                    f"({var} + {other}) % 6",
                    f"(2 * {var}) % 6",
                    f"{var} // 2",
                    f"5 - {var}",
                )
            )
        )

    def value(self, loops: list[str], private: list[str]) -> str:
        draw = self.draw
        one = f"A[{self.index(loops)}, {self.index(loops)}]"
        other = draw(st.sampled_from((f"B[{self.index(loops)}]", "1.0", *private)))
        if loops and draw(st.integers(0, 3)) == 0:
            one = f"T.if_then_else({draw(st.sampled_from(loops))} > 1, {one}, 0.0)"
        return f"{one} + {other}"

    def target(self, loops: list[str], private: list[str]) -> str:
        options = [f"A[{self.index(loops)}, {self.index(loops)}]", f"B[{self.index(loops)}]", *private]
        return self.draw(st.sampled_from(options))

    def body(self, depth: int, loops: list[str], private: list[str]) -> list[str]:
        draw = self.draw
        lines: list[str] = []
        private = list(private)
        for _ in range(draw(st.integers(1, 2))):
            kind = draw(st.integers(0, 7)) if depth else 0
            if kind >= 4 or (kind == 0 and depth == 3):
                var = self.name("i")
                ranges = ["range(4)", "range(5)", "range(1, 4)", "range(0, 6, 2)", "range(4, -1, -1)"]
                ranges += [f"range({draw(st.sampled_from(loops))}, 4)"] if loops else []
                lines.append(f"for {var} in {draw(st.sampled_from(ranges))}:")
                lines += [f"    {line}" for line in self.body(depth - 1, [*loops, var], private)]
            elif kind == 3 and loops:
                lines.append(f"if {draw(st.sampled_from(loops))} {draw(st.sampled_from(('<', '>=')))} 2:")
                lines += [f"    {line}" for line in self.body(depth - 1, loops, private)]
            elif kind == 2:
                made = self.name("t")
                lines.append(f'{made} = T.alloc_buffer((6,), "float32")')
                private.append(f"{made}[{self.index(loops)}]")
            else:
                lines.append(f"{self.target(loops, private)} = {self.value(loops, private)}")
        lines.append(f"{self.target(loops, private)} = {self.value(loops, private)}")
        return lines


@st.composite
def nests(draw: st.DrawFn) -> PrimFunc:
    return func_of(Writer(draw).body(3, [], []))


@st.composite
def neighbours(draw: st.DrawFn) -> PrimFunc:
    """Loops one behind the other, some of which run over the same range."""
    writer = Writer(draw)
    lines = ["for o in range(2):"]
    for _ in range(draw(st.integers(2, 4))):
        var = writer.name("i")
        span = draw(st.sampled_from(("range(4)", "range(4)", "range(4, -1, -1)", "T.parallel(4)")))
        lines.append(f"    for {var} in {span}:")
        lines += [f"        {line}" for line in writer.body(draw(st.integers(1, 2)), ["o", var], [])]
    return func_of(lines)
