"""Programs whose few nodes stand for more than anything can read, or that hold themselves, end in a diagnostic."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.nodes import F32, I32, ZERO, func, loop, n, store, x
from msgspec.structs import force_setattr

import tirscript
from tirscript.ir import (
    Call,
    DiagnosticError,
    Var,
    differences,
    free_vars,
    get_op,
    structural_equal,
    structural_hash,
    substitute,
)
from tirscript.ir.arith import Analyzer
from tirscript.ir.digest import structural_digest
from tirscript.ir.effects import has_effect, reads_memory
from tirscript.passes import get_pass


def doubled(value: Any) -> Any:
    for _ in range(60):
        value = Call(op=get_op("add"), args=(value, value), dtype=F32)
    return value


def test_shared_nodes_are_compared_once() -> None:
    one, other = doubled(x), doubled(x)
    assert one == other and hash(one) == hash(other)
    assert func(store(one)) != func(store(doubled(Call(op=get_op("add"), args=(x, n), dtype=F32))))
    assert one != doubled(Var("x", F32))


@pytest.mark.parametrize("leaf", [ZERO, get_op("vscale")()], ids=["constants", "calls without arguments"])
def test_shared_nodes_without_names_are_compared_once(leaf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirscript.ir.equal.MANY", 1 << 12)  # so that it takes no time
    one, other = doubled(leaf), doubled(leaf.replace())
    assert one == other
    with pytest.raises(DiagnosticError, match="over 4,194,304 parts"):
        structural_equal(one, other)


@pytest.mark.parametrize("leaf", [x, ZERO], ids=["variables", "constants"])
def test_shared_nodes_are_not_rewritten_one_by_one(leaf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tirscript.ir.rewrite"], "MANY", 1 << 12)
    with pytest.raises(DiagnosticError, match="over 4,194,304 parts"):
        substitute(doubled(leaf), {x: ZERO})


def test_questions_about_shared_nodes_are_refused() -> None:
    analyzer = Analyzer({})
    for question in (analyzer.simplify, has_effect, reads_memory):
        with pytest.raises(DiagnosticError, match="over 4,194,304 parts"):
            question(doubled(x))


def of_expressions() -> Any:
    return func(store(doubled(x)))


def of_statements() -> Any:
    body: Any = (store(ZERO),)
    for _ in range(60):
        body = (loop(Var("i", I32), *body, *body),)
    return func(*body)


def in_itself() -> Any:
    """A loop that is its own body."""
    outer = loop(Var("i", I32), store(ZERO))
    force_setattr(outer, "body", (outer,))
    return func(outer)


def an_operand_of_itself() -> Any:
    value = Call(op=get_op("add"), args=(n, n), dtype=I32)
    force_setattr(value, "args", (value, n))
    return func(store(ZERO, value))


ARRAYS = (np.zeros(16, "float32"), np.zeros((4, 4), "float32"), np.zeros(16, "int32"))
READERS: dict[str, Callable[[Any, Any], object]] = {
    "script": lambda one, other: one.script(),
    "for TVM": lambda one, other: one.script(dialect="tvm"),
    "a fragment": lambda one, other: tirscript.printer.script(one.body),
    "diff": tirscript.printer.diff,
    "equal": structural_equal,
    "differences": differences,
    "hash": lambda one, other: structural_hash(one),
    "digest": lambda one, other: structural_digest(one),
    "free variables": lambda one, other: free_vars(one),
    "a pass": lambda one, other: get_pass("simplify")(one),
    "interpret": lambda one, other: tirscript.interpret(one, *ARRAYS, 1, 2, 1.0, np.zeros(4)),
    "build": lambda one, other: tirscript.build(one),
}
BOUNDS = ("ir.rewrite.MANY", "ir.equal.MANY", "ir.digest.MANY", "ir.wellformed.size.MOST", "printer.core.LONGEST")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of_expressions, "has over 2,048 parts, of which those that are used several times count as often"),
        (of_statements, "has over 2,048 parts, of which those that are used several times count as often"),
        (in_itself, "has no end: a node in it holds itself"),
        (an_operand_of_itself, "has no end: a node in it holds itself"),
    ],
)
def test_they_are_refused(make: Callable[[], Any], words: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in BOUNDS:
        module, _, name = f"tirscript.{bound}".rpartition(".")
        monkeypatch.setattr(sys.modules[module], name, 2048)
    one, other = make(), make()
    with pytest.raises(DiagnosticError) as caught:
        READERS[reader](one, other)
    (found,) = caught.value.diagnostics
    assert found.code == "T004" and found.message.endswith(words), found.message
