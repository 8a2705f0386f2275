"""Write the list of primitives in docs/schedules.md from their docstrings. With --check only compare.

What stands above the mark is written by hand; CI runs its examples.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tirscript.passes.schedule import PRIMITIVES, tensor_intrins
from tirscript.passes.schedule.primitive import Primitive

FILE = Path(__file__).resolve().parent / "schedules.md"
MARK = "<!-- from here on written by docs/make_schedules.py -->\n"


def section(entry: Primitive) -> str:
    """One primitive: how it is called, and its docstring, the example in a fence of its own."""
    paragraphs = entry.doc.split("\n\n")
    parts = [f"### {entry.name}\n\n`{entry.usage}`"]
    for paragraph in paragraphs:
        parts.append(f"```\n{paragraph}\n```" if paragraph.startswith("before:") else paragraph)
    return "\n\n".join(parts)


def listing() -> str:
    """The part of the page that is written from the table."""
    finders = [entry for entry in PRIMITIVES.values() if entry.query]
    others = [entry for entry in PRIMITIVES.values() if not entry.query]
    parts = [MARK, "## Primitives that change the program\n"]
    parts += [section(entry) + "\n" for entry in sorted(others, key=lambda entry: entry.name)]
    parts.append("## Primitives that find blocks and loops\n")
    parts += [section(entry) + "\n" for entry in sorted(finders, key=lambda entry: entry.name)]
    parts.append("## Tensor intrinsics that come with the package\n")
    parts.append("".join(f"- `{name}`\n" for name in tensor_intrins()))
    return "\n".join(parts)


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    check = parser.parse_args().check
    old = FILE.read_text(encoding="utf-8")
    new = old.partition(MARK)[0] + listing()
    if not check:
        FILE.write_text(new, encoding="utf-8")
    elif new != old:
        print("docs/schedules.md is not what the primitives say; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
