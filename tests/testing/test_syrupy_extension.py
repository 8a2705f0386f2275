"""Programs as syrupy's snapshots, in runs of pytest of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

TEST = """
import pytest
from tirscript.script import tir as T
from tirscript.testing.syrupy_extension import ProgramExtension


@pytest.fixture
def snapshot(snapshot):
    return snapshot.use_extension(ProgramExtension)


@T.prim_func
def scale(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = A[i] * 2.0


def test_scale(snapshot):
    assert scale == snapshot
"""


def run(pytester: pytest.Pytester, text: str, *args: str) -> pytest.RunResult:
    for old in pytester.path.glob("__pycache__/test_a.*"):
        old.unlink()  # rewritten within the resolution of time stamps
    (pytester.path / "test_a.py").write_text(text)
    pytester.syspathinsert()
    plugins = ("syrupy", "tirscript.testing.plugin", "no:cacheprovider")
    quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
    return pytester.runpytest_inprocess(*(word for name in plugins for word in ("-p", name)), *quiet, *args)


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_a_snapshot_is_a_program(pytester: pytest.Pytester) -> None:
    run(pytester, TEST).assert_outcomes(failed=1)
    run(pytester, TEST, "--snapshot-update").assert_outcomes(passed=1)
    (path,) = Path(pytester.path, "__snapshots__").rglob("*.py")
    assert "    for i in range(16):\n        A[i] = A[i] * 2.0\n" in path.read_text()
    renamed = TEST.replace("[i]", "[j]").replace("for i in range(16):", "for j in range(16):  # all")
    run(pytester, renamed).assert_outcomes(passed=1)
    result = run(pytester, TEST.replace("2.0", "3.0"))
    result.assert_outcomes(failed=1)
    said = result.stdout.str()
    assert "1 difference between what is in the snapshot and what is found" in said
    assert "scale.body[0].body[0].value.args[1]: Const" in said
    assert "<snapshot>:7:23 (in the snapshot)" in said
    path.write_text(path.read_text().replace("A[i] * ", "B[i] * "))
    result = run(pytester, TEST)
    result.assert_outcomes(failed=1)
    assert "one of the texts cannot be read" in result.stdout.str()


def test_other_things_are_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, TEST.replace("scale == snapshot", "'text' == snapshot"), "--snapshot-update")
    result.assert_outcomes(failed=1)
    assert "ProgramExtension keeps functions and modules, not a str" in result.stdout.str()
