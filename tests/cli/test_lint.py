"""`tirscript lint`: what is found, how it is told, what is silenced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.cli import DOUBLE, HEADER, ROOT, run

WARNED = (
    HEADER
    + """@T.prim_func
def k(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    x = A[0]
    A[1] = 2.0
"""
)
WRONG = HEADER + '@T.prim_func\ndef k(A: T.Buffer((4,), "float32")):\n    A[5] = 2.0\n    A[0] = y\n'


@pytest.fixture
def warned(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(WARNED)
    return path


def test_text(warned: Path) -> None:
    result = run("lint", warned)
    assert result.exit_code == 1
    first, second = result.stdout.strip().split("\n\n")
    assert first.startswith(f"warning[T601]: the buffer `B` is never used\n --> {warned}:6:5\n")
    assert second.startswith(f"warning[T603]: the variable `x` is never used\n --> {warned}:7:5\n")
    assert result.stderr == "0 errors, 2 warnings (1 file)\n"
    assert run("lint", "--exit-zero", warned).exit_code == 0
    assert run("lint", "--quiet", warned).stderr == ""


def test_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    (tmp_path / "other.py").write_text("text = '@T.prim_func'\n")
    result = run("lint", tmp_path)
    assert result.exit_code == 0 and result.stdout == "" and result.stderr == "nothing found (1 file)\n"
    assert run("lint", tmp_path / "other.py").exit_code == 0
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert run("lint", tmp_path).exit_code == 0  # in a folder, what holds none of ours is not looked into
    named = run("lint", tmp_path / "broken.py")
    assert named.exit_code == 1 and "error[T001]" in named.stdout


def test_errors_are_told_in_all_formats(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(WRONG)
    result = run("lint", path, tmp_path / "none.py")
    assert result.exit_code == 1
    assert "error[T113]" in result.stdout and "error[T010]" in result.stdout and "error[T002]" in result.stdout
    assert result.stderr == "3 errors, 0 warnings (2 files)\n"
    found = json.loads(run("lint", "--output-format", "json", path).stdout)
    assert [(one["code"], one["severity"], one["line"], one["column"], one["end_column"]) for one in found] == [
        ("T113", "error", 6, 7, 8),
        ("T010", "error", 7, 12, 13),
    ]
    assert {one["file"] for one in found} == {str(path)}


def test_github(warned: Path) -> None:
    lines = run("lint", "--output-format", "github", warned).stdout.splitlines()
    assert lines[1] == (
        f"::warning file={warned},line=7,endLine=7,col=5,endColumn=13,title=T603::"
        "the variable `x` is never used%0Aleave it out, or call it `_x` where that is meant"
    )


def test_github_escapes_its_own_marks(tmp_path: Path) -> None:
    path = tmp_path / "100%,a:b.py"
    path.write_text(WARNED)
    line = run("lint", "--output-format", "github", path).stdout.splitlines()[0]
    assert "file=" + str(path).replace("100%,a:b", "100%25%2Ca%3Ab") in line


def test_select_ignore_and_statistics(warned: Path) -> None:
    def codes(*options: str) -> list[str]:
        return [one["code"] for one in json.loads(run("lint", "--output-format", "json", *options, warned).stdout)]

    assert codes("--select", "T601") == ["T601"]
    assert codes("--select", "t6") == ["T601", "T603"]
    assert codes("--ignore", "T601,T602") == ["T603"]
    assert codes("--ignore", "T6") == []
    assert run("lint", "--ignore", "T6", warned).exit_code == 0
    assert run("lint", "--ignore", "X9", warned).exit_code == 2
    assert run("lint", "--statistics", warned).stdout == "     1  T601  unused buffer\n     1  T603  unused variable\n"
    assert json.loads(run("lint", "--statistics", "--output-format", "json", warned).stdout) == [
        {"code": "T601", "title": "unused buffer", "count": 1},
        {"code": "T603", "title": "unused variable", "count": 1},
    ]


def test_errors_are_never_silenced(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(WRONG.replace("= y", "= y  # lint: ignore"))
    assert run("lint", "--select", "T601", path).stdout.count("error[") == 2


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# lint: ignore", ["T601"]),
        ("# lint: ignore[T603]", ["T601"]),
        ("# why  # lint: ignore[T601, T603]", ["T601"]),
        ("# lint: ignore[T601]", ["T601", "T603"]),
        ("# no lint", ["T601", "T603"]),
    ],
)
def test_comments_silence(comment: str, codes: list[str], warned: Path) -> None:
    warned.write_text(WARNED.replace("x = A[0]", f"x = A[0]  {comment}"))
    found = json.loads(run("lint", "--output-format", "json", warned).stdout)
    assert [one["code"] for one in found] == codes


def test_the_examples_have_nothing_to_be_told() -> None:
    result = run("lint", *sorted((ROOT / "examples").glob("*.py")))
    assert result.exit_code == 0, result.stdout


def test_golden_files_have_several_programs_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "golden.py"
    kernel = WARNED.partition("\n\n\n")[2]
    path.write_text(
        f"{HEADER}# --- before ---\n\n{kernel}\n# --- after simplify ---\n\n{kernel.replace('x =', '_x =')}"
    )
    found = json.loads(run("lint", "--output-format", "json", path).stdout)
    assert [(one["code"], one["line"]) for one in found] == [("T601", 8), ("T603", 9), ("T601", 16)]
    assert "2 programs exact" in run("roundtrip", path).stderr
    path.write_text(HEADER + kernel + kernel)
    assert "error[T202]" in run("lint", path).stdout


def test_standard_input() -> None:
    result = run("lint", "-", stdin=WARNED)
    assert result.exit_code == 1 and "<stdin>:6:5" in result.stdout


def test_a_path_is_asked_for() -> None:
    result = run("lint")
    assert result.exit_code == 2 and "Missing argument 'PATH...'" in result.output
