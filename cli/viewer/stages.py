"""The programs between the passes of a pipeline, with one name for one thing throughout."""

from __future__ import annotations

import inspect
import time
from typing import NamedTuple

from tirscript.ir import GraphFunc, Module, PrimFunc, structural_equal
from tirscript.ir.node import recursion_room
from tirscript.passes import Sequential
from tirscript.printer.diff import counterparts, rename

Program = PrimFunc | GraphFunc | Module


class Stage(NamedTuple):
    """A program after a pass: the pass as text, what its docstring says, the seconds it took.

    The stage before all passes has no pass. `changed` says whether the pass made another program.
    """

    name: str
    doc: str
    seconds: float
    program: Program
    changed: bool


def run_stages(program: Program, pipeline: Sequential) -> list[Stage]:
    """The program, and what it is after each pass. Raises DiagnosticError as the passes do.

    What a pass keeps is called as it was before the pass, so that the difference of two stages is what the pass did.
    """
    stages = [Stage("", "", 0.0, program, False)]
    for entry in pipeline:
        started = time.perf_counter()
        made: Program = entry(program)  # type: ignore[type-var]
        seconds = time.perf_counter() - started
        changed = made is not program and not structural_equal(program, made)
        if changed:
            with recursion_room():
                made = _named_alike(program, made)
            program = made
        stages.append(Stage(str(entry), inspect.cleandoc(entry.doc), seconds, program, changed))
    return stages


def functions(program: Program) -> dict[str, PrimFunc | GraphFunc]:
    """The functions of a program by their names."""
    if isinstance(program, Module):
        return {func.name: func for func in program.functions if isinstance(func, (PrimFunc, GraphFunc))}
    return {program.name: program}


def _named_alike(before: Program, after: Program) -> Program:
    """`after` with the names of `before`; functions that a pass left as they were stay the same objects."""
    known = functions(before)

    def renamed(func: PrimFunc) -> PrimFunc:
        old = known.get(func.name)
        if old is None or old is func or type(old) is not PrimFunc:
            return func
        made: PrimFunc = rename(func, counterparts(old, func))
        return made

    if isinstance(after, PrimFunc):
        return renamed(after)
    if isinstance(after, GraphFunc):
        return after
    made = tuple(renamed(func) if isinstance(func, PrimFunc) else func for func in after.functions)
    return after.replace(functions=made)
