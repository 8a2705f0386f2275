"""The examples of the page about testing, taken as one file of tests, hold what the page says of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_examples(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    said = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(programs) >= 5 and said
    (tmp_path / "test_page.py").write_text("\n".join(programs), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    environment = {**kept, "PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CHECK": "0"}

    def pytest(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_page.py", *options]
        plugin = ["-p", "tirscript.testing.plugin"]  # also where the package is not installed
        return subprocess.run([*command, *plugin], cwd=tmp_path, env=environment, capture_output=True, text=True)

    written = pytest("--golden-update", "--snapshot-update")
    assert written.returncode == 0, written.stdout + written.stderr
    for text in said:
        assert text in written.stdout
    assert sorted(path.name for path in tmp_path.rglob("golden/*/*")) == ["test_scale.py", "test_simplify.py"]
    again = pytest()
    assert again.returncode == 0, again.stdout + again.stderr
