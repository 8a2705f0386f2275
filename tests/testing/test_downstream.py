"""The sample project that builds on tirscript: its tests pass, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = ROOT / "examples" / "downstream"


def run(project: Path, scratch: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "true",
    }
    plugins = ("-p", "tirscript.testing.plugin", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *args]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


def test_its_tests_pass(tmp_path: Path) -> None:
    done = run(PROJECT, tmp_path, "--golden-strict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "goldens" not in done.stdout


def test_a_change_of_its_pass_fails_its_tests(tmp_path: Path) -> None:
    for path in PROJECT.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".toml", ".txt"):
            text = path.read_text().replace("factor.value - 1, call.dtype", "factor.value, call.dtype")
            copy = tmp_path / path.relative_to(PROJECT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
    done = run(tmp_path, tmp_path, "-k", "rewrite")
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "tiled.body[0].body[0].indices[1].args[1]: Const `7` against Const `8`" in done.stdout
