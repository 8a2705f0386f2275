"""Asserts about programs, for tests of passes and of what makes programs."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

from tirscript.ir import GraphFunc, Module, PrimFunc
from tirscript.ir.check import public
from tirscript.ir.equal import Program

from .mismatch import Side, compare, explain


@public
def assert_structural_equal(
    actual: Program, expected: Program, *, names: bool = False, comments: bool = False, map_free_vars: bool = False
) -> None:
    """Fail with every difference of two programs, each with its path and its lines of source, and their diff.

    What they define may have other names unless `names`; comments and docstrings count where `comments`.
    `map_free_vars` lets variables that neither defines stand for each other.
    """
    __tracebackhide__ = True
    problems = compare(expected, actual, names=names, comments=comments, free=map_free_vars)
    if problems:
        raise AssertionError(explain(Side("expected", expected), Side("found", actual), problems, names=names))


@public
def assert_round_trip(program: PrimFunc | GraphFunc | Module) -> PrimFunc | GraphFunc | Module:
    """Fail where the text of a program does not say all of it; returns what it is read back to.

    The text is parsed to an equal program, which has the same names and comments and prints as the same bytes; and run
    by Python as a file, where the decorators must make that program too.
    """
    __tracebackhide__ = True
    from tirscript.script import parse

    text = program.script()
    again: Any = parse(text, filename="<printed>")
    assert_structural_equal(again, program, comments=True)
    if again.script() != text:
        import difflib

        second = again.script().splitlines()
        lines = difflib.unified_diff(text.splitlines(), second, "printed", "printed again", lineterm="")
        raise AssertionError("\n".join(["what is read back prints otherwise:", *lines]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "printed.py")
        path.write_text(text, encoding="utf-8")
        names = runpy.run_path(str(path))
        made = [value for value in names.values() if isinstance(value, type(program))]
    if len(made) != 1:
        raise AssertionError(f"the printed file, run by Python, defines {len(made)} programs, not one:\n{text}")
    assert_structural_equal(made[0], program, comments=True)
    return again  # type: ignore[no-any-return]


__all__ = ["assert_round_trip", "assert_structural_equal"]
