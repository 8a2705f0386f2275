"""Constants in C: the shortest digits that are the value."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirscript.backend.c.types import literal
from tirscript.ir import dtype
from tirscript.ir.expr import round_float

FLOAT32 = dtype("float32")


def near(text: str) -> list[float]:
    """The float32 that a literal is, and those that one digit less can say."""
    value = float(text.removesuffix("f"))
    digits = len(text.partition("e")[0].replace(".", "").strip("-0f"))
    return [
        round_float(value, FLOAT32),
        *([round_float(float(f"{value:.{digits - 1}g}"), FLOAT32)] if digits > 1 else []),
    ]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_no_digit_is_missing_and_none_too_many(value: float) -> None:
    text = literal(value, FLOAT32)
    found, *shorter = near(text)
    assert struct.pack("<f", found) == struct.pack("<f", value)
    assert text.endswith("f") and ("." in text or "e" in text)
    assert not any(one == value for one in shorter), text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            (0.0, "0.0f"),
            (-0.0, "-0.0f"),
            (1.0, "1.0f"),
            (0.1, "0.1f"),
            (-2.5, "-2.5f"),
            (1e10, "1e10f"),
            (1e-10, "1e-10f"),
        ),
        *((16777216.0, "16777216.0f"), (1 / 3, "0.33333334f"), (2**-149, "1e-45f"), (float("inf"), "INFINITY")),
        *((float("-inf"), "-INFINITY"), (float("nan"), "NAN")),
    ],
    ids=str,
)
def test_words(value: float, text: str) -> None:
    assert literal(round_float(value, FLOAT32), FLOAT32) == text
