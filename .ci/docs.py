"""Run the Python code blocks of Markdown files, in order, one namespace a file.

A block marked `text` that follows a `python` block is what the Python block must print.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import traceback
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """A fenced block: its language, its text and the line of the file it begins on."""

    language: str
    text: str
    line: int


def blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a Markdown text."""
    found: list[Block] = []
    language: str | None = None
    lines: list[str] = []
    start = 0
    for number, line in enumerate(markdown.split("\n"), 1):
        if language is None:
            if line.startswith("```"):
                language, lines, start = line[3:].strip(), [], number + 1
        elif line.rstrip() == "```":
            found.append(Block(language, "\n".join(lines) + "\n", start))
            language = None
        else:
            lines.append(line)
    return found


def run(path: Path) -> list[str]:
    """Run the blocks of one file; the failures, as messages."""
    failures: list[str] = []
    namespace: dict[str, object] = {"__name__": "docs"}
    printed: str | None = None
    for block in blocks(path.read_text(encoding="utf-8")):
        where = f"{path}:{block.line}"
        if block.language == "text" and printed is not None and printed != block.text:
            failures.append(f"{where}: the block above prints\n{printed}not\n{block.text}")
        printed = None
        if block.language != "python":
            continue
        # the decorators read their function's source, which they find through linecache
        linecache.cache[where] = (len(block.text), None, block.text.splitlines(keepends=True), where)
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(block.text, where, "exec"), namespace)
        except Exception:
            failures.append(f"{where}: the block fails\n{traceback.format_exc()}")
        printed = output.getvalue()
    return failures


def main(names: list[str]) -> int:
    """Run all files; 1 where a block fails."""
    failures = [failure for name in names for failure in run(Path(name))]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(names)} files, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
