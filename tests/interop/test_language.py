"""The examples of docs/language.md against apache-tvm: it reads what they are printed as for it, as the same programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tirscript.script import parse

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
from language_examples import SECTIONS, Example
from make_language import is_read, program_of

# where the two cannot agree, and why
APART = {
    "a reduction in an expression": "apache-tvm finds no reduction equal to itself read twice",
    "TVM's `T.reduce` with `T.iter_var`": "apache-tvm finds no reduction equal to itself read twice",
    "a region with a name of its own, with symbolic strides": 'apache-tvm prints the stride as `"s"`, and reads that as an int32',
    "shifts by the width or more": "apache-tvm refuses a constant amount that is as much as the width",
    "constants and values of other kinds": "apache-tvm prints constants as metadata, which its text leaves out",
}
EXAMPLES = [
    pytest.param(
        each,
        id=each.what,
        marks=[pytest.mark.xfail(reason=APART[each.what], strict=True)] if each.what in APART else [],
    )
    for examples in SECTIONS.values()
    for each in examples
    if each.tvm and is_read(each)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_form_for_tvm_is_what_it_reads(tvm: Any, example: Example) -> None:
    text = program_of(example).script(dialect="tvm")
    read = parse(tvm.parse(text))
    assert tvm.equal(read.script(dialect="tvm"), text)
