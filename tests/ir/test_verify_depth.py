"""The verifier on programs of any depth and length, and the place it gives a mistake."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from helpers.nodes import (
    F32,
    I32,
    ZERO,
    N,
    func,
    load,
    loop,
    n,
    store,
    x,
)

from tirscript.ir import (
    Call,
    CallFunction,
    Let,
    Shuffle,
    Source,
    Span,
    Var,
    const,
    get_op,
    verify,
)

i = Var(name="i")


def test_place_of_a_use() -> None:
    """The narrowest place that is known, the name inside of it, in columns of bytes."""
    source = Source(name="k.py", text='A["ä", i] = i + 1\nfor i in range(4): pass\n')
    line = Span(source=source, start_line=1, start_column=0, end_line=1, end_column=18)
    right = Span(source=source, start_line=1, start_column=13, end_line=1, end_column=18)
    one = Span(source=source, start_line=2, start_column=0, end_line=2, end_column=18)
    value = Call(op=get_op("add"), args=(i, const(1)), dtype=I32, span=right)
    (use,) = verify(func(store(value, buffer=N, span=line), loop(i, store(), span=one)))
    assert use.code == "T201"
    assert use.message == "the variable `i` is used before its definition"
    assert use.span is not None
    assert (use.span.text, use.span.start_column, use.span.column) == ("i", 13, 12)
    assert use.labels[1].span is one
    (use,) = verify(func(store(ZERO, i, span=line)))
    assert use.span is not None
    assert (use.span.text, use.span.start_column) == ("i", 8)


def deep(levels: int) -> Any:
    value: Any = x
    for _ in range(levels):
        value = Call(op=get_op("add"), args=(value, ZERO), dtype=F32)
    return value


def test_deep_programs() -> None:
    assert verify(func(store(deep(20_000)))) == []
    body: Any = store()
    for at in range(1_000):
        body = loop(Var(name=f"i{at}"), body)
    assert verify(func(body)) == []


def test_the_work_grows_with_the_length_and_no_faster() -> None:
    def calls(count: int) -> int:
        program = func(*(loop(Var(name="i"), store(load(n) + 1.0, n)) for _ in range(count)))
        made = 0

        def counted(frame: Any, event: str, argument: Any) -> None:
            nonlocal made
            made += event == "call"

        outer = sys.getprofile()
        sys.setprofile(counted)
        try:
            assert verify(program) == []
        finally:
            sys.setprofile(outer)
        return made

    assert calls(400) < calls(100) * 4.1


def test_too_deep_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirscript.ir.node.DEPTH", 500)
    (each,) = verify(func(store(deep(20_000))))
    assert (each.code, each.message) == ("T004", "`f` is nested too deeply")


def doubled(times: int) -> Any:
    value: Any = x
    for _ in range(times):
        value = Call(op=get_op("add"), args=(value, value), dtype=F32)
    return value


def test_what_is_shared_is_counted_and_not_walked() -> None:
    """2**100 parts are told of where they are stored, in no time; a hundred thousand are an ordinary program."""
    assert verify(func(store(doubled(16)))) == []
    body = loop(i, store(doubled(100)))
    (each,) = verify(func(store(), body))
    assert each.code == "T004"
    assert each.message == ("`f` has over 4,194,304 parts, of which those that are used several times count as often")
    assert each.hint == "bind what is used several times to a name"


SHARING: dict[str, Any] = {
    "let": lambda value: Let(Var("v", F32), value, value),
    "shuffle": lambda value: Shuffle((value, value), (0,)),
    "function": lambda value: CallFunction("g", (value, value), F32),
}


@pytest.mark.parametrize("kind", SHARING)
def test_so_is_what_other_nodes_share(kind: str) -> None:
    value: Any = x
    for _ in range(60):
        value = SHARING[kind](value)
    (each,) = verify(func(store(value)))
    assert each.code == "T004"


def test_the_place_of_what_is_shared() -> None:
    source = Source(name="k.py", text="A[0] = double(x, 100)\n")
    place = Span(source=source, start_line=1, start_column=0, end_line=1, end_column=21)
    (each,) = verify(func(store(), loop(i, store(doubled(100), span=place))))
    assert each.span is place
