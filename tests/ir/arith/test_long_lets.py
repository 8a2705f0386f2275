"""Names that stand for names that stand for names, and conditions of shared ones: written out, they double with each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tirscript
from tirscript.ir import Call, Expr, Var, const, get_op
from tirscript.ir.arith import Analyzer
from tirscript.ir.arith.bounds import LONGEST_LET
from tirscript.ir.arith.simplifier import Simplifier
from tirscript.ir.dtype import BOOL

HEAD = """@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
"""


def chain(analyzer: Analyzer, count: int) -> list[Var]:
    """Names each of which is the last one twice."""
    names = [Var("x0")]
    for at in range(count):
        last = names[-1]
        names.append(Var(f"x{at + 1}"))
        analyzer.bind(names[-1], get_op("mul")(last, get_op("floormod")(last, const(7))))
    return names


def test_what_is_too_long_to_write_out_is_a_name_of_its_own() -> None:
    analyzer = Analyzer()
    names = chain(analyzer, 40)
    kept = [name in analyzer.known.lets for name in names[1:]]
    assert kept[:4] == [True] * 4
    assert not all(kept)
    assert any(kept[6:]), "behind a name of its own they are short again"
    assert max(analyzer.known.weights[name] for name in analyzer.known.lets) <= LONGEST_LET


def test_a_copy_knows_how_long_they_are() -> None:
    analyzer = Analyzer()
    names = chain(analyzer, 4)
    other = analyzer.copy()
    long = Var("y")
    value: Expr = names[-1]
    for _ in range(5):
        value = get_op("add")(value, get_op("floordiv")(names[-1], const(3)))
    for one in (analyzer, other):
        one.bind(long, value)
        assert long not in one.known.lets


def test_the_value_of_a_long_name_is_still_known() -> None:
    analyzer = Analyzer()
    names = chain(analyzer, 40)
    long = next(name for name in names[1:] if name not in analyzer.known.lets)
    last = names[names.index(long) - 1]
    assert analyzer.can_prove(get_op("equal")(long, get_op("mul")(last, get_op("floormod")(last, const(7)))))
    assert not analyzer.can_prove(get_op("equal")(long, last))


@pytest.mark.parametrize(
    ("step", "python"),
    [
        ("{x} * {x} + 1", lambda x: x * x + 1),
        ("{x} + {x}", lambda x: x + x),
        ("T.Select({x} > 3, {x} // 3, {x} % 7 + 9)", lambda x: np.where(x > 3, x // 3, x % 7 + 9)),
        ("T.min({x} % 100, T.max(3, {x} // 2))", lambda x: np.minimum(x % 100, np.maximum(3, x // 2))),
    ],
)
def test_long_chains_are_built(step: str, python: object) -> None:
    count = 60
    body = ["x0 = n", *(f"x{at + 1} = {step.format(x=f'x{at}')}" for at in range(count)), f"A[0] = x{count}"]
    program = tirscript.parse(HEAD + "".join(f"    {line}\n" for line in body))
    expected = np.array([11], "int32")  # arrays wrap without a warning
    for _ in range(count):
        expected = python(expected).astype("int32")  # type: ignore[operator]
    A = np.zeros(8, "int32")
    tirscript.build(program)(A, 11)
    assert A[0] == expected


AND, OR, SELECT = get_op("logical_and"), get_op("logical_or"), get_op("Select")
JOINED = (
    lambda a, b, e: OR(AND(a, e), AND(b, e)),
    lambda a, b, e: OR(AND(e, a), AND(e, b)),
    lambda a, b, e: AND(OR(a, e), OR(b, e)),
    lambda a, b, e: SELECT(a, e, AND(b, e)),
)


@pytest.mark.parametrize("step", range(len(JOINED)))
@pytest.mark.parametrize("leaf", [lambda name: Var(name, BOOL), lambda name: Var(name) < Var(f"{name}n")])
def test_what_conditions_share_is_not_looked_at_for_each_way_to_it(
    step: int, leaf: Callable[[str], Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    expr, looks, steps = leaf("e"), 0, 18
    for at in range(steps):
        expr = JOINED[step](leaf(f"a{at}"), leaf(f"b{at}"), expr)

    def own(self: Simplifier, node: Call, kept: Callable[[Simplifier, Call], Expr] = Simplifier.own) -> Expr:
        nonlocal looks
        looks += 1
        assert looks < 20_000, "each of 2**18 ways is gone"
        return kept(self, node)

    monkeypatch.setattr(Simplifier, "own", own)
    assert Analyzer().simplify(expr).dtype is BOOL
