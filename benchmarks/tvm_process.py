"""An environment of its own for apache-tvm, and a process in it that measures on command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv-tvm"
PACKAGES = ("apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post0")


def python() -> str | None:
    """A Python that has apache-tvm, or None (and why, on the standard error). TIRSCRIPT_TVM_PYTHON names one."""
    given = named("TIRSCRIPT_TVM_PYTHON")
    if given:
        return given
    ready = ENVIRONMENT / "ready"
    inside = str(ENVIRONMENT / "bin" / "python")
    if ready.exists():
        return inside
    base = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11")
    if base is None:
        return _without("there is no Python 3.11, for which apache-tvm has a wheel")
    print("making an environment for apache-tvm, once ...", file=sys.stderr)
    for command in ([base, "-m", "venv", str(ENVIRONMENT)], [inside, "-m", "pip", "install", "--quiet", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return _without((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    ready.touch()
    return inside


def named(variable: str) -> str | None:
    """The program that a variable of the environment names, if any. Raises SystemExit for one that is not there."""
    given = os.environ.get(variable)
    if given and shutil.which(given) is None:
        raise SystemExit(f"{variable} names {given}, which cannot be run")
    return given


def _without(why: str) -> None:
    print(f"apache-tvm cannot be installed ({why}); its columns stay empty", file=sys.stderr)


class Tvm:
    """The process. `measure(what, lines)` gives the seconds of one run of "parse", "print" or "equal"."""

    def __init__(self, interpreter: str) -> None:
        self.process = subprocess.Popen(
            [interpreter, str(HERE / "tvm_side.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version: str = self._answer()["version"]

    def measure(self, what: str, lines: int) -> float:
        """Seconds of one run over the kernels of so many lines."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([what, lines]) + "\n")
        self.process.stdin.flush()
        return float(self._answer()["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the process with apache-tvm ended; its message stands above")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def start() -> Tvm | None:
    """The process, or None where apache-tvm cannot be had."""
    interpreter = python()
    return Tvm(interpreter) if interpreter is not None else None
