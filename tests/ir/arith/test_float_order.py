"""Comparisons of floats that follow from others."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.ir import Call, Const, Expr, Var, dtype
from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.op import get_op
from tirscript.script import parse

FLOAT32 = dtype("float32")
X, Y = Var("x", FLOAT32), Var("y", FLOAT32)
NUMBERS = [Const(value, FLOAT32) for value in (0.0, 1.0)]
NAMES = {
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}
VALUES = (-math.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, math.inf, math.nan)


def conditions() -> list[Expr]:
    sides = [(X, Y), (Y, X), *((X, number) for number in NUMBERS), *((number, X) for number in NUMBERS)]
    found = [get_op(name)(*pair) for name in NAMES for pair in sides]
    return [*found, *(get_op("logical_not")(one) for one in found)]


def holds(condition: Any, values: dict[Var, float]) -> bool:
    if condition.op.name == "logical_not":
        return not holds(condition.args[0], values)
    a, b = (values[arg] if type(arg) is Var else arg.value for arg in condition.args)
    return bool(NAMES[condition.op.name](a, b))


def test_what_follows_is_what_is_true_of_all_values() -> None:
    """All that is known by one comparison of two values, and nothing else; nan and -0.0 among them."""
    worlds = [dict(zip((X, Y), pair, strict=True)) for pair in product(VALUES, VALUES)]
    tables = {condition: [holds(condition, world) for world in worlds] for condition in conditions()}
    followed = 0
    for known, truths in tables.items():
        analyzer = Analyzer()
        analyzer.assume(known)
        for asked, results in tables.items():
            possible = {result for result, truth in zip(results, truths, strict=True) if truth}
            wanted = possible.pop() if len(possible) == 1 else None
            assert analyzer.decide(asked) is wanted, f"{known} says {asked}"
            followed += wanted is not None
    assert followed > 500


def test_several_comparisons_together() -> None:
    analyzer = Analyzer()
    with analyzer.scope():
        analyzer.assume(get_op("less_equal")(X, Y))
        analyzer.assume(get_op("less_equal")(Y, X))
        assert analyzer.decide(get_op("equal")(X, Y)) is True
        assert analyzer.decide(get_op("less")(X, NUMBERS[0])) is None
    assert analyzer.decide(get_op("equal")(X, Y)) is None


def test_constants_are_what_their_type_makes_of_them() -> None:
    """0.1 and the nearest float32 are one number of that type."""
    low, high = Const(0.1, FLOAT32), Const(0.10000000149011612, FLOAT32)
    analyzer = Analyzer()
    analyzer.assume(Call(get_op("equal"), (X, low), dtype("bool")))
    assert analyzer.decide(Call(get_op("less"), (X, high), dtype("bool"))) is not True


@pytest.mark.parametrize(
    ("assumed", "asserted", "proved"),
    [
        ("A[i] > 0.0", "A[i] >= 0.0 and A[i] != 0.0", True),
        ("A[i] >= 1.0", "0.5 < A[i]", True),
        ("not A[i] < 0.0", "A[i] >= 0.0", False),
        ("A[i] >= 0.0", "A[i] > 0.0", False),
    ],
)
def test_static_asserts_of_contents(assumed: str, asserted: str, proved: bool) -> None:
    func = parse(f"""
@T.prim_func
def f(A: T.Buffer(("n",), "float32")):
    for i in range(n):
        T.assume({assumed})
    for i in range(n):
        T.static_assert({asserted})
""")
    if proved:
        tirscript.build(func)
        return
    with pytest.raises(DiagnosticError, match="could not be proved"):
        tirscript.build(func)
