"""Making libraries of object files, by the C compiler or linker that the system has for the target."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tirscript.ir import DiagnosticError, error
from tirscript.ir.whole_files import written

from ..llvm.host import Host, host
from ..runtime.c_library import CFunction


def is_host(target: Host) -> bool:
    """Whether code of the target runs on this machine's system and kind of processor."""
    here, there = host().triple.split("-"), target.triple.split("-")
    return here[0] == there[0] and ("linux" in here) == ("linux" in there)


def compiler(target: Host) -> list[str] | None:
    """The C compiler for the target as the start of a command: what the environment's CC says, else the usual names."""
    arch = {"arm64": "aarch64"}.get(target.triple.partition("-")[0], target.triple.partition("-")[0])
    if is_host(target):
        given = os.environ.get("CC", "").split()
        names = [given] if given else [["cc"], ["gcc"], ["clang"]]
    else:
        names = [[f"{arch}-linux-gnu-gcc"], [f"{arch}-linux-gnu-clang"]] if "linux" in target.triple else []
    return next((command for command in names if shutil.which(command[0])), None)


def link_shared(
    objects: Sequence[Path], path: Path, target: Host, libraries: Sequence[CFunction], *, threads: bool
) -> None:
    """Make a shared library of object files, which names the libraries it needs. Raises DiagnosticError T402."""
    if target.triple.startswith("wasm"):
        flags = ["--no-entry", "--export-dynamic", "--allow-undefined"]
        with _whole(path) as made:
            _run([_tool("wasm-ld"), *flags, *map(str, objects), "-o", str(made)])
        return
    command = compiler(target)
    if command is None:
        raise _missing(f"a C compiler for {target.triple}")
    where = [Path(name) for one in libraries if (name := getattr(one.owner, "_name", None))]
    needed = [word for file in dict.fromkeys(where) for word in (str(file), f"-Wl,-rpath,{file.parent}")]
    # the pool's threads are in its code when the library is closed
    more = ["-pthread", *(["-Wl,-z,nodelete"] if "linux" in target.triple else [])] if threads else []
    more += _named(path, target)
    with _whole(path) as made:
        _run([*command, "-shared", "-fPIC", *map(str, objects), "-o", str(made), *needed, *more, "-lm"])


def archive(objects: Sequence[Path], path: Path) -> None:
    """A static library of object files."""
    with _whole(path) as made:
        _run([_tool("ar"), "rcs", str(made), *map(str, objects)])


def compile_c(source: Path, path: Path, target: Host, libraries: Sequence[CFunction], opt_level: int) -> None:
    """A shared library of a C source."""
    command = compiler(target)
    if command is None:
        raise _missing(f"a C compiler for {target.triple}")
    where = [Path(name) for one in libraries if (name := getattr(one.owner, "_name", None))]
    needed = [word for file in dict.fromkeys(where) for word in (str(file), f"-Wl,-rpath,{file.parent}")]
    flags = ["-std=c99", f"-O{opt_level}", "-ffp-contract=off", "-shared", "-fPIC", *_named(path, target)]
    with _whole(path) as made:
        _run([*command, *flags, str(source), "-o", str(made), *needed, "-lm"])


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Where a tool makes a file that is then written as a whole: who has loaded the one before keeps it, and it is
    there still where the tool fails or the disk is full."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        yield made
        with open(made, "rb") as source, written(path, made.stat().st_mode & 0o777) as file:
            shutil.copyfileobj(source, file)


def _named(path: Path, target: Host) -> list[str]:
    """On macOS a library says by what path it is found, that which it is written to unless it is told."""
    return [f"-Wl,-install_name,{path}"] if any(system in target.triple for system in ("darwin", "macos")) else []


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise _missing(f"`{name}`")
    return found


def _missing(what: str) -> DiagnosticError:
    hint = "export an object file (`.o`), which needs no linker, and link it where the program is built"
    return DiagnosticError([error("T402", f"this system has not {what}, which makes libraries", hint=hint)])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        notes = said[:20]
        raise DiagnosticError([error("T402", f"`{Path(command[0]).name}` could not make the library", notes=notes)])


__all__ = ["archive", "compile_c", "compiler", "is_host", "link_shared"]
