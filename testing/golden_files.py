"""Where goldens are kept, and how they are written."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from tirscript.ir.whole_files import replacing

LONGEST = 100  # characters of a name, well below what file systems take
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+=-]")
SUFFIXES = (".py", ".txt")


def safe(text: str) -> str:
    """A text as a part of a file name. Other texts give other names: what is left away is told by a digest."""
    cleaned = _UNSAFE.sub("_", text)
    if cleaned == text and len(text) <= LONGEST:
        return text
    import hashlib

    return f"{cleaned[:LONGEST]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def stem_of(classes: list[str], function: str, parameters: str | None) -> str:
    """The name of a test's goldens: `test_f`, `TestClass.test_f`, `test_f-8-float32` of a parametrized test."""
    return safe(".".join([*classes, function])) + (f"-{safe(parameters)}" if parameters is not None else "")


def module_folder(golden: Path, root: Path, module: Path) -> Path:
    """The folder of the goldens of a test module: its path below the folder that holds the goldens, or below the root
    of the project."""
    for base in (golden.parent, root):
        with contextlib.suppress(ValueError):
            return golden / module.relative_to(base).with_suffix("")
    return golden / safe(str(module.with_suffix("")))


def write_atomically(path: Path, text: str) -> None:
    """Replace a file as a whole: who reads it at that moment sees the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())


def remove(path: Path, top: Path) -> None:
    """Remove a file, and the folders below `top` that it leaves empty."""
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == top or top not in folder.parents:
            break
        try:
            folder.rmdir()
        except OSError:
            break


__all__ = ["SUFFIXES", "module_folder", "remove", "safe", "stem_of", "write_atomically"]
