"""Which pass of a pipeline breaks something: found by halves, not by running the check after every pass.

found = bisect(pipeline, program, lambda made: close(interpret(made, x), wanted))
found.entry           # the first pass after which the check fails
found.before          # the program before it, and
found.after           # behind it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.module import Module

from .pipeline import Pass, Program, Sequential


class Broken(Struct, Generic[Program], frozen=True, eq=False):
    """The first pass after which a check fails: its place in the pipeline, and the programs around it.

    `after` is None where the pass itself raises, which `problem` then says.
    """

    at: int
    entry: Pass
    before: Program
    after: Program | None
    problem: Exception | None = None

    def __str__(self) -> str:
        what = f"raises: {self.problem}" if self.after is None else "makes a program that fails the check"
        if self.after is not None and self.problem is not None:
            what += f": {self.problem}"
        return f"pass {self.at + 1}, `{self.entry}`, {what}"


def bisect(passes: Sequential, program: Program, check: Callable[[Program], Any]) -> Broken[Program] | None:
    """The first pass after which `check` fails; None where it holds after all of them.

    `check` fails by giving False or raising. It is called for about as many programs as the number of passes has
    binary digits, which are kept; so a check that fails, then holds, then fails again is told at one of the places.
    Raises ValueError where the program fails it before any pass.
    """
    if passes.needs_module(program):
        alone = Module((program,), name=program.name)  # type: ignore[arg-type]
        found: Any = bisect(passes, alone, lambda made: check(made.functions[0]))
        return found  # type: ignore[no-any-return]
    stages: list[Any] = [program]
    raised: Exception | None = None
    for entry in passes:
        try:
            stages.append(entry(stages[-1]))
        except (DiagnosticError, AssertionError) as problem:
            raised = problem
            break
    verdicts: dict[int, tuple[bool, Exception | None]] = {}

    def holds(at: int) -> bool:
        if at not in verdicts:
            try:
                verdicts[at] = check(stages[at]) is not False, None
            except Exception as problem:  # whatever a check raises, it fails
                verdicts[at] = False, problem
        return verdicts[at][0]

    if not holds(0):
        raise ValueError("the program fails the check before any pass") from verdicts[0][1]
    good, bad = 0, len(stages) - 1
    if holds(bad):
        if raised is None:
            return None
        return Broken(bad, passes.passes[bad], stages[bad], None, raised)
    while bad - good > 1:
        middle = (good + bad) // 2
        if holds(middle):
            good = middle
        else:
            bad = middle
    return Broken(good, passes.passes[good], stages[good], stages[bad], verdicts[bad][1])


__all__ = ["Broken", "bisect"]
