"""Diagnostics as text, places in sources, and suggestions."""

from __future__ import annotations

import pickle

import pytest

from tirscript.ir import Diagnostic, DiagnosticError, Label, Source, Span, error, suggest

TEXT = 'first\n\tx = T.exq(y)\nä = "ü" + z\nlast'


def span(line: int, start: int, stop: int, last: int | None = None, source: Source | None = None) -> Span:
    return Span(
        source=source or Source(name="k.py", text=TEXT),
        start_line=line,
        start_column=start,
        end_line=last or line,
        end_column=stop,
    )


def test_whole_text() -> None:
    diagnostic = error(
        "T031",
        "`T.exq` is not a function of T",
        span(2, 5, 10),
        notes=[Label(span(1, 0, 5), "the first line"), "a note"],
        hint="did you mean `T.exp`?",
    )
    assert (
        str(diagnostic)
        == diagnostic.render()
        == (
            "error[T031]: `T.exq` is not a function of T\n"
            " --> k.py:2:6\n"
            "  |\n"
            "2 | \tx = T.exq(y)\n"
            "  | \t    ^^^^^\n"
            "  = note: the first line\n"
            " ::: k.py:1:1\n"
            "  |\n"
            "1 | first\n"
            "  | ^^^^^\n"
            "  |\n"
            "  = note: a note\n"
            "  = help: did you mean `T.exp`?"
        )
    )
    assert diagnostic.span is not None
    assert diagnostic.span.text == "T.exq"


def test_columns_count_characters() -> None:
    place = span(3, 12, 13)
    assert place.text == "z"
    assert (place.column, place.end) == (10, 11)
    assert str(place) == "k.py:3:11"
    assert error("T010", "m", place).render().splitlines()[-1] == "  | " + " " * 10 + "^"


def test_a_label_beside_its_carets() -> None:
    diagnostic = Diagnostic("T010", "m", (Label(span(1, 0, 5), "here"),))
    assert diagnostic.render().splitlines()[-1] == "  | ^^^^^ here"


def test_several_lines_are_marked_to_the_end_of_the_first() -> None:
    assert error("T010", "m", span(2, 1, 4, last=4)).render().splitlines()[-1] == "  | \t" + "^" * 12
    assert span(2, 1, 4, last=4).text == "x = T.exq(y)"


def test_an_empty_span_has_one_caret() -> None:
    assert error("T010", "m", span(4, 4, 4)).render().splitlines()[-1] == "  |     ^"


def test_a_piece_of_a_file() -> None:
    source = Source(name="m.py", text="def f():\n    x\n", first_line=98, indent=4)
    place = span(2, 4, 5, source=source)
    assert (place.line, place.last_line, place.column, place.end, place.filename, place.text) == (
        99,
        99,
        8,
        9,
        "m.py",
        "x",
    )
    assert error("T010", "m", place, notes=[Label(span(4, 0, 1, source=source), "after the end")]).render() == (
        "error[T010]: m\n"
        "   --> m.py:99:9\n"
        "    |\n"
        " 99 |         x\n"
        "    |         ^\n"
        "    = note: after the end\n"
        "   ::: m.py:101:5\n"
        "    |\n"
        "101 |\n"
        "    |     ^"
    )
    assert repr(place) == "<span m.py:99:9>"


def test_without_source_text() -> None:
    assert (
        error("T010", "m", span(1, 0, 1, source=Source(name="gone.py", text=""))).render()
        == "error[T010]: m\n --> gone.py:1:1"
    )


def test_without_place() -> None:
    assert error("T010", "m", hint="h").render() == "error[T010]: m\n  = help: h".replace("  =", "  =")
    assert error("T010", "m").span is None


def test_form_feeds_are_no_line_ends() -> None:
    source = Source(name="f.py", text="a\x0cb\r\nsecond\x85c\n")
    assert (source.line(1), source.line(2), source.line(3), source.line(9)) == ("a\x0cb", "second\x85c", "", "")


def test_codes_are_of_the_table() -> None:
    with pytest.raises(ValueError, match="diagnostic code T000 is not in the table of codes"):
        Diagnostic("T000", "m")


def test_the_exception() -> None:
    one, two = error("T010", "one"), error("T011", "two")
    problem = DiagnosticError(iter([one, two]))
    assert problem.diagnostics == (one, two)
    assert str(problem) == "\nerror[T010]: one\n\nerror[T011]: two"
    again = pickle.loads(pickle.dumps(problem))
    assert [each.message for each in again.diagnostics] == ["one", "two"]


@pytest.mark.parametrize(
    ("word", "near"), [("exq", "exp"), ("grd", "grid"), ("zzzz", None), ("_exp", "exp"), ("", None)]
)
def test_suggestions(word: str, near: str | None) -> None:
    assert suggest(word, ["exp", "grid", "_exq", "block"]) == near
