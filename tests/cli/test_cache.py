"""`tirscript cache`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.cli import run

from tirscript.backend.cache import Cache
from tirscript.backend.llvm import compiling
from tirscript.cli.cache import size

KEY = "a" * 64


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.delenv("TIRSCRIPT_CACHE")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("TIRSCRIPT_CACHE_SIZE", "10M")
    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", "3")
    return Cache(tmp_path / "kernels", 10 << 20)


def test_info_and_clean(cache: Cache) -> None:
    empty = run("cache", "info").stdout.splitlines()
    assert empty == [
        f"folder     {cache.folder}",
        "state      used",
        "holds      0 builds, 0 bytes of at most 10 MiB",
        "last used  never",
        "builds     3 threads",
    ]
    cache.write(KEY, bytes(2000))
    cache.write("b" * 64, bytes(1000))
    found = json.loads(run("cache", "info", "--json").stdout)
    used = found.pop("last_used")
    assert abs(used - cache.path(KEY).stat().st_mtime) < 60
    assert found == {
        "folder": str(cache.folder),
        "enabled": True,
        "usable": True,
        "state": "used",
        "kernels": 2,
        "bytes": sum(entry.size for entry in cache.entries()),
        "limit": 10 << 20,
        "threads": 3,
        "in_turn": None,
    }
    assert "2 builds, 3.0 KiB of" in run("cache", "info").stdout
    assert json.loads(run("cache", "clean", "--json").stdout) == {"removed": 2, "bytes": found["bytes"]}
    assert cache.entries() == [] and run("cache", "clean").stdout == "removed 0 files, 0 bytes\n"


def test_info_says_why_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    assert "state      off (TIRSCRIPT_CACHE)\n" in run("cache", "info").stdout
    monkeypatch.delenv("TIRSCRIPT_CACHE")
    assert f"state      not used: Not a directory: {tmp_path / 'file' / 'kernels'}\n" in run("cache", "info").stdout
    found = json.loads(run("cache", "info", "--json").stdout)
    assert found["enabled"] and not found["usable"]


def test_info_says_why_one_thread_compiles(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_unlocked", lambda: None)
    assert re.search(r"\nbuilds     1 thread: llvmlite [\d.]+ keeps its lock to itself\n", run("cache", "info").stdout)
    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", "0")
    result = run("cache", "info")
    assert result.exit_code == 1 and "TIRSCRIPT_BUILD_THREADS is '0', which is no number of threads" in result.stderr


def test_a_size_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE_SIZE", "much")
    result = run("cache", "info")
    assert result.exit_code == 1 and "TIRSCRIPT_CACHE_SIZE is 'much'" in result.stderr


@pytest.mark.parametrize(
    "count,text",
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (10 << 10, "10 KiB"),
        (999 << 10, "999 KiB"),
        (1000 << 10, "1.0 MiB"),
        (512 << 20, "512 MiB"),
        (2 << 30, "2.0 GiB"),
        (5 << 40, "5120 GiB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text
