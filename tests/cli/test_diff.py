"""`tirscript diff`: structural, with git's exit codes, and what git calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import DOUBLE, HEADER, ROOT, run

OTHER = DOUBLE.partition("\n\n\n")[2].replace("double", "other")


@pytest.fixture
def files(tmp_path: Path) -> Any:
    def write(*texts: str) -> list[Path]:
        made = []
        for number, text in enumerate(texts):
            made.append(tmp_path / f"{'ab'[number]}.py")
            made[-1].write_text(text)
        return made

    return write


def test_layout_names_and_comments_are_no_difference(files: Any) -> None:
    renamed = DOUBLE.replace("i]", "j ]").replace("for i", "for j").replace("2.0", "2.0  # why")
    result = run("diff", "--exit-code", *files(DOUBLE, renamed))
    assert result.exit_code == 0 and result.output == ""


def test_a_difference(files: Any) -> None:
    a, b = files(DOUBLE, DOUBLE.replace("i]", "j]").replace("for i", "for j").replace("2.0", "3.0"))
    result = run("diff", a, b)
    assert result.exit_code == 0
    assert result.output.startswith(f"--- {a}:double\n+++ {b}:double\n@@ ")
    assert "-        B[i] = A[i] * 2.0\n+        B[i] = A[i] * 3.0\n" in result.output
    assert result.output.count("\n-") == result.output.count("\n+") - 1 == 1
    assert run("diff", "--exit-code", a, b).exit_code == 1
    quiet = run("diff", "--quiet", a, b)
    assert quiet.exit_code == 1 and quiet.output == ""
    assert len(run("diff", "-U0", a, b).output.splitlines()) == 5


def test_what_git_could_not_merge_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIFF_PATH_TOTAL", "1")
    result = run("diff", "kernel.py")
    assert result.exit_code == 0 and result.output == "* Unmerged path kernel.py\n"
    monkeypatch.delenv("GIT_DIFF_PATH_TOTAL")
    refused = run("diff", "kernel.py")
    assert refused.exit_code == 2 and "two files are compared, and 1 is given" in refused.output
    assert "two files are compared, and 3 are given" in run("diff", "a.py", "b.py", "c.py").output
    assert "standard input is read once" in run("diff", "-", "-").output
    assert "Missing argument 'OLD NEW'" in run("diff").output


def test_functions_by_name(files: Any) -> None:
    a, b = files(DOUBLE + OTHER, DOUBLE.replace("2.0", "3.0") + OTHER.replace("other", "third"))
    output = run("diff", a, b).output
    assert f"--- {a}:other\n+++ {b}:other\n@@ -1,7 +0,0 @@\n-from" in output
    assert f"+++ {b}:third\n@@ -0,0 +1,7 @@\n+from" in output
    assert "+        B[i] = A[i] * 3.0" in output
    listed = run("diff", "--paths", a, b).output
    assert listed.splitlines()[0] == "other: removed" and listed.splitlines()[-1] == "third: added"
    assert "double.body[0].body[0].value" in listed and f"({a}:7:16, {b}:7:16)" in listed


def test_one_function_each_is_compared_whatever_its_name(files: Any) -> None:
    result = run("diff", "--exit-code", *files(DOUBLE, HEADER + OTHER))
    assert result.exit_code == 1 and "-def double(" in result.output and "+def other(" in result.output
    assert ":double\n+++ " in result.output and ":other\n@@" in result.output  # each by its own name


def test_json(files: Any) -> None:
    a, b = files(DOUBLE, DOUBLE.replace("2.0", "3.0"))
    (found,) = json.loads(run("diff", "--json", a, b).output)
    assert found["name"] == "double" and found["change"] == "changed"
    (one,) = found["differences"]
    assert one["path"].startswith("body[0].body[0].value") and one["before"]["line"] == one["after"]["line"] == 7
    assert one["before"]["file"] == str(a) and one["after"]["file"] == str(b)
    assert json.loads(run("diff", "--json", a, a).output) == []


def test_what_cannot_be_read_is_128(files: Any) -> None:
    (a,) = files(DOUBLE)
    assert run("diff", a, "missing.py").exit_code == 128
    assert run("diff", a).exit_code == 2


def git(folder: Path, *arguments: str, **environment: str) -> str:
    command = f"{sys.executable} -m tirscript.cli"
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
        **{name: value.replace("tirscript", command, 1) for name, value in environment.items()},
    }
    options = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", f"diff.tirscript.textconv={command} textconv"]
    options += ["-c", f'difftool.tirscript.cmd={command} diff --text "$LOCAL" "$REMOTE"']
    done = subprocess.run(["git", *options, *arguments], cwd=folder, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "k.py").write_text(DOUBLE)
    (tmp_path / "gone.py").write_text(DOUBLE)
    (tmp_path / "same.py").write_text(DOUBLE)
    (tmp_path / "notes.txt").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "k.py").write_text(DOUBLE.replace("2.0", "3.0").replace("B[i] = A[i]", "B[i]=A[i]"))
    (tmp_path / "gone.py").unlink()
    (tmp_path / "same.py").write_text(DOUBLE.replace("B[i] = A[i]", "B[i]=A[i]"))
    (tmp_path / "notes.txt").write_text("two")
    return tmp_path


def test_git_external_diff(repository: Path) -> None:
    output = git(repository, "diff", GIT_EXTERNAL_DIFF="tirscript diff")
    assert "-        B[i] = A[i] * 2.0\n+        B[i] = A[i] * 3.0\n" in output
    assert "diff --tirscript a/same.py b/same.py\ndiff" in output or output.rstrip().endswith("a/same.py b/same.py")
    assert "--- a/gone.py:double\n" in output and "-def double(" in output
    assert (
        "diff --git a/notes.txt b/notes.txt\n--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-one\n+two\n\\ No newline"
        in output
    )


def test_git_external_diff_of_a_broken_file(repository: Path) -> None:
    (repository / "k.py").write_text(DOUBLE.replace("A[i] * 2.0", "y"))
    output = git(repository, "diff", "k.py", GIT_EXTERNAL_DIFF="tirscript diff")
    assert "diff --git a/k.py b/k.py" in output and "+        B[i] = y" in output


def test_git_difftool(repository: Path) -> None:
    output = git(repository, "difftool", "--no-prompt", "--tool=tirscript")  # the first that failed would end it
    assert "+        B[i] = A[i] * 3.0" in output
    assert "-def double(" in output and "+++ /dev/null:double" in output
    assert "@@ -1 +1 @@\n-one\n+two\n" in output and "+++ notes.txt\n" in output


def test_text_where_there_is_no_program(files: Any) -> None:
    programs = files(DOUBLE, DOUBLE.replace("2.0", "3.0"))
    assert run("diff", "--text", *programs).output == run("diff", *programs).output
    named = (f"{programs[0]}:double", f"{programs[1]}:double")
    assert "+        B[i] = A[i] * 3.0" in run("diff", "--text", *named).output
    for old, new, exit_code in (("one\n", "two\n", 1), ("one\n", "one\n", 0), ("\0", "\0\0", 1), (DOUBLE, "one\n", 1)):
        a, b = files(old, new)
        assert run("diff", a, b).exit_code == 128
        result = run("diff", "--text", a, b)
        assert result.exit_code == 0 and bool(result.output) == bool(exit_code)
        assert ("Binary files" in result.output) == ("\0" in old)
        assert run("diff", "--text", "--exit-code", a, b).exit_code == exit_code
        quiet = run("diff", "--text", "-q", a, b)
        assert quiet.exit_code == exit_code and quiet.stdout == ""
    assert run("diff", "--text", a, a.parent / "missing.py").exit_code == 128
    assert run("diff", "--text", "--json", a, b).exit_code == 2


def test_git_textconv(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.py diff=tirscript\n")
    output = git(repository, "diff", "k.py", "same.py")
    assert "-        B[i] = A[i] * 2.0\n+        B[i] = A[i] * 3.0\n" in output
    assert "same.py" not in output or "@@" not in output.partition("same.py")[2]
