"""Write docs/codes.md: every diagnostic code, what it means and what gives it. With --check only compare.

The page is written into the package too, where `tirscript explain` reads it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tirscript
from tirscript import ir, passes
from tirscript.ir.codes import CODES
from tirscript.ir.verify import warnings
from tirscript.passes.lint import lint
from tirscript.script import parse_all, tir

sys.path.insert(0, str(Path(__file__).resolve().parent))
from code_examples import EXAMPLES, Example

FILE = Path(__file__).resolve().parent / "codes.md"
PACKAGED = FILE.parent.parent / "cli" / "codes.md"
HEAD = """\
# The diagnostic codes

Every message of tirscript has a code, as in `error[T113]`. This page says what each code means, why the language sees
it as a mistake, and what to do, with a program or a call that gives it. It is written by `docs/make_codes.py` from
`docs/code_examples.py`; CI checks that it is what the examples give today.
"""
GROUPS = {
    "T0": "Reading a program",
    "T1": "Types and accesses",
    "T2": "Well-formed programs",
    "T3": "Calling and running",
    "T4": "Passes and building",
    "T5": "Schedules",
    "T6": "Lint",
}


def zeros(*shape: int, dtype: str = "float32") -> Any:
    """An array, in the calls of the examples."""
    return np.zeros(shape, dtype)


NAMES = {
    "tirscript": tirscript,
    "ir": ir,
    "passes": passes,
    "warnings": warnings,
    "lint": lint,
    "np": np,
    "zeros": zeros,
    "T": tir,
}


def outcome(example: Example) -> tuple[tuple[str, ...], str]:
    """The codes that an example gives, and what is shown to the user."""
    registered = dict(passes.PASSES)
    output = io.StringIO()
    try:
        names = dict(NAMES)
        if example.text:
            for name, value in parse_all(example.text, filename="kernel.py").items():
                names[name] = value
        with contextlib.redirect_stdout(output):
            exec(compile(example.call, "<example>", "exec"), names)  # one of the texts of code_examples.py
    except (tirscript.DiagnosticError, AssertionError) as error:
        found = getattr(error, "diagnostics", ())
        prefix = "AssertionError: " if isinstance(error, AssertionError) else ""
        return tuple(one.code for one in found), prefix + str(error).strip()
    finally:
        passes.PASSES.clear()
        passes.PASSES.update(registered)
    printed = output.getvalue().strip()
    return tuple(line[8:12] for line in printed.split("\n") if line.startswith("warning[")), printed


def section(code: str) -> str:
    """The section of one code."""
    example = EXAMPLES[code]
    codes, shown = outcome(example)
    if set(codes) != {code}:
        raise AssertionError(f"the example of {code} gives {codes or 'nothing'}:\n{shown}")
    program = "\n\n\n".join(part.strip() for part in (example.text, example.call) if part)
    # the language of the block is not `python`: it is not to be run
    return f"### {code}: {CODES[code]}\n\n{example.about}\n\n```py\n{program}\n```\n```text\n{shown}\n```\n"


def page() -> str:
    """The text of docs/codes.md."""
    parts = [HEAD]
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [section(code) for code in CODES if code.startswith(group)]
    return "\n".join(parts)


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    text = page()
    if parser.parse_args().check:
        if all(file.read_text(encoding="utf-8") == text for file in (FILE, PACKAGED)):
            return 0
        print("docs/codes.md or cli/codes.md is not what the examples give; run `make docs`", file=sys.stderr)
        return 1
    for file in (FILE, PACKAGED):
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
