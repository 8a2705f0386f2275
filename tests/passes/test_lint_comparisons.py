"""Operators on bits beside comparisons: `n > 0 & n < m` is `n > (0 & n) < m`."""

from __future__ import annotations

import pytest

from tirscript.passes.lint import lint
from tirscript.script import parse

NUMBERS = 'A: T.Buffer((4,), "float32"), n: T.int32, m: T.int32'


@pytest.mark.parametrize(
    ("condition", "middles"),
    [
        ("n > 0 & n < m", ["0 & n"]),
        ("n == 0 | n == m", ["0 | n"]),
        ("0 < n ^ m < 4", ["n ^ m"]),
        ("not (m > 1 & n < 4)", ["1 & n"]),
        ("n > 0 & m < 4 & n > 1", ["0 & m", "4 & n"]),
        ("n > 0 and m > 1 & n < 4", ["1 & n"]),
        ("0 < (n & m) < 4", []),
        ("0 < (n & m ) < 4", []),
        ("(0 < (n & m\n        ) < 4)", []),
        ("(0 < (n & m  # what\n ) < 4)", []),
        ("0 < (n & m \\\n ) < 4", []),
        ("(0 < n & m  # )\n < 4)", ["n & m"]),
        ("n > 0 and n & m < 4", []),
        ("0 < n & m and n & m < 4", []),
        ("0 < n + m < 4", []),
        ("n > 0 & m", []),
    ],
)
def test_operators_on_bits_in_a_chain_of_comparisons(condition: str, middles: list[str]) -> None:
    """`n > 0 & n < m` is `n > (0 & n) < m`."""
    body = f"    A[0] = 1.0 if {condition} else T.float32(n + m)\n"
    program = parse(f"@T.prim_func\ndef kernel({NUMBERS}):\n{body}")
    told = [one for one in lint(program) if one.code == "T615"]
    assert [one.span.text for one in told if one.span is not None] == middles
    assert all(f"write `({text})`" in str(one.hint) for one, text in zip(told, middles, strict=True))
    assert [one for one in lint(parse(program.script())) if one.code == "T615"] == []


@pytest.mark.parametrize("condition", ["(0 < n\n        & m < 4)", "(0 < n & (m\n) < 4)"])
def test_operators_on_bits_over_several_lines_are_told_without_their_text(condition: str) -> None:
    program = parse(f"@T.prim_func\ndef kernel({NUMBERS}):\n    A[0] = 1.0 if {condition} else T.float32(n + m)\n")
    (told,) = (one for one in lint(program) if one.code == "T615")
    assert told.message == "`&` binds more tightly than comparisons: both are with its result"
    assert told.hint == "join conditions with `and`; if it is meant, put it in parentheses"
