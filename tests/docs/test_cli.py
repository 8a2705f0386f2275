"""The commands of docs/cli.md give what the page shows; `...` stands for what differs from run to run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
FILE = re.findall(r"```python\n(.*?)```", PAGE, re.S)[0]
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.S)


def steps(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that is shown."""
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", block, flags=re.M)[1:]]


def matches(shown: str, output: str) -> bool:
    pattern = ".*?".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, output, re.S) is not None


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: steps(block)[0][0])
def test_a_block_of_commands(block: str, tmp_path: Path) -> None:
    (tmp_path / "saxpy.py").write_text(FILE)
    program = tmp_path / "bin" / "tirscript"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tirscript.cli "$@"\n')
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "HOME": str(tmp_path),
    }
    for command, shown in steps(block):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
        output = done.stdout + done.stderr
        assert matches(shown, output), f"$ {command}\n{output}"


def test_every_command_that_the_page_names_is_there() -> None:
    from tirscript.cli import COMMANDS

    assert set(re.findall(r"tirscript (\w+)", PAGE)) <= {*COMMANDS, "COMMAND", "source"}


def test_the_hooks_call_commands_with_options_that_they_have() -> None:
    from helpers.cli import run

    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"entry: tirscript (.*)", text)
    assert [entry.split()[0] for entry in entries] == ["fmt", "lint"]
    for entry in entries:
        assert run(*entry.split(), ROOT / "examples" / "__init__.py", ROOT / "examples" / "matmul.py").exit_code in (
            0,
            1,
        )
