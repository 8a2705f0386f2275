"""TVM's graph functions both ways: what it prints is read, comes back from our own text, and goes back as it was."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.script import parse

STEP = 1 if int(os.environ.get("TIRSCRIPT_CASES", "1000")) >= 1000 else 4


@pytest.fixture(scope="module")
def graphs(tvm: Any) -> list[tuple[str, str]]:
    """Modules with graph functions, with their names."""
    return [(name, text) for name, text in tvm.ask("graphs", STEP)["texts"]]


def headless(text: str) -> str:
    """A text without its import lines, which TVM's `from_source` refuses."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(("from ", "import ")))


def test_what_the_package_makes(tvm: Any, graphs: list[tuple[str, str]]) -> None:
    assert len(graphs) > 40
    wrong: list[str] = []
    unreadable = 0
    for number, (name, text) in enumerate(graphs):
        try:
            made = parse(text)
            assert isinstance(made, Module) and made.graph_funcs
            printed = made.script()
            again = parse(printed)
            if not structural_equal(made, again) or again.script() != printed:
                wrong.append(f"{name}: our own text does not come back\n{printed}")
                continue
            ours = made.script(dialect="tvm")
        except DiagnosticError as problem:
            wrong.append(f"{name}: {problem}")
            continue
        reply = tvm.ask("same_graph", number, headless(ours))
        if reply.get("equal"):
            continue
        if not tvm.ask("readable_graph", number)["readable"]:
            unreadable += 1  # TVM does not read its own text of it back as what it was
            continue
        wrong.append(f"{name}: {reply}\n{text}\n{ours}")
    print(f"{len(graphs)} modules, {unreadable} not read by TVM itself, {len(wrong)} wrong")
    assert unreadable < 0.15 * len(graphs)
    assert not wrong, f"{len(wrong)} of {len(graphs)}:\n" + "\n\n".join(wrong[:3])


def test_names_of_the_table_are_names_of_the_package(tvm: Any) -> None:
    """Operators that we print under R are operators that TVM has, but for those that it has no name for."""
    from tirscript.ir.graph_ops import GRAPH_OPS

    known = set(tvm.ask("graph_names")["names"])
    unknown = {entry.tvm or name for name, entry in GRAPH_OPS.items()} - known
    assert len(unknown) < 0.1 * len(GRAPH_OPS), sorted(unknown)
