"""What commands write is there as a whole or not at all: a full disk takes nothing that was there before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")

KERNEL = '''
@T.prim_func
def main(A: T.Buffer((2000,), "int32"), B: T.Buffer((2000,), "int32")):
    """Größe."""
    for i in range(2000):
        B[i] = A[i] + 1
'''
WRITES = {
    "k.npy": ["run", "k.py", "--random", "--output"],
    "k.npz": ["run", "k.py", "--random", "--output"],
    **{f"k{suffix}": ["build", "k.py", "-o"] for suffix in (".so", ".a", ".o", ".s", ".ll", ".bc")},
    "c.c": ["build", "k.py", "--target", "c", "-o"],
    "c.so": ["build", "k.py", "--target", "c", "-o"],
}


@pytest.mark.parametrize("name", WRITES)
def test_what_was_there_stays(name: str, tmp_path: Path) -> None:
    import resource

    if name.endswith((".so", ".a")) and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "k.py").write_text(KERNEL, encoding="utf-8")
    path = tmp_path / name
    path.write_text("what was there")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(most: int) -> subprocess.CompletedProcess[str]:
        limit = (most, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        return subprocess.run(
            [sys.executable, "-m", "tirscript", *WRITES[name], name],
            env={**environment, "TIRSCRIPT_CACHE": "0"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )

    done = run(1024)
    assert done.returncode == 1 and "internal" not in done.stderr
    why = "2000 requested and 2" if name == "k.npy" else "file too large"  # numpy's words
    assert f"{name} cannot be written: {why}" in done.stderr or "T402" in done.stderr
    assert path.read_text() == "what was there"
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["k.py", name])
    assert run(resource.getrlimit(resource.RLIMIT_FSIZE)[1]).returncode == 0
    assert path.stat().st_size > 1024
