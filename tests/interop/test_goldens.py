"""Every golden program, both ways: printed for apache-tvm, read by it as printed, and what it prints read back."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tirscript.ir import DiagnosticError
from tirscript.script import parse, parse_all

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
# what goldens may hold that apache-tvm has no text for, each with its reason: the message that says so begins with this
WITHOUT_TEXT = {
    "TVM has no text for `T.static_assert`": "its assertions are checked at run time",
    "TVM has no text for the constant": "it keeps constants outside of the text",
    "TVM has no text for `T.undef`": "its own is an int32",
    "TVM has no text for a region": "it passes whole buffers, and matches regions in blocks only",
    "TVM has no text for a return without": "its `return` has a value",
    "TVM has no text for a reduction that begins": "its own begin with constants",
    "TVM has no power": "its own is of floats",
    "TVM has no text for `T.print`": "it has no print",
}

OWN_KINDS = "test_"  # how kinds of targets are called that tests register, and TVM does not know


def files() -> list[Path]:
    """The golden files that hold programs."""
    return [path for path in sorted(GOLDEN.rglob("*.py")) if "@T.prim_func" in path.read_text()]


def sections(text: str) -> list[str]:
    """The stages that a golden shows, each a text of its own behind the import lines."""
    head, *stages = re.split(r"^# --- .* ---$", text, flags=re.MULTILINE)
    return [head + stage for stage in stages] or [text]


def read(text: str) -> list[tuple[str, Any]]:
    """The programs of a text by name."""
    try:
        return list(parse_all(text).items())
    except DiagnosticError:
        return []


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in files()}), ids=lambda path: str(path.relative_to(GOLDEN))
)
def test_goldens(tvm: Any, folder: Path) -> None:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for path in files():
        if path.parent != folder:
            continue
        programs = [found for text in sections(path.read_text()) for found in read(text)]
        counts["of mistakes"] += not programs  # goldens of diagnostics are no programs
        for name, made in programs:
            try:
                text = made.script(dialect="tvm")
            except DiagnosticError as problem:
                message = problem.diagnostics[0].message
                if not message.startswith(tuple(WITHOUT_TEXT)):
                    wrong.append(f"{path.name} {name}: {message}")
                counts["without a text"] += 1
                continue
            try:
                again = parse(tvm.parse(text))
                # a `T.Reduce` is not equal to itself, read twice
                if tvm.equal(text, text) and not tvm.equal(again.script(dialect="tvm"), text):
                    wrong.append(f"{path.name} {name}: not equal\n{text}")
            except (AssertionError, DiagnosticError) as problem:
                if f'Target kind "{OWN_KINDS}' in str(problem):
                    counts["for targets that tests register"] += 1
                    continue
                wrong.append(f"{path.name} {name}: {problem}\n{text}")
            counts["read"] += 1
    print(f"{folder.relative_to(GOLDEN)}: {dict(counts)}, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong[:5])
