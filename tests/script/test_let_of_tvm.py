"""TVM's `T.Let(body, where={x: value})`, a binding in an expression."""

from __future__ import annotations

import pytest
from helpers.script import function, mistakes

from tirscript.ir import structural_equal


def test_it_is_our_let() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(x * x, where={x: A[1] + 1})")
    assert structural_equal(theirs, function('A[0] = T.let("x", A[1] + 1, lambda x: x * x)'))


def test_one_name_may_be_bound_twice_and_inside_of_itself() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(T.Let(x, where={x: x + 1.0}) * x, where={x: A[1]})")
    ours = function('A[0] = T.let("x", A[1], lambda x: T.let("y", x + 1.0, lambda y: y) * x)')
    assert structural_equal(theirs, ours)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T.Let(x * x)", "`where` is missing"),
        ("T.Let(x, where={})", "a dict of one variable and its value"),
        ("T.Let(x, where={**A})", "a dict of one variable and its value"),
        ("T.Let(x, where=[x, 1])", "a dict of one variable and its value"),
        ("T.Let(x, where={1: x})", "`T.Let` binds a variable"),
        ('T.Let(x, where={x: "a"})', "a string"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    found = mistakes(f"x = T.float32()\nA[0] = {text}")
    assert message in found[0].message
