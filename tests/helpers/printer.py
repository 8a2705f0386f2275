"""Round trips of text, and what ruff makes of it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

from tirscript.ir import PrimFunc, Stmt, differences
from tirscript.script import parse

PARAMS = (
    'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32"), X: T.Buffer((16,), "int32"), '
    'b: T.Buffer((4,), "bool"), n: T.int32'
)
HEADER = "from tirscript.script import tir as T\n\n\n"


def formatted(text: str, width: int = 100) -> str:
    """What `ruff format` makes of a text."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(width), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def dedent(text: str) -> str:
    """The text without its indentation and outer blank lines."""
    return textwrap.dedent(text).strip("\n") + "\n"


def function_of(body: str, params: str = PARAMS, returns: str = "") -> PrimFunc:
    """The function `f` with this body."""
    lines = textwrap.indent(dedent(body), "    ")
    found = parse(f"{HEADER}@T.prim_func(check_well_formed=False)\ndef f({params}){returns}:\n{lines}")
    assert isinstance(found, PrimFunc)
    return found


def same_text(text: str) -> Any:
    """Assert that a whole file is printed as it stands; returns what it is."""
    program = parse(text)
    assert program.script() == text
    return program


def body_text(body: tuple[Stmt, ...]) -> str:
    """The text of a body alone."""
    from tirscript.printer import script

    return script(body)


def assert_body(body: str, params: str = PARAMS, returns: str = "", to: str | None = None) -> PrimFunc:
    """Assert that a body is printed as it stands (or as `to`), is the same program when read back, and is formatted."""
    found = function_of(body, params, returns)
    text = found.script()
    printed = textwrap.dedent(text[text.index(":\n", text.rindex("def f(")) + 2 :])
    printed = printed[printed.index("\n") + 1 :] if printed.startswith("):") else printed
    assert printed.strip("\n") + "\n" == dedent(body if to is None else to)
    again = parse(text)
    assert [str(one) for one in differences(found, again)] == []
    assert again.script() == text
    assert formatted(text) == text
    return found
