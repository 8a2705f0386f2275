"""`tirscript fmt`: exit codes as black's, and nothing but decorated definitions touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli import DOUBLE, HEADER, ROOT, process, run

UGLY = """# license

import numpy   as np
from tirscript.script import tir as T
N=4


def  helper ( x ):
    return {'a' :x}


# about it
@T.prim_func
def k(A:T.Buffer( (N,),'float32' )):
  for i in range( N ):
    A[i]+=0x10 # why
  # end


x = helper( np.ones(N) )
"""
TIDY = UGLY.replace(
    """def k(A:T.Buffer( (N,),'float32' )):
  for i in range( N ):
    A[i]+=0x10 # why
""",
    """def k(A: T.Buffer((N,), "float32")):
    for i in range(N):
        A[i] += 0x10  # why
""",
)


def test_only_definitions_are_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(UGLY)
    result = run("fmt", path)
    assert result.exit_code == 0
    assert result.stderr == f"reformatted {path}\n1 file reformatted.\n" and result.stdout == ""
    assert path.read_text() == TIDY
    again = run("fmt", path)
    assert again.exit_code == 0 and again.stderr == "1 file left unchanged.\n"
    assert path.read_text() == TIDY


def test_check_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(UGLY)
    result = run("fmt", "--check", path)
    assert result.exit_code == 1
    assert result.stderr == f"would reformat {path}\n1 file would be reformatted.\n"
    assert path.read_text() == UGLY
    path.write_text(TIDY)
    result = run("fmt", "--check", path)
    assert result.exit_code == 0 and result.stderr == "1 file would be left unchanged.\n"


def test_diff_shows_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(UGLY)
    result = run("fmt", "--diff", path)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"--- a/{path}\n+++ b/{path}\n@@ ")
    assert "-    A[i]+=0x10 # why\n" in result.stdout and "+        A[i] += 0x10  # why\n" in result.stdout
    assert "helper" not in "".join(line for line in result.stdout.splitlines() if line[:1] in "+-")
    assert path.read_text() == UGLY
    assert run("fmt", "--diff", "--check", path).exit_code == 1


def test_standard_input(tmp_path: Path) -> None:
    result = run("fmt", "-", stdin=UGLY)
    assert result.exit_code == 0 and result.stdout == TIDY
    assert run("fmt", "--quiet", "-", stdin=TIDY).stderr == ""
    result = run("fmt", "--check", "-", stdin=UGLY)
    assert result.exit_code == 1 and result.stdout == ""


def test_files_and_folders_and_a_broken_one_among_them(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(UGLY)
    (tmp_path / "other.py").write_text("def f( x ): pass  # broken but no kernel: (\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text(UGLY)
    (tmp_path / "sub" / "bad.py").write_text(HEADER + "@T.prim_func\ndef f(:\n    pass\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "c.py").write_text(UGLY)
    (tmp_path / "notes.txt").write_text(UGLY)
    result = run("fmt", tmp_path)
    assert result.exit_code == 123
    assert "error[T001]" in result.stderr and "bad.py:5" in result.stderr
    assert result.stderr.endswith("2 files reformatted, 1 file left unchanged, 1 file failed.\n")
    assert (tmp_path / "a.py").read_text() == (tmp_path / "sub" / "b.py").read_text() == TIDY
    assert (tmp_path / ".hidden" / "c.py").read_text() == (tmp_path / "notes.txt").read_text() == UGLY
    assert run("fmt", tmp_path / "none.py").exit_code == 123


def test_a_folder_without_python(tmp_path: Path) -> None:
    result = run("fmt", tmp_path)
    assert result.exit_code == 0 and result.stderr == "There are no Python files.\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_marks_stay(end: str, mark: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes((mark + UGLY.replace("\n", end)).encode())
    assert run("fmt", path).exit_code == 0
    assert path.read_bytes() == (mark + TIDY.replace("\n", end)).encode()
    assert run("fmt", "--check", path).exit_code == 0


def test_mixed_line_ends_and_no_newline_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    text = HEADER.replace("\n", "\r\n", 1) + "@T.prim_func\ndef k(A: T.Buffer((4,), 'int8')):\n    A[0]=1"
    path.write_bytes(text.encode())
    assert run("fmt", path).exit_code == 0
    wanted = text.replace("'int8'", '"int8"').replace("A[0]=1", "A[0] = 1")
    assert path.read_bytes() == wanted.encode()


def test_what_computes_with_python_keeps_its_words(tmp_path: Path) -> None:
    text = (
        "import tirscript\nfrom tirscript.script import ir as I, tir as T\nSIZES=[1,2]\n\n"
        "@T.macro(hygienic=False)\ndef put(i):\n  A[i]=1\n\n"
        "@I.ir_module\nclass M:\n  @T.prim_func\n  def f(A: T.Buffer((4,), 'int8')):\n"
        "    for n in SIZES:\n      put(n+ 1)\n  @T.prim_func\n  def g(A: T.Buffer((4,), 'int8')): A[sum([i for i in SIZES])]=1\n"
    )
    path = tmp_path / "k.py"
    path.write_text(text)
    before = run("print", path).output
    assert run("fmt", path).exit_code == 0
    assert (
        path.read_text()
        == """import tirscript
