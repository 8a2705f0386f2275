"""Running commands in this process and in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tirscript.cli import commands

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = "from tirscript.script import tir as T\n\n\n"
DOUBLE = (
    HEADER
    + """@T.prim_func
def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 2.0
"""
)


def run(*arguments: object, stdin: str | bytes | None = None) -> Any:
    """A command's result; an exception that it lets through is raised here."""
    return CliRunner().invoke(commands, [str(one) for one in arguments], input=stdin, catch_exceptions=False)


def process(
    *arguments: object, stdin: bytes = b"", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, with these variables set beside the few that are needed."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "tirscript.cli", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(ROOT / "src"), **environment},
    )
