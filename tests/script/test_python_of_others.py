"""What the user's own Python raises while a decorated function is read is told at its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tirscript.ir import DiagnosticError
from tirscript.script import graph as G
from tirscript.script import parse
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


def in_itself() -> list[Any]:
    made: list[Any] = []
    made.append({"made": made})
    return made


def nested(deep: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(deep):
        made = [made]
    return made


IN_ITSELF, NESTED, WITHIN = in_itself(), nested(100_000), nested(50)


@pytest.mark.parametrize("value", [IN_ITSELF, NESTED], ids=["in itself", "deep"])
@pytest.mark.parametrize(
    "statement", ['T.func_attr({"a": x})', 'T.attr(x, "a", 1)', 'T.attr(1, "a", x)', 'T.block_attr("a", x)']
)
def test_attributes_of_endless_depth_are_refused(value: list[Any], statement: str) -> None:
    """What reads programs reads attributes by recursion: the process ended with a segmentation fault."""
    if "block" in statement:
        statement = f'with T.block("b"): {statement}'
    text = f"@T.prim_func\ndef f():\n    {statement}\n"
    assert parse(text, names={"x": WITHIN})
    with pytest.raises(DiagnosticError, match="nested over 100 deep, or in themselves"):
        parse(text, names={"x": value})


def attribute() -> Any:
    @T.prim_func
    def f():
        T.func_attr({"a": IN_ITSELF})

    return f


def node_of_attribute() -> Any:
    @T.prim_func
    def f():
        T.attr(IN_ITSELF[0], "a", 1)

    return f


def annotation() -> Any:
    @T.prim_func
    def f():
        for _ in T.serial(4, annotations={"a": nested(1000)}):
            pass

    return f


def dtype() -> Any:
    @T.prim_func
    def f(A: T.Buffer((4,), NESTED)):
        pass

    return f


def result() -> Any:
    @G.graph_func
    def f(a: G.Tensor((4,), "float32")):
        return IN_ITSELF

    return f


@pytest.mark.parametrize("make", [attribute, node_of_attribute, annotation, dtype, result])
def test_values_of_endless_depth_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(
        DiagnosticError, match=r"sequences nested over 100 deep, or in themselves|is not an element type"
    ):
        make()


@pytest.mark.parametrize("value", [np.zeros(3, np.float32), np.array(["global"])], ids=["floats", "strings"])
def test_arrays_that_describe_a_buffer_are_refused(value: Any) -> None:
    """An array compared with a string gives an array, whose truth numpy does not tell.

    Where typeguard checks all arguments, it may refuse the array before, as T033.
    """
    checked = os.environ.get("TIRSCRIPT_CHECK") == "arguments"
    for given, code in (
        ("(4,), scope=x", "T032"),
        ("(4,), layout=x", "T021"),
        ("(4,), dtype=x", "T109"),
        ("(4,), strides=x", "T032"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            parse(f"@T.prim_func\ndef f(A: T.Buffer({given})):\n    pass\n", names={"x": value})
        assert [one.code for one in caught.value.diagnostics] in ([code], ["T033"] if checked else [code]), given
    with pytest.raises(DiagnosticError):
        parse("@G.graph_func\ndef f(a: G.Tensor((4,), x)):\n    return a\n", names={"x": value})
