"""Words of messages."""

from __future__ import annotations

import pytest

from tirscript.ir.words import arguments_named, counted, miscounted, parenthesized


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "argument", "0 arguments"),
        (1, "argument", "1 argument"),
        (11, "argument", "11 arguments"),
        (1, "index", "1 index"),
        (2, "index", "2 indices"),
        (2, "axis", "2 axes"),
        ("at least 1", "argument", "at least 1 argument"),
        ("0 to 1", "argument", "0 to 1 arguments"),
    ],
)
def test_a_number_of_things(count: int | str, noun: str, text: str) -> None:
    assert counted(count, noun) == text


def test_items_are_written_as_a_tuple() -> None:
    assert [parenthesized(range(count)) for count in range(3)] == ["()", "(0,)", "(0, 1)"]


def test_what_a_function_takes() -> None:
    assert arguments_named([]) == "no arguments"
    assert arguments_named(["A"]) == "1 argument (A)"
    assert miscounted(["A", "n"], 1) == "takes 2 arguments (A, n), but 1 is given"
    assert miscounted([], 2) == "takes no arguments, but 2 are given"
