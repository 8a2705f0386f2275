"""What the user's own Python raises while a decorated function is read is told at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tirscript.ir import DiagnosticError
from tirscript.script import graph as G
from tirscript.script import tir as T
from tirscript.testing import assert_round_trip

W = np.ones(4, "int32")


class Hostile:
    """Nothing can be asked of it."""

    def _refuse(self, *args: Any) -> Any:
        raise RuntimeError("refused")

    __bool__ = __iter__ = __index__ = __int__ = __hash__ = __eq__ = __len__ = __call__ = _refuse
    __getitem__ = __add__ = __radd__ = __getattr__ = __repr__ = _refuse


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


H = Hostile()


def items() -> Iterator[int]:
    yield 1
    raise ValueError("no more")


def fails() -> int:
    raise Unreadable


def in_if() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        if W > 0:
            A[0] = 1.0

    return f


def in_while() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        while W > 0:
            A[0] = 1.0

    return f


def in_conditional() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = 1.0 if W > 0 else 2.0

    return f


def in_graph() -> Any:
    @G.graph_func
    def f(x: G.Tensor((4,), "float32")):
        y = x
        if W > 0:
            y = G.add(x, x)
        return y

    return f


def in_range() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for i in range(W):
            A[i] = 1.0

    return f


def in_shape() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((W, 4), "float32")
        B[0, 0] = A[0]

    return f


def in_loop() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        for i in items():
            A[i] = 1.0

    return f


def in_attribute() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        T.func_attr({"k": W})
        A[0] = 1.0

    return f


def in_call() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = fails()

    return f


@pytest.mark.parametrize(
    ("define", "place", "words"),
    [
        (in_if, "W > 0", "ValueError while parsing: The truth value of an array"),
        (in_while, "W > 0", "ValueError while parsing: The truth value of an array"),
        (in_conditional, "W > 0", "ValueError while parsing: The truth value of an array"),
        (in_graph, "W > 0", "ValueError while parsing: The truth value of an array"),
        (in_range, "W", "TypeError while parsing: only "),
        (in_shape, "W", "TypeError while parsing: only "),
        (in_loop, "items()", "ValueError while parsing: no more"),
        (in_attribute, '{"k": W}', "ValueError while parsing: can only convert an array of size 1"),
        (in_call, "fails()", "Unreadable while parsing: its message cannot be read"),
    ],
)
def test_what_python_raises_is_told_at_its_place(define: Callable[[], Any], place: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        define()
    (found,) = caught.value.diagnostics
    assert found.code == "T033" and found.message.startswith(words)
    assert found.span is not None and found.span.text == place


def one() -> Any:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        A[0] = H
        A[1] = H(1)
        A[2] = H.x
        A[3] = f"{H}"
        A[4] = A[H]
        x: H = 1.0
        T.evaluate(T.cast(A[0], H))

    return f


def test_objects_that_raise_whatever_is_asked_are_told() -> None:
    with pytest.raises(DiagnosticError) as caught:
        one()
    lines = {found.span.line for found in caught.value.diagnostics if found.span is not None}
    assert len(lines) == 7 and all(found.code != "T499" for found in caught.value.diagnostics)


def test_our_own_mistakes_are_not_taken_for_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.script.context import Context

    ours = {"__name__": "tirscript.script.context"}
    exec("def span(self, node): return [][1]", ours)
    monkeypatch.setattr(Context, "span", ours["span"])
    with pytest.raises(IndexError):
        in_call()


class Named(str):
    def __str__(self) -> str:
        return "another"

    __repr__ = __str__


NAMED = Named("value")
TEXT = np.str_("text")


def test_strings_of_other_classes_are_the_strings_that_they_are() -> None:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        T.func_attr({TEXT: NAMED, "other": TEXT})
        with T.block(TEXT):
            T.block_attr({"key": NAMED})
            A[0] = 1.0
        for i in T.serial(4, annotations={NAMED: TEXT}):
            A[i] = T.call_extern("float32", TEXT, NAMED)
        with T.attr(0, NAMED, TEXT):
            A[0] = 1.0

    text = f.script()
    assert text.count('"text"') == 6 and text.count('"value"') == 5 and "another" not in text
    assert_round_trip(f)
