"""Files that are written as a whole: who reads one finds what was there or what is new, and who is interrupted, or
whose disk is full, still has what was there."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: int | None = None) -> Iterator[BinaryIO]:
    """A file for bytes that takes the place of `path` when the block ends; nothing is changed where it fails.

    `mode` are its permissions, those of new files without it. Raises OSError where it cannot be written.
    """
    import tempfile  # which takes longer to load than a cached kernel

    handle, beside = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(beside, _of_new_files() if mode is None else mode)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


@contextlib.contextmanager
def written(path: str | os.PathLike[str], mode: int | None = None) -> Iterator[BinaryIO]:
    """A file for bytes that is `path` when the block ends; nothing is changed where it fails.

    It keeps its permissions, its owner and the links to it where it exists, and has `mode` or the permissions of new
    files where it does not; a device takes what is written. Raises OSError where it cannot be written.
    """
    try:
        # asked of the path: what `/dev/stdout` links to has no name of its own where it is a pipe
        before = os.stat(path) if os.path.exists(path) else None
        if before is not None and not stat.S_ISREG(before.st_mode):
            with open(path, "wb") as device:
                yield device
            return
        target = os.path.realpath(path)  # links go on pointing to it
        with replacing(target, mode=mode if before is None else stat.S_IMODE(before.st_mode)) as file:
            yield file
            # who may not give files away keeps them; Windows has no owners
            with contextlib.suppress(OSError, AttributeError):
                if before is not None:
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
    except OSError as problem:
        if problem.errno is not None:  # numpy tells in other words what it could not write
            problem.filename = os.fspath(path)  # not the name of what is written beside
        raise


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as a whole, as `written` does."""
    with written(path) as file:
        file.write(data)


def reason(problem: OSError | ValueError) -> str:
    """Why a file is not read or written, in a message; ValueError is for a path that cannot be one."""
    why = str(getattr(problem, "strerror", None) or problem)
    return f"{why[:1].lower()}{why[1:]}"


def _of_new_files() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


__all__ = ["reason", "replacing", "write_file", "written"]