from tirscript.script import ir as I, tir as T
SIZES=[1,2]

@T.macro(hygienic=False)
def put(i):
    A[i] = 1

@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer((4,), "int8")):
        for n in SIZES:
            put(n + 1)

    @T.prim_func
    def g(A: T.Buffer((4,), "int8")):
        A[sum([i for i in SIZES])] = 1
"""
    )
    assert run("print", path).output == before


UGLY_KERNEL = "@T.prim_func\ndef k(A: T.Buffer((4,), 'int8')):\n  A[0]=1\n"


@pytest.mark.parametrize(
    "text",
    [
        f"# fmt: off\n{UGLY_KERNEL}",
        UGLY_KERNEL.replace("prim_func", "prim_func  # fmt: skip"),
        UGLY_KERNEL + "  # fmt: off\n  A[1]=2\n  # fmt: on\n  A[2]=3\n",
    ],
)
def test_what_is_switched_off_stays(text: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(HEADER + text)
    assert run("fmt", "--check", path).exit_code == 0


def test_what_is_switched_on_again_and_single_statements(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(f"{HEADER}# fmt: off\nx=1\n# fmt: on\n{UGLY_KERNEL}  A[1]=2  # fmt: skip\n")
    assert run("fmt", path).exit_code == 0
    assert path.read_text().endswith("    A[0] = 1\n    A[1]=2  # fmt: skip\n") and "x=1\n" in path.read_text()


def test_a_program_that_is_wrong_is_laid_out_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(HEADER + "@T.prim_func\ndef k(A: T.Buffer((4,), 'int8')):\n    A[0]=nothing\n")
    assert run("fmt", path).exit_code == 0
    assert "    A[0] = nothing\n" in path.read_text()


def test_the_width_is_an_option(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(DOUBLE)
    assert run("fmt", "--line-length", 40, path).exit_code == 0
    assert max(map(len, path.read_text().splitlines())) <= 40
    assert run("fmt", path).exit_code == 0
    assert run("print", path).output == DOUBLE


def test_a_file_that_cannot_be_written_is_told_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tirscript.cli.files as files

    path = tmp_path / "k.py"
    path.write_text(UGLY)

    def refuse(beside: str, target: str) -> None:
        raise PermissionError(13, "Permission denied", target)

    monkeypatch.setattr(files.os, "replace", refuse)
    result = run("fmt", path)
    assert result.exit_code == 123 and f"{path} cannot be written: permission denied" in result.stderr
    assert result.stderr.endswith("1 file failed.\n")
    assert path.read_text() == UGLY
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "k.py"
    path.write_text(UGLY + "# what stands behind\n" * 1000)
    before = path.read_text()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    done = subprocess.run(
        [sys.executable, "-m", "tirscript", "fmt", path],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 123 and f"{path} cannot be written: file too large" in done.stderr
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="of POSIX's files")
def test_links_and_modes_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "k.py", tmp_path / "link.py"
    path.write_text(UGLY)
    path.chmod(0o754)
    link.symlink_to(path)
    assert run("fmt", link).exit_code == 0
    assert link.is_symlink() and path.read_text() == TIDY and path.stat().st_mode & 0o777 == 0o754


def test_a_layout_that_would_change_the_program_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.py"
    path.write_text(UGLY)
    monkeypatch.setattr("tirscript.printer.reformat._number", lambda text: "17")
    result = run("fmt", path)
    assert result.exit_code == 123 and "error[T499]" in result.stderr and "please report it" in result.stderr
    assert path.read_text() == UGLY


def test_the_examples_are_laid_out() -> None:
    done = process("fmt", "--check", "--line-length", "120", *sorted((ROOT / "examples").glob("*.py")))
    assert done.returncode == 0, done.stderr.decode()
