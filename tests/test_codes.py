"""Every diagnostic code has an example that gives it, a section of docs/codes.md, and a place that raises it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tirscript.ir.codes import CODES

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ir", "script", "printer", "passes", "backend")


def load(name: str) -> ModuleType:
    """A module of docs/, which is no package."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "docs"))


MAKE_CODES = load("make_codes")


def test_every_code_has_an_example_and_every_example_a_code() -> None:
    assert list(MAKE_CODES.EXAMPLES) == list(CODES)


@pytest.mark.parametrize("code", CODES)
def test_the_example_gives_its_code_and_no_other(code: str) -> None:
    codes, shown = MAKE_CODES.outcome(MAKE_CODES.EXAMPLES[code])
    assert set(codes) == {code}, shown


@pytest.mark.parametrize("code", CODES)
def test_the_paragraph_says_something(code: str) -> None:
    about = MAKE_CODES.EXAMPLES[code].about
    assert 100 < len(about) < 700 and about.endswith(".")


def test_every_code_is_raised_somewhere_and_every_raised_code_is_in_the_table() -> None:
    used = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if path.name != "codes.py":
                used |= set(re.findall(r'"(T\d{3})"', path.read_text(encoding="utf-8")))
    assert used == set(CODES)


def test_the_titles_are_distinct() -> None:
    assert len(set(CODES.values())) == len(CODES)


def test_the_page_is_what_the_examples_give() -> None:
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    assert page == MAKE_CODES.page(), "run `make docs`"
    assert re.findall(r"^### (T\d{3}): ", page, re.M) == list(CODES)


def test_messages_name_no_internal_class() -> None:
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    shown = "".join(re.findall(r"```text\n(.*?)```", page, re.S))
    for name in ("BufferLoad", "BufferStore", "PrimFunc", "BufferType", "TypeName", "Namespace", "object at 0x"):
        assert name not in shown
