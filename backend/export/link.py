"""Making libraries of object files, by the C compiler or linker that the system has for the target."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tirscript.ir import DiagnosticError, error

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
    """A shared library of object files, which names the libraries it needs. Raises DiagnosticError T402."""
    if target.triple.startswith("wasm"):
        _run(
            [
                _tool("wasm-ld"),
                "--no-entry",
                "--export-dynamic",
                "--allow-undefined",
                *map(str, objects),
                "-o",
                str(path),
            ]
        )
        return
    command = compiler(target)
    if command is None:
        raise _missing(f"a C compiler for {target.triple}")
    where = [Path(name) for one in libraries if (name := getattr(one.owner, "_name", None))]
    needed = [word for file in dict.fromkeys(where) for word in (str(file), f"-Wl,-rpath,{file.parent}")]
    # the pool's threads are in its code when the library is closed
    more = ["-pthread", *(["-Wl,-z,nodelete"] if "linux" in target.triple else [])] if threads else []
    _run([*command, "-shared", "-fPIC", *map(str, objects), "-o", str(path), *needed, *more, "-lm"])


def archive(objects: Sequence[Path], path: Path, target: Host) -> None:
    """A static library of object files."""
    path.unlink(missing_ok=True)
    _run([_tool("ar"), "rcs", str(path), *map(str, objects)])


def compile_c(source: Path, path: Path, target: Host, libraries: Sequence[CFunction], opt_level: int) -> None:
    """A shared library of a C source."""
    command = compiler(target)
    if command is None:
        raise _missing(f"a C compiler for {target.triple}")
    where = [Path(name) for one in libraries if (name := getattr(one.owner, "_name", None))]
    needed = [word for file in dict.fromkeys(where) for word in (str(file), f"-Wl,-rpath,{file.parent}")]
    flags = ["-std=c99", f"-O{opt_level}", "-ffp-contract=off", "-shared", "-fPIC"]
    _run([*command, *flags, str(source), "-o", str(path), *needed, "-lm"])


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
