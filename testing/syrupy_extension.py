"""Snapshots of programs for those who use syrupy: `snapshot.use_extension(ProgramExtension)`.

syrupy is needed by this module only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tirscript.ir import DiagnosticError, GraphFunc, Module, PrimFunc


class ProgramExtension(SingleFileSnapshotExtension):
    """Keeps each function or module in a Python file of its own, and compares structurally: names, comments and layout
    do not count."""

    _write_mode = WriteMode.TEXT
    file_extension = "py"

    def serialize(self, data: Any, **options: Any) -> str:
        """The text of a function or module; TypeError of anything else."""
        if not isinstance(data, (PrimFunc, GraphFunc, Module)):
            raise TypeError(f"ProgramExtension keeps functions and modules, not a {type(data).__name__}")
        return data.script()

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """Whether two texts are structurally equal programs; a snapshot that cannot be read is equal to its own text
        only."""
        from tirscript.ir import structural_equal
        from tirscript.script import parse

        if serialized_data == snapshot_data:
            return True
        try:
            return structural_equal(parse(serialized_data), parse(snapshot_data))
        except DiagnosticError:
            return False

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """Every difference with its place, then the diff with names aligned."""
        from .mismatch import Side, compare, explain
        from .places import read_text

        try:
            expected, found = read_text(snapshot_data, "<snapshot>"), read_text(serialized_data, "<found>")
        except DiagnosticError as problem:
            yield from f"one of the texts cannot be read:{problem}".split("\n")
            yield from super().diff_lines(serialized_data, snapshot_data)
            return
        problems = compare(expected.program, found.program)
        sides = Side("in the snapshot", expected.program, expected), Side("found", found.program, found)
        yield from explain(*sides, problems).split("\n")


__all__ = ["ProgramExtension"]
