"""The cache of compiled kernels: files by key, in a folder that processes share.

A file is a head (what it is, and the sha256 of its key and of what it holds) and the bytes that were stored. It is
written beside its place and renamed, so that others see all of it or nothing; what does not agree with its head is
removed and made again. Where the folder cannot be used (read-only, full, somebody else's), everything is compiled as
if nothing were cached, and `tirscript cache info` says why.

    TIRSCRIPT_CACHE=0        no cache
    TIRSCRIPT_CACHE_DIR      its folder, instead of the user's cache folder
    TIRSCRIPT_CACHE_SIZE     how much it may hold, as in 200M or 2G (512M); what was not used for longest goes first
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.whole_files import replacing

HEAD = b"tirscript kernel 1\n"
DEFAULT_SIZE = "512M"
_SUM = 32  # bytes of a sha256
_KEY = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile("[0-9a-f]{2}")  # the first digits of the keys in it
_UNFINISHED = re.compile(r"\..*\.tmp")
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)i?B?", re.IGNORECASE)
_ON, _OFF = ("", "1", "on", "yes", "true"), ("0", "off", "no", "false")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_KEEP = 0.9  # of the bound is left where it was crossed, so that not every file crosses it again
_RECENT = 60  # seconds in which a use need not be noted again
_ABANDONED = 3600  # seconds after which a file that was never finished is nobody's
_LOOK_AGAIN = 64  # files written by this process, after which the folder is measured again


class Entry(Struct, frozen=True):
    """One file: its path, its bytes, and when it was last used, in seconds since 1970."""

    path: str
    size: int
    used: float


class Cache:
    """The files of one folder, at most `limit` bytes of them together (a little more between two looks at the folder).

    Nothing here raises OSError: what cannot be read is not there, and `problem` says what could not be written.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.problem: str | None = None
        self._held: int | None = None  # bytes, as far as is known
        self._written = 0

    def path(self, key: str) -> Path:
        """Where the file of a key is, a sha256 in hexadecimal."""
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key: it must be 64 hexadecimal digits")
        return self.folder / key[:2] / key

    def read(self, key: str) -> bytes | None:
        """What was stored under the key; None where nothing was, or what is there is not what was written."""
        path = self.path(key)
        try:
            with open(path, "rb", opener=_open_at_once) as file:
                about = os.fstat(file.fileno())
                if not _is_ours(about):
                    return None
                data = file.read()
        except OSError:
            return None
        start = len(HEAD) + _SUM
        if data[: len(HEAD)] != HEAD or data[len(HEAD) : start] != _sum(key, data[start:]):
            self.remove(key)
            return None
        now = time.time()
        if abs(now - about.st_mtime) > _RECENT:  # a clock that went ahead left times that are still to come
            with contextlib.suppress(OSError):
                os.utime(path, (now, now))
        return data[start:]

    def remove(self, key: str) -> None:
        """Forget what is stored under the key."""
        with contextlib.suppress(OSError):
            self.path(key).unlink()

    def write(self, key: str, data: bytes) -> bool:
        """Store bytes under the key; whether that was possible."""
        path = self.path(key)
        whole = HEAD + _sum(key, data) + data
        if len(whole) > self.limit:
            return False
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(path, mode=0o600) as file:
                file.write(whole)
        except OSError as wrong:
            self.problem = f"{wrong.strerror or wrong}: {self.folder}"
            return False
        self._count(len(whole))
        return True

    def _count(self, size: int) -> None:
        """Look after the bound, now that a file of that size was added."""
        self._written += 1
        if self._held is None or self._written % _LOOK_AGAIN == 0:
            self._held = sum(entry.size for entry in self.entries())
        else:
            self._held += size
        if self._held > self.limit:
            self._held = self.evict()

    def entries(self) -> list[Entry]:
        """All files, without those that are being written."""
        return [entry for entry in self._files() if not os.path.basename(entry.path).startswith(".")]

    def _folders(self) -> Iterator[os.DirEntry[str]]:
        return (folder for folder in _scan(self.folder) if _FOLDER.fullmatch(folder.name))

    def _files(self) -> Iterator[Entry]:
        """The files of keys and those unfinished: the folder is one that the user names, and may hold other files."""
        for folder in self._folders():
            for file in _scan(Path(folder.path)):
                named = _KEY.fullmatch(file.name) and file.name.startswith(folder.name)
                if not named and not _UNFINISHED.fullmatch(file.name):
                    continue
                try:
                    about = file.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process was quicker
                if stat.S_ISREG(about.st_mode):
                    yield Entry(file.path, about.st_size, about.st_mtime)

    def evict(self) -> int:
        """Remove what was not used for longest until the bound is kept; returns the bytes that are left.

        One process at a time does so; the others take it for done.
        """
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.folder / ".lock", timeout=0):
                files = sorted(self._files(), key=lambda entry: entry.used)
                total = sum(entry.size for entry in files)
                wanted = int(self.limit * _KEEP) if total > self.limit else total
                for entry in files:
                    unfinished = os.path.basename(entry.path).startswith(".")
                    if total > wanted if not unfinished else time.time() - entry.used > _ABANDONED:
                        with contextlib.suppress(OSError):
                            os.unlink(entry.path)
                            total -= entry.size
                return total
        except (Timeout, OSError):
            return 0

    def clean(self) -> tuple[int, int]:
        """Remove everything; returns the number of files and of bytes that are gone."""
        count = size = 0
        for entry in list(self._files()):
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
                count, size = count + 1, size + entry.size
        for folder in self._folders():
            with contextlib.suppress(OSError):
                os.rmdir(folder.path)
        self._held = None
        return count, size

    def trouble(self) -> str | None:
        """Why nothing can be stored here, found by trying; None where it can."""
        import tempfile

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(bytes(4096))
                file.flush()
        except OSError as wrong:
            return f"{wrong.strerror or wrong}: {self.folder}"
        return None


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for who writes, should a pipe stand there."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_ours(about: os.stat_result) -> bool:
    """Whether something is a file that nobody else can have written: it is machine code that will run as us."""
    if not stat.S_ISREG(about.st_mode):
        return False
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _sum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def enabled() -> bool:
    """Whether the environment does not turn the cache off; T404 for what says neither."""
    given = os.environ.get("TIRSCRIPT_CACHE", "")
    if given.strip().lower() not in (*_ON, *_OFF):
        hint = "the folder is what TIRSCRIPT_CACHE_DIR says"
        raise DiagnosticError([error("T404", f"TIRSCRIPT_CACHE is {given!r}, which is neither 0 nor 1", hint=hint)])
    return given.strip().lower() not in _OFF


def folder() -> Path:
    """The folder that the environment says, or the user's."""
    given = os.environ.get("TIRSCRIPT_CACHE_DIR")
    if given:
        return Path(given).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("tirscript", appauthor=False) / "kernels"


def limit() -> int:
    """The bound that the environment says, in bytes; T404 for what is no size."""
    given = os.environ.get("TIRSCRIPT_CACHE_SIZE") or DEFAULT_SIZE
    match = _SIZE.fullmatch(given.strip())
    if match is None:
        message = f"TIRSCRIPT_CACHE_SIZE is {given!r}, which is no size"
        raise DiagnosticError([error("T404", message, hint="write a number of bytes, or one with K, M or G: 512M")])
    return int(match[1]) << _UNITS[match[2].upper()]


_open: dict[tuple[str, ...], Cache] = {}


def cache() -> Cache | None:
    """The cache that the environment asks for, None where it wants none."""
    if not enabled():
        return None
    # asked again for every build, as a test or a notebook may change the environment
    said = tuple(os.environ.get(f"TIRSCRIPT_CACHE{name}", "") for name in ("_DIR", "_SIZE"))
    key = (*said, os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", ""))
    found = _open.get(key)
    if found is None:
        found = _open[key] = Cache(folder(), limit())
    return found
