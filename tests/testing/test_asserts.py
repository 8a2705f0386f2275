"""Asserts of equality and of the round trip, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.script import HEADER, function

from tirscript.ir import Buffer, BufferLoad, BufferStore, PrimFunc, Trivia, Var, const, dtype, walk
from tirscript.script import parse, prim_func
from tirscript.script import tir as T
from tirscript.testing import assert_round_trip, assert_structural_equal, mismatch


def said(actual: Any, expected: Any, **options: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_structural_equal(actual, expected, **options)
    return str(caught.value)


def test_equal_programs() -> None:
    one = function("for i in range(4):\n    A[i] = 1.0  # why")
    assert_structural_equal(one, function("for j in range(4):\n    A[j] = 1.0"))
    assert_structural_equal(one.body[0], one.body[0])
    assert_structural_equal(one, function("for i in range(4):\n    A[i] = 1.0"), names=True)
    x, y = Var("x"), Var("y")
    assert_structural_equal(x + 1, y + 1, map_free_vars=True)
    assert "`y` against `x`: different free names" in said(x + 1, y + 1)


def test_names_and_comments_on_request() -> None:
    one = function("# first\nfor i in range(4):\n    A[i] = 1.0  # why\n\nn1 = n")
    other = function("# first\nfor j in range(4):\n    A[j] = 1.0  # because\n\nn2 = n")
    text = said(one, other, names=True, comments=True)
    assert [line for line in text.split("\n") if line.startswith("f.")] == [
        "f.body[0].body[0]: # because against # why",
        "f.body[0].var: named `j` against `i`",
        "f.body[1].var: named `n2` against `n1`",
    ]
    assert "+    for i in range(4):" in text
    spaced = function("# first\nfor i in range(4):\n    A[i] = 1.0  # why\nn1 = n")
    assert_structural_equal(one, spaced, names=True, comments=True)  # a blank line is layout
    assert 'f: """a""" against no comment' in said(one, one.replace(docstring="a"), comments=True)
    assert "f: # first against no comment" not in said(one, one.replace(docstring="a"), comments=True)


@pytest.mark.parametrize(
    "doc", ["one\n      more", "one\n    more", "\n    one\n    ", "  one  ", " ", 'one"', "a\n  b\n\n"]
)
def test_a_docstring_is_the_same_however_it_is_laid_out(doc: str) -> None:
    """A printed docstring is laid out as `ruff format` does it; its words are the same."""
    assert_round_trip(function("A[0] = 1.0").replace(docstring=doc))


def test_a_comment_between_two_statements_belongs_to_either() -> None:
    """What is printed the same is the same: text does not tell to which statement a comment belongs."""
    one, other = (
        function("A[0] = 1.0\nA[1] = 2.0").replace(
            body=tuple(
                BufferStore(Buffer("A", (const(16),)), (const(at),), const(1.0), trivia=trivia)
                for at, trivia in enumerate(trivias)
            )
        )
        for trivias in ((Trivia(after=("# why",)), None), (None, Trivia(before=("#why",))))
    )
    assert one.script() == other.script()
    assert_structural_equal(one.replace(body=one.body), one, comments=True)
    moved = one.replace(body=(one.body[0].replace(trivia=None), one.body[1].replace(trivia=Trivia(beside="# why"))))
    assert_structural_equal(moved, one, comments=True)
    moved = one.replace(body=(one.body[0].replace(trivia=Trivia(("# why",))), one.body[1]))
    text = said(moved, one, comments=True)
    assert "f.body[0]: no comment against # why" in text and "f.body[1]: # why against no comment" in text


def test_the_most_specific_difference_is_first_and_all_are_told() -> None:
    one = function("A[0] = 1.0\nfor i in range(4):\n    A[i] = A[i] + 1.0\nA[1] = 2.0")
    two = function("A[0] = 2.0\nfor i in T.parallel(5):\n    A[i] = A[i] * 1.0\nX[1] = 2")
    heads = [line for line in said(two, one).split("\n") if line.startswith("f.")]
    assert [line.partition(":")[0] for line in heads] == [
        "f.body[1].body[0].value.op",
        "f.body[0].value",
        "f.body[1].kind",
        "f.body[1].stop",
        "f.body[2].buffer",
        "f.body[2].value",
    ]
    assert said(two, one).startswith("6 differences between what is expected and what is found, the most specific")


def test_many_differences_take_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (function("\n".join(f"A[{at % 16}] = {at + more}.0" for at in range(30))) for more in (0, 1))
    text = said(two, one)
    assert text.startswith("30 differences")
    assert sum(line.startswith("f.body[") for line in text.split("\n")) == 30
    assert text.count("(expected, as written)") == 10
    monkeypatch.setattr(mismatch, "MOST", 20)
    text = said(two, one)
    assert text.startswith("20 differences") and "(only the first 20 are listed)" in text


def test_what_is_missing_is_told_of_the_side_that_has_it() -> None:
    one = function("for i in range(4):\n    A[i] = 1.0\n    X[i] = 2")
    two = function("for i in range(4):\n    X[i] = 2")
    text = said(two, one)
    assert "f.body[0].body[0] / f.body[0].body: only what is expected has BufferStore `A[i] = 1.0`" in text
    assert "<expected>:12:9 (expected)" in text and "<found>:11:5 (found)" in text
    assert "f.body[0].body / f.body[0].body[0]: only what is found has BufferStore" in said(one, two)


def test_the_place_that_the_user_wrote_is_shown() -> None:
    @prim_func
    def scale(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * 2.0

    (store,) = [node for node in walk(scale) if type(node) is BufferStore]
    changed = scale.replace(body=(scale.body[0].replace(body=(store.replace(value=const(3.0)),)),))
    text = said(changed, scale)
    line = store.span.line  # type: ignore[union-attr]
    assert f"{__file__}:{line}:20 (expected, as written)" in text
    assert f"{__file__}:{line}:13 (found, as written)" in text  # the constant was made by hand; its store was not
    assert f"{line} |             A[i] = A[i] * 2.0" in text


def test_one_place_for_both() -> None:
    one = function("A[0] = 1.0\nfor i in range(4):\n    A[i] = 2.0")
    loop: Any = one.body[1]
    assert "(expected and found, as written)" in said(
        one.replace(body=(one.body[0], loop.replace(kind="parallel"))), one
    )


def test_a_program_that_cannot_be_read_is_told() -> None:
    one = function("A[0] = 1.0")
    free = BufferLoad(Buffer(name="free", shape=(const(4),), dtype=dtype("int32")), (const(0),))
    bad = one.replace(body=(BufferStore(one.params[0], (free,), const(1.0)),))
    text = said(bad, one)
    assert "f.body[0].indices[0]: Const `0` against BufferLoad `free[0]`" in text
    assert "what is found cannot be read back: error[T" in text and "-    A[0] = 1.0\n+    A[free[0]] = 1.0" in text


def test_modules() -> None:
    text = (
        f"{HEADER}@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((4,), 'int32')):\n        A[0] = 1\n"
    )
    one, two = parse(text), parse(text.replace("= 1", "= 2").replace("class M", "class N"))
    assert "\nf.body[0].value: Const `1` against Const `2`\n" in said(two, one)
    assert "M / N: named `M` against `N`" in said(parse(text.replace("class M", "class N")), one, names=True)
    assert "\nf: only what is expected has this function" in said(one.replace(functions=()), one)  # type: ignore[call-arg]


class TestRoundTrip:
    def test_programs_and_modules(self) -> None:
        one = function("# why\nfor i in range(4):\n    A[i] = 1.0")
        again = assert_round_trip(one)
        assert again is not one and again.script() == one.script()
        text = f"{HEADER}@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((4,), 'int32')):\n        A[0] = 1\n"
        assert_round_trip(parse(text))

    def test_what_text_cannot_say(self) -> None:
        func = function("A[0] = 1.0")
        with pytest.raises(Exception, match="free"):
            assert_round_trip(func.replace(body=(BufferStore(func.params[0], (Var("free"),), const(1.0)),)))

    def test_a_printer_that_loses_something(self, monkeypatch: pytest.MonkeyPatch) -> None:
        func = function("for i in range(4):\n    A[i] = 1.0  # why")
        script = PrimFunc.script
        monkeypatch.setattr(
            PrimFunc, "script", lambda self, **options: script(self, **options).replace("range(4)", "range(5)")
        )
        with pytest.raises(AssertionError, match=r"body.0..stop: Const `4` against Const `5`"):
            assert_round_trip(func)
        monkeypatch.setattr(PrimFunc, "script", lambda self, **options: script(self, **options).replace("# why", ""))
        with pytest.raises(AssertionError, match="# why against no comment"):
            assert_round_trip(func)
        count = iter(range(9))
        monkeypatch.setattr(PrimFunc, "script", lambda self, **options: script(self, **options) + "\n" * next(count))
        with pytest.raises(AssertionError, match="what is read back prints otherwise"):
            assert_round_trip(func)

    def test_a_text_that_python_makes_nothing_of(self, monkeypatch: pytest.MonkeyPatch) -> None:
        func = function("A[0] = 1.0")
        monkeypatch.setattr("tirscript.testing.asserts.runpy.run_path", lambda path: {})
        with pytest.raises(AssertionError, match="defines 0 programs, not one"):
            assert_round_trip(func)
