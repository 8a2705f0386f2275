"""What holds for every command: help, exit codes, colours, pipes, and files that are none."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from helpers.cli import DOUBLE, HEADER, ROOT, process, run

from tirscript import from_onnx, load
from tirscript.cli import COMMANDS, commands
from tirscript.ir import DiagnosticError
from tirscript.script import parse_file

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    text = result.output
    assert text.startswith(f"Usage: commands {name}")
    command = commands.get_command(click.Context(commands), name)
    assert command is not None and command.help and command.help.strip().endswith(".")
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert getattr(parameter, "help", None), f"--{parameter.name} of {name} is not explained"
    assert f"  tirscript {name}" in text or (name == "textconv" and "'tirscript textconv'" in text), "no example"


def test_the_table_names_every_file_of_commands() -> None:
    modules = {module for module, _ in COMMANDS.values()}
    files = {
        path.stem
        for path in (ROOT / "cli").glob("*.py")
        if re.search(r"^@click.(command|group)\(name=", path.read_text(), re.M)
    }
    assert modules == files


@pytest.mark.parametrize(
    ("line", "begun", "found", "said"),
    [
        ("explain", "T20", ("T201", "T203"), "block binding is wrong"),
        ("passes", "unr", ("unroll_loop",), None),
        ("ops", "isn", ("isnan",), "Whether the value is not a number."),
        ("demo", "scheduled_m", ("scheduled_matmul",), None),
        ("targets", "intel/h", ("intel/haswell",), None),
        ("targets --kind", "ll", ("llvm",), None),
        ("opt k.py --until", "simp", ("simplify",), None),
        ("opt k.py", "--passes=simplify,unr", ("simplify,unroll_loop",), None),
        ("opt k.py -p", "bui", ("build",), "all that `build` does"),
        ("build k.py --target", "c", ("c", "composite"), None),
        ("build k.py --emit", "a", ("asm",), None),
        ("view k.py -p", "def", ("default",), None),
        ("view", "k", ("k",), None),
    ],
)
def test_shells_complete_words_of_the_tables(line: str, begun: str, found: tuple[str, ...], said: str | None) -> None:
    offered = ShellComplete(commands, {}, "tirscript", "_TIRSCRIPT_COMPLETE").get_completions(line.split(), begun)
    by_word = {item.value: item for item in offered}
    assert by_word.keys() >= set(found) and len(by_word) == len(offered) < 12
    assert said is None or said in {item.help for item in offered}


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tirscript.cli import commands\n"
        "try: commands(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'llvmlite', 'rich', 'tirscript.ir', 'tirscript.script'} & set(sys.modules)), file=sys.stderr)"
    )
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stderr.strip() == "[]"
    assert "Commands:" in done.stdout


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "No such file or directory"),
        (lambda path: path.mkdir(), "it is a folder"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not UTF-8: invalid start byte at byte 0"),
        (lambda path: path.write_bytes(b"x = '\0'\n"), "NUL byte"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_text("x = 1\n"), "defines no function and no module"),
        (lambda path: path.write_text("def f(:\n"), "error[T001]"),
        (lambda path: os.symlink(path, path), "Too many levels of symbolic links"),
    ],
    ids=["missing", "folder", "binary", "nul", "empty", "none", "broken", "loop"],
)
@pytest.mark.parametrize("name", ["print", "opt", "diff"])
def test_what_is_no_program_is_told(name: str, make: object, said: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    make(path)  # type: ignore[operator]
    result = run(name, path, *([path] if name == "diff" else []))
    assert result.exit_code == (128 if name == "diff" else 1)
    assert said.lower() in result.stderr.lower()
    assert result.stderr.startswith("error[T0")
    assert result.stdout == ""


@pytest.mark.parametrize(
    "name", ["print", "fmt", "diff", "opt", "run", "build", "bench", "lint", "roundtrip", "view", "textconv"]
)
def test_a_named_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    result = run(name, tmp_path / "pipe.py", *([os.devnull] if name == "diff" else []))
    assert result.exit_code != 0
    assert "it is a named pipe, which may never have a writer" in result.output


def test_no_file_of_any_kind_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(DiagnosticError, match="named pipe"):
        parse_file(tmp_path / "pipe.py")
    (tmp_path / "k.py").write_text(DOUBLE)
    result = run("run", tmp_path / "k.py", "--input", tmp_path / "pipe.py")
    assert result.exit_code != 0 and "it is a named pipe" in result.stderr
    with pytest.raises(DiagnosticError, match="no regular file"):
        load(tmp_path / "pipe.py")
    with pytest.raises(DiagnosticError, match="no regular file"):
        from_onnx(tmp_path / "pipe.py")


def test_the_pipe_of_a_process_substitution_is_read() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as pipe:
        pipe.write(DOUBLE)
    result = run("print", f"/dev/fd/{read}")
    os.close(read)
    assert result.exit_code == 0 and "@T.prim_func" in result.output


def test_an_endless_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirscript.script.source.MAX_TEXT", 1000)
    result = run("print", "/dev/zero")
    assert result.exit_code == 1
    assert "error[T004]: /dev/zero is larger than 1,000 bytes" in result.stderr


def test_a_missing_file_has_a_neighbour(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(DOUBLE)
    result = run("print", tmp_path / "kernal.py")
    assert f"did you mean {tmp_path}/kernel.py?" in result.stderr
    assert "did you mean" not in run("print", tmp_path / "other.py").stderr  # the same ending is no likeness
    assert f"did you mean {tmp_path}/kernel.py?" in run("print", tmp_path / "kernel").stderr
    (tmp_path / "link.py").symlink_to("nowhere.py")
    assert run("print", tmp_path / "link.py").stderr == (
        f"error[T002]: {tmp_path}/link.py cannot be read: it is a link to nowhere.py, which does not exist\n"
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            'from tirscript.script import graph as G\n\n\n@G.graph_func\ndef f(x: G.Tensor(("n" , 4), "float32")):\n'
            "    return x\n",
            ("lint", "roundtrip", "fmt"),
        ),
        (
            'from tvm.script import relax as R\n\n\n@R.function\ndef f(x: R.Tensor(("n" , 4), "float32")):\n    return x\n',
            ("lint", "roundtrip", "fmt"),
        ),
        ("from tirscript.script import tir as T\n\n\n@T.macro\ndef f(x , y):\n    T.evaluate(x + y)\n", ("fmt",)),
    ],
    ids=["graph", "tvm", "macro"],
)
def test_of_a_folder_every_kind_of_definition_is_found(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(text)
    (tmp_path / "other.py").write_bytes(
        b"# -*- coding: latin-1 -*-\n@tf.function\ndef f():  # '\xe9', inline\n    pass\n"
    )
    said = {name: run(name, tmp_path).stderr for name in names}
    assert said["fmt"] == f"reformatted {tmp_path / 'one.py'}\n1 file reformatted, 1 file left unchanged.\n"
    if len(said) > 1:
        assert said["lint"] == "nothing found (1 file)\n" and "1 program exact" in said["roundtrip"]


@pytest.mark.parametrize("name", ["lint", "roundtrip", "fmt"])
def test_of_a_folder_what_holds_no_kernels_is_passed_over(name: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(DOUBLE)
    os.mkfifo(tmp_path / "pipe.py")  # would be waited for
    (tmp_path / "link.py").symlink_to("nowhere.py")
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n")
    result = run(name, tmp_path)
    assert result.exit_code == 0, result.output
    assert "T00" not in result.output
    asked = run(name, tmp_path / "latin.py")
    assert asked.exit_code in (1, 123) and "is not UTF-8" in asked.output


@pytest.mark.parametrize(("output", "header"), [("k.o", "folder"), ("k.o", "folder/../folder"), ("folder.o", "k.h")])
def test_of_two_files_that_are_written_the_wrong_one_is_told(
    output: str, header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    monkeypatch.chdir(tmp_path)
    wrong = output if output.startswith("folder") else header
    (tmp_path / wrong.partition("/")[0]).mkdir()
    result = run("build", "k.py", "-o", output, "--header", header)
    assert result.exit_code == 1
    assert f"error[T002]: {wrong} cannot be written: is a directory" in result.output


@pytest.mark.parametrize("arguments", [("print", "k.py"), ("--help",), ("fmt", "--help"), ("passes",)])
def test_standard_output_that_is_full_is_told(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    shell = shlex.join((sys.executable, "-m", "tirscript.cli", *arguments))
    full = subprocess.run(f"{shell} > /dev/full", shell=True, capture_output=True, cwd=tmp_path, env=ENVIRONMENT)
    assert full.returncode == 1
    assert full.stderr == b"error[T002]: standard output cannot be written: No space left on device\n"


CONSTANT = """from tirscript.script import tir as T


