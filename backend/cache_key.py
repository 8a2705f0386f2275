"""The key under which the cache knows compiled code: a digest of all that decides what the code is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from tirscript.ir import Module, PrimFunc, StringImm, walk
from tirscript.ir.digest import structural_digest
from tirscript.ir.graph import ExternFunction

from .runtime import layout
from .runtime.library import c_library, library_names

if TYPE_CHECKING:
    from tirscript.passes import Sequential

    from .request import Request

# whose sources decide what a program means and what code it becomes
_FOLDERS = ("ir", "passes", "backend")


def key(request: Request) -> str | None:
    """The key of a program's code, which needs no pass to run where the passes are our own.

    Where others take part, or instruments watch, they run, and the key is that of the program before and after. None
    where a program holds something that no other process would know.
    """
    program, passes = request.program, request.passes
    parts: list[str | None] = [structural_digest(program), *surroundings(), str(request.opt_level), str(request.debug)]
    parts.append(request.target.json())
    parts += c_functions(program)
    parts.append("passes: none" if passes is None else f"passes: {passes}")
    if passes is not None and not _known(passes):
        after = request.lowered if parts[0] is not None else None
        parts[-1] = None if after is None else f"after: {structural_digest(after)}"
        parts += [] if after is None else c_functions(after)
    if None in parts or "after: None" in parts:
        return None
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def c_functions(program: PrimFunc | Module) -> list[str]:
    """The signatures of the registered C functions that a program names, which native code calls them by."""
    known = {name: found.described for name in library_names() if (found := c_library(name)) is not None}
    if not known:
        return []
    named = {node.value for node in walk(program, StringImm)}
    named |= {node.symbol for node in walk(program, ExternFunction)}
    return [known[name] for name in sorted(known) if name in named]


def _known(passes: Sequential) -> bool:
    """Whether the sources and the text of a pipeline tell all that it does."""
    from tirscript.passes import PassContext

    context = PassContext.current()
    if not context.plain:
        return False
    return all(module.startswith("tirscript.passes.") for module in passes.modules())


@cache
def surroundings() -> tuple[str, ...]:
    """What decides beside the program: sources, versions, the processor, how calls come in. The same for all programs
    of a process."""
    import llvmlite
    import llvmlite.binding as llvm

    from .llvm.host import host

    machine = host()
    return (
        sources(),
        llvmlite.__version__,
        ".".join(map(str, llvm.llvm_version_info)),
        f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]} {sys.abiflags}",
        f"{layout.direct_calls()} {layout.HEAD}",
        *(machine.triple, machine.cpu, machine.features),
    )


@cache
def sources() -> str:
    """A digest of the sources of tirscript and of its version, so that no code outlives the compiler that made it."""
    root = os.path.dirname(os.path.dirname(__file__))
    if not os.path.isdir(root):  # imported from an archive
        return _archive()
    start = len(os.path.join(root, ""))
    found = hashlib.sha256()
    for path in (os.path.join(root, "__init__.py"), *(one for folder in _FOLDERS for one in _files(root, folder))):
        with open(path, "rb", 0) as file:
            data = file.read()
        found.update(f"{path[start:]} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()


def _archive() -> str:
    """A digest of the archive that tirscript is imported from; where Python does not name it, of this process."""
    path = getattr(getattr(__spec__, "loader", None), "archive", None)
    if path is None:
        return os.urandom(32).hex()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(*folder: str) -> Iterator[str]:
    """The paths of the Python files in a folder and those in it, in an order that is always the same."""
    with os.scandir(os.path.join(*folder)) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _files(entry.path)
