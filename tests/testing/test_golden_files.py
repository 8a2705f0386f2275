"""Names of golden files, writing and removing them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirscript.testing.golden_files import module_folder, remove, safe, stem_of, write_atomically


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_are_safe_and_distinct(one: str, other: str) -> None:
    for text in (one, other):
        name = safe(text)
        assert len(name) <= 109 and name.isascii() and "/" not in name and not set(name) & set('\0 "*:<>?|[]\\\n')
    assert (safe(one) == safe(other)) == (one == other)


def test_plain_names_stay() -> None:
    assert safe("float32-8_x.y") == "float32-8_x.y"
    assert safe("a/b").startswith("a_b-") and safe("a:b") != safe("a/b")
    assert stem_of([], "test_f", None) == "test_f"
    assert stem_of(["TestA", "TestB"], "test_f", "1-x") == "TestA.TestB.test_f-1-x"


def test_folders() -> None:
    golden, root = Path("/p/tests/golden"), Path("/p")
    assert module_folder(golden, root, Path("/p/tests/a/test_b.py")) == golden / "a/test_b"
    assert module_folder(golden, root, Path("/p/src/test_b.py")) == golden / "src/test_b"
    elsewhere = module_folder(golden, root, Path("/q/test_b.py"))
    assert elsewhere.parent == golden and elsewhere.name.startswith("_q_test_b-")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a" / "b.py"
    write_atomically(path, "one\n")
    write_atomically(path, "größe\n")
    assert path.read_bytes() == "größe\n".encode()

    def fail(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("tirscript.ir.whole_files.os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, "two\n")
    assert [one.name for one in path.parent.iterdir()] == ["b.py"]
    assert path.read_text(encoding="utf-8") == "größe\n"


def test_removing_leaves_no_empty_folders_below_the_top(tmp_path: Path) -> None:
    for name in ("a/b/one.py", "a/two.py"):
        write_atomically(tmp_path / "golden" / name, "")
    remove(tmp_path / "golden/a/b/one.py", tmp_path / "golden")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "golden", "two.py"]
    remove(tmp_path / "golden/a/two.py", tmp_path / "golden")
    assert [path.name for path in tmp_path.rglob("*")] == ["golden"]
