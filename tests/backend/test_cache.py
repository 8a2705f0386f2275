"""The files of the cache: what is read is what was written, whatever happens to the folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirscript.backend import cache as module
from tirscript.backend.cache import HEAD, Cache
from tirscript.ir import DiagnosticError

A, B, C = (letter * 64 for letter in "abc")
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "kernels", 1 << 20)


def test_what_is_written_is_read(cache: Cache) -> None:
    assert cache.read(A) is None
    assert cache.write(A, b"code") and cache.write(B, b"")
    assert cache.read(A) == b"code" and cache.read(B) == b"" and cache.read(C) is None
    assert cache.write(A, b"other") and cache.read(A) == b"other"
    assert Cache(cache.folder, 100).read(A) == b"other"
    assert sorted(Path(entry.path).name for entry in cache.entries()) == [A, B]
    cache.remove(A)
    assert cache.read(A) is None and cache.read(B) == b""


@pytest.mark.parametrize("key", ["", "../../etc/passwd", A[:-1], A + "a", A[:-1] + "G", A + "\n"])
def test_only_digests_are_keys(cache: Cache, key: str) -> None:
    with pytest.raises(ValueError, match="is no key"):
        cache.path(key)


@given(data=st.binary(max_size=40), at=st.integers(0, 200), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, bit: int) -> None:
    cache = Cache(tmp_path_factory.mktemp("kernels"), 1 << 20)
    cache.write(A, data)
    whole = bytearray(cache.path(A).read_bytes())
    assert bytes(whole[: len(HEAD)]) == HEAD and len(whole) == len(HEAD) + 32 + len(data)
    whole[at % len(whole)] ^= 1 << bit
    cache.path(A).write_bytes(whole)
    assert cache.read(A) is None
    assert not cache.path(A).exists(), "what is damaged is removed"
    assert cache.write(A, data) and cache.read(A) == data


@pytest.mark.parametrize("length", [0, 1, len(HEAD), len(HEAD) + 31, len(HEAD) + 32, len(HEAD) + 35])
def test_a_file_that_was_cut_off_is_noticed(cache: Cache, length: int) -> None:
    cache.write(A, b"code")
    os.truncate(cache.path(A), length)
    assert cache.read(A) is None


def test_a_file_under_the_name_of_another_is_noticed(cache: Cache) -> None:
    cache.write(A, b"code of a")
    cache.path(B).parent.mkdir()
    cache.path(A).rename(cache.path(B))
    assert cache.read(B) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_is_not_run(cache: Cache, mode: int) -> None:
    cache.write(A, b"code")
    assert cache.path(A).stat().st_mode & 0o077 == 0
    cache.path(A).chmod(mode)
    assert cache.read(A) is None
    cache.path(A).chmod(0o644)
    assert cache.read(A) == b"code"


def test_what_belongs_to_somebody_else_is_not_run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(A, b"code")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert (cache.read(A) is None) == (me != 0)  # what root wrote is trusted


# -- the bound


def age(cache: Cache, key: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(cache.path(key), (then, then))


def test_the_bound_is_kept_and_what_was_not_used_for_longest_goes(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 3300)
    for key, seconds in ((A, 300), (B, 200), (C, 100)):
        assert cache.write(key, bytes(900))
        age(cache, key, seconds)
    assert cache.read(A) is not None  # used now, so it is not the oldest any more
    assert cache.write("d" * 64, bytes(900))
    assert cache.read(B) is None and cache.read(C) is not None and cache.read(A) is not None
    assert sum(entry.size for entry in cache.entries()) <= 3300


def test_a_use_is_noted(cache: Cache) -> None:
    cache.write(A, b"code")
    age(cache, A, 1000)
    before = cache.path(A).stat().st_mtime
    cache.read(A)
    assert cache.path(A).stat().st_mtime >= before + 900


def test_a_use_is_noted_where_the_clock_went_back(cache: Cache) -> None:
    cache.write("a" * 64, b"data")
    path = cache.path("a" * 64)
    ahead = time.time() + 1e8  # it would be the last one to go
    os.utime(path, (ahead, ahead))
    assert cache.read("a" * 64) == b"data"
    assert path.stat().st_mtime < time.time() + 10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_nobody_is_waited_for_at_a_pipe(cache: Cache) -> None:
    path = cache.path("a" * 64)
    path.parent.mkdir(parents=True)
    os.mkfifo(path, 0o600)
    assert cache.read("a" * 64) is None


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 100)
    assert not cache.write(A, bytes(100)) and cache.entries() == []
    assert cache.write(B, bytes(100 - len(HEAD) - 32)) and cache.read(B) is not None


def test_the_files_of_other_processes_count_when_the_folder_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK_AGAIN", 4)
    mine, others = Cache(tmp_path, 3000), Cache(tmp_path, 1 << 20)
    mine.write(A, b"")
    for at in range(10):
        others.write(f"{at}" * 64, bytes(900))
    for letter in "bcde":
        mine.write(letter * 64, b"")
    assert sum(entry.size for entry in mine.entries()) <= 3000


def test_unfinished_files_go_after_an_hour(cache: Cache) -> None:
    cache.write(A, b"code")
    old, new = (cache.path(A).parent / name for name in (".old.tmp", ".new.tmp"))
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 4000,) * 2)
    cache.evict()
    assert not old.exists() and new.exists() and cache.read(A) == b"code"


def test_one_process_evicts_at_a_time(cache: Cache) -> None:
    from filelock import FileLock

    cache.write(A, bytes(1000))
    cache.limit = 10
    with FileLock(cache.folder / ".lock"):
        cache.evict()
        assert cache.read(A) is not None
    cache.evict()
    assert cache.read(A) is None


def test_clean_removes_everything_of_the_cache_and_nothing_else(cache: Cache) -> None:
    cache.write(A, b"code")
    (cache.path(A).parent / ".half.tmp").write_bytes(b"half")
    (cache.folder / "notes.txt").write_text("mine")
    count, size = cache.clean()
    assert (count, size) == (2, len(HEAD) + 32 + 4 + 4)
    assert sorted(os.listdir(cache.folder)) == ["notes.txt"] and cache.read(A) is None
    assert cache.clean() == (0, 0)


def test_files_of_others_in_the_folder_are_neither_counted_nor_removed(cache: Cache) -> None:
    for name in ("ui/page.txt", f"{A[:2]}/notes", "de/.config", f"{B[:2] if B[:2] != A[:2] else '00'}/{A}"):
        (cache.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (cache.folder / name).write_text("mine")
    held = sorted(str(path) for path in cache.folder.rglob("*") if path.is_file())
    cache.write(A, b"code")
    assert [entry.path for entry in cache.entries()] == [str(cache.path(A))]
    cache.limit = 0
    cache.evict()
    assert cache.clean() == (0, 0)
    assert sorted(str(path) for path in cache.folder.rglob("*") if path.is_file() and path.name != ".lock") == held


# -- folders that cannot be used


def test_a_folder_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "kernels", 1000)
    assert cache.trouble() == f"Not a directory: {cache.folder}"
    assert not cache.write(A, b"code") and cache.problem == cache.trouble()
    assert cache.read(A) is None and cache.entries() == [] and cache.clean() == (0, 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_read(cache: Cache) -> None:
    cache.write(A, b"code")
    for folder in (cache.path(A).parent, cache.folder):
        folder.chmod(0o500)
    try:
        assert cache.read(A) == b"code" and not cache.write(B, b"code")
        assert cache.trouble() == f"Permission denied: {cache.folder}"
    finally:
        cache.folder.chmod(0o700)


FULL = """
import resource, sys
from pathlib import Path
from tirscript.backend.cache import Cache
sys.dont_write_bytecode = True  # what is loaded from here on would leave files that are cut off to other processes
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
cache = Cache(Path(sys.argv[1]), 1 << 20)
print(cache.write("a" * 64, bytes(100)), cache.write("b" * 64, bytes(1000)), cache.problem)
print(cache.read("a" * 64) == bytes(100), cache.read("b" * 64), len(list(cache._files())), cache.trouble())
"""


def test_a_file_that_cannot_be_finished_is_not_left(tmp_path: Path) -> None:
    lines = python(FULL, str(tmp_path)).splitlines()
    assert lines == [f"True False File too large: {tmp_path}", f"True None 1 File too large: {tmp_path}"]


def python(code: str, *args: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code, *args], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


KILLED = """
import sys
from pathlib import Path
from tirscript.backend.cache import Cache
cache = Cache(Path(sys.argv[1]), 40_000_000)
print("ready", flush=True)
for at in range(10**9):
    cache.write(f"{at % 12:x}" * 64, bytes([at % 251]) * 3_000_000)
