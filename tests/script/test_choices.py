"""Literals that a condition, `T.min` or `T.max` chooses between have the dtype of where they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.testing import assert_round_trip

PARAMS = (
    'U: T.Buffer((4,), "uint8"), L: T.Buffer((4,), "uint32"), D: T.Buffer((4,), "float64"), '
    'H: T.Buffer((4,), "float16"), I: T.Buffer((4,), "int64"), c: T.bool, d: T.bool'
)


def kernel(body: str) -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return tirscript.parse(f"@T.prim_func\ndef f({PARAMS}):\n{lines}\n")


def run(program: Any, c: bool, d: bool) -> list[list[Any]]:
    """What a program leaves in the five buffers."""
    found = [np.array([7, 8, 9, 250], kind) for kind in ("uint8", "uint32", "float64", "float16", "int64")]
    tirscript.interpret(program, *found, c, d)
    return [item.tolist() for item in found]


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("U[0] = 255 if c else 0", lambda c, d: [255 if c else 0, None, None]),
        ("U[0] = T.if_then_else(c, 255, 0)", lambda c, d: [255 if c else 0, None, None]),
        ("U[0] = T.Select(c, 255, 0)", lambda c, d: [255 if c else 0, None, None]),
        ("U[0] = 255 if c else 3 if d else 0", lambda c, d: [255 if c else 3 if d else 0, None, None]),
        ("U[0] = (T.Select(d, 1, 2) if c else 0) if d else 9", lambda c, d: [(1 if c else 0) if d else 9, None, None]),
        ("U[0] = T.max(255 if c else 0, 5)", lambda c, d: [255 if c else 5, None, None]),
        ("U[0] = T.min(T.max(255 if c else 0, 5), U[3])", lambda c, d: [250 if c else 5, None, None]),
        ("U[0] = min(U[3], 255 if c else 0)", lambda c, d: [250 if c else 0, None, None]),
        ("U[0] = max(255 if c else 0, 5)", lambda c, d: [255 if c else 5, None, None]),
        ("U[0] = min(255 if c else 0, 5, U[0])", lambda c, d: [5 if c else 0, None, None]),
        ("U[0] = min(*[9, 5], 255 if c else 0, U[0])", lambda c, d: [5 if c else 0, None, None]),
        ("U[0] = min(*[9, 5], 6)", lambda c, d: [5, None, None]),
        ("U[0] += 200 if c else 1", lambda c, d: [207 if c else 8, None, None]),
        ("U[0] = U[1] + (200 if c else 1)", lambda c, d: [208 if c else 9, None, None]),
        ("U[0] = (200 if c else 1) + U[1]", lambda c, d: [208 if c else 9, None, None]),
        ("if U[3] > (251 if c else 3):\n    U[0] = 1", lambda c, d: [7 if c else 1, None, None]),
        ("x: T.uint8 = 255 if c else 0\nx = 4 if d else x\nU[0] = x", lambda c, d: [4 if d else 255 if c else 0, None, None]),
        ("L[0] = 4000000000 if c else 0", lambda c, d: [None, 4000000000 if c else 0, None]),
        ("D[0] = 0.1 if c else 0.2", lambda c, d: [None, None, 0.1 if c else 0.2]),
        ("D[0] = 0.1 if c else 1", lambda c, d: [None, None, 0.1 if c else 1.0]),
        ("D[0] = 1 if c else 3", lambda c, d: [None, None, 1.0 if c else 3.0]),
        ("D[0] = D[1] * T.Select(c, 0.1, 0.2)", lambda c, d: [None, None, 8.0 * (0.1 if c else 0.2)]),
        ("D[0] = T.pow(D[1], 0.1 if c else 0.2)", lambda c, d: [None, None, 8.0 ** (0.1 if c else 0.2)]),
        ("D[0:4] = 0.1 if c else 0.2", lambda c, d: [None, None, 0.1 if c else 0.2]),
        ("D[0] = T.max(0.1, 0.2)", lambda c, d: [None, None, 0.2]),
        ("x = 1 if c else 2\nI[0] = x\nU[0] = T.uint8(x)", lambda c, d: [1 if c else 2, None, None]),
    ],
)  # fmt: skip
def test_chosen_literals_are_of_the_dtype_of_their_place(body: str, values: Any) -> None:
    program = kernel(body)
    assert_round_trip(program)
    for c in (False, True):
        for d in (False, True):
            found = run(program, c, d)
            for at, wanted in enumerate(values(c, d)):
                assert wanted is None or found[at][0] == wanted


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ("U[0] = 256 if c else 0", "256 does not fit uint8", "256"),
        ("U[0] = 0 if c else -1 if d else 2", "-1 does not fit uint8", "-1"),
        ("U[0] = 0.5 if c else 0", "the value is the float 0.5, but its place holds uint8", "0.5"),
        ("U[0] = U[1] + (300 if c else 0)", "300 does not fit uint8", "300"),
        ("x = 4000000000 if c else 0\nL[0] = 1", "4000000000 does not fit int32", "4000000000"),
        ("U[0] = I[0] if c else 0", "the value is int64, but its place holds uint8", "I[0] if c else 0"),
    ],
)
def test_a_chosen_literal_that_does_not_fit_is_told_where_it_stands(body: str, message: str, place: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        kernel(body)
    (one,) = caught.value.diagnostics
    assert one.message.startswith(message)
    assert one.span is not None and one.span.text == place
