"""docs/language.md: every construct has an example, which is what its row says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers.printer import formatted

from tirscript.ir import OPS, DiagnosticError
from tirscript.ir.op import FOREIGN
from tirscript.script import ir, tir
from tirscript.script.namespace import AXES, BufferForm, Form
from tirscript.script.tvm import FORMS, FUNCTIONS, OPERATORS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_language", DOCS / "make_language.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["make_language"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = load()
ALL = [each for examples in MAKE.SECTIONS.values() for each in examples]
EXAMPLES = [pytest.param(each, id=each.what) for each in ALL if MAKE.is_read(each)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_keeps_the_laws_and_gives_its_result(example: object) -> None:
    MAKE.outcome(example)
    MAKE.check(example)


@pytest.mark.parametrize("dialect", ["tirscript", "tvm"])
def test_what_is_printed_of_the_examples_is_formatted(dialect: str) -> None:
    parts = []
    for (example,) in (param.values for param in EXAMPLES):
        if dialect == "tirscript" or example.tvm:
            parts.append(MAKE.program_of(example).script(dialect=dialect, header=False).strip("\n"))
    whole = "from tirscript.script import ir as I, tir as T\n\n\n" + "\n\n\n".join(parts) + "\n"
    assert formatted(whole) == whole


def test_the_page_is_up_to_date() -> None:
    assert (DOCS / "language.md").read_text(encoding="utf-8") == MAKE.page()


def test_every_construct_has_an_example() -> None:
    code = "\n".join(f"{param.values[0].code}\n{param.values[0].params}" for param in EXAMPLES)
    used = set(re.findall(r"\b[TI]\.([A-Za-z_0-9]+(?:\.[a-z]+)?)", code))
    constructs = {
        name
        for namespace in (tir, ir)
        for name, value in vars(namespace).items()
        if isinstance(value, (Form, BufferForm))
    }
    assert not (constructs | {f"axis.{name}" for name in AXES}) - used


def test_every_table_of_the_language_is_on_the_page() -> None:
    page = (DOCS / "language.md").read_text(encoding="utf-8")
    tables = page.partition(MAKE.MARK)[2]
    for name in (*OPS, *FOREIGN, *FORMS, *FUNCTIONS, *OPERATORS):
        assert f"| `T.{name}`" in tables
    for entry in OPS.values():
        assert entry.doc.replace("|", "\\|") in tables


def test_a_wrong_result_and_a_lost_law_are_found() -> None:
    example = MAKE.Example("wrong", "A[0] = 2.0\n", [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(AssertionError, match="wrong: interpreter gives"):
        MAKE.check(example)
    with pytest.raises(AssertionError, match="dialect can say"):
        MAKE.outcome(example._replace(tvm=False))
    with pytest.raises(AssertionError, match="dialect cannot say"):
        MAKE.outcome(MAKE.Example("undef", 'A[0] = T.undef("float32")\n'))
    with pytest.raises(DiagnosticError):
        MAKE.outcome(MAKE.Example("broken", "A[4] = 0.0\n"))
    with pytest.raises(AssertionError, match="is another program"):
        MAKE.same(MAKE.program_of(example), MAKE.text_of(example._replace(code="A[0] = 3.0\n")), "this")