"""


def test_a_writer_that_is_killed_leaves_no_damage(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for wait in (0.0, 0.013, 0.04):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        cache = Cache(tmp_path, 40_000_000)
        for entry in cache.entries():
            data = cache.read(Path(entry.path).name)
            assert data is not None and data == data[:1] * 3_000_000, "a file that is there is whole"
        assert cache.write(C, b"code") and cache.read(C) == b"code"
        cache.remove(C)


# -- what the environment says


def test_the_environment_turns_it_off_and_says_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", "0")
    assert module.cache() is None
    monkeypatch.delenv("TIRSCRIPT_CACHE")
    monkeypatch.delenv("TIRSCRIPT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = module.cache()
    assert usual is not None and usual.folder == tmp_path / "tirscript" / "kernels" and usual.limit == 512 << 20
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path / "here"))
    other = module.cache()
    assert other is not None and other.folder == tmp_path / "here"
    assert module.cache() is other


@pytest.mark.parametrize(("text", "on"), [("", True), ("1", True), ("ON", True), ("False", False), (" 0 ", False)])
def test_words_that_turn_it_on_and_off(monkeypatch: pytest.MonkeyPatch, text: str, on: bool) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", text)
    assert module.enabled() == on


def test_a_folder_is_no_such_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual folder was used in place of the one that was meant."""
    monkeypatch.setenv("TIRSCRIPT_CACHE", "/tmp/kernels")
    with pytest.raises(DiagnosticError, match=r"T404.*TIRSCRIPT_CACHE is '/tmp/kernels'(.|\n)*TIRSCRIPT_CACHE_DIR"):
        module.cache()


@pytest.mark.parametrize(
    "text,size", [("100", 100), ("3K", 3072), ("2m", 2 << 20), ("1 GiB", 1 << 30), ("0", 0), ("5MB", 5 << 20)]
)
def test_sizes(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE_SIZE", text)
    assert module.limit() == size


@pytest.mark.parametrize("text", ["much", "-1", "1.5G", "1X"])
def test_what_is_no_size_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE_SIZE", text)
    with pytest.raises(DiagnosticError, match=rf"TIRSCRIPT_CACHE_SIZE is '{text}', which is no size"):
        module.limit()
