"""Tests against the real apache-tvm; they run where TIRSCRIPT_TVM_PYTHON names a Python that has it (`make test-interop`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if not os.environ.get("TIRSCRIPT_TVM_PYTHON"):
    collect_ignore_glob = ["test_*.py"]


class Tvm:
    """A process with apache-tvm."""

    def __init__(self) -> None:
        server = Path(__file__).with_name("tvm_server.py")
        self.process = subprocess.Popen(
            [os.environ["TIRSCRIPT_TVM_PYTHON"], str(server)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, *command: Any) -> dict[str, Any]:
        """Its answer to a command."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"apache-tvm ended at {str(command)[:500]}"
        return dict(json.loads(line))

    def parse(self, text: str) -> str:
        """What TVM prints of a text; AssertionError with its message where it refuses it."""
        reply = self.ask("parse", headless(text))
        assert "error" not in reply, f"{reply['error']}\n{text}"
        return str(reply["text"])

    def equal(self, left: str, right: str) -> bool:
        """Whether TVM finds two texts structurally equal."""
        reply = self.ask("equal", headless(left), headless(right))
        assert "error" not in reply, f"{reply['error']}\n{left}\n{right}"
        return bool(reply["equal"])


def headless(text: str) -> str:
    """A text without its import lines, which `from_source` refuses."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(("from ", "import ")))


@pytest.fixture(scope="session")
def tvm() -> Iterator[Tvm]:
    """The process, for all tests."""
    made = Tvm()
    yield made
    made.process.kill()
    made.process.wait()
    for pipe in (made.process.stdin, made.process.stdout):
        assert pipe is not None
        pipe.close()
