"""Write docs/errors.md: mistakes of each kind, and what tirscript says of them. With --check only compare."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tirscript
from tirscript.ir import PrimFunc

FILE = Path(__file__).resolve().parent / "errors.md"
HEAD = """\
# What mistakes look like

Every mistake in a program is told with its place, its reason and, where there is one, the way out. This page is
written by `docs/make_errors.py`, which makes the mistakes; CI checks that it is what they give today.
"""


class Mistake(NamedTuple):
    """A wrong program, or a right one and a wrong call of it."""

    what: str
    text: str
    call: str = ""


def zeros(*shape: int, dtype: str = "float32") -> Any:
    """An array, in the calls below."""
    return np.zeros(shape, dtype)


COPY = """
@T.prim_func
def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i]
"""
DOUBLE = """
@T.prim_func
def twice(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n * 2",), "float32")):
    for i in range(n):
        B[i] = A[i]
        B[n + i] = A[i]
"""
GATHER = """
@T.prim_func
def gather(A: T.Buffer((8,), "float32"), index: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[index[i]]
"""


def kernel(*lines: str, params: str = 'A: T.Buffer((4,), "float32")') -> str:
    """The text of a kernel with this body."""
    return f"@T.prim_func\ndef kernel({params}):\n" + "".join(f"    {line}\n" for line in lines)


KINDS: dict[str, tuple[Mistake, ...]] = {
    "Syntax": (
        Mistake("A colon is missing.", kernel("for i in range(4)", "    A[i] = 1.0")),
        Mistake("The body is not indented.", kernel("for i in range(4):", "A[i] = 1.0")),
        Mistake("A string does not end.", kernel('with T.block("copy):', "    A[0] = 1.0")),
        Mistake("A bracket closes nothing.", kernel("for i in range(4):", "    A[i] = T.exp(A[i]))")),
        Mistake(
            "Python, but not part of the language.", kernel("try:", "    A[0] = 1.0", "except ValueError:", "    pass")
        ),
    ),
    "Unknown names": (
        Mistake("A variable that does not exist.", kernel("for i in range(4):", "    A[j] = 1.0")),
        Mistake("A misspelt function.", kernel("for i in range(4):", "    A[i] = T.exq(A[i])")),
        Mistake("A misspelt kind of loop.", kernel("for i in T.paralel(4):", "    A[i] = 1.0")),
        Mistake("A misspelt dtype.", kernel('A[0] = A[0].astype("flaot32")')),
        Mistake(
            "A name that only one branch gives.",
            kernel("if A[0] > 0.0:", "    scale = A[0]", "A[1] = scale"),
        ),
    ),
    "Wrong dtypes": (
        Mistake(
            "Division of integers.",
            kernel("for i in range(4):", "    A[i] = A[i] / 2", params='A: T.Buffer((4,), "int32")'),
        ),
        Mistake("A fraction in a place for integers.", kernel("A[0] = 0.5", params='A: T.Buffer((4,), "int32")')),
        Mistake("A literal that does not fit.", kernel("A[0] = A[0] + 200", params='A: T.Buffer((4,), "int8")')),
        Mistake(
            "Signed with unsigned.",
            kernel("A[0] = A[0] + B[0]", params='A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "uint32")'),
        ),
        Mistake("A number as a condition.", kernel("if A[0]:", "    A[0] = 1.0")),
    ),
    "Wrong shapes at a call": (
        Mistake("An extent that differs.", COPY, "tirscript.build(copy)(zeros(4), zeros(5))"),
        Mistake("Too many dimensions.", COPY, "tirscript.build(copy)(zeros(4), zeros(4, 1))"),
        Mistake("Symbolic dimensions that do not agree.", DOUBLE, "tirscript.build(twice)(zeros(3), zeros(7))"),
        Mistake("A view with gaps.", COPY, "tirscript.build(copy)(zeros(8)[::2], zeros(4))"),
        Mistake(
            "The right shape of the wrong dtype.", COPY, 'tirscript.build(copy)(zeros(4, dtype="float64"), zeros(4))'
        ),
    ),
    "Out of bounds": (
        Mistake("An index known to be too large.", kernel("A[4] = 1.0")),
        Mistake("Python's negative index.", kernel("A[-1] = 1.0")),
        Mistake(
            "A loop that goes on for too long, when it is built.",
            kernel("for i in range(5):", "    A[i] = 1.0"),
            "tirscript.build(kernel)",
        ),
        Mistake(
            "A block that takes fewer steps than its loop.",
            kernel(
                "for i in range(5):",
                '    with T.block("fill"):',
                "        vi = T.axis.spatial(4, i)",
                "        A[vi] = 1.0",
            ),
        ),
        Mistake(
            "An index from the data, in the interpreter.",
            GATHER,
            'tirscript.interpret(gather, zeros(8), np.array([0, 7, 8, 1], "int32"), zeros(4))',
        ),
        Mistake(
            "The same in native code with checks.",
            GATHER,
            'tirscript.build(gather, debug=True)(zeros(8), np.array([0, 7, -1, 1], "int32"), zeros(4))',
        ),
    ),
}


def message(mistake: Mistake) -> str:
    """What tirscript says of a mistake; AssertionError where it says nothing."""
    text = mistake.text.strip() + "\n"
    try:
        parsed = tirscript.parse(text, filename="kernel.py")
        if mistake.call:
            assert isinstance(parsed, PrimFunc)
            names = {"tirscript": tirscript, "np": np, "zeros": zeros, parsed.name: parsed}
            eval(mistake.call, names)  # one of the texts above
    except tirscript.DiagnosticError as error:
        return str(error).strip()
    raise AssertionError(f"no error: {mistake.what}")


def page() -> str:
    """The text of docs/errors.md."""
    parts = [HEAD]
    for kind, mistakes in KINDS.items():
        parts.append(f"## {kind}\n")
        for mistake in mistakes:
            code = mistake.text.strip() + (f"\n\n\n{mistake.call}" if mistake.call else "")
            # the language of the block is not `python`: it is not to be run
            parts.append(f"{mistake.what}\n\n```py\n{code}\n```\n```text\n{message(mistake)}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    text = page()
    if parser.parse_args().check:
        if FILE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/errors.md is not what the mistakes give; run `make docs`", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
