"""What workers did is one session: claims, clashes, and which goldens nothing owns any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirscript.testing.golden_files import write_atomically
from tirscript.testing.golden_session import GoldenError, Session


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one test module and three goldens of it."""
    write_atomically(tmp_path / "tests/test_a.py", "")
    for name in ("test_one", "test_two", "test_two-x"):
        write_atomically(tmp_path / f"tests/golden/test_a/{name}.py", "")
    return tmp_path


def session(root: Path) -> Session:
    return Session(root / "tests/golden", root)


def worker(root: Path, *owned: str, failed: tuple[str, ...] = ()) -> Session:
    """A session of all tests of the module, of which this process ran those that own goldens."""
    made = session(root)
    made.modules.add(str(root / "tests/test_a.py"))
    for name in owned:
        made.claim(golden(root, name), name)
    made.open_stems = [(str(root / "tests/golden/test_a"), name) for name in failed]
    return made


def golden(root: Path, name: str) -> Path:
    return root / f"tests/golden/test_a/{name}.py"


def orphans(found: Session) -> list[str]:
    return sorted(path.stem for path in found.orphans([found.root / "tests/test_a.py"]))


def merged(root: Path, *workers: Session | None) -> Session:
    made = session(root)
    for one in workers:
        made.merge(None if one is None else one.state())
    return made


def test_a_golden_has_one_owner(root: Path) -> None:
    one = session(root)
    path = golden(root, "test_one")
    one.claim(path, "test_one")
    one.claim(path, "test_one")
    with pytest.raises(GoldenError, match=r"test_one and test_other would keep two goldens in tests/golden/test_a"):
        one.claim(path, "test_other")


def test_workers_that_own_one_golden_clash(root: Path) -> None:
    path = golden(root, "test_one")
    one, other, third = session(root), session(root), session(root)
    one.claim(path, "test_one")
    other.claim(path, "test_other")
    third.claim(path, "test_one")
    assert merged(root, one, third).clashes == set()
    (clash,) = merged(root, one, third, other).clashes
    assert clash.startswith("test_one and test_other would keep two goldens in tests/golden/test_a/test_one.py")


def test_what_workers_did_is_added_up(root: Path) -> None:
    one, other = worker(root, "test_one"), worker(root, "test_two")
    one.written.add("a.py")
    other.outdated["b.py"] = "differs"
    found = merged(root, one, other)
    assert (found.written, found.outdated) == ({"a.py"}, {"b.py": "differs"})
    assert orphans(found) == ["test_two-x"]


def test_goldens_of_a_test_that_passed_in_no_worker_may_be_its_own(root: Path) -> None:
    """A worker did not pass what it did not run; only what is open in all of them failed."""
    one, other = (worker(root, "test_one", failed=failed) for failed in (("test_one", "test_two"), ("test_two",)))
    assert orphans(merged(root, one, other)) == []
    one, other = (worker(root, "test_one", failed=failed) for failed in (("test_two",), ("test_one",)))
    assert orphans(merged(root, one, other)) == ["test_two", "test_two-x"]
    assert orphans(merged(root, one)) == []


def test_of_a_worker_that_died_nothing_is_known(root: Path) -> None:
    one = worker(root, "test_one")
    assert orphans(merged(root, one)) == ["test_two", "test_two-x"]
    found = merged(root, one, None)
    assert orphans(found) == []
    assert found.partial == found.modules == one.modules
    assert orphans(merged(root, None, one)) == []
