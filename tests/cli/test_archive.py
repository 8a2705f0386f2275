"""tirscript imported from a zip archive, where no file of it has a path."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from helpers.cli import DOUBLE, ROOT

USE = """
import sys
import numpy as np
import tirscript
from tirscript.script import parse_file
assert ".zip" in tirscript.__file__
(kernel,) = parse_file("k.py").values()
B = np.zeros(kernel.params[1].constant_shape(), "float32")
tirscript.build(kernel)(np.ones_like(B), B)
print(B.max(), len(list(__import__("pathlib").Path("cache").rglob("*"))) > 0)
"""


def test_builds_and_commands_run_from_an_archive(tmp_path: Path) -> None:
    package = ROOT / "src" / "tirscript"
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        for folder, _, names in os.walk(package, followlinks=True):
            for name in names:
                path = Path(folder, name)
                if path.suffix != ".pyc":
                    archive.write(path, Path("tirscript") / path.relative_to(package))
    (tmp_path / "k.py").write_text(DOUBLE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "t.zip"), "TIRSCRIPT_CACHE": "1"}
    environment["TIRSCRIPT_CACHE_DIR"] = str(tmp_path / "cache")

    def python(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert python("-c", USE) == python("-c", USE) == "2.0 True\n"
    assert "T203" in python("-m", "tirscript.cli", "explain", "T203")
