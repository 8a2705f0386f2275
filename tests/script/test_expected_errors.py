"""Programs with mistakes, whose comments say what must be said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirscript.testing import expect_error

PROGRAMS = sorted(Path(__file__).resolve().parent.parent.joinpath("errors").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_mistake_and_no_other_is_told(path: Path) -> None:
    expect_error(path)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 5
