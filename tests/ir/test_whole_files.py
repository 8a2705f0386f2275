"""Files that are written as a whole, and what is no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tirscript.ir.whole_files import write_file


def test_files_keep_their_links_and_permissions(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to("file")
    write_file(link, b"one")
    file.chmod(0o640)
    write_file(link, b"two")
    assert link.is_symlink() and file.read_bytes() == b"two" and file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_pipes_take_what_is_written(tmp_path: Path) -> None:
    found: list[bytes] = []
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"named")
    reader.join()
    assert found == [b"named"] and pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="files that are open have no names here")
def test_pipes_that_are_open_take_what_is_written() -> None:
    """As `/dev/stdout` and what a shell gives for `>(command)`: links to what has no name."""
    read, write = os.pipe()
    try:
        write_file(f"/dev/fd/{write}", b"open")
        assert os.read(read, 16) == b"open"
    finally:
        os.close(read)
        os.close(write)