@T.prim_func
def k(A: T.Buffer((20,), "int8")):
    C = T.allocate_const([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "int8", (20,))
    for i in range(20):
        A[i] = C[i]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("print", "k.py", "--constants", "file", "--constants-file", "nowhere/c.safetensors"),
        ("opt", "k.py", "-p", "default", "--dump", "k.py/nowhere"),
        *(("build", "k.py", "-o", f"nowhere/k.{suffix}") for suffix in ("o", "so", "ll")),
        ("build", "k.py", "-o", "k.o", "--header", "nowhere/k.h"),
        ("run", "k.py", "--random", "--output", "nowhere/k.npy"),
        ("view", "k.py", "--no-native", "-o", "nowhere/k.html"),
    ],
)
def test_files_that_cannot_be_written_are_told(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text(CONSTANT)
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1
    told = (
        r"error\[T(002|115)\]: (\S*nowhere\S* cannot be written|the constants cannot be written to \S*nowhere\S*): no"
    )
    assert re.search(told, result.output), result.output
    assert [path.name for path in tmp_path.iterdir()] == ["k.py"]


def test_whoever_reads_the_output_may_leave(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    for arguments in ("lint --output-format json k.py", "passes", "print k.py", "--help", "print --help", "-V"):
        # `:` reads nothing and is gone when the command begins to write
        line = f"(sleep 0.2; {sys.executable} -m tirscript {arguments}; echo $? >&2) | :"
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
        assert done.stderr == "141\n"


def test_streams_that_are_closed_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    shell = shlex.join((sys.executable, "-m", "tirscript.cli", "print"))

    def done(rest: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(f"{shell} {rest}", shell=True, capture_output=True, cwd=tmp_path, env=ENVIRONMENT)

    closed = done("k.py >&-")
    assert (closed.returncode, closed.stderr) == (0, b"")
    closed = done("- <&-")
    assert (closed.returncode, closed.stderr) == (1, b"error[T002]: <stdin> cannot be read: it is closed\n")
    closed = done("missing.py 2>&-")
    assert (closed.returncode, closed.stdout) == (1, b"")


def test_a_wrong_command_line_is_2() -> None:
    assert run("print").exit_code == 2
    assert run("print", "x", "--dialect", "c").exit_code == 2
    assert run("--nonsense").exit_code == 2


def test_a_function_is_named_behind_a_colon_and_files_may_have_colons(tmp_path: Path) -> None:
    path = tmp_path / "a:b.py"
    path.write_text(DOUBLE + DOUBLE.partition("\n\n\n")[2].replace("double", "twice"))
    assert run("print", path).output.count("@T.prim_func") == 2
    only = run("print", f"{path}:twice").output
    assert only.count("@T.prim_func") == 1 and "def twice(" in only
    result = run("print", f"{path}:twic")
    assert result.exit_code == 1 and "did you mean `twice`?" in result.stderr


def test_a_fault_of_ours_asks_for_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("no luck")

    (tmp_path / "k.py").write_text(DOUBLE)
    monkeypatch.setattr("tirscript.cli.print_.file_text", fail)
    result = run("print", tmp_path / "k.py")
    assert result.exit_code == 70
    assert re.match(
        r"internal error: ZeroDivisionError: no luck \(in fail, test_command_line.py:\d+\)\n", result.stderr
    )
    assert "please report it" in result.stderr and "`commands print`" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("TIRSCRIPT_TRACEBACK", "1")
    assert "Traceback" in run("print", tmp_path / "k.py").stderr


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "k.py").write_text(DOUBLE)
    monkeypatch.setattr("tirscript.cli.print_.file_text", interrupt)
    result = run("print", tmp_path / "k.py")
    assert result.exit_code == 130 and result.stderr == "interrupted\n"


@pytest.mark.parametrize("command", ["lint", "run --random", "opt --passes=build"])
def test_commands_work_without_docstrings(command: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(DOUBLE)
    words = [sys.executable, "-OO", "-m", "tirscript.cli", *command.split(), str(tmp_path / "k.py")]
    done = subprocess.run(words, env={**ENVIRONMENT, "TIRSCRIPT_CACHE": "0"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_before_the_command_is_known_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "tirscript.ir", Interrupted("tirscript.ir"))
    result = run("passes")
    assert result.exit_code == 130 and result.stderr == "interrupted\n"


def test_an_interrupt_ends_native_code_at_once(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        HEADER
        + """@T.prim_func
def endless(A: T.Buffer((1,), "int32")):
    T.print("runs")
    while A[0] != 7:  # random numbers are 0 or 1 here
        A[0] = 0
"""
    )
    command = [sys.executable, "-m", "tirscript.cli", "run", str(tmp_path / "k.py"), "--random"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == b"runs\n"
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(30) == -signal.SIGINT  # which shells call 130
        finally:
            child.kill()


def test_an_interrupt_while_reading_standard_input_is_130() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("PYTHONUNBUFFERED", None)  # Python drops the rest of a write then
    command = [sys.executable, "-m", "tirscript.cli", "print", "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        # a run in the background ignores interrupts, and what it starts would too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        child.stdin.write(b"\n" * 200_000)  # more than a pipe holds: when this is written, the command reads
        child.stdin.flush()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130
        assert child.stderr.read() == b"interrupted\n"


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        DOUBLE + "".join(DOUBLE.partition("\n\n\n")[2].replace("double", f"f{n}") for n in range(2000))
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("PYTHONUNBUFFERED", None)  # Python drops the rest of a write then
    command = [sys.executable, "-m", "tirscript.cli", "print", str(tmp_path / "k.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(60) == 141
        assert child.stderr.read() == b""


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(DOUBLE)
    assert process("print", path).stdout.decode() == DOUBLE
    coloured = process("print", path, FORCE_COLOR="1").stdout.decode()
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == DOUBLE
    assert process("print", path, FORCE_COLOR="1", NO_COLOR="1").stdout.decode() == DOUBLE
    missing = process("print", tmp_path / "none.py", FORCE_COLOR="1")
    assert missing.returncode == 1 and missing.stdout == b""
    assert missing.stderr.startswith(b"\x1b[1;31merror[T002]")


def test_colours_do_not_break_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    text = DOUBLE.replace("A[i] * 2.0", "A[i] * " + " * ".join(["2.0"] * 20))
    path.write_text(text)
    shown = process("print", path, "--width", "300", FORCE_COLOR="1", COLUMNS="40").stdout.decode()
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == text


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    assert process("print", "-", stdin=DOUBLE.encode()).stdout.decode() == DOUBLE
    broken = process("print", "-", stdin=b"\xff")
    assert broken.returncode == 1 and broken.stderr.startswith(b"error[T001]: <stdin> is not UTF-8")


def test_names_that_are_no_text_and_programs_that_are_no_ascii(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.py"
    Path(os.fsdecode(path)).write_text(DOUBLE.replace("for i", "# größe\n    for i"), encoding="utf-8")
    done = process("print", os.fsdecode(path), PYTHONIOENCODING="ascii", LANG="C")
    assert "# größe".encode() in done.stdout and done.stderr == b""
    done = process("roundtrip", "-v", os.fsdecode(path), PYTHONIOENCODING="ascii", LANG="C")
    assert done.returncode == 0 and b"/\xff.py:double: as read: exact" in done.stdout


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    mark = tmp_path / "ran"
    path.write_text(f"import pathlib\n\npathlib.Path({str(mark)!r}).touch()\n{DOUBLE}\nraise SystemExit(3)\n")
    for name in ("print", "opt", "roundtrip", "textconv"):
        assert run(name, path).exit_code == 0
    assert not mark.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("view", "{}", "--no-native", "-o", "{}"),
        ("view", "{}:double", "--no-native", "-o", "./{}"),
        ("run", "{}", "--random", "--output", "{}"),
        ("build", "{}", "-o", "k.o", "--header", "{}"),
        ("print", "{}", "--constants", "file", "--constants-file", "{}"),
        ("opt", "{}", "--constants", "file", "--constants-file", "link.py"),
    ],
)
def test_the_file_of_the_programs_is_not_written_over(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text(DOUBLE)
    Path("link.py").symlink_to("k.py")
    result = run(*(one.format("k.py") for one in arguments))
    assert result.exit_code == 1 and "cannot be written: it holds the programs that are read" in result.stderr
    assert Path("k.py").read_text() == DOUBLE and not Path("k.o").exists()
