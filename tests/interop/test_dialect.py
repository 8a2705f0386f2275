"""TVM's dialect both ways, against the package itself: what we print it parses to what it had, what it prints we read."""

from __future__ import annotations

import importlib
import os
import pkgutil
from typing import Any

import hypothesis
import pytest

import tirscript.examples
from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse
from tirscript.testing import programs

EXAMPLES = [entry.name for entry in pkgutil.iter_modules(tirscript.examples.__path__)]
# of what the package makes, so many may hold something that the dialect has and the language has not
SHARE_READ = 0.99


def example(name: str) -> Any:
    return importlib.import_module(f"tirscript.examples.{name}").kernel


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(tvm: Any, name: str) -> None:
    made = example(name)
    text = made.script(dialect="tvm")
    theirs = tvm.parse(text)
    read = parse(theirs)
    assert tvm.equal(read.script(dialect="tvm"), text)


def test_what_the_package_makes(tvm: Any) -> None:
    texts = tvm.ask("corpus")["texts"]
    assert len(texts) > 300
    refused: list[str] = []
    wrong: list[str] = []
    for name, text in texts:
        try:
            made = parse(text)
        except DiagnosticError as problem:
            refused.append(f"{name}: {problem.diagnostics[0].code} {problem.diagnostics[0].message}")
            continue
        printed = made.script()
        again = parse(printed)
        if not structural_equal(made, again) or again.script() != printed:
            wrong.append(f"{name}: our own text does not come back\n{printed}")
            continue
        try:
            ours = made.script(dialect="tvm")
        except DiagnosticError as problem:
            wrong.append(f"{name}: not printed: {problem}")
            continue
        reply = tvm.ask("equal", *map(_headless, (text, ours)))
        if reply.get("equal") is not True:
            wrong.append(f"{name}: {reply}\n{text}\n{ours}")
    print(f"{len(texts)} programs, {len(refused)} refused, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} of {len(texts)}:\n" + "\n\n".join(wrong[:5])
    assert len(refused) <= (1 - SHARE_READ) * len(texts), "\n".join(refused)


def _headless(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(("from ", "import ")))


@hypothesis.settings(
    max_examples=int(os.environ.get("TIRSCRIPT_CASES", "1000")),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)
@hypothesis.given(made=programs())
def test_random_programs(tvm: Any, made: Any) -> None:
    try:
        text = made.script(dialect="tvm")
    except DiagnosticError:
        hypothesis.reject()
    read = parse(tvm.parse(text))
    assert tvm.equal(read.script(dialect="tvm"), text)
