"""What can watch passes run: printing, timing, verifying, and proving the round trip through text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.equal import differences, structural_equal
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.whole_files import write_file
from tirscript.ir.words import counted

from .pipeline import Instrument, Pass, pass_names


class _Printer(Instrument):
    def __init__(self, *names: str, file: IO[str] | None = None) -> None:
        self.names = pass_names("names", names)
        self.file = file

    def write(self, text: str) -> None:
        print(text, file=self.file if self.file is not None else sys.stdout)

    def wants(self, entry: Pass) -> bool:
        return not self.names or entry.name in self.names


class PrintBefore(_Printer):
    """Print the program before the passes of the given names, or before all."""

    def before(self, entry: Pass, program: PrimFunc | Module) -> None:
        if self.wants(entry):
            self.write(f"# before {entry}\n{program.script()}")


class PrintAfter(_Printer):
    """Print the program after the passes of the given names, or after all."""

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        if self.wants(entry):
            self.write(f"# after {entry}\n{program.script()}")


class PrintChanged(_Printer):
    """Print the program after each pass that changed it, and a line for each that did not."""

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        if self.wants(entry):
            same = program is before or structural_equal(before, program)
            self.write(f"# {entry}: no change" if same else f"# after {entry}\n{program.script()}")


class Timing(Instrument):
    """Measure each pass; `seconds` holds (pass, seconds) pairs in the order they ended."""

    def __init__(self) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._started: list[float] = []

    def before(self, entry: Pass, program: PrimFunc | Module) -> None:
        self._started.append(time.perf_counter())

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        self.seconds.append((str(entry), time.perf_counter() - self._started.pop()))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"<timing of {counted(len(self.seconds), 'pass')}>"

    def report(self) -> str:
        """A table of the passes with milliseconds and shares."""
        total = sum(seconds for _, seconds in self.seconds)
        width = max([len(name) for name, _ in self.seconds] + [5])
        lines = [f"{name:<{width}} {s * 1e3:10.3f} ms {s / total if total else 0:6.1%}" for name, s in self.seconds]
        return "\n".join([*lines, f"{'total':<{width}} {total * 1e3:10.3f} ms"])


class Skip(Instrument):
    """Do not run the passes of the given names."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = pass_names("names", names)

    def should_run(self, entry: Pass, program: PrimFunc | Module) -> bool:
        return entry.name not in self.names


class VerifyEach(Instrument):
    """Check the program after each pass; what the verifier finds is a fault of the pass."""

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        from tirscript.ir.verify import check_well_formed

        if program is before:
            return
        try:
            check_well_formed(program)
        except DiagnosticError as problem:
            found = problem.diagnostics[0]
            message = f"pass `{entry.name}` made an illegal program: {found.message}"
            notes = (f"the verifier says {found.code}", *found.notes)
            raise DiagnosticError([error("T499", message, found.span, notes=notes, hint=entry.fault)]) from problem


class DumpEach(Instrument):
    """Write the program after each pass into a folder: `00_input.py`, `01_lower_reduce.py`, ...

    A pass that changes nothing leaves a number out. Constants are written out in the texts.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.count = 0

    def enter(self) -> None:
        """Make the folder; FileExistsError where it holds something, which would be mixed with what is written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise FileExistsError(f"{self.folder} is not empty")
        self.count = 0

    def before(self, entry: Pass, program: PrimFunc | Module) -> None:
        if self.count == 0:
            self.write("input", program)

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        if program is before:
            self.count += 1
        else:
            self.write(entry.name, program)

    def write(self, name: str, program: PrimFunc | Module) -> None:
        """Write one stage."""
        write_file(self.folder / f"{self.count:02}_{name}.py", program.script(constants="inline").encode())
        self.count += 1


class RoundTripEach(Instrument):
    """Print the program after each pass, parse the text and compare, so that every stage is proved to be readable."""

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        from tirscript.script import parse

        if program is before:
            return
        text = program.script(constants="inline")
        try:
            again = parse(text)
        except DiagnosticError as problem:
            message = f"what pass `{entry.name}` made prints as a text that does not parse: {problem}"
            raise DiagnosticError([error("T499", message, hint=entry.fault)]) from problem
        if not structural_equal(program, again):
            notes = [str(difference) for difference in differences(program, again, limit=5)]
            message = f"what pass `{entry.name}` made is not what its text says"
            raise DiagnosticError([error("T499", message, notes=notes, hint=entry.fault)])
