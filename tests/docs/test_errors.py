"""docs/errors.md is what its mistakes give."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    page = load("docs/make_errors.py").page()
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == page


def test_there_are_five_mistakes_of_each_kind() -> None:
    kinds = load("docs/make_errors.py").KINDS
    assert list(kinds) == ["Syntax", "Unknown names", "Wrong dtypes", "Wrong shapes at a call", "Out of bounds"]
    assert all(len(mistakes) >= 5 for mistakes in kinds.values())


def test_every_message_has_a_place() -> None:
    make = load("docs/make_errors.py")
    for mistakes in make.KINDS.values():
        for mistake in mistakes:
            assert " --> kernel.py:" in make.message(mistake)


def test_a_mistake_without_an_error_is_found() -> None:
    make = load("docs/make_errors.py")
    with pytest.raises(AssertionError, match="no error: fine"):
        make.message(make.Mistake("fine", make.COPY, "tirscript.build(copy)(zeros(4), zeros(4))"))


def test_code_blocks_are_run_and_their_output_compared(tmp_path: Path) -> None:
    docs = load(".ci/docs.py")
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n```text\n2\n```\n```py\nnot run\n```\n"
    )
    assert docs.run(page) == []
    page.write_text("```python\nprint(1)\n```\n```text\n2\n```\n```python\nraise ValueError('no')\n```\n")
    failures = docs.run(page)
    assert len(failures) == 2
    assert f"{page}:5: the block above prints\n1\nnot\n2" in failures[0]
    assert "ValueError: no" in failures[1]
