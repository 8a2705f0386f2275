"""LLVM IR and assembly whose lines know the statement they came from, for those who read them.

Instructions carry LLVM's own debug locations, which its passes keep, merge and drop by the rules that debuggers rely
on. The line of a location is a number that the caller gives to statements, so that it may be a line of any text. What
is shown has the numbers taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.stmt import Stmt

from .builder import FunctionText
from .codegen import Codegen
from .host import host
from .state import ModuleState


class Located(NamedTuple):
    """A text, and for each of its lines the number of the statement that it came from; 0 where none did."""

    lines: list[str]
    numbers: list[int]


class LocatedCode(NamedTuple):
    """The code of lowered functions: LLVM IR as it was written and as LLVM optimized it, and assembly.

    `symbols` are what functions are called there.
    """

    written: Located
    optimized: Located
    assembly: Located
    symbols: Mapping[str, str]


def locate(source: Module | PrimFunc, numbers: Mapping[int, int], *, opt_level: int = 3) -> LocatedCode:
    """The code of lowered functions, by statement: `numbers` are those of statements, by id, from 1.

    A statement without a number counts to the one around it. Raises DiagnosticError for what cannot be compiled.
    """
    from .compiling import assembly_text, optimize
    from .module import _finish, _write

    def codegen(state: ModuleState, func: PrimFunc) -> Codegen:
        return _LocatedCodegen(state, func, numbers)

    chosen = host()
    state, _ = _write(source, False, chosen, codegen)
    state.text.globals += [
        f"!llvm.dbg.cu = !{{{_unit(state)}}}",
        f"!llvm.module.flags = !{{{_flags(state)}}}",
    ]
    text = _finish(state, chosen)
    module, machine = optimize(text, chosen, opt_level)
    optimized = str(module)  # before it is made assembly, which changes it
    assembly = assembly_text(machine, module)
    return LocatedCode(_read_ir(text), _read_ir(optimized), _read_assembly(assembly), state.symbols)


# --- writing ----------------------------------------------------------------------------------------------------------


def _unit(state: ModuleState) -> str:
    """The metadata that all locations belong to; made once."""
    found = next((at for at, text in enumerate(state.text.metadata) if "!DICompileUnit(" in text), None)
    if found is not None:
        return f"!{found}"
    file = state.text.node('!DIFile(filename: "program", directory: "")')
    return state.text.node(
        f'distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: "tirscript", isOptimized: true, '
        "runtimeVersion: 0, emissionKind: LineTablesOnly)"
    )


def _flags(state: ModuleState) -> str:
    flags = [
        state.text.node('!{i32 2, !"Debug Info Version", i32 3}'),
        state.text.node('!{i32 7, !"Dwarf Version", i32 4}'),
    ]
    return ", ".join(flags)


class _LocatedCodegen(Codegen):
    """Code generation that attaches the number of the current statement to every instruction."""

    def __init__(self, state: ModuleState, func: PrimFunc, numbers: Mapping[int, int]) -> None:
        super().__init__(state, func)
        unit = _unit(state)
        file = re.search(r"file: (!\d+)", state.text.metadata[int(unit[1:])])
        assert file is not None
        kind = state.text.node("!DISubroutineType(types: !{})")
        self.program = state.text.node(
            f'distinct !DISubprogram(name: "f", scope: {file[1]}, file: {file[1]}, type: {kind}, unit: {unit}, '
            "spFlags: DISPFlagDefinition | DISPFlagOptimized)"
        )
        self.numbers = numbers
        self.nodes: dict[int, str] = {}
        self.b = _LocatedText(state, self.program)
        self.at(numbers.get(id(func), 0))

    def another(self) -> Codegen:
        made = _LocatedCodegen(self.state, self.func, self.numbers)
        made.at(self.number)
        return made

    def at(self, number: int) -> None:
        """Instructions from here on belong to the statement of that number."""
        node = self.nodes.get(number)
        if node is None:
            node = self.nodes[number] = self.state.text.node(f"!DILocation(line: {number}, scope: {self.program})")
        self.number = number
        self.b.lines.location = node  # type: ignore[attr-defined]

    def stmt(self, stmt: Stmt) -> None:
        before = self.number
        self.at(self.numbers.get(id(stmt), before))
        super().stmt(stmt)
        self.at(before)


class _Lines(list[str]):
    """Lines of a function; instructions get the current location."""

    location = ""

    def append(self, line: str) -> None:
        super().append(f"{line}, !dbg {self.location}" if line.startswith("  ") else line)


class _LocatedText(FunctionText):
    """A function's text with locations."""

    def __init__(self, state: ModuleState, program: str) -> None:
        super().__init__(state.text, state.target)
        self.lines = _Lines()
        self.program = program

    def text(self, head: str) -> str:
        return super().text(f"{head} !dbg {self.program}")


# --- reading ----------------------------------------------------------------------------------------------------------

_LOCATION = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+)")
_DEBUG = re.compile(r",? !dbg !(\d+)")
_DEBUG_METADATA = re.compile(
    r"!llvm\.(?:dbg\.cu|module\.flags) = |!\d+ = (?:distinct )?!DI|!\d+ = !\{\}$|!\d+ = !\{i32 \d, !\"D"
)
_LOC = re.compile(r"\s*\.loc\s+\d+ (\d+)")
_SECTION = re.compile(r"\s*\.section\s+(?:\"?\.debug|__DWARF|\"?\.note)")
_ASSEMBLER_ONLY = re.compile(
    r"\s*\.(?:loc|file|cfi_\w+|addrsig\w*|ident|p2align\s+4,\s*0x0)\b|\.L(?:tmp|func_begin|func_end|sec_end|debug|info|cu_)\w*:"
)
_LEAVES = re.compile(r"\s*\.(?:text|section|data|bss)\b")


def _read_ir(text: str) -> Located:
    """IR without what says the locations."""
    places = {int(match[1]): int(match[2]) for match in _LOCATION.finditer(text)}
    lines: list[str] = []
    numbers: list[int] = []
    for line in text.rstrip("\n").split("\n"):
        if _DEBUG_METADATA.match(line):
            continue
        match = _DEBUG.search(line)
        number = 0
        if match is not None:
            number = places.get(int(match[1]), 0)
            line = line[: match.start()] + line[match.end() :]
        lines.append(line)
        numbers.append(number)
    while lines and not lines[-1]:
        lines.pop()
        numbers.pop()
    return Located(lines, numbers)


def _read_assembly(text: str) -> Located:
    """Assembly without what says the locations, and without what only debuggers and unwinders read."""
    lines: list[str] = []
    numbers: list[int] = []
    number = 0
    debug = False
    for line in text.rstrip("\n").split("\n"):
        if _LEAVES.match(line):
            debug = _SECTION.match(line) is not None
        if debug:
            continue
        match = _LOC.match(line)
        if match is not None:
            number = int(match[1])
            continue
        if _ASSEMBLER_ONLY.match(line):
            continue
        code = line.strip()
        instruction = line[:1].isspace() and not code.startswith((".", "#"))
        if code.startswith(".size"):
            number = 0
        lines.append(line)
        numbers.append(number if instruction else 0)
    return Located(lines, numbers)
