"""docs/operators.md is what the table of graph operators says, and the example of one's own operator runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tirscript.ir.graph_ops import GRAPH_OPS

from .test_errors import ROOT, load

# a process of its own: the example registers an operator
CODE = "import sys; sys.path.insert(0, 'docs'); import make_operators; print(make_operators.listing(), end='')"


def test_the_page_is_up_to_date() -> None:
    made = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    mark = load("docs/make_operators.py").MARK
    assert page.partition(mark)[2] == made.removeprefix(mark)


@pytest.mark.parametrize("name", ["add", "nn.conv2d", "call_tir", "topk"])
def test_operators_are_on_it(name: str) -> None:
    assert f"| `G.{name}(" in (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert name in GRAPH_OPS


def test_an_operator_of_ones_own() -> None:
    example = ROOT / "examples" / "graph" / "custom_operator.py"
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True)
    assert "G.example.hard_shrink(moved, limit=1.0)" in done.stdout
    assert done.stdout.rstrip().endswith("2.       ]]")
