"""Casts that wrap a number around are not seen through where the result is widened again."""

from __future__ import annotations

import pytest

from tirscript.ir import Const, Var, cast, dtype
from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.linear import linear
from tirscript.ir.dtype import INT32


@pytest.mark.parametrize("divisor", [-1000, -7, 7, 100])
@pytest.mark.parametrize(("source", "through", "to"), [("int32", "uint8", "int32"), ("int64", "uint32", "int64")])
@pytest.mark.parametrize("times", [1, 3])
def test_quotients_and_remainders(source: str, through: str, to: str, divisor: int, times: int) -> None:
    x = Var("x", dtype(source))
    known = Analyzer(presburger=False)
    known.bind(x, (-3, 2))
    numerator = cast(cast(x * times, dtype(through)), dtype(to))
    for expr in (numerator // Const(divisor, dtype(to)), numerator % Const(divisor, dtype(to))):
        found = known.simplify(expr)
        for value in range(-3, 3):
            assert evaluate(found, {x: value}) == evaluate(expr, {x: value}), found.script(fragment=True)


def test_a_cast_to_the_dtype_of_the_sum_need_not_keep_the_number() -> None:
    """The sum is the same modulo a power of two, whatever the cast takes away."""
    x = Var("x", dtype("int64"))
    asked = []
    form = linear(cast(x, INT32) + 1, None, lambda inner, to: asked.append(to) is None)
    assert form.terms == {x: 1} and form.constant == 1
    assert asked == [dtype("int64")]
